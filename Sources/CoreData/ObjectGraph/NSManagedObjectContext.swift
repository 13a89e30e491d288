// OpenCoreData
// SPDX-License-Identifier: Apache-2.0

import Dispatch
import Foundation

/// How a context is tied to a queue.
public enum NSManagedObjectContextConcurrencyType: UInt, Sendable {
  /// No queue: the context is used by the thread that made it.
  case confinementConcurrencyType = 0
  /// A queue of the context's own.
  case privateQueueConcurrencyType = 1
  /// The main queue.
  case mainQueueConcurrencyType = 2
}

/// A working space for managed objects: what is fetched, inserted, changed and deleted in it is saved together.
open class NSManagedObjectContext: NSObject, @unchecked Sendable {
  /// How a context is tied to a queue.
  public struct ConcurrencyType: Hashable, Sendable {
    let value: NSManagedObjectContextConcurrencyType
    /// The main queue.
    public static let mainQueue = ConcurrencyType(value: .mainQueueConcurrencyType)
    /// A queue of the context's own.
    public static let privateQueue = ConcurrencyType(value: .privateQueueConcurrencyType)
  }

  /// How the context is tied to a queue.
  public let concurrencyType: NSManagedObjectContextConcurrencyType
  let queue: ContextQueue
  let registry = ObjectRegistry()
  /// Objects with unsaved changes, kept alive until they are saved.
  ///
  /// Added to with every new or changed object; nothing else happens meanwhile.
  @exclusivity(unchecked) var changed = ChangeList()
  /// Objects deleted since the last `processPendingChanges()`.
  var unprocessedDeletions: [NSManagedObject] = []
  /// Objects touched since the last `processPendingChanges()`.
  @exclusivity(unchecked) var touched: [NSManagedObject] = []
  /// Rows that a fetch has read ahead, for faults that are yet to be made; kept until the next such fetch or save.
  var readAhead: [ObjectKey: RowSnapshot] = [:]
  /// Why a fault could not be read: there was no way to throw then, so the next `save()` does.
  var readingFailure: (any Error)?
  private var knownCoordinator: NSPersistentStoreCoordinator?

  /// Makes a context.
  ///
  /// - Parameter ct: how the context is tied to a queue.
  public init(concurrencyType ct: NSManagedObjectContextConcurrencyType) {
    concurrencyType = ct
    queue = ContextQueue(ct)
    super.init()
    registry.serve(self)
  }

  deinit {
    for object in changed.objects { object.holds?.release() }
    registry.abandon()
  }

  /// Makes a context.
  ///
  /// - Parameter type: how the context is tied to a queue.
  public convenience init(_ type: ConcurrencyType) {
    self.init(concurrencyType: type.value)
  }

  /// The coordinator whose stores the context reads and writes. A context from which it is taken away forgets its objects.
  open var persistentStoreCoordinator: NSPersistentStoreCoordinator? {
    get { knownCoordinator }
    set {
      knownCoordinator?.forget(self)
      if newValue == nil { reset() }
      knownCoordinator = newValue
      if automaticallyMergesChangesFromParent { newValue?.remember(self) }
    }
  }

  /// A name for people who debug.
  open var name: String?
  /// The app's own values.
  public let userInfo = NSMutableDictionary()
  /// Whether objects without changes are kept alive by the context; false unless set.
  open var retainsRegisteredObjects = false {
    didSet { registry.retainsObjects = retainsRegisteredObjects }
  }
  /// Whether a fault whose row is gone becomes a deleted object without values; true unless set.
  open var shouldDeleteInaccessibleFaults = true
  /// Whether deletion rules are followed at the next `processPendingChanges()` (true) or at once (false).
  open var propagatesDeletesAtEndOfEvent = true
  /// Whether what other contexts of the same coordinator save is taken over; false unless set.
  open var automaticallyMergesChangesFromParent = false {
    didSet {
      guard automaticallyMergesChangesFromParent != oldValue else { return }
      if oldValue { knownCoordinator?.forget(self) } else { knownCoordinator?.remember(self) }
    }
  }
  /// What happens when rows have been changed by someone else since they were read: an `NSMergePolicy`. Anything else stops
  /// the program.
  open var mergePolicy: Any = NSMergePolicy.error {
    didSet {
      precondition(mergePolicy is NSMergePolicy, "\(type(of: mergePolicy)) is no merge policy: set an NSMergePolicy.")
    }
  }
  /// The name under which persistent history knows this context's changes.
  open var transactionAuthor: String?

  /// Whether anything is to be saved.
  open var hasChanges: Bool { !changed.isEmpty }

  /// New objects, which the next save inserts.
  open var insertedObjects: Set<NSManagedObject> { objects { $0.isInserted && !$0.isDeleted } }

  /// Objects with unsaved changes.
  open var updatedObjects: Set<NSManagedObject> { objects { $0.isUpdated } }

  /// Objects that the next save deletes.
  open var deletedObjects: Set<NSManagedObject> { objects { $0.isDeleted && !$0.isInserted } }

