// OpenCoreData
// SPDX-License-Identifier: Apache-2.0

import CoreData
import CoreDataMistakes
import Foundation

/// The rows and models of a context.
///
/// Models retain it, so that they can be read when the program has released its `ModelContext`.
final class ContextCore: @unchecked Sendable {
  // Confined to the thread or actor of its context.

  let container: ModelContainer
  let managed: NSManagedObjectContext
  var temporaryIdentifiers = TemporaryIdentifiers()
  let mergePolicy = UniqueValueMergePolicy()
  let collections = CollectionCache()
  let merging = MergedChanges()
  /// How models of an entity are made, by the entity.
  private var factories: [ObjectIdentifier: any ModelMaking] = [:]
  private weak var knownContext: ModelContext?
  /// Whether changes are saved without a call of `save()`.
  var autosaves = false
  private var autosaveIsScheduled = false
  /// Who is told of changes at once.
  var observers = ContextObservers()
  /// The identity of the context for data stores.
  let session = EditingSession()
  /// The fetch that a data store executes; nil for one of Core Data.
  var runningFetch: (any StoreFetch)?
  /// The rows that a data store has changed while saving.
  var reregistered: [NSManagedObjectID] = []
  /// The positions in the history of data stores after the last save.
  var historyTokens: [any HistoryToken] = []

  init(_ container: ModelContainer, _ type: NSManagedObjectContextConcurrencyType) {
    self.container = container
    managed = NSManagedObjectContext(concurrencyType: type)
    if let root = container.stageRoot {
      managed.parent = root
    } else {
      managed.persistentStoreCoordinator = container.coordinator
    }
    managed.mergePolicy = mergePolicy
    managed.undoManager = nil
    register()
  }

  /// Makes changes of other contexts appear in the models at once. The queue of the context must be that on which the
  /// models are used.
  func mergeChanges() {
    managed.automaticallyMergesChangesFromParent = true
    merging.observe(self)
  }

  func finishMerge() {
    collections.removeAll()
    merging.finish(managed)
  }

  /// Saves at the end of the current event of the main queue, if the context saves by itself.
  func noteChange() {
    if !observers.isEmpty { observers.notify() }
    guard autosaves, !autosaveIsScheduled else { return }
    autosaveIsScheduled = true
    DispatchQueue.main.async { [weak self] in self?.autosave() }
  }

  private func autosave() {
    autosaveIsScheduled = false
    guard autosaves, managed.hasChanges else { return }
    do {
      try context.save()
    } catch {
      // Nobody waits for the result. The changes stay, and the next save reports the error to its caller.
      FileHandle.standardError.write(
        Data("SwiftData cannot save the main context: \(SwiftDataError.words(of: error))\n".utf8))
    }
  }

  /// The public context; a new one if the program has released the last.
  var context: ModelContext {
    if let knownContext { return knownContext }
    return ModelContext(self)
  }

  /// Whether a store was written by SwiftData of iOS 17 or 18, which archives the JSON text of an array. Later versions
  /// archive the array, and read both.
  private(set) lazy var storesArraysAsText = container.coordinator.persistentStores.contains { store in
    guard let version = store.metadata?["NSPersistenceFrameworkVersion"] as? Int else { return false }
    return version < Self.firstVersionWithArrays
  }

  private static let firstVersionWithArrays = 1518

  /// Whether the program has not released the context.
  var isInUse: Bool { knownContext != nil }

  func attach(_ context: ModelContext) { knownContext = context }

  /// Lets the program release models with unsaved changes, which it cannot save any more.
  func contextWillDeallocate() {
    knownContext = nil
    collections.removeAll()
    releaseModels()
  }

  /// Releases the models whose changes have been saved or discarded.
  ///
  /// - Parameter rows: the rows of the models.
  func releaseModels(of rows: [ModelRow]? = nil) {
    for row in rows ?? changedRows { row.changedModel = nil }
  }

  private var changedRows: [ModelRow] {
    managed.changedObjects.compactMap { $0.isDeleted || !$0.hasChanges ? nil : $0 as? ModelRow }
  }

  func insert(any first: any PersistentModel) {
    // Models that refer to each other are inserted before the references are set.
    var pending = [first]
    var added: [(StorageCore, ModelRow, any PersistentModel)] = []
    var seen: Set<ObjectIdentifier> = []
    while let model = pending.popLast() {
      let storage = model.storage
      guard seen.insert(ObjectIdentifier(storage)).inserted else { continue }
      // What the model refers to is not brought back.
      if model === first { storage.leaveDeletedRow() }
      if storage.hasLostRow { continue }
      check(storage, model)
      if let row = storage.row {
        if model === first, row.isDeleted { revive(row) }
        continue
      }
      storage.extend(to: type(of: model))
      let row = ModelRow(entity: entity(of: type(of: model)), insertInto: managed)
      added.append((storage, row, model))
      pending += storage.looseModels
    }
    for (storage, row, _) in added { row.storage = storage }
    for (storage, row, model) in added { storage.prepare(row, in: self, model: model) }
    for (storage, _, _) in added { storage.moveValues() }
    noteChange()
  }

