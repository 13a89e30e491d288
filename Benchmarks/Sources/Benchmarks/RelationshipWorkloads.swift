// OpenCoreData
// SPDX-License-Identifier: Apache-2.0

import CoreData
import Foundation

/// Edits and reads of relationships of objects in memory, compared with Foundation's sets of plain objects.
///
/// The library changes both ends of each relationship, and notes the changes of both objects.
enum RelationshipWorkloads {
  /// The number of members of a relationship.
  private static let memberCount = 10_000
  /// How often the work is repeated, with other objects. Once would take a few milliseconds.
  private static let repetitions = 10
  private static let reads = 1_000_000

  static let all = [
    Workload(name: "to-many, add 10,000", start: .empty, limit: 3.0, library: add, byHand: addByHand),
    Workload(name: "ordered, add 10,000", start: .empty, limit: 3.0, library: addOrdered, byHand: addOrderedByHand),
    Workload(
      name: "ordered, insert 10,000 at 0", start: .empty, limit: 3.0, library: insertFirst, byHand: insertFirstByHand),
    Workload(
      name: "ordered, add 10,000 by its set", start: .empty, limit: 3.0, library: addToLiveSet,
      byHand: addOrderedByHand),
    Workload(
      name: "ordered, remove 10,000 at 0", start: .empty, limit: 3.0, library: removeFirst, byHand: removeFirstByHand),
    Workload(
      name: "to-many, count 1,000,000 times", start: .empty, limit: 3.0, library: count, byHand: countByHand),
    Workload(
      name: "to-many, @count 1,000,000 times", start: .empty, library: countByKeyPath, byHand: countByHand),
  ]

  private static let members = ManagedProperty<NSSet?>("members")
  private static let queue = ManagedProperty<NSOrderedSet?>("queue")

  // MARK: The library

  @Sendable private static func add(_ place: Workload.Place) throws -> Measurement {
    try edit({ owner, member in members.add(member, to: owner) }) { members[$0]?.count == memberCount }
  }

  @Sendable private static func addOrdered(_ place: Workload.Place) throws -> Measurement {
    try edit({ owner, member in queue.add(member, to: owner) }) { queue[$0]?.count == memberCount }
  }

  @Sendable private static func insertFirst(_ place: Workload.Place) throws -> Measurement {
    try edit({ owner, member in queue.insert(member, at: 0, in: owner) }) { queue[$0]?.count == memberCount }
  }

  @Sendable private static func addToLiveSet(_ place: Workload.Place) throws -> Measurement {
    try edit({ owner, member in owner.mutableOrderedSetValue(forKey: "queue").add(member) }) {
      queue[$0]?.count == memberCount
    }
  }

  @Sendable private static func removeFirst(_ place: Workload.Place) throws -> Measurement {
    try edit({ owner, _ in queue.remove(at: 0, from: owner) }, prepare: { owner, all in queue[owner] = all }) {
      queue[$0]?.count == 0
    }
  }

  @Sendable private static func count(_ place: Workload.Place) throws -> Measurement {
    try read { members[$0]?.count ?? 0 }
  }

  @Sendable private static func countByKeyPath(_ place: Workload.Place) throws -> Measurement {
    try read { $0.value(forKeyPath: "members.@count") as? Int ?? 0 }
  }

  /// Makes an edit with each of the members of several owners, one event for each owner.
  private static func edit(
    _ edit: (NSManagedObject, NSManagedObject) -> Void,
    prepare: (NSManagedObject, NSOrderedSet) -> Void = { _, _ in },
    _ isDone: (NSManagedObject) -> Bool
  ) throws -> Measurement {
    try withContext { context, ownerEntity, memberEntity in
      let work = (0..<repetitions).map { _ in
        let all = (0..<memberCount).map { _ in NSManagedObject(entity: memberEntity, insertInto: context) }
        let owner = NSManagedObject(entity: ownerEntity, insertInto: context)
        prepare(owner, NSOrderedSet(array: all))
        return (owner, all)
      }
      context.processPendingChanges()
      let measurement = Measurement.of {
        for (owner, all) in work {
          for member in all { edit(owner, member) }
          context.processPendingChanges()
        }
      }
      try ObjectWorkloads.check(work.allSatisfy { isDone($0.0) })
      return measurement
    }
  }

