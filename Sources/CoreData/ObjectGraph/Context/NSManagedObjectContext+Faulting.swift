// OpenCoreData
// SPDX-License-Identifier: Apache-2.0

import CoreDataMistakes
import Foundation

extension NSManagedObjectContext {
  /// Returns the object for an identifier: the registered one, or a new fault. Reads nothing.
  ///
  /// - Parameter objectID: a permanent identifier, or the temporary identifier of an object of this context. An
  ///   identifier from another coordinator refers to the row of the same store in this context's coordinator. Traps if
  ///   that has no such store.
  public func object(with objectID: NSManagedObjectID) -> NSManagedObject {
    ConcurrencyDebug.check(self)
    if let id = ownIdentifier(objectID) { return object(for: id) }
    // The store has been removed from its coordinator.
    if objectID.current.persistentStore?.persistentStoreCoordinator == nil { return object(for: objectID) }
    trap(
      "\(objectID.uriRepresentation().absoluteString) belongs to a store of another coordinator, which this context's has not "
        + "opened.")
  }

  /// Returns this context's version of an identifier that may come from another coordinator; nil if the context's
  /// coordinator does not have the store.
  func ownIdentifier(_ id: NSManagedObjectID) -> NSManagedObjectID? {
    let current = id.current
    guard !current.isTemporaryID, let coordinator = persistentStoreCoordinator,
      current.persistentStore?.persistentStoreCoordinator !== coordinator
    else { return current }
    return coordinator.managedObjectID(forURIRepresentation: current.uriRepresentation())
  }

  /// Returns the object for an identifier, with its values.
  ///
  /// - Parameter objectID: an identifier, possibly of the same store in another coordinator.
  /// - Throws: 133000 if the context's stores have no such row; the store's errors if it cannot be read.
  public func existingObject(with objectID: NSManagedObjectID) throws -> NSManagedObject {
    ConcurrencyDebug.check(self)
    adoptPermanentIDs()
    guard let id = ownIdentifier(objectID) else { throw ObjectGraphErrors.missingObject(objectID) }
    if let known = registry[id.key], known.isRealized, !known.isDeleted { return known }
    if id.isTemporaryID, parent == nil { throw ObjectGraphErrors.missingObject(id) }
    willReadStoredRow()
    guard let row = try storedRow(for: id) else { throw ObjectGraphErrors.missingObject(id) }
    let object = object(for: row)
    object.fireFault()
    return object
  }

  /// Assigns permanent identifiers to new objects before they are saved.
  ///
  /// - Parameter objects: objects of this context.
  /// - Throws: the store's errors.
  public func obtainPermanentIDs(for objects: [NSManagedObject]) throws {
    for object in objects {
      trap(
        unless: object.context === self,
        "The object \(object.objectID) belongs to another context: obtain its identifier there.")
    }
    adoptPermanentIDs()
    let new = objects.filter(\.hasTemporaryID)
    if family.isNested {
      try makePermanent(new.map { ($0.identifier, assignments[$0.identifier.key]) })
    } else {
      try adoptPermanentIDs(for: new)
    }
  }

  /// Returns the object for an identifier: the registered one, or a new fault.
  func object(for objectID: NSManagedObjectID) -> NSManagedObject {
    adoptPermanentIDs()
    let id = objectID.current
    if let known = registry[id.key] { return known }
    if id !== objectID, family.isNested {
      // The permanent identifier is being announced to the tree at this moment.
      adoptAllPermanentIDs()
      if let known = registry[id.key] { return known }
    }
    let object = NSManagedObject.makeFault(id, in: self)
    object.snapshot = prefetchedRows[id.key]
    registry.add(object)
    return object
  }

  /// Returns the object for a destination: the registered one, or a new fault. Reads nothing.
  func object(for destination: PackedRow.Destination) -> NSManagedObject {
    adoptPermanentIDs()
    if let known = registry[destination.key] { return known }
    if let row = prefetchedRows[destination.key] { return object(for: row) }
    // Finding the object of a row requires no identifier.
    guard let layout = destination.layout(last: lastDestinationLayout) else {
      trap("The row of \(destination.key) was packed without an entity.")
    }
    lastDestinationLayout = layout
    let object = NSManagedObject.makeFault(
      layout, destination.key.number, of: ManagedObjectClasses.of(layout.entity))
    registry.add(object)
    return object
  }

