// OpenCoreData
// SPDX-License-Identifier: Apache-2.0

import CoreDataFileSystem
import CoreDataSQLite
import CoreDataStoreFiles
import Foundation

/// Option: a Bool. If true, a store is destroyed even if another process has it open.
public let NSPersistentStoreForceDestroyOption = "NSPersistentStoreForceDestroyOption"

extension NSPersistentStoreCoordinator {
  /// Destroys a store: removes its rows, log and external data. Leaves an empty file, with an empty write-ahead log and
  /// log index beside it; opening that file creates a new store.
  /// Coordinators of this process that have the store open keep it, but fetches and saves fail with 134070 until a new
  /// store exists. Adding the store to such a coordinator again replaces it. A damaged store is destroyed too. If there
  /// is no store, the empty files are created if the directory is writable. Only regular files are replaced.
  ///
  /// - Parameters:
  ///   - url: the location of the store.
  ///   - storeType: the store's type.
  ///   - options: `NSPersistentStoreForceDestroyOption` to destroy the store even if another process has it open.
  /// - Throws: 134000 for an unknown type; 134010 for a SQLite database that is destroyed as a store of another type;
  ///   134070 for an incremental store; 134090 if another process has the store open; 134110 if it is being migrated; 512,
  ///   513, 640 and 642 if the file system fails. On an error, the store is unchanged.
  public func destroyPersistentStore(
    at url: URL, type storeType: NSPersistentStore.StoreType, options: [AnyHashable: Any]? = nil
  ) throws {
    let kind = try StoreKinds.kind(of: storeType.rawValue, at: url)
    if let server = kind as? any ServerStore.Type { return try server.destroy(at: url) }
    guard kind == SQLiteStore.self else { return try StoreFileMoves.destroy(kind, at: url) }
    try movingStores(at: url) {
      let location = StoreLocation(url)
      // A store at /dev/null is in memory. If no file can be created, there is no store to destroy.
      guard !RegularFile.isNullDevice(url),
        FileCalls.exists(location.file) || FileManager.default.isWritableFile(atPath: location.folder.path)
      else { return }
      try OpenStores.withoutConnections(to: url) {
        if try StoreReplacement.isDestroyed(location) { return }
        let settings = StoreOptions(options)
        _ = try StoreReplacement(
          location: location, journal: WorkJournal(purpose: .destruction),
          timeout: settings.timeout ?? StoreOptions.defaultTimeout, replacesDamaged: true,
          ignoresLocks: settings.destroysByForce
        ).run(keptAt: nil) { _ in try StoreReplacement.makeEmpty(location) }
        StageLock.removeAbandoned(url)
      }
    }
  }

  /// Destroys a store, as `destroyPersistentStore(at:type:options:)`.
  ///
  /// - Parameters:
  ///   - url: the location of the store.
  ///   - storeType: the store's type, such as `NSSQLiteStoreType`.
  ///   - options: the store's options.
  /// - Throws: the errors of `destroyPersistentStore(at:type:options:)`.
  public func destroyPersistentStore(
    at url: URL, ofType storeType: String, options: [AnyHashable: Any]? = nil
  ) throws {
    try destroyPersistentStore(at: url, type: .init(rawValue: storeType), options: options)
  }

