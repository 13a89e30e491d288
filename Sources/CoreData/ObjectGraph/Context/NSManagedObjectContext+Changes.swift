// OpenCoreData
// SPDX-License-Identifier: Apache-2.0

import Dispatch
import Foundation

extension NSManagedObjectContext {
  /// Records a change of an object.
  func note(_ object: NSManagedObject, _ change: NSManagedObject.Changes) {
    if object.eventChanges.isEmpty {
      if touched.isEmpty { processChangesLater() }
      touched.append(object)
    }
    object.eventChanges.insert(change)
    changed.add(object)
  }

  /// Schedules `processPendingChanges()` for the end of the current turn of the main run loop. Other contexts call it
  /// after each block of `perform(_:)`.
  private func processChangesLater() {
    guard concurrencyType == .mainQueueConcurrencyType, ContextQueue.isOnMain else { return }
    // Goes through the registry, so that the block does not retain the context.
    DispatchQueue.main.async { [registry] in registry.context?.processPendingChanges() }
  }

  /// Marks an object as updated.
  func noteUpdate(_ object: NSManagedObject) {
    guard !object.isInaccessible else {
      unread[ObjectIdentifier(object)]?.isChanged = true
      return
    }
    object.changes.insert(.updated)
    note(object, .updated)
  }

  /// Marks an object as deleted by the program.
  func noteDeletion(_ object: NSManagedObject) {
    unread[ObjectIdentifier(object)]?.isDeleted = true
    object.changes.insert(.deleted)
    note(object, .deleted)
    unprocessedDeletions.append(object)
  }

  /// Marks an object whose row is missing from the store.
  func noteInaccessible(_ object: NSManagedObject) {
    object.isInaccessible = true
    object.isInaccessibleFault = false
    object.changes.insert(.deleted)
  }

  /// Marks a fault whose row is missing as deleted, until the next save.
  func noteInaccessibleFault(_ object: NSManagedObject) {
    let isDeleted = object.isDeleted
    noteInaccessible(object)
    object.isInaccessibleFault = true
    // A row that cannot be read may still exist.
    if readingFailure == nil {
      note(object, .deleted)
    } else {
      unread[ObjectIdentifier(object)] = (object, isChanged: false, isDeleted)
    }
  }

  /// Calls `prepareForDeletion()` on objects that were deleted elsewhere.
  func prepareForMergedDeletion(of objects: [NSManagedObject]) {
    for object in objects where type(of: object) != NSManagedObject.self && !object.isDeleted && object.context === self
    {
      if !object.isRealized, object.snapshot == nil || stalenessInterval >= 0 { object.loseValues() }
      object.fireFault()
      object.prepareForDeletion()
    }
  }

  /// The objects with unsaved changes, in the order in which they were first changed.
  var changedInOrder: [NSManagedObject] { changed.objects }

  /// Discards the record of an object's unsaved changes. The object keeps its current values.
  func forgetChanges(of object: NSManagedObject) {
    object.changes = []
    object.eventChanges = []
    object.forgetEventStart()
    changed.remove(object)
  }

  /// Applies the deletion rules of objects deleted since the last call, and ends the current event, which
  /// `changedValuesForCurrentEvent()` reports on.
  ///
  /// Posts `didChangeObjectsNotification` if anything has changed. Registers the changes with the undo manager, and
  /// closes the event's undo group.
  public func processPendingChanges() { processChanges() }

  /// Processes pending changes, so that a fetch sees them.
  ///
  /// While `awakeFromInsert()` is running, the event continues: observers must not see an object before its initializer
  /// has returned.
  func processChangesBeforeFetch() {
    if insertionDepth == 0 { return processPendingChanges() }
    if propagatesDeletesAtEndOfEvent { propagateDeletions() }
  }

  /// As `processPendingChanges()`, but returns what has changed.
  @discardableResult
  func processChanges() -> SavedIdentifiers {
    defer { undoManager?.closeEventGroup() }
    return processEvent()
  }

