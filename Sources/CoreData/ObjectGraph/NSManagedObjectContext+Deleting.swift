// OpenCoreData
// SPDX-License-Identifier: Apache-2.0

import Foundation

extension NSManagedObjectContext {
  /// Follows the deletion rules of objects deleted since the last call, and closes the current event: what
  /// `changedValuesForCurrentEvent()` compares with is taken anew.
  ///
  /// Posts `didChangeObjectsNotification` when anything has changed.
  public func processPendingChanges() {
    propagateDeletions()
    let event = touched
    touched = []
    forgetUnsaved(event.filter { $0.isDeleted && $0.isInserted && $0.context === self })
    var inserted: [NSManagedObject] = []
    var updated: [NSManagedObject] = []
    var deleted: [NSManagedObject] = []
    for object in event {
      let what = object.eventChanges
      object.eventChanges = []
      if what.contains(.deleted) {
        if what.contains(.inserted) { continue }
        deleted.append(object)
      } else if what.contains(.inserted) {
        inserted.append(object)
      } else if what.contains(.updated) {
        updated.append(object)
      } else {
        continue
      }
      if object.isRealized { object.slotsAtEventStart = object.slots }
    }
    guard postsNotifications else { return }
    let sets = [
      (NSInsertedObjectsKey, inserted), (NSUpdatedObjectsKey, updated), (NSDeletedObjectsKey, deleted),
    ].filter { !$0.1.isEmpty }
    if !sets.isEmpty {
      post(
        NSManagedObjectContext.didChangeObjectsNotification,
        Dictionary(uniqueKeysWithValues: sets.map { ($0.0, Set($0.1)) }))
    }
  }

  /// Forgets objects that were inserted and deleted again: they have no row and need none.
  private func forgetUnsaved(_ objects: [NSManagedObject]) {
    guard !objects.isEmpty else { return }
    var gone: Set<ObjectKey> = []
    for object in objects {
      if let id = object.knownIdentifier { gone.insert(id.key) }
      forgetChanges(of: object)
      registry.remove(object)
    }
    // Relationships without inverse, and those without action, have not been told.
    for object in changed.objects { object.forgetDestinations { gone.contains($0.key) } }
  }

  /// Follows the rules of deleted objects' relationships, and of those that are deleted thereby.
  func propagateDeletions() {
    var next = 0
    while next < unprocessedDeletions.count {
      let object = unprocessedDeletions[next]
      next += 1
      guard object.context === self, object.isDeleted else { continue }
      object.realize()
      for position in object.table.firstRelationship..<object.table.count {
        guard let relationship = object.table.relationship(at: position) else { continue }
        propagateDeletion(of: object, at: position, relationship)
      }
    }
    unprocessedDeletions = []
  }

  private func propagateDeletion(
    of object: NSManagedObject, at position: Int, _ relationship: NSRelationshipDescription
  ) {
    switch relationship.deleteRule {
    case .noActionDeleteRule, .denyDeleteRule:
      return
    case .nullifyDeleteRule:
      // The object keeps its own side, so that `didSave` and notifications can tell what it was related to.
      for destination in object.linkedObjects(at: position) where !destination.isDeleted {
        destination.forgetDeleted(object, of: relationship)
      }
    case .cascadeDeleteRule:
      for destination in object.linkedObjects(at: position) where !destination.isDeleted {
        destination.forgetDeleted(object, of: relationship)
        delete(destination)
      }
    }
  }

  /// The members that forbid an object's deletion: those of relationships with the deny rule that are not deleted too.
  func denyingMembers(of object: NSManagedObject) -> (NSRelationshipDescription, [NSManagedObject])? {
    for position in object.table.firstRelationship..<object.table.count {
      guard let relationship = object.table.relationship(at: position), relationship.deleteRule == .denyDeleteRule
      else {
        continue
      }
      let members = object.linkedObjects(at: position).filter { !$0.isDeleted }
      if !members.isEmpty { return (relationship, members) }
    }
    return nil
  }
}
