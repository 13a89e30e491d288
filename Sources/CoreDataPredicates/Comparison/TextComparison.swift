// OpenCoreData
// SPDX-License-Identifier: Apache-2.0

import Foundation

/// The comparison of strings with the options `[c]`, `[d]`, `[n]` and `[l]`, or as Swift compares them
/// (`CharacterComparison`).
package struct TextComparison {
  private let options: ComparisonSyntax.Options

  package init(_ options: ComparisonSyntax.Options = []) {
    self.options = options
  }

  /// Returns the text in the form used for comparisons. For ASCII text, `[c]` lowercases and `[d]` has no effect.
  package func folded(_ text: String) -> String {
    if let characters = CharacterComparison(options) { return characters.folded(text) }
    var folding: String.CompareOptions = []
    if !options.contains(.normalized) {
      if options.contains(.caseInsensitive) { folding.insert(.caseInsensitive) }
      if options.contains(.diacriticInsensitive) { folding.insert(.diacriticInsensitive) }
    }
    guard !folding.isEmpty else { return text }
    if !options.contains(.localeSensitive), text.utf8.allSatisfy({ $0 < 0x80 }) {
      return folding.contains(.caseInsensitive) ? text.lowercased() : text
    }
    // Foundation folds the diacritics of composed characters only.
    let composed = text.precomposedStringWithCanonicalMapping
    return composed.folding(options: folding, locale: options.contains(.localeSensitive) ? .current : nil)
  }

  package func areEqual(_ left: String, _ right: String) -> Bool {
    if let characters = CharacterComparison(options) { return characters.order(left, right) == .orderedSame }
    if !options.contains(.localeSensitive), let areEqual = areEqualInASCII(left, right) { return areEqual }
    return folded(left).unicodeScalars.elementsEqual(folded(right).unicodeScalars)
  }

  /// Compares two texts without folding them; nil if one of them is not ASCII.
  private func areEqualInASCII(_ left: String, _ right: String) -> Bool? {
    let foldsCase = options.contains(.caseInsensitive) && !options.contains(.normalized)
    func lowercase(_ byte: UInt8) -> UInt8 { foldsCase && byte >= 0x41 && byte <= 0x5A ? byte | 0x20 : byte }
    let result = left.utf8.withContiguousStorageIfAvailable { left in
      right.utf8.withContiguousStorageIfAvailable { right -> Bool? in
        guard left.allSatisfy({ $0 < 0x80 }), right.allSatisfy({ $0 < 0x80 }) else { return nil }
        return left.count == right.count && left.indices.allSatisfy { lowercase(left[$0]) == lowercase(right[$0]) }
      }
    }
    return result.flatMap { $0 }.flatMap { $0 }
  }

  package func order(_ left: String, _ right: String) -> ComparisonResult {
    if let characters = CharacterComparison(options) { return characters.order(left, right) }
    let (left, right) = (folded(left), folded(right))
    if options.contains(.localeSensitive) { return left.localizedCompare(right) }
    if left.unicodeScalars.elementsEqual(right.unicodeScalars) { return .orderedSame }
    return left.unicodeScalars.lexicographicallyPrecedes(right.unicodeScalars) ? .orderedAscending : .orderedDescending
  }

  package func begins(_ text: String, with prefix: String) -> Bool {
    if options.contains(.characters) { return text.starts(with: prefix) }
    return folded(text).unicodeScalars.starts(with: folded(prefix).unicodeScalars)
  }

  package func ends(_ text: String, with suffix: String) -> Bool {
    folded(text).unicodeScalars.reversed().starts(with: folded(suffix).unicodeScalars.reversed())
  }

  package func contains(_ text: String, _ part: String) -> Bool {
    if let characters = CharacterComparison(options) { return characters.contains(text, part) }
    let (text, part) = (Array(folded(text).utf8), Array(folded(part).utf8))
    guard let first = part.first else { return true }
    guard part.count <= text.count else { return false }
    return (0...(text.count - part.count)).contains { text[$0] == first && text[$0...].starts(with: part) }
  }

  /// Returns whether a string matches a `LIKE` pattern: `?` matches one character, `*` any number, and `\` escapes
  /// either.
  package func isLike(_ text: String, _ pattern: String) -> Bool {
    let text = Array(folded(text))
    let pattern = Self.wildcards(folded(pattern))
    var (position, index) = (0, 0)
    var retry: (index: Int, position: Int)?
    while position < text.count {
      if index < pattern.count, pattern[index] == .many {
        retry = (index + 1, position)
        index += 1
      } else if index < pattern.count, pattern[index] == .one || pattern[index] == .character(text[position]) {
        position += 1
        index += 1
      } else if let last = retry {
        retry = (last.index, last.position + 1)
        (index, position) = (last.index, last.position + 1)
      } else {
        return false
      }
    }
    return pattern[index...].allSatisfy { $0 == .many }
  }

  package enum Wildcard: Equatable {
    case one
    case many
    case character(Character)
  }

  /// Returns the characters and wildcards of a `LIKE` pattern.
  package static func wildcards(_ pattern: String) -> [Wildcard] {
    var result: [Wildcard] = []
    var isEscaped = false
    for character in pattern {
      if isEscaped {
        result.append(.character(character))
        isEscaped = false
      } else if character == "\\" {
        isEscaped = true
      } else {
        result.append(character == "?" ? .one : character == "*" ? .many : .character(character))
      }
    }
    return result
  }

  /// Returns whether a regular expression matches the whole string, as `MATCHES` requires.
  ///
  /// - Throws: `InvalidPattern`.
  package func matches(_ text: String, pattern: String) throws -> Bool {
    let isFolded = options.contains(.diacriticInsensitive)
    let diacritics = TextComparison(.diacriticInsensitive)
    let subject = isFolded ? diacritics.folded(text) : text
    let expression: NSRegularExpression
    do {
      expression = try NSRegularExpression(
        pattern: "\\A(?:\(isFolded ? diacritics.folded(pattern) : pattern))\\z",
        options: options.contains(.caseInsensitive) ? .caseInsensitive : [])
    } catch {
      throw InvalidPattern(pattern: pattern, reason: .notAnExpression)
    }
    let length = subject.utf16.count
    return try PatternWork.measuring(pattern, length: length) {
      expression.firstMatch(in: subject, range: NSRange(location: 0, length: length)) != nil
    }
  }
}

/// A `MATCHES` pattern that cannot be used.
package struct InvalidPattern: Error {
  package enum Reason: Sendable {
    /// The pattern is not a valid regular expression.
    case notAnExpression
    /// Matching has taken too long (`PatternWork`).
    case tooMuchWork
  }

  package let pattern: String
  package let reason: Reason

  package init(pattern: String, reason: Reason) { (self.pattern, self.reason) = (pattern, reason) }
}
