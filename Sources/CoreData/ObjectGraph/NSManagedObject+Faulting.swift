// OpenCoreData
// SPDX-License-Identifier: Apache-2.0

import Foundation

extension NSManagedObject {
  /// Reads the values of a fault; does nothing for an object that has its values.
  ///
  /// A fault whose row is gone, or cannot be read, becomes an object without values, marked as deleted, as Apple's framework
  /// does with `shouldDeleteInaccessibleFaults`. With that off a row that is gone stops the program, since there is no value
  /// to give; one that cannot be read is told by the next `save()` either way. A fault whose context is gone, or was reset,
  /// becomes an object without values too.
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

  /// Makes an object without values of a fault that has no row.
  final func loseValues() {
    slots = table.properties.indices.map { position in
      guard let relationship = table.relationship(at: position), relationship.isToMany else { return .null }
      return .toMany(ToMany(isOrdered: relationship.isOrdered))
    }
    isRealized = true
  }

  /// Takes the object's values away, so that they are read anew when they are needed.
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

  /// Reads the members of a to-many relationship.
  final func readRelationship(at position: Int) {
    guard let relationship = table.relationship(at: position), case .unread = slots[position] else { return }
    guard let context, !hasTemporaryID else {
      slots[position] = relationship.isToMany ? .toMany(ToMany(isOrdered: relationship.isOrdered)) : .null
      return
    }
    // Members that cannot be read count as none, on both sides of the comparison, so that no save removes them.
    let members = context.readMembers(of: relationship, for: self) ?? []
    let read = Slot.toMany(ToMany(members, isOrdered: relationship.isOrdered))
    slots[position] = read
    snapshot?.slots[position] = read
  }

  /// Whether a relationship's members have not been read yet.
  ///
  /// - Parameter key: the relationship's name.
  public final func hasFault(forRelationshipNamed key: String) -> Bool {
    let position = position(of: key)
    guard isRealized else { return true }
    if case .unread = slots[position] { return true }
    return false
  }

  /// The identifiers of a relationship's members, without making objects of them.
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

  /// The objects of a fetched property: its request carried out now, with this object as `$FETCH_SOURCE`.
  final func fetchedValues(of property: NSFetchedPropertyDescription) -> [Any] {
    guard let context, let request = property.fetchRequest else { return [] }
    var specification = request.specification
    specification.predicate = specification.predicate?.withSubstitutionVariables([
      "FETCH_SOURCE": self, "FETCHED_PROPERTY": property,
    ])
    return context.fetchedObjects(specification)
  }
}
