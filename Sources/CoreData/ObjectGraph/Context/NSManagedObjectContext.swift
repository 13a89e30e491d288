// OpenCoreData
// SPDX-License-Identifier: Apache-2.0

import CoreDataMistakes
import Foundation

/// The queue that a context is bound to.
public enum NSManagedObjectContextConcurrencyType: UInt, Sendable {
  /// No queue: the context is used by the thread that created it.
  case confinementConcurrencyType = 0
  /// A private queue of the context.
  case privateQueueConcurrencyType = 1
  /// The main queue.
  case mainQueueConcurrencyType = 2
}

/// A workspace for managed objects, which fetches them, tracks their changes, and saves these together.
open class NSManagedObjectContext: NSObject, @unchecked Sendable {
  // A context is confined to its queue. State that other threads use is guarded by `ContextFamily` and
  // `ObjectRegistry`.

  /// The queue that a context is bound to.
  public struct ConcurrencyType: Hashable, Sendable {
    let value: NSManagedObjectContextConcurrencyType
    /// The main queue.
    public static let mainQueue = ConcurrencyType(value: .mainQueueConcurrencyType)
    /// A private queue of the context.
    public static let privateQueue = ConcurrencyType(value: .privateQueueConcurrencyType)
  }

  /// The queue that the context is bound to.
  public let concurrencyType: NSManagedObjectContextConcurrencyType
  let queue: ContextQueue
  let registry = ObjectRegistry()
  /// Objects with unsaved changes, retained until they are saved.
  @exclusivity(unchecked) var changed = ChangeList()
  /// Deleted objects whose deletion rules have not been applied yet.
  var unprocessedDeletions: [NSManagedObject] = []
  /// Deleted objects whose deletion rules must be applied again.
  var repeatedDeletions = RepeatedDeletions()
  /// The number of calls of `awakeFromInsert()` in progress.
  var insertionDepth = 0
  /// Objects touched since the last `processPendingChanges()`.
  @exclusivity(unchecked) var touched: [NSManagedObject] = []
  /// Prefetched rows whose objects have not been created yet; kept until the next prefetching fetch or save.
  @exclusivity(unchecked) var prefetchedRows = PrefetchedRows()
  /// The row layout of the last relationship destination for which an object was created.
  @exclusivity(unchecked) var lastDestinationLayout: RowLayout?
  /// The objects with `DeferredRemovals`; nil except during a save that allows deferring.
  var ownersLosingMembers: [NSManagedObject]?
  /// Live ordered sets that have changed relationships in the current event. Creating another one takes as long as
  /// reading the members.
  private var liveSets: [RelationshipOrderedSet] = []
  /// The stores chosen for new objects.
  var assignments: [ObjectKey: NSPersistentStore] = [:]
  /// The state of the stores that the context reads.
  var generation = ContextGeneration.latest
  /// Unchanged objects that the next save checks for conflicts.
  var conflictChecks: [NSManagedObject] = []
  /// The times at which the rows kept by faults were read, in seconds of system uptime; recorded only with a
  /// `stalenessInterval`.
  var rowTimes: [ObjectKey: TimeInterval] = [:]
  /// Whether a save is running, up to the point from which the program is told about its success.
  var isSaving = false
  /// The sets of objects of the notifications about the current save.
  var eventSets = EventSets()
  /// The first error from firing a fault where nothing can be thrown. The next `save()` throws it.
  var readingFailure: (any Error)?
  /// How often reading where nothing can be thrown has failed.
  var failedReads = 0
  /// The objects whose faults could not be fired because reading failed, whether the program has changed them since, and
  /// whether it has deleted them.
  var unread: [ObjectIdentifier: (object: NSManagedObject, isChanged: Bool, isDeleted: Bool)] = [:]
  /// The relationships whose members could not be read.
  var unreadMembers: [ObjectIdentifier: UnreadMembers] = [:]
  /// Of such objects, those that the program has changed before they became readable. The next `save()` names them.
  var unreadChanges: [NSManagedObject] = []
  /// Whether reading an unreadable property value is a `readingFailure`. Otherwise it is an error of the object,
  /// reported only if that is saved.
  var throwsForUnreadableValues = false
  /// The fetched properties whose requests are being executed, nested in one another.
  var fetchedProperties: [FetchedPropertyUse] = []
  /// The changed objects before the merge policy of the current save resolved conflicts.
  var stateBeforeMerging: ChangedObjects?
  /// The last save, if it has failed and some of its changes may be in the stores.
  var unconfirmedSave: UnconfirmedSave?
  private var knownCoordinator: NSPersistentStoreCoordinator?
  private var knownParent: NSManagedObjectContext?
  /// The entity of the object last created by name.
  @exclusivity(unchecked) private var lastEntity: NSEntityDescription?
  @exclusivity(unchecked) private var lastEntityModel: NSManagedObjectModel?
  @exclusivity(unchecked) private var lastEntityName = ""
  /// The context's place in a tree of contexts.
  let family = ContextFamily()

