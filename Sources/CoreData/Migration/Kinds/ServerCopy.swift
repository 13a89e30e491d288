// OpenCoreData
// SPDX-License-Identifier: Apache-2.0

import CoreDataStoreFiles
import Foundation

/// A SQLite store in a private directory that represents a store in a database server, or an XML or binary store that
/// is only read.
///
/// Operations on SQLite files, such as migrations by mapping models and the tool's commands, also work on the copy. It
/// has the UUID, the model and the metadata of the store, and the numbers of its objects.
package final class ServerCopy: PrivateCopy {
  private let model: NSManagedObjectModel
  private let configuration: String?

  /// Creates a copy without rows.
  ///
  /// - Parameters:
  ///   - original: the location of the store.
  ///   - metadata: the store's metadata.
  ///   - model: the model that the store was written with.
  ///   - configuration: its configuration; nil for all entities.
  /// - Throws: the errors of the file system.
  package init(
    of original: URL, metadata: [String: Any], _ model: NSManagedObjectModel, configuration: String?
  ) throws {
    self.model = try MigrationStack.plainCopy(of: model)
    self.configuration = configuration
    // Messages about the copy use the original's name.
    try super.init(
      of: original.withoutPassword,
      at: FileManager.default.temporaryDirectory.appendingPathComponent(
        original.storeName.replacingOccurrences(of: "/", with: "_")))
    do {
      // The copy also carries the names of custom classes, which its own objects do not use.
      try withStore(metadata) { copy, _ in try copy.opened?.file.setCachedModel(model.document) }
    } catch {
      remove()
      throw error
    }
  }

  /// Copies the rows of a store.
  ///
  /// - Parameter open: opens the store for a coordinator.
  /// - Throws: the errors of reading the store, and of the file system.
  package func fill(from open: (NSPersistentStoreCoordinator) throws -> any RowStore) throws {
    try withStore(nil) { copy, coordinator in
      let source = try open(coordinator)
      try StoreCopy(source: source, destination: copy, coordinator: coordinator, Self.settings(source)).run()
    }
  }

  /// Copies the rows of an XML or binary store.
  ///
  /// - Throws: 259 for rows that do not fit the model; the errors of reading the file, and of the file system.
  package func fill(fromFileAt url: URL, type: NSPersistentStore.StoreType) throws {
    try fill { coordinator in
      guard let kind = try StoreKinds.kind(of: type.rawValue) as? FileStore.Type else {
        throw StoreErrors.invalidType(type.rawValue, known: [NSXMLStoreType, NSBinaryStoreType])
      }
      let store = kind.init(
        persistentStoreCoordinator: coordinator, configurationName: configuration, at: url,
        // The caller has chosen the model, even for a store without version hashes.
        options: [NSReadOnlyPersistentStoreOption: true, NSIgnorePersistentStoreVersioningOption: true])
      try store.loadMetadata()
      try store.finishOpening()
      return store
    }
  }

  /// Copies the current rows of the SQLite store to another store.
  ///
  /// - Parameters:
  ///   - model: the current model of the SQLite store.
  ///   - configuration: its configuration; nil for all entities.
  ///   - open: opens the other store for a coordinator, with the metadata of the SQLite store.
  /// - Throws: the errors of both stores.
  package func writeBack(
    _ model: NSManagedObjectModel, configuration: String?,
    to open: (NSPersistentStoreCoordinator, [String: Any]) throws -> any RowStore
  ) throws {
    try reading(model, configuration: configuration) { copy, coordinator in
      let destination = try open(coordinator, copy.metadata ?? [:])
      try StoreCopy(source: copy, destination: destination, coordinator: coordinator, Self.settings(copy)).run()
    }
  }

  /// Returns settings that copy the history together with the rows.
  private static func settings(_ source: any RowStore) -> CopySettings {
    var settings = CopySettings()
    settings.copiesHistory = (source as? any HistoryCopying)?.hasHistory ?? false
    return settings
  }

  private func withStore(
    _ metadata: [String: Any]?, _ body: (SQLiteStore, NSPersistentStoreCoordinator) throws -> Void
  ) throws {
    let coordinator = NSPersistentStoreCoordinator(managedObjectModel: model)
    try writing(for: coordinator, configuration: configuration, metadata: metadata) { try body($0, coordinator) }
  }

  /// Returns an error of this framework with the name of the original store instead of the SQLite store; nil for any
  /// other error.
  package func named(_ error: any Error) -> (any Error)? { (error as NSError).moved(from: url, to: original) }
}
