// OpenCoreData
// SPDX-License-Identifier: Apache-2.0

import CoreDataFileSystem
import CoreDataMigration
import CoreDataModelFiles
import CoreDataStoreFiles
import CoreDataTracing
import Foundation

extension NSPersistentStoreCoordinator {
  /// Opens or creates a store.
  ///
  /// - Parameters:
  ///   - type: the store's type.
  ///   - configuration: the configuration whose entities the store holds; nil for all entities.
  ///   - storeURL: the location of the store.
  ///   - options: such as `NSMigratePersistentStoresAutomaticallyOption`.
  /// - Throws: 134000 for an unknown type; 134080 if the store cannot be opened; 134090 if another process keeps it
  ///   locked; 259 if the file is damaged or not a store; 134100 if it was written with another version of the model
  ///   and migration is not enabled; the errors of migration.
  @discardableResult
  public func addPersistentStore(
    type: NSPersistentStore.StoreType, configuration: String? = nil, at storeURL: URL,
    options: [AnyHashable: Any]? = nil
  ) throws -> NSPersistentStore {
    try addPersistentStore(
      ofType: type.rawValue, configurationName: configuration, at: storeURL, options: options)
  }

  /// Opens or creates a store.
  ///
  /// - Parameters:
  ///   - storeType: the store's type, such as `NSSQLiteStoreType`.
  ///   - configuration: the configuration whose entities the store holds; nil for all entities.
  ///   - storeURL: the location of the store; nil for one that has none, such as an in-memory store.
  ///   - options: such as `NSMigratePersistentStoresAutomaticallyOption`.
  /// - Throws: the errors of `addPersistentStore(type:configuration:at:options:)`.
  @discardableResult
  public func addPersistentStore(
    ofType storeType: String, configurationName configuration: String?, at storeURL: URL?,
    options: [AnyHashable: Any]? = nil
  ) throws -> NSPersistentStore {
    try ErrorLocation.naming(storeURL) {
      try StatementTracing.reporting(.opening) { try add(storeType, configuration, at: storeURL, options) }
    }
  }

  private func add(
    _ storeType: String, _ configuration: String?, at storeURL: URL?, _ options: [AnyHashable: Any]?
  ) throws -> NSPersistentStore {
    let kind = try StoreKinds.kind(of: storeType, at: storeURL)
    if let configuration, managedObjectModel.entities(forConfigurationName: configuration) == nil {
      throw StoreErrors.unknownConfiguration(configuration, known: managedObjectModel.configurations, url: storeURL)
    }
    try managedObjectModel.checkUniquenessConstraints()
    guard storeURL?.isFileURL == true || !StoreKinds.needsFile(kind) else {
      throw StoreErrors.cannotOpen(
        url: storeURL,
        reason: "Cannot create a store of type '\(storeType)' with a nil URL, or with one that names no file.")
    }
    guard let storeURL else { return try addStoreWithoutURL(kind, configuration, options) }
    return try adding {
      // Every store at /dev/null is a separate in-memory store.
      let known = persistentStore(for: storeURL)
      if let known = known as? any RowStore, known.isDisconnected {
        // The store was destroyed or replaced; this adds the new one.
        try remove(known)
      } else if known != nil, kind != InMemoryStore.self, !RegularFile.isNullDevice(storeURL) {
        throw StoreErrors.cannotOpen(url: storeURL, reason: "The coordinator has already opened this store.")
      }
      let opening = StoreOpening(
        of: kind, at: storeURL, with: managedObjectModel, configuration: configuration, options: options,
        stageContainer: NSPersistentContainer.self)
      if kind == SQLiteStore.self {
        return try SettingAside.open(storeURL, model: managedObjectModel, configuration, opening.settings) {
          try open(opening)
        }
      }
      guard !opening.settings.setsAside else {
        throw StoreErrors.invalidOption(StoreSetAsideOption, true, wanted: "it for SQLite stores only")
      }
      return try open(opening)
    }
  }

  /// Adds the store that a body opens under the coordinator's lock, and posts a notification.
  private func adding(_ open: () throws -> NSPersistentStore) rethrows -> NSPersistentStore {
    let store = try withLock {
      let store = try open()
      adopt(store)
      return store
    }
    NotificationCenter.default.post(
      name: .NSPersistentStoreCoordinatorStoresDidChange, object: self, userInfo: [NSAddedPersistentStoresKey: [store]])
    return store
  }

  /// Opens the store of a description.
  ///
  /// - Parameters:
  ///   - storeDescription: what to open.
  ///   - block: called with the description and any error. If the description is asynchronous, called on another
  ///     thread.
  public func addPersistentStore(
    with storeDescription: NSPersistentStoreDescription,
    completionHandler block: @escaping (NSPersistentStoreDescription, (any Error)?) -> Void
  ) {
    let work = DescribedOpening(coordinator: self, description: storeDescription, block: block)
    if storeDescription.shouldAddStoreAsynchronously {
      DispatchQueue.global().async { work.run() }
    } else {
      work.run()
    }
  }