  /// Processes the changes of an event. The event's undo group stays open.
  ///
  /// - Parameter isSaving: whether a save follows, so that all deletion rules are applied.
  @discardableResult
  func processEvent(isSaving: Bool = false) -> SavedIdentifiers {
    let propagates = propagatesDeletesAtEndOfEvent || isSaving
    // Deletions from earlier events.
    let waiting = propagates ? unprocessedDeletions.filter { $0.eventChanges.isEmpty } : []
    if propagates { propagateDeletions() }
    var processed = finishEvent(EventRecorder(self), withdrawing: waiting, keepsDeleted: !propagates)
    if propagates, propagateAgain(isSaving: isSaving) {
      let again = finishEvent(nil, withdrawing: [], keepsDeleted: false)
      processed.inserted += again.inserted
      processed.updated += again.updated
      processed.deleted += again.deleted
    }
    return processed
  }

  /// Ends an event: removes new objects that have been deleted, and posts what has changed.
  ///
  /// - Parameters:
  ///   - recorder: registers the event with the undo manager; nil if it is not recorded.
  ///   - waiting: objects deleted in earlier events, whose rules have only now been applied.
  ///   - keepsDeleted: whether new objects that have been deleted are kept until their rules are applied.
  private func finishEvent(
    _ recorder: EventRecorder?, withdrawing waiting: [NSManagedObject], keepsDeleted: Bool
  ) -> SavedIdentifiers {
    let event = touched
    touched = []
    releaseLiveSets()
    if !keepsDeleted {
      forgetUnsaved((event + waiting).filter { $0.isDeleted && $0.isInserted && $0.context === self })
    }
    var inserted: [NSManagedObject] = []
    var updated: [NSManagedObject] = []
    var deleted: [NSManagedObject] = []
    for object in event {
      let what = object.eventChanges
      object.eventChanges = []
      if what.contains(.revived) {
        if what.contains(.deleted) { updated.append(object) } else { inserted.append(object) }
      } else if what.contains(.deleted) {
        if what.contains(.inserted) { continue }
        deleted.append(object)
      } else if what.contains(.inserted) {
        inserted.append(object)
      } else if what.contains(.updated) {
        updated.append(object)
      } else {
        continue
      }
      if object.isRealized { object.noteEventEnd() }
    }
    recorder?.register()
    guard postsNotifications else { return SavedIdentifiers() }
    let lists = [
      (NSInsertedObjectsKey, inserted), (NSUpdatedObjectsKey, updated), (NSDeletedObjectsKey, deleted),
    ].filter { !$0.1.isEmpty }
    if !lists.isEmpty {
      let sets = lists.map { ($0.0, eventSets.set(of: $0.1)) }
      post(NSManagedObjectContext.didChangeObjectsNotification, Dictionary(uniqueKeysWithValues: sets))
    }
    guard family.isNested else { return SavedIdentifiers() }
    return SavedIdentifiers(
      inserted: inserted.map(\.objectID), updated: updated.map(\.objectID), deleted: deleted.map(\.objectID))
  }

  /// Removes objects that were deleted again before they were ever saved.
  func forgetUnsaved(_ objects: [NSManagedObject]) {
    guard !objects.isEmpty else { return }
    var gone: Set<ObjectKey> = []
    for object in objects {
      if let id = object.knownIdentifier { gone.insert(id.key) }
      let event = object.eventChanges
      forgetChanges(of: object)
      // Observers know the object from an earlier event, unless this event began with its insertion.
      object.eventChanges = event.contains(.revived) ? .deleted : event
      registry.remove(object)
    }
    // Relationships without an inverse, or with the no-action rule, may still refer to them.
    for object in changed.objects { object.forgetDestinations { gone.contains($0.key) } }
  }

