// OpenCoreData
// SPDX-License-Identifier: Apache-2.0

import CoreDataFileSystem
import CoreDataSQLite
import CoreDataStoreFiles
import Foundation

/// Option: a Bool; a store is destroyed also while somebody has it open.
public let NSPersistentStoreForceDestroyOption = "NSPersistentStoreForceDestroyOption"

extension NSPersistentStoreCoordinator {
  /// Makes a store empty: its rows, its log and its external data go, and an empty file stays, in which a new store can be
  /// made by opening it.
  ///
  /// Coordinators of this process that have the store open keep it, without its rows: fetching from it and saving to it
  /// fail with 134070 until a new store is there. Adding the store again to such a coordinator takes its place. A store that
  /// is damaged is destroyed too; where there is none, nothing is done. What is no regular file is never replaced.
  ///
  /// - Parameters:
  ///   - url: where the store is.
  ///   - storeType: the kind of store.
  ///   - options: `NSPersistentStoreForceDestroyOption` to do it though another process has the store open.
  /// - Throws: 134000 for a kind of store that is not known; 134080 and its family when another process has it open; 134110
  ///   when it is being migrated; 512, 513, 640 and 642 when the file system fails. The store is as it was then.
  public func destroyPersistentStore(
    at url: URL, type storeType: NSPersistentStore.StoreType, options: [AnyHashable: Any]? = nil
  ) throws {
    _ = try StoreKinds.kind(of: storeType.rawValue)
    try movingStores(at: url) {
      let place = StoreLocation(url)
      // A store at /dev/null is in memory: there is nothing to be destroyed.
      guard FileCalls.exists(place.file), !RegularFile.isNullDevice(url) else { return }
      OpenStores.disconnect(from: url)
      // What was destroyed before is empty.
      if try StoreFile.isNew(url) { return }
      let settings = StoreOptions(options)
      _ = try StoreReplacement(
        place: place, journal: WorkJournal(purpose: .destruction),
        timeout: settings.timeout ?? StoreMigration.defaultBusyTimeout, replacesDamaged: true,
        ignoresLocks: settings.destroysByForce
      ).run(keptAt: nil) { _ in
        try FileCalls.write(Data(), to: place.newStore)
        return .init()
      }
    }
  }

  /// Makes a store empty, as `destroyPersistentStore(at:type:options:)`.
  ///
  /// - Parameters:
  ///   - url: where the store is.
  ///   - storeType: the kind of store, such as `NSSQLiteStoreType`.
  ///   - options: the store's options.
  /// - Throws: as `destroyPersistentStore(at:type:options:)`.
  public func destroyPersistentStore(
    at url: URL, ofType storeType: String, options: [AnyHashable: Any]? = nil
  ) throws {
    try destroyPersistentStore(at: url, type: .init(rawValue: storeType), options: options)
  }

  /// Puts a copy of a store in the place of another, or where there is none.
  ///
  /// What the log of the source holds is part of the copy, and so is its external data. The exchange is one moment: a store
  /// that is there is either the old one or the new one, whole. Coordinators of this process that have the destination open
  /// read the new store from then on; where it is of another version of the model, they fail with 134070.
  ///
  /// - Parameters:
  ///   - destinationURL: where the copy is to be.
  ///   - destinationOptions: the options of the store that is there.
  ///   - sourceURL: the store to copy; others may use it meanwhile.
  ///   - sourceOptions: the options of that store.
  ///   - sourceType: the kind of both.
  /// - Throws: 134000 for a kind of store that is not known; 260 when there is no source; 259 when it is not a store; 134080
  ///   and its family when another process has the destination open; 134110 when it is being migrated; 512, 513, 640 and 642 when
  ///   the file system fails. The destination is as it was then.
  public func replacePersistentStore(
    at destinationURL: URL, destinationOptions: [AnyHashable: Any]? = nil,
    withPersistentStoreFrom sourceURL: URL, sourceOptions: [AnyHashable: Any]? = nil,
    type sourceType: NSPersistentStore.StoreType
  ) throws {
    _ = try StoreKinds.kind(of: sourceType.rawValue)
    try movingStores(at: sourceURL) {
      // What is unfinished there needs no settling: the store is whole.
      try StoreFile.peek(sourceURL).close()
    }
    try movingStores(at: destinationURL) {
      let place = StoreLocation(destinationURL)
      try place.checkFile()
      OpenStores.disconnect(from: destinationURL)
      _ = try StoreReplacement(
        place: place, journal: WorkJournal(purpose: .replacement),
        timeout: StoreOptions(destinationOptions).timeout ?? StoreMigration.defaultBusyTimeout, replacesDamaged: true
      ).run(keptAt: nil) { hold in
        try StoreReplacement.copy(sourceURL, to: place.newStore)
        let found = try StoreVerification(url: place.newStore).carryOut(leaving: hold?.journalMode ?? .wal)
        return .init(external: found.external)
      }
    }
  }

