// OpenCoreData
// SPDX-License-Identifier: Apache-2.0

import Foundation

extension NSManagedObjectContext {
  /// The maximum number of rounds of changes in a save, by `willSave()`, validation and observers.
  private static let maximumRounds = 1000

  /// Writes all changes to the stores, in one transaction per store. A context with a parent passes them to the parent,
  /// where they are unsaved changes.
  ///
  /// A changed relationship with an inverse ends if its destination's row is missing or is deleted by the save.
  ///
  /// - Throws: 1570 to 1680 and 1560 if objects are invalid; 133020 if rows have changed in the store, and 133021 if a
  ///   uniqueness constraint is violated, unless the merge policy resolves the conflict; 133010 for a relationship to
  ///   an object of another store; 132001 if `willSave()`, validation or an observer calls this during a save of the
  ///   context; 134060 if these never stop changing objects; the store's errors (134030 and related codes). On an
  ///   error, nothing has been written, with two exceptions: a server that does not answer may have committed the
  ///   changes (134030), and one of several stores may have committed its part. The context keeps all changes. Its next
  ///   `save()` finds out which of them are in the stores, and writes only the others.
  public func save() throws {
    ConcurrencyDebug.check(self)
    if isSaving { throw ObjectGraphErrors.recursiveSave() }
    try settleUnread()
    adoptPermanentIDs()
    try settleUnconfirmedSave()
    guard hasChanges else {
      if let parent {
        let check = ConflictCheck(self)
        if !check.isEmpty { try parent.runForChild { try check.run() } }
        check.finish()
      } else if !conflictChecks.isEmpty {
        let check = ConflictCheck(self)
        try tracing(.save) { try coordinator.saveChanges([], for: self, after: check) }
        check.finish()
      } else {
        try tracing(.save) { try persistentStoreCoordinator?.writeMetadata() }
      }
      return
    }
    isSaving = true
    defer { isSaving = false }
    post(NSManagedObjectContext.willSaveObjectsNotification, [:])
    eventSets.isKeeping = true
    defer { eventSets = EventSets() }
    ownersLosingMembers = mayDeferRemovals ? [] : nil
    defer { endDeferringRemovals() }
    try prepareToWrite()
    if let parent { try pushChanges(to: parent) } else { try writeToStores() }
  }

  /// Lets the program and the model change and check the objects, until nothing changes any more.
  private func prepareToWrite() throws {
    defer { undoManager?.closeEventGroup() }
    try prepareObjects()
    try throwReadingFailure()
    // New objects usually come grouped by entity.
    var concrete: NSEntityDescription?
    for object in changedInOrder where object.entity !== concrete && object.isInserted && !object.isDeleted {
      if object.entity.isAbstract { throw ObjectGraphErrors.abstractEntity(object) }
      concrete = object.entity
    }
    if validatesOnSave { try validate() }
    try throwReadingFailure()
  }

  /// Applies deletion rules, calls `willSave()` and computes derived attributes until nothing changes any more.
  private func prepareObjects() throws {
    var called: Set<ObjectIdentifier> = []
    // Objects changed by a `willSave()` get another call.
    var changedSince: Set<ObjectIdentifier> = []
    // Derived attributes are computed where rows are written.
    var derivation = parent == nil ? Derivations.Update(in: self) : nil
    // A parent checks the destinations itself, and migrations write only what they have read.
    var missing = parent == nil && postsNotifications ? MissingDestinations(in: self) : nil
    for _ in 0..<NSManagedObjectContext.maximumRounds {
      processEvent(isSaving: true)
      // Observers of the event have changed objects.
      let isDirty = !touched.isEmpty
      // Only subclasses can override `willSave()`.
      var due: [NSManagedObject] = []
      if changed.hasSubclasses {
        due = changedInOrder.filter {
          let identity = ObjectIdentifier($0)
          return type(of: $0) != NSManagedObject.self
            && (called.insert(identity).inserted || changedSince.contains(identity))
        }
      }
      for object in due { object.willSave() }
      if due.isEmpty, try missing?.forget() == true { continue }
      if due.isEmpty, !isDirty, derivation == nil { return }
      changedSince = Set(touched.map { ObjectIdentifier($0) })
      if due.isEmpty, try derivation?.run() != true, !isDirty { return }
    }
    throw ObjectGraphErrors.endlessSave(changedInOrder)
  }

