// OpenCoreData
// SPDX-License-Identifier: Apache-2.0

import CoreDataTestSupport
import Foundation
import Testing

@testable import CoreData

@Suite("Every kind of store")
struct StoreKindTests {
  private static var everything: [String: Any] {
    [
      "name": "Ada \\ <\u{1F600}> & \"e\u{301}\" \u{1}\r\n\t end ", "age": 36, "badge": -7, "steps": Int64.max,
      "isActive": false, "rating": 0.1, "height": Float(1.75),
      "salary": NSDecimalNumber(string: "12345678.25"),
      "hired": Date(timeIntervalSinceReferenceDate: 123_456_789.123456), "photo": Data([0, 1, 255]),
      "scan": Data(repeating: 9, count: 200_000), "token": UUID(), "tags": ["a", ["b", 3]] as NSArray,
      "site": URL(string: "https://example.org/a?b=c&d#e") as Any,
    ]
  }

  private func context(_ bench: StoreKindBench, _ policy: NSMergePolicy) -> NSManagedObjectContext {
    let context = bench.context()
    context.mergePolicy = policy
    return context
  }

  private func all(_ context: NSManagedObjectContext, _ format: String, _ arguments: Any?...) throws -> [String] {
    let request = NSFetchRequest<NSManagedObject>(entityName: "Employee")
    request.predicate = NSPredicate(format: format, argumentArray: arguments.map { $0 ?? NSNull() })
    request.sortDescriptors = [NSSortDescriptor(key: "name", ascending: true)]
    return try context.fetch(request).compactMap { $0["name"] as? String }
  }

  @Test(
    "Values of all types are read as they were saved, by another context and after reopening",
    arguments: StoreKind.allCases)
  func values(_ kind: StoreKind) throws {
    let bench = try StoreKindBench(kind)
    let context = bench.context()
    context.make("Employee", Self.everything)
    context.make("Employee", ["name": "", "photo": Data(), "isActive": true])
    try context.save()
    let expected = try StoreKindBench.contents(of: context)
    #expect(expected.contains { $0.contains("salary=12345678.25") && $0.contains("200000:") })
    #expect(try bench.contents() == expected)
    try bench.reopen()
    #expect(try bench.contents() == expected)
    let ada = try #require(try bench.context().all("Employee", where: NSPredicate(format: "age == 36")).first)
    #expect(ada["name"] as? String == Self.everything["name"] as? String && ada["mood"] == nil)
    #expect(ada["tags"] as? NSArray == ["a", ["b", 3]] as NSArray)
  }

  @Test("Predicates, orders, limits, offsets, counts, identifiers and dictionaries", arguments: StoreKind.allCases)
  func fetching(_ kind: StoreKind) throws {
    let bench = try StoreKindBench(kind)
    let writer = bench.context()
    let sales = writer.make("Department", ["name": "Sales"])
    for (number, name) in ["Dora", "Ada", "Cleo", "Bob"].enumerated() {
      writer.make(
        number == 2 ? "Manager" : "Employee", ["name": name, "age": 20 + number, "rating": Double(number) / 2])
    }
    try writer.all("Employee", where: NSPredicate(format: "age < 22")).forEach { $0["department"] = sales }
    try writer.save()
    try bench.reopen()
    let context = bench.context()
    #expect(try all(context, "age >= 21") == ["Ada", "Bob", "Cleo"])
    #expect(
      try all(context, "name BEGINSWITH[c] %@ OR department.name == 'Sales' AND age == 20", "b") == ["Bob", "Dora"])
    #expect(try all(context, "department == nil") == ["Bob", "Cleo"])
    let department = try #require(try context.all("Department").first)
    #expect(try all(context, "department == %@", department) == ["Ada", "Dora"])
    #expect(try all(context, "SELF IN %@", department["employees"]) == ["Ada", "Dora"])
    #expect(try all(context, "ANY department.employees.name == 'Ada'") == ["Ada", "Dora"])
    #expect(try all(context, "department.employees.@count == 2 AND rating > 0") == ["Ada"])
    #expect(try all(context, "SUBQUERY(department.employees, $e, $e.age > 20).@count > 0") == ["Ada", "Dora"])
    #expect(try all(context, "objectID == %@", department.objectID).isEmpty)

