// OpenCoreData
// SPDX-License-Identifier: Apache-2.0

import Foundation

/// One side of a migration: a model without custom classes, a store, and a context.
struct MigrationStack {
  let model: NSManagedObjectModel
  let store: SQLiteStore
  let context: MigrationContext
  private let coordinator: NSPersistentStoreCoordinator

  /// Opens a store that matches the model.
  init(
    model: NSManagedObjectModel, configuration: String?, at url: URL, options: [AnyHashable: Any]
  ) throws {
    self.model = try Self.plainCopy(of: model)
    coordinator = NSPersistentStoreCoordinator(managedObjectModel: self.model)
    store = SQLiteStore(
      persistentStoreCoordinator: coordinator, configurationName: configuration, at: url, options: options)
    // An unreadable value must not become nil in the new store.
    store.toleratesUnreadableFiles = false
    try store.loadMetadata()
    coordinator.adopt(store)
    context = MigrationContext(concurrencyType: .confinementConcurrencyType)
    context.persistentStoreCoordinator = coordinator
  }

  /// Returns a copy of a model without custom classes. The current version's classes do not fit objects of other
  /// versions.
  static func plainCopy(of model: NSManagedObjectModel) throws -> NSManagedObjectModel {
    var document = model.document
    for index in document.entities.indices { document.entities[index].className = nil }
    return try NSManagedObjectModel(document: document)
  }

  /// Closes the store. Objects that are still retained lose their context.
  func close() {
    context.willAskStores = nil
    context.willReadRow = nil
    context.madeByMigration = nil
    context.madeObject = nil
    context.didFetch = nil
    context.reset()
    store.willRemove(from: coordinator)
  }

  /// Returns the row of an object; nil for one that was never in a store.
  func rowKey(of object: NSManagedObject) -> RowKey? {
    guard let key = object.knownKey, key.store != 0, let number = store.number(of: object.entity) else { return nil }
    return RowKey(entity: Int32(number), number: key.number)
  }

  func identifier(of key: RowKey) -> NSManagedObjectID? {
    store.identifier(entity: Int(key.entity), primaryKey: key.number)
  }

  func object(of key: RowKey) -> NSManagedObject? {
    identifier(of: key).map { context.object(for: $0) }
  }

  /// Turns all unchanged objects into faults.
  func releaseValues() {
    context.prefetchedRows.removeAll()
    for object in context.registry.objects where !object.hasChanges && !object.isInaccessible {
      object.turnIntoFault(keeping: nil)
    }
  }
}

/// A context for one of the two stores of a migration. Confined to the migrating thread.
///
/// It posts no notifications and saves without validation, because `DestinationValidation` validates all objects at the
/// end. The destination's context also notifies the run when a policy searches its objects.
final class MigrationContext: NSManagedObjectContext, @unchecked Sendable {
  /// The number of objects deleted in this context, and of calls that may delete or discard some.
  private(set) var deletionCount = 0
  /// Called before a fetch, and before the members of a relationship are read.
  var willAskStores: (() -> Void)?
  /// Called before a single row is read.
  var willReadRow: (() -> Void)?
  /// Registers all objects that the migration has created in this context, and returns them.
  var madeByMigration: (() -> Set<NSManagedObject>)?
  /// Registers and returns the object for an identifier if the migration has created it.
  var madeObject: ((NSManagedObjectID) -> NSManagedObject?)?
  /// Called with the objects that a policy has fetched.
  var didFetch: (([NSManagedObject]) -> Void)?

  override var postsNotifications: Bool { false }
  override var validatesOnSave: Bool { false }
  override var keepsSavedValues: Bool { !releasesSavedValues }
  /// Whether the running save turns the objects that it has written into faults.
  var releasesSavedValues = false

  /// All objects that the migration has created so far, including saved ones.
  override var insertedObjects: Set<NSManagedObject> {
    let inserted = super.insertedObjects
    guard let madeByMigration else { return inserted }
    return inserted.union(madeByMigration().filter { $0.context != nil && !$0.isDeleted })
  }

  override var registeredObjects: Set<NSManagedObject> {
    _ = madeByMigration?()
    return super.registeredObjects
  }

  override func registeredObject(for objectID: NSManagedObjectID) -> NSManagedObject? {
    super.registeredObject(for: objectID) ?? madeObject?(objectID)
  }

  override func delete(_ object: NSManagedObject) {
    if object.context === self, !object.isDeleted { deletionCount += 1 }
    super.delete(object)
  }

  override func willDiscardChanges() { deletionCount += 1 }

  override func willQueryStores() { willAskStores?() }

  override func willChangeRows() {
    willAskStores?()
    deletionCount += 1
  }

  override func willReadStoredRow() { willReadRow?() }

  override func noteFetchResults<Result>(_ results: [Result]) {
    if let didFetch { didFetch(results.compactMap { $0 as? NSManagedObject }) }
  }
}