  /// Replaces a store atomically by a copy of another, or creates it.
  ///
  /// The copy includes the source's write-ahead log and external data. Coordinators of this process that have the
  /// destination open read the new store from then on, or fail with 134070 if its model version differs.
  ///
  /// - Parameters:
  ///   - destinationURL: the location of the store to replace.
  ///   - destinationOptions: the options of the store to replace.
  ///   - sourceURL: the location of the store to copy, which may be in use.
  ///   - sourceOptions: the options of the store to copy.
  ///   - sourceType: the type of both stores.
  /// - Throws: 134000 for an unknown type; 134010 for a SQLite database that is replaced with a store of another type;
  ///   134070 for an incremental store; 260 if there is no source; 259 if it is not a store; 134090 if another process has
  ///   the destination open; 134110 if it is being migrated; 512, 513, 640 and 642 if the file system fails. On an error,
  ///   the destination is unchanged.
  public func replacePersistentStore(
    at destinationURL: URL, destinationOptions: [AnyHashable: Any]? = nil,
    withPersistentStoreFrom sourceURL: URL, sourceOptions: [AnyHashable: Any]? = nil,
    type sourceType: NSPersistentStore.StoreType
  ) throws {
    let kind = try StoreKinds.kind(of: sourceType.rawValue)
    guard kind == SQLiteStore.self else {
      return try StoreFileMoves.replace(kind, at: destinationURL, from: sourceURL)
    }
    try movingStores(at: sourceURL) {
      // Interrupted work on the source need not be finished: the store is complete without it.
      try StoreFile.peek(sourceURL).close()
    }
    try movingStores(at: destinationURL) {
      let location = StoreLocation(destinationURL)
      try location.checkFile()
      try OpenStores.withoutConnections(to: destinationURL) {
        _ = try StoreReplacement(
          location: location, journal: WorkJournal(purpose: .replacement),
          timeout: StoreOptions(destinationOptions).timeout ?? StoreOptions.defaultTimeout, replacesDamaged: true
        ).run(keptAt: nil) { hold in
          try StoreReplacement.copy(sourceURL, to: location.newStore)
          let found = try StoreVerification(url: location.newStore).carryOut(leaving: hold?.modeOfReplacement ?? .wal)
          return .init(external: found.external)
        }
      }
    }
  }

  /// Replaces a store by a copy of another, as
  /// `replacePersistentStore(at:destinationOptions:withPersistentStoreFrom:sourceOptions:type:)`.
  ///
  /// - Parameters:
  ///   - destinationURL: the location of the store to replace.
  ///   - destinationOptions: the options of the store to replace.
  ///   - sourceURL: the location of the store to copy.
  ///   - sourceOptions: the options of the store to copy.
  ///   - storeType: the type of both stores, such as `NSSQLiteStoreType`.
  /// - Throws: the errors of the other method.
  public func replacePersistentStore(
    at destinationURL: URL, destinationOptions: [AnyHashable: Any]? = nil,
    withPersistentStoreFrom sourceURL: URL, sourceOptions: [AnyHashable: Any]? = nil, ofType storeType: String
  ) throws {
    try replacePersistentStore(
      at: destinationURL, destinationOptions: destinationOptions, withPersistentStoreFrom: sourceURL,
      sourceOptions: sourceOptions, type: .init(rawValue: storeType))
  }

  /// Copies a store of this coordinator to another location, and opens the copy in its place ("save as").
  ///
  /// The file at the old location is unchanged. The store's objects and identifiers become those of the new store, and
  /// contexts save their changes there. Memory use does not grow with the number of rows.
  /// If one of the stores is not a SQLite database, rows are copied page by page, and the copy is verified with counts
  /// and hashes. Existing objects and identifiers then remain valid only if both stores are in-memory, XML or binary
  /// stores. Otherwise the new store has a UUID of its own, and contexts must be reset. Objects keep the numbers in
  /// their identifiers, unless the new store numbers all entities together and another object has the same number.
  /// Differs from Apple: existing objects and identifiers remain valid in the cases described above.
  ///
  /// - Parameters:
  ///   - store: a store of this coordinator, which is removed from it.
  ///   - storeURL: the new location, without a store.
  ///   - options: the options of the new store.
  ///   - storeType: the type of the new store.
  /// - Returns: the new store.
  /// - Throws: 134000 for an unknown type; 134070 if the store does not belong to this coordinator, if there is a store
  ///   at the new location, if it is an incremental store, whose rows cannot be listed, or if the copy differs from the
  ///   old store; 512, 513, 640 and 642 if the file system fails; the errors of opening a store. On an error, the
  ///   coordinator keeps the old store.
  @discardableResult
  public func migratePersistentStore(
    _ store: NSPersistentStore, to storeURL: URL, options: [AnyHashable: Any]? = nil,
    type storeType: NSPersistentStore.StoreType
  ) throws -> NSPersistentStore {
    try copyPersistentStore(store, to: storeURL, options: options, type: storeType).store
  }

