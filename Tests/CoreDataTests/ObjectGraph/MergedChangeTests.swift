// OpenCoreData
// SPDX-License-Identifier: Apache-2.0

import CoreDataTestSupport
import Foundation
import Testing

@testable import CoreData

extension KettleTests {
  /// What merges and rows that are gone mean for undo, deletions and the program's methods.
  @Suite("Merged changes", .serialized)
  struct MergedChangeTests {
    private static func model() -> NSManagedObjectModel {
      var builder = ModelBuilder()
      builder.entity("Department", [.make("name", .stringAttributeType)])
      builder.entity("Employee", [.make("name", .stringAttributeType)])
      builder.entity("Task", [.make("name", .stringAttributeType)])
      builder.relate(.init("Department", "employees", toMany: true), .init("Employee", "department"))
      builder.relate(.init("Employee", "tasks", toMany: true, rule: .cascadeDeleteRule), .init("Task", "employee"))
      return builder.model()
    }

    /// What another context changes about an employee that this one has deleted.
    enum Remote: String, CaseIterable {
      case name, department, noDepartment, task
    }

    /// Makes a change in a context of its own, and returns the notification of its save.
    private func save(_ bench: StoreKindBench, _ change: (NSManagedObjectContext) throws -> Void) throws -> Notification
    {
      let other = bench.context()
      let log = NotificationLog(other, NSManagedObjectContext.didSaveObjectsNotification)
      try change(other)
      try other.save()
      return Notification(
        name: NSManagedObjectContext.didSaveObjectsNotification, object: other,
        userInfo: log.take().last)
    }

    private func names(_ members: Any?) -> [String] {
      (members as? Set<NSManagedObject> ?? []).compactMap { $0["name"] as? String }.sorted()
    }

    @Test(
      "A merge of what others have changed about a deleted object registers nothing to undo, and a save takes it along",
      arguments: Remote.allCases, [true, false])
    func undo(_ remote: Remote, byEvent: Bool) throws {
      let bench = try StoreKindBench(.sqlite, Self.model)
      let context = bench.context()
      context.mergePolicy = NSMergePolicy.mergeByPropertyObjectTrump
      let manager = UndoManager()
      context.undoManager = manager
      let one = context.make("Department", ["name": "one"])
      let two = context.make("Department", ["name": "two"])
      let employee = context.make("Employee", ["name": "Ada", "department": one])
      try context.save()
      _ = (names(one["employees"]), names(two["employees"]), names(employee["tasks"]))
      context.delete(employee)
      context.processPendingChanges()
      manager.removeAllActions()
      manager.groupsByEvent = byEvent
      let notification = try save(bench) { other in
        let theirs = other.object(with: employee.objectID)
        switch remote {
        case .name: theirs["name"] = "Bob"
        case .department: theirs["department"] = other.object(with: two.objectID)
        case .noDepartment: theirs["department"] = nil
        case .task: other.make("Task", ["name": "T", "employee": theirs])
        }
      }
      context.mergeChanges(fromContextDidSave: notification)
      context.processPendingChanges()
      #expect(!manager.canUndo && employee.isDeleted)
      #expect(names(two["employees"]).isEmpty && names(one["employees"]).isEmpty)
      try context.save()
      #expect(!manager.canUndo)
      #expect(try bench.context().all("Employee").isEmpty && bench.context().all("Task").isEmpty)
      #expect(try bench.context().all("Department").allSatisfy { names($0["employees"]).isEmpty })
    }

    @Test("Undoing a deletion after such a merge loses nothing that others have added")
    func undoneDeletion() throws {
      let bench = try StoreKindBench(.sqlite, Self.model)
      let context = bench.context()
      context.mergePolicy = NSMergePolicy.mergeByPropertyObjectTrump
      context.undoManager = UndoManager()
      let employee = context.make("Employee", ["name": "Ada"])
      context.make("Task", ["name": "mine", "employee": employee])
      try context.save()
      context.undoManager?.removeAllActions()
      context.delete(employee)
      context.processPendingChanges()
      let notification = try save(bench) { other in
        other.make("Task", ["name": "theirs", "employee": other.object(with: employee.objectID)])
      }
      context.mergeChanges(fromContextDidSave: notification)
      context.processPendingChanges()
      context.undo()
      #expect(!employee.isDeleted)
      try context.save()
      let tasks = try bench.context().all("Task")
      #expect(tasks.map { $0["name"] as? String } == ["mine", "theirs"])
      #expect(try names(#require(bench.context().all("Employee").first)["tasks"]) == ["mine", "theirs"])
    }

