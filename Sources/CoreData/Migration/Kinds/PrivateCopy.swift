// OpenCoreData
// SPDX-License-Identifier: Apache-2.0

import CoreDataFileSystem
import CoreDataStoreFiles
import Foundation

/// A SQLite store in a private directory that represents a store of another type.
package class PrivateCopy {
  /// The location of the SQLite store.
  package final let url: URL
  /// The location of the other store.
  final let original: URL
  private let directory: PrivateDirectory

  /// Creates an empty directory for the SQLite store.
  ///
  /// - Parameter location: the file that the SQLite store is named after.
  /// - Throws: the errors of the file system.
  init(of original: URL, at location: URL) throws {
    self.original = original
    directory = try ErrorTranslation.translating(url: location, during: .opening) {
      try CopyDirectory.make(for: location)
    }
    url = directory.url.appendingPathComponent(location.lastPathComponent)
  }

  /// Opens the SQLite store for a body that writes to it.
  ///
  /// - Parameter metadata: the metadata of a new store; nil if the store exists.
  final func writing(
    for coordinator: NSPersistentStoreCoordinator, configuration: String?, metadata: [String: Any]?,
    _ body: (SQLiteStore) throws -> Void
  ) throws {
    // The copy is private, and is removed as a whole after a failure.
    let store = SQLiteStore(
      persistentStoreCoordinator: coordinator, configurationName: configuration, at: url,
      options: [NSSQLitePragmasOption: ["journal_mode": "MEMORY", "synchronous": "OFF"]])
    if let metadata { store.metadata = metadata.filter { !StoreMetadata.ownKeys.contains($0.key) } }
    try naming { try store.loadMetadata() }
    defer { store.willRemove(from: coordinator) }
    try body(store)
  }

  /// Opens the SQLite store for a body that reads from it.
  ///
  /// - Parameter model: the current model of the SQLite store.
  final func reading<Result>(
    _ model: NSManagedObjectModel, configuration: String?,
    _ body: (SQLiteStore, NSPersistentStoreCoordinator) throws -> Result
  ) throws -> Result {
    let coordinator = NSPersistentStoreCoordinator(managedObjectModel: try MigrationStack.plainCopy(of: model))
    let store = SQLiteStore(
      persistentStoreCoordinator: coordinator, configurationName: configuration, at: url,
      options: [NSReadOnlyPersistentStoreOption: true])
    try naming { try store.loadMetadata() }
    defer { store.willRemove(from: coordinator) }
    return try body(store, coordinator)
  }

  /// Removes the SQLite store and its directory.
  package final func remove() {
    // If this fails, the directory remains private, and the next copy with the same name removes it.
    try? directory.remove()
  }

  /// Runs work on the SQLite store. Errors of this framework name the original store instead.
  package final func naming<Result>(_ body: () throws -> Result) throws -> Result {
    try ErrorLocation.naming(original, insteadOf: url, body)
  }
}
