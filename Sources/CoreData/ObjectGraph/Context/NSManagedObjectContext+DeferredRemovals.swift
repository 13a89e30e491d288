// OpenCoreData
// SPDX-License-Identifier: Apache-2.0

/// Removals of members from relationships whose members have not been read (`DeferredRemovals`).
extension NSManagedObjectContext {
  /// Whether removals are being deferred.
  var defersRemovals: Bool { ownersLosingMembers != nil }

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
    owner.fireFault()
    return canDeferRemovals(from: owner, at: position)
  }

  private func canDeferRemovals(from owner: NSManagedObject, at position: Int) -> Bool {
    switch owner.state.values {
    case .packed, .removing: break
    case .fault, .edited, .new, .decoded: return false
    }
    let table = owner.table
    guard owner.isUnread(at: position), let relationship = table.relationship(at: position), relationship.isToMany,
      !relationship.isOrdered, !table.isTransient(at: position), relationship.inverseRelationship?.isToMany == false
    else { return false }
    return !table.restricted.contains(position)
  }

  /// Records the removal of a member from a relationship.
  ///
  /// - Returns: false if the member must be removed immediately.
  func deferRemoval(of member: NSManagedObject, from owner: NSManagedObject, at position: Int) -> Bool {
    owner.fireFault()
    // `changedValuesForCurrentEvent()` must distinguish the removals of the last event from those of this one.
    if owner.eventChanges.isEmpty { owner.applyDeferredRemovals() }
    guard canDeferRemovals(from: owner, at: position) else { return false }
    if owner.deferRemoval(of: member, at: position) { ownersLosingMembers?.append(owner) }
    return true
  }

  /// Stops deferring, and applies the removals that a failed save has left.
  func endDeferringRemovals() {
    for owner in ownersLosingMembers ?? [] { owner.applyDeferredRemovals() }
    ownersLosingMembers = nil
  }
}
