// OpenCoreData
// SPDX-License-Identifier: Apache-2.0

import Foundation

/// Changes of to-many relationships: the operations of the methods that Xcode declares for them.
extension ManagedProperty {
  /// Adds a member.
  public func add(_ member: NSManagedObject, to object: NSManagedObject) {
    object.insertMember(member, at: access.members(of: object))
  }

  /// Adds members.
  public func add(_ members: NSSet, to object: NSManagedObject) { access.add(members.allObjects, to: object) }

  /// Adds members, in their order.
  public func add(_ members: NSOrderedSet, to object: NSManagedObject) { access.add(members.array, to: object) }

  /// Adds members.
  public func add(_ members: some Sequence<some NSManagedObject>, to object: NSManagedObject) {
    access.add(Array(members), to: object)
  }

  /// Removes a member.
  public func remove(_ member: NSManagedObject, from object: NSManagedObject) {
    object.removeMember(member, at: access.members(of: object))
  }

  /// Removes members.
  public func remove(_ members: NSSet, from object: NSManagedObject) { access.remove(members.allObjects, from: object) }

  /// Removes members.
  public func remove(_ members: NSOrderedSet, from object: NSManagedObject) {
    access.remove(members.array, from: object)
  }

  /// Removes members.
  public func remove(_ members: some Sequence<some NSManagedObject>, from object: NSManagedObject) {
    access.remove(Array(members), from: object)
  }

  /// Inserts a member into an ordered relationship. Traps for an index beyond the end.
  public func insert(_ member: NSManagedObject, at index: Int, in object: NSManagedObject) {
    object.insertMember(member, at: access.orderedMembers(of: object), index: index)
  }

  /// Inserts members into an ordered relationship, each at its index.
  public func insert(_ members: [NSManagedObject], at indexes: NSIndexSet, in object: NSManagedObject) {
    let position = access.orderedMembers(of: object)
    for (member, index) in zip(members, IndexSet(indexes)) { object.insertMember(member, at: position, index: index) }
  }

  /// Removes a member of an ordered relationship by its index.
  public func remove(at index: Int, from object: NSManagedObject) {
    object.removeMember(index, at: access.orderedMembers(of: object))
  }

  /// Removes members of an ordered relationship by their indexes.
  public func remove(at indexes: NSIndexSet, from object: NSManagedObject) {
    let position = access.orderedMembers(of: object)
    for index in IndexSet(indexes).reversed() { object.removeMember(index, at: position) }
  }

  /// Replaces a member of an ordered relationship.
  public func replace(at index: Int, with member: NSManagedObject, in object: NSManagedObject) {
    object.replaceMember(index, with: member, at: access.orderedMembers(of: object))
  }

  /// Replaces members of an ordered relationship, each at its index.
  public func replace(at indexes: NSIndexSet, with members: [NSManagedObject], in object: NSManagedObject) {
    access.orderedSet(of: object).replaceObjects(at: IndexSet(indexes), with: members)
  }
}

extension PropertyAccess {
  /// Returns the position of a to-many relationship in an object.
  fileprivate func members(of object: NSManagedObject) -> Int {
    guard let location = location(in: object), object.table.relationship(at: location.position)?.isToMany == true else {
      // Traps.
      _ = object.mutableSetValue(forKey: name)
      return 0
    }
    return location.position
  }

  /// Returns the position of an ordered relationship in an object.
  fileprivate func orderedMembers(of object: NSManagedObject) -> Int {
    let position = members(of: object)
    // Traps.
    if object.table.relationship(at: position)?.isOrdered != true { _ = orderedSet(of: object) }
    return position
  }

  fileprivate func orderedSet(of object: NSManagedObject) -> NSMutableOrderedSet {
    object.mutableOrderedSetValue(forKey: object.table.names[members(of: object)])
  }

  fileprivate func add(_ members: [Any], to object: NSManagedObject) {
    let position = self.members(of: object)
    for member in members { object.insertMember(member, at: position) }
  }

  fileprivate func remove(_ members: [Any], from object: NSManagedObject) {
    let position = self.members(of: object)
    for member in members { object.removeMember(member, at: position) }
  }
}

extension IndexSet {
  fileprivate init(_ indexes: NSIndexSet) {
    self.init()
    indexes.enumerate({ index, _ in insert(index) })
  }
}