  /// Puts a copy of a store in the place of another, as
  /// `replacePersistentStore(at:destinationOptions:withPersistentStoreFrom:sourceOptions:type:)`.
  ///
  /// - Parameters:
  ///   - destinationURL: where the copy is to be.
  ///   - destinationOptions: the options of the store that is there.
  ///   - sourceURL: the store to copy.
  ///   - sourceOptions: the options of that store.
  ///   - storeType: the kind of both, such as `NSSQLiteStoreType`.
  /// - Throws: as the other.
  public func replacePersistentStore(
    at destinationURL: URL, destinationOptions: [AnyHashable: Any]? = nil,
    withPersistentStoreFrom sourceURL: URL, sourceOptions: [AnyHashable: Any]? = nil, ofType storeType: String
  ) throws {
    try replacePersistentStore(
      at: destinationURL, destinationOptions: destinationOptions, withPersistentStoreFrom: sourceURL,
      sourceOptions: sourceOptions, type: .init(rawValue: storeType))
  }

  /// Moves a store of this coordinator to another place ("save as"): the store is copied, and the copy opened in its stead.
  ///
  /// The file at the old place stays as it is. Objects and identifiers of the store are those of the new one from then on,
  /// and what contexts have not saved is saved there. Memory does not grow with the rows.
  ///
  /// Differs from Apple: the store given is of no coordinator afterwards, as there, but objects and identifiers go on.
  ///
  /// - Parameters:
  ///   - store: a store of this coordinator, of no use afterwards.
  ///   - storeURL: the new place, where no store is yet.
  ///   - options: the options of the new store.
  ///   - storeType: the kind of the new store.
  /// - Returns: the store at the new place.
  /// - Throws: 134000 for a kind of store that is not known; 134070 when the store is not of this coordinator, or when there
  ///   is a store at the new place; 512, 513, 640 and 642 when the file system fails; what opening a store throws. The
  ///   coordinator has the old store then.
  @discardableResult
  public func migratePersistentStore(
    _ store: NSPersistentStore, to storeURL: URL, options: [AnyHashable: Any]? = nil,
    type storeType: NSPersistentStore.StoreType
  ) throws -> NSPersistentStore {
    let kind = try StoreKinds.kind(of: storeType.rawValue)
    let moved = try withLock {
      guard let source = store.url, store.persistentStoreCoordinator === self else {
        throw StoreErrors.operationFailed(
          url: store.url, reason: "The store does not belong to this coordinator, so it cannot be moved by it.")
      }
      guard !kind.hasContents(at: storeURL) else {
        throw StoreErrors.operationFailed(
          url: storeURL, reason: "There is a file already where the store is to be moved; nothing was done to it.")
      }
      try writeMetadata()
      try replacePersistentStore(
        at: storeURL, destinationOptions: options, withPersistentStoreFrom: source, sourceOptions: store.options,
        type: storeType)
      let configuration =
        store.configurationName == NSPersistentStore.defaultConfigurationName ? nil : store.configurationName
      let moved = kind.init(
        persistentStoreCoordinator: self, configurationName: configuration, at: storeURL, options: options)
      do {
        try moved.loadMetadata()
      } catch {
        // Why the store cannot be opened is what matters.
        try? StoreFiles.remove(at: storeURL)
        throw error
      }
      replace(store, by: moved)
      return moved
    }
    NotificationCenter.default.post(
      name: .NSPersistentStoreCoordinatorStoresDidChange, object: self,
      userInfo: [NSAddedPersistentStoresKey: [moved], NSRemovedPersistentStoresKey: [store]])
    return moved
  }

  /// Moves a store of this coordinator to another place, as `migratePersistentStore(_:to:options:type:)`.
  ///
  /// - Parameters:
  ///   - store: a store of this coordinator, of no use afterwards.
  ///   - URL: the new place, where no store is yet.
  ///   - options: the options of the new store.
  ///   - storeType: the kind of the new store, such as `NSSQLiteStoreType`.
  /// - Returns: the store at the new place.
  /// - Throws: as the other.
  @discardableResult
  public func migratePersistentStore(
    _ store: NSPersistentStore, to URL: URL, options: [AnyHashable: Any]? = nil, withType storeType: String
  ) throws -> NSPersistentStore {
    try migratePersistentStore(store, to: URL, options: options, type: .init(rawValue: storeType))
  }

  private func movingStores(at url: URL, _ body: () throws -> Void) throws {
    try SQLiteStoreErrors.translating(url: url, isOpening: false) {
      try RecoveryErrors.translating(url: url, body)
    }
  }
}
