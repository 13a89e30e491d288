// OpenCoreData
// SPDX-License-Identifier: Apache-2.0

import CoreData
import CoreDataMistakes
import Foundation

/// A workspace for models, which fetches them, tracks their changes, and saves these together.
///
/// A context and its models belong to one thread or actor at a time: that of `ModelContainer.mainContext` to the main
/// actor, that of a `ModelActor` to the actor.
public final class ModelContext {
  let core: ContextCore

  /// Creates a context.
  ///
  /// - Parameter container: the container.
  public convenience init(_ container: ModelContainer) {
    self.init(ContextCore(container, .privateQueueConcurrencyType))
  }

  init(_ core: ContextCore) {
    self.core = core
    core.attach(self)
  }

  deinit { core.contextWillDeallocate() }

  /// The container whose stores the context reads and writes.
  public var container: ModelContainer { core.container }
  var managed: NSManagedObjectContext { core.managed }

  /// Whether changes are saved without a call of `save()`; false unless the context is that of the main actor.
  ///
  /// Changes are saved at the end of the event of the main queue in which they were made. A context that does not belong
  /// to the main actor must not have this.
  public var autosaveEnabled: Bool {
    get { core.autosaves }
    set {
      core.autosaves = newValue
      if newValue, hasChanges { core.noteChange() }
    }
  }

  /// The author that history records for the context's changes.
  public var author: String? {
    get { managed.transactionAuthor }
    set { managed.transactionAuthor = newValue }
  }

  /// Records changes so that they can be undone; nil, the default, to disable undo.
  public var undoManager: UndoManager? {
    get { managed.undoManager }
    set { managed.undoManager = newValue }
  }

  /// The identity of the context for a store of the program's own.
  public var editingState: EditingState { core.editingState }

  // MARK: Models

  /// Inserts a model and the models that it refers to. Inserting a model of the context has no effect.
  ///
  /// Traps for a model of another context, and for one whose type the container's schema lacks.
  public func insert<T: PersistentModel>(_ model: T) { core.insert(any: model) }

  /// Deletes a model when the context is saved.
  public func delete<T: PersistentModel>(_ model: T) {
    core.check(model.storage, model)
    core.delete(model.storage)
  }

  /// Whether there are unsaved changes.
  public var hasChanges: Bool { managed.hasChanges }
  /// The inserted models that have not been saved.
  public var insertedModelsArray: [any PersistentModel] { models(of: managed.insertedObjects) }
  /// The changed models whose changes have not been saved.
  public var changedModelsArray: [any PersistentModel] { models(of: managed.updatedObjects) }
  /// The deleted models whose deletion has not been saved.
  public var deletedModelsArray: [any PersistentModel] { models(of: managed.deletedObjects) }

  private func models(of rows: Set<NSManagedObject>) -> [any PersistentModel] {
    rows.compactMap { ($0 as? ModelRow).map { core.model(of: $0) } }
  }

  /// Returns the model with an identifier, whose values are read when they are first used.
  ///
  /// Traps for an identifier of another container, and for a temporary one of another context.
  public func model(for persistentModelID: PersistentIdentifier) -> any PersistentModel {
    guard let row = core.row(for: persistentModelID) else {
      trap(
        "No store of the container has the identifier \(persistentModelID.uri?.absoluteString ?? ""). Use "
          + "registeredModel(for:) or a fetch if it may be missing.")
    }
    return core.model(of: row)
  }

  /// Returns the model with an identifier if the context has it already; nil otherwise.
  public func registeredModel<T: PersistentModel>(for persistentModelID: PersistentIdentifier) -> T? {
    core.registeredModel(for: persistentModelID) as? T
  }

  // MARK: Saving

