// OpenCoreData
// SPDX-License-Identifier: Apache-2.0

import Synchronization

/// A weak reference to a store, shared by the identifiers of all its rows.
///
/// Identifiers are used on any thread, even while a store is being moved. `NSManagedObjectID.persistentStore` gives the store
/// its type.
final class StoreReference: Sendable {
  private struct Place: @unchecked Sendable {
    weak var store: AnyObject?
  }

  private let place: Mutex<Place>
  /// The store's UUID.
  let identifier: String?

  init(_ store: AnyObject, identifier: String?) {
    place = Mutex(Place(store: store))
    self.identifier = identifier
  }

  /// The store; nil after its removal.
  var store: AnyObject? { place.withLock { $0.store } }

  /// Redirects all identifiers to a copy of the store.
  func move(to copy: AnyObject) {
    place.withLock { $0.store = copy }
  }
}
