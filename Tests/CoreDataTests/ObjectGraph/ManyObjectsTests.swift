// OpenCoreData
// SPDX-License-Identifier: Apache-2.0

import CoreDataSQLite
import CoreDataTestSupport
import Foundation
import Testing

@testable import CoreData

@Suite("Relationships of many objects at once")
struct ManyObjectsTests {
  private final class Statements: @unchecked Sendable {
    var count = 0
  }

  /// People with every kind of to-many relationship, half of them of a sub-entity.
  private static func model() -> NSManagedObjectModel {
    var builder = ModelBuilder()
    builder.entity("Person", [.make("name", .stringAttributeType)])
    builder.entity("Manager", parent: "Person")
    builder.entity("Pet", [.make("name", .stringAttributeType)])
    builder.entity("Club", [.make("name", .stringAttributeType)])
    builder.relate(
      .init("Person", "pets", toMany: true, ordered: true, rule: .cascadeDeleteRule), .init("Pet", "owner"))
    builder.relate(.init("Person", "clubs", toMany: true), .init("Club", "members", toMany: true, ordered: true))
    builder.relate(.init("Person", "friends", toMany: true), .init("Person", "friendOf", toMany: true))
    builder.point(.init("Person", "seen", toMany: true), to: "Pet")
    return builder.model()
  }

  private static let relationships = ["pets", "clubs", "friends", "friendOf", "seen"]

  private func filled(count: Int) throws -> TemporaryStore {
    let store = try TemporaryStore()
    let context = try store.context(Self.model())
    var random = SeededGenerator(seed: 11)
    let people = (0..<count).map { context.make($0 % 2 == 0 ? "Person" : "Manager", ["name": "p\($0)"]) }
    let clubs = (0..<7).map { context.make("Club", ["name": "c\($0)"]) }
    let pets = (0..<count * 2).map { context.make("Pet", ["name": "t\($0)"]) }
    for (number, person) in people.enumerated() where number % 5 != 0 {
      let own = pets[(number * 2)..<(number * 2 + Int.random(in: 0...2, using: &random))].reversed()
      person.setValue(NSOrderedSet(array: Array(own)), forKey: "pets")
      person.setValue(NSSet(array: clubs.filter { _ in Bool.random(using: &random) }), forKey: "clubs")
      person.setValue(NSSet(array: [people[(number * 7) % count], people[(number + 1) % count]]), forKey: "friends")
    }
    people[1].setValue(NSSet(array: Array(pets.prefix(3))), forKey: "seen")
    try context.save()
    try store.close()
    return store
  }

  /// The members of all relationships by name, in their order where they have one.
  private func members(_ people: [NSManagedObject]) -> [String: [String]] {
    var result: [String: [String]] = [:]
    for person in people {
      for key in Self.relationships {
        let names: [String]
        if let ordered = person.value(forKey: key) as? NSOrderedSet {
          names = ordered.array.compactMap { ($0 as? NSManagedObject)?.value(forKey: "name") as? String }
        } else {
          let set = person.value(forKey: key) as? Set<NSManagedObject> ?? []
          names = set.compactMap { $0.value(forKey: "name") as? String }.sorted()
        }
        result["\(person.value(forKey: "name") as? String ?? "").\(key)"] = names
      }
    }
    return result
  }

  @Test("Prefetching to-many relationships gives the members that reading them one by one gives, with few statements")
  func prefetching() throws {
    // More than one query asks for.
    let store = try filled(count: 700)
    let lazily = try store.context(Self.model())
    let expected = members(try lazily.all("Person"))
    #expect(expected.values.contains { $0.count == 2 } && expected.count == 3500)
    try store.close()
    let context = try store.context(Self.model())
    let sqlite = try #require(context.persistentStoreCoordinator?.persistentStores.first as? SQLiteStore)
    let statements = Statements()
    // One connection sees all statements.
    sqlite.connections.pause()
    try sqlite.state().connection.setTrace { _ in statements.count += 1 }
    let request = NSFetchRequest<NSManagedObject>(entityName: "Person")
    request.relationshipKeyPathsForPrefetching = Self.relationships
    let people = try context.fetch(request)
    #expect(statements.count <= 60, "\(statements.count) statements")
    statements.count = 0
    #expect(members(people) == expected)
    #expect(statements.count == 0)
  }

  @Test("Deleting many objects cascades and nullifies as deleting them one by one", arguments: [1, 300])
  func deletion(atOnce: Int) throws {
    let store = try filled(count: 300)
    let context = try store.context(Self.model())
    let people = try context.all("Person")
    let gone = people.enumerated().filter { $0.offset % 3 == 0 }.map(\.element)
    let names = Set(gone.compactMap { $0.value(forKey: "name") as? String })
    let before = members(people)
    for start in stride(from: 0, to: gone.count, by: atOnce) {
      for object in gone[start..<min(start + atOnce, gone.count)] { context.delete(object) }
      context.processPendingChanges()
    }
    try context.save()
    try store.close()
    let after = try store.context(Self.model())
    var expected: [String: [String]] = [:]
    for (key, members) in before where !names.contains(String(key.prefix { $0 != "." })) {
      let isOfPeople = key.hasSuffix(".friends") || key.hasSuffix(".friendOf")
      expected[key] = isOfPeople ? members.filter { !names.contains($0) } : members
    }
    // Pets that are deleted with their owners are no longer seen.
    let pets = Set(try after.all("Pet").compactMap { $0.value(forKey: "name") as? String })
    let deletedPets = Set(names.flatMap { before["\($0).pets"] ?? [] })
    #expect(pets.isDisjoint(with: deletedPets) && pets.count == 600 - deletedPets.count)
    for key in expected.keys where key.hasSuffix(".seen") { expected[key]?.removeAll { !pets.contains($0) } }
    #expect(members(try after.all("Person")) == expected)
    for club in try after.all("Club") {
      let list = (club.value(forKey: "members") as? NSOrderedSet)?.array as? [NSManagedObject] ?? []
      #expect(list.allSatisfy { !names.contains($0.value(forKey: "name") as? String ?? "") })
    }
    try store.close()
    try StoreChecks.check(store.url, Self.model())
  }

