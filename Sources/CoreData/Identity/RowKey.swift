// OpenCoreData
// SPDX-License-Identifier: Apache-2.0

/// The numbers of a row: that of its entity in its store, and its primary key.
struct RowKey: Hashable, Comparable, Sendable {
  let entity: Int32
  let number: Int64

  static func < (left: RowKey, right: RowKey) -> Bool {
    (left.entity, left.number) < (right.entity, right.number)
  }
}

/// The rows of one entity with keys in a range.
struct RowSpan: Hashable, Sendable {
  let entity: Int32
  let keys: ClosedRange<Int64>
}
