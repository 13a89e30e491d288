// OpenCoreData
// SPDX-License-Identifier: Apache-2.0

/// A description of a save elsewhere, for contexts that merge it.
struct SavedIdentifiers: Sendable {
  var inserted: [NSManagedObjectID] = []
  var updated: [NSManagedObjectID] = []
  var deleted: [NSManagedObjectID] = []
  /// Objects that may have changed in any way.
  var refreshed: [NSManagedObjectID] = []
  /// Objects whose values must no longer be used.
  var invalidated: [NSManagedObjectID] = []
  /// Whether all objects may have changed.
  var concernsAll = false

  var isEmpty: Bool {
    [inserted, updated, deleted, refreshed, invalidated].allSatisfy(\.isEmpty) && !concernsAll
  }
}

/// An observer of saves by others to the stores of its coordinator, such as a context that merges them.
protocol SaveObserver: AnyObject {
  /// Called on any thread, without the coordinator's lock.
  func othersHaveSaved(_ saved: SavedIdentifiers)
}
