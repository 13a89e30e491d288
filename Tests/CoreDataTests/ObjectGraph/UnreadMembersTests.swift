// OpenCoreData
// SPDX-License-Identifier: Apache-2.0

import CoreDataSQLite
import CoreDataTestSupport
import Foundation
import Testing

@testable import CoreData

/// Another process has the whole store for a moment, so that nothing can be read.
@Suite("Relationships whose members cannot be read for a moment")
struct UnreadMembersTests {
  private let folder: TemporaryStore
  private let coordinator: NSPersistentStoreCoordinator
  private let context = NSManagedObjectContext(.privateQueue)

  init() throws { try self.init(.cascadeDeleteRule) }

  private init(_ rule: NSDeleteRule) throws {
    var builder = ModelBuilder()
    builder.entity("Person", [.make("name", .stringAttributeType)])
    builder.entity("Task", [.make("title", .stringAttributeType)])
    builder.entity("Tag", [.make("name", .stringAttributeType)])
    builder.relate(.init("Person", "tasks", toMany: true, rule: rule), .init("Task", "owner"))
    builder.relate(.init("Person", "tags", toMany: true, ordered: true), .init("Tag", "people", toMany: true))
    folder = try TemporaryStore()
    coordinator = NSPersistentStoreCoordinator(managedObjectModel: builder.model())
    // With a rollback journal a writer keeps readers away.
    let options: [AnyHashable: Any] = [
      NSSQLitePragmasOption: ["journal_mode": "DELETE"], NSPersistentStoreTimeoutOption: 0.05,
    ]
    try coordinator.addPersistentStore(type: .sqlite, at: folder.url, options: options)
    context.persistentStoreCoordinator = coordinator
    let tags = ["t0", "t1", "t2"].map { context.make("Tag", ["name": $0]) }
    let person = context.make("Person", ["name": "Ada", "tags": NSOrderedSet(array: tags)])
    for title in ["a", "b"] { context.make("Task", ["title": title, "owner": person]) }
    try context.save()
    context.reset()
  }

  @discardableResult
  private func busy<Result>(_ body: () throws -> Result) throws -> Result {
    let other = try SQLiteConnection(url: folder.url, mode: .readWrite)
    defer { try? other.close() }  // Nothing is written.
    try other.execute("BEGIN EXCLUSIVE")
    defer { try? other.execute("ROLLBACK") }  // As above.
    return try body()
  }

  /// The person, whose row has been read.
  private func person(in context: NSManagedObjectContext? = nil) throws -> NSManagedObject {
    let person = try #require(try (context ?? self.context).all("Person").first)
    _ = person["name"]
    return person
  }

  /// The numbers of persons, of their tasks, of tasks without a person, and of all tasks.
  private func stored() throws -> [Int64] {
    let sql = """
      SELECT (SELECT COUNT(*) FROM ZPERSON), (SELECT COUNT(*) FROM ZTASK WHERE ZOWNER IN (SELECT Z_PK FROM ZPERSON)),
      (SELECT COUNT(*) FROM ZTASK WHERE ZOWNER IS NULL), (SELECT COUNT(*) FROM ZTASK)
      """
    return try folder.table(sql)[0].compactMap(\.integer)
  }

  private func saveFails() {
    let error = #expect(throws: NSError.self) { try context.save() }
    #expect(error?.code == NSPersistentStoreTimeoutError)
  }

  enum Order: CaseIterable { case deletedThenSaved, processed, membersRead, rowUnread, fetched }

  @Test(
    "The deletion rules are applied by the next save",
    arguments: [NSDeleteRule.cascadeDeleteRule, .nullifyDeleteRule, .denyDeleteRule], Order.allCases)
  func rules(_ rule: NSDeleteRule, _ order: Order) throws {
    let bench = try UnreadMembersTests(rule)
    let person = try bench.person()
    if order == .rowUnread { bench.context.refresh(person, mergeChanges: false) }
    try bench.busy {
      if order == .membersRead {
        #expect((person["tasks"] as? Set<NSManagedObject>)?.isEmpty == true)
      } else {
        bench.context.delete(person)
      }
      if order == .processed { bench.context.processPendingChanges() }
      if order == .fetched {
        #expect(throws: NSError.self) { try bench.context.all("Task", by: "title") }
      } else {
        bench.saveFails()
      }
    }
    if order == .membersRead {
      #expect((person["tasks"] as? Set<NSManagedObject>)?.count == 2)
      bench.context.delete(person)
    }
    #expect(bench.context.hasChanges)
    switch rule {
    case .denyDeleteRule:
      let error = #expect(throws: NSError.self) { try bench.context.save() }
      #expect(error?.code == NSValidationRelationshipDeniedDeleteError)
      #expect(try bench.stored() == [1, 2, 0, 2])
    case .nullifyDeleteRule:
      try bench.context.save()
      #expect(try bench.stored() == [0, 0, 2, 2])
    default:
      try bench.context.save()
      #expect(try bench.stored() == [0, 0, 0, 0])
    }
    #expect(bench.context.hasChanges == (rule == .denyDeleteRule))
  }

