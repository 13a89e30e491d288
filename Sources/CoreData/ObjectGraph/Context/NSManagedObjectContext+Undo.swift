// OpenCoreData
// SPDX-License-Identifier: Apache-2.0

import Foundation

/// The changes of one event, which undo reverts.
struct EventChanges {
  /// The change of one object.
  struct Entry {
    let object: NSManagedObject
    let wasPresent: Bool
    let isPresent: Bool
    /// The slots at the start of the event; empty for a new object.
    let before: [Slot]
    /// The slots at the end of the event.
    let after: [Slot]
  }

  let entries: [Entry]
}

/// Collects the changes of an event while the context processes it.
struct EventRecorder {
  private struct Start {
    let object: NSManagedObject
    let wasPresent: Bool
    let isPresent: Bool
    let slots: [Slot]
    /// Whether the object changed only by losing references to unsaved objects that have been deleted.
    let isBystander: Bool
  }

  private let context: NSManagedObjectContext
  private let manager: UndoManager
  private var starts: [Start] = []

  /// Creates a recorder; nil if there is nothing to record. Called after deletions have been propagated, and before
  /// objects are removed.
  init?(_ context: NSManagedObjectContext) {
    guard let manager = context.undoManager, manager.isUndoRegistrationEnabled, !context.touched.isEmpty else {
      return nil
    }
    self.context = context
    self.manager = manager
    for object in context.touched where object.context === context && !object.isInaccessible {
      let event = object.eventChanges
      guard !event.isEmpty else { continue }
      let isPresent = !object.isDeleted
      let wasPresent =
        event.contains(.inserted)
        ? false : event.contains([.deleted, .revived]) ? isPresent : !event.contains(.revived)
      // Once the deletion has been saved, the members can no longer be read.
      if !isPresent, object.isRealized {
        for position in object.slots.indices { object.readRelationship(at: position) }
      }
      starts.append(
        Start(
          object: object, wasPresent: wasPresent, isPresent: isPresent,
          slots: event.contains(.inserted) ? [] : EventRecorder.slotsAtStart(of: object), isBystander: false))
    }
    guard context.touched.contains(where: { $0.isDeleted && $0.isInserted }) else { return }
    for object in context.changedInOrder where object.eventChanges.isEmpty && object.isRealized {
      starts.append(
        Start(object: object, wasPresent: true, isPresent: true, slots: object.slots, isBystander: true))
    }
  }

  /// Returns the slots of an object at the start of the event.
  private static func slotsAtStart(of object: NSManagedObject) -> [Slot] {
    object.slotsAtEventStart ?? object.snapshot?.slots ?? object.slots
  }

  /// Registers the changes with the undo manager. Called after the event has been processed.
  func register() {
    let entries = starts.compactMap { start -> EventChanges.Entry? in
      guard start.wasPresent || start.isPresent, start.object.isRealized else { return nil }
      let after = start.object.slots
      var before = start.slots
      if start.wasPresent, start.isPresent, before.count == after.count {
        // Saves compute derived attributes. A step that undoes only this would undo nothing that the program has done.
        let table = start.object.table
        let derived = (0..<table.firstRelationship).filter { table.attribute(at: $0) is NSDerivedAttributeDescription }
        for position in derived { before[position] = after[position] }
        if zip(before, after).allSatisfy({ $0.isSame(as: $1) }) { return nil }
      }
      return EventChanges.Entry(
        object: start.object, wasPresent: start.wasPresent, isPresent: start.isPresent, before: before, after: after)
    }
    guard !entries.isEmpty else { return }
    let changes = EventChanges(entries: entries)
    manager.registerUndo(withTarget: context) { $0.revert(changes) }
  }
}

/// Observes the undo manager of a context.
final class UndoCheckpoints {
  private let token: any NSObjectProtocol

  init(of manager: UndoManager, for context: NSManagedObjectContext) {
    token = NotificationCenter.default.addObserver(forName: .NSUndoManagerCheckpoint, object: manager, queue: nil) {
      [weak context] _ in context?.registerPendingChanges()
    }
  }

  deinit { NotificationCenter.default.removeObserver(token) }
}

extension NSManagedObjectContext {
  /// Registers pending changes in the open group of the undo manager, before it opens or closes another one, or undoes.
  fileprivate func registerPendingChanges() {
    guard let undoManager, !undoManager.isUndoing, !undoManager.isRedoing, !isSaving, insertionDepth == 0,
      !touched.isEmpty || !unprocessedDeletions.isEmpty
    else { return }
    processEvent()
  }

  /// Undoes the last group of changes of the undo manager. Does nothing if there is none.
  public func undo() {
    guard let undoManager else { return }
    processPendingChanges()
    undoManager.undo()
  }

  /// Redoes the group of changes that was undone last. Does nothing without an undo manager.
  public func redo() {
    guard let undoManager else { return }
    processPendingChanges()
    undoManager.redo()
  }