  /// Applies the deletion rules of deleted objects, including those that cascading rules delete. Where reading fails, they
  /// are applied again by the next call.
  func propagateDeletions() {
    var next = 0
    var failed: [NSManagedObject] = []
    while next < unprocessedDeletions.count {
      let wave = unprocessedDeletions[next...].filter { $0.context === self && $0.isDeleted }
      next = unprocessedDeletions.count
      let related = readRelated(toDeleted: wave)
      for object in wave where object.context === self && object.isDeleted {
        let earlier = failedReads
        object.fireFault()
        for position in object.table.firstRelationship..<object.table.count {
          // Code of the program, such as `awakeFromFetch()`, may have discarded the deletion.
          guard object.context === self, object.isDeleted else { break }
          guard let relationship = object.table.relationship(at: position) else { continue }
          propagateDeletion(of: object, at: position, relationship)
        }
        if failedReads != earlier { failed.append(object) }
      }
      withExtendedLifetime(related) {}
    }
    unprocessedDeletions = failed
  }

  /// Schedules the deletion rules of a deleted object for objects that others have related to it meanwhile. The program
  /// did not make this change, so it is not recorded for undo.
  func repeatDeletion(of object: NSManagedObject) {
    if undoManager == nil { unprocessedDeletions.append(object) } else { repeatedDeletions.unlinked.append(object) }
  }

  /// Applies the deletion rules of objects whose rows have been read again. Cascading rules are applied only by a save,
  /// because undoing the deletion before that must find the other objects.
  ///
  /// - Returns: whether there were such objects.
  private func propagateAgain(isSaving: Bool) -> Bool {
    let deletions = repeatedDeletions
    guard !deletions.unlinked.isEmpty || isSaving && !deletions.cascading.isEmpty else { return false }
    let unlinked = deletions.unlinked.filter { $0.context === self && $0.isDeleted }
    if isSaving {
      repeatedDeletions = RepeatedDeletions()
      unprocessedDeletions += deletions.cascading + unlinked
      propagateDeletions()
      return true
    }
    repeatedDeletions = RepeatedDeletions(cascading: deletions.cascading + unlinked)
    for object in unlinked {
      object.fireFault()
      for position in object.table.firstRelationship..<object.table.count {
        guard let relationship = object.table.relationship(at: position), relationship.deleteRule == .nullifyDeleteRule
        else { continue }
        propagateDeletion(of: object, at: position, relationship)
      }
    }
    return true
  }

  /// Reads what the deletion rules of several objects need, with one query for many objects instead of several for
  /// each.
  ///
  /// - Returns: the related objects.
  private func readRelated(toDeleted objects: [NSManagedObject]) -> [NSManagedObject] {
    guard objects.count > 1 else { return [] }
    var related: [NSManagedObject] = []
    let prefetching = Prefetching(context: self)
    do {
      try prefetching.readRows(of: objects.filter { $0.isFault && $0.snapshot == nil && !$0.hasTemporaryID })
      let groups = Dictionary(grouping: objects) { ObjectIdentifier($0.entity) }.values
      for group in groups.sorted(by: { $0[0].entity.name ?? "" < $1[0].entity.name ?? "" }) {
        for (_, relationship) in group[0].entity.relationshipsByName.sorted(by: { $0.key < $1.key }) {
          guard [.nullifyDeleteRule, .cascadeDeleteRule].contains(relationship.deleteRule) else { continue }
          let destinations = try prefetching.prefetch(relationship.name, of: group)
          related += destinations
          guard let inverse = relationship.inverseRelationship, inverse.isToMany else { continue }
          try readMembers(
            ofRelationshipNamed: inverse.name, for: destinations.filter { !defersRemovals(from: $0, at: inverse.name) })
        }
      }
    } catch {
      noteFailedRead(error)
    }
    return related
  }