  /// Validates all changed objects, including those that validation itself inserts. Objects that validation deletes are
  /// deleted by their rules, which may change others, so that all are validated again. What validation has changed is
  /// announced, and what observers change then is validated again.
  private func validate() throws {
    var validated: Set<ObjectIdentifier> = []
    for _ in 0..<NSManagedObjectContext.maximumRounds {
      let all = changedInOrder
      try validate(validated.isEmpty ? all : all.filter { !validated.contains(ObjectIdentifier($0)) })
      if !unprocessedDeletions.isEmpty {
        validated = []
        processEvent(isSaving: true)
        try throwReadingFailure()
        continue
      }
      validated = Set(all.map { ObjectIdentifier($0) })
      guard changed.count == all.count else { continue }
      if touched.isEmpty { return }
      if try forgetMissingDestinations() { validated = [] }
      try deriveFromValidated()
      processEvent(isSaving: true)
      for object in touched { validated.remove(ObjectIdentifier(object)) }
    }
    throw ObjectGraphErrors.endlessSave(changedInOrder)
  }

  /// Ends relationships to missing objects after validation has changed objects, as `prepareObjects()` does before.
  private func forgetMissingDestinations() throws -> Bool {
    guard parent == nil, postsNotifications else { return false }
    var missing = MissingDestinations(in: self)
    return try missing.forget()
  }

  /// Recomputes derived attributes after validation has changed objects.
  private func deriveFromValidated() throws {
    if parent != nil { return }
    var derivation = Derivations.Update(in: self)
    _ = try derivation.run()
  }

