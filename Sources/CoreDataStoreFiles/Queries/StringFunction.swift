// OpenCoreData
// SPDX-License-Identifier: Apache-2.0

import CoreDataPredicates
import CoreDataSQLite
import Foundation

/// The SQL functions for string comparisons that SQLite lacks.
package enum StringFunction: String, CaseIterable {
  case equal = "CDStringEquals"
  case beginsWith = "CDStringBeginsWith"
  case endsWith = "CDStringEndsWith"
  case contains = "CDStringContains"
  case like = "CDStringLike"
  case matches = "CDStringMatches"
  /// A function that returns -1, 0 or 1.
  case order = "CDStringOrder"

  package init?(_ op: ComparisonSyntax.Operator) {
    switch op {
    case .beginsWith: self = .beginsWith
    case .endsWith: self = .endsWith
    case .contains: self = .contains
    case .like: self = .like
    case .matches: self = .matches
    default: return nil
    }
  }

  /// Returns a call with two strings; its result is NULL if either of them is.
  package func call(_ subject: BoundSQL, _ pattern: BoundSQL, _ options: ComparisonSyntax.Options) -> BoundSQL {
    "\(raw: rawValue)(\(subject), \(pattern), \(value: .integer(Int64(options.rawValue))))"
  }

  private static let folding = "CDStringFolded"

  /// Returns a call that gives the folded form of a string for comparisons; its result is NULL if the string is.
  static func folded(_ subject: BoundSQL, _ options: ComparisonSyntax.Options) -> BoundSQL {
    "\(raw: folding)(\(subject), \(value: .integer(Int64(options.rawValue))))"
  }

  package static func register(with connection: SQLiteConnection) throws {
    try connection.register(function: folding, argumentCount: 2, deterministic: true) { arguments in
      guard let subject = arguments[0].text else { return .null }
      let options = ComparisonSyntax.Options(rawValue: UInt(arguments[1].integer ?? 0))
      return .text(TextComparison(options).folded(subject))
    }
    for function in allCases {
      try connection.register(function: function.rawValue, argumentCount: 3, deterministic: true) { arguments in
        guard let subject = arguments[0].text, let pattern = arguments[1].text else { return .null }
        let options = ComparisonSyntax.Options(rawValue: UInt(arguments[2].integer ?? 0))
        return .integer(try function.result(subject, pattern, options))
      }
    }
  }

  /// Compares like predicates in memory.
  private func result(_ subject: String, _ pattern: String, _ options: ComparisonSyntax.Options) throws -> Int64 {
    let comparison = TextComparison(options)
    let holds: Bool
    switch self {
    case .order: return Int64(comparison.order(subject, pattern).rawValue)
    case .equal: holds = comparison.areEqual(subject, pattern)
    case .beginsWith: holds = comparison.begins(subject, with: pattern)
    case .endsWith: holds = comparison.ends(subject, with: pattern)
    case .contains: holds = comparison.contains(subject, pattern)
    case .like: holds = comparison.isLike(subject, pattern)
    case .matches: holds = try comparison.matches(subject, pattern: pattern)
    }
    return holds ? 1 : 0
  }

  /// Returns the first string after all strings with a prefix; nil if there is none.
  package static func endOfPrefixRange(_ prefix: String) -> String? {
    guard let last = prefix.unicodeScalars.last,
      let next = Unicode.Scalar(last.value == 0xD7FF ? 0xE000 : last.value + 1)
    else { return nil }
    return String(String.UnicodeScalarView(prefix.unicodeScalars.dropLast())) + String(Character(next))
  }
}
