// OpenCoreData
// SPDX-License-Identifier: Apache-2.0

import CoreData
import CoreDataTestSupport
import Foundation
import Testing

@testable import CoreData

@Suite("Inferred migration in place")
struct InPlaceMigrationTests {
  private var automatic: [AnyHashable: Any] {
    [
      NSMigratePersistentStoresAutomaticallyOption: true, NSInferMappingModelAutomaticallyOption: true,
      MigrationOption.allowsLoss: true,
    ]
  }

  /// A store of a first version with some objects, opened with a second one.
  private func migrate(
    _ old: (inout ModelBuilder) -> Void, fill: (NSManagedObjectContext) throws -> Void,
    to new: (inout ModelBuilder) -> Void
  ) throws -> (before: StoreDump, after: StoreDump, store: TemporaryStore, context: NSManagedObjectContext) {
    func model(_ build: (inout ModelBuilder) -> Void) -> NSManagedObjectModel {
      var builder = ModelBuilder()
      build(&builder)
      return builder.model()
    }
    let store = try TemporaryStore()
    let writer = try store.context(model(old))
    try fill(writer)
    try writer.save()
    let before = try StoreDump(writer)
    try store.close()
    let context = try store.context(model(new), options: automatic)
    try StoreChecks.check(store.url, model(new))
    return (before, try StoreDump(context), store, context)
  }

  @Test("New attributes are empty, or hold their default value")
  func addedAttributes() throws {
    let result = try migrate {
      $0.entity("Note", [.make("title", .stringAttributeType)])
    } fill: { context in
      for number in 1...3 { context.make("Note", ["title": "note \(number)"]) }
    } to: {
      $0.entity(
        "Note",
        [
          .make("title", .stringAttributeType), .make("body", .stringAttributeType),
          .make("stars", .integer16AttributeType, optional: false, default: 3),
          .make("read", .booleanAttributeType, optional: false, default: false),
          .make("weight", .doubleAttributeType, default: 1.5),
        ])
    }
    #expect(result.after.values("Note", "title") == ["note 1", "note 2", "note 3"])
    #expect(result.after.values("Note", "body") == ["nil", "nil", "nil"])
    #expect(result.after.values("Note", "stars") == ["3", "3", "3"])
    #expect(result.after.values("Note", "read") == ["0", "0", "0"])
    #expect(result.after.values("Note", "weight") == ["1.5", "1.5", "1.5"])
  }

  @Test("Renamed entities, attributes and relationships keep their values")
  func renames() throws {
    let result = try migrate {
      $0.entity("Folder", [.make("name", .stringAttributeType)])
      $0.entity("Note", [.make("title", .stringAttributeType), .make("done", .booleanAttributeType)])
      $0.entity("Tag", [.make("label", .stringAttributeType)])
      $0.relate(.init("Folder", "notes", toMany: true), .init("Note", "folder"))
      $0.relate(.init("Note", "tags", toMany: true), .init("Tag", "notes", toMany: true))
    } fill: { context in
      let tags = ["red", "blue"].map { context.make("Tag", ["label": $0]) }
      let folder = context.make("Folder", ["name": "Home"])
      context.make("Note", ["title": "a", "done": true, "folder": folder, "tags": NSSet(array: tags)])
      context.make("Note", ["title": "b", "done": false, "folder": folder, "tags": NSSet(array: [tags[0]])])
    } to: {
      $0.entity("Box", renamedFrom: "Folder", [.make("caption", .stringAttributeType, renamedFrom: "name")])
      $0.entity(
        "Note", [.make("title", .stringAttributeType), .make("isDone", .booleanAttributeType, renamedFrom: "done")])
      $0.entity("Tag", [.make("label", .stringAttributeType)])
      $0.relate(
        .init("Box", "content", toMany: true, renamedFrom: "notes"), .init("Note", "box", renamedFrom: "folder"))
      $0.relate(
        .init("Note", "marks", toMany: true, renamedFrom: "tags"),
        .init("Tag", "marked", toMany: true, renamedFrom: "notes"))
    }
    #expect(result.after.values("Box", "caption") == ["Home"])
    #expect(result.after.values("Box", "content") == ["Note/p1, Note/p2"])
    #expect(result.after.values("Note", "isDone") == ["0", "1"])
    #expect(result.after.values("Note", "box") == ["Box/p1", "Box/p1"])
    #expect(result.after.values("Note", "marks") == result.before.values("Note", "tags"))
    #expect(result.after.values("Tag", "marked") == result.before.values("Tag", "notes"))
  }