  /// All objects that the context knows.
  open var registeredObjects: Set<NSManagedObject> { Set(registry.objects + changed.objects) }

  /// The object of that identifier if the context knows it.
  ///
  /// - Parameter objectID: an identifier.
  public func registeredObject(for objectID: NSManagedObjectID) -> NSManagedObject? {
    registry[objectID.current.key]
  }

  private func objects(where isWanted: (NSManagedObject) -> Bool) -> Set<NSManagedObject> {
    Set(changed.objects.filter(isWanted))
  }

  /// Inserts an object that was made outside of all contexts.
  ///
  /// - Parameter object: the object.
  open func insert(_ object: NSManagedObject) {
    precondition(
      object.context == nil || object.context === self,
      "The object \(object.objectID) belongs to another context already.")
    if object.context === self, !object.hasTemporaryID {
      // An object of a store is only taken back from deletion.
      object.changes.remove(.deleted)
      return
    }
    guard !object.isInserted else {
      object.changes.remove(.deleted)
      return
    }
    object.changes = .inserted
    registry.take(object)
    note(object, .inserted)
    object.awakeFromInsert()
  }

  /// Marks an object as deleted; the next save takes its row out of the store.
  ///
  /// - Parameter object: an object of this context.
  open func delete(_ object: NSManagedObject) {
    precondition(
      object.context == nil || object.context === self,
      "The object \(object.objectID) belongs to another context, and is to be deleted there.")
    guard object.context != nil, !object.isDeleted else { return }
    object.prepareForDeletion()
    object.changes.insert(.deleted)
    note(object, .deleted)
    unprocessedDeletions.append(object)
    if !propagatesDeletesAtEndOfEvent { propagateDeletions() }
  }

  /// Marks a new object for a store; needed where several stores hold its entity.
  ///
  /// - Parameters:
  ///   - object: a new managed object.
  ///   - store: a store of the context's coordinator.
  open func assign(_ object: Any, to store: NSPersistentStore) {
    guard let object = object as? NSManagedObject else {
      preconditionFailure("Only managed objects are assigned to stores, not \(type(of: object)).")
    }
    assignments[object.identifier.key] = store
  }

  var assignments: [ObjectKey: NSPersistentStore] = [:]

  /// Notes an object as changed, and gives it its place in the order of changes.
  func note(_ object: NSManagedObject, _ change: NSManagedObject.Changes) {
    if object.eventChanges.isEmpty {
      if touched.isEmpty { processChangesLater() }
      touched.append(object)
    }
    object.eventChanges.insert(change)
    changed.add(object)
  }

  /// Has the changes processed at the end of the current turn of the main run loop. Other contexts process them after the
  /// block in which they were made.
  private func processChangesLater() {
    guard concurrencyType == .mainQueueConcurrencyType, ContextQueue.isOnMain else { return }
    // The registry knows whether the context is still there then.
    DispatchQueue.main.async { [registry] in registry.context?.processPendingChanges() }
  }

  /// Notes an object as updated.
  func noteUpdate(_ object: NSManagedObject) {
    guard !object.isInaccessible else { return }
    object.changes.insert(.updated)
    note(object, .updated)
  }

  /// Notes an object whose row turned out to be gone.
  func noteInaccessible(_ object: NSManagedObject) {
    object.isInaccessible = true
    object.changes.insert(.deleted)
  }

  // MARK: What a context inside the framework may change by overriding

  /// Whether the context posts notifications, and tells other contexts of the same coordinator what it has saved.
  var postsNotifications: Bool { true }

  /// Whether `save()` validates the objects.
  var validatesOnSave: Bool { true }

  /// Called before a fetch, and before the members of a relationship are read.
  func willQueryStores() {}

  /// Called before a single row is read.
  func willReadStoredRow() {}

  /// Called with what the program has fetched.
  func noteFetchResults<Result>(_ results: [Result]) {}

  // MARK: Changes

  /// Changed objects in the order in which they were first changed.
  var changedInOrder: [NSManagedObject] {
    changed.objects
  }

  /// The coordinator; stops the program where there is none, since nothing can be read or saved then.
  var coordinator: NSPersistentStoreCoordinator {
    guard let knownCoordinator else {
      preconditionFailure("This context has no persistent store coordinator.")
    }
    return knownCoordinator
  }

  /// The model's entity for a class; stops the program when there is not exactly one.
  func entity(forClass type: NSManagedObject.Type) -> NSEntityDescription {
    let all = coordinator.managedObjectModel.entities
    for entity in all { ManagedObjectClasses.offer(type, for: entity) }
    let entities = all.filter { ManagedObjectClasses.of($0) == type }
    guard let entity = entities.first, entities.count == 1 else {
      let names = entities.isEmpty ? "no entity" : entities.compactMap(\.name).sorted().joined(separator: ", ")
      preconditionFailure(
        "The model has \(names) with the class \(String(reflecting: type)), and needs exactly one for init(context:). Where "
          + "its name in the model is another one, make it known with ManagedObjectClasses.register(_:as:).")
    }
    return entity
  }
}
