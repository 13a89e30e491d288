// OpenCoreData
// SPDX-License-Identifier: Apache-2.0

import CoreDataPredicates
import CoreDataSQLite
import Foundation

/// Comparisons of strings that SQLite does not have: each a function in SQL.
enum StringFunction: String, CaseIterable {
  case equal = "CDStringEquals"
  case beginsWith = "CDStringBeginsWith"
  case endsWith = "CDStringEndsWith"
  case contains = "CDStringContains"
  case like = "CDStringLike"
  case matches = "CDStringMatches"

  init?(_ op: ComparisonSyntax.Operator) {
    switch op {
    case .beginsWith: self = .beginsWith
    case .endsWith: self = .endsWith
    case .contains: self = .contains
    case .like: self = .like
    case .matches: self = .matches
    default: return nil
    }
  }

  /// The call for two strings; what is missing makes it unknown.
  func call(_ subject: BoundSQL, _ pattern: BoundSQL, _ options: ComparisonSyntax.Options) -> BoundSQL {
    "\(raw: rawValue)(\(subject), \(pattern), \(value: .integer(Int64(options.rawValue))))"
  }

  /// Makes the functions known to a connection.
  static func register(with connection: SQLiteConnection) throws {
    for function in allCases {
      try connection.register(function: function.rawValue, argumentCount: 3, deterministic: true) { arguments in
        guard let subject = arguments[0].text, let pattern = arguments[1].text else { return .null }
        let options = ComparisonSyntax.Options(rawValue: UInt(arguments[2].integer ?? 0))
        return .integer(try function.holds(subject, pattern, options) ? 1 : 0)
      }
    }
  }

  private func holds(_ subject: String, _ pattern: String, _ options: ComparisonSyntax.Options) throws -> Bool {
    switch self {
    case .like: return try Patterns.shared.matches(subject, wildcard: pattern, options)
    case .matches: return try Patterns.shared.matches(subject, expression: pattern, options)
    case .equal, .beginsWith, .endsWith, .contains: break
    }
    let (subject, pattern) = (Patterns.folded(subject, options), Patterns.folded(pattern, options))
    switch self {
    case .equal: return subject == pattern
    case .beginsWith: return subject.hasPrefix(pattern)
    case .endsWith: return subject.hasSuffix(pattern)
    default: return pattern.isEmpty || subject.contains(pattern)
    }
  }

  /// The first string after all those that begin with a prefix; nil where there is none.
  static func endOfPrefixRange(_ prefix: String) -> String? {
    guard let last = prefix.unicodeScalars.last,
      let next = Unicode.Scalar(last.value == 0xD7FF ? 0xE000 : last.value + 1)
    else { return nil }
    return String(String.UnicodeScalarView(prefix.unicodeScalars.dropLast())) + String(Character(next))
  }
}

/// Compiled patterns, since a statement asks for the same one row after row.
private final class Patterns: @unchecked Sendable {
  static let shared = Patterns()

  private let lock = NSLock()
  private var compiled: [String: NSRegularExpression] = [:]
  private static let limit = 64

  static func folded(_ text: String, _ options: ComparisonSyntax.Options) -> String {
    var folding: String.CompareOptions = []
    if options.contains(.caseInsensitive) { folding.insert(.caseInsensitive) }
    if options.contains(.diacriticInsensitive) { folding.insert(.diacriticInsensitive) }
    return folding.isEmpty ? text : text.folding(options: folding, locale: nil)
  }

  func matches(_ subject: String, expression: String, _ options: ComparisonSyntax.Options) throws -> Bool {
    let (subject, expression) =
      options.contains(.diacriticInsensitive)
      ? (Self.folded(subject, .diacriticInsensitive), Self.folded(expression, .diacriticInsensitive))
      : (subject, expression)
    let pattern = try regularExpression(expression, isCaseInsensitive: options.contains(.caseInsensitive))
    let whole = NSRange(subject.startIndex..., in: subject)
    return pattern.firstMatch(in: subject, options: .anchored, range: whole)?.range == whole
  }

  func matches(_ subject: String, wildcard: String, _ options: ComparisonSyntax.Options) throws -> Bool {
    var expression = "(?s)"
    var isEscaped = false
    for character in wildcard {
      if isEscaped || !"*?\\".contains(character) {
        expression += NSRegularExpression.escapedPattern(for: String(character))
        isEscaped = false
      } else if character == "\\" {
        isEscaped = true
      } else {
        expression += character == "*" ? ".*" : "."
      }
    }
    return try matches(subject, expression: expression, options)
  }

  private func regularExpression(_ expression: String, isCaseInsensitive: Bool) throws -> NSRegularExpression {
    let key = (isCaseInsensitive ? "i" : "-") + expression
    return try lock.withLock {
      if let pattern = compiled[key] { return pattern }
      let pattern = try NSRegularExpression(
        // The group keeps alternatives together, so that a match is one of the whole text.
        pattern: "(?:\(expression))\\z", options: isCaseInsensitive ? .caseInsensitive : [])
      if compiled.count >= Self.limit { compiled.removeAll() }
      compiled[key] = pattern
      return pattern
    }
  }
}
