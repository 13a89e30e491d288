// OpenCoreData
// SPDX-License-Identifier: Apache-2.0

import Foundation

/// One side of a migration: a copy of the model whose objects are all plain, a store, and a context.
struct MigrationStack {
  let model: NSManagedObjectModel
  let store: SQLiteStore
  let context: MigrationContext
  private let coordinator: NSPersistentStoreCoordinator

  /// Opens a store that is known to fit the model.
  init(
    model: NSManagedObjectModel, configuration: String?, at url: URL, options: [AnyHashable: Any]
  ) throws {
    self.model = try Self.plainCopy(of: model)
    coordinator = NSPersistentStoreCoordinator(managedObjectModel: self.model)
    store = SQLiteStore(
      persistentStoreCoordinator: coordinator, configurationName: configuration, at: url, options: options)
    try store.loadMetadata()
    coordinator.take(store)
    context = MigrationContext(concurrencyType: .confinementConcurrencyType)
    context.persistentStoreCoordinator = coordinator
  }

  /// A copy of a model in which no entity has a class of its own: the code of today's classes knows nothing of other
  /// versions.
  private static func plainCopy(of model: NSManagedObjectModel) throws -> NSManagedObjectModel {
    var document = model.document
    for index in document.entities.indices { document.entities[index].className = nil }
    return try NSManagedObjectModel(document: document)
  }

  /// Closes the store. Objects that are still around lose their context.
  func close() {
    context.willAskStores = nil
    context.willReadRow = nil
    context.madeByMigration = nil
    context.didFetch = nil
    context.reset()
    store.willRemove(from: coordinator)
  }

  /// The row that an object stands for; nil for one that no store has seen.
  func rowKey(of object: NSManagedObject) -> RowKey? {
    guard let id = object.knownIdentifier, !id.isTemporaryID, let number = store.number(of: id.entityDescription)
    else { return nil }
    return RowKey(entity: Int32(number), number: id.key.number)
  }

  func identifier(of key: RowKey) -> NSManagedObjectID? {
    store.identifier(entity: Int(key.entity), primaryKey: key.number)
  }

  func object(of key: RowKey) -> NSManagedObject? {
    identifier(of: key).map { context.object(for: $0) }
  }

  /// Has objects that are still held by somebody give up values which are in the store.
  func releaseValues() {
    context.readAhead = [:]
    for object in context.registry.objects where !object.hasChanges && !object.isInaccessible {
      object.turnIntoFault(keeping: nil)
    }
  }
}
