// OpenCoreData
// SPDX-License-Identifier: Apache-2.0

import CoreData
import CoreDataTestSupport
import Foundation
import Testing

@Suite("Undo in a context")
struct ContextUndoTests {
  private let store: TemporaryStore
  private let context: NSManagedObjectContext

  init() throws {
    store = try TemporaryStore()
    context = try store.context(CompanyModel.make())
    context.undoManager = UndoManager()
  }

  @Test("A context has no undo manager by default, and undo does nothing then")
  func none() throws {
    let plain = try store.context(CompanyModel.make())
    #expect(plain.undoManager == nil)
    let task = plain.make("Task", ["title": "a"])
    plain.undo()
    #expect(task["title"] as? String == "a")
  }

  @Test("The undo manager undoes what the context has not processed yet")
  func unprocessed() throws {
    let manager = try #require(context.undoManager)
    let task = context.make("Task", ["title": "a"])
    try context.save()
    manager.removeAllActions()
    task["title"] = "b"
    manager.undo()
    #expect(task["title"] as? String == "a" && manager.canRedo)
    manager.redo()
    #expect(task["title"] as? String == "b")
  }

  @Test("A group of the program has the changes made in it", arguments: [true, false])
  func programGroups(groupsByEvent: Bool) throws {
    let manager = try #require(context.undoManager)
    manager.groupsByEvent = groupsByEvent
    manager.disableUndoRegistration()
    let task = context.make("Task", ["title": "a"])
    try context.save()
    manager.enableUndoRegistration()
    for title in ["b", "c"] {
      manager.beginUndoGrouping()
      task["title"] = title
      manager.endUndoGrouping()
      // With a group for each event, it has those of the program.
      context.processPendingChanges()
    }
    context.undo()
    #expect(task["title"] as? String == "b")
    context.undo()
    #expect(task["title"] as? String == "a" && !context.hasChanges)
    context.redo()
    #expect(task["title"] as? String == "b")
  }

  @Test("Changes before a group stay outside of it, and it can be undone by itself")
  func cancelledGroup() throws {
    let manager = try #require(context.undoManager)
    let task = context.make("Task", ["title": "a"])
    try context.save()
    manager.removeAllActions()
    manager.beginUndoGrouping()
    task["title"] = "b"
    manager.beginUndoGrouping()
    task["title"] = "c"
    context.delete(task)
    manager.endUndoGrouping()
    manager.undoNestedGroup()
    #expect(task["title"] as? String == "b" && !task.isDeleted)
    manager.endUndoGrouping()
    context.undo()
    #expect(task["title"] as? String == "a" && !context.hasChanges)
  }

  @Test("A context forgets the manager that it had")
  func formerManager() throws {
    let former = try #require(context.undoManager)
    context.undoManager = UndoManager()
    let task = context.make("Task", ["title": "a"])
    former.beginUndoGrouping()
    former.endUndoGrouping()
    former.undo()
    #expect(task["title"] as? String == "a")
    context.undo()
    #expect(!context.hasChanges)
  }

  @Test("A value goes back to what it was, and the object is unchanged then")
  func values() throws {
    let task = context.make("Task", ["title": "a"])
    try context.save()
    context.undoManager?.removeAllActions()
    task["title"] = "b"
    context.processPendingChanges()
    task["title"] = "c"
    context.undo()
    #expect(task["title"] as? String == "b" && task.hasChanges)
    context.undo()
    #expect(task["title"] as? String == "a" && !task.hasChanges && !context.hasChanges)
    context.undo()
    context.redo()
    context.redo()
    #expect(task["title"] as? String == "c" && task.hasChanges && context.updatedObjects == [task])
    #expect(context.undoManager?.canRedo == false)
    try context.save()
    context.undo()
    #expect(task["title"] as? String == "b" && task.hasChanges)
    try context.save()
    #expect(try store.context(CompanyModel.make()).all("Task", by: "title").first?["title"] as? String == "b")
  }

