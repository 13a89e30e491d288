// OpenCoreData
// SPDX-License-Identifier: Apache-2.0

/// Why a predicate format could not be read, and where.
public struct PredicateSyntaxError: Error, Hashable, Sendable, CustomStringConvertible {
  /// The whole format.
  public let format: String
  /// How many characters come before the place of the error.
  public let position: Int
  /// What stands there.
  public let found: String
  /// What could have stood there.
  public let expected: String

  /// Makes an error about one place in a format.
  public init(format: String, position: Int, found: String, expected: String) {
    self.format = format
    self.position = position
    self.found = found
    self.expected = expected
  }

  /// A sentence that names the place, what is there, and what was expected. Of a long format it quotes about 80 characters
  /// around the place.
  public var description: String {
    let found = found.count > Self.longestPart ? "\(found.prefix(Self.longestPart))…" : found
    return "Unable to parse the format string \"\(excerpt)\": at character \(position + 1) there is \(found), "
      + "but \(expected) was expected."
  }

  private static let longestPart = 40

  private var excerpt: String {
    guard format.count > 2 * Self.longestPart else { return format }
    let rest = format.dropFirst(max(0, position - Self.longestPart))
    let start = position > Self.longestPart ? "…" : ""
    let part = rest.prefix(2 * Self.longestPart)
    return start + part + (part.endIndex < format.endIndex ? "…" : "")
  }
}
