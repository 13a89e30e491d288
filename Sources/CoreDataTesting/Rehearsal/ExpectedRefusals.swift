// OpenCoreData
// SPDX-License-Identifier: Apache-2.0

/// Versions whose stores a migration should refuse.
///
/// `.refusal(from: "Model 1")`, or a list of them:
///
/// ```swift
/// try await expectMigration(of: url, expecting: [.refusal(from: "Model 1"), .refusal(from: "Model 2")])
/// ```
public struct ExpectedRefusals: Hashable, Sendable, ExpressibleByArrayLiteral {
  /// A version whose stores the migration should refuse.
  public struct Refusal: Hashable, Sendable {
    /// The version of the stores.
    public let source: String
    /// The version that they cannot be migrated to; nil for the rehearsal's destination.
    public let destination: String?

    /// Creates a refusal.
    public init(from source: String, to destination: String? = nil) {
      (self.source, self.destination) = (source, destination)
    }
  }

  /// The versions, in order.
  public let items: [Refusal]

  /// Creates a list.
  public init(_ items: [Refusal] = []) {
    self.items = items
  }

  /// Concatenates lists.
  public init(arrayLiteral elements: ExpectedRefusals...) {
    items = elements.flatMap(\.items)
  }

  /// Expects that stores of a version are refused.
  ///
  /// - Parameters:
  ///   - source: the version of the stores.
  ///   - destination: the version that they cannot be migrated to; nil for the rehearsal's destination.
  public static func refusal(from source: String, to destination: String? = nil) -> ExpectedRefusals {
    ExpectedRefusals([Refusal(from: source, to: destination)])
  }
}
