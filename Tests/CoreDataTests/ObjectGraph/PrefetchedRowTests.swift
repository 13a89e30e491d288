// OpenCoreData
// SPDX-License-Identifier: Apache-2.0

import CoreDataSQLite
import CoreDataTestSupport
import Foundation
import Testing

@testable import CoreData

/// Rows of members that a fetch has read ahead: which values the members' objects get.
@Suite("Prefetched rows of members")
struct PrefetchedRowTests {
  private static func model() -> NSManagedObjectModel {
    var builder = ModelBuilder()
    builder.entity("Person", [.make("name", .stringAttributeType)])
    builder.entity("Pet", [.make("name", .stringAttributeType)])
    builder.relate(.init("Person", "pets", toMany: true), .init("Pet", "owner"))
    return builder.model()
  }

  /// Two people with three pets each.
  private func filled() throws -> TemporaryStore {
    let store = try TemporaryStore()
    let context = try store.context(Self.model())
    for person in ["a", "b"] {
      let owner = context.make("Person", ["name": person])
      owner["pets"] = NSSet(array: (0..<3).map { context.make("Pet", ["name": "\(person)\($0)"]) })
    }
    try context.save()
    try store.close()
    return store
  }

  /// The people, by their names, with the rows of their pets.
  private func people(_ context: NSManagedObjectContext) throws -> [NSManagedObject] {
    let request = NSFetchRequest<NSManagedObject>(entityName: "Person")
    request.relationshipKeyPathsForPrefetching = ["pets"]
    request.sortDescriptors = [NSSortDescriptor(key: "name", ascending: true)]
    return try context.fetch(request)
  }

  /// Renames all pets, which objects with rows that were read before do not see.
  private func renamePets(_ store: TemporaryStore) throws {
    let connection = try SQLiteConnection(url: store.url, mode: .readWrite)
    try connection.run("UPDATE ZPET SET ZNAME = 'renamed'")
    try connection.close()
  }

  private func names(_ owner: NSManagedObject) -> [String] {
    (owner["pets"] as? Set<NSManagedObject> ?? []).compactMap { $0["name"] as? String }.sorted()
  }

  @Test("Members that are read later have the values that were prefetched")
  func laterReads() throws {
    let store = try filled()
    let people = try people(store.context(Self.model()))
    try renamePets(store)
    #expect(people.map(names) == [["a0", "a1", "a2"], ["b0", "b1", "b2"]])
  }

  @Test("So have those of a relationship that has changed before, added and removed members aside")
  func changedRelationship() throws {
    let store = try filled()
    let context = try store.context(Self.model())
    let people = try people(context)
    try renamePets(store)
    let new = context.make("Pet", ["name": "new"])
    new["owner"] = people[0]
    #expect(names(people[0]) == ["a0", "a1", "a2", "new"])
    new["owner"] = people[1]
    #expect(people.map(names) == [["a0", "a1", "a2"], ["b0", "b1", "b2", "new"]])
  }

  @Test("A fault that the program has gets the prefetched row")
  func knownFault() throws {
    let store = try filled()
    let context = try store.context(Self.model())
    let request = NSFetchRequest<NSManagedObject>(entityName: "Pet")
    request.includesPropertyValues = false
    request.predicate = NSPredicate(format: "name == 'b1'")
    let pet = try #require(try context.fetch(request).first)
    let people = try people(context)
    try renamePets(store)
    #expect(pet["name"] as? String == "b1")
    #expect((people[1]["pets"] as? NSSet)?.contains(pet) == true)
  }

  @Test("A refresh, a save and a rollback forget rows that have been read ahead", arguments: 0..<3)
  func forgetting(way: Int) throws {
    let store = try filled()
    let context = try store.context(Self.model())
    let people = try people(context)
    try renamePets(store)
    switch way {
    case 0: context.refresh(context.make("Person", [:]), mergeChanges: false)
    case 1: context.rollback()
    default:
      people[0]["name"] = "c"
      try context.save()
    }
    if way == 0 { context.refresh(people[0], mergeChanges: false) }
    #expect(names(people[1]) == ["renamed", "renamed", "renamed"])
  }