  /// Creates a context.
  ///
  /// - Parameter ct: the queue that the context is bound to.
  public init(concurrencyType ct: NSManagedObjectContextConcurrencyType) {
    concurrencyType = ct
    queue = ContextQueue(ct)
    super.init()
    registry.attach(to: self)
  }

  /// Creates a context without a queue, for the thread that creates it.
  public convenience override init() { self.init(concurrencyType: .confinementConcurrencyType) }

  /// Creates a context without a queue, for the thread that creates it.
  ///
  /// Differs from Apple: traps when called on a subclass; call the subclass's initializer instead.
  public class func new() -> Self {
    trap(unless: self == NSManagedObjectContext.self, "Make a \(self) by one of its initializers instead of new().")
    return unsafeDowncast(NSManagedObjectContext(), to: Self.self)
  }

  deinit {
    for object in changed.objects { object.holds?.release() }
    registry.contextWillDeallocate()
  }

  /// Creates a context.
  ///
  /// - Parameter type: the queue that the context is bound to.
  public convenience init(_ type: ConcurrencyType) {
    self.init(concurrencyType: type.value)
  }

  /// The coordinator whose stores the context reads and writes; for a context with a parent, the parent's. Setting it to
  /// nil resets the context.
  ///
  /// Traps if the coordinator of a context with a parent is set, or if one coordinator is replaced with another.
  open var persistentStoreCoordinator: NSPersistentStoreCoordinator? {
    get { knownParent?.persistentStoreCoordinator ?? knownCoordinator }
    set {
      trap(
        unless: knownParent == nil || newValue === knownParent?.persistentStoreCoordinator,
        "This context has a parent, whose coordinator it uses: it cannot have another coordinator.")
      if knownParent != nil { return }
      trap(
        unless: knownCoordinator == nil || newValue == nil || newValue === knownCoordinator,
        "This context already has a coordinator, whose objects it holds: it cannot have another one. Make a context for "
          + "the other coordinator, or set this one's to nil first, which resets the context.")
      knownCoordinator?.forget(self)
      if newValue == nil { reset() }
      knownCoordinator = newValue
      if automaticallyMergesChangesFromParent { newValue?.remember(self) }
    }
  }

  /// The context that this one reads from and saves to, instead of stores; nil by default. Retained.
  ///
  /// Fetches see the parent's objects with its unsaved changes. `save()` passes the changes to the parent, whose own
  /// `save()` passes them on. Setting the parent to nil resets the context. Traps for a parent without a queue or a
  /// descendant of this context, and if the context already has another parent or a coordinator.
  open var parent: NSManagedObjectContext? {
    get { knownParent }
    set {
      guard newValue !== knownParent else { return }
      if automaticallyMergesChangesFromParent { knownParent?.family.forget(self) }
      guard let newValue else {
        reset()
        knownParent = nil
        family.leave()
        return
      }
      checkParent(newValue)
      knownParent = newValue
      family.join(newValue.family)
      if automaticallyMergesChangesFromParent { newValue.family.remember(self) }
    }
  }