  private func propagateDeletion(
    of object: NSManagedObject, at position: Int, _ relationship: NSRelationshipDescription
  ) {
    switch relationship.deleteRule {
    case .noActionDeleteRule, .denyDeleteRule:
      return
    case .nullifyDeleteRule:
      // The deleted object keeps its own side, so that `didSave` and observers can see its former relationships.
      for destination in object.linkedObjects(at: position) where !destination.isDeleted {
        destination.removeInverse(of: relationship, to: object)
      }
    case .cascadeDeleteRule:
      for destination in object.linkedObjects(at: position) where !destination.isDeleted {
        // Its `prepareForDeletion()` finds the object yet.
        delete(destination)
        destination.removeInverse(of: relationship, to: object)
      }
    }
  }

  /// Returns the first relationship whose deny rule forbids the deletion of an object, with its remaining members.
  func denyingMembers(of object: NSManagedObject) -> (NSRelationshipDescription, [NSManagedObject])? {
    for position in object.table.firstRelationship..<object.table.count {
      guard let relationship = object.table.relationship(at: position), relationship.deleteRule == .denyDeleteRule
      else {
        continue
      }
      let members = object.linkedObjects(at: position).filter { !$0.isDeleted }
      if !members.isEmpty { return (relationship, members) }
    }
    return nil
  }

  /// Posted after objects have been inserted, changed, deleted or refreshed: by `processPendingChanges()`, by a save whose
  /// merge policy resolves conflicts, by merging, by refreshing and by `reset()`. That includes the end of a block of
  /// `perform(_:)` and, for a main queue context, the end of a run loop turn.
  public static let didChangeObjectsNotification = Notification.Name("NSObjectsChangedInManagingContextNotification")
  /// Posted after a context has merged what another context has saved. The user info contains identifiers.
  public static let didMergeChangesObjectIDsNotification = Notification.Name(
    "NSManagedObjectContextDidMergeChangesObjectIDsNotification")
  /// Posted before a context saves.
  public static let willSaveObjectsNotification = Notification.Name("NSManagedObjectContextWillSaveNotification")
  /// Posted after a context has saved. The user info contains the inserted, updated and deleted objects.
  public static let didSaveObjectsNotification = Notification.Name("NSManagingContextDidSaveChangesNotification")
  /// Posted after a context has saved. The user info contains identifiers.
  public static let didSaveObjectIDsNotification = Notification.Name(
    "NSManagedObjectContextDidSaveObjectIDsNotification")

  /// The keys of the user info of a context's notifications.
  public enum NotificationKey: String, Sendable {
    /// The inserted objects.
    case insertedObjects = "inserted"
    /// The updated objects.
    case updatedObjects = "updated"
    /// The deleted objects.
    case deletedObjects = "deleted"
    /// The refreshed objects.
    case refreshedObjects = "refreshed"
    /// The identifiers of the refreshed objects.
    case refreshedObjectIDs = "refreshed_objectIDs"
    /// The invalidated objects.
    case invalidatedObjects = "invalidated"
    /// An array of the identifiers of all objects that a reset has removed.
    case invalidatedAllObjects = "invalidatedAll"
    /// The identifiers of the inserted objects.
    case insertedObjectIDs = "inserted_objectIDs"
    /// The identifiers of the updated objects.
    case updatedObjectIDs = "updated_objectIDs"
    /// The identifiers of the deleted objects.
    case deletedObjectIDs = "deleted_objectIDs"
    /// The identifiers of the invalidated objects.
    case invalidatedObjectIDs = "invalidated_objectIDs"
    /// The query generation that the context reads after a save.
    case queryGeneration = "newQueryGeneration"
  }

  /// Posts a notification of this context, unless the context posts none.
  func post(_ name: Notification.Name, _ userInfo: [AnyHashable: Any]) {
    guard postsNotifications else { return }
    NotificationCenter.default.post(name: name, object: self, userInfo: userInfo)
  }
}

/// Deleted objects whose rows have been read again since their deletion, in contexts that record changes for undo.
struct RepeatedDeletions {
  /// Objects that other objects must be unlinked from.
  var unlinked: [NSManagedObject] = []
  /// Objects whose cascading rules wait for a save.
  var cascading: [NSManagedObject] = []
}

