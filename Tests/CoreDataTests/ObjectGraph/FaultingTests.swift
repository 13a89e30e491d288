// OpenCoreData
// SPDX-License-Identifier: Apache-2.0

import CoreDataTestSupport
import Foundation
import Testing

@testable import CoreData

@Suite("Faults, and what objects keep alive")
struct FaultingTests {
  final class Worker: NSManagedObject {
    var note = ""
  }

  private static func model() -> NSManagedObjectModel {
    let model = CompanyModel.make()
    for entity in model.entities where ["Employee", "Task"].contains(entity.name) {
      entity.managedObjectClassName = "Worker"
    }
    return model
  }

  @Test("After reset() objects are faults without a context")
  func reset() throws {
    let context = try TemporaryStore().context(CompanyModel.make())
    let saved = context.make("Task", ["title": "a"])
    try context.save()
    let new = context.make("Task", ["title": "b"])
    let known = context.make("Task", ["title": "c"])
    _ = known.objectID
    context.reset()
    for object in [saved, new, known] {
      #expect(object.isFault && object.managedObjectContext == nil)
      #expect(!object.hasChanges && !object.isInserted)
    }
    #expect(context.registeredObjects.isEmpty && !context.hasChanges)
    #expect(try context.all("Task", by: "title").map { $0["title"] as? String } == ["a"])
  }

  @Test("A fetched fault that has not fired has no values once its context is gone")
  func orphan() throws {
    let store = try TemporaryStore()
    let writer = try store.context(CompanyModel.make())
    writer.make("Task", ["title": "a"])
    try writer.save()
    func fetched() throws -> NSManagedObject {
      let context = NSManagedObjectContext(.privateQueue)
      context.persistentStoreCoordinator = writer.persistentStoreCoordinator
      return try #require(try context.all("Task", by: "title").first)
    }
    let fault = try fetched()
    #expect(fault.isFault && fault.managedObjectContext == nil)
    #expect(fault["title"] == nil && !fault.isFault)
  }

  @Test("An object whose context was reset, or is gone, has no values, takes some, and is not saved")
  func withoutContext() throws {
    let store = try TemporaryStore()
    let context = try store.context(CompanyModel.make())
    let project = context.make("Project", ["title": "P"])
    let task = context.make("Task", ["title": "a", "project": project])
    try context.save()
    context.reset()
    #expect(task["title"] == nil && task["project"] == nil)
    #expect((project["tasks"] as? NSOrderedSet)?.count == 0)
    #expect((project["members"] as? NSSet)?.count == 0)
    #expect(project.mutableOrderedSetValue(forKey: "tasks").count == 0)
    task["title"] = "b"
    task["project"] = project
    #expect(task["title"] as? String == "b")
    #expect(!context.hasChanges)
    try context.save()
    #expect(try context.all("Task", by: "title").map { $0["title"] as? String } == ["a"])
  }

  @Test("refresh() without merging turns a new object into a fault that is not saved, and that nothing leads to")
  func refreshingInserted() throws {
    let context = try TemporaryStore().context(CompanyModel.make())
    let project = context.make("Project", ["title": "P"])
    let task = context.make("Task", ["title": "a", "project": project])
    context.refresh(task, mergeChanges: false)
    #expect(task.isFault && !task.isInserted && !task.hasChanges)
    #expect((project["tasks"] as? NSOrderedSet)?.count == 0)
    try context.save()
    #expect(try context.count(for: NSFetchRequest<NSManagedObject>(entityName: "Task")) == 0)
    #expect(task["title"] == nil)
    try context.save()
    // Again, whatever was asked in between.
    let other = context.make("Task", ["title": "b"])
    for _ in 0..<2 {
      context.refresh(other, mergeChanges: false)
      #expect(other.isFault)
      other.willAccessValue(forKey: nil)
      #expect(!other.isFault)
    }
    context.refresh(other, mergeChanges: true)
    #expect(!other.isFault)
  }