  private func checkParent(_ parent: NSManagedObjectContext) {
    trap(
      unless: knownParent == nil && knownCoordinator == nil,
      "This context already has a \(knownParent == nil ? "coordinator" : "parent"), which cannot be replaced.")
    trap(
      unless: parent.concurrencyType != .confinementConcurrencyType,
      "A parent context must have a queue: make it with the type privateQueue or mainQueue.")
    var ancestor: NSManagedObjectContext? = parent
    while let next = ancestor {
      trap(unless: next !== self, "A context cannot be its own ancestor.")
      ancestor = next.knownParent
    }
  }

  /// Records changes so that they can be undone; nil, the default, to disable undo.
  ///
  /// Each `processPendingChanges()` registers what has changed since the last one. With `groupsByEvent`, it also closes
  /// the group, so that `undo()` undoes what has changed between two calls, or in a block of `perform(_:)`.
  /// What has changed is also registered when the manager closes a group, opens one in another, or undoes.
  open var undoManager: UndoManager? {
    willSet { if newValue !== undoManager { processPendingChanges() } }
    didSet { undoCheckpoints = undoManager.map { UndoCheckpoints(of: $0, for: self) } }
  }
  private var undoCheckpoints: UndoCheckpoints?
  /// A name for debugging.
  open var name: String?
  /// The app's own values.
  public let userInfo = NSMutableDictionary()
  /// Whether the context retains unchanged objects; false by default.
  open var retainsRegisteredObjects = false {
    didSet { registry.retainsObjects = retainsRegisteredObjects }
  }
  /// Whether a fault whose row is missing becomes a deleted object without values, which `deletedObjects` contains
  /// until the next save, instead of trapping; true by default.
  open var shouldDeleteInaccessibleFaults = true
  /// The maximum age in seconds of a row when it is used by a fault; older rows are read again. Negative, the default,
  /// for no limit; 0 to always read again.
  ///
  /// Differs from Apple: the coordinator caches no rows, so this affects only rows that the context itself has fetched.
  @exclusivity(unchecked) open var stalenessInterval: TimeInterval = -1 {
    didSet { registry.keepsRows.store(stalenessInterval < 0, ordering: .relaxed) }
  }

  /// Called when a fault fires whose row is missing. Returns `shouldDeleteInaccessibleFaults`; override it to decide
  /// for each object.
  ///
  /// - Parameters:
  ///   - fault: the object.
  ///   - oid: its identifier.
  ///   - property: the property whose access has fired the fault; nil if there is none.
  /// - Returns: true to turn the fault into a deleted object without values, false to trap.
  open func shouldHandleInaccessibleFault(
    _ fault: NSManagedObject, for oid: NSManagedObjectID, triggeredByProperty property: NSPropertyDescription?
  ) -> Bool {
    shouldDeleteInaccessibleFaults
  }

  /// Whether deletion rules are applied by the next `processPendingChanges()` (true, the default) or only by the next
  /// save (false).
  open var propagatesDeletesAtEndOfEvent = true
  /// Whether the context merges what others save to its coordinator or parent, and what the parent itself saves or
  /// merges; false by default.
  open var automaticallyMergesChangesFromParent = false {
    didSet {
      guard automaticallyMergesChangesFromParent != oldValue else { return }
      if oldValue {
        knownCoordinator?.forget(self)
        knownParent?.family.forget(self)
      } else {
        knownCoordinator?.remember(self)
        knownParent?.family.remember(self)
      }
    }
  }
  /// The policy by which `save()` handles rows that have changed in the store since they were read. Must be an
  /// `NSMergePolicy`; anything else traps.
  open var mergePolicy: Any = NSMergePolicy.error {
    didSet {
      trap(
        unless: mergePolicy is NSMergePolicy, "\(type(of: mergePolicy)) is not a merge policy: set an NSMergePolicy.")
    }
  }
  /// The author recorded for this context's changes in persistent history.
  open var transactionAuthor: String?

  /// Whether the context has unsaved changes.
  open var hasChanges: Bool {
    !changed.isEmpty || !unreadChanges.isEmpty || unread.values.contains { $0.isChanged || $0.isDeleted }
  }

  /// The objects with unsaved changes, new and deleted ones too.
  package var changedObjects: [NSManagedObject] { changed.objects }