  /// Saves the changes.
  ///
  /// - Throws: Core Data's error in `NSCocoaErrorDomain`, such as 1570 for a missing value; the changes stay unsaved.
  public func save() throws {
    guard managed.hasChanges else { return }
    (core.reregistered, core.historyTokens) = ([], [])
    NotificationCenter.default.post(name: Self.willSave, object: self)
    // Delete rules delete and change further models.
    managed.processPendingChanges()
    let notice = SaveNotice(self)
    let kept = try core.save()
    core.refreshReregistered()
    NotificationCenter.default.post(name: Self.didSave, object: self, userInfo: notice.afterwards(kept))
  }

  /// Discards the unsaved changes. Inserted models are no longer in the context.
  public func rollback() { core.rollback() }

  /// Applies delete rules, and tells observers about changes.
  public func processPendingChanges() { managed.processPendingChanges() }

  /// Runs a block and saves; discards the changes if the block throws.
  ///
  /// - Parameter block: the changes.
  public func transaction(block: () throws -> Void) throws {
    do {
      try block()
    } catch {
      rollback()
      throw error
    }
    try save()
  }

  /// Posted by a context before it saves.
  public static let willSave = Notification.Name("ModelContextWillSave")
  /// Posted by a context after it has saved, with identifiers by the keys of `NotificationKey`.
  public static let didSave = Notification.Name("ModelContextDidSave")

  /// The keys of the values in notifications.
  public enum NotificationKey: String {
    case insertedIdentifiers = "inserted"
    case updatedIdentifiers = "updated"
    case deletedIdentifiers = "deleted"
    case invalidatedAllIdentifiers = "invalidatedAll"
    case queryGeneration
    case historyTokens
  }
}

extension ModelContext: Equatable, CustomDebugStringConvertible {
  /// Returns whether both are the same context.
  public static func == (left: ModelContext, right: ModelContext) -> Bool { left.core === right.core }

  /// The numbers of unsaved changes.
  public var debugDescription: String {
    "ModelContext: \(managed.insertedObjects.count) inserted, \(managed.updatedObjects.count) updated, "
      + "\(managed.deletedObjects.count) deleted"
  }
}

/// The identity of a context for a store of the program's own.
public struct EditingState: Identifiable, Sendable {
  /// The identifier.
  public let id: UUID
  /// The author of the context's changes.
  public var author: String?
}

/// The identifiers of the models that a save writes.
private struct SaveNotice {
  private let core: ContextCore
  private let inserted: [NSManagedObject]
  private let updated: [PersistentIdentifier]
  private let deleted: [PersistentIdentifier]

  init(_ context: ModelContext) {
    core = context.core
    var (inserted, updated, deleted): ([NSManagedObject], [PersistentIdentifier], [PersistentIdentifier]) = ([], [], [])
    var maker = IdentifierMaker()
    for object in context.managed.changedObjects {
      if object.isInserted {
        if !object.isDeleted { inserted.append(object) }
      } else if object.isDeleted {
        deleted.append(maker.identifier(of: object.objectID))
      } else if object.isUpdated {
        updated.append(maker.identifier(of: object.objectID))
      }
    }
    (self.inserted, self.updated, self.deleted) = (inserted, updated, deleted)
  }

  /// - Parameter kept: the rows that got the values of inserted models.
  func afterwards(_ kept: [ModelRow]) -> [AnyHashable: Any] {
    var maker = IdentifierMaker()
    let inserted = inserted.compactMap { $0.managedObjectContext == nil ? nil : maker.identifier(of: $0.objectID) }
    let further = kept.isEmpty ? [] : Set(kept.map { PersistentIdentifier($0.objectID) }).subtracting(updated)
    return [
      ModelContext.NotificationKey.insertedIdentifiers.rawValue: inserted,
      ModelContext.NotificationKey.updatedIdentifiers.rawValue: updated + further.subtracting(inserted),
      ModelContext.NotificationKey.deletedIdentifiers.rawValue: deleted,
      ModelContext.NotificationKey.historyTokens.rawValue: core.historyTokens,
    ]
  }
}