  @Test("Objects that a relationship was read as, or set to, live as long as its object")
  func holding() throws {
    let store = try TemporaryStore()
    do {
      let context = try store.context(CompanyModel.make())
      let department = context.make("Department", ["name": "D"])
      for name in ["a", "b", "c"] { context.make("Employee", ["name": name, "department": department]) }
      try context.save()
    }
    let context = try store.context(Self.model())
    func workers(_ object: NSManagedObject) -> Set<Worker> { object["employees"] as? Set<Worker> ?? [] }
    let department = try #require(try context.all("Department").first)
    ManagedObjectClasses.offer(Worker.self, for: try #require(context.all("Employee").first?.entity))
    context.reset()
    let read = try #require(try context.all("Department").first)
    for worker in workers(read) { worker.note = worker["name"] as? String ?? "" }
    #expect(workers(read).map(\.note).sorted() == ["a", "b", "c"])
    #expect(workers(read).allSatisfy { !$0.isFault })
    do {
      let members = read.mutableSetValue(forKey: "employees")
      #expect(members.compactMap { ($0 as? Worker)?.note }.sorted() == ["a", "b", "c"])
    }
    // Turning into a fault lets them go.
    context.refresh(read, mergeChanges: false)
    #expect(workers(read).allSatisfy { $0.note.isEmpty })
    let first = try #require(workers(read).first)
    do {
      let contract = context.make("Contract", ["number": 7])
      first["contract"] = contract
      try context.save()
    }
    weak let contract = first["contract"] as? NSManagedObject
    #expect(contract != nil)
    context.refresh(first, mergeChanges: false)
    #expect(contract == nil)
    withExtendedLifetime(department) {}
  }

  @Test("Objects that hold each other go away with their context, and after reset()")
  func cycles() throws {
    let store = try TemporaryStore()
    weak var department: NSManagedObject?
    weak var employee: NSManagedObject?
    weak var unsaved: NSManagedObject?
    func fill(_ context: NSManagedObjectContext) throws {
      let made = context.make("Department", ["name": "D"])
      let ada = context.make("Employee", ["name": "Ada", "department": made])
      try context.save()
      _ = made["employees"]
      let bob = context.make("Employee", ["name": "Bob", "department": made])
      bob["friends"] = NSSet(array: [ada])
      _ = ada["friends"]
      (department, employee, unsaved) = (made, ada, bob)
    }
    do {
      let coordinator = NSPersistentStoreCoordinator(managedObjectModel: CompanyModel.make())
      try coordinator.addPersistentStore(type: .sqlite, at: store.url)
      var context: NSManagedObjectContext? = NSManagedObjectContext(.privateQueue)
      context?.persistentStoreCoordinator = coordinator
      if let context { try fill(context) }
      #expect(department != nil && employee != nil && unsaved != nil)
      context = nil
      #expect(department == nil && employee == nil && unsaved == nil)
      let second = NSManagedObjectContext(.privateQueue)
      second.persistentStoreCoordinator = coordinator
      try fill(second)
      #expect(department != nil && employee != nil && unsaved != nil)
      second.reset()
      #expect(department == nil && employee == nil && unsaved == nil)
    }
  }

  @Test("A long chain of objects that hold each other is let go of without exhausting the stack")
  func chain() throws {
    let store = try TemporaryStore()
    let count = 50_000
    var builder = ModelBuilder()
    builder.entity("Node", [.make("number", .integer64AttributeType)])
    builder.relate(.init("Node", "next"), .init("Node", "previous"))
    let context = try store.context(builder.model())
    var first: NSManagedObject? = context.make("Node", ["number": 0])
    var last = first
    for number in 1..<count {
      let node = context.make("Node", ["number": number])
      last?["next"] = node
      last = node
    }
    try context.save()
    weak let end = last
    last = nil
    #expect(end != nil)
    first = nil
    #expect(end == nil)
  }
}