  /// Returns the object for a row: the registered one, or a new fault.
  private func fault(for row: RowSnapshot) -> NSManagedObject {
    guard let packed = row.packed else { return object(for: row.id) }
    adoptPermanentIDs()
    return object(packed.layout, packed.primaryKey)
  }

  /// Returns the object for a row: the registered one, or a new fault. Reads nothing, and creates no identifier.
  func object(_ layout: RowLayout, _ primaryKey: Int64) -> NSManagedObject {
    if let known = registry[layout.key(primaryKey)] { return known }
    let object = NSManagedObject.makeFault(layout, primaryKey, of: ManagedObjectClasses.of(layout.entity))
    registry.add(object)
    return object
  }

  /// Returns the objects for a relationship's members: the registered ones, or new faults.
  func objects(of members: ToMany) -> [NSManagedObject] {
    guard let rows = members.rows else { return members.ids.map { object(for: $0) } }
    adoptPermanentIDs()
    let (layout, type) = (rows.layout, ManagedObjectClasses.of(rows.layout.entity))
    var objects = registry.objects(layout, rows.numbers)
    let isKnown = objects.map { $0 != nil }
    for index in objects.indices where !isKnown[index] {
      let made = NSManagedObject.makeFault(layout, rows.numbers[index], of: type)
      made.snapshot = rows.row(at: index, for: self) ?? prefetchedRows[layout.key(rows.numbers[index])]
      objects[index] = made
    }
    registry.add(&objects, unless: isKnown) { layout.key(rows.numbers[$0]) }
    return objects.compactMap { $0 }
  }

  /// Keeps a row that has just been read: in the registered fault, or until its object is created.
  func keep(_ row: RowSnapshot) {
    let key = row.key
    prefetchedRows[key] = row
    if let known = registry[key], known.isFault, known.snapshot == nil { _ = object(for: row) }
  }

  /// Returns the object for a row that has just been read. A fault keeps the row until its values are needed.
  func object(for row: RowSnapshot, refreshing: Bool = false) -> NSManagedObject {
    let object = fault(for: row)
    useRow(row, for: object, refreshing: refreshing, stalenessInterval >= 0)
    return object
  }

  /// Returns the objects for rows that have just been read, as `object(for:refreshing:)` does for one.
  func objects(for rows: [RowSnapshot], refreshing: Bool = false) -> [NSManagedObject] {
    adoptPermanentIDs()
    let recordsTimes = stalenessInterval >= 0
    var objects: [NSManagedObject] = []
    objects.reserveCapacity(rows.count)
    // Finding the class of an entity's objects takes longer than creating one.
    var (layout, type): (RowLayout?, NSManagedObject.Type) = (nil, NSManagedObject.self)
    for start in stride(from: 0, to: rows.count, by: Self.rowsAtOnce) {
      let indexes = start..<min(start + Self.rowsAtOnce, rows.count)
      let keys = indexes.map { rows[$0].key }
      var found = registry.objects(keys)
      let isKnown = found.map { $0 != nil }
      for offset in found.indices where !isKnown[offset] {
        guard let packed = rows[start + offset].packed else { continue }
        let own = packed.layout
        if own !== layout { (layout, type) = (own, ManagedObjectClasses.of(own.entity)) }
        found[offset] = NSManagedObject.makeFault(own, packed.primaryKey, of: type)
      }
      registry.add(&found, unless: isKnown) { keys[$0] }
      for (offset, object) in found.enumerated() {
        if let object {
          useRow(rows[start + offset], for: object, refreshing: refreshing, recordsTimes)
          objects.append(object)
        } else {
          objects.append(self.object(for: rows[start + offset], refreshing: refreshing))
        }
      }
    }
    return objects
  }