  @Test("Deleting many objects reads what they are related to with few statements")
  func statementsOfDeletion() throws {
    let store = try filled(count: 300)
    let context = try store.context(Self.model())
    let pets = try context.all("Pet")
    let sqlite = try #require(context.persistentStoreCoordinator?.persistentStores.first as? SQLiteStore)
    let statements = Statements()
    // One connection sees all statements.
    sqlite.connections.pause()
    try sqlite.state().connection.setTrace { _ in statements.count += 1 }
    for pet in pets { context.delete(pet) }
    context.processPendingChanges()
    #expect(statements.count > 0 && statements.count <= 12, "\(statements.count) statements")
  }

  @Test("Members that have been prefetched can be changed", arguments: [3, 20])
  func changingPrefetched(count: Int) throws {
    let store = try TemporaryStore()
    var context = try store.context(Self.model())
    var (owner, other) = (context.make("Person", ["name": "a"]), context.make("Person", ["name": "b"]))
    let pets = (0..<count).map { context.make("Pet", ["name": "\($0 + 10)"]) }
    owner["pets"] = NSOrderedSet(array: pets)
    owner["seen"] = NSSet(array: pets)
    try context.save()
    try store.close()
    context = try store.context(Self.model())
    let request = NSFetchRequest<NSManagedObject>(entityName: "Person")
    request.relationshipKeyPathsForPrefetching = ["pets.owner", "seen"]
    request.sortDescriptors = [NSSortDescriptor(key: "name", ascending: true)]
    let people = try context.fetch(request)
    (owner, other) = (people[0], people[1])
    let read = try #require((owner["pets"] as? NSOrderedSet)?.array as? [NSManagedObject])
    #expect(read.map { $0["name"] as? String } == (0..<count).map { "\($0 + 10)" })
    #expect(owner.objectIDs(forRelationshipNamed: "seen").count == count)
    let seen = owner.mutableSetValue(forKey: "seen")
    #expect(seen.contains(read[1]) && !seen.contains(owner))
    seen.remove(read[0])
    read[1]["owner"] = other
    let new = context.make("Pet", ["name": "99"])
    seen.add(new)
    owner.mutableOrderedSetValue(forKey: "pets").insert(new, at: 0)
    #expect(owner.changedValues().keys.sorted() == ["pets", "seen"])
    try context.save()
    try store.close()
    let after = try store.context(Self.model())
    let found = try #require(try after.all("Person").first)
    let names = { (members: [Any]?) in (members ?? []).compactMap { ($0 as? NSManagedObject)?["name"] as? String } }
    #expect(
      names((found["pets"] as? NSOrderedSet)?.array)
        == ["99"] + (0..<count).filter { $0 != 1 }.map { "\($0 + 10)" })
    #expect(names((found["seen"] as? NSSet)?.allObjects).sorted() == (1..<count).map { "\($0 + 10)" } + ["99"])
  }

  @Test(
    "Members in a file that another program has written are the same, prefetched or not",
    arguments: [
      "Z_ENT = NULL, Z_OPT = NULL", "Z_ENT = 77", "ZNAME = x'c3ff00'", "ZNAME = 15", "ZOWNER = NULL", "ZOWNER = 99999",
      "ZOWNER = -8", "ZOWNER = x'31'", "ZOWNER = 1.5", "ZOWNER = 'one'", "ZOWNER = ZOWNER || ''", "Z_FOK_OWNER = 'x'",
      "Z_FOK_OWNER = NULL",
    ])
  func foreignMembers(assignment: String) throws {
    let store = try filled(count: 10)
    let connection = try SQLiteConnection(url: store.url, mode: .readWrite)
    try connection.run("UPDATE ZPET SET \(assignment) WHERE ZNAME IN ('t2', 't15')")
    #expect(connection.changes == 2)
    try connection.close()
    func pets(prefetched: Bool) throws -> [[String]] {
      let context = try store.context(Self.model())
      let request = NSFetchRequest<NSManagedObject>(entityName: "Person")
      request.relationshipKeyPathsForPrefetching = prefetched ? ["pets"] : nil
      request.sortDescriptors = [NSSortDescriptor(key: "name", ascending: true)]
      return try context.fetch(request).map { person in
        ((person["pets"] as? NSOrderedSet)?.array ?? []).map { ($0 as? NSManagedObject)?["name"] as? String ?? "none" }
      }
    }
    let found = try pets(prefetched: false)
    #expect(found.contains { $0.count > 0 })
    #expect(try pets(prefetched: true) == found)
  }
}