  private static func read(_ count: (NSManagedObject) -> Int) throws -> Measurement {
    try withContext { context, ownerEntity, memberEntity in
      let owner = NSManagedObject(entity: ownerEntity, insertInto: context)
      let all = (0..<memberCount).map { _ in NSManagedObject(entity: memberEntity, insertInto: context) }
      members.add(all, to: owner)
      var sum = 0
      let measurement = Measurement.of { for _ in 0..<reads { sum += count(owner) } }
      try ObjectWorkloads.check(sum == reads * memberCount)
      return measurement
    }
  }

  private static func withContext(
    _ work: (NSManagedObjectContext, NSEntityDescription, NSEntityDescription) throws -> Measurement
  ) throws -> Measurement {
    let (model, owner, member) = model()
    let coordinator = NSPersistentStoreCoordinator(managedObjectModel: model)
    _ = try coordinator.addPersistentStore(type: .inMemory, at: URL(fileURLWithPath: "/dev/null"))
    let context = NSManagedObjectContext(.privateQueue)
    context.persistentStoreCoordinator = coordinator
    return try context.performAndWait { try work(context, owner, member) }
  }

  /// Owners with members in a set and in an order.
  private static func model() -> (NSManagedObjectModel, owner: NSEntityDescription, member: NSEntityDescription) {
    let (owner, member) = (NSEntityDescription(), NSEntityDescription())
    (owner.name, member.name) = ("Owner", "Member")
    for entity in [owner, member] { entity.managedObjectClassName = "NSManagedObject" }
    func relationship(_ name: String, to destination: NSEntityDescription, isToMany: Bool) -> NSRelationshipDescription
    {
      let relationship = NSRelationshipDescription()
      relationship.name = name
      relationship.destinationEntity = destination
      relationship.isOptional = true
      relationship.minCount = 0
      relationship.maxCount = isToMany ? 0 : 1
      return relationship
    }
    func pair(_ name: String, _ inverse: String) -> (NSRelationshipDescription, NSRelationshipDescription) {
      let many = relationship(name, to: member, isToMany: true)
      let one = relationship(inverse, to: owner, isToMany: false)
      (many.inverseRelationship, one.inverseRelationship) = (one, many)
      return (many, one)
    }
    let (members, membersOwner) = pair("members", "owner")
    let (queue, queueOwner) = pair("queue", "queueOwner")
    queue.isOrdered = true
    owner.properties = [members, queue]
    member.properties = [membersOwner, queueOwner]
    let model = NSManagedObjectModel()
    model.entities = [owner, member]
    return (model, owner, member)
  }

  // MARK: Foundation's sets

  @Sendable private static func addByHand(_ place: Workload.Place) throws -> Measurement {
    try editByHand({ NSMutableSet(array: $0) }) { set, object in set.add(object) }
  }

  @Sendable private static func addOrderedByHand(_ place: Workload.Place) throws -> Measurement {
    try editByHand({ NSMutableOrderedSet(array: $0) }) { set, object in set.add(object) }
  }

  @Sendable private static func insertFirstByHand(_ place: Workload.Place) throws -> Measurement {
    try editByHand({ NSMutableOrderedSet(array: $0) }) { set, object in set.insert(object, at: 0) }
  }

  @Sendable private static func removeFirstByHand(_ place: Workload.Place) throws -> Measurement {
    try editByHand({ NSMutableOrderedSet(array: $0) }, isFull: true) { set, _ in set.removeObject(at: 0) }
  }

  private static func editByHand<Members: NSObject>(
    _ make: ([Any]) -> Members, isFull: Bool = false, _ edit: (Members, NSObject) -> Void
  ) throws -> Measurement {
    let work = (0..<repetitions).map { _ in
      let all = (0..<memberCount).map { _ in NSObject() }
      return (make(isFull ? all : []), all)
    }
    return Measurement.of {
      for (set, all) in work { for object in all { edit(set, object) } }
    }
  }

  @Sendable private static func countByHand(_ place: Workload.Place) throws -> Measurement {
    let set = NSSet(array: (0..<memberCount).map { _ in NSObject() })
    let owner = PlainOwner(set)
    var sum = 0
    let measurement = Measurement.of { for _ in 0..<reads { sum += owner.members?.count ?? 0 } }
    try ObjectWorkloads.check(sum == reads * memberCount)
    return measurement
  }

  /// An object with its set in a property.
  private class PlainOwner {
    var members: NSSet?

    init(_ members: NSSet) { self.members = members }
  }
}
