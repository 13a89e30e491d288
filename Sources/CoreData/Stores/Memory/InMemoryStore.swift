// OpenCoreData
// SPDX-License-Identifier: Apache-2.0

import CoreDataStoreFiles
import Foundation

/// A store that keeps its rows in memory, and reads and writes its metadata as other stores do.
package class MemoryStore: NSPersistentStore, RowTableStore, RowWritingStore, CopyDestination, @unchecked Sendable {
  // Guarded by the coordinator's lock.
  package final var tables: RowTables?
  package final var isInTransaction = false
  package final var hasUnsavedMetadata = false

  package override var metadata: [String: Any]! {
    get { keptMetadata }
    set {
      exclusively {
        keptMetadata = StoreMetadata.merged(newValue ?? [:], into: keptMetadata)
        hasUnsavedMetadata = true
      }
    }
  }

  /// Sets the metadata read from a file, or those of a new store.
  package final func setInitialMetadata(_ metadata: [String: Any]) {
    keptMetadata = metadata
    hasUnsavedMetadata = false
  }

  package final func model() throws -> NSManagedObjectModel {
    if let model = persistentStoreCoordinator?.managedObjectModel { return model }
    throw StoreErrors.cannotOpen(url: url, reason: "The store has no coordinator and therefore no model.")
  }

  package override func loadMetadata() throws {
    setInitialMetadata(
      try StoreMetadata.new(type: type, model: model(), configuration: customConfigurationName, url: url))
  }

  package func finishOpening() throws { tables = RowTables(try model(), store: self) }

  package override func willRemove(from coordinator: NSPersistentStoreCoordinator?) { tables = nil }

  package func saveFile() throws {}

  package var isDisconnected: Bool { false }

  /// Takes over all rows of another store, with their identifiers and versions, and writes them to this store's file.
  ///
  /// - Throws: the errors of the file system. On an error, the other store keeps its rows.
  package func adoptRows(of other: MemoryStore) throws {
    if isReadOnly { throw StoreErrors.readOnly(url: url, byOption: StoreOptions(options).isReadOnly) }
    let rows = try other.openTables()
    setInitialMetadata((other.metadata ?? [:]).merging([NSStoreTypeKey: type]) { $1 })
    tables = rows
    try saveFile()
    rows.store = self
    adoptIdentifiers(of: other)
    other.tables = nil
  }

  package final func reserveNumbers(of entity: NSEntityDescription, through number: Int64) throws {
    try openTables().reserve(from: number == .max ? .max : number + 1)
  }

  package func insertCopies(_ rows: [RowChange]) throws {
    if isReadOnly { throw StoreErrors.readOnly(url: url, byOption: StoreOptions(options).isReadOnly) }
    try openTables().insertCopies(rows)
  }

  package func connectCopies(_ rows: [RowChange]) throws {
    try openTables().connectCopies(rows)
  }
}

/// A store without a file.
package final class InMemoryStore: MemoryStore, @unchecked Sendable {
  package override var type: String { NSInMemoryStoreType }

  package override class func hasContents(at url: URL) -> Bool { false }

  package override class func metadataForPersistentStore(with url: URL) throws -> [String: Any] {
    throw StoreErrors.cannotOpen(url: url, reason: "An in-memory store has metadata only while it is open.")
  }

  package override class func setMetadata(_ metadata: [String: Any]?, forPersistentStoreAt url: URL) throws {
    throw StoreErrors.cannotOpen(url: url, reason: "An in-memory store has metadata only while it is open.")
  }
}

extension StoreMetadata {
  /// Returns the metadata of a new store that is not a SQLite database.
  ///
  /// - Throws: 134020 for a model that cannot have a store.
  package static func new(
    type: String, model: NSManagedObjectModel, configuration: String?, url: URL?
  ) throws -> [String: Any] {
    var metadata = try versions(of: model, configuration: configuration, url: url)
    metadata[Key.type] = type
    metadata[Key.uuid] = UUID().uuidString
    return metadata
  }

  /// Returns the part of the metadata that describes a model.
  ///
  /// - Throws: 134020 for a model that cannot have a store.
  package static func versions(of model: NSManagedObjectModel, configuration: String?, url: URL?) throws -> [String:
    Any]
  {
    try ErrorTranslation.translating(url: url, during: .opening) {
      try ofModel(model.document, configuration: configuration).filter {
        $0.key != Key.autoVacuum && $0.key != Key.type
      }
    }
  }

  /// Returns the metadata that an app sets, merged with the framework's own values.
  package static func merged(_ given: [String: Any], into values: [String: Any]) -> [String: Any] {
    var changed = given
    for (key, value) in values where ownKeys.contains(key) { changed[key] = value }
    if !(changed[Key.uuid] is String) { changed[Key.uuid] = values[Key.uuid] }
    return changed
  }
}
