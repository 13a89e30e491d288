// OpenCoreData
// SPDX-License-Identifier: Apache-2.0

import Dispatch
import Foundation

extension NSPersistentStoreCoordinator {
  /// Posts change notifications for all stores of this process with the given files, after a change by this coordinator.
  func postRemoteChanges(of urls: [URL?]) {
    RemoteChanges.post(of: urls.compactMap { $0 }, changedBy: self)
  }
}

/// Posts notifications of changed stores.
package enum RemoteChanges {
  /// The queue for notifications. Observers may use contexts, and posting takes the lock of another coordinator, for
  /// which a caller that may hold its own must not wait.
  static let queue = DispatchQueue(label: "NSPersistentStoreRemoteChange")

  /// The key in the user info of a Bool: whether anything else than the coordinator has changed the store. Not in
  /// Apple's notification.
  package static let isByOthersKey = "OpenCoreDataIsByOthers"

  /// Posts for all stores at the given locations, after a change by a coordinator of this process.
  static func post(of urls: [URL], changedBy writer: NSPersistentStoreCoordinator) {
    guard OpenStores.arePosting else { return }
    let writer = ObjectIdentifier(writer)
    queue.async {
      for url in urls {
        for store in OpenStores.postingStores(at: url) {
          let isOwn = store.persistentStoreCoordinator.map { ObjectIdentifier($0) == writer } ?? false
          post(store, url, isOwn ? .own : .others)
        }
      }
    }
  }

  /// Posts for a store if another process has changed it. Called on the queue, after the store's files were written.
  static func didWriteFiles(of store: SQLiteStore) {
    if let url = store.url { post(store, url, .unknown) }
  }

  /// Posts for a store that has been changed. May be called on any thread that does not hold the coordinator's lock.
  package static func didChange(_ store: NSPersistentStore) {
    queue.async { [weak store] in
      if let store, let url = store.url { post(store, url, .others) }
    }
  }

  /// Who has changed a store.
  private enum Writer {
    /// The store's coordinator, and perhaps others too.
    case own
    case others
    /// Others, if it was changed at all.
    case unknown
  }

  private static func post(_ store: NSPersistentStore, _ url: URL, _ writer: Writer) {
    guard let coordinator = store.persistentStoreCoordinator else { return }
    var info: [AnyHashable: Any] = [NSPersistentStoreURLKey: url.withoutPassword]
    let isChanged = coordinator.withLock {
      info[NSStoreUUIDKey] = store.identifier
      // An error says nothing about the change. The next reader of the store gets it.
      let others = (try? (store as? SQLiteStore)?.checkForExternalCommits()) ?? true
      info[isByOthersKey] = writer == .others || others
      return writer != .unknown || others
    }
    guard isChanged else { return }
    info[NSPersistentHistoryTokenKey] = coordinator.currentPersistentHistoryToken(fromStores: [store])
    NotificationCenter.default.post(name: .NSPersistentStoreRemoteChange, object: coordinator, userInfo: info)
  }
}