  @Test("Removed entities, attributes and relationships go, and nothing else with them")
  func removals() throws {
    let result = try migrate {
      $0.entity("Folder", [.make("name", .stringAttributeType)])
      $0.entity("Note", [.make("title", .stringAttributeType), .make("draft", .stringAttributeType)])
      $0.entity("Todo", parent: "Note", [.make("due", .dateAttributeType)])
      $0.relate(.init("Folder", "notes", toMany: true), .init("Note", "folder"))
      $0.relate(.init("Note", "related", toMany: true), .init("Note", "relatedTo", toMany: true))
      $0.point(.init("Folder", "cover"), to: "Note")
    } fill: { context in
      let note = context.make("Note", ["title": "a", "draft": "x"])
      let todo = context.make("Todo", ["title": "b", "due": Date(timeIntervalSinceReferenceDate: 5)])
      let other = context.make("Note", ["title": "c", "related": NSSet(array: [note, todo])])
      context.make("Folder", ["name": "Home", "cover": todo, "notes": NSSet(array: [note, todo])])
      context.make("Folder", ["name": "Work", "cover": other])
    } to: {
      $0.entity("Folder", [.make("name", .stringAttributeType)])
      $0.entity("Note", [.make("title", .stringAttributeType)])
      $0.relate(.init("Note", "related", toMany: true), .init("Note", "relatedTo", toMany: true))
      $0.point(.init("Folder", "cover"), to: "Note")
    }
    #expect(result.after.values("Note", "title") == ["a", "c"])
    #expect(result.after.objects.keys.contains { $0.hasPrefix("Todo/") } == false)
    #expect(result.after.values("Note", "related").filter { !$0.isEmpty }.count == 1)
    #expect(result.after.values("Folder", "cover").filter { $0.isEmpty }.count == 1)
  }

  @Test("A new entity that shifts all numbers leaves hierarchies, join tables and orders whole")
  func renumbering() throws {
    let result = try migrate {
      CompanyBuilder.build(&$0)
    } fill: {
      try CompanyBuilder.fill($0)
    } to: {
      $0.entity("Address", [.make("street", .stringAttributeType)])
      $0.entity("Building", parent: "Address", [.make("floors", .integer16AttributeType)])
      CompanyBuilder.build(&$0)
      $0.relate(.init("Person", "addresses", toMany: true, ordered: true), .init("Address", "people", toMany: true))
    }
    for (key, values) in result.before.objects {
      let after = try #require(result.after.objects[key], "\(key) is gone")
      for (property, value) in values { #expect(after[property] == value, "\(key).\(property)") }
    }
    #expect(result.after.objects.count == result.before.objects.count)
    // The store is alive: rows can be added to every kind of relationship.
    let address = result.context.make("Building", ["street": "Main", "floors": 3])
    let person = try #require(try result.context.all("Person").first)
    person["addresses"] = NSOrderedSet(array: [address])
    try result.context.save()
    #expect((address["people"] as? NSSet)?.count == 1)
  }

  @Test("Required attributes get the default where there was nothing; optional ones lose nothing")
  func optionality() throws {
    let result = try migrate {
      $0.entity(
        "Note",
        [
          .make("title", .stringAttributeType), .make("stars", .integer32AttributeType),
          .make("name", .stringAttributeType, optional: false, default: ""),
        ])
    } fill: { context in
      context.make("Note", ["title": "a", "stars": 5, "name": "x"])
      context.make("Note", ["name": "y"])
    } to: {
      $0.entity(
        "Note",
        [
          .make("title", .stringAttributeType, optional: false, default: "untitled"),
          .make("stars", .integer32AttributeType, optional: false, default: 1), .make("name", .stringAttributeType),
        ])
    }
    #expect(result.after.values("Note", "title") == ["a", "untitled"])
    #expect(result.after.values("Note", "stars") == ["1", "5"])
    #expect(result.after.values("Note", "name") == ["x", "y"])
  }

  @Test("Numbers are converted when their type changes")
  func numbers() throws {
    let result = try migrate {
      $0.entity(
        "Note",
        [
          .make("a", .integer16AttributeType), .make("b", .doubleAttributeType), .make("c", .integer32AttributeType),
          .make("d", .booleanAttributeType),
        ])
    } fill: { context in
      context.make("Note", ["a": 7, "b": 2.75, "c": 2, "d": true])
    } to: {
      $0.entity(
        "Note",
        [
          .make("a", .doubleAttributeType), .make("b", .integer32AttributeType), .make("c", .booleanAttributeType),
          .make("d", .integer64AttributeType),
        ])
    }
    #expect(
      result.after.objects["Note/p1"]
        == ["a": "7.0", "b": "2", "c": "1", "d": "1"].mapValues { $0 == "7.0" ? "\(NSNumber(value: 7.0))" : $0 })
  }

