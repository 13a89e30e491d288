// OpenCoreData
// SPDX-License-Identifier: Apache-2.0

import Foundation

/// Passes a child's changes to its parent, on the parent's queue.
///
/// Attributes that the child has changed get its values; others keep the parent's. Relationships change by what the
/// child has added and removed, on both sides, so that the parent's graph stays consistent even if the parent has
/// changed the same relationships.
///
/// There is a conflict if the parent has deleted an object that the child has changed. For policies other than `error`
/// and `mergeByPropertyObjectTrump`, there is also a conflict if both have changed a property since the child read it.
struct ParentSave {
  private let parent: NSManagedObjectContext
  private let policy: NSMergePolicyType
  private let stores: [ObjectKey: NSPersistentStore]
  /// The parent's object for each change; nil if there is none.
  private(set) var objects: [NSManagedObject?] = []
  /// The positions of changes whose objects the child must read again, because the parent's values were kept.
  private(set) var superseded: [Int] = []
  /// The positions of changes that were dropped, because their objects are missing.
  private(set) var dropped: [Int] = []
  /// Whether the parent may already contain part of the changes.
  private(set) var hasBegun = false
  private var changes: [RowChange]

  /// - Parameters:
  ///   - changes: the child's changes.
  ///   - stores: the stores that the child has assigned new objects to.
  ///   - policy: the child's merge policy.
  init(
    _ changes: [RowChange], stores: [ObjectKey: NSPersistentStore], policy: NSMergePolicyType,
    to parent: NSManagedObjectContext
  ) {
    (self.changes, self.stores, self.policy, self.parent) = (changes, stores, policy, parent)
  }

  /// Applies the changes.
  ///
  /// - Returns: what has changed in the parent.
  /// - Throws: `RowConflicts` for missing objects, if the policy is `error`; errors of reading rows. On an error,
  ///   nothing has changed, unless `hasBegun`.
  mutating func run() throws -> SavedIdentifiers {
    // An error that waits for the parent's next save does not keep children from saving.
    let earlier = parent.readingFailure
    parent.readingFailure = nil
    defer { parent.readingFailure = parent.readingFailure ?? earlier }
    try findObjects()
    if let failure = parent.readingFailure { throw failure }
    hasBegun = true
    for (position, change) in changes.enumerated() where objects[position] == nil && change.kind == .insert {
      objects[position] = insert(change.id)
    }
    for (position, change) in changes.enumerated() {
      guard let object = objects[position] else { continue }
      if let store = stores[change.id.key] { parent.assign(object, to: store) }
      apply(change, to: object)
    }
    for (position, change) in changes.enumerated() where change.kind == .delete {
      if let object = objects[position] { parent.delete(object) }
    }
    let saved = parent.processChanges()
    // What the parent could not read, it could not change. The child keeps its changes, and saves them again.
    if let failure = parent.readingFailure { throw failure }
    return saved
  }

  /// Finds the objects of updates and deletions, and resolves conflicts.
  ///
  /// - Throws: see `run()`.
  private mutating func findObjects() throws {
    objects = Array(repeating: nil, count: changes.count)
    var conflicts: [RowConflicts.Conflict] = []
    for (position, change) in changes.enumerated() where change.kind != .insert {
      let object = parent.object(for: change.id)
      if let row = parent.rowForChild(object) {
        objects[position] = object
        if change.kind == .update { resolve(position, against: row) }
      } else if change.kind == .update {
        conflicts.append(.init(id: change.id, expectedVersion: change.old?.version ?? 0, stored: nil))
        if policy == .overwriteMergePolicyType {
          changes[position] = RowChange(
            kind: .insert, id: change.id, old: nil, slots: change.slots, changed: SlotSet(change.slots.indices))
        } else {
          dropped.append(position)
        }
      }
    }
    // A custom policy may have an unknown type. Only `error` refuses to resolve conflicts.
    if policy == .errorMergePolicyType, !conflicts.isEmpty { throw RowConflicts(conflicts: conflicts) }
  }

  /// Drops the part of a change that the policy abandons in favour of the parent's values.
  private mutating func resolve(_ position: Int, against row: RowSnapshot) {
    let change = changes[position]
    guard let old = change.old?.slots else { return }
    switch policy {
    case .mergeByPropertyStoreTrumpMergePolicyType, .rollbackMergePolicyType:
      let both = change.changed.filter { place in
        if case .toMany = change.slot(at: place) { return false }
        return !row.slots[place].isSame(as: old[place]) && !row.slots[place].isSame(as: change.slot(at: place))
      }
      guard !both.isEmpty else { return }
      superseded.append(position)
      let kept = policy == .rollbackMergePolicyType ? [] : change.changed.filter { !both.contains($0) }
      changes[position] = RowChange(
        kind: .update, id: change.id, old: change.old, slots: change.slots, changed: SlotSet(kept))
    case .overwriteMergePolicyType:
      let known = change.slots.indices.filter { place in
        if case .unread = change.slot(at: place) { return false }
        return true
      }
      changes[position] = RowChange(
        kind: .update, id: change.id, old: change.old, slots: change.slots, changed: SlotSet(known))
    default:
      return
    }
  }