/// The sets of objects for the notifications about one save: that of its event, and that of the save itself. They
/// usually contain the same objects, and creating a set takes as long as writing a row.
struct EventSets {
  /// Whether sets are kept.
  var isKeeping = false
  /// Each object list comes after its set, so that objects without other references are released in the order of their
  /// creation. Compared with the order of the set, that saves a fifth of the time of a large save.
  private var known: [(set: Set<NSManagedObject>, objects: [NSManagedObject])] = []

  mutating func set(of objects: [NSManagedObject]) -> Set<NSManagedObject> {
    if let same = known.first(where: { Self.areSame($0.objects, objects) }) { return same.set }
    let set = Set(objects)
    if isKeeping { known.append((set, objects)) }
    return set
  }

  private static func areSame(_ one: [NSManagedObject], _ other: [NSManagedObject]) -> Bool {
    guard one.count == other.count else { return false }
    // Comparing references one by one would retain and release each.
    return one.withUnsafeBytes { left in
      other.withUnsafeBytes { right in
        guard let start = left.baseAddress, let other = right.baseAddress else { return true }
        return memcmp(start, other, left.count) == 0
      }
    }
  }
}

/// The content of the notifications about a save: its objects by the kind of change to their rows, and their
/// identifiers.
struct SaveReport {
  /// The objects whose rows are inserted, updated or deleted.
  struct Part {
    let objects: [NSManagedObject]
    let identifiers: [NSManagedObjectID]

    fileprivate init(_ objects: [NSManagedObject]) {
      self.objects = objects
      identifiers = objects.map(\.objectID)
    }
  }

  let inserted: Part
  let updated: Part
  let deleted: Part

  /// - Parameter objects: the objects with their changes.
  init(_ objects: [NSManagedObject]) {
    func part(_ belongs: (NSManagedObject) -> Bool) -> Part {
      // Usually all objects of a save have the same kind of change, and the list is the context's.
      let count = objects.count(where: belongs)
      return Part(count == 0 ? [] : count == objects.count ? objects : objects.filter(belongs))
    }
    inserted = part { $0.isInserted && !$0.isDeleted }
    updated = part { !$0.isInserted && !$0.isDeleted }
    deleted = part { $0.isDeleted && !$0.isInaccessibleFault }
  }

  init(inserted: [NSManagedObject], updated: [NSManagedObject], deleted: [NSManagedObject]) {
    (self.inserted, self.updated, self.deleted) = (Part(inserted), Part(updated), Part(deleted))
  }

  var identifiers: SavedIdentifiers {
    SavedIdentifiers(inserted: inserted.identifiers, updated: updated.identifiers, deleted: deleted.identifiers)
  }
}

/// The objects with unsaved changes, in the order in which they were first changed.
///
/// Each object stores its position in the list, so that adding and removing need no lookup.
struct ChangeList {
  /// Lists up to this length keep their gaps.
  private static let compactionThreshold = 64

  private var entries: [NSManagedObject?] = []
  /// The positions of the objects of each entity, for entries up to `indexed`. Only fetches need them, so the next
  /// fetch computes them.
  private var positions: [ObjectIdentifier: (entity: NSEntityDescription, positions: [Int])] = [:]
  private var indexed = 0
  private(set) var count = 0
  /// The cached objects; nil after a change. A save iterates over them several times.
  private var known: [NSManagedObject]?
  /// Whether the list has contained objects of subclasses since it was last empty. Only these have methods that a save
  /// must call.
  private(set) var hasSubclasses = false

  var isEmpty: Bool { count == 0 }

  var objects: [NSManagedObject] {
    mutating get {
      if let known { return known }
      let objects = entries.compactMap { $0 }
      known = objects
      return objects
    }
  }