  @Test("An insertion goes away with its relationships, and comes back with them")
  func insertion() throws {
    let project = context.make("Project", ["title": "P"])
    context.processPendingChanges()
    let task = context.make("Task", ["title": "t", "project": project])
    context.undo()
    #expect(task.managedObjectContext == nil && (project["tasks"] as? NSOrderedSet)?.count == 0)
    #expect(context.insertedObjects == [project])
    context.redo()
    #expect(task.managedObjectContext === context && task.isInserted)
    #expect((project["tasks"] as? NSOrderedSet)?.array as? [NSManagedObject] == [task])
    #expect(task["project"] as? NSManagedObject === project && task["title"] as? String == "t")
    try context.save()
    context.undo()
    #expect(task.isDeleted && context.deletedObjects == [task])
    try context.save()
    #expect(try store.context(CompanyModel.make()).all("Task", by: "title").isEmpty)
    let id = task.objectID
    context.redo()
    #expect(task.isInserted && task.objectID == id)
    try context.save()
    let read = try store.context(CompanyModel.make()).all("Task", by: "title")
    #expect(read.first?["project"] as? NSManagedObject != nil)
    #expect(read.first?.objectID.uriRepresentation().lastPathComponent == id.uriRepresentation().lastPathComponent)
  }

  @Test("A deletion comes back with all that its rules have deleted and nullified", arguments: [false, true])
  func deletion(isSaved: Bool) throws {
    let project = context.make("Project", ["title": "P"])
    let tasks = ["x", "y", "z"].map { context.make("Task", ["title": $0]) }
    project["tasks"] = NSOrderedSet(array: tasks)
    let ada = context.make("Employee", ["name": "Ada"])
    ada["projects"] = NSSet(object: project)
    ada["favourites"] = NSOrderedSet(array: [tasks[2], tasks[0]])
    try context.save()
    context.delete(project)
    context.processPendingChanges()
    #expect(context.deletedObjects.count == 4 && (ada["favourites"] as? NSOrderedSet)?.count == 0)
    if isSaved { try context.save() }
    context.undo()
    #expect(context.deletedObjects.isEmpty && !project.isDeleted && project["title"] as? String == "P")
    #expect((project["tasks"] as? NSOrderedSet)?.array as? [NSManagedObject] == tasks)
    #expect((ada["favourites"] as? NSOrderedSet)?.array as? [NSManagedObject] == [tasks[2], tasks[0]])
    #expect((ada["projects"] as? Set<NSManagedObject>) == [project])
    if !isSaved { #expect(!context.hasChanges) }
    try context.save()
    let read = try #require(try store.context(CompanyModel.make()).all("Employee").first)
    #expect(
      (read["favourites"] as? NSOrderedSet)?.compactMap { ($0 as? NSManagedObject)?["title"] as? String } == ["z", "x"])
    context.redo()
    #expect(project.isDeleted)
    try context.save()
    #expect(try store.context(CompanyModel.make()).all("Task", by: "title").isEmpty)
  }

  @Test("Groups of the program's own are undone as one; what is not registered stays")
  func grouping() throws {
    let manager = try #require(context.undoManager)
    manager.groupsByEvent = false
    manager.beginUndoGrouping()
    let task = context.make("Task", ["title": "a"])
    context.processPendingChanges()
    task["title"] = "b"
    context.processPendingChanges()
    manager.setActionName("Edit")
    manager.endUndoGrouping()
    manager.disableUndoRegistration()
    let quiet = context.make("Task", ["title": "quiet"])
    context.processPendingChanges()
    manager.enableUndoRegistration()
    #expect(manager.undoActionName == "Edit")
    context.undo()
    #expect(context.insertedObjects == [quiet])
    context.redo()
    #expect(task["title"] as? String == "b" && context.insertedObjects == [quiet, task])
  }

