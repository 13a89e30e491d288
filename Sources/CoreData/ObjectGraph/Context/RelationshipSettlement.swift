// OpenCoreData
// SPDX-License-Identifier: Apache-2.0

/// Restores the consistency of relationships after a merge policy has resolved conflicts object by object: both ends
/// agree, and no relationship refers to a row that is missing or that the save deletes.
///
/// An object whose row keeps its values, or gets values unknown to the context, may contradict the context's changes of
/// the objects at the other ends, even if none of those is in conflict.
final class RelationshipSettlement {
  /// An object in conflict, in its state before the conflict was resolved.
  struct Conflicting {
    let object: NSManagedObject
    let row: RowSnapshot?
    let wasDeleted: Bool
    /// The values in the context, and the values that these were based on.
    let own: [Slot]
    let base: [Slot]

    init(_ object: NSManagedObject, row: RowSnapshot?) {
      (self.object, self.row, wasDeleted) = (object, row, object.isDeleted)
      base = object.snapshot?.slots ?? []
      own = object.isRealized ? object.slots : base
    }
  }

  private let context: NSManagedObjectContext
  private let policy: NSMergePolicyType
  /// Objects that have lost a destination, and may now be invalid.
  private var cut: [NSManagedObject] = []

  init(in context: NSManagedObjectContext, policy: NSMergePolicyType) {
    (self.context, self.policy) = (context, policy)
  }

  /// - Throws: the store's errors; the errors of validation, for objects that require a missing destination.
  func run(_ conflicts: [Conflicting]) throws {
    try context.throwingReadingFailures {
      forgetGone(conflicts)
      for conflict in conflicts {
        let object = conflict.object
        guard object.context === context, !object.isDeleted else { continue }
        if conflict.row == nil {
          try insertAgain(conflict)
        } else if conflict.wasDeleted {
          try restore(object, own: conflict.own)
        } else {
          if !context.changed.contains(object) { keepMembers(conflict) }
          try settle(conflict)
        }
      }
    }
    for object in cut where context.changed.contains(object) && !object.isDeleted {
      if object.isInserted { try object.validateForInsert() } else { try object.validateForUpdate() }
    }
  }

  /// Removes references of changed objects to objects whose rows others have deleted, as deleting them here would have
  /// done.
  private func forgetGone(_ conflicts: [Conflicting]) {
    let gone = Set(conflicts.filter { $0.object.isInaccessible && !$0.wasDeleted }.map(\.object.key))
    if gone.isEmpty { return }
    for object in context.changedInOrder where !object.isDeleted && object.leads(to: gone) {
      object.forgetDestinations { gone.contains($0.key) }
      cut.append(object)
    }
  }

  // MARK: Rows that others have changed

  /// Updates the other ends of an object's to-one relationships to the values that the policy has chosen.
  private func settle(_ conflict: Conflicting) throws {
    let object = conflict.object
    guard let row = conflict.row else { return }
    for (position, relationship, inverse) in ends(of: object) where !relationship.isToMany {
      let (own, base) = (destination(conflict.own, position), destination(conflict.base, position))
      let stored = destination(row.slots, position)
      let final = destination(object.isRealized ? object.slots : row.slots, position)
      for other in [own, base, stored] {
        guard let other, other.key != final?.key else { continue }
        try unlink(object, from: other, isStored: other.key == stored?.key, relationship, inverse)
      }
      let isKnown = final?.key == stored?.key && own?.key == base?.key
      if let final { try link(object, at: position, to: final, isKnown: isKnown, relationship, inverse) }
    }
  }