  /// Copies a store as `migratePersistentStore(_:to:options:type:)` does, with settings for copying rows.
  /// - Returns: the new store and the result of the copy. The latter is nil if the file was copied, or if the rows were
  ///   taken over unchanged.
  package func copyPersistentStore(
    _ store: NSPersistentStore, to storeURL: URL, options: [AnyHashable: Any]? = nil,
    type storeType: NSPersistentStore.StoreType, _ settings: CopySettings = CopySettings()
  ) throws -> (store: NSPersistentStore, result: StoreCopyResult?) {
    let kind = try StoreKinds.kind(of: storeType.rawValue, at: storeURL)
    let (moved, result) = try withLock { () -> (NSPersistentStore, StoreCopyResult?) in
      guard store.persistentStoreCoordinator === self else {
        throw StoreErrors.operationFailed(
          url: store.url, reason: "The store does not belong to this coordinator, which cannot move it.")
      }
      let isOccupied = try Self.isOccupied(storeURL, kind)
      guard kind == InMemoryStore.self || RegularFile.isNullDevice(storeURL) || !isOccupied else {
        throw StoreErrors.operationFailed(
          url: storeURL,
          reason: "There is already a \(kind is any ServerStore.Type ? "store" : "file") at the new location of the "
            + "store; it was not changed.")
      }
      try writeMetadata()
      guard kind == SQLiteStore.self, store is SQLiteStore, let source = store.url, !RegularFile.isNullDevice(source),
        !RegularFile.isNullDevice(storeURL)
      else {
        let (moved, result) = try copy(store, into: kind, at: storeURL, options, settings)
        exchange(store, for: moved)
        return (moved, result)
      }
      try replacePersistentStore(
        at: storeURL, destinationOptions: options, withPersistentStoreFrom: source, sourceOptions: store.options,
        type: storeType)
      let moved = kind.init(
        persistentStoreCoordinator: self, configurationName: store.customConfigurationName, at: storeURL,
        options: options)
      do {
        try moved.loadMetadata()
      } catch {
        // The caller needs the error of opening the store, not that of the cleanup.
        try? StoreFiles.remove(at: storeURL)
        throw error
      }
      replace(store, by: moved)
      return (moved, nil)
    }
    NotificationCenter.default.post(
      name: .NSPersistentStoreCoordinatorStoresDidChange, object: self,
      userInfo: [NSAddedPersistentStoresKey: [moved], NSRemovedPersistentStoresKey: [store]])
    return (moved, result)
  }

  /// Returns whether there is a store at a location, other than one with an unfinished copy.
  private static func isOccupied(_ url: URL, _ kind: NSPersistentStore.Type) throws -> Bool {
    guard try kind.isPresent(at: url) else { return false }
    guard kind is any PartialCopyDestination.Type else { return true }
    return try kind.metadataForPersistentStore(with: url)[StoreMetadata.Key.unfinishedCopy] == nil
  }

  /// Copies a store of this coordinator to another location, as `migratePersistentStore(_:to:options:type:)`.
  ///
  /// - Parameters:
  ///   - store: a store of this coordinator, which is removed from it.
  ///   - URL: the new location, without a store.
  ///   - options: the options of the new store.
  ///   - storeType: the type of the new store, such as `NSSQLiteStoreType`.
  /// - Returns: the new store.
  /// - Throws: the errors of the other method.
  @discardableResult
  public func migratePersistentStore(
    _ store: NSPersistentStore, to URL: URL, options: [AnyHashable: Any]? = nil, withType storeType: String
  ) throws -> NSPersistentStore {
    try migratePersistentStore(store, to: URL, options: options, type: .init(rawValue: storeType))
  }

  private func movingStores(at url: URL, _ body: () throws -> Void) throws {
    try ErrorTranslation.translating(url: url, during: .replacement, body)
  }
}