  /// Inserts an object under its identifier in the child.
  private func insert(_ id: NSManagedObjectID) -> NSManagedObject {
    if let known = parent.registry[id.current.key] {
      if known.isDeleted, !known.isInaccessible {
        // The policy restores what the parent was about to delete.
        parent.insert(known)
        return known
      }
      // A fault was created for the identifier before the parent knew the object.
      parent.forgetChanges(of: known)
      known.turnIntoFault(keeping: nil)
      known.isInaccessible = false
      known.becomeNew()
      known.changes = .inserted
      parent.note(known, .inserted)
      known.awakeFromInsert()
      return known
    }
    let object = ManagedObjectClasses.of(id.entityDescription).init(entity: id.entityDescription, insertInto: nil)
    object.replaceIdentifier(by: id.current)
    parent.insert(object)
    return object
  }

  private func apply(_ change: RowChange, to object: NSManagedObject) {
    let table = object.table
    for position in table.properties.indices where !table.isTransient(at: position) {
      switch table.properties[position] {
      case .attribute:
        // An insertion lists only values, but the child may have cleared an attribute with a default value.
        guard change.kind == .insert || change.changed.contains(position), change.kind != .delete else { continue }
        if object.slots[position].isSame(as: change.slot(at: position)) { continue }
        object.willChangeValue(forKey: table.names[position])
        object.setSlot(change.slot(at: position), at: position)
        object.didChangeValue(forKey: table.names[position])
      case .relationship(let relationship):
        guard change.changed.contains(position) else { continue }
        // If there is an inverse, the other side of a deletion's relationships is among the changes.
        if change.kind == .delete, relationship.inverseRelationship != nil { continue }
        let old = change.old.map { $0.slot(at: position) }
        apply(change.slot(at: position), since: old, to: object, at: position, of: relationship)
      }
    }
  }

  private func apply(
    _ new: Slot, since old: Slot?, to object: NSManagedObject, at position: Int,
    of relationship: NSRelationshipDescription
  ) {
    let name = object.table.names[position]
    guard relationship.isToMany else {
      if case .unread = new { return }
      var destination: NSManagedObject?
      if case .toOne(let id) = new { destination = existing(id) }
      object.willChangeValue(forKey: name)
      object.setDestination(destination, at: position, of: relationship)
      object.didChangeValue(forKey: name)
      return
    }
    guard case .toMany(let given) = new else { return }
    let members = given.withPermanentIDs()
    var base = ToMany(isOrdered: relationship.isOrdered)
    if case .toMany(let known) = old { base = known.withPermanentIDs() }
    object.willChangeValue(forKey: name)
    if relationship.isOrdered {
      object.readRelationship(at: position)
      var current = base
      if case .toMany(let known) = object.slots[position] { current = known }
      let target = members.rebased(from: base, onto: current)
      object.setMembers(target.ids.compactMap(existing), at: position, of: relationship)
    } else {
      for id in base.ids where !members.contains(id) {
        object.remove(parent.object(for: id), at: position, of: relationship)
      }
      for id in members.ids where !base.contains(id) {
        if let member = existing(id) { object.add(member, at: position, of: relationship) }
      }
    }
    object.didChangeValue(forKey: name)
  }

  /// Returns the parent's object for an identifier; nil if it is deleted.
  private func existing(_ id: NSManagedObjectID) -> NSManagedObject? {
    let object = parent.object(for: id)
    return parent.rowForChild(object) == nil ? nil : object
  }
}

extension NSManagedObjectContext {
  /// Passes this context's changes to its parent.
  ///
  /// - Throws: 133020 for objects that the parent has deleted, in which case nothing has changed; errors of reading
  ///   rows. If the parent then contains part of the changes, its next save throws the error too.
  func pushChanges(to parent: NSManagedObjectContext) throws {
    let objects = changedInOrder
    var changes: [RowChange] = []
    var positions: [Int] = []
    for (position, object) in objects.enumerated() {
      guard let change = object.changeForParent() else { continue }
      changes.append(change)
      positions.append(position)
    }
    let policy = (mergePolicy as? NSMergePolicy)?.mergeType ?? .errorMergePolicyType
    var save = ParentSave(changes, stores: assignments, policy: policy, to: parent)
    let check = ConflictCheck(self)
    do {
      try parent.runForChild {
        try check.run()
        let saved = try save.run()
        parent.mergeDown(saved, from: self)
      }
    } catch let conflicts as RowConflicts {
      throw ObjectGraphErrors.mergeConflict(conflicts.conflicts.map { NSMergeConflict($0, of: object(for: $0.id)) })
    } catch {
      if save.hasBegun { parent.queue.sync(isErrand: true) { parent.readingFailure = parent.readingFailure ?? error } }
      throw error
    }
    adoptPermanentIDs()
    for position in save.dropped { noteInaccessible(objects[positions[position]]) }
    finishSave(objects)
    for (position, origin) in zip(positions, save.objects) { objects[position].snapshot?.origin = origin }
    let superseded = save.superseded.map { objects[positions[$0]] }
    for object in superseded { object.turnIntoFault(keeping: nil, keepsTransients: true) }
    announce(MergedObjects(refreshed: superseded, deleted: save.dropped.map { objects[positions[$0]] }))
    assignments = [:]
    check.finish()
  }
}

extension NSManagedObject {
  /// Returns the change to pass to the parent; nil if no stored value has changed.
  fileprivate final func changeForParent() -> RowChange? {
    if isInserted { _ = identifier }
    guard isDeleted, isRealized, !isInaccessible, let snapshot else { return rowChange() }
    // Relationships without inverse matter for the parent's deletion rules.
    return RowChange(kind: .delete, id: identifier, old: snapshot, slots: slots, changed: changedStoredSlots())
  }
}
