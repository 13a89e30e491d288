// OpenCoreData
// SPDX-License-Identifier: Apache-2.0

import Foundation

extension NSManagedObject {
  /// A set that changes the to-many relationship when it is changed.
  ///
  /// - Parameter key: the name of an unordered to-many relationship.
  public final func mutableSetValue(forKey key: String) -> NSMutableSet {
    RelationshipSet(self, toMany(key, ordered: false))
  }

  /// An ordered set that changes the to-many relationship when it is changed.
  ///
  /// - Parameter key: the name of an ordered to-many relationship.
  public final func mutableOrderedSetValue(forKey key: String) -> NSMutableOrderedSet {
    RelationshipOrderedSet(self, toMany(key, ordered: true))
  }

  private func toMany(_ key: String, ordered: Bool) -> Int {
    let position = position(of: key)
    guard let relationship = table.relationship(at: position), relationship.isToMany, relationship.isOrdered == ordered
    else {
      preconditionFailure(
        "\(key) of \(entity.name ?? "") is not \(ordered ? "an ordered" : "an unordered") to-many relationship.")
    }
    return position
  }

  /// Whether an object is in a to-many relationship.
  final func isMember(_ object: NSManagedObject, at position: Int) -> Bool {
    realize()
    readRelationship(at: position)
    guard object.context === context, case .toMany(let members) = slots[position] else { return false }
    return members.contains(object.identifier)
  }

  /// The members of a to-many relationship as objects.
  final func memberObjects(at position: Int) -> [NSManagedObject] {
    heldMembers(at: position)
  }

  final func insertMember(_ member: Any, at position: Int) {
    guard let object = member as? NSManagedObject, let relationship = table.relationship(at: position) else {
      preconditionFailure("The relationship \(table.names[position]) holds managed objects, not \(type(of: member)).")
    }
    Misuse.stop { try check(object, for: relationship) }
    willChangeValue(forKey: table.names[position])
    add(object, at: position, of: relationship)
    didChangeValue(forKey: table.names[position])
  }

  final func removeMember(_ member: Any, at position: Int) {
    guard let object = member as? NSManagedObject, let relationship = table.relationship(at: position) else { return }
    willChangeValue(forKey: table.names[position])
    remove(object, at: position, of: relationship)
    didChangeValue(forKey: table.names[position])
  }
}

/// The live set behind `mutableSetValue(forKey:)`.
private final class RelationshipSet: NSMutableSet {
  private let owner: NSManagedObject
  private let position: Int

  init(_ owner: NSManagedObject, _ position: Int) {
    self.owner = owner
    self.position = position
    super.init(capacity: 0)
  }

  required init?(coder: NSCoder) {
    preconditionFailure("A relationship's set is not archived by itself.")
  }

  required convenience init(capacity: Int) {
    preconditionFailure("A relationship's set is made by mutableSetValue(forKey:).")
  }

  override var count: Int { owner.objectIDs(forRelationshipNamed: owner.table.names[position]).count }

  override func member(_ object: Any) -> Any? {
    guard let object = object as? NSManagedObject, owner.isMember(object, at: position) else { return nil }
    return object
  }

  override func objectEnumerator() -> NSEnumerator {
    NSArray(array: owner.memberObjects(at: position)).objectEnumerator()
  }

  override var allObjects: [Any] { owner.memberObjects(at: position) }

  override func add(_ object: Any) {
    owner.insertMember(object, at: position)
  }

  override func remove(_ object: Any) {
    owner.removeMember(object, at: position)
  }

  override func removeAllObjects() {
    for object in owner.memberObjects(at: position) { owner.removeMember(object, at: position) }
  }

  override func copy(with zone: NSZone? = nil) -> Any { NSSet(array: allObjects) }

  override func mutableCopy(with zone: NSZone? = nil) -> Any { NSMutableSet(array: allObjects) }
}
