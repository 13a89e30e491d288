// OpenCoreData
// SPDX-License-Identifier: Apache-2.0

/// Members removed from an object's to-many relationships whose members have not been read.
///
/// Deleting an object changes the relationships that refer to it, and increments the versions of their owners' rows. If
/// the store keeps the relationship in the members' rows, nothing else is needed. Reading all members of every owner,
/// only to remove one, would take most of the time of a save. So a save records the removals. Reading the owner's
/// values first faults in the members and applies pending removals: see `NSManagedObject.slots`.
struct DeferredRemovals {
  let owner: NSManagedObject
  fileprivate(set) var members: [(position: Int, member: NSManagedObject)] = []
}

extension NSManagedObjectContext {
  /// Whether removals are being deferred.
  var defersRemovals: Bool { deferredRemovals != nil }

  /// Whether a save may defer removals: all its stores keep to-many relationships in the rows of their members, and no
  /// values from before the change are needed.
  var mayDeferRemovals: Bool {
    guard parent == nil, !family.isNested, undoManager == nil, postsNotifications, !unprocessedDeletions.isEmpty else {
      return false
    }
    return persistentStoreCoordinator?.persistentStores.allSatisfy { $0 is SQLiteStore } == true
  }

  /// Returns whether members removed from an object's relationship are only recorded.
  func defersRemovals(from owner: NSManagedObject, at name: String) -> Bool {
    guard defersRemovals, let position = owner.table.position(of: name) else { return false }
    owner.realize()
    return canDeferRemovals(from: owner, at: position)
  }

  private func canDeferRemovals(from owner: NSManagedObject, at position: Int) -> Bool {
    let table = owner.table
    guard owner.isPacked, owner.packedChanges.isEmpty, owner.isUnread(at: position),
      let relationship = table.relationship(at: position),
      relationship.isToMany, !relationship.isOrdered, !table.isTransient(at: position),
      relationship.inverseRelationship?.isToMany == false, !table.restricted.contains(position)
    else { return false }
    return true
  }

  /// Records the removal of a member from a relationship.
  ///
  /// - Returns: false if the member must be removed immediately.
  func deferRemoval(of member: NSManagedObject, from owner: NSManagedObject, at position: Int) -> Bool {
    owner.realize()
    guard canDeferRemovals(from: owner, at: position) else { return false }
    if owner.hasDeferredRemovals, owner.eventChanges.isEmpty {
      // `changedValuesForCurrentEvent()` must distinguish the removals of the last event from those of this one.
      _ = owner.slots
      return false
    }
    owner.hasDeferredRemovals = true
    deferredRemovals?[ObjectIdentifier(owner), default: DeferredRemovals(owner: owner)].members.append(
      (position, member))
    return true
  }

  /// Returns the relationships with deferred removals.
  func relationshipsWithDeferredRemovals(of owner: NSManagedObject) -> SlotSet {
    SlotSet((deferredRemovals?[ObjectIdentifier(owner)]?.members ?? []).map(\.position))
  }

  /// Reads the members of an object's relationships, and applies the deferred removals.
  func removeDeferred(from owner: NSManagedObject) {
    guard let removals = deferredRemovals?.removeValue(forKey: ObjectIdentifier(owner)) else { return }
    for (position, member) in removals.members {
      owner.readRelationship(at: position)
      owner.removeUnnoted(member, at: position)
    }
    // The event of the removals has ended.
    if owner.eventChanges.isEmpty { owner.slotsAtEventStart = owner.slots }
  }

  /// Stops deferring, and applies the removals that a failed save has left.
  func endDeferringRemovals() {
    for removals in (deferredRemovals ?? [:]).values where removals.owner.hasDeferredRemovals {
      _ = removals.owner.slots
    }
    deferredRemovals = nil
  }
}
