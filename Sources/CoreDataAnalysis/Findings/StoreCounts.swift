// OpenCoreData
// SPDX-License-Identifier: Apache-2.0

/// How many rows and values a store has, as far as somebody has counted them.
public struct StoreCounts: Hashable, Sendable {
  /// Rows of exactly each entity, without those of its sub-entities.
  public var rows: [String: Int]
  /// Values that are not null, by entity and property; what is not there was not counted.
  public var values: [String: [String: Int]]

  /// Where the values of an attribute are in the store that was counted, by entity and property; nothing for those that
  /// steps in between have made.
  var origins: [String: [String: AttributeOrigin]] = [:]

  /// How many values do not fit the types that steps give them.
  var fits: [NumberChange: NumberFit] = [:]

  /// Makes counts.
  public init(rows: [String: Int], values: [String: [String: Int]] = [:]) {
    self.rows = rows
    self.values = values
  }
}

/// An attribute of the store that was counted.
struct AttributeOrigin: Hashable, Sendable {
  let entity: String
  let property: String
}
