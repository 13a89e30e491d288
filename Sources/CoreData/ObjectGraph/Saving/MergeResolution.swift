// OpenCoreData
// SPDX-License-Identifier: Apache-2.0

import Foundation

/// Writes changes, and resolves conflicts with the context's merge policy.
struct MergeResolution {
  /// The maximum number of attempts to save while others may write, and again while they are excluded.
  private static let maximumRounds = 4

  let policy: NSMergePolicy
  let context: NSManagedObjectContext

  init(policy: Any, context: NSManagedObjectContext) {
    self.policy = policy as? NSMergePolicy ?? .error
    self.context = context
  }

  /// - Parameter isInTransaction: whether the store's transaction has already begun.
  /// - Throws: 133020 or 133021 for conflicts that the policy does not resolve; the store's errors.
  func writeResolvingConflicts(_ changes: [RowChange], to store: any RowStore, isInTransaction: Bool) throws {
    var changes = changes
    if try writeInRounds(&changes, to: store) == nil { return }
    // Other writers keep changing the same rows.
    func writeExclusively() throws {
      try store.excludeWriters()
      if let last = try writeInRounds(&changes, to: store) { throw last }
    }
    if isInTransaction {
      try writeExclusively()
    } else {
      var committed: Set<UInt32> = []
      try context.coordinator.inTransactions([store], committed: &committed, writeExclusively)
    }
  }

  /// - Returns: the last error, if each round has met another conflict; nil on success.
  private func writeInRounds(_ changes: inout [RowChange], to store: any RowStore) throws -> NSError? {
    var last: NSError?
    for _ in 0..<MergeResolution.maximumRounds {
      do {
        try store.writeRowsOrObjects(changes, of: context)
        return nil
      } catch let conflicts as RowConflicts {
        let list = conflicts.conflicts.map { NSMergeConflict($0, of: context.object(for: $0.id)) }
        last = ObjectGraphErrors.mergeConflict(list)
        try resolve(list)
      } catch let error as NSError where isDuplicate(error) {
        let list = try context.readingLatest { try ConstraintSearch(context: context, store: store).conflicts() }
        // Nothing is found if the row in conflict has been deleted or changed since.
        last = list.isEmpty ? error : ObjectGraphErrors.constraintConflict(list)
        if !list.isEmpty { try resolve(list) }
      }
      changes = context.rowChanges().filter { $0.id.persistentStore === store }
    }
    return last
  }

  /// Returns whether an error concerns a uniqueness constraint, and this context resolves such conflicts, which
  /// migrations do not.
  private func isDuplicate(_ error: NSError) -> Bool {
    error.isCocoa(NSManagedObjectConstraintMergeError) && context.postsNotifications
  }

  /// Returns the objects that may have been changed by resolving a conflict over unique values.
  private func reverted(_ conflict: Any) -> [NSManagedObject] {
    guard let conflict = conflict as? NSConstraintConflict else { return [] }
    return conflict.conflictingObjects + (conflict.databaseObject.map { [$0] } ?? [])
  }

  private func resolve(_ conflicts: [Any]) throws {
    if context.stateBeforeMerging == nil { context.stateBeforeMerging = ChangedObjects(of: context) }
    try context.readingLatest {
      try policy.resolve(mergeConflicts: conflicts)
      var derivation = Derivations.Update(in: context)
      derivation.renew(conflicts.flatMap { ($0 as? NSMergeConflict).map { [$0.sourceObject] } ?? reverted($0) })
      _ = try derivation.run()
    }
  }
}

/// Resolves a conflict between a changed object and its row.
struct LockingResolution {
  /// Resolves the conflicts of a save, and restores the consistency of the objects' relationships.
  ///
  /// - Throws: as `resolve()`, and as `RelationshipSettlement` does.
  static func resolve(_ conflicts: [NSMergeConflict], by policy: NSMergePolicyType) throws {
    let all = try conflicts.compactMap { try LockingResolution(policy: policy, conflict: $0) }
    guard let context = all.first?.context else { return }
    // Objects with missing rows come first, because others may refer to them.
    let ordered = all.filter { $0.row == nil } + all.filter { $0.row != nil }
    let before = ordered.map { RelationshipSettlement.Conflicting($0.object, row: $0.row) }
    for resolution in ordered { try resolution.resolve() }
    try RelationshipSettlement(in: context, policy: policy).run(before)
  }

  private let policy: NSMergePolicyType
  private let object: NSManagedObject
  private let context: NSManagedObjectContext
  /// The current row; nil if it has been deleted.
  private let row: RowSnapshot?

