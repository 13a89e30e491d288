// OpenCoreData
// SPDX-License-Identifier: Apache-2.0

import Foundation

extension NSManagedObjectContext {
  /// How often `willSave()` may change objects before the save is given up as endless.
  private static let maximumRounds = 1000

  /// Writes all changes to the stores, in one transaction a store.
  ///
  /// - Throws: 1570 to 1680 and 1560 when objects are not valid; 133020 when rows have been changed by someone else and
  ///   the merge policy does not settle it; the store's errors (134030 and its family). Nothing is written then.
  public func save() throws {
    if let failure = readingFailure {
      readingFailure = nil
      throw failure
    }
    guard hasChanges else {
      try persistentStoreCoordinator?.writeMetadata()
      return
    }
    post(NSManagedObjectContext.willSaveObjectsNotification, [:])
    try prepareObjects()
    if validatesOnSave { try validate() }
    try write()
  }

  /// Follows deletion rules, calls `willSave()` and computes derived attributes until nothing changes any more.
  private func prepareObjects() throws {
    var told: Set<ObjectIdentifier> = []
    var derivation = DerivedValues(context: self, derivations: coordinator.derivations)
    for _ in 0..<NSManagedObjectContext.maximumRounds {
      processPendingChanges()
      // Only a class of the program can have something to do.
      let untold = changedInOrder.filter {
        type(of: $0) != NSManagedObject.self && told.insert(ObjectIdentifier($0)).inserted
      }
      for object in untold { object.willSave() }
      if untold.isEmpty, try !derivation.update() { return }
    }
    preconditionFailure("willSave() goes on changing objects; the context cannot be saved.")
  }

  private func validate() throws {
    var failures: [NSError] = []
    for object in changedInOrder {
      do {
        if object.isDeleted {
          if !object.isInserted { try object.validateForDelete() }
        } else if object.isInserted {
          try object.validateForInsert()
        } else {
          try object.validateForUpdate()
        }
      } catch let error as NSError {
        failures.append(error)
      }
    }
    if let error = ValidationErrors.combined(failures) { throw error }
  }

  private func write() throws {
    if let failure = readingFailure {
      readingFailure = nil
      throw failure
    }
    let objects = changedInOrder
    try adoptPermanentIDs(for: objects.filter { $0.identifier.isTemporaryID })
    let changes = objects.compactMap { $0.rowChange() }
    let versions = try coordinator.write(changes, for: self)
    finishSave(objects, versions)
  }

  /// Gives objects their permanent identifiers, in the registry and in the list of changes too.
  func adoptPermanentIDs(for objects: [NSManagedObject]) throws {
    let permanent = try coordinator.makeIdentifiers(
      for: objects.map { ($0.entity, assignments[$0.identifier.key]) })
    for (object, id) in zip(objects, permanent) { adopt(id, for: object) }
    if !objects.isEmpty {
      for object in changed.objects { object.replaceTemporaryIDs() }
    }
  }

  /// Gives a new object a permanent identifier; objects related to it keep the temporary one until they are told.
  func adopt(_ id: NSManagedObjectID, for object: NSManagedObject) {
    let temporary = object.identifier
    temporary.becomes(id)
    if !assignments.isEmpty { assignments[temporary.key] = nil }
    object.identifier = id
    registry.rename(object, from: temporary.key)
  }

  private func finishSave(_ objects: [NSManagedObject], _ versions: [ObjectKey: Int64]) {
    var inserted: [NSManagedObject] = []
    var updated: [NSManagedObject] = []
    var deleted: [NSManagedObject] = []
    for object in objects {
      if object.isDeleted {
        deleted.append(object)
      } else if object.isInserted {
        inserted.append(object)
      } else {
        updated.append(object)
      }
      let key = object.identifier.key
      let isGone = object.isDeleted
      forgetChanges(of: object)
      if isGone {
        registry.remove(object)
      } else if object.isRealized {
        object.snapshot = RowSnapshot(
          id: object.identifier, version: versions[key] ?? object.snapshot?.version ?? 1, slots: object.slots)
      }
    }
    readAhead = [:]
    for object in objects { object.didSave() }
    let groups: [(String, String, [NSManagedObject])] = [
      (NSInsertedObjectsKey, NSInsertedObjectIDsKey, inserted),
      (NSUpdatedObjectsKey, NSUpdatedObjectIDsKey, updated),
      (NSDeletedObjectsKey, NSDeletedObjectIDsKey, deleted),
    ]
    let filled = groups.filter { !$0.2.isEmpty }
    post(
      NSManagedObjectContext.didSaveObjectsNotification, Dictionary(filled.map { ($0.0, Set($0.2) as Any) }) { $1 })
    let ids: [String: Any] = Dictionary(filled.map { ($0.1, Set($0.2.map(\.objectID)) as Any) }) { $1 }
    post(NSManagedObjectContext.didSaveObjectIDsNotification, ids)
    coordinator.tellOthers(
      than: self, changed: (updated + inserted).map(\.objectID), deleted: deleted.map(\.objectID))
  }

  func post(_ name: Notification.Name, _ userInfo: [AnyHashable: Any]) {
    NotificationCenter.default.post(name: name, object: self, userInfo: userInfo)
  }
}

extension NSManagedObject {
  /// What the store has to do for this object; nil when nothing that a store keeps has changed.
  final func rowChange() -> RowChange? {
    if isInaccessible { return nil }
    if isDeleted {
      guard let snapshot = snapshot ?? context?.readRow(for: self) else { return nil }
      return RowChange(kind: .delete, id: identifier, old: snapshot, slots: snapshot.slots, changed: [])
    }
    let changed = changedStoredSlots()
    if isInserted {
      return RowChange(kind: .insert, id: identifier, old: nil, slots: slots, changed: changed)
    }
    guard isRealized, let snapshot, !changed.isEmpty else { return nil }
    return RowChange(kind: .update, id: identifier, old: snapshot, slots: slots, changed: changed)
  }
}