  /// Applies others' additions and removals of members to an object whose own changes are discarded.
  private func keepMembers(_ conflict: Conflicting) {
    let object = conflict.object
    for (position, relationship, inverse) in ends(of: object) where relationship.isToMany {
      let (own, base) = (destinations(conflict.own, position), destinations(conflict.base, position))
      let (ownKeys, baseKeys) = (Set(own.map(\.key)), Set(base.map(\.key)))
      for id in own where !baseKeys.contains(id.key) {
        let member = context.object(for: id)
        if isWritten(member), leadsBack(member, inverse, to: object) {
          object.add(member, at: position, of: relationship)
          object.noteChange()
        }
      }
      for id in base where !ownKeys.contains(id.key) {
        let member = context.object(for: id)
        if isWritten(member), !leadsBack(member, inverse, to: object), object.isMember(member, at: position) {
          object.remove(member, at: position, of: relationship)
          object.noteChange()
        }
      }
    }
  }

  private func leadsBack(
    _ member: NSManagedObject, _ inverse: NSRelationshipDescription, to object: NSManagedObject
  ) -> Bool {
    guard !member.isDeleted, !member.isInaccessible else { return false }
    return member.objectIDs(forRelationshipNamed: inverse.name).contains { $0.key == object.key }
  }

  /// Removes an object from the other end of its relationship to `id`, which it no longer has.
  ///
  /// - Parameter isStored: whether the object's row contained the relationship until now.
  private func unlink(
    _ object: NSManagedObject, from id: NSManagedObjectID, isStored: Bool, _ relationship: NSRelationshipDescription,
    _ inverse: NSRelationshipDescription
  ) throws {
    let other = context.object(for: id)
    guard !other.isDeleted, !other.isInaccessible else { return }
    if !isWritten(other) {
      guard isStored, try rebaseOnStoredRow(of: other) else { return }
    }
    guard other.objectIDs(forRelationshipNamed: inverse.name).contains(where: { $0.key == object.key }) else { return }
    other.removeInverse(of: relationship, to: object)
    cut.append(other)
  }

  /// Updates the inverse of a to-one relationship. If there is no destination, clears the relationship.
  ///
  /// - Parameter isKnown: whether the row already had the destination, and the context has not changed it.
  private func link(
    _ object: NSManagedObject, at position: Int, to id: NSManagedObjectID, isKnown: Bool,
    _ relationship: NSRelationshipDescription, _ inverse: NSRelationshipDescription
  ) throws {
    let other = context.object(for: id)
    if other.isInaccessible { return clear(object, at: position) }
    if other.isDeleted { return try leave(object, at: position, other, relationship, inverse) }
    if isKnown, inverse.isToMany || !isWritten(other) { return }
    if !isWritten(other), try !rebaseOnStoredRow(of: other) { return clear(object, at: position) }
    let back = other.objectIDs(forRelationshipNamed: inverse.name)
    if back.contains(where: { $0.key == object.key }) { return }
    if !inverse.isToMany {
      for former in back.map({ context.object(for: $0) }) {
        if !isWritten(former), try !rebaseOnStoredRow(of: former) { continue }
        cut.append(former)
      }
    }
    other.addInverse(of: relationship, to: object)
  }

  /// Ends a relationship to an object that the save deletes. If the policy keeps the stored values, and the remaining
  /// object requires the relationship, keeps the deleted object instead.
  private func leave(
    _ object: NSManagedObject, at position: Int, _ other: NSManagedObject, _ relationship: NSRelationshipDescription,
    _ inverse: NSRelationshipDescription
  ) throws {
    if inverse.deleteRule == .noActionDeleteRule { return }
    if policy == .rollbackMergePolicyType, inverse.deleteRule != .nullifyDeleteRule || !relationship.isOptional {
      guard let row = other.snapshot ?? context.readRow(for: other) else { return clear(object, at: position) }
      let own = other.isRealized ? other.slots : row.slots
      context.forgetChanges(of: other)
      other.turnIntoFault(keeping: row)
      other.holds?.update()
      try restore(other, own: own)
    } else {
      clear(object, at: position)
    }
  }

  private func clear(_ object: NSManagedObject, at position: Int) {
    object.fireFault()
    object.setSlot(.null, at: position)
    object.noteChange()
    object.holds?.update()
    cut.append(object)
  }

