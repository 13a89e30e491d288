// OpenCoreData
// SPDX-License-Identifier: Apache-2.0

import Foundation

/// The comparison of strings as `String` and its extensions in Foundation compare them, for predicates that were written
/// in Swift.
struct CharacterComparison {
  private let options: ComparisonSyntax.Options

  /// Creates the comparison for the option `characters`; nil without it.
  ///
  /// - Parameter options: with `[c]`, `caseInsensitiveCompare` decides; with `[l]`, `localizedCompare`; and with `[cdl]`,
  ///   strings are searched as `localizedStandardContains` does.
  init?(_ options: ComparisonSyntax.Options) {
    guard options.contains(.characters) else { return nil }
    self.options = options.subtracting(.characters)
  }

  /// Returns the text in a form whose Unicode scalars are equal for equal strings.
  func folded(_ text: String) -> String {
    text.utf8.allSatisfy { $0 < 0x80 } ? text : text.precomposedStringWithCanonicalMapping
  }

  func order(_ left: String, _ right: String) -> ComparisonResult {
    if options.contains(.localeSensitive) { return left.localizedCompare(right) }
    if options.contains(.caseInsensitive) { return left.caseInsensitiveCompare(right) }
    return left < right ? .orderedAscending : left == right ? .orderedSame : .orderedDescending
  }

  func contains(_ text: String, _ part: String) -> Bool {
    if options.contains(.localeSensitive) { return text.localizedStandardContains(part) }
    return Self.contains(text, part)
  }

  /// Searches elements: the methods of strings search Unicode scalars.
  private static func contains<Elements: Collection>(_ elements: Elements, _ part: Elements) -> Bool
  where Elements.Element: Equatable { elements.contains(part) }
}
