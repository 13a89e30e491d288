// OpenCoreData
// SPDX-License-Identifier: Apache-2.0

import Foundation

extension NSManagedObjectContext {
  /// Follows the deletion rules of objects deleted since the last call, and closes the current event: what
  /// `changedValuesForCurrentEvent()` compares with is taken anew.
  public func processPendingChanges() {
    propagateDeletions()
    for object in changed.values where object.isRealized {
      object.slotsAtEventStart = object.slots
    }
  }

  private func propagateDeletions() {
    while !unprocessedDeletions.isEmpty {
      let object = unprocessedDeletions.removeFirst()
      guard object.context === self else { continue }
      object.realize()
      for position in object.table.firstRelationship..<object.table.count {
        guard let relationship = object.table.relationship(at: position) else { continue }
        propagateDeletion(of: object, at: position, relationship)
      }
    }
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
