// OpenCoreData
// SPDX-License-Identifier: Apache-2.0

import Foundation

/// Changes of to-many relationships: the methods that Xcode declares for them.
extension ManagedProperty {
  /// Adds a member.
  public func add(_ member: NSManagedObject, to object: NSManagedObject) { access.change(object) { $0.add(member) } }

  /// Adds members.
  public func add(_ members: NSSet, to object: NSManagedObject) {
    access.change(object) { $0.add(contentsOf: members.allObjects) }
  }

  /// Adds members, in their order.
  public func add(_ members: NSOrderedSet, to object: NSManagedObject) {
    access.change(object) { $0.add(contentsOf: members.array) }
  }

  /// Adds members.
  public func add(_ members: some Sequence<some NSManagedObject>, to object: NSManagedObject) {
    access.change(object) { $0.add(contentsOf: Array(members)) }
  }

  /// Removes a member.
  public func remove(_ member: NSManagedObject, from object: NSManagedObject) {
    access.change(object) { $0.remove(contentsOf: [member]) }
  }

  /// Removes members.
  public func remove(_ members: NSSet, from object: NSManagedObject) {
    access.change(object) { $0.remove(contentsOf: members.allObjects) }
  }

  /// Removes members.
  public func remove(_ members: NSOrderedSet, from object: NSManagedObject) {
    access.change(object) { $0.remove(contentsOf: members.array) }
  }

  /// Removes members.
  public func remove(_ members: some Sequence<some NSManagedObject>, from object: NSManagedObject) {
    access.change(object) { $0.remove(contentsOf: Array(members)) }
  }

  /// Inserts a member into an ordered relationship. An index beyond the end stops the program.
  public func insert(_ member: NSManagedObject, at index: Int, in object: NSManagedObject) {
    access.ordered(object).insert(member, at: index)
  }

  /// Inserts members into an ordered relationship, each at its index.
  public func insert(_ members: [NSManagedObject], at indexes: NSIndexSet, in object: NSManagedObject) {
    access.ordered(object).insert(members, at: IndexSet(indexes))
  }

  /// Removes a member of an ordered relationship by its index.
  public func remove(at index: Int, from object: NSManagedObject) {
    access.ordered(object).removeObject(at: index)
  }

  /// Removes members of an ordered relationship by their indexes.
  public func remove(at indexes: NSIndexSet, from object: NSManagedObject) {
    access.ordered(object).removeObjects(at: IndexSet(indexes))
  }

  /// Replaces a member of an ordered relationship.
  public func replace(at index: Int, with member: NSManagedObject, in object: NSManagedObject) {
    access.ordered(object).replaceObject(at: index, with: member)
  }

  /// Replaces members of an ordered relationship, each at its index.
  public func replace(at indexes: NSIndexSet, with members: [NSManagedObject], in object: NSManagedObject) {
    access.ordered(object).replaceObjects(at: IndexSet(indexes), with: members)
  }
}

extension PropertyAccess {
  fileprivate func ordered(_ object: NSManagedObject) -> NSMutableOrderedSet {
    object.mutableOrderedSetValue(forKey: key(in: object))
  }

  /// The name of the property in the model.
  private func key(in object: NSManagedObject) -> String {
    place(in: object).map { object.table.names[$0.position] } ?? name
  }

  fileprivate func change(_ object: NSManagedObject, _ body: (any LiveMembers) -> Void) {
    let key = key(in: object)
    let isOrdered = object.entity.relationshipsByName[key]?.isOrdered == true
    body(isOrdered ? object.mutableOrderedSetValue(forKey: key) : object.mutableSetValue(forKey: key))
  }
}

extension IndexSet {
  fileprivate init(_ indexes: NSIndexSet) {
    self.init()
    indexes.enumerate({ index, _ in insert(index) })
  }
}

/// A live set of members, ordered or not.
private protocol LiveMembers {
  func add(_ member: Any)
  func add(contentsOf members: [Any])
  func remove(contentsOf members: [Any])
}

extension NSMutableSet: LiveMembers {
  fileprivate func add(contentsOf members: [Any]) { addObjects(from: members) }
  fileprivate func remove(contentsOf members: [Any]) { for member in members { remove(member) } }
}

extension NSMutableOrderedSet: LiveMembers {
  fileprivate func add(contentsOf members: [Any]) { addObjects(from: members) }
  fileprivate func remove(contentsOf members: [Any]) { removeObjects(in: members) }
}
