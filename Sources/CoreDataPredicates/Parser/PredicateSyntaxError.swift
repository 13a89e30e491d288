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

  /// A sentence that names the place, what is there, and what was expected.
  public var description: String {
    "Unable to parse the format string \"\(format)\": at character \(position + 1) there is \(found), "
      + "but \(expected) was expected."
  }
}
