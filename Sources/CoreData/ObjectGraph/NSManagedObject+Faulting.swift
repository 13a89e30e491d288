// OpenCoreData
// SPDX-License-Identifier: Apache-2.0

import Foundation

extension NSManagedObject {
  /// Fires the fault, that is reads its row; does nothing for an object that has its values.
  ///
  /// A fault whose row is gone or cannot be read becomes a deleted object without values, as on Apple's systems with
  /// `shouldDeleteInaccessibleFaults`. If that is off, a row that is gone stops the program. The next `save()` throws
  /// the error of a row that cannot be read. A fault without a context becomes an object without values.
  final func realize() {
    if isRealized { return }
    guard let context else { return loseValues() }
    if snapshot == nil { snapshot = context.readRow(for: self) }
    guard let snapshot else {
      guard context.shouldDeleteInaccessibleFaults || context.readingFailure != nil else {
        preconditionFailure("Core Data could not fulfill a fault for \(identifier): its row is not in the store.")
      }
      loseValues()
      context.noteInaccessible(self)
      return
    }
    slots = snapshot.slots
    isRealized = true
    awakeFromFetch()
  }

  /// Turns a fault without a row into an object without values.
  final func loseValues() {
    slots = table.properties.indices.map { position in
      guard let relationship = table.relationship(at: position), relationship.isToMany else { return .null }
      return .toMany(ToMany(isOrdered: relationship.isOrdered))
    }
    isRealized = true
  }

  /// Turns the object into a fault.
  ///
  /// - Parameter row: the row to take the values from when the fault fires; nil to read it then.
  final func turnIntoFault(keeping row: RowSnapshot?) {
    guard isRealized else {
      snapshot = row
      return
    }
    willTurnIntoFault()
    slots = []
    isRealized = false
    snapshot = row
    slotsAtEventStart = nil
    holds?.release()
    holds?.outdate()
    didTurnIntoFault()
  }

  /// Reads the members of a to-many relationship, unless they have been read.
  final func readRelationship(at position: Int) {
    guard let relationship = table.relationship(at: position), case .unread = slots[position] else { return }
    guard let context, !hasTemporaryID else {
      slots[position] = relationship.isToMany ? .toMany(ToMany(isOrdered: relationship.isOrdered)) : .null
      return
    }
    // Members that cannot be read count as none in the slot and in the snapshot, so that no save removes them.
    let members = context.readMembers(of: relationship, for: self) ?? []
    let read = Slot.toMany(ToMany(members, isOrdered: relationship.isOrdered))
    slots[position] = read
    snapshot?.slots[position] = read
  }

  /// Returns whether a relationship is a fault: its members have not been read.
  ///
  /// - Parameter key: the relationship's name.
  public final func hasFault(forRelationshipNamed key: String) -> Bool {
    let position = position(of: key)
    guard isRealized else { return true }
    if case .unread = slots[position] { return true }
    return false
  }

  /// Returns the identifiers of a relationship's members, without making objects.
  ///
  /// - Parameter key: the relationship's name.
  public final func objectIDs(forRelationshipNamed key: String) -> [NSManagedObjectID] {
    let position = position(of: key)
    realize()
    readRelationship(at: position)
    switch slots[position] {
    case .toOne(let id): return [id.current]
    case .toMany(let members): return members.ids.map(\.current)
    default: return []
    }
  }

  /// Executes the request of a fetched property, with this object as `$FETCH_SOURCE`.
  final func fetchedValues(of property: NSFetchedPropertyDescription) -> [Any] {
    guard let context, let request = property.fetchRequest else { return [] }
    var specification = request.specification
    specification.predicate = specification.predicate?.withSubstitutionVariables([
      "FETCH_SOURCE": self, "FETCHED_PROPERTY": property,
    ])
    return context.fetchedObjects(specification)
  }
}
