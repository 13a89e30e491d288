// OpenCoreData
// SPDX-License-Identifier: Apache-2.0

import CoreDataFileSystem
import CoreDataStoreFiles
import Foundation

/// Operations on the files of stores that are not SQLite databases.
enum StoreFileMoves {
  /// Removes a store's file.
  static func destroy(_ kind: NSPersistentStore.Type, at url: URL) throws {
    if kind is NSIncrementalStore.Type { throw unsupported(kind, "destroy", url) }
    guard kind != InMemoryStore.self, !RegularFile.isNullDevice(url) else { return }
    try ErrorTranslation.translating(url: url, during: .opening) {
      try check(url)
      try WholeFile(url).remove()
    }
  }

  /// Replaces a store's file with a copy of another store's.
  static func replace(_ kind: NSPersistentStore.Type, at url: URL, from source: URL) throws {
    guard kind is FileStore.Type || kind is NSAtomicStore.Type else { throw unsupported(kind, "copy", url) }
    let data = try FileStoreErrors.translating(source) {
      guard let data = try WholeFile(source).read(limit: FileStore.largest) else {
        throw StoreFileProblem.missing(path: source.path)
      }
      if let kind = kind as? FileStore.Type { _ = try kind.format.init(data, url: source) }
      return data
    }
    try ErrorTranslation.translating(url: url, during: .opening) {
      try check(url)
      try WholeFile(url, replacesUnread: true).write(data)
    }
  }

  /// Throws 134010 for a SQLite database, which consists of several files.
  private static func check(_ url: URL) throws {
    guard FileCalls.isRegular(url), try RegularFile.firstBytes(15, of: url) == Data("SQLite format 3".utf8) else {
      return
    }
    throw StoreErrors.typeMismatch(url: url, reason: "'\(url.path)' is a store of the type '\(NSSQLiteStoreType)'.")
  }

  private static func unsupported(_ kind: NSPersistentStore.Type, _ operation: String, _ url: URL) -> NSError {
    StoreErrors.operationFailed(
      url: url,
      reason: "The framework cannot \(operation) stores of the class \(kind), since it does not know where "
        + "they keep their rows.")
  }
}

extension NSPersistentStoreCoordinator {
  /// Changes the location of a store.
  ///
  /// A SQLite store switches to the store at the new location, which must have the same model version and entity
  /// numbers. Any other store with a file writes it there at the next save, replacing an existing file.
  ///
  /// - Parameters:
  ///   - url: the new location.
  ///   - store: a store of this coordinator.
  /// - Returns: whether the location was changed. False for an incremental store, for a store of another coordinator,
  ///   and if there is no suitable SQLite store at the new location.
  @discardableResult
  public func setURL(_ url: URL, for store: NSPersistentStore) -> Bool {
    withLock {
      guard store.persistentStoreCoordinator === self else { return false }
      switch store {
      case let store as SQLiteStore: return store.reopen(at: url)
      case let store as FileStore: store.setDestination(url)
      case let store as NSAtomicStore:
        store.url = url
        store.hasUnsavedMetadata = true
      case is NSIncrementalStore: return false
      default: store.url = url
      }
      return true
    }
  }

  /// Counts the objects of a store, and hashes what they hold.
  ///
  /// - Parameters:
  ///   - store: a store of this coordinator.
  ///   - step: the step of the copy that is reported to `progress`.
  ///   - progress: called after each page of rows. An error cancels the reading.
  /// - Throws: 134070 for a store whose rows cannot be listed; the store's errors.
  package func digest(
    of store: NSPersistentStore, step: CopyStage.Step = .check, progress: (CopyStage) throws -> Void = { _ in }
  ) throws -> StoreDigest {
    guard let store = store as? any RowStore else {
      throw StoreErrors.operationFailed(url: store.url, reason: "The rows of the store cannot be listed.")
    }
    return try withLock {
      try store.readingOneState {
        let keys = try PresentKeys(of: store, managedObjectModel)
        return try StoreDigest(of: store, keys) { entity, done in
          try progress(CopyStage(step: step, entity: entity.name ?? "", done: done, total: keys.count))
        }
      }
    }
  }

  /// Opens a store for reading, without adding it to this coordinator.
  ///
  /// - Throws: the errors of opening a store.
  package func openStore(_ kind: any ServerStore.Type, at url: URL) throws -> any RowStore {
    let store = kind.init(
      persistentStoreCoordinator: self, configurationName: nil, at: url,
      options: [NSReadOnlyPersistentStoreOption: true])
    try finishOpening(store)
    return store
  }

  /// Removes the remains of a failed copy, unless the copy can be continued.
  private func removeFailedCopy(_ kind: NSPersistentStore.Type, at url: URL) {
    // Other processes may already use a store in a server. It has none of the rows.
    if kind is any PartialCopyDestination.Type || kind is any ServerStore.Type { return }
    // The caller needs the error of the copy, not one of the cleanup.
    if kind == SQLiteStore.self {
      try? StoreFiles.remove(at: url)
    } else {
      // As above.
      try? StoreFileMoves.destroy(kind, at: url)
    }
  }

  /// Moves a store's rows into a new store of another type, or of the same type if there are no SQLite files to copy.
  /// - Parameter settings: the settings for copying rows.
  func copy(
    _ store: NSPersistentStore, into kind: NSPersistentStore.Type, at url: URL, _ options: [AnyHashable: Any]?,
    _ settings: CopySettings
  ) throws -> (store: NSPersistentStore, result: StoreCopyResult?) {
    guard let source = store as? any RowStore else {
      throw StoreErrors.operationFailed(url: store.url, reason: "The rows of the store cannot be listed.")
    }
    let moved = kind.init(
      persistentStoreCoordinator: self, configurationName: store.customConfigurationName, at: url, options: options)
    // A store in a server keeps its rows.
    if let moved = moved as? MemoryStore, let store = store as? MemoryStore, !(store is any ServerStore),
      !(moved is any ServerStore)
    {
      try moved.adoptRows(of: store)
      return (moved, nil)
    }
    do {
      let isMarked = (moved as? any PartialCopyDestination)?.willReceiveCopy(of: source) ?? false
      try finishOpening(moved, continuesCopy: true)
      if isMarked, moved.metadata[StoreMetadata.Key.unfinishedCopy] == nil {
        throw CopyErrors.createdByOthers(url: url)
      }
      guard let destination = moved as? any RowStore else {
        throw StoreErrors.operationFailed(url: url, reason: "Rows cannot be written to a store of the class \(kind).")
      }
      return (moved, try StoreCopy(source: source, destination: destination, coordinator: self, settings).run())
    } catch {
      moved.willRemove(from: self)
      removeFailedCopy(kind, at: url)
      throw error
    }
  }
}