  /// The number of rows whose objects are looked up together.
  private static let rowsAtOnce = 256

  private func useRow(_ row: RowSnapshot, for object: NSManagedObject, refreshing: Bool, _ recordsTimes: Bool) {
    if object.isInaccessible { revive(object) }
    if !object.isRealized {
      object.snapshot = row
      if recordsTimes { rowTimes[object.key] = ProcessInfo.processInfo.systemUptime }
    } else if refreshing, !object.hasChanges {
      object.turnIntoFault(keeping: row, keepsTransients: true)
    }
  }

  /// Returns whether the row that a fault keeps is stale. Discards the time at which the row was read.
  func isStale(_ object: NSManagedObject) -> Bool {
    guard let time = rowTimes.removeValue(forKey: object.key) else { return true }
    return ProcessInfo.processInfo.systemUptime - time >= stalenessInterval
  }

  /// Reads the row of a fault; nil if it is missing or cannot be read.
  ///
  /// Reading a property cannot throw, so an error is stored in `readingFailure`. The next `save()` throws it before
  /// writing anything. `existingObject(with:)` and fetches throw it immediately.
  func readRow(for object: NSManagedObject) -> RowSnapshot? {
    if object.hasTemporaryID, parent == nil || object.isInserted { return nil }
    willReadStoredRow()
    do {
      if let batch = object.batch {
        try batch.readRows(around: object, in: self)
        if let row = object.snapshot { return row }
      }
      if parent == nil, !isPinned, let (layout, primaryKey) = object.unidentifiedRow {
        return try coordinator.row(layout, primaryKey, in: self)
      }
      return try storedRow(for: object.identifier)
    } catch {
      noteFailedRead(error)
      return nil
    }
  }

  /// Reads the members of a to-many relationship; nil if they cannot be read, as for `readRow(for:)`.
  func readMembers(
    of relationship: NSRelationshipDescription, for object: NSManagedObject
  ) -> [NSManagedObjectID]? {
    willQueryStores()
    do {
      return try storedMembers(of: relationship, for: object.identifier)
    } catch {
      noteFailedRead(error)
      return nil
    }
  }

  /// Reads the members of a to-many relationship for all objects that have not read them yet.
  ///
  /// - Throws: the store's errors.
  func readMembers(ofRelationshipNamed name: String, for objects: [NSManagedObject]) throws {
    var unread: [ObjectIdentifier: [(object: NSManagedObject, position: Int)]] = [:]
    for object in objects where !object.hasTemporaryID {
      guard let position = object.table.position(of: name), object.table.relationship(at: position)?.isToMany == true
      else { continue }
      object.fireFault()
      if object.isUnread(at: position) {
        unread[ObjectIdentifier(object.entity), default: []].append((object, position))
      }
    }
    if unread.isEmpty { return }
    willQueryStores()
    for (_, group) in unread {
      guard let relationship = group[0].object.table.relationship(at: group[0].position) else { continue }
      let members = try storedMembers(of: relationship, forAll: group.map(\.object.identifier))
      for (object, position) in group {
        object.setReadMembers(members[object.identifier.key] ?? [], at: position, of: relationship)
      }
    }
  }

  /// Runs a closure, and throws the first error from firing faults, which the next save would throw otherwise.
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

  /// Turns an object into a fault, or reads its row again and reapplies its changes.
  ///
  /// - Parameters:
  ///   - object: an object of this context.
  ///   - flag: false to discard the object's changes, including the insertion of a new object, and its transient
  ///     values; true to read the row again and keep the changes and the transient values on top of it.
  public func refresh(_ object: NSManagedObject, mergeChanges flag: Bool) {
    ConcurrencyDebug.check(self)
    trap(
      unless: object.context == nil || object.context === self,
      "The object \(object.objectID) belongs to another context: refresh it there.")
    if renew(object, keepingChanges: flag) {
      post(NSManagedObjectContext.didChangeObjectsNotification, refreshed([object]))
    }
  }

