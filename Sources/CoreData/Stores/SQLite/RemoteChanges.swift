// OpenCoreData
// SPDX-License-Identifier: Apache-2.0

import Dispatch
import Foundation

extension NSPersistentStoreCoordinator {
  /// Posts change notifications for all stores of this process with the given files.
  func postRemoteChanges(of urls: [URL?]) {
    RemoteChanges.post(of: urls.compactMap { $0 })
  }
}

/// Posts notifications of changed stores.
package enum RemoteChanges {
  /// The queue for notifications. Observers may use contexts, and posting takes the lock of another coordinator, for
  /// which a caller that may hold its own must not wait.
  static let queue = DispatchQueue(label: "NSPersistentStoreRemoteChange")

  /// Posts for all stores at the given locations, after a change by this process.
  static func post(of urls: [URL]) {
    guard OpenStores.arePosting else { return }
    queue.async {
      for url in urls {
        for store in OpenStores.postingStores(at: url) { post(store, url, isKnown: true) }
      }
    }
  }

  /// Posts for a store if another process has changed it. Called on the queue, after the store's files were written.
  static func didWriteFiles(of store: SQLiteStore) {
    if let url = store.url { post(store, url, isKnown: false) }
  }

  /// Posts for a store that has been changed. May be called on any thread that does not hold the coordinator's lock.
  package static func didChange(_ store: NSPersistentStore) {
    queue.async { [weak store] in
      if let store, let url = store.url { post(store, url, isKnown: true) }
    }
  }

  /// - Parameter isKnown: whether the store is known to have been changed.
  private static func post(_ store: NSPersistentStore, _ url: URL, isKnown: Bool) {
    guard let coordinator = store.persistentStoreCoordinator else { return }
    var info: [AnyHashable: Any] = [NSPersistentStoreURLKey: url.withoutPassword]
    let isChanged = coordinator.withLock {
      info[NSStoreUUIDKey] = store.identifier
      // An error says nothing about the change. The next reader of the store gets it.
      let others = (try? (store as? SQLiteStore)?.checkForExternalCommits()) ?? true
      return isKnown || others
    }
    guard isChanged else { return }
    info[NSPersistentHistoryTokenKey] = coordinator.currentPersistentHistoryToken(fromStores: [store])
    NotificationCenter.default.post(name: .NSPersistentStoreRemoteChange, object: coordinator, userInfo: info)
  }
}
