// OpenCoreData
// SPDX-License-Identifier: Apache-2.0

import CoreDataTestSupport
import Foundation
import Testing

@testable import CoreData

@Suite("When deletion rules are applied")
struct DeletionTimingTests {
  private static let kinds = StoreKind.allCases

  private struct Sample {
    let context: NSManagedObjectContext
    let project: NSManagedObject
    let tasks: [NSManagedObject]
    let member: NSManagedObject

    /// A project with two tasks, which it cascades to, and a member.
    init(_ bench: StoreKindBench, parent: NSManagedObjectContext? = nil, isSaved: Bool = true) throws {
      if let parent {
        context = NSManagedObjectContext(.privateQueue)
        context.parent = parent
      } else {
        context = bench.context()
      }
      context.propagatesDeletesAtEndOfEvent = false
      project = context.make("Project", ["title": "P"])
      tasks = ["a", "b"].map { [context] in context.make("Task", ["title": $0]) }
      member = context.make("Employee", ["name": "Ada"])
      project["tasks"] = NSOrderedSet(array: tasks)
      project["members"] = NSSet(array: [member])
      if isSaved { try context.save() } else { context.processPendingChanges() }
    }
  }

  /// The names of all objects in the store.
  private func names(_ bench: StoreKindBench) throws -> [String] {
    let context = bench.context()
    return try ["Department", "Employee", "Project", "Task"].flatMap { entity in
      try context.fetch(NSFetchRequest<NSManagedObject>(entityName: entity)).map { object in
        object.entity.attributesByName["name"] == nil ? "\(object["title"] ?? "-")" : "\(object["name"] ?? "-")"
      }
    }
  }

  @Test("Without propagation at the end of an event, a save applies them", arguments: kinds)
  func atSave(_ kind: StoreKind) throws {
    let bench = try StoreKindBench(kind)
    let sample = try Sample(bench)
    let context = sample.context
    context.delete(sample.project)
    for _ in 0..<2 {
      #expect(context.deletedObjects == [sample.project] && context.updatedObjects.isEmpty)
      #expect(
        sample.tasks.allSatisfy { !$0.isDeleted && !$0.hasChanges && $0["project"] as? NSObject == sample.project })
      #expect((sample.member["projects"] as? Set<NSManagedObject>)?.count == 1 && !sample.member.hasChanges)
      context.processPendingChanges()
    }
    try context.save()
    #expect(!context.hasChanges && sample.tasks.allSatisfy { $0.managedObjectContext == nil })
    #expect((sample.member["projects"] as? Set<NSManagedObject>)?.isEmpty == true)
    #expect(try names(bench) == ["Ada"])
  }

  @Test("New objects that are deleted before they were saved", arguments: [true, false])
  func new(endsEvent: Bool) throws {
    let bench = try StoreKindBench(.sqlite)
    let sample = try Sample(bench, isSaved: false)
    let context = sample.context
    context.delete(sample.project)
    if endsEvent { context.processPendingChanges() }
    #expect(context.deletedObjects.isEmpty && context.insertedObjects == Set(sample.tasks + [sample.member]))
    try context.save()
    #expect(!context.hasChanges && sample.project.managedObjectContext == nil)
    #expect((sample.member["projects"] as? Set<NSManagedObject>)?.isEmpty == true)
    #expect(try names(bench) == ["Ada"])
  }

  @Test("A child context hands its deletions on when it saves")
  func child() throws {
    let bench = try StoreKindBench(.sqlite)
    let parent = bench.context()
    let sample = try Sample(bench, parent: parent)
    try parent.save()
    sample.context.delete(sample.project)
    sample.context.processPendingChanges()
    #expect(sample.context.deletedObjects == [sample.project] && !parent.hasChanges)
    try sample.context.save()
    #expect(parent.deletedObjects.count == 3)
    try parent.save()
    #expect(try names(bench) == ["Ada"])
  }

  @Test("A deletion that is undone, or rolled back, before the save has no consequences", arguments: [true, false])
  func withdrawn(_ isUndone: Bool) throws {
    let bench = try StoreKindBench(.sqlite)
    let sample = try Sample(bench)
    let context = sample.context
    let before = try bench.contents()
    context.undoManager = UndoManager()
    context.delete(sample.project)
    context.processPendingChanges()
    if isUndone { context.undo() } else { context.rollback() }
    #expect(context.deletedObjects.isEmpty && sample.tasks.allSatisfy { !$0.isDeleted })
    try context.save()
    #expect(try bench.contents() == before)
  }

  @Test("What a save has deleted by cascading can be undone after it")
  func undoneAfterwards() throws {
    let bench = try StoreKindBench(.sqlite)
    let sample = try Sample(bench)
    let context = sample.context
    let before = try bench.contents()
    context.undoManager = UndoManager()
    context.delete(sample.project)
    try context.save()
    while context.undoManager?.canUndo == true { context.undo() }
    try context.save()
    #expect(try bench.contents() == before)
  }

  @Test("A denied deletion is refused by the save, which changes nothing")
  func denied() throws {
    let bench = try StoreKindBench(.sqlite)
    let context = bench.context()
    context.propagatesDeletesAtEndOfEvent = false
    let department = context.make("Department", ["name": "D"])
    let employee = context.make("Employee", ["name": "Ada", "department": department])
    try context.save()
    context.delete(department)
    #expect(context.saveCode() == NSValidationRelationshipDeniedDeleteError)
    #expect(department.isDeleted && employee["department"] as? NSObject == department)
    context.delete(employee)
    try context.save()
    #expect(try bench.contents().isEmpty)
  }
}