    @Test("Undo of an event in which a merge came reverses only what the program has changed")
    func eventWithMerge() throws {
      let bench = try StoreKindBench(.sqlite, Self.model)
      let context = bench.context()
      context.undoManager = UndoManager()
      let employee = context.make("Employee", ["name": "Ada"])
      let gone = context.make("Task", ["name": "gone", "employee": employee])
      try context.save()
      context.undoManager?.removeAllActions()
      // An event of its own.
      context.make("Task", ["name": "first", "employee": employee])
      context.processPendingChanges()
      let mine = context.make("Task", ["name": "mine", "employee": employee])
      let notification = try save(bench) { other in
        other.make("Task", ["name": "theirs", "employee": other.object(with: employee.objectID)])
        other.delete(other.object(with: gone.objectID))
      }
      context.mergeChanges(fromContextDidSave: notification)
      #expect(names(employee["tasks"]) == ["first", "mine", "theirs"])
      context.undo()
      #expect(names(employee["tasks"]) == ["first", "theirs"] && mine.managedObjectContext == nil)
      try context.save()
      #expect(try names(#require(bench.context().all("Employee").first)["tasks"]) == ["first", "theirs"])
    }

    @Test(
      "A merged deletion calls prepareForDeletion() once, with the values that have been read",
      arguments: KettleTests.kinds)
    func preparing(_ kind: StoreKind) throws {
      let bench = try StoreKindBench(kind, Kettle.model)
      let (context, kettle) = try KettleTests.fault(bench)
      // Not one that is about to be deleted here, which has been prepared.
      let own = context.make("Kettle", ["name": "own"])
      let unread = context.make("Kettle", ["name": "unread"])
      try context.save()
      context.refresh(unread, mergeChanges: false)
      #expect(kettle["name"] as? String == "Ada")
      var prepared: [String] = []
      Kettle.preparing = { kettle in
        #expect(kettle.managedObjectContext != nil)
        if kettle.managedObjectContext === context { prepared.append(kettle["name"] as? String ?? "-") }
      }
      defer { Kettle.preparing = nil }
      context.delete(own)
      #expect(prepared == ["own"])
      prepared = []
      let notification = try save(bench) { other in
        for object in [kettle, own, unread] { other.delete(other.object(with: object.objectID)) }
      }
      context.mergeChanges(fromContextDidSave: notification)
      #expect(prepared.sorted() == ["-", "Ada"])
      #expect(kettle.isDeleted && kettle.managedObjectContext == nil && !context.hasChanges)
    }

    @Test(
      "A fault whose row is gone is among the deleted objects until the next save", arguments: KettleTests.kinds,
      [true, false])
    func inaccessible(_ kind: StoreKind, rollsBack: Bool) throws {
      let bench = try StoreKindBench(kind, Kettle.model)
      let (context, kettle) = try KettleTests.fault(bench)
      _ = try save(bench) { other in other.delete(other.object(with: kettle.objectID)) }
      let saved = NotificationLog(context, NSManagedObjectContext.didSaveObjectsNotification)
      let changed = NotificationLog(context)
      #expect(!context.hasChanges)
      #expect(kettle["name"] == nil && kettle.isDeleted)
      #expect(context.deletedObjects == [kettle] && context.hasChanges && context.updatedObjects.isEmpty)
      context.processPendingChanges()
      #expect(changed.take().first?[NSDeletedObjectsKey] as? Set<NSManagedObject> == [kettle])
      if rollsBack {
        context.rollback()
        #expect(context.deletedObjects.isEmpty && !context.hasChanges && kettle.isFault)
        #expect(kettle["name"] == nil && context.deletedObjects == [kettle])
      }
      context.make("Stove", ["name": "T"])
      try context.save()
      #expect(context.deletedObjects.isEmpty && !context.hasChanges && kettle.managedObjectContext == nil)
      // This context has not deleted the row.
      #expect(saved.take().first?[NSDeletedObjectsKey] == nil)
    }
  }
}
