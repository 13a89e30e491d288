// OpenCoreData
// SPDX-License-Identifier: Apache-2.0

import CoreDataSQLite
import CoreDataTestSupport
import Foundation
import Testing

@testable import CoreData

/// What generated migrations have found, in small.
@Suite("Migrations that once lost something")
struct MigrationDefectTests {
  private let store: TemporaryStore

  init() throws { store = try TemporaryStore() }

  private func fill(
    _ build: (inout ModelBuilder) -> Void, _ fill: (NSManagedObjectContext) throws -> Void
  ) throws {
    let context = try store.context(Self.model(build))
    try fill(context)
    try context.save()
    try store.close()
  }

  private func migrate(_ build: (inout ModelBuilder) -> Void) throws -> StoreDump {
    let context = try store.context(
      Self.model(build),
      options: [
        NSMigratePersistentStoresAutomaticallyOption: true, NSInferMappingModelAutomaticallyOption: true,
        MigrationOption.allowsLoss: true,
      ])
    try StoreChecks.check(store.url, Self.model(build))
    return try StoreDump(context)
  }

  private func refusal(_ build: (inout ModelBuilder) -> Void) throws -> NSError {
    let before = try FileContent(store.url)
    let found = thrownError { _ = try migrate(build) }
    #expect(try FileContent(store.url) == before)
    return try #require(found)
  }

  private static func model(_ build: (inout ModelBuilder) -> Void) -> NSManagedObjectModel {
    var builder = ModelBuilder()
    build(&builder)
    return builder.model()
  }

  private func pair(_ builder: inout ModelBuilder) {
    builder.entity("Box", [.make("name", .stringAttributeType)])
    builder.entity("Item", [.make("name", .stringAttributeType)])
  }

