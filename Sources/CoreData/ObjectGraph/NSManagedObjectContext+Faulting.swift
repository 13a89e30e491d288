// OpenCoreData
// SPDX-License-Identifier: Apache-2.0

import Foundation

extension NSManagedObjectContext {
  /// The object of that identifier, made as a fault when the context does not know it. Nothing is read.
  ///
  /// - Parameter objectID: a permanent identifier, or the temporary one of an object of this context.
  public func object(with objectID: NSManagedObjectID) -> NSManagedObject {
    object(for: objectID)
  }

  /// The object of that identifier, with its values.
  ///
  /// - Parameter objectID: an identifier.
  /// - Throws: 133000 when the store has no such row; the store's errors when it cannot be read.
  public func existingObject(with objectID: NSManagedObjectID) throws -> NSManagedObject {
    if let known = registry[objectID.current.key], known.isRealized, !known.isDeleted { return known }
    let id = objectID.current
    if id.isTemporaryID { throw ObjectGraphErrors.missingObject(id) }
    willReadStoredRow()
    guard let row = try coordinator.row(for: id) else { throw ObjectGraphErrors.missingObject(id) }
    let object = object(for: row)
    object.realize()
    return object
  }

  /// Gives new objects their permanent identifiers before they are saved.
  ///
  /// - Parameter objects: objects of this context.
  /// - Throws: the store's errors.
  public func obtainPermanentIDs(for objects: [NSManagedObject]) throws {
    for object in objects {
      precondition(
        object.context === self,
        "The object \(object.objectID) is not of this context, which cannot give it an identifier.")
    }
    try adoptPermanentIDs(for: objects.filter(\.hasTemporaryID))
  }

  /// The object of that identifier, made as a fault when the context does not know it.
  func object(for objectID: NSManagedObjectID) -> NSManagedObject {
    let id = objectID.current
    if let known = registry[id.key] { return known }
    let object = NSManagedObject.makeFault(id, in: self)
    object.snapshot = readAhead[id.key]
    registry.add(object)
    return object
  }

  /// The object of a row that has just been read; it keeps the row ready until its values are asked for.
  func object(for row: RowSnapshot, refreshing: Bool = false) -> NSManagedObject {
    let object = object(for: row.id)
    if object.isInaccessible { revive(object) }
    if !object.isRealized {
      object.snapshot = row
    } else if refreshing, !object.hasChanges {
      object.turnIntoFault(keeping: row)
    }
    return object
  }

  /// The row behind a fault; nil when it is gone, or cannot be read.
  ///
  /// Whoever asks for a value cannot be thrown an error at: it is kept, and the next `save()` throws it before anything is
  /// written. `existingObject(with:)` and fetches throw at once.
  func readRow(for object: NSManagedObject) -> RowSnapshot? {
    if object.hasTemporaryID { return nil }
    willReadStoredRow()
    do {
      if let batch = object.batch {
        try batch.readRows(around: object, in: self)
        if let row = object.snapshot { return row }
      }
      return try coordinator.row(for: object.identifier)
    } catch {
      readingFailure = readingFailure ?? error
      return nil
    }
  }

  /// The members of a to-many relationship, read from the store; nil when they cannot be read, as for `readRow(for:)`.
  func readMembers(
    of relationship: NSRelationshipDescription, for object: NSManagedObject
  ) -> [NSManagedObjectID]? {
    willQueryStores()
    do {
      return try coordinator.members(of: relationship, for: object.identifier)
    } catch {
      readingFailure = readingFailure ?? error
      return nil
    }
  }

  /// Turns an object into a fault again, or renews it beneath its changes.
  ///
  /// - Parameters:
  ///   - object: an object of this context.
  ///   - flag: false to drop its changes, and the insertion of a new object; true to read the row anew and keep the changes
  ///     on top of it.
  public func refresh(_ object: NSManagedObject, mergeChanges flag: Bool) {
    precondition(
      object.context == nil || object.context === self,
      "The object \(object.objectID) belongs to another context, and is to be refreshed there.")
    if renew(object, keepingChanges: flag) {
      post(NSManagedObjectContext.didChangeObjectsNotification, refreshed([object]))
    }
  }

