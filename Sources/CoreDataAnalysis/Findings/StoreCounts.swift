// OpenCoreData
// SPDX-License-Identifier: Apache-2.0

/// The numbers of rows and values in a store, as far as they were counted.
public struct StoreCounts: Hashable, Sendable {
  /// Rows of exactly each entity, without those of its sub-entities.
  public var rows: [String: Int]
  /// Values that are not null, by entity and property. Missing entries were not counted.
  public var values: [String: [String: Int]]

  /// The attributes of the store that values come from, by entity and property. There is none for attributes that an
  /// intermediate step has added.
  var origins: [String: [String: AttributeOrigin]] = [:]

  /// The numbers of values that do not fit their new types.
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
