// OpenCoreData
// SPDX-License-Identifier: Apache-2.0

/// The members that have left an object's to-many relationships, whose members have not been read.
///
/// The deletion of an object changes the relationships that lead to it, so that the versions of their owners' rows grow. A
/// store that keeps the members' side needs no more than that, and reading all members of every owner, only to remove one,
/// would take most of the time of a save. So a save notes what to remove. Whatever looks at the owner's values meanwhile has
/// the members read and removed first: see `NSManagedObject.slots`.
struct DeferredRemovals {
  let owner: NSManagedObject
  fileprivate(set) var members: [(position: Int, member: NSManagedObject)] = []
}

extension NSManagedObjectContext {
  /// Whether removals are being deferred.
  var defersRemovals: Bool { deferredRemovals != nil }

  /// Whether a save may defer removals: all its stores keep a relationship to many in the rows of its members, and nobody
  /// needs the values before the change.
  var mayDeferRemovals: Bool {
    guard parent == nil, !family.isNested, undoManager == nil, postsNotifications, !unprocessedDeletions.isEmpty else {
      return false
    }
    return persistentStoreCoordinator?.persistentStores.allSatisfy { $0 is SQLiteStore } == true
  }

  /// Whether members that leave an object's relationship are only noted.
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

  /// Notes that a member leaves a relationship.
  ///
  /// - Returns: false if the member must be removed at once.
  func deferRemoval(of member: NSManagedObject, from owner: NSManagedObject, at position: Int) -> Bool {
    owner.realize()
    guard canDeferRemovals(from: owner, at: position) else { return false }
    if owner.hasDeferredRemovals, owner.eventChanges.isEmpty {
      // `changedValuesForCurrentEvent()` must tell the removals of the last event from those of this one.
      _ = owner.slots
      return false
    }
    owner.hasDeferredRemovals = true
    deferredRemovals?[ObjectIdentifier(owner), default: DeferredRemovals(owner: owner)].members.append(
      (position, member))
    return true
  }

  /// The relationships that members have left.
  func relationshipsWithDeferredRemovals(of owner: NSManagedObject) -> SlotSet {
    SlotSet((deferredRemovals?[ObjectIdentifier(owner)]?.members ?? []).map(\.position))
  }

  /// Reads the members of an object's relationships, and removes those that have left.
  func removeDeferred(from owner: NSManagedObject) {
    guard let removals = deferredRemovals?.removeValue(forKey: ObjectIdentifier(owner)) else { return }
    for (position, member) in removals.members {
      owner.readRelationship(at: position)
      owner.removeUnnoted(member, at: position)
    }
    // The event in which they left has ended.
    if owner.eventChanges.isEmpty { owner.slotsAtEventStart = owner.slots }
  }

  /// Ends the deferring. What a failed save has left is removed.
  func endDeferringRemovals() {
    for removals in (deferredRemovals ?? [:]).values where removals.owner.hasDeferredRemovals {
      _ = removals.owner.slots
    }
    deferredRemovals = nil
  }
}