  /// Restores the relationships of an object that is not deleted after all, to objects from which its deletion alone
  /// has removed it.
  private func restore(_ object: NSManagedObject, own: [Slot]) throws {
    for (position, relationship, inverse) in ends(of: object) {
      guard relationship.isToMany else {
        guard let id = destination(object.isRealized ? object.slots : object.snapshot?.slots ?? [], position) else {
          continue
        }
        try link(object, at: position, to: id, isKnown: false, relationship, inverse)
        continue
      }
      for id in destinations(own, position) {
        let member = context.object(for: id)
        guard context.changed.contains(member), !member.isDeleted, !member.isInserted, member.isRealized,
          let back = member.table.position(of: inverse.name),
          destinations(member.snapshot?.slots ?? [], back).contains(where: { $0.key == object.key })
        else { continue }
        let current = member.objectIDs(forRelationshipNamed: inverse.name)
        // An object to which the program has assigned another destination keeps that.
        if inverse.isToMany ? current.contains(where: { $0.key == object.key }) : !current.isEmpty { continue }
        member.addInverse(of: relationship, to: object)
      }
    }
  }

  // MARK: Rows that others have deleted

  /// Restores the relationships of an object that is inserted again, to destinations that exist and that others have
  /// not taken meanwhile.
  private func insertAgain(_ conflict: Conflicting) throws {
    let object = conflict.object
    for position in object.table.firstRelationship..<object.table.count {
      guard let relationship = object.table.relationship(at: position), !object.table.isTransient(at: position) else {
        continue
      }
      let known = destinations(conflict.own, position)
      let present = try known.map { context.object(for: $0) }.filter { other in
        if other === object { return true }
        if other.isDeleted || other.isInaccessible { return false }
        return try isWritten(other) || rebaseOnStoredRow(of: other)
      }
      object.setSlot(
        relationship.isToMany ? .toMany(ToMany(isOrdered: relationship.isOrdered)) : .null, at: position)
      for other in present {
        if let inverse = relationship.inverseRelationship, !inverse.isToMany, other !== object {
          let back = other.objectIDs(forRelationshipNamed: inverse.name)
          guard back.allSatisfy({ $0.key == object.key }) else { continue }
        }
        if relationship.isToMany {
          object.add(other, at: position, of: relationship)
        } else {
          object.setDestination(other, at: position, of: relationship)
        }
      }
    }
    object.holds?.update()
    cut.append(object)
  }

  // MARK: Parts

  /// Returns the relationships of an object, with both ends.
  private func ends(
    of object: NSManagedObject
  ) -> [(position: Int, NSRelationshipDescription, inverse: NSRelationshipDescription)] {
    (object.table.firstRelationship..<object.table.count).compactMap { position in
      guard !object.table.isTransient(at: position), let relationship = object.table.relationship(at: position),
        let inverse = relationship.inverseRelationship
      else { return nil }
      return (position, relationship, inverse)
    }
  }

  private func destination(_ slots: [Slot], _ position: Int) -> NSManagedObjectID? {
    destinations(slots, position).first
  }

  private func destinations(_ slots: [Slot], _ position: Int) -> [NSManagedObjectID] {
    guard slots.indices.contains(position) else { return [] }
    switch slots[position] {
    case .toOne(let id): return [id.current]
    case .toMany(let members): return members.ids.map(\.current)
    default: return []
    }
  }

  /// Returns whether the save writes an object's row, and so detects changes in the store.
  private func isWritten(_ object: NSManagedObject) -> Bool {
    context.changed.contains(object)
      && (object.isInserted || object.isDeleted || !object.changedStoredSlots().isEmpty)
  }

  /// Bases an object on its current row, unless the save writes that row.
  ///
  /// - Returns: false if there is no row.
  private func rebaseOnStoredRow(of object: NSManagedObject) throws -> Bool {
    guard let row = try context.coordinator.row(for: object.identifier, in: context) else { return false }
    if object.hasChanges { return context.renew(object, keepingChanges: true) }
    object.turnIntoFault(keeping: row, keepsTransients: true)
    object.holds?.update()
    return true
  }
}
