// OpenCoreData
// SPDX-License-Identifier: Apache-2.0

/// Ends changed relationships of a save to objects whose rows are missing, or which the save deletes.
///
/// Usually the object at the other end is changed too, so that the version of its own row shows what others have done.
/// That is not the case for a fault without a row, or if undo has related an object to one that was deleted elsewhere.
struct MissingDestinations {
  private let context: NSManagedObjectContext
  /// The objects known to exist.
  private var present: Set<ObjectKey> = []
  private var gone: Set<ObjectKey> = []
  private var last: ObjectKey?

  init(in context: NSManagedObjectContext) {
    self.context = context
  }

  /// - Returns: whether any relationship has been ended.
  /// - Throws: the store's errors.
  mutating func forget() throws -> Bool {
    var hasChanged = false
    for object in context.changedInOrder where object.isDecoded && !object.isDeleted {
      let before = gone.count
      let (slots, first) = (object.slots, object.table.firstRelationship)
      // Most new objects have no destinations, or only new ones.
      for position in first..<slots.count where Self.hasDestination(slots[position]) { try check(object, position) }
      guard !gone.isEmpty, gone.count > before || object.leads(to: gone) else { continue }
      object.forgetDestinations { [gone] in gone.contains($0.key) }
      object.noteChange()
      hasChanged = true
    }
    return hasChanged
  }

  private static func hasDestination(_ slot: Slot) -> Bool {
    switch slot {
    case .toOne: true
    case .toMany(let members): !members.isEmpty
    default: false
    }
  }

  private mutating func check(_ object: NSManagedObject, _ position: Int) throws {
    switch object.slots[position] {
    case .toOne(let id):
      let key = id.current.key
      if key == last || present.contains(key) { return }
      if let old = object.snapshot?.slots[position], old.isSame(as: object.slots[position]) { return }
      try check(id.current, object.table.relationship(at: position))
      last = gone.contains(key) ? nil : key
    case .toMany(let members):
      // Members' rows contain the key of a relationship whose inverse is to-one.
      guard let relationship = object.table.relationship(at: position),
        relationship.inverseRelationship?.isToMany == true
      else { return }
      var old = ToMany(isOrdered: relationship.isOrdered)
      if case .toMany(let known)? = object.snapshot?.slots[position] { old = known }
      for id in members.ids where !old.contains(id) && !present.contains(id.current.key) {
        try check(id.current, relationship)
      }
    default: return
    }
  }

  private mutating func check(_ id: NSManagedObjectID, _ relationship: NSRelationshipDescription?) throws {
    guard let inverse = relationship?.inverseRelationship, !id.isTemporaryID else { return }
    let isPresent: Bool
    if let other = context.registry[id.key], context.changed.contains(other) || other.isInaccessible {
      if other.isDeleted, [.denyDeleteRule, .noActionDeleteRule].contains(inverse.deleteRule), !other.isInaccessible {
        return
      }
      isPresent = !other.isDeleted && !other.isInaccessible
    } else {
      isPresent = try context.readingLatest { try context.coordinator.row(for: id, in: context) != nil }
    }
    if isPresent { present.insert(id.key) } else { gone.insert(id.key) }
  }
}
