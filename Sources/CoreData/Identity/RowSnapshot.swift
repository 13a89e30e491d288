// OpenCoreData
// SPDX-License-Identifier: Apache-2.0

/// A row as a store knows it: what stores hand to contexts, and what a context compares its changes with.
struct RowSnapshot: @unchecked Sendable {
  let id: NSManagedObjectID
  /// The row's version (`Z_OPT`), which grows with every save.
  var version: Int64
  /// One slot a property, in the order of the entity's `SlotTable`. To-many relationships are `unread` until asked for.
  var slots: [Slot]
}

/// How the versions of rows (`Z_OPT`) are counted.
enum RowVersion {
  /// The version of a row that has been written once more. A file can hold any number; the count begins anew after the
  /// greatest one.
  static func next(after version: Int64) -> Int64 { version == .max ? 1 : version + 1 }

  /// SQL for the version of a row, as reading the column as an integer gives it, whatever is there.
  static let stored = "CAST(IFNULL(Z_OPT, 0) AS INTEGER)"

  /// SQL for the next version of a row.
  static let following = "CASE \(stored) WHEN \(Int64.max) THEN 1 ELSE \(stored) + 1 END"
}
