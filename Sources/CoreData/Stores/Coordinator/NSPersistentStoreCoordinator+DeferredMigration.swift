// OpenCoreData
// SPDX-License-Identifier: Apache-2.0

import CoreDataMigration
import CoreDataStoreFiles
import Foundation

extension NSPersistentStoreCoordinator {
  /// Does all work that lightweight migrations with `NSPersistentStoreDeferredLightweightMigrationOptionKey` have left.
  ///
  /// Each table is cleaned up in a transaction of its own; a process that is killed in between leaves a store that can be used
  /// as before, and the rest of the work to the next call.
  ///
  /// - Throws: 134080 and its family when SQLite fails; what has been done stays done.
  public func finishDeferredLightweightMigration() throws {
    while try runDeferredTask() {}
  }

  /// Does one piece of the work that lightweight migrations with `NSPersistentStoreDeferredLightweightMigrationOptionKey`
  /// have left: one table of one store. With the last one the key disappears from the store's metadata.
  ///
  /// - Throws: as `finishDeferredLightweightMigration()`.
  public func finishDeferredLightweightMigrationTask() throws {
    _ = try runDeferredTask()
  }

  /// - Returns: whether there may be more to do.
  private func runDeferredTask() throws -> Bool {
    try withLock {
      let key = NSPersistentStoreDeferredLightweightMigrationOptionKey
      guard let store = stores.lazy.compactMap({ $0 as? SQLiteStore }).first(where: { $0.metadata[key] != nil }),
        let url = store.url
      else { return false }
      if store.isReadOnly { throw StoreErrors.readOnly(url: url, byOption: StoreOptions(store.options).isReadOnly) }
      let settings = StoreOptions(store.options)
      let configuration =
        store.configurationName == NSPersistentStore.defaultConfigurationName ? nil : store.configurationName
      do {
        try SQLiteStoreErrors.translating(url: url, isOpening: false) {
          let file = try StoreFile.open(
            url, isReadOnly: false, timeout: settings.timeout ?? StoreMigration.defaultBusyTimeout)
          defer {
            // The transaction has been committed or not; closing changes neither.
            try? file.close()
          }
          let cleanup = DeferredCleanup(file: file, document: managedObjectModel.document, configuration: configuration)
          if try !cleanup.runTask() { store.forgetMetadata(key) }
        }
      } catch let problem as InPlaceProblem {
        throw problem.error(url: url)
      }
      return true
    }
  }
}