  /// Returns the objects of some entities, in the order in which they were first changed.
  ///
  /// The time does not depend on the number of objects of other entities, except those added since the last call.
  mutating func objectsOfEntities(where isWanted: (NSEntityDescription) -> Bool) -> [NSManagedObject] {
    for position in indexed..<entries.count {
      guard let entity = entries[position]?.entity else { continue }
      positions[ObjectIdentifier(entity), default: (entity, [])].positions.append(position)
    }
    indexed = entries.count
    let wanted = positions.values.filter { isWanted($0.entity) }.map(\.positions)
    let inOrder = wanted.count == 1 ? wanted[0] : wanted.flatMap { $0 }.sorted()
    return inOrder.compactMap { entries[$0] }
  }

  func contains(_ object: NSManagedObject) -> Bool {
    let position = Int(object.changePosition)
    return position < entries.count && entries[position] === object
  }

  /// Appends an object, unless the list already contains it.
  mutating func add(_ object: NSManagedObject) {
    if contains(object) { return }
    object.changePosition = UInt32(entries.count)
    entries.append(object)
    if type(of: object) != NSManagedObject.self { hasSubclasses = true }
    count += 1
    known = nil
  }

  mutating func remove(_ object: NSManagedObject) {
    guard contains(object) else { return }
    entries[Int(object.changePosition)] = nil
    count -= 1
    known = nil
    if count == 0 {
      removeAll()
    } else if entries.count > ChangeList.compactionThreshold, count * 2 < entries.count {
      let left = objects
      for (position, object) in left.enumerated() { object.changePosition = UInt32(position) }
      entries = left
      positions = [:]
      indexed = 0
    }
  }

  mutating func removeAll() {
    entries = []
    positions = [:]
    indexed = 0
    count = 0
    known = nil
    hasSubclasses = false
  }
}

/// Key of notifications: the inserted objects.
public let NSInsertedObjectsKey = "inserted"
/// Key of notifications: the updated objects.
public let NSUpdatedObjectsKey = "updated"
/// Key of notifications: the deleted objects.
public let NSDeletedObjectsKey = "deleted"
/// Key of notifications: the refreshed objects.
public let NSRefreshedObjectsKey = "refreshed"
/// Key of notifications: the invalidated objects.
public let NSInvalidatedObjectsKey = "invalidated"
/// Key of notifications: an array of the identifiers of all objects that a reset has removed.
public let NSInvalidatedAllObjectsKey = "invalidatedAll"
/// Key of notifications: the identifiers of the refreshed objects.
public let NSRefreshedObjectIDsKey = "refreshed_objectIDs"
/// Key of notifications: the identifiers of the inserted objects.
public let NSInsertedObjectIDsKey = "inserted_objectIDs"
/// Key of notifications: the identifiers of the updated objects.
public let NSUpdatedObjectIDsKey = "updated_objectIDs"
/// Key of notifications: the identifiers of the deleted objects.
public let NSDeletedObjectIDsKey = "deleted_objectIDs"
/// Key of notifications: the identifiers of the invalidated objects.
public let NSInvalidatedObjectIDsKey = "invalidated_objectIDs"
/// Key of save notifications: the query generation that the context reads from then on; absent unless the context is
/// pinned to one.
public let NSManagedObjectContextQueryGenerationKey = "newQueryGeneration"

extension Notification.Name {
  /// Posted after objects of a context have changed.
  public static let NSManagedObjectContextObjectsDidChange = NSManagedObjectContext.didChangeObjectsNotification
  /// Posted after a context has merged what another context has saved.
  public static let NSManagedObjectContextDidMergeChangesObjectIDs =
    NSManagedObjectContext.didMergeChangesObjectIDsNotification
  /// Posted before a context saves.
  public static let NSManagedObjectContextWillSave = NSManagedObjectContext.willSaveObjectsNotification
  /// Posted after a context has saved.
  public static let NSManagedObjectContextDidSave = NSManagedObjectContext.didSaveObjectsNotification
  /// Posted after a context has saved, with identifiers.
  public static let NSManagedObjectContextDidSaveObjectIDs = NSManagedObjectContext.didSaveObjectIDsNotification
}
