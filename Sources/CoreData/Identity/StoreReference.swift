// OpenCoreData
// SPDX-License-Identifier: Apache-2.0

/// What identifiers keep of their store: one for all of them, since there are as many identifiers as rows.
final class StoreReference: @unchecked Sendable {
  /// Nil when the store is gone.
  private(set) weak var store: NSPersistentStore?
  /// The store's UUID.
  let identifier: String?

  /// Has all identifiers lead to a copy of the store.
  func move(to copy: NSPersistentStore) { store = copy }

  init(_ store: NSPersistentStore) {
    self.store = store
    identifier = store.identifier
  }
}
