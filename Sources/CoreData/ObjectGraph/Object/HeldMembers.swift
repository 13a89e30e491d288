// OpenCoreData
// SPDX-License-Identifier: Apache-2.0

import Foundation

/// The members that a to-many relationship was last read as, in the collections that the program has asked for.
///
/// The relationship is read as the same collections until it changes. The objects are held after that too.
final class HeldMembers {
  /// The members that the collections are made of; nil once they have changed.
  private var members: ToMany?
  /// How many objects had left the context when the collections were made. Members among them would be other objects now.
  let withdrawals: Int
  private let isOrdered: Bool
  /// Nil once a set has been made of members without an order.
  private var array: [NSManagedObject]?
  private var knownSet: Set<NSManagedObject>?
  private(set) lazy var objectSet = NSSet(array: objects)
  private(set) lazy var orderedSet = NSOrderedSet(array: objects)
  /// A set of objects of the class that an accessor declares.
  private var knownTypedSet: Any?

  /// Makes an empty collection.
  init() {
    members = nil
    array = []
    isOrdered = true
    withdrawals = 0
  }

  init(_ members: ToMany, _ objects: [NSManagedObject], _ withdrawals: Int) {
    self.members = members
    array = objects
    isOrdered = members.isOrdered
    self.withdrawals = withdrawals
  }

  var objects: [NSManagedObject] {
    if let array { return array }
    let made = Array(knownSet ?? [])
    array = made
    return made
  }

  var set: Set<NSManagedObject> {
    if let knownSet { return knownSet }
    let made = Set(objects)
    knownSet = made
    // Mostly nobody asks for an array too, and each retains the objects.
    if !isOrdered { array = nil }
    return made
  }

  /// Whether these are the members of a relationship.
  func isCopy(of members: ToMany) -> Bool { self.members?.isCopy(of: members) == true }

  /// Notes that the members are about to change.
  func outdate() { members = nil }

  /// Notes that they have not changed after all.
  func renew(_ members: ToMany) { self.members = members }

  /// Returns the members as objects of a class; nil if one of them is of another class.
  func typedSet<Member: NSManagedObject>(of type: Member.Type) -> Set<Member>? {
    // One and the same type.
    if type == NSManagedObject.self { return unsafeBitCast(set, to: Set<Member>.self) }
    // A cast to the type that it has copies nothing; any other would copy the elements.
    if let knownTypedSet, Swift.type(of: knownTypedSet) == Set<Member>.self, let known = knownTypedSet as? Set<Member> {
      return known
    }
    var made = Set<Member>(minimumCapacity: objects.count)
    for object in objects {
      guard let member = object as? Member else { return nil }
      made.insert(member)
    }
    knownTypedSet = made
    return made
  }
}
