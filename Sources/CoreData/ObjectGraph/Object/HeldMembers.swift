// OpenCoreData
// SPDX-License-Identifier: Apache-2.0

import Foundation

/// The members that a to-many relationship had when it was last read, in the collections that the program has asked
/// for.
///
/// Reading the relationship returns the same collections until it changes. The objects are held even after that.
final class HeldMembers {
  /// The members from which the collections were made; nil once they have changed.
  private var members: ToMany?
  /// The registry's `withdrawals` when the collections were made. If it has grown, members may be other objects now.
  let withdrawals: Int
  private let isOrdered: Bool
  /// The members as an array; nil after a set of unordered members has been made.
  private var array: [NSManagedObject]?
  private var knownSet: Set<NSManagedObject>?
  private(set) lazy var objectSet = NSSet(array: objects)
  private(set) lazy var orderedSet = NSOrderedSet(array: objects)
  /// A set of objects of the class declared by an accessor.
  private var knownTypedSet: Any?

  /// Creates an empty collection.
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
    // Usually the array is not requested too, and each collection retains the objects.
    if !isOrdered { array = nil }
    return made
  }

  /// Returns whether these are the members of a relationship.
  func isCopy(of members: ToMany) -> Bool { self.members?.isCopy(of: members) == true }

  /// Records that the members are about to change.
  func outdate() { members = nil }

  /// Records that the members have not changed after all.
  func renew(_ members: ToMany) { self.members = members }

  /// Returns the members as objects of a class; nil if one of them is of another class.
  func typedSet<Member: NSManagedObject>(of type: Member.Type) -> Set<Member>? {
    // The types are identical.
    if type == NSManagedObject.self { return unsafeBitCast(set, to: Set<Member>.self) }
    // A cast to the set's own type copies nothing. Any other would copy the elements.
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
