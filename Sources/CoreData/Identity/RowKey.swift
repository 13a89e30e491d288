// OpenCoreData
// SPDX-License-Identifier: Apache-2.0

/// An object as two numbers: its entity in its store, and its primary key.
struct RowKey: Hashable, Comparable, Sendable {
  let entity: Int32
  let number: Int64

  static func < (left: RowKey, right: RowKey) -> Bool {
    (left.entity, left.number) < (right.entity, right.number)
  }
}

/// Rows of one entity whose keys follow one another, as far as there are rows.
struct RowSpan: Hashable, Sendable {
  let entity: Int32
  let keys: ClosedRange<Int64>
}