  /// The objects that the next save inserts.
  open var insertedObjects: Set<NSManagedObject> { Set(changed.objects.filter { $0.isInserted && !$0.isDeleted }) }

  /// The objects with unsaved changes.
  open var updatedObjects: Set<NSManagedObject> { Set(changed.objects.filter(\.isUpdated)) }

  /// The objects that the next save deletes.
  open var deletedObjects: Set<NSManagedObject> { Set(changed.objects.filter { $0.isDeleted && !$0.isInserted }) }

  /// The objects registered with the context.
  open var registeredObjects: Set<NSManagedObject> { Set(registry.objects + changed.objects) }

  /// Returns the object for an identifier if it is registered with the context.
  ///
  /// - Parameter objectID: an identifier.
  public func registeredObject(for objectID: NSManagedObjectID) -> NSManagedObject? {
    ConcurrencyDebug.check(self)
    adoptPermanentIDs()
    return ownIdentifier(objectID).flatMap { registry[$0.key] }
  }

  /// Inserts an object that belongs to no context.
  ///
  /// - Parameter object: the object.
  open func insert(_ object: NSManagedObject) {
    ConcurrencyDebug.check(self)
    trap(
      unless: object.context == nil || object.context === self,
      "The object \(object.objectID) already belongs to another context.")
    if object.isInserted || object.context === self && (object.isDeleted || !object.hasTemporaryID) {
      // Inserting a registered object only undoes its deletion.
      guard object.isDeleted, !object.isInaccessible else { return }
      object.changes.remove(.deleted)
      note(object, .revived)
      return
    }
    object.changes = .inserted
    registry.register(object)
    note(object, .inserted)
    insertionDepth += 1
    defer { insertionDepth -= 1 }
    object.awakeFromInsert()
  }

  /// Marks an object as deleted; the next save deletes its row.
  ///
  /// - Parameter object: an object of this context.
  open func delete(_ object: NSManagedObject) {
    ConcurrencyDebug.check(self)
    trap(
      unless: object.context == nil || object.context === self,
      "The object \(object.objectID) belongs to another context: delete it there.")
    guard object.context != nil else { return }
    if object.isDeleted {
      unread[ObjectIdentifier(object)]?.isDeleted = true
      return
    }
    // The object's own code can tell that it is deleted, and deletes it only once.
    noteDeletion(object)
    object.prepareForDeletion()
  }

  /// Chooses the store of a new object; required if several stores hold its entity.
  ///
  /// - Parameters:
  ///   - object: a new managed object.
  ///   - store: a store of the context's coordinator.
  open func assign(_ object: Any, to store: NSPersistentStore) {
    guard let object = object as? NSManagedObject else {
      trap("Only managed objects can be assigned to a store, not \(type(of: object)).")
    }
    assignments[object.identifier.key] = store
  }

  /// Keeps a live set, whose owner is being changed, for the rest of the event.
  func keep(_ set: RelationshipOrderedSet) {
    if liveSets.contains(where: { $0 === set }) { return }
    if liveSets.count == Self.keptLiveSets { liveSets.removeFirst() }
    liveSets.append(set)
  }

  /// Releases the live sets that have been kept.
  func releaseLiveSets() { liveSets = [] }

  private static let keptLiveSets = 8

  // MARK: Overridden by the framework's own subclasses

  /// Whether the context posts notifications, and other contexts of its coordinator merge what it saves.
  var postsNotifications: Bool { true }

  /// Whether `save()` validates the objects.
  var validatesOnSave: Bool { true }

  /// Whether objects keep their values after a save; otherwise they become faults.
  var keepsSavedValues: Bool { true }

  /// Called before a fetch, and before the members of a relationship are read.
  func willQueryStores() {}

  /// Called before a batch request changes rows.
  func willChangeRows() {}

  /// Called before changes are undone or given up, by which new objects can vanish.
  func willDiscardChanges() {}

  /// Called before a single row is read.
  func willReadStoredRow() {}

  /// Called with the results of `fetch(_:)`.
  func noteFetchResults<Result>(_ results: [Result]) {}