  private func validate(_ objects: [NSManagedObject]) throws {
    var failures: [NSError] = []
    for object in objects {
      do {
        if object.isDeleted {
          if !object.isInserted, !object.isInaccessibleFault { try object.validateForDelete() }
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

  private func writeToStores() throws {
    let objects = changedInOrder
    // Usually all objects are new, or none.
    let newCount = objects.count { $0.hasTemporaryID }
    if newCount > 0 {
      try adoptPermanentIDs(for: newCount == objects.count ? objects : objects.filter(\.hasTemporaryID))
    }
    defer { stateBeforeMerging = nil }
    let check = ConflictCheck(self)
    let report = postsNotifications ? SaveReport(objects) : nil
    do {
      // The changes, which hold the values before and after, must be released early.
      try tracing(.save) { try coordinator.saveChanges(checkedChanges(), for: self, after: check) }
    } catch {
      for object in objects { object.isBeingWritten = false }
      if !(error is InterruptedWrite) { stateBeforeMerging?.restore(in: self) }
      throw cause(ofFailedSave: error, changedInOrder)
    }
    // A merge policy that has resolved conflicts may have dropped some of the objects, and changed others.
    let merged = stateBeforeMerging?.merged(in: self)
    finishSave(changedInOrder, merged == nil ? report : nil, merged)
    if merged != nil { for object in objects { object.isBeingWritten = false } }
    check.finish()
  }

  private func checkedChanges() throws -> [RowChange] {
    let changes = rowChanges()
    if coordinator.persistentStores.count > 1 { try checkStores(of: changes) }
    return changes
  }

  /// Returns the changes to write, and records which objects they belong to.
  func rowChanges() -> [RowChange] {
    let objects = changedInOrder
    var changes: [RowChange] = []
    changes.reserveCapacity(objects.count)
    for object in objects {
      let change = object.rowChange()
      object.isBeingWritten = change != nil
      if let change { changes.append(change) }
    }
    return changes
  }

  /// Checks that relationships stay within one store, because a row can only refer to rows of its own store.
  private func checkStores(of changes: [RowChange]) throws {
    for change in changes where change.kind != .delete {
      for position in change.changed {
        let ids: [NSManagedObjectID]
        switch change.slot(at: position) {
        case .toOne(let id): ids = [id]
        case .toMany(let members): ids = members.ids
        default: continue
        }
        guard let other = ids.lazy.map(\.current).first(where: { $0.key.store != change.id.key.store }),
          let object = registry[change.id.current.key]
        else { continue }
        throw ObjectGraphErrors.otherStore(object, object.table.names[position], leadsTo: other)
      }
    }
  }

  /// Assigns permanent identifiers to new objects, and replaces the temporary ones in changed objects.
  func adoptPermanentIDs(for objects: [NSManagedObject]) throws {
    let permanent = try tracing(.save) {
      try assignments.isEmpty
        ? coordinator.makeIdentifiers(forUnassigned: objects)
        : coordinator.makeIdentifiers(for: objects.map { ($0, assignments[$0.identifier.key]) })
    }
    var replacesTemporary = false
    for (object, id) in zip(objects, permanent) where adopt(id, for: object) { replacesTemporary = true }
    if replacesTemporary {
      for object in changed.objects { object.replaceTemporaryIDs() }
      if family.isNested { family.notePermanentID() }
    }
  }

  /// Assigns a permanent identifier to a new object. Related objects still refer to the temporary one.
  ///
  /// - Returns: whether the object had a temporary identifier.
  @discardableResult
  func adopt(_ id: NSManagedObjectID, for object: NSManagedObject) -> Bool {
    guard let temporary = registry.assign(id, to: object) else { return false }
    if !assignments.isEmpty { assignments[temporary.key] = nil }
    return true
  }

  /// Ends a save: the changes are no longer pending, and observers and other contexts are notified.
  ///
  /// - Parameters:
  ///   - report: the content of the notifications; nil if it has not been made.
  ///   - merged: what the merge policy has changed.
  func finishSave(_ objects: [NSManagedObject], _ report: SaveReport? = nil, _ merged: MergedObjects? = nil) {
    let report = report ?? (postsNotifications ? SaveReport(objects) : nil)
    let hasSubclasses = changed.hasSubclasses
    // Removing them one by one would compact the list repeatedly.
    changed.removeAll()
    let packer = RowPacker()
    let keepsValues = keepsSavedValues
    for object in objects {
      let isGone = object.isDeleted
      forgetChanges(of: object)
      if isGone {
        object.isBeingWritten = false
        registry.remove(object)
      } else if !keepsValues, !object.isInaccessible {
        object.isBeingWritten = false
        object.turnIntoFault(keeping: nil)
      } else if object.isRealized {
        let stored = object.snapshot?.version ?? 0
        let version = object.isBeingWritten ? RowVersion.next(after: stored) : stored
        object.noteWritten(version: version, packer)
        object.isBeingWritten = false
      }
    }
    prefetchedRows.removeAll()
    // What is called from here on can save again.
    isSaving = false
    if let merged { announce(merged) }
    // Only subclasses can override `didSave()`.
    if hasSubclasses { for object in objects { object.didSave() } }
    if let report { announce(report) }
  }

  /// Notifies observers and children of what a merge policy has changed.
  func announce(_ merged: MergedObjects) {
    let sets = [
      NSInsertedObjectsKey: merged.restored, NSUpdatedObjectsKey: merged.updated,
      NSRefreshedObjectsKey: merged.refreshed, NSDeletedObjectsKey: merged.deleted,
    ].filter { !$0.value.isEmpty }
    if sets.isEmpty { return }
    post(NSManagedObjectContext.didChangeObjectsNotification, sets.mapValues { Set($0) })
    mergeDown(SavedIdentifiers(deleted: merged.deleted.map(\.objectID), refreshed: merged.refreshed.map(\.objectID)))
  }

  /// Notifies observers and other contexts of a save.
  func announce(_ report: SaveReport) {
    var objectSets: [String: Any] = [:]
    var identifierSets: [String: Any] = [:]
    for (part, key, identifiersKey) in [
      (report.inserted, NSInsertedObjectsKey, NSInsertedObjectIDsKey),
      (report.updated, NSUpdatedObjectsKey, NSUpdatedObjectIDsKey),
      (report.deleted, NSDeletedObjectsKey, NSDeletedObjectIDsKey),
    ] where !part.objects.isEmpty {
      objectSets[key] = eventSets.set(of: part.objects)
      identifierSets[identifiersKey] = Set(part.identifiers)
    }
    let saved = report.identifiers
    let generation = advanceGenerationAfterSave()
    post(NSManagedObjectContext.didSaveObjectsNotification, objectSets.merging(generation) { $1 })
    post(NSManagedObjectContext.didSaveObjectIDsNotification, identifierSets.merging(generation) { $1 })
    if parent == nil { coordinator.notifyOthers(of: saved, by: self) }
    mergeDown(saved)
  }
}

extension NSManagedObject {
  /// Returns the change to write to the store; nil if no stored value has changed.
  final func rowChange() -> RowChange? {
    if isInaccessible { return nil }
    if isDeleted {
      guard let snapshot = snapshot ?? context?.readRow(for: self) else { return nil }
      return RowChange(kind: .delete, id: identifier, old: snapshot)
    }
    let changed = changedStoredSlots()
    if isInserted {
      return RowChange(kind: .insert, id: identifier, old: nil, slots: slots, changed: changed)
    }
    guard isRealized, let snapshot, !changed.isEmpty else { return nil }
    switch state.values {
    case .edited(let edited): return RowChange(edited.changes, of: identifier, old: snapshot, changed: changed)
    case .removing: return RowChange(kind: .update, id: identifier, old: snapshot, changed: changed)
    case .fault, .packed, .new, .decoded:
      return RowChange(kind: .update, id: identifier, old: snapshot, slots: slots, changed: changed)
    }
  }
}
