// OpenCoreData
// SPDX-License-Identifier: Apache-2.0

/// A failed save whose changes may be in the stores: a server did not answer the commit, or one of several stores has
/// committed its part before another one failed.
///
/// The context keeps its changes. Its next save first asks which of them are in the stores. These are no longer changes
/// then, as if the earlier save had reported success. What the program has changed since is compared with them.
struct UnconfirmedSave {
  private struct Entry {
    let object: NSManagedObject
    let store: UInt32
    /// The insertion or update; nil for a deletion.
    let change: RowChange?
  }

  private let entries: [Entry]
  private let commits: [UInt32: InterruptedCommit]

  /// - Parameters:
  ///   - objects: the objects of the save, which still have their changes.
  ///   - commits: the stores that have committed their part, or may have.
  init(_ objects: [NSManagedObject], _ commits: [UInt32: InterruptedCommit]) {
    self.commits = commits
    entries = objects.compactMap { object in
      let store = object.identifier.key.store
      guard commits[store] != nil, !object.isInaccessible else { return nil }
      if object.isDeleted { return object.isInserted ? nil : Entry(object: object, store: store, change: nil) }
      return object.rowChange().map { Entry(object: object, store: store, change: $0) }
    }
  }

  /// Asks the stores which changes they have committed, and ends the save of these.
  ///
  /// - Throws: 134030 if a server cannot be asked, or cannot tell. Nothing has changed then.
  fileprivate func settle(in context: NSManagedObjectContext) throws {
    var committed: Set<UInt32> = []
    for (store, commit) in commits where try commit.isCommitted() { committed.insert(store) }
    context.unconfirmedSave = nil
    let written = entries.filter { committed.contains($0.store) }
    if written.isEmpty { return }
    func objects(_ kind: RowChange.Kind?) -> [NSManagedObject] {
      written.filter { $0.change?.kind == kind }.map(\.object)
    }
    let report = SaveReport(inserted: objects(.insert), updated: objects(.update), deleted: objects(nil))
    context.prefetchedRows.removeAll()
    for entry in written {
      if let change = entry.change {
        accept(change, of: entry.object, in: context)
      } else {
        acceptDeletion(of: entry.object, in: context)
      }
    }
    for entry in written where type(of: entry.object) != NSManagedObject.self { entry.object.didSave() }
    if context.postsNotifications { context.announce(report) }
  }

  /// Makes the row that a store has committed the one that an object's changes are compared with.
  private func accept(_ change: RowChange, of object: NSManagedObject, in context: NSManagedObjectContext) {
    guard object.context === context else {
      // The program has undone the insertion, or deleted the object. An object that others have deleted is marked so.
      let isWithdrawn = change.kind == .insert && !object.changes.contains(.deleted)
      if isWithdrawn { context.delete(context.object(for: change.id)) }
      return
    }
    if change.kind == .insert {
      // A refreshed object has no changes any more.
      guard object.isInserted, object.snapshot == nil else { return }
    } else if !object.isRealized {
      return object.turnIntoFault(keeping: nil, keepsTransients: true)
    } else if object.snapshot?.version != change.old?.version {
      return dropSavedValues(change, of: object, in: context)
    }
    var slots = change.slots
    if let read = object.snapshot?.slots {
      // Relationships that have been read since then.
      for position in slots.indices { if case .unread = slots[position] { slots[position] = read[position] } }
    }
    let version = change.kind == .insert ? 1 : RowVersion.next(after: change.old?.version ?? 0)
    object.changes.remove(.inserted)
    object.snapshot = RowSnapshot(id: object.identifier, version: version, slots: slots)
    noteRemainingChanges(of: object, in: context)
  }

  /// Drops the values that the save has written from the changes of an object whose row has been read again since. The
  /// row has them, or what others have replaced them by.
  private func dropSavedValues(_ change: RowChange, of object: NSManagedObject, in context: NSManagedObjectContext) {
    guard let row = object.snapshot, !object.isDeleted else { return }
    for position in change.changed where position < object.table.firstRelationship {
      guard object.slots[position].isSame(as: change.slot(at: position)) else { continue }
      object.setSlot(row.slot(at: position), at: position)
    }
    noteRemainingChanges(of: object, in: context)
  }

  private func noteRemainingChanges(of object: NSManagedObject, in context: NSManagedObjectContext) {
    if !object.isDeleted {
      if object.changedSlots().isEmpty { return context.forgetChanges(of: object) }
      object.changes.insert(.updated)
    }
    context.changed.add(object)
  }

  private func acceptDeletion(of object: NSManagedObject, in context: NSManagedObjectContext) {
    guard object.context === context, !object.isInaccessible else { return }
    if object.isDeleted {
      context.forgetChanges(of: object)
      context.registry.remove(object)
    } else if object.isRealized {
      // The program has undone the deletion. The next save inserts the object again.
      for position in object.slots.indices { object.readRelationship(at: position) }
      object.snapshot = nil
      object.changes = .inserted
      context.changed.add(object)
    }
  }

  /// Gives the save up: its objects become faults, because their rows may have changed.
  func forget(in context: NSManagedObjectContext) {
    context.unconfirmedSave = nil
    for entry in entries where entry.object.context === context && !entry.object.hasChanges {
      entry.object.turnIntoFault(keeping: nil)
      entry.object.holds?.update()
    }
  }
}

extension NSManagedObjectContext {
  /// Finds out whether an earlier save, which has failed, was committed.
  ///
  /// - Throws: 134030 if that cannot be learnt.
  func settleUnconfirmedSave() throws {
    if let unconfirmedSave { try unconfirmedSave.settle(in: self) }
  }

  /// Returns the error to throw for a failed save, and records what the stores may have committed of it.
  ///
  /// - Parameter objects: the objects of the save, which still have their changes.
  func cause(ofFailedSave error: any Error, _ objects: [NSManagedObject]) -> any Error {
    guard let interrupted = error as? InterruptedWrite else { return error }
    unconfirmedSave = UnconfirmedSave(objects, interrupted.commits)
    return interrupted.cause
  }
}
