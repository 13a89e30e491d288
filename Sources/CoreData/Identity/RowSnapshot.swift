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

/// A row as it was last read or saved. Contexts compare their changes with it.
struct RowSnapshot: @unchecked Sendable {
  let id: NSManagedObjectID
  /// The row's version (`Z_OPT`), which grows with every save.
  var version: Int64
  /// One slot for each property, in the order of the entity's `SlotTable`. To-many relationships are `unread` until
  /// they are asked for.
  var slots: [Slot]
  /// For a row that a child context has from its parent, the parent's object. Retaining it keeps the parent's snapshot,
  /// and with it the version that the child's changes are based on.
  var origin: AnyObject?

  init(id: NSManagedObjectID, version: Int64, slots: [Slot], origin: AnyObject? = nil) {
    self.id = id
    self.version = version
    self.slots = slots
    self.origin = origin
  }
}

/// The versions of rows (`Z_OPT`).
enum RowVersion {
  /// Returns the next version of a row. After the greatest number, which a file may contain, it starts again at 1.
  static func next(after version: Int64) -> Int64 { version == .max ? 1 : version + 1 }

  /// SQL for the version of a row, as reading the column as an integer returns it.
  static let stored = "CAST(IFNULL(Z_OPT, 0) AS INTEGER)"

  /// SQL for the next version of a row.
  static let following = "CASE \(stored) WHEN \(Int64.max) THEN 1 ELSE \(stored) + 1 END"
}

/// Thrown by a write for rows that another context or process has changed or deleted since they were read.
struct RowConflicts: Error {
  struct Conflict {
    let id: NSManagedObjectID
    let expectedVersion: Int64
    /// The current row in the store; nil if it has been deleted.
    let stored: RowSnapshot?
  }

  let conflicts: [Conflict]
}
