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