  @Test("To-one becomes to-many, unordered becomes ordered and back, without loss")
  func relationshipKinds() throws {
    let result = try migrate {
      $0.entity("Person", [.make("name", .stringAttributeType)])
      $0.entity("Pet", [.make("name", .stringAttributeType)])
      $0.entity("Toy", [.make("name", .stringAttributeType)])
      $0.relate(.init("Person", "pet"), .init("Pet", "owner"))
      $0.relate(.init("Pet", "toys", toMany: true), .init("Toy", "pet"))
      $0.relate(.init("Person", "likes", toMany: true, ordered: true), .init("Toy", "likedBy"))
    } fill: { context in
      let toys = ["ball", "bone", "rope"].map { context.make("Toy", ["name": $0]) }
      let pet = context.make("Pet", ["name": "Rex", "toys": NSSet(array: toys)])
      context.make("Person", ["name": "Ada", "pet": pet, "likes": NSOrderedSet(array: toys.reversed())])
    } to: {
      $0.entity("Person", [.make("name", .stringAttributeType)])
      $0.entity("Pet", [.make("name", .stringAttributeType)])
      $0.entity("Toy", [.make("name", .stringAttributeType)])
      $0.relate(
        .init("Person", "pet", toMany: true), .init("Pet", "owner", toMany: true))
      $0.relate(.init("Pet", "toys", toMany: true, ordered: true), .init("Toy", "pet"))
      $0.relate(.init("Person", "likes", toMany: true), .init("Toy", "likedBy"))
    }
    #expect(result.after.objects["Person/p1"]?["pet"] == "Pet/p1")
    #expect(result.after.objects["Pet/p1"]?["owner"] == "Person/p1")
    #expect(result.after.objects["Pet/p1"]?["toys"] == "Toy/p1, Toy/p2, Toy/p3")
    #expect(result.after.objects["Person/p1"]?["likes"] == "Toy/p1, Toy/p2, Toy/p3")
  }

  @Test("A new parent takes attributes of its children up, and they keep their values")
  func newParent() throws {
    let result = try migrate {
      $0.entity("Note", [.make("title", .stringAttributeType), .make("body", .stringAttributeType)])
    } fill: { context in
      context.make("Note", ["title": "a", "body": "b"])
    } to: {
      $0.entity("Item", isAbstract: true, [.make("title", .stringAttributeType)])
      $0.entity("Note", parent: "Item", [.make("body", .stringAttributeType)])
    }
    #expect(result.after.objects["Note/p1"] == ["title": "a", "body": "b"])
  }
}

/// A model with a hierarchy, twin columns, join tables and orders, and a store's worth of objects.
private enum CompanyBuilder {
  static func build(_ builder: inout ModelBuilder) {
    builder.entity("Company", [.make("name", .stringAttributeType)])
    builder.entity("Person", [.make("name", .stringAttributeType)])
    builder.entity("Boss", parent: "Person", [.make("car", .stringAttributeType)])
    builder.entity("Worker", parent: "Person", [.make("tool", .stringAttributeType)])
    builder.entity("Team", [.make("name", .stringAttributeType)])
    builder.relate(.init("Company", "staff", toMany: true, ordered: true), .init("Person", "company"))
    builder.relate(.init("Person", "teams", toMany: true), .init("Team", "members", toMany: true, ordered: true))
    builder.relate(.init("Team", "lead"), .init("Person", "leads", toMany: true))
    builder.relate(.init("Worker", "helpers", toMany: true), .init("Worker", "helped", toMany: true))
  }

  static func fill(_ context: NSManagedObjectContext) throws {
    let company = context.make("Company", ["name": "Acme"])
    let people = (1...9).map { number -> NSManagedObject in
      let kind = ["Person", "Boss", "Worker"][number % 3]
      return context.make(kind, ["name": "\(kind) \(number)"])
    }
    company["staff"] = NSOrderedSet(array: people.reversed())
    let workers = people.filter { $0.entity.name == "Worker" }
    workers[0]["helpers"] = NSSet(array: Array(workers.dropFirst()))
    for number in 0..<3 {
      context.make(
        "Team",
        [
          "name": "Team \(number)", "lead": people[number * 2],
          "members": NSOrderedSet(array: [people[number], people[8 - number], people[4]]),
        ])
    }
  }
}
