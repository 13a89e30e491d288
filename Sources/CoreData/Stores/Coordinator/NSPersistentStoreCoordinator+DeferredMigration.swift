// OpenCoreData
// SPDX-License-Identifier: Apache-2.0

import CoreDataMigration
import CoreDataStoreFiles
import Foundation

extension NSPersistentStoreCoordinator {
  /// Finishes the cleanup that migrations with `NSPersistentStoreDeferredLightweightMigrationOptionKey` have deferred.
  ///
  /// Each table is cleaned up in its own transaction. If the process is killed partway through, the store remains
  /// usable, and the next call continues.
  ///
  /// - Throws: 134080 and its family if SQLite fails. Tables that have been cleaned up stay so.
  public func finishDeferredLightweightMigration() throws {
    while try runDeferredTask() {}
  }

  /// Runs one task of the cleanup that migrations with `NSPersistentStoreDeferredLightweightMigrationOptionKey` have
  /// deferred: one table of one store. The last task removes the key from the store's metadata.
  ///
  /// - Throws: the errors of `finishDeferredLightweightMigration()`.
  public func finishDeferredLightweightMigrationTask() throws {
    _ = try runDeferredTask()
  }

  /// Runs a task, if there is one.
  ///
  /// - Returns: whether there may be more to do.
  private func runDeferredTask() throws -> Bool {
    try withLock {
      let key = NSPersistentStoreDeferredLightweightMigrationOptionKey
      guard let store = stores.lazy.compactMap({ $0 as? SQLiteStore }).first(where: { $0.metadata[key] != nil }),
        let url = store.url
      else { return false }
      if store.isReadOnly { throw StoreErrors.readOnly(url: url, byOption: StoreOptions(store.options).isReadOnly) }
      let settings = StoreOptions(store.options)
      do {
        try SQLiteStoreErrors.translating(url: url, isOpening: false) {
          let file = try StoreFile.open(
            url, isReadOnly: false, timeout: settings.timeout ?? StoreMigration.defaultBusyTimeout)
          defer {
            // Closing does not affect whether the transaction was committed.
            try? file.close()
          }
          let cleanup = DeferredCleanup(
            file: file, document: managedObjectModel.document, configuration: store.customConfigurationName)
          if try !cleanup.runTask() { store.forgetMetadata(key) }
        }
      } catch let problem as InPlaceProblem {
        throw problem.error(url: url)
      }
      return true
    }
  }
}