  /// Turns all objects into faults, with their changes kept.
  public func refreshAllObjects() {
    let renewed = registry.objects.filter { renew($0, keepingChanges: true) }
    if !renewed.isEmpty { post(NSManagedObjectContext.didChangeObjectsNotification, refreshed(renewed)) }
  }

  private func refreshed(_ objects: [NSManagedObject]) -> [AnyHashable: Any] {
    [NSRefreshedObjectsKey: Set(objects)]
  }

  /// Turns an object into a fault, or reads its row anew beneath its changes; false for an object without row.
  func renew(_ object: NSManagedObject, keepingChanges: Bool) -> Bool {
    guard object.context === self else { return false }
    guard !object.isInserted, !object.hasTemporaryID else {
      if keepingChanges || !object.isInserted { return false }
      forgetInsertion(of: object)
      return true
    }
    readAhead = [:]
    if object.isInaccessible { revive(object) }
    guard keepingChanges, object.hasChanges, object.isRealized else {
      if !keepingChanges { forgetChanges(of: object) }
      object.turnIntoFault(keeping: nil)
      object.holds?.update()
      return true
    }
    let before = object.snapshot?.slots ?? []
    let kept = object.changedSlots().map { ($0, object.slots[$0]) }
    guard let row = readRow(for: object) else { return true }
    object.snapshot = row
    object.slots = row.slots
    for (position, slot) in kept {
      guard case .toMany(let members) = slot else {
        object.slots[position] = slot
        continue
      }
      object.readRelationship(at: position)
      guard case .toMany(let stored) = object.slots[position], before.indices.contains(position),
        case .toMany(let base) = before[position]
      else { continue }
      object.slots[position] = .toMany(members.rebased(from: base, onto: stored))
    }
    object.holds?.update()
    return true
  }

  /// Drops a new object's changes, its insertion among them. What remains is a fault for which there is no row.
  private func forgetInsertion(of object: NSManagedObject) {
    let key = object.identifier.key
    forgetChanges(of: object)
    object.turnIntoFault(keeping: nil)
    for other in changed.objects { other.forgetDestinations { $0.key == key } }
  }

  /// Gives an object whose row was not to be had another chance.
  func revive(_ object: NSManagedObject) {
    object.isInaccessible = false
    forgetChanges(of: object)
    object.turnIntoFault(keeping: nil)
  }

  /// Drops all unsaved changes.
  public func rollback() {
    unprocessedDeletions = []
    readAhead = [:]
    touched = []
    readingFailure = nil
    for object in changedInOrder {
      let wasInserted = object.isInserted
      forgetChanges(of: object)
      if wasInserted {
        registry.remove(object)
      } else {
        object.turnIntoFault(keeping: object.snapshot)
        object.holds?.update()
      }
    }
  }

  /// Forgets all objects, which become faults without a context: fetch them anew.
  ///
  /// Posts `didChangeObjectsNotification` with the identifiers under `NSInvalidatedAllObjectsKey`.
  public func reset() {
    // New objects are in no registry before somebody asks for their identifiers.
    let new = changed.objects.filter { $0.knownIdentifier == nil }
    let all = registry.objects + new
    let ids = postsNotifications ? all.map(\.objectID) : []
    for object in all { object.turnIntoFault(keeping: nil) }
    for object in new { object.registry = nil }
    registry.removeAll()
    for object in all {
      object.changes = []
      object.eventChanges = []
    }
    changed.removeAll()
    readAhead = [:]
    touched = []
    unprocessedDeletions = []
    readingFailure = nil
    assignments = [:]
    post(NSManagedObjectContext.didChangeObjectsNotification, [NSInvalidatedAllObjectsKey: ids])
  }

  /// Takes an object out of what is to be saved.
  func forgetChanges(of object: NSManagedObject) {
    object.changes = []
    object.eventChanges = []
    object.slotsAtEventStart = nil
    changed.remove(object)
  }
}