  /// Creates the resolution; nil if the object no longer has changes, for example because a subclass of the policy has
  /// refreshed it.
  ///
  /// - Throws: the store's errors, for a conflict created by the program.
  private init?(policy: NSMergePolicyType, conflict: NSMergeConflict) throws {
    guard let context = conflict.sourceObject.context, context.changed.contains(conflict.sourceObject) else {
      return nil
    }
    self.policy = policy
    self.context = context
    object = conflict.sourceObject
    if let row = conflict.row {
      self.row = row
    } else {
      row = conflict.newVersionNumber == 0 ? nil : try context.coordinator.row(for: object.identifier, in: context)
    }
  }

  /// - Throws: the store's errors; those of validation, if deleting an object affects objects unknown to the context.
  private func resolve() throws {
    guard context.changed.contains(object) else { return }
    guard let row else { return resolveDeletedRow() }
    if object.isDeleted {
      if policy == .rollbackMergePolicyType { return drop(keeping: row) }
      try deleteAsStored(row)
      object.snapshot = row
      return
    }
    switch policy {
    case .rollbackMergePolicyType: drop(keeping: row)
    case .overwriteMergePolicyType: try merge(row) { _ in true }
    case .mergeByPropertyStoreTrumpMergePolicyType:
      let old = object.snapshot?.slots ?? []
      let changed = object.changedStoredSlots()
      try merge(row) { position in
        let hasChangedInStore = old.indices.contains(position) && !old[position].isSame(as: row.slots[position])
        return changed.contains(position) && !hasChangedInStore
      }
    default:
      let changed = object.changedStoredSlots()
      try merge(row) { changed.contains($0) }
    }
    object.awake(fromSnapshotEvents: .mergePolicy)
  }

  /// Only the overwriting policy inserts a deleted row again. With the others, all references to it are removed.
  private func resolveDeletedRow() {
    if policy == .overwriteMergePolicyType, !object.isDeleted {
      for position in object.slots.indices { object.readRelationship(at: position) }
      object.snapshot = nil
      object.changes.insert(.inserted)
    } else {
      context.noteInaccessible(object)
    }
  }

  /// Applies the deletion rules of a deleted object to the objects that others have related to it meanwhile. Otherwise
  /// their rows would refer to a missing row.
  private func deleteAsStored(_ row: RowSnapshot) throws {
    var isRelated = false
    for position in object.table.firstRelationship..<object.table.count {
      guard let relationship = object.table.relationship(at: position), !object.isUnread(at: position) else { continue }
      let known = object.objectIDs(forRelationshipNamed: relationship.name)
      let stored: [NSManagedObjectID]
      if relationship.isToMany {
        stored = try context.coordinator.members(of: relationship, for: object.identifier, in: context)
      } else if case .toOne(let id) = row.slots[position] {
        stored = [id]
      } else {
        stored = []
      }
      let knownKeys = Set(known.map(\.key))
      let added = stored.filter { !knownKeys.contains($0.current.key) }
      if added.isEmpty { continue }
      isRelated = true
      for id in added { try rebaseOnStoredRow(of: context.object(for: id)) }
      object.setSlot(
        relationship.isToMany
          ? .toMany(ToMany(known + added, isOrdered: relationship.isOrdered)) : .toOne(added[0]), at: position)
    }
    guard isRelated else { return }
    let before = Set(context.changedInOrder)
    context.unprocessedDeletions.append(object)
    context.propagateDeletions()
    try object.validateForDelete()
    for other in context.changedInOrder where !before.contains(other) {
      if other.isDeleted { try other.validateForDelete() } else { try other.validateForUpdate() }
    }
  }

  /// Bases an object on its current row, which refers to the deleted one.
  private func rebaseOnStoredRow(of other: NSManagedObject) throws {
    if other.hasChanges {
      // If the object has a conflict of its own, that would be resolved with this row.
      _ = other.isDeleted || context.renew(other, keepingChanges: true)
    } else if let row = try context.coordinator.row(for: other.identifier, in: context) {
      other.turnIntoFault(keeping: row, keepsTransients: true)
      other.holds?.update()
      context.stateBeforeMerging?.refreshed.append(other)
    }
  }

  private func drop(keeping row: RowSnapshot) {
    context.forgetChanges(of: object)
    object.turnIntoFault(keeping: row)
    object.holds?.update()
  }