  /// Refreshes all objects and keeps their changes.
  ///
  /// Posts `didChangeObjectsNotification` with the objects under `NSRefreshedObjectsKey`.
  public func refreshAllObjects() {
    ConcurrencyDebug.check(self)
    let renewed = registry.objects.filter { renew($0, keepingChanges: true) }
    if !renewed.isEmpty { post(NSManagedObjectContext.didChangeObjectsNotification, refreshed(renewed)) }
  }

  private func refreshed(_ objects: [NSManagedObject]) -> [AnyHashable: Any] {
    [NSRefreshedObjectsKey: Set(objects)]
  }

  /// Turns an object into a fault, or reads its row again and reapplies its changes. Returns false for an object
  /// without a row.
  func renew(_ object: NSManagedObject, keepingChanges: Bool) -> Bool {
    guard object.context === self else { return false }
    guard !object.isInserted, !object.hasTemporaryID || parent != nil else {
      if keepingChanges { return false }
      // A new object whose insertion was discarded has no row. A fault may have been created for it anyway.
      if object.isInserted { forgetInsertion(of: object) } else { revive(object) }
      return true
    }
    prefetchedRows.removeAll()
    if object.isInaccessible { revive(object) }
    // Its deletion rules also apply to what others have related to it meanwhile. No conflict will report that any more.
    if keepingChanges, object.isDeleted { repeatDeletion(of: object) }
    guard keepingChanges, object.hasChanges, object.isRealized else {
      if !keepingChanges { forgetChanges(of: object) }
      object.turnIntoFault(keeping: nil, keepsTransients: keepingChanges)
      object.holds?.update()
      return true
    }
    object.applyDeferredRemovals()
    if object.hasUnreadMembers { readMembersAgain(of: object) }
    // As for a row that cannot be read.
    if object.hasUnreadMembers { return true }
    let before = object.snapshot?.slots ?? []
    let table = object.table
    let kept = object.changedSlots().filter { !table.isTransient(at: $0) }.map { ($0, object.slots[$0]) }
    let transients = table.transients.map { ($0, object.slots[$0]) }
    guard let row = readRow(for: object) else { return true }
    object.setSlots(row.slots)
    for (position, slot) in transients { object.setSlot(slot, at: position) }
    object.snapshot = RowSnapshot(id: row.id, version: row.version, slots: object.slots, origin: row.origin)
    for (position, slot) in kept {
      guard case .toMany(let members) = slot else {
        object.setSlot(slot, at: position)
        continue
      }
      object.readRelationship(at: position)
      guard case .toMany(let stored) = object.slots[position], before.indices.contains(position),
        case .toMany(let base) = before[position]
      else { continue }
      object.setSlot(.toMany(members.rebased(from: base, onto: stored)), at: position)
      if case .toMany(let members) = object.slotsAtEventStart?[position] {
        object.slotsAtEventStart?[position] = .toMany(members.rebased(from: base, onto: stored))
      }
    }
    if var start = object.slotsAtEventStart {
      // Only the object's own changes count as changes of the event.
      let (own, slots) = (Set((kept + transients).map(\.0)), object.slots)
      for position in slots.indices where !own.contains(position) { start[position] = slots[position] }
      object.slotsAtEventStart = start
    }
    object.holds?.update()
    object.awake(fromSnapshotEvents: .refresh)
    return true
  }

  /// Discards a new object's changes and its insertion, leaving a fault without a row.
  private func forgetInsertion(of object: NSManagedObject) {
    let key = object.identifier.key
    forgetChanges(of: object)
    object.turnIntoFault(keeping: nil)
    for other in changed.objects { other.forgetDestinations { $0.key == key } }
  }

  /// Turns an object whose row could not be read back into a fault, which may become readable.
  func revive(_ object: NSManagedObject) {
    if unread.removeValue(forKey: ObjectIdentifier(object))?.isChanged == true {
      unreadChanges.append(object)
    }
    object.isInaccessible = false
    forgetChanges(of: object)
    object.turnIntoFault(keeping: nil)
  }