  @Test("A block of perform is one step")
  func blocks() async throws {
    let task = await context.perform { context.make("Task", ["title": "a"]).objectID }
    await context.perform {
      context.object(with: task)["title"] = "b"
      context.object(with: task)["title"] = "c"
    }
    let title = await context.perform {
      context.undo()
      return context.object(with: task)["title"] as? String
    }
    #expect(title == "a" && context.undoManager?.groupingLevel == 0)
  }

  @Test("Rollback and reset forget what could be undone")
  func forgetting() throws {
    let task = context.make("Task", ["title": "a"])
    try context.save()
    task["title"] = "b"
    context.processPendingChanges()
    context.rollback()
    #expect(context.undoManager?.canUndo == false && task["title"] as? String == "a")
    task["title"] = "b"
    context.processPendingChanges()
    context.reset()
    #expect(context.undoManager?.canUndo == false)
    context.undo()
  }

  @Test("What another context has saved since stays")
  func merging() throws {
    let ada = context.make("Employee", ["name": "Ada", "age": 36])
    let department = context.make("Department", ["name": "D"])
    try context.save()
    ada["age"] = 37
    department.mutableSetValue(forKey: "employees").add(ada)
    context.processPendingChanges()
    let other = NSManagedObjectContext(.privateQueue)
    other.persistentStoreCoordinator = context.persistentStoreCoordinator
    try other.existingObject(with: ada.objectID)["name"] = "Ada L."
    try other.existingObject(with: department.objectID).mutableSetValue(forKey: "employees")
      .add(other.make("Employee", ["name": "Bob"]))
    try other.save()
    context.refresh(ada, mergeChanges: true)
    context.refresh(department, mergeChanges: true)
    #expect(ada["age"] as? Int == 37 && ada["name"] as? String == "Ada L.")
    context.undo()
    #expect(ada["age"] as? Int == 36 && ada["name"] as? String == "Ada L.")
    let names = (department["employees"] as? Set<NSManagedObject> ?? []).map { $0["name"] as? String }
    #expect(names == ["Bob"])
  }

  @Test("Objects hear of it")
  func events() throws {
    final class Listener: NSManagedObject {
      nonisolated(unsafe) static var heard: [NSSnapshotEventType] = []

      override func awake(fromSnapshotEvents flags: NSSnapshotEventType) { Listener.heard.append(flags) }
    }
    var builder = ModelBuilder()
    builder.entity("Listener", [.make("name", .stringAttributeType)]).managedObjectClassName = "Listener"
    let context = try TemporaryStore().context(builder.model())
    context.undoManager = UndoManager()
    let object = Listener(context: context)
    try context.save()
    object["name"] = "a"
    context.undo()
    #expect(Listener.heard == [.undoUpdate])
    context.delete(object)
    context.undo()
    object["name"] = "b"
    context.rollback()
    object["name"] = "c"
    context.refresh(object, mergeChanges: true)
    #expect(Listener.heard == [.undoUpdate, .undoDeletion, .rollback, .refresh])
  }

  @Test(
    "Undo restores relationships without an inverse to an object whose deletion it undoes too",
    arguments: [true, false])
  func oneWay(isReplaced: Bool) throws {
    let tasks = ["x", "y"].map { context.make("Task", ["title": $0]) }
    let department = context.make("Department", ["archive": Set(tasks)])
    try context.save()
    let manager = try #require(context.undoManager)
    manager.removeAllActions()
    manager.groupsByEvent = false
    manager.beginUndoGrouping()
    context.delete(tasks[0])
    context.processPendingChanges()
    department["archive"] = isReplaced ? Set([tasks[1]]) : Set<NSManagedObject>()
    context.processPendingChanges()
    manager.endUndoGrouping()
    context.undo()
    #expect(!tasks[0].isDeleted && department["archive"] as? Set<NSManagedObject> == Set(tasks))
    try context.save()
    let stored = try store.context(CompanyModel.make()).all("Department").first
    #expect((stored?["archive"] as? Set<NSManagedObject>)?.count == 2)
    context.redo()
    #expect(tasks[0].isDeleted && (department["archive"] as? Set<NSManagedObject>)?.count == (isReplaced ? 1 : 0))
  }
}
