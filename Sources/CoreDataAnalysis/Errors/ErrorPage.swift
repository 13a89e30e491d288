// OpenCoreData
// SPDX-License-Identifier: Apache-2.0

/// The explanation of a Core Data error, as printed by `coredata explain CODE`.
public struct ErrorPage: Hashable, Sendable {
  /// The code, in the domain `NSCocoaErrorDomain`.
  public let code: Int
  /// The constant for the code; nil if Apple's headers have none.
  public let name: String?
  /// The meaning in a few words.
  public let title: String
  /// The cause of the error.
  public let cause: String
  /// A situation in which the error occurs.
  public let example: String
  /// Ways to resolve the error.
  public let cure: String

  init(_ code: Int, _ name: String?, _ title: String, cause: String, example: String, cure: String) {
    self.code = code
    self.name = name
    self.title = title
    self.cause = cause
    self.example = example
    self.cure = cure
  }

  /// All pages, by code.
  public static let all: [ErrorPage] = validation + objects + stores + migration

  /// Finds the page for a code or a constant; nil for other text.
  public init?(text: String) {
    guard let page = Self.all.first(where: { String($0.code) == text || $0.name?.lowercased() == text.lowercased() })
    else {
      return nil
    }
    self = page
  }
}