  /// Restores the objects of an event to their state before it. The changes made by this are an event of their own,
  /// which the undo manager records for redo.
  func revert(_ changes: EventChanges) {
    willDiscardChanges()
    // Unprocessed changes are an event of their own.
    processPendingChanges()
    // Restore objects before the relationships that refer to them.
    let deleted = changes.entries.filter { $0.wasPresent && !$0.isPresent }
    // The current values differ from those of the event only by what was merged since, which belongs to no event.
    let merged = Set(repeatedDeletions.unlinked + repeatedDeletions.cascading)
    let renewed = Set(deleted.lazy.map(\.object).filter { $0.context === self && $0.isRealized && merged.contains($0) })
    for entry in deleted.filter({ revive($0.object) }) {
      entry.object.setSlots(
        renewed.contains(entry.object)
          ? valuesBeforeDeletion(entry)
          : entry.before.indices.map { restored(entry, at: $0, from: entry.before[$0], over: entry.before[$0]) })
      entry.object.holds?.update()
    }
    for entry in changes.entries where entry.wasPresent && entry.isPresent { restoreValues(of: entry) }
    for entry in changes.entries where !entry.wasPresent && entry.isPresent { withdraw(entry) }
    for entry in changes.entries {
      let event: NSSnapshotEventType =
        entry.wasPresent == entry.isPresent ? .undoUpdate : entry.wasPresent ? .undoDeletion : .undoInsertion
      if entry.object.context === self { entry.object.awake(fromSnapshotEvents: event) }
    }
    processPendingChanges()
    for object in changes.entries.map(\.object) where object.context === self && object.changes.isSubset(of: .updated) {
      if object.isRealized, object.changedStoredSlots().isEmpty { forgetChanges(of: object) }
    }
  }

  /// Returns the values of an object before an unsaved deletion, including what has been merged since.
  private func valuesBeforeDeletion(_ entry: EventChanges.Entry) -> [Slot] {
    let object = entry.object
    return entry.before.indices.map { position in
      object.readRelationship(at: position)
      let (before, after, current) = (entry.before[position], entry.after[position], object.slots[position])
      let isUnchanged = position < object.table.firstRelationship && before.isSame(as: after)
      return isUnchanged ? current : restored(entry, at: position, from: after, over: current)
    }
  }

  /// Undoes a deletion. An object whose deletion has been saved is inserted again, with its identifier.
  ///
  /// - Returns: whether the object belongs to the context again.
  private func revive(_ object: NSManagedObject) -> Bool {
    if object.context === self {
      guard object.isDeleted, !object.isInaccessible else { return false }
      object.changes.remove(.deleted)
    } else {
      guard object.registry == nil else { return false }
      if let other = object.knownIdentifier.flatMap({ registry[$0.current.key] }) {
        forgetChanges(of: other)
        registry.remove(other)
      }
      object.changes = .inserted
      object.isInaccessible = false
      object.snapshot = nil
      registry.register(object)
    }
    note(object, .revived)
    return true
  }

  /// Restores the values that the event has changed.
  private func restoreValues(of entry: EventChanges.Entry) {
    let object = entry.object
    guard object.context === self, !object.isDeleted else { return }
    object.fireFault()
    guard !object.isInaccessible else { return }
    var hasChanged = false
    for position in entry.before.indices where !entry.before[position].isSame(as: entry.after[position]) {
      object.readRelationship(at: position)
      object.setSlot(
        restored(entry, at: position, from: entry.after[position], over: object.slots[position]), at: position)
      hasChanged = true
    }
    guard hasChanged else { return }
    noteUpdate(object)
    object.holds?.update()
  }

  /// Undoes an insertion. An object that has been saved is deleted instead.
  private func withdraw(_ entry: EventChanges.Entry) {
    let object = entry.object
    guard object.context === self, !object.isDeleted else { return }
    object.fireFault()
    // The other ends of relationships in that event have been restored. Deletion rules apply to the remaining ones.
    for position in object.table.firstRelationship..<object.table.count {
      switch (object.slots[position], entry.after[position]) {
      case (.toOne(let id), .toOne(let made)) where id.current.key == made.current.key:
        object.setSlot(.null, at: position)
      case (.toMany(var members), .toMany(let made)):
        members.removeAll { made.withPermanentIDs().contains($0.current) }
        object.setSlot(.toMany(members), at: position)
      default: continue
      }
    }
    object.changes.insert(.deleted)
    note(object, .deleted)
    unprocessedDeletions.append(object)
  }

  /// Returns a slot as it was before an event, with permanent identifiers and without missing objects. Changes of a
  /// to-many relationship since the event are kept.
  ///
  /// A relationship without an inverse keeps a destination whose deletion has not been saved: the deletion has not ended
  /// it either, and may be undone next.
  private func restored(_ entry: EventChanges.Entry, at position: Int, from after: Slot, over current: Slot) -> Slot {
    let isOneWay = entry.object.table.relationship(at: position)?.inverseRelationship == nil
    switch entry.before[position] {
    case .toOne(let id): return isGone(id.current, isOneWay) ? .null : .toOne(id.current)
    case .toMany(let members):
      var result = members.withPermanentIDs()
      if case .toMany(let made) = after, case .toMany(let now) = current {
        let (made, now) = (made.withPermanentIDs(), now.withPermanentIDs())
        if !now.hasSameMembers(as: made) { result = result.rebased(from: made, onto: now) }
      }
      result.removeAll { isGone($0, isOneWay) }
      return .toMany(result)
    case let before: return before
    }
  }

  private func isGone(_ id: NSManagedObjectID, _ isOneWay: Bool) -> Bool {
    guard let object = registry[id.key] else { return id.isTemporaryID }
    return object.isDeleted && !object.eventChanges.contains(.revived) && (!isOneWay || object.isInaccessible)
  }
}
