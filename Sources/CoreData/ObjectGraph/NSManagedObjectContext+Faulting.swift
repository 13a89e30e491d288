// OpenCoreData
// SPDX-License-Identifier: Apache-2.0

import Foundation

extension NSManagedObjectContext {
  /// Returns the object of an identifier: the registered one, or a new fault. Reads nothing.
  ///
  /// - Parameter objectID: a permanent identifier, or the temporary one of an object of this context.
  public func object(with objectID: NSManagedObjectID) -> NSManagedObject { object(for: objectID) }

  /// Returns the object of an identifier, with its values.
  ///
  /// - Parameter objectID: an identifier.
  /// - Throws: 133000 if the store has no such row; the store's errors if it cannot be read.
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

  /// Gives new objects permanent identifiers before they are saved.
  ///
  /// - Parameter objects: objects of this context.
  /// - Throws: the store's errors.
  public func obtainPermanentIDs(for objects: [NSManagedObject]) throws {
    for object in objects {
      precondition(
        object.context === self,
        "The object \(object.objectID) belongs to another context: obtain its identifier there.")
    }
    try adoptPermanentIDs(for: objects.filter(\.hasTemporaryID))
  }

  /// Returns the object of an identifier: the registered one, or a new fault.
  func object(for objectID: NSManagedObjectID) -> NSManagedObject {
    let id = objectID.current
    if let known = registry[id.key] { return known }
    let object = NSManagedObject.makeFault(id, in: self)
    object.snapshot = readAhead[id.key]
    registry.add(object)
    return object
  }

  /// Returns the object of a row that has just been read. A fault keeps the row until its values are asked for.
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

  /// Reads the row of a fault; nil if it is gone or cannot be read.
  ///
  /// Reading a property cannot throw, so an error is kept in `readingFailure`, and the next `save()` throws it before
  /// writing anything. `existingObject(with:)` and fetches throw at once.
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

  /// Reads the members of a to-many relationship; nil if they cannot be read, as for `readRow(for:)`.
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

  /// Reads the members of a to-many relationship of all objects for which they have not been read.
  ///
  /// - Throws: the store's errors.
  func readMembers(ofRelationshipNamed name: String, for objects: [NSManagedObject]) throws {
    var unread: [ObjectIdentifier: [(object: NSManagedObject, position: Int)]] = [:]
    for object in objects where !object.hasTemporaryID {
      guard let position = object.table.position(of: name), object.table.relationship(at: position)?.isToMany == true
      else { continue }
      object.realize()
      if case .unread = object.slots[position] {
        unread[ObjectIdentifier(object.entity), default: []].append((object, position))
      }
    }
    if unread.isEmpty { return }
    willQueryStores()
    for (_, group) in unread {
      guard let relationship = group[0].object.table.relationship(at: group[0].position) else { continue }
      let members = try coordinator.members(of: relationship, forAll: group.map(\.object.identifier))
      for (object, position) in group {
        object.take(members[object.identifier.key] ?? [], at: position, of: relationship)
      }
    }
  }

  /// Runs a closure, and throws the first error it met while firing faults, which otherwise the next save would throw.
  func throwingReadingFailures<Value>(_ body: () throws -> Value) throws -> Value {
    let earlier = readingFailure
    readingFailure = nil
    defer { readingFailure = readingFailure ?? earlier }
    let result = Result { try body() }
    if let failure = readingFailure {
      readingFailure = nil
      throw failure
    }
    return try result.get()
  }

  /// Turns an object into a fault, or rereads its row and reapplies its changes.
  ///
  /// - Parameters:
  ///   - object: an object of this context.
  ///   - flag: false to discard the object's changes, including the insertion of a new object; true to reread the row
  ///     and keep the changes on top of it.
  public func refresh(_ object: NSManagedObject, mergeChanges flag: Bool) {
    precondition(
      object.context == nil || object.context === self,
      "The object \(object.objectID) belongs to another context: refresh it there.")
    if renew(object, keepingChanges: flag) {
      post(NSManagedObjectContext.didChangeObjectsNotification, refreshed([object]))
    }
  }

  /// Refreshes all objects, keeping their changes.
  public func refreshAllObjects() {
    let renewed = registry.objects.filter { renew($0, keepingChanges: true) }
    if !renewed.isEmpty { post(NSManagedObjectContext.didChangeObjectsNotification, refreshed(renewed)) }
  }

  private func refreshed(_ objects: [NSManagedObject]) -> [AnyHashable: Any] {
    [NSRefreshedObjectsKey: Set(objects)]
  }

  /// Turns an object into a fault, or rereads its row and reapplies its changes; false for an object without a row.
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

  /// Discards a new object's changes and its insertion. What remains is a fault without a row.
  private func forgetInsertion(of object: NSManagedObject) {
    let key = object.identifier.key
    forgetChanges(of: object)
    object.turnIntoFault(keeping: nil)
    for other in changed.objects { other.forgetDestinations { $0.key == key } }
  }

  /// Turns an object whose row could not be read back into a fault, which may be read now.
  func revive(_ object: NSManagedObject) {
    object.isInaccessible = false
    forgetChanges(of: object)
    object.turnIntoFault(keeping: nil)
  }

  /// Discards all unsaved changes.
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

  /// Forgets all objects, which become faults without a context.
  ///
  /// Posts `didChangeObjectsNotification` with the identifiers under `NSInvalidatedAllObjectsKey`.
  public func reset() {
    // A new object is not in the registry until its identifier is asked for.
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
}