  private func open(_ opening: StoreOpening) throws -> NSPersistentStore {
    let settled = try opening.settle()
    let store = try opening.run {
      let store = opening.kind.init(
        persistentStoreCoordinator: self, configurationName: opening.configuration, at: opening.url,
        options: opening.options)
      try finishOpening(store)
      return store
    }
    store.settledWork = settled
    return store
  }

  /// Adds a store without a location, such as an in-memory store.
  private func addStoreWithoutURL(
    _ kind: NSPersistentStore.Type, _ configuration: String?, _ options: [AnyHashable: Any]?
  ) throws -> NSPersistentStore {
    try adding {
      let location = URL(fileURLWithPath: "/dev/null")
      let store = kind.init(
        persistentStoreCoordinator: self, configurationName: configuration, at: location, options: options)
      store.url = nil
      try finishOpening(store)
      return store
    }
  }

  /// Opens a store.
  ///
  /// - Parameter continuesCopy: whether the store may contain an unfinished copy of another store.
  func finishOpening(_ store: NSPersistentStore, continuesCopy: Bool = false) throws {
    try store.loadMetadata()
    if !continuesCopy {
      do {
        try CopyProgress.check(store.metadata ?? [:], url: store.url)
      } catch {
        store.willRemove(from: self)
        throw error
      }
    }
    if !StoreKinds.isOwn(Swift.type(of: store)) { try completeMetadata(of: store) }
    try (store as? any RowStore)?.finishOpening()
  }

  /// Compares the metadata that a custom store class has loaded with the model, and adds missing values.
  private func completeMetadata(of store: NSPersistentStore) throws {
    var metadata: [String: Any] = store.metadata ?? [:]
    let configuration = store.customConfigurationName
    let ignoresVersioning = StoreOptions(store.options).ignoresVersioning
    if metadata[NSStoreModelVersionHashesKey] != nil, !ignoresVersioning,
      !managedObjectModel.isConfiguration(withName: configuration, compatibleWithStoreMetadata: metadata)
    {
      throw StoreErrors.incompatibleVersionHash(
        url: store.url, metadata: metadata,
        differences: StoreCompatibility.differences(
          metadata: metadata, model: managedObjectModel, configuration: configuration, storeModel: nil))
    }
    let new = try StoreMetadata.new(
      type: store.type, model: managedObjectModel, configuration: configuration, url: store.url)
    metadata.merge(new) { known, _ in known }
    if ignoresVersioning {
      metadata.merge(
        try StoreMetadata.versions(of: managedObjectModel, configuration: configuration, url: store.url)
      ) { $1 }
    }
    store.metadata = metadata
  }

  /// Finishes the cleanup that migrations with `NSPersistentStoreDeferredLightweightMigrationOptionKey` deferred.
  ///
  /// Each table is cleaned up in its own transaction. If the process is killed partway through, the store remains
  /// usable, and the next call continues.
  ///
  /// - Throws: the errors of SQLite. Tables that have been cleaned up remain so.
  public func finishDeferredLightweightMigration() throws { while try runDeferredTask() {} }

  /// Runs one task of the cleanup that migrations with `NSPersistentStoreDeferredLightweightMigrationOptionKey`
  /// deferred: one table of one store. The last task removes the key from the store's metadata.
  ///
  /// - Throws: the errors of `finishDeferredLightweightMigration()`.
  public func finishDeferredLightweightMigrationTask() throws { _ = try runDeferredTask() }

  /// Runs the next task, if there is one.
  ///
  /// - Returns: whether there may be more tasks.
  private func runDeferredTask() throws -> Bool {
    try withLock {
      let key = NSPersistentStoreDeferredLightweightMigrationOptionKey
      guard let store = stores.lazy.compactMap({ $0 as? SQLiteStore }).first(where: { $0.metadata[key] != nil }),
        let url = store.url
      else { return false }
      if store.isReadOnly { throw StoreErrors.readOnly(store) }
      try ErrorTranslation.translating(url: url, during: .use) {
        let file = try StoreFile.open(
          url, isReadOnly: false, timeout: StoreOptions(store.options).timeout ?? StoreOptions.defaultTimeout)
        defer {
          // Closing does not affect whether the transaction was committed.
          try? file.close()
        }
        let cleanup = DeferredCleanup(
          file: file, document: managedObjectModel.document, configuration: store.customConfigurationName)
        if try !cleanup.runTask() { store.forgetMetadata(key) }
      }
      return true
    }
  }
}

/// The opening of a store, possibly on another thread. Only that thread calls the block.
private struct DescribedOpening: @unchecked Sendable {
  let coordinator: NSPersistentStoreCoordinator
  let description: NSPersistentStoreDescription
  let block: (NSPersistentStoreDescription, (any Error)?) -> Void

  func run() {
    var options: [AnyHashable: Any] = description.options
    options[NSPersistentStoreTimeoutOption] = NSNumber(value: description.timeout)
    do {
      let store = try coordinator.addPersistentStore(
        ofType: description.type, configurationName: description.configuration, at: description.url, options: options)
      description.storeSetAside = store.storeSetAside
      block(description, nil)
    } catch {
      block(description, error)
    }
  }
}