  @Test("What the program adds and removes meanwhile is added to what is stored, and removed from it")
  func changes() throws {
    let person = try person()
    let tag = try #require(try context.all("Tag").first { $0["name"] as? String == "t1" })
    let old = try #require(try context.all("Task", by: "title").first { $0["title"] as? String == "a" })
    _ = old["owner"]
    try busy {
      context.make("Task", ["title": "c", "owner": person])
      old["owner"] = nil
      person.mutableOrderedSetValue(forKey: "tags").remove(tag)
      saveFails()
    }
    try context.save()
    #expect(try stored() == [1, 2, 1, 3])
    let other = NSManagedObjectContext(.privateQueue)
    other.persistentStoreCoordinator = coordinator
    for found in [person, try self.person(in: other)] {
      let tasks = (found["tasks"] as? Set<NSManagedObject> ?? []).compactMap { $0["title"] as? String }
      let tags = (found["tags"] as? NSOrderedSet ?? []).compactMap { ($0 as? NSManagedObject)?["name"] as? String }
      #expect(tasks.sorted() == ["b", "c"] && tags == ["t0", "t2"])
    }
  }

  @Test("Rolling back, refreshing and undoing leave the members to be read")
  func discarded() throws {
    let person = try person()
    for discard in [context.rollback, { [context] in context.refresh(person, mergeChanges: true) }] {
      context.refresh(person, mergeChanges: false)
      _ = person["name"]
      try busy {
        #expect(person.mutableSetValue(forKey: "tasks").count == 0)
        person["name"] = "Bob"
        person.mutableSetValue(forKey: "tasks").add(context.make("Task"))
      }
      context.rollback()
      discard()
      #expect(person.mutableSetValue(forKey: "tasks").count == 2)
      // The error is told, though what it was about has been discarded.
      _ = try? context.save()
    }
    #expect(try stored() == [1, 2, 0, 2])
  }

  @Test("A member that leaves after a refresh does not come back, and children read the members themselves")
  func refreshed() throws {
    let person = try person()
    try busy {
      person.mutableSetValue(forKey: "tasks").add(context.make("Task", ["title": "c"]))
      saveFails()
    }
    let child = NSManagedObjectContext(.privateQueue)
    child.parent = context
    #expect((try self.person(in: child)["tasks"] as? Set<NSManagedObject>)?.count == 3)
    context.refresh(person, mergeChanges: true)
    let tasks = try #require(person["tasks"] as? Set<NSManagedObject>)
    #expect(tasks.count == 3)
    person.mutableSetValue(forKey: "tasks").remove(try #require(tasks.first { $0["title"] as? String == "a" }))
    try context.save()
    #expect(try stored() == [1, 2, 1, 3])
  }

  @Test("A child's changes that its parent could not make are made by the child's next save")
  func children() throws {
    let child = NSManagedObjectContext(.privateQueue)
    child.parent = context
    let mine = try person(in: child)
    let tags = try #require(mine["tags"] as? NSOrderedSet).array
    context.refreshAllObjects()
    _ = try person()
    mine["tags"] = NSOrderedSet(array: [tags[2], tags[0], tags[1]])
    try busy { #expect(throws: NSError.self) { try child.save() } }
    #expect(child.hasChanges)
    for save in [child.save, context.save, child.save, context.save] {
      // The parent tells of the error, too.
      try? save()
    }
    #expect(!child.hasChanges && !context.hasChanges)
    context.reset()
    let stored = try person()["tags"] as? NSOrderedSet ?? []
    #expect(stored.compactMap { ($0 as? NSManagedObject)?["name"] as? String } == ["t2", "t0", "t1"])
  }
}