  /// Bases the object on the current row. Keeps some of its values, the transient ones, and its own changes of to-many
  /// members, which are not part of the row.
  private func merge(_ row: RowSnapshot, keeping isKept: (Int) -> Bool) throws {
    object.fireFault()
    let old = object.snapshot?.slots ?? []
    let changed = object.changedStoredSlots()
    var base = row
    var slots = row.slots
    for position in slots.indices {
      if let relationship = object.table.relationship(at: position), relationship.isToMany {
        guard changed.contains(position), case .toMany(let own) = object.slots[position] else { continue }
        let stored = ToMany(
          try context.coordinator.members(of: relationship, for: object.identifier, in: context),
          isOrdered: relationship.isOrdered)
        var before = ToMany(isOrdered: relationship.isOrdered)
        if old.indices.contains(position), case .toMany(let known) = old[position] { before = known }
        base.slots[position] = .toMany(stored)
        slots[position] = .toMany(own.rebased(from: before, onto: stored))
      } else if object.table.isTransient(at: position) || isKept(position) {
        slots[position] = object.slots[position]
      }
    }
    object.snapshot = base
    object.setSlots(slots)
    object.holds?.update()
  }
}

/// The objects that a merge policy has changed beyond what observers know of the save.
struct MergedObjects {
  /// Deleted objects that the policy has kept.
  var restored: [NSManagedObject] = []
  /// Objects whose values the save writes.
  var updated: [NSManagedObject] = []
  /// Objects with the values of their rows.
  var refreshed: [NSManagedObject] = []
  var deleted: [NSManagedObject] = []
}

/// The changed objects of a context before a merge policy resolves conflicts, so that a failing save can restore them.
struct ChangedObjects {
  private struct Entry {
    let object: NSManagedObject
    let state: ObjectState
    let changes: NSManagedObject.Changes
    let eventChanges: NSManagedObject.Changes
    let isInaccessible: Bool

    /// Whether the object has other values now.
    var differs: Bool {
      guard let (old, new) = state.knownSlots.flatMap({ old in object.state.knownSlots.map { (old, $0) } }) else {
        return true
      }
      return !zip(old, new).allSatisfy { old, new in
        switch (old, new) {
        // Reading a relationship does not change it.
        case (.unread, _), (_, .unread): true
        default: old.isSame(as: new)
        }
      }
    }
  }

  private let entries: [Entry]
  private let touched: [NSManagedObject]
  /// Unchanged objects that have got the values of newer rows since.
  var refreshed: [NSManagedObject] = []

  init(of context: NSManagedObjectContext) {
    touched = context.touched
    entries = context.changedInOrder.map { object in
      object.applyDeferredRemovals()
      return Entry(
        object: object, state: object.state.copy(), changes: object.changes, eventChanges: object.eventChanges,
        isInaccessible: object.isInaccessible)
    }
  }

  /// Returns what has changed since, of which observers do not know yet.
  func merged(in context: NSManagedObjectContext) -> MergedObjects {
    var merged = MergedObjects(refreshed: refreshed)
    for entry in entries {
      let object = entry.object
      let isGone = object.isDeleted || object.context !== context
      switch (entry.changes.contains(.deleted), isGone) {
      case (true, true): continue
      case (true, false): merged.restored.append(object)
      case (false, true): merged.deleted.append(object)
      case (false, false):
        if !entry.differs { continue }
        if context.changed.contains(object) { merged.updated.append(object) } else { merged.refreshed.append(object) }
      }
    }
    let known = Set(entries.map { ObjectIdentifier($0.object) })
    for object in context.changedInOrder where !known.contains(ObjectIdentifier(object)) {
      if object.isDeleted { merged.deleted.append(object) } else { merged.updated.append(object) }
    }
    return merged
  }

  func restore(in context: NSManagedObjectContext) {
    let before = Set(entries.map { ObjectIdentifier($0.object) })
    for object in context.changedInOrder where !before.contains(ObjectIdentifier(object)) {
      context.forgetChanges(of: object)
      object.isInaccessible = false
      object.turnIntoFault(keeping: object.snapshot)
      object.holds?.update()
    }
    context.changed.removeAll()
    for entry in entries {
      let object = entry.object
      object.state = entry.state
      object.changes = entry.changes
      object.eventChanges = entry.eventChanges
      object.isInaccessible = entry.isInaccessible
      if object.context == nil { context.registry.add(object) }
      context.changed.add(object)
      object.holds?.update()
    }
    context.touched = touched
    context.unprocessedDeletions = []
  }
}
