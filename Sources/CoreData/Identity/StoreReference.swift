// OpenCoreData
// SPDX-License-Identifier: Apache-2.0

import Synchronization

/// What identifiers keep of their store: one for all of them, since there are as many identifiers as rows.
///
/// Identifiers are used on any thread, also while a store is moved.
final class StoreReference: Sendable {
  private struct Place: @unchecked Sendable {
    weak var store: NSPersistentStore?
  }

  private let place: Mutex<Place>
  /// The store's UUID.
  let identifier: String?

  init(_ store: NSPersistentStore) {
    place = Mutex(Place(store: store))
    identifier = store.identifier
  }

  /// Nil when the store is gone.
  var store: NSPersistentStore? { place.withLock { $0.store } }

  /// Has all identifiers lead to a copy of the store.
  func move(to copy: NSPersistentStore) {
    place.withLock { $0.store = copy }
  }
}