  @Test("Data in files of its own comes into the database when files are no longer allowed")
  func externalData() throws {
    let large = Data(repeating: 7, count: 200_000)
    try fill {
      $0.entity("Item", [.make("data", .binaryDataAttributeType, external: true)])
    } _: { context in
      for data in [large, Data([2, 3]), Data()] { context.make("Item", ["data": data]) }
      context.make("Item")
    }
    let after = try migrate {
      $0.entity("Item", [.make("data", .binaryDataAttributeType), .make("new", .stringAttributeType)])
    }
    #expect(
      Set(after.values("Item", "data")) == [
        large.base64EncodedString(), Data([2, 3]).base64EncodedString(), "", "nil",
      ])
  }

  @Test("A to-one relationship without inverse keeps its objects when it becomes to-many")
  func toOneToMany() throws {
    try fill {
      pair(&$0)
      $0.point(.init("Box", "item"), to: "Item")
    } _: { context in
      context.make("Box", ["item": context.make("Item")])
    }
    let after = try migrate {
      pair(&$0)
      $0.point(.init("Box", "item", toMany: true), to: "Item")
    }
    #expect(after.objects["Box/p1"]?["item"] == "Item/p1")
  }

  @Test("Where only one of several owners could be kept, the migration is refused")
  func sharedMember() throws {
    try fill {
      pair(&$0)
      $0.point(.init("Box", "item"), to: "Item")
    } _: { context in
      let item = context.make("Item")
      for _ in 0..<2 { context.make("Box", ["item": item]) }
    }
    let error = try refusal {
      pair(&$0)
      $0.point(.init("Box", "item", toMany: true), to: "Item")
    }
    #expect(error.code == NSMigrationError)
    #expect(error.localizedFailureReason?.contains("'item' of 'Box'") == true)
  }

  @Test("A many-to-many relationship keeps its objects when its inverse is removed")
  func droppedInverse() throws {
    try fill {
      pair(&$0)
      $0.relate(.init("Box", "items", toMany: true, ordered: true), .init("Item", "boxes", toMany: true))
    } _: { context in
      let items = (0..<3).map { _ in context.make("Item") }
      context.make("Box", ["items": NSOrderedSet(array: [items[2], items[0], items[1]])])
    }
    let before = try StoreDump(
      store.context(
        Self.model {
          pair(&$0)
          $0.relate(.init("Box", "items", toMany: true, ordered: true), .init("Item", "boxes", toMany: true))
        }))
    try store.close()
    let after = try migrate {
      pair(&$0)
      $0.point(.init("Box", "items", toMany: true, ordered: true), to: "Item")
    }
    #expect(after.objects["Box/p1"]?["items"] == before.objects["Box/p1"]?["items"])
  }

  @Test("A reference to an object that is no longer of the kind is taken back")
  func changedKind() throws {
    func build(_ builder: inout ModelBuilder, isBelow: Bool) {
      builder.entity("Person", [.make("name", .stringAttributeType)])
      builder.entity("Boss", parent: isBelow ? "Person" : nil, [.make("car", .stringAttributeType)])
      builder.entity("Team", [.make("name", .stringAttributeType)])
      builder.point(.init("Team", "lead"), to: "Person")
    }
    try fill {
      build(&$0, isBelow: true)
    } _: { context in
      context.make("Team", ["name": "a", "lead": context.make("Boss")])
      context.make("Team", ["name": "b", "lead": context.make("Person")])
    }
    let after = try migrate { build(&$0, isBelow: false) }
    #expect(after.objects.values.filter { $0["name"] == "a" }.map { $0["lead"] } == [""])
    #expect(after.objects.values.filter { $0["name"] == "b" }.map { $0["lead"]?.hasPrefix("Person/") } == [true])
  }

  @Test("A new order is one order over objects of several entities")
  func newOrder() throws {
    func build(_ builder: inout ModelBuilder, ordered: Bool) {
      builder.entity("Person", [.make("name", .stringAttributeType)])
      builder.entity("Boss", parent: "Person", [.make("car", .stringAttributeType)])
      builder.entity("Team", [.make("name", .stringAttributeType)])
      builder.relate(.init("Team", "staff", toMany: true, ordered: ordered), .init("Person", "team"))
    }
    try fill {
      build(&$0, ordered: false)
    } _: { context in
      let team = context.make("Team")
      for number in 0..<6 {
        context.make(number % 2 == 0 ? "Boss" : "Person", ["team": team])
        try context.save()
      }
    }
    let after = try migrate { build(&$0, ordered: true) }
    let keys = after.objects["Team/p1"]?["staff"]?.components(separatedBy: ", ") ?? []
    #expect(keys.map { $0.components(separatedBy: "/")[1] } == ["p1", "p2", "p3", "p4", "p5", "p6"])
  }

  @Test("Names of entities can go round")
  func rotation() throws {
    try fill {
      $0.entity("A", [.make("x", .stringAttributeType)])
      $0.entity("B", [.make("x", .stringAttributeType)])
    } _: { context in
      context.make("A", ["x": "a"])
      context.make("B", ["x": "b"])
    }
    let after = try migrate {
      $0.entity("B", renamedFrom: "A", [.make("x", .stringAttributeType)])
      $0.entity("C", renamedFrom: "B", [.make("x", .stringAttributeType)])
    }
    #expect(after.values("B", "x") == ["a"])
    #expect(after.values("C", "x") == ["b"])
  }

  @Test("An entity that has objects cannot become abstract, and the error names it")
  func abstractEntity() throws {
    try fill {
      $0.entity("Item", [.make("name", .stringAttributeType)])
    } _: {
      $0.make("Item")
    }
    let error = try refusal {
      $0.entity("Item", isAbstract: true, [.make("name", .stringAttributeType)])
      $0.entity("Thing", parent: "Item")
    }
    #expect(error.code == NSMigrationError)
    #expect(error.userInfo["entity"] as? String == "Item")
  }

  @Test("A required value that is missing and has no default is 134110 with entity and attribute")
  func missingValue() throws {
    try fill {
      $0.entity("Item", [.make("name", .stringAttributeType)])
    } _: {
      $0.make("Item")
    }
    let error = try refusal { $0.entity("Item", [.make("name", .stringAttributeType, optional: false)]) }
    #expect(error.code == NSMigrationError)
    #expect(error.userInfo["entity"] as? String == "Item")
    #expect(error.userInfo["attribute"] as? String == "name")
  }

  @Test("Defaults that make values alike violate a constraint that was there before: 134111 with the values")
  func notUnique() throws {
    func build(_ builder: inout ModelBuilder, optional: Bool) {
      let item = builder.entity(
        "Item", [.make("name", .stringAttributeType, optional: optional, default: optional ? nil : "same")])
      item.uniquenessConstraints = [["name"]]
    }
    try fill {
      build(&$0, optional: true)
    } _: {
      for _ in 0..<2 { $0.make("Item") }
    }
    let error = try refusal { build(&$0, optional: false) }
    #expect(error.code == NSMigrationConstraintViolationError)
    #expect(error.localizedFailureReason?.contains("same") == true)
  }

  @Test("Indexes whose names differ in case only stand side by side")
  func indexNames() throws {
    func build(_ builder: inout ModelBuilder, _ more: [NSAttributeDescription]) {
      let item = builder.entity(
        "Item", [.make("name", .stringAttributeType), .make("Name", .stringAttributeType)] + more)
      item.uniquenessConstraints = [["name"], ["Name"]]
    }
    try fill {
      build(&$0, [])
    } _: {
      $0.make("Item", ["name": "a", "Name": "b"])
    }
    let after = try migrate { build(&$0, [.make("new", .stringAttributeType)]) }
    #expect(after.values("Item", "Name") == ["b"])
  }

  @Test("Orders of two relationships whose names differ in case only have a column each")
  func orderNames() throws {
    func build(_ builder: inout ModelBuilder, ordered: Bool) {
      builder.entity("Item", [.make("name", .stringAttributeType)])
      builder.relate(
        .init("Item", "Links", toMany: true, ordered: ordered), .init("Item", "links", toMany: true, ordered: ordered))
    }
    try fill {
      build(&$0, ordered: false)
    } _: { context in
      context.make("Item", ["Links": NSSet(object: context.make("Item"))])
    }
    let after = try migrate { build(&$0, ordered: true) }
    #expect(after.values("Item", "Links").filter { !$0.isEmpty }.count == 1)
    #expect(after.values("Item", "links").filter { !$0.isEmpty }.count == 1)
  }

  @Test("Renamed elements of a composite attribute keep their values")
  func compositeElements() throws {
    func build(_ builder: inout ModelBuilder, _ element: NSAttributeDescription) {
      let place = NSCompositeAttributeDescription()
      place.name = "place"
      place.elements = [element]
      builder.entity("Item", [place])
    }
    try fill({ build(&$0, .make("street", .stringAttributeType)) }) { _ in }
    let writer = try SQLiteConnection(url: store.url, mode: .readWrite)
    try writer.run("INSERT INTO ZITEM (Z_PK, Z_ENT, Z_OPT, ZSTREET) VALUES (1, 1, 1, 'Main')")
    try writer.close()
    let context = try store.context(
      Self.model { build(&$0, .make("road", .stringAttributeType, renamedFrom: "street")) },
      options: [
        NSMigratePersistentStoresAutomaticallyOption: true, NSInferMappingModelAutomaticallyOption: true,
        MigrationOption.allowsLoss: true,
      ])
    _ = context
    let reader = try SQLiteConnection(url: store.url, mode: .readOnly)
    #expect(try reader.scalar("SELECT ZROAD FROM ZITEM")?.text == "Main")
    try reader.close()
  }

  @Test("Objects of an entity that leaves the store's configuration are not dropped")
  func configuration() throws {
    func model(_ names: [String], _ more: [NSAttributeDescription] = []) -> NSManagedObjectModel {
      let model = Self.model {
        $0.entity("Box", [.make("name", .stringAttributeType)] + more)
        $0.entity("Item", [.make("name", .stringAttributeType)])
      }
      model.setEntities(model.entities.filter { names.contains($0.name ?? "") }, forConfigurationName: "Local")
      return model
    }
    func open(_ model: NSManagedObjectModel) throws -> NSManagedObjectContext {
      let coordinator = NSPersistentStoreCoordinator(managedObjectModel: model)
      try coordinator.addPersistentStore(
        type: .sqlite, configuration: "Local", at: store.url,
        options: [
          NSMigratePersistentStoresAutomaticallyOption: true, NSInferMappingModelAutomaticallyOption: true,
          MigrationOption.allowsLoss: true,
        ])
      let context = NSManagedObjectContext(.privateQueue)
      context.persistentStoreCoordinator = coordinator
      return context
    }
    let context = try open(model(["Box", "Item"]))
    context.make("Item", ["name": "a"])
    try context.save()
    for open in context.persistentStoreCoordinator?.persistentStores ?? [] {
      try context.persistentStoreCoordinator?.remove(open)
    }
    let before = try FileContent(store.url)
    let found = thrownError { _ = try open(model(["Box"], [.make("new", .stringAttributeType)])) }
    #expect(found?.code == NSMigrationError)
    #expect(found?.userInfo["entity"] as? String == "Item")
    #expect(try FileContent(store.url) == before)
  }

  @Test("Relationships of two children that become one of their parent keep the objects of both")
  func mergedRelationships() throws {
    func build(_ builder: inout ModelBuilder, above: Bool) {
      builder.entity("Animal", [.make("name", .stringAttributeType)])
      builder.entity("Cat", parent: "Animal")
      builder.entity("Dog", parent: "Animal")
      builder.entity("Toy", [.make("name", .stringAttributeType)])
      if above {
        builder.point(.init("Animal", "home"), to: "Toy")
        builder.relate(.init("Animal", "toys", toMany: true), .init("Toy", "animals", toMany: true))
      } else {
        builder.point(.init("Cat", "home"), to: "Toy")
        builder.point(.init("Dog", "home"), to: "Toy")
        builder.relate(.init("Cat", "toys", toMany: true), .init("Toy", "cats", toMany: true))
        builder.relate(.init("Dog", "toys", toMany: true), .init("Toy", "dogs", toMany: true))
      }
    }
    try fill {
      build(&$0, above: false)
    } _: { context in
      let toy = context.make("Toy")
      context.make("Cat", ["name": "cat", "home": toy, "toys": NSSet(object: toy)])
      context.make("Dog", ["name": "dog", "home": toy, "toys": NSSet(object: toy)])
    }
    let after = try migrate { build(&$0, above: true) }
    for name in ["cat", "dog"] {
      let animal = after.objects.values.first { $0["name"] == name }
      #expect(animal?["home"] == "Toy/p1")
      #expect(animal?["toys"] == "Toy/p1")
    }
    #expect(after.objects["Toy/p1"]?["animals"]?.components(separatedBy: ", ").count == 2)
  }

  @Test("A relationship that was its own inverse keeps both directions when it gets another inverse")
  func reflexive() throws {
    try fill {
      $0.entity("Person", [.make("name", .stringAttributeType)])
      $0.relate(.init("Person", "friends", toMany: true), .init("Person", "friends", toMany: true))
    } _: { context in
      context.make("Person", ["friends": NSSet(object: context.make("Person"))])
    }
    let after = try migrate {
      $0.entity("Person", [.make("name", .stringAttributeType)])
      $0.relate(.init("Person", "friends", toMany: true), .init("Person", "friendOf", toMany: true))
    }
    #expect(after.objects["Person/p1"]?["friends"] == "Person/p2")
    #expect(after.objects["Person/p2"]?["friends"] == "Person/p1")
    #expect(after.objects["Person/p1"]?["friendOf"] == "Person/p2")
  }

  @Test("Keys of deleted objects are not given out again after a migration")
  func keys() throws {
    try fill {
      $0.entity("Item", [.make("name", .stringAttributeType)])
    } _: { context in
      let items = (0..<5).map { _ in context.make("Item") }
      try context.save()
      for item in items.suffix(3) { context.delete(item) }
    }
    let context = try store.context(
      Self.model { $0.entity("Thing", renamedFrom: "Item", [.make("name", .stringAttributeType)]) },
      options: [
        NSMigratePersistentStoresAutomaticallyOption: true, NSInferMappingModelAutomaticallyOption: true,
        MigrationOption.allowsLoss: true,
      ])
    let thing = context.make("Thing")
    try context.save()
    #expect(StoreDump.key(thing.objectID) == "Thing/p6")
  }
}
