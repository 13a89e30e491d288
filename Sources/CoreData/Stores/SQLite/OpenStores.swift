// OpenCoreData
// SPDX-License-Identifier: Apache-2.0

import CoreDataFileSystem
import CoreDataSQLite
import Foundation

/// The stores that this process has open, by file, so that destroying or replacing a file can close their connections.
enum OpenStores {
  private struct Entry {
    weak var store: SQLiteStore?
    let file: String
  }

  private static let lock = NSLock()
  private nonisolated(unsafe) static var entries: [Entry] = []

  /// Adds a store that has connected to its file.
  static func add(_ store: SQLiteStore, at url: URL) {
    let file = name(of: url)
    lock.withLock {
      entries.removeAll { $0.store == nil || $0.store === store }
      entries.append(Entry(store: store, file: file))
    }
  }

  /// Removes a store that has closed its connection.
  static func remove(_ store: SQLiteStore) {
    lock.withLock { entries.removeAll { $0.store == nil || $0.store === store } }
  }

  /// Closes the connections of this process to a file, each while holding the coordinator's lock.
  ///
  /// The stores stay with their coordinators, and open the file again when they are next used.
  static func disconnect(from url: URL) {
    let file = name(of: url)
    let found = lock.withLock { entries.filter { $0.file == file }.compactMap(\.store) }
    for store in found {
      guard let coordinator = store.persistentStoreCoordinator else {
        store.disconnect()
        continue
      }
      coordinator.withLock { store.disconnect() }
    }
  }

  private static func name(of url: URL) -> String {
    URL(fileURLWithPath: DatabaseFile.target(of: url.path)).standardizedFileURL.path
  }
}