    let request = NSFetchRequest<NSManagedObject>(entityName: "Employee")
    request.sortDescriptors = [
      NSSortDescriptor(key: "department.name", ascending: false), NSSortDescriptor(key: "name", ascending: true),
    ]
    (request.fetchOffset, request.fetchLimit) = (1, 2)
    #expect(try context.fetch(request).map { $0["name"] as? String } == ["Dora", "Bob"])
    #expect(try context.count(for: request) == 2)
    (request.fetchOffset, request.fetchLimit) = (0, 0)
    request.includesSubentities = false
    #expect(try context.count(for: request) == 3)

    let ids = NSFetchRequest<NSManagedObjectID>(entityName: "Manager")
    ids.resultType = .managedObjectIDResultType
    #expect(try context.fetch(ids).map { context.object(with: $0)["name"] as? String } == ["Cleo"])
    let dictionaries = NSFetchRequest<NSDictionary>(entityName: "Employee")
    dictionaries.resultType = .dictionaryResultType
    dictionaries.propertiesToFetch = ["name", "age"]
    dictionaries.predicate = NSPredicate(format: "age == 21")
    #expect(try context.fetch(dictionaries) == [["name": "Ada", "age": 21] as NSDictionary])
    let number = NSFetchRequest<NSNumber>(entityName: "Employee")
    number.resultType = .countResultType
    #expect(try context.fetch(number) == [4])
  }

  @Test("A fetch sees unsaved changes, and another context does not", arguments: StoreKind.allCases)
  func pending(_ kind: StoreKind) throws {
    let bench = try StoreKindBench(kind)
    let context = bench.context()
    let ada = context.make("Employee", ["name": "Ada", "age": 1])
    let bob = context.make("Employee", ["name": "Bob", "age": 2])
    try context.save()
    ada["age"] = 2
    context.delete(bob)
    context.make("Employee", ["name": "Cleo", "age": 2])
    #expect(try all(context, "age == 2") == ["Ada", "Cleo"])
    #expect(try all(bench.context(), "age == 2") == ["Bob"])
    context.rollback()
    #expect(try all(context, "age == 2") == ["Bob"])
  }

  @Test("Relationships of every kind keep their members and order, and follow changes", arguments: StoreKind.allCases)
  func relationships(_ kind: StoreKind) throws {
    let bench = try StoreKindBench(kind)
    let context = bench.context()
    let boss = context.make("Manager", ["name": "Boss"])
    let people = ["Ada", "Bob", "Cleo"].map { context.make("Employee", ["name": $0, "manager": boss]) }
    let tasks = ["one", "two", "three"].map { context.make("Task", ["title": $0]) }
    let project = context.make("Project", ["title": "P", "members": NSSet(array: people)])
    project["tasks"] = NSOrderedSet(array: [tasks[2], tasks[0], tasks[1]])
    people[0]["friends"] = NSSet(array: [people[1], people[2], people[0]])
    people[0]["favourites"] = NSOrderedSet(array: [tasks[1], tasks[0]])
    people[1]["favourites"] = NSOrderedSet(array: [tasks[0], tasks[2]])
    people[0]["contract"] = context.make("Contract", ["number": 7])
    let hall = context.make("Department", ["name": "Hall", "archive": NSSet(array: [tasks[0], tasks[1]])])
    try context.save()
    let first = try StoreKindBench.contents(of: context)
    #expect(first.contains { $0.hasPrefix("Project") && $0.contains("tasks=[three,one,two]") })
    #expect(try bench.contents() == first)
    try bench.reopen()
    #expect(try bench.contents() == first)

    let other = bench.context()
    let found = try other.all("Employee", where: NSPredicate(format: "name != 'Boss'"))
    #expect(try other.all("Project", by: "title").first?.mutableOrderedSetValue(forKey: "tasks").count == 3)
    let plan = try #require(try other.all("Project", by: "title").first)
    plan.mutableOrderedSetValue(forKey: "tasks").moveObjects(at: [0], to: 2)
    found[0].mutableSetValue(forKey: "friends").remove(found[1])
    found[2]["manager"] = nil
    plan.mutableSetValue(forKey: "members").remove(found[0])
    found[1].mutableOrderedSetValue(forKey: "favourites").exchangeObject(at: 0, withObjectAt: 1)
    try other.all("Department").forEach { $0.mutableSetValue(forKey: "archive").removeAllObjects() }
    other.delete(try #require(try other.all("Task", by: "title", where: NSPredicate(format: "title == 'two'")).first))
    other.delete(found[0])
    try other.save()
    let second = try StoreKindBench.contents(of: other)
    #expect(second != first && !second.contains { $0.hasPrefix("Contract") })
    #expect(second.contains { $0.contains("tasks=[one,three]") && $0.contains("members={Bob,Cleo}") })
    #expect(second.contains { $0.hasPrefix("Employee: favourites=[three,one]") })
    #expect(try bench.contents() == second)
    try bench.reopen()
    #expect(try bench.contents() == second)
    _ = hall
  }

  @Test(
    "Members that two contexts add, one of which has not seen those of the other, are all there, also after reopening",
    // The class of the incremental store writes whole sets.
    arguments: StoreKind.allCases.filter { $0 != .incremental })
  func membersOfTwoContexts(_ kind: StoreKind) throws {
    let bench = try StoreKindBench(kind)
    let context = bench.context()
    let people = ["Ada", "Bob", "Cleo"].map { context.make("Employee", ["name": $0]) }
    try context.save()
    let other = bench.context()
    other.mergePolicy = NSMergePolicy.mergeByPropertyObjectTrump
    let theirs = try other.all("Employee", by: "name")
    #expect((theirs[0].value(forKey: "friends") as? NSSet)?.count == 0)
    people[0].mutableSetValue(forKey: "friends").add(people[0])
    people[0].mutableSetValue(forKey: "friends").add(people[1])
    try context.save()
    theirs[2].mutableSetValue(forKey: "friends").add(theirs[0])
    try other.save()
    for _ in 0..<2 {
      let ada = try #require(bench.contents().first { $0.contains("name=Ada") })
      #expect(ada.contains("friends={Ada,Bob,Cleo}"))
      try bench.reopen()
    }
  }

  @Test(
    "An object that another context has changed or deleted is a conflict, which the policy resolves",
    arguments: StoreKind.allCases)
  func conflicts(_ kind: StoreKind) throws {
    let bench = try StoreKindBench(kind)
    let first = bench.context()
    let ada = first.make("Employee", ["name": "Ada", "age": 1, "badge": 1])
    let bob = first.make("Employee", ["name": "Bob"])
    try first.save()
    func theirs(_ change: (NSManagedObject, NSManagedObject) -> Void) throws {
      let other = bench.context()
      change(try other.existingObject(with: ada.objectID), try other.existingObject(with: bob.objectID))
      try other.save()
    }
    try theirs { ada, _ in ada["age"] = 2 }
    ada["badge"] = 2
    #expect { try first.save() } throws: { ($0 as NSError).code == NSManagedObjectMergeError }
    #expect(first.hasChanges && ada["age"] as? Int == 1)
    first.mergePolicy = NSMergePolicy.mergeByPropertyObjectTrump
    try first.save()
    #expect(try bench.contents().contains { $0.contains("age=2; badge=2") })
    try theirs { ada, _ in ada["age"] = 3 }
    ada["age"] = 4
    first.mergePolicy = NSMergePolicy.rollback
    try first.save()
    #expect(ada["age"] as? Int == 3)
    try theirs { _, bob in bob["age"] = 9 }
    bob["age"] = 10
    first.mergePolicy = NSMergePolicy.overwrite
    try first.save()
    #expect(try all(bench.context(), "age == 10") == ["Bob"])
    try theirs { ada, _ in ada.managedObjectContext?.delete(ada) }
    ada["age"] = 5
    first.mergePolicy = NSMergePolicy.error
    #expect { try first.save() } throws: { ($0 as NSError).code == NSManagedObjectMergeError }
    #expect(try all(bench.context(), "TRUEPREDICATE") == ["Bob"])
  }

  @Test(
    "Members that two contexts add to one relationship are all kept",
    arguments: StoreKind.allCases.filter { $0 != .incremental })
  func members(_ kind: StoreKind) throws {
    let bench = try StoreKindBench(kind)
    let setup = bench.context()
    let project = setup.make("Project", ["title": "P"])
    let people = ["Ada", "Bob"].map { setup.make("Employee", ["name": $0]) }
    try setup.save()
    let contexts = people.map { _ in context(bench, .mergeByPropertyObjectTrump) }
    for (context, person) in zip(contexts, people) {
      let mine = context.object(with: project.objectID)
      mine.mutableSetValue(forKey: "members").add(context.object(with: person.objectID))
    }
    for context in contexts { try context.save() }
    #expect(try bench.contents().contains("Project: members={Ada,Bob}; title=P"))
  }

  @Test(
    "Identifiers are found by their URIs, also after reopening; the entities' numbers do not mix",
    arguments: StoreKind.allCases)
  func identifiers(_ kind: StoreKind) throws {
    let bench = try StoreKindBench(kind)
    let context = bench.context()
    let objects = [
      context.make("Employee", ["name": "Ada"]), context.make("Manager", ["name": "Boss"]),
      context.make("Department", ["name": "Hall"]),
    ]
    try context.obtainPermanentIDs(for: [objects[2]])
    #expect(!objects[2].objectID.isTemporaryID && objects[0].objectID.isTemporaryID)
    try context.save()
    let uris = objects.map { $0.objectID.uriRepresentation() }
    #expect(Set(uris).count == 3 && uris.allSatisfy { $0.host == bench.store.identifier })
    try bench.reopen()
    let fresh = bench.context()
    for (uri, name) in zip(uris, ["Ada", "Boss", "Hall"]) {
      let id = try #require(bench.coordinator.managedObjectID(forURIRepresentation: uri))
      #expect(try fresh.existingObject(with: id)["name"] as? String == name)
      #expect(id.persistentStore === bench.store && id.uriRepresentation() == uri)
      #expect(id.referenceText == uri.lastPathComponent)
    }
    let gone = try #require(
      bench.coordinator.managedObjectID(
        forURIRepresentation: uris[0].deletingLastPathComponent().appendingPathComponent("p99")))
    #expect { try fresh.existingObject(with: gone) } throws: {
      ($0 as NSError).code == NSManagedObjectReferentialIntegrityError
    }
  }

  @Test("A limit, an offset and prefetched relationships work with a batch size", arguments: StoreKind.allCases)
  func batches(_ kind: StoreKind) throws {
    let bench = try StoreKindBench(kind)
    let writer = bench.context()
    let hall = writer.make("Department", ["name": "Hall"])
    for number in 0..<50 { writer.make("Employee", ["name": String(format: "%02d", number), "department": hall]) }
    try writer.save()
    let context = bench.context()
    let request = NSFetchRequest<NSManagedObject>(entityName: "Employee")
    request.sortDescriptors = [NSSortDescriptor(key: "name", ascending: false)]
    request.fetchBatchSize = 7
    (request.fetchOffset, request.fetchLimit) = (10, 30)
    request.relationshipKeyPathsForPrefetching = ["department"]
    let found = try context.fetch(request)
    #expect(found.compactMap { $0["name"] as? String } == (10..<40).reversed().map { String(format: "%02d", $0) })
    #expect(found.allSatisfy { ($0["department"] as? NSManagedObject)?["name"] as? String == "Hall" })
  }

  @Test("A read-only store is read, and refuses a save", arguments: StoreKind.withFile)
  func readOnly(_ kind: StoreKind) throws {
    let bench = try StoreKindBench(kind)
    let context = bench.context()
    context.make("Employee", ["name": "Ada"])
    try context.save()
    let before = try bench.contents()
    try bench.reopen(options: [NSReadOnlyPersistentStoreOption: true])
    let reader = bench.context()
    reader.make("Employee", ["name": "Bob"])
    #expect { try reader.save() } throws: { ($0 as NSError).code == CocoaError.Code.fileWriteNoPermission.rawValue }
    #expect(try bench.contents() == before && bench.store.isReadOnly)
    // A program's class decides itself what a missing file means.
    if kind == .atomic { return }
    #expect(throws: (any Error).self) {
      try NSPersistentStoreCoordinator(managedObjectModel: CompanyModel.make()).addPersistentStore(
        type: kind.type, at: bench.folder.folder.appendingPathComponent("None"),
        options: [NSReadOnlyPersistentStoreOption: true])
    }
  }

  @Test("A store of another model version is refused with 134100", arguments: StoreKind.lasting)
  func versions(_ kind: StoreKind) throws {
    let bench = try StoreKindBench(kind)
    let context = bench.context()
    context.make("Employee", ["name": "Ada"])
    try context.save()
    try bench.coordinator.remove(bench.store)
    var builder = ModelBuilder()
    builder.entity("Employee", [.make("name", .integer16AttributeType)])
    let other = NSPersistentStoreCoordinator(managedObjectModel: builder.model())
    #expect { try other.addPersistentStore(type: kind.type, at: bench.url) } throws: {
      ($0 as NSError).code == NSPersistentStoreIncompatibleVersionHashError
    }
    #expect(other.persistentStores.isEmpty)
  }

  @Test(
    "Duplicate values under a constraint are refused, also in a sub-entity, and nothing is written",
    arguments: StoreKind.allCases.filter { $0 != .incremental })
  func uniqueness(_ kind: StoreKind) throws {
    let bench = try StoreKindBench(kind) {
      let model = CompanyModel.make()
      model.entitiesByName["Employee"]?.uniquenessConstraints = [["badge", "name"]]
      return model
    }
    let context = bench.context()
    context.make("Employee", ["name": "Ada", "badge": 1])
    context.make("Employee", ["name": "Ada"])
    context.make("Manager", ["name": "Ada"])
    try context.save()
    let before = try bench.contents()
    let second = context.make("Manager", ["name": "Ada", "badge": 1])
    context.make("Project", ["title": "P"])
    #expect { try context.save() } throws: { ($0 as NSError).code == NSManagedObjectConstraintMergeError }
    #expect(try bench.contents() == before)
    second["badge"] = 2
    try context.save()
    try bench.reopen()
    #expect(try bench.contents().count == before.count + 2)
    let third = bench.context()
    third.make("Employee", ["name": "Ada", "badge": 2])
    #expect { try third.save() } throws: { ($0 as NSError).code == NSManagedObjectConstraintMergeError }
  }

  @Test("A fetch of given objects finds none of another store, whose rows may have the same numbers")
  func objectsOfOtherStores() throws {
    let coordinator = NSPersistentStoreCoordinator(managedObjectModel: CompanyModel.make())
    for _ in 0..<2 {
      try coordinator.addPersistentStore(type: .inMemory, at: URL(fileURLWithPath: "/dev/null"))
    }
    let context = NSManagedObjectContext(.privateQueue)
    context.persistentStoreCoordinator = coordinator
    let tasks = coordinator.persistentStores.enumerated().map { number, store in
      let task = context.make("Task", ["title": "\(number)"])
      context.assign(task, to: store)
      return task
    }
    try context.save()
    #expect(Set(tasks.map(\.objectID.key.number)).count == 1)
    for task in tasks {
      #expect(try context.all("Task", by: "title", where: NSPredicate(format: "SELF IN %@", [task])) == [task])
    }
  }
}