  /// The coordinator. Traps if there is none.
  var coordinator: NSPersistentStoreCoordinator {
    if let knownParent { return knownParent.coordinator }
    guard let knownCoordinator else {
      trap(
        "This context has no persistent store coordinator. Set its persistentStoreCoordinator or its parent before it is "
          + "used, or take the viewContext of an NSPersistentContainer.")
    }
    return knownCoordinator
  }

  /// Returns the entity with a name, for a new object.
  func entity(named name: String) -> NSEntityDescription? {
    let model = coordinator.managedObjectModel
    // Programs create many objects of one entity in a row.
    if let entity = lastEntity, lastEntityModel === model, lastEntityName == name { return entity }
    let entity = model.entitiesByName[name]
    (lastEntity, lastEntityModel, lastEntityName) = (entity, model, name)
    return entity
  }

  /// Returns the entity whose objects have a class. Traps unless there is exactly one.
  func entity(forClass type: NSManagedObject.Type) -> NSEntityDescription {
    let all = coordinator.managedObjectModel.entities
    for entity in all { ManagedObjectClasses.offer(type, for: entity) }
    let entities = all.filter { ManagedObjectClasses.of($0) == type }
    guard let entity = entities.first, entities.count == 1 else {
      let names = entities.isEmpty ? "no entity" : entities.compactMap(\.name).sorted().joined(separator: ", ")
      trap(
        "init(context:) needs exactly one entity with the class \(String(reflecting: type)); the model has \(names). "
          + "If the model gives the class another name, register that with ManagedObjectClasses.register(_:as:).")
    }
    return entity
  }
}

extension NSManagedObjectContext {
  /// The time at which `perform(schedule:_:)` runs its block.
  public enum ScheduledTaskType: Sendable {
    /// Immediately, if the caller is already on the context's queue.
    case immediate
    /// After the blocks already enqueued.
    case enqueued
  }

  /// Runs a block on the context's queue, and returns immediately.
  ///
  /// - Parameter block: the work to do with the context's objects.
  public func perform(_ block: @escaping () -> Void) {
    // The block runs only on the context's queue.
    nonisolated(unsafe) let block = block
    queue.async {
      self.running {
        block()
        self.processPendingChanges()
      }
    }
  }

  /// Runs a block on the context's queue, and waits for it.
  ///
  /// - Parameter block: the work to do with the context's objects.
  /// - Returns: what the block returns.
  /// - Throws: what the block throws.
  public func performAndWait<T>(_ block: () throws -> T) rethrows -> T {
    try queue.sync { try running(block) }
  }

  // Before Swift 6.2, a function that runs in its caller's isolation needs a parameter for that.
  #if compiler(>=6.2)
  /// Runs a block on the context's queue.
  ///
  /// - Parameters:
  ///   - schedule: the time at which to run the block.
  ///   - block: the work to do with the context's objects.
  /// - Returns: what the block returns.
  /// - Throws: what the block throws.
  public nonisolated(nonsending) func perform<T>(
    schedule: ScheduledTaskType = .immediate, _ block: @escaping () throws -> T
  ) async rethrows -> T {
    try await queue.run(schedule, isolation: #isolation, { try self.processing(block) }, rescue: { throw $0 })
  }
  #else
  /// Runs a block on the context's queue.
  ///
  /// - Parameters:
  ///   - schedule: the time at which to run the block.
  ///   - isolation: the caller's isolation; leave it out.
  ///   - block: the work to do with the context's objects.
  /// - Returns: what the block returns.
  /// - Throws: what the block throws.
  public func perform<T>(
    schedule: ScheduledTaskType = .immediate, isolation: isolated (any Actor)? = #isolation,
    _ block: @escaping () throws -> T
  ) async rethrows -> T {
    try await queue.run(schedule, isolation: isolation, { try self.processing(block) }, rescue: { throw $0 })
  }
  #endif

  /// Runs a block, and processes the changes made by it.
  private func processing<T>(_ block: () throws -> T) rethrows -> T {
    try running {
      defer { processPendingChanges() }
      return try block()
    }
  }
}