  /// Turns objects whose rows could not be read into faults again.
  ///
  /// - Throws: the error of the first failure to read; after that, 134070 for the objects that the program has changed,
  ///   whose other values nobody knows.
  func settleUnread() throws {
    let (failure, found) = (readingFailure, unread.values)
    readingFailure = nil
    for (object, isChanged, isDeleted) in found where !isChanged {
      revive(object)
      if isDeleted { noteDeletion(object) }
    }
    if let failure { throw failure }
    for object in unreadMembers.values.map(\.object) { readMembersAgain(of: object) }
    try throwReadingFailure()
    for object in unread.values.map(\.object) { revive(object) }
    let changed = unreadChanges
    unreadChanges = []
    if !changed.isEmpty { throw ObjectGraphErrors.unreadChanges(changed) }
  }

  /// Discards all unsaved changes, and clears the undo stack.
  ///
  /// After a save with an unknown outcome (134030), what the stores have committed stays there. The objects of that save
  /// become faults, which read it.
  ///
  /// Posts `didChangeObjectsNotification`: objects with restored values are refreshed, objects whose deletion was
  /// undone are inserted, and new objects are deleted.
  public func rollback() {
    ConcurrencyDebug.check(self)
    willDiscardChanges()
    undoManager?.removeAllActions()
    unprocessedDeletions = []
    repeatedDeletions = RepeatedDeletions()
    prefetchedRows.removeAll()
    touched = []
    releaseLiveSets()
    // What the program has changed of them is discarded, too.
    let unreadObjects = unread.values.map(\.object)
    unread = [:]
    for object in unreadObjects { revive(object) }
    unreadChanges = []
    forgetUnreadMembers()
    readingFailure = nil
    conflictChecks = []
    var withdrawn: Set<NSManagedObject> = []
    var restored: Set<NSManagedObject> = []
    var refreshed: Set<NSManagedObject> = []
    for object in changedInOrder {
      let (wasInserted, wasDeleted) = (object.isInserted, object.isDeleted)
      forgetChanges(of: object)
      if wasInserted {
        registry.remove(object)
        if !wasDeleted { withdrawn.insert(object) }
      } else if object.isInaccessible {
        revive(object)
        refreshed.insert(object)
      } else if let snapshot = object.snapshot, object.isRealized {
        object.setSlots(snapshot.slots)
        object.holds?.release()
        object.holds?.update()
        object.awake(fromSnapshotEvents: .rollback)
        if wasDeleted { restored.insert(object) } else { refreshed.insert(object) }
      } else {
        object.turnIntoFault(keeping: object.snapshot)
        object.holds?.update()
        if wasDeleted { restored.insert(object) } else { refreshed.insert(object) }
      }
    }
    if let unconfirmedSave { unconfirmedSave.forget(in: self) }
    let sets = [
      NSInsertedObjectsKey: restored, NSRefreshedObjectsKey: refreshed, NSDeletedObjectsKey: withdrawn,
    ].filter { !$0.value.isEmpty }
    if !sets.isEmpty { post(NSManagedObjectContext.didChangeObjectsNotification, sets) }
  }

  /// Removes all objects from the context. They become faults without a context.
  ///
  /// Posts `didChangeObjectsNotification` with the identifiers under `NSInvalidatedAllObjectsKey`.
  public func reset() {
    ConcurrencyDebug.check(self)
    willDiscardChanges()
    undoManager?.removeAllActions()
    // A new object is not in the registry until its identifier is first accessed.
    let new = changed.objects.filter { $0.knownKey == nil }
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
    prefetchedRows.removeAll()
    touched = []
    releaseLiveSets()
    unprocessedDeletions = []
    repeatedDeletions = RepeatedDeletions()
    readingFailure = nil
    unread = [:]
    unreadMembers = [:]
    unreadChanges = []
    assignments = [:]
    conflictChecks = []
    unconfirmedSave = nil
    rowTimes = [:]
    advanceGeneration()
    post(NSManagedObjectContext.didChangeObjectsNotification, [NSInvalidatedAllObjectsKey: ids])
  }
}
