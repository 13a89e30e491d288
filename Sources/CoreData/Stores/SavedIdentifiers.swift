// OpenCoreData
// SPDX-License-Identifier: Apache-2.0

/// What was saved elsewhere, as contexts merge it.
struct SavedIdentifiers: Sendable {
  var inserted: [NSManagedObjectID] = []
  var updated: [NSManagedObjectID] = []
  var deleted: [NSManagedObjectID] = []
  /// Objects that may have changed in any way.
  var refreshed: [NSManagedObjectID] = []
  /// Objects whose values must not be used any longer.
  var invalidated: [NSManagedObjectID] = []
  /// Whether all objects may have changed.
  var concernsAll = false

  var isEmpty: Bool {
    [inserted, updated, deleted, refreshed, invalidated].allSatisfy(\.isEmpty) && !concernsAll
  }
}

/// What is told of the saves of others to the stores of its coordinator: a context that merges them.
protocol SaveObserver: AnyObject {
  /// Called on any thread, without the coordinator's lock.
  func othersHaveSaved(_ saved: SavedIdentifiers)
}
