// OpenCoreData
// SPDX-License-Identifier: Apache-2.0

import Foundation

/// A SQLite store in a private directory that represents an XML or binary store during a migration.
///
/// Migrations work on SQLite databases. So the rows of the store are copied to a SQLite store, which can be migrated in
/// any way, and the result atomically becomes the store's new file. Until then the original file is only read. It is
/// not replaced if another program has changed it meanwhile.
///
/// Both copies keep the UUID, the numbers of objects in their identifiers, and the app's own metadata.
final class WorkingCopy: PrivateCopy {
  private let kind: FileStore.Type
  /// The store as it was read; nil if there was none.
  private var source: FileStore?

  /// Creates an empty directory for the SQLite store.
  ///
  /// - Throws: the errors of the file system.
  init(for original: URL, _ kind: FileStore.Type) throws {
    self.kind = kind
    try super.init(of: original, at: original)
  }

  /// Copies a store.
  ///
  /// - Parameters:
  ///   - original: the location of the store.
  ///   - kind: its class.
  ///   - model: the model that it was written with.
  ///   - configuration: its configuration; nil for all entities.
  /// - Throws: 134100 if the model does not match; the errors of reading the store and of the file system.
  convenience init(
    of original: URL, _ kind: FileStore.Type, _ model: NSManagedObjectModel, configuration: String?
  ) throws {
    try self.init(for: original, kind)
    do {
      try read(model, configuration)
    } catch {
      remove()
      throw error
    }
  }

  private func read(_ model: NSManagedObjectModel, _ configuration: String?) throws {
    let coordinator = NSPersistentStoreCoordinator(managedObjectModel: try MigrationStack.plainCopy(of: model))
    let source = kind.init(
      persistentStoreCoordinator: coordinator, configurationName: configuration, at: original,
      options: [NSReadOnlyPersistentStoreOption: true])
    try source.loadMetadata()
    try source.finishOpening()
    try naming {
      try writing(for: coordinator, configuration: configuration, metadata: source.metadata) {
        _ = try StoreCopy(source: source, destination: $0, coordinator: coordinator).run()
      }
    }
    self.source = source
  }

  /// Replaces the original store with the contents of the SQLite store, or creates it.
  ///
  /// - Parameters:
  ///   - model: the current model of the SQLite store.
  ///   - configuration: the store's configuration; nil for all entities.
  /// - Returns: whether all objects have kept their numbers.
  /// - Throws: 134070 if another program has changed or created the original store; the errors of the file system. On
  ///   an error, the original store is unchanged.
  func replaceOriginal(model: NSManagedObjectModel, configuration: String?) throws -> Bool {
    try reading(model, configuration: configuration) { copy, coordinator in
      let result = kind.init(
        persistentStoreCoordinator: coordinator, configurationName: configuration, at: original, options: nil)
      try result.begin(inPlaceOf: source, identifier: copy.identifier)
      let rows = StoreCopy(source: copy, destination: result, coordinator: coordinator)
      return try naming { try rows.run().keepsNumbers }
    }
  }

  /// Copies the original store's file, in the state in which it was read, to a free name beside it.
  ///
  /// - Returns: the location of the copy.
  /// - Throws: the errors of the file system.
  func keepOriginal() throws -> URL { try FileStore.backUp(original, in: nil) }
}
