// OpenCoreData
// SPDX-License-Identifier: Apache-2.0

/// The explanation of an error of Core Data, as `coredata explain CODE` prints it.
public struct ErrorPage: Hashable, Sendable {
  /// The code, in the domain `NSCocoaErrorDomain`.
  public let code: Int
  /// The constant for the code.
  public let name: String
  /// The meaning in a few words.
  public let title: String
  /// What leads to the error.
  public let cause: String
  /// Where it is met.
  public let example: String
  /// What can be done.
  public let cure: String

  init(_ code: Int, _ name: String, _ title: String, cause: String, example: String, cure: String) {
    self.code = code
    self.name = name
    self.title = title
    self.cause = cause
    self.example = example
    self.cure = cure
  }

  /// All pages, by code.
  public static let all: [ErrorPage] = validation + objects + stores + migration

  /// Finds the page of a code or a constant; nil for another text.
  public init?(text: String) {
    guard let page = Self.all.first(where: { String($0.code) == text || $0.name.lowercased() == text.lowercased() })
    else {
      return nil
    }
    self = page
  }
}