  @Test("A child context reads the members of its parent's objects, not the rows that the parent has prefetched")
  func child() throws {
    let store = try filled()
    let parent = NSManagedObjectContext(.privateQueue)
    parent.persistentStoreCoordinator = try store.context(Self.model()).persistentStoreCoordinator
    try parent.performAndWait {
      let owner = try people(parent)[0]
      #expect(owner.objectIDs(forRelationshipNamed: "pets").count == 3)
      for id in owner.objectIDs(forRelationshipNamed: "pets") { parent.object(with: id)["name"] = "unsaved" }
      let child = NSManagedObjectContext(.privateQueue)
      child.parent = parent
      try child.performAndWait {
        let found = try child.existingObject(with: owner.objectID)
        #expect(names(found) == ["unsaved", "unsaved", "unsaved"])
      }
    }
  }

  @Test("The members of a relationship are a set that casts to every kind of set")
  func forms() throws {
    let store = try filled()
    let context = try store.context(Self.model())
    let owner = try people(context)[0]
    let pets = try context.all("Pet").filter { $0["owner"] as? NSManagedObject == owner }
    let value = owner.value(forKey: "pets")
    #expect(pets.count == 3 && value as? Set<NSManagedObject> == Set(pets))
    #expect(value as? NSSet == NSSet(array: pets) && value as? NSObject == NSSet(array: pets))
    #expect(owner.primitiveValue(forKey: "pets") as? NSSet == NSSet(array: pets))
    #expect(ManagedProperty<Set<NSManagedObject>>("pets")[owner] == Set(pets))
    #expect(ManagedProperty<NSSet>("pets")[owner] == NSSet(array: pets))
    #expect(owner.value(forKeyPath: "pets.@count") as? Int == 3)
    owner["pets"] = Set(pets.prefix(1))
    #expect(names(owner).count == 1)
    owner["pets"] = nil
    #expect(owner.value(forKey: "pets") as? NSSet == NSSet() && owner["pets"] as? Set<NSManagedObject> == [])
  }

  @Test(
    "Members on the way to others are read once, with what has been read for them",
    arguments: [
      ["pets.toys"], ["pets", "pets.toys"], ["pets.toys", "pets"],
    ])
  func secondLevel(keyPaths: [String]) throws {
    var builder = ModelBuilder()
    builder.entity("Person", [.make("name", .stringAttributeType)])
    builder.entity("Pet", [.make("name", .stringAttributeType)])
    builder.entity("Toy", [.make("name", .stringAttributeType)])
    builder.relate(.init("Person", "pets", toMany: true), .init("Pet", "owner"))
    builder.relate(.init("Pet", "toys", toMany: true), .init("Toy", "pets", toMany: true))
    let model = builder.model()
    let store = try TemporaryStore()
    let context = try store.context(model)
    for person in ["a", "b"] {
      let owner = context.make("Person", ["name": person])
      for pet in 0..<3 {
        let toys = (0..<2).map { context.make("Toy", ["name": "\(person)\(pet)\($0)"]) }
        context.make("Pet", ["name": "\(person)\(pet)", "owner": owner, "toys": NSSet(array: toys)])
      }
    }
    try context.save()
    let other = NSManagedObjectContext(concurrencyType: .confinementConcurrencyType)
    other.persistentStoreCoordinator = context.persistentStoreCoordinator
    let request = NSFetchRequest<NSManagedObject>(entityName: "Person")
    request.relationshipKeyPathsForPrefetching = keyPaths
    let people = try other.fetch(request)
    #expect(people.count == 2)
    for person in people {
      let pets = try #require(person["pets"] as? Set<NSManagedObject>)
      #expect(pets.count == 3)
      for pet in pets {
        #expect(!pet.hasFault(forRelationshipNamed: "toys"))
        #expect((pet["toys"] as? Set<NSManagedObject>)?.count == 2)
      }
    }
  }
}