  /// Undoes a deletion that has not been saved.
  private func revive(_ row: ModelRow) {
    managed.insert(row)
    row.storage?.holdModel()
  }

  func check(_ storage: StorageCore, _ model: any PersistentModel) {
    guard let other = storage.context, other !== self else { return }
    trap(
      "The \(type(of: model)) belongs to another context. Pass its persistentModelID, and use the model that this context "
        + "returns for it.")
  }

  /// Writes the changes, and gives models whose rows were dropped the rows that have their unique values.
  ///
  /// - Returns: the rows that got the values of inserted models.
  func save() throws -> [ModelRow] {
    let changed = changedRows
    do {
      // A context above this one would hand out identifiers only when it writes.
      if managed.parent != nil { try managed.obtainPermanentIDs(for: Array(managed.insertedObjects)) }
      try managed.save()
    } catch {
      mergePolicy.forget()
      collections.removeAll()
      throw error
    }
    collections.noteSave()
    merging.discard()
    temporaryIdentifiers.noteSave()
    let kept = mergePolicy.moveModels()
    releaseModels(of: changed)
    return kept
  }

  /// Discards the unsaved changes. Inserted models can be inserted again.
  func rollback() {
    let changed = changedRows
    let undone = managed.insertedObjects.compactMap { ($0 as? ModelRow)?.storage }
    temporaryIdentifiers.removeUnsaved()
    for storage in undone { storage.copyValues() }
    for storage in undone { storage.leaveRow() }
    managed.rollback()
    collections.noteSave()
    merging.discard()
    releaseModels(of: changed)
    for row in changed { row.notifyAll() }
    observers.notify()
  }

  func delete(_ storage: StorageCore) {
    if let row = storage.row { delete(row) }
  }

  func delete(_ row: ModelRow) {
    collections.noteDeletion()
    managed.delete(row)
    noteChange()
  }

  /// Reads the rows with identifiers, and returns them in that order.
  func rows<T: PersistentModel>(_ identifiers: [NSManagedObjectID], of type: T.Type) throws -> [ModelRow] {
    if let rows = try dataStoreRows(identifiers, of: type) { return rows }
    let request = NSFetchRequest<ModelRow>(entityName: entity(of: type).name ?? "")
    request.predicate = NSPredicate(format: "SELF IN %@", identifiers)
    request.returnsObjectsAsFaults = false
    let found = Dictionary(
      try managed.fetch(request).map { ($0.objectID, $0) }, uniquingKeysWith: { first, _ in first })
    // A row that was deleted since becomes a fault, as in a fetch.
    return identifiers.compactMap { found[$0] ?? managed.object(with: $0) as? ModelRow }
  }

  /// Returns the entity of a class in the container's model.
  func entity(of type: any PersistentModel.Type) -> NSEntityDescription {
    guard let entity = container.entity(of: type) else {
      let known = container.schema.entities.map(\.typeName).joined(separator: ", ")
      trap(
        "The container's schema does not contain \(String(reflecting: type)). It contains: \(known). Add the class to the "
          + "types of the container, or use the class of the same version.")
    }
    return entity
  }

  /// Returns the row of a model for a relationship of another one, inserting it if it has none; nil if it was deleted.
  func row(of model: any PersistentModel, for owner: StorageCore, _ slot: PropertySlot) -> ModelRow? {
    let storage = model.storage
    if storage.hasLostRow { return nil }
    if storage.row == nil, storage.pendingRow == nil { insert(any: model) }
    check(storage, model)
    guard let row = storage.row ?? storage.pendingRow else {
      trap("\(owner.place(of: slot)) cannot refer to the \(type(of: model)), which has no row.")
    }
    return row
  }

  /// Returns the model of a row: the same object each time while it exists.
  func model(of row: ModelRow) -> any PersistentModel {
    if let model = row.model { return model }
    let key = ObjectIdentifier(row.entity)
    let factory: any ModelMaking
    if let known = factories[key] {
      factory = known
    } else {
      factory = container.factory(for: row.entity)
      factories[key] = factory
    }
    return factory.make(row, self)
  }

  func registeredModel(for identifier: PersistentIdentifier) -> (any PersistentModel)? {
    guard let id = objectID(for: identifier), let row = managed.registeredObject(for: id) as? ModelRow else {
      return nil
    }
    return model(of: row)
  }

  func row(for identifier: PersistentIdentifier) -> ModelRow? {
    if identifier.isTemporary, let row = temporaryIdentifiers.unsavedRow(for: identifier) { return row }
    return objectID(for: identifier).flatMap { managed.object(with: $0) as? ModelRow }
  }

  func objectID(for identifier: PersistentIdentifier) -> NSManagedObjectID? {
    if identifier.isTemporary { return temporaryIdentifiers.objectID(for: identifier) }
    if let store = container.dataStore(identifier.storeIdentifier) { return store.objectID(for: identifier) }
    return identifier.uri.flatMap { container.coordinator.managedObjectID(forURIRepresentation: $0) }
  }
}
