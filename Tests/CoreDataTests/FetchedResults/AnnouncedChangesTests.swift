// OpenCoreData
// SPDX-License-Identifier: Apache-2.0

import CoreDataTestSupport
import Foundation
import Testing

@testable import CoreData

/// A list of employees that a controller keeps up to date, by age.
private final class EmployeeList {
  private let mirror = FetchedListMirror()
  private let controller: NSFetchedResultsController<NSManagedObject>

  init(_ context: NSManagedObjectContext, _ format: String = "age < 50") throws {
    let request = NSFetchRequest<NSManagedObject>(entityName: "Employee")
    request.predicate = NSPredicate(format: format)
    request.sortDescriptors = ["age", "name"].map { NSSortDescriptor(key: $0, ascending: true) }
    controller = NSFetchedResultsController(
      fetchRequest: request, managedObjectContext: context, sectionNameKeyPath: nil, cacheName: nil)
    controller.delegate = mirror
    try controller.performFetch()
    mirror.show(controller)
  }

  /// The names in the list, after a check that a fetch finds the same, and that the delegate was told.
  func names(_ comment: Comment = "", sourceLocation: SourceLocation = #_sourceLocation) throws -> [String] {
    controller.managedObjectContext.processPendingChanges()
    let fetched = try controller.managedObjectContext.fetch(controller.fetchRequest)
    #expect(controller.fetchedObjects == fetched, comment, sourceLocation: sourceLocation)
    #expect(
      mirror.sections == FetchedListMirror.sections(of: controller) && mirror.problems == [], comment,
      sourceLocation: sourceLocation)
    return fetched.map { $0["name"] as? String ?? "-" }
  }
}

@Suite("Everything that changes objects of a context is announced")
struct AnnouncedChangesTests {
  private let store: TemporaryStore
  private let context: NSManagedObjectContext

  init() throws {
    store = try TemporaryStore()
    context = try store.context(Self.model())
  }

  private static func model() -> NSManagedObjectModel {
    let model = CompanyModel.make()
    model.entitiesByName["Employee"]?.uniquenessConstraints = [["badge"]]
    return model
  }

  private func employee(_ name: String, age: Int, badge: Int? = nil) -> NSManagedObject {
    let object = context.make("Employee", ["name": name, "age": age])
    object["badge"] = badge
    return object
  }

  private func changeElsewhere(_ change: (NSManagedObject, NSManagedObjectContext) -> Void) throws {
    let other = try store.context(Self.model())
    for object in try other.all("Employee") { change(object, other) }
    try other.save()
  }

  static let policies = [
    NSMergePolicy.mergeByPropertyObjectTrump, .mergeByPropertyStoreTrump, .overwrite, .rollback,
  ]

  @Test("New objects that a policy merges into stored ones with the same unique values", arguments: policies)
  func duplicates(policy: NSMergePolicy) throws {
    let stored = employee("a", age: 1, badge: 7)
    try context.save()
    context.mergePolicy = policy
    let child = NSManagedObjectContext(concurrencyType: .privateQueueConcurrencyType)
    child.parent = context
    for isChild in [false, true] {
      let list = try EmployeeList(context)
      let source = isChild ? child : context
      try source.performAndWait {
        for (name, badge) in [("a", 7), isChild ? ("c", 9) : ("b", 8)] {
          source.make("Employee", ["name": name, "age": isChild ? 5 : 3, "badge": badge])
        }
        if isChild { try source.save() }
      }
      let log = NotificationLog(context)
      try context.save()
      #expect(try list.names().sorted() == (isChild ? ["a", "b", "c"] : ["a", "b"]))
      #expect(log.take().contains { ($0[NSDeletedObjectsKey] as? Set<NSManagedObject>)?.count == 1 })
      let isKept = policy == .mergeByPropertyStoreTrump || policy == .rollback
      #expect(stored["age"] as? Int == (isKept ? 1 : isChild ? 5 : 3) && !context.hasChanges)
    }
  }

  @Test("Values of rows that others have changed", arguments: policies)
  func conflicts(policy: NSMergePolicy) throws {
    let object = employee("a", age: 1)
    _ = employee("b", age: 2)
    try context.save()
    context.mergePolicy = policy
    let list = try EmployeeList(context)
    object["steps"] = 5
    context.processPendingChanges()
    try changeElsewhere { object, _ in if object["name"] as? String == "a" { object["age"] = 99 } }
    try context.save()
    // Only this policy writes the values that the context has not changed.
    #expect(try list.names() == (policy == .overwrite ? ["a", "b"] : ["b"]))
  }

  @Test("Objects whose rows others have deleted, and deleted objects that a policy keeps", arguments: policies)
  func missing(policy: NSMergePolicy) throws {
    let (changed, deleted) = (employee("changed", age: 1), employee("deleted", age: 2))
    try context.save()
    context.mergePolicy = policy
    let list = try EmployeeList(context)
    changed["steps"] = 5
    context.delete(deleted)
    context.processPendingChanges()
    #expect(try list.names() == ["changed"])
    try changeElsewhere { object, context in
      if object["name"] as? String == "changed" { context.delete(object) } else { object["age"] = 9 }
    }
    let log = NotificationLog(context)
    try context.save()
    let expected = policy == .overwrite ? ["changed"] : policy == .rollback ? ["deleted"] : []
    #expect(try list.names() == expected)
    let keys = Set(log.take().flatMap(\.keys).compactMap { $0 as? String })
    #expect(keys.contains(NSInsertedObjectsKey) == (policy == .rollback))
    #expect(keys.contains(NSDeletedObjectsKey) == (policy != .overwrite))
  }

  @Test("Values of the parent that a child's policy keeps, and objects that the parent has deleted")
  func parents() throws {
    let (kept, deleted) = (employee("kept", age: 1), employee("deleted", age: 2))
    try context.save()
    let child = NSManagedObjectContext(concurrencyType: .privateQueueConcurrencyType)
    child.parent = context
    child.mergePolicy = NSMergePolicy.mergeByPropertyStoreTrump
    try child.performAndWait {
      let list = try EmployeeList(child)
      for id in [kept, deleted].map(\.objectID) { child.object(with: id)["age"] = 40 }
      #expect(try list.names() == ["deleted", "kept"])
      context.performAndWait {
        kept["age"] = 60
        context.delete(deleted)
        context.processPendingChanges()
      }
      try child.save()
      #expect(try list.names() == [])
    }
  }

  @Test("What observers and validation change during a save, in one event after another")
  func duringSave() throws {
    final class Aging: NSManagedObject {
      override func validateForUpdate() throws {
        if value(forKey: "steps") as? Int == 1 { setValue(80, forKey: "age") }
        try super.validateForUpdate()
      }
    }
    let model = Self.model()
    model.entitiesByName["Employee"]?.managedObjectClassName = "Aging"
    ManagedObjectClasses.offer(Aging.self, for: try #require(model.entitiesByName["Employee"]))
    let context = try TemporaryStore().context(model)
    let objects = ["a", "b"].map { context.make("Employee", ["name": $0, "age": 1]) }
    try context.save()
    let list = try EmployeeList(context)
    final class Count: @unchecked Sendable { var value = 0 }
    let count = Count()
    let observer = NotificationCenter.default.addObserver(
      forName: NSManagedObjectContext.didChangeObjectsNotification, object: context, queue: nil
    ) { [unowned context] _ in
      count.value += 1
      if count.value < 5 { context.make("Employee", ["name": "new \(count.value)", "age": count.value]) }
    }
    defer { NotificationCenter.default.removeObserver(observer) }
    objects[0]["steps"] = 1
    try context.save()
    #expect(!context.hasChanges && count.value >= 5)
    #expect(try list.names() == ["b", "new 1", "new 2", "new 3", "new 4"])
  }

  @Test("An observer that goes on changing objects makes the save fail")
  func endless() throws {
    nonisolated(unsafe) let task = context.make("Task")
    try context.save()
    nonisolated(unsafe) var number = 0
    let observer = NotificationCenter.default.addObserver(
      forName: NSManagedObjectContext.didChangeObjectsNotification, object: context, queue: nil
    ) { _ in
      number += 1
      task["title"] = "\(number)"
    }
    defer { NotificationCenter.default.removeObserver(observer) }
    task["title"] = "x"
    let error = try #require(throws: NSError.self) { try context.save() }
    #expect(error.code == NSCoreDataError && error.localizedFailureReason?.contains("An observer") == true)
  }

  @Test("Objects with unsaved changes that lose a destination which others have deleted")
  func lostDestinations() throws {
    let department = context.make("Department", ["name": "d"])
    let moved = employee("moved", age: 1)
    let project = context.make("Project", ["title": "p"])
    try context.save()
    let lists = [
      try EmployeeList(context, "department != nil"), try EmployeeList(context, "ANY projects.title == 'p'"),
    ]
    moved["department"] = department
    let new = employee("new", age: 2)
    new["projects"] = Set([project])
    #expect(try lists.map { try $0.names() } == [["moved"], ["new"]])
    let other = try store.context(Self.model())
    for object in try other.all("Department") + other.all("Project", by: "title") { other.delete(object) }
    let saved = NotificationLog(other, NSManagedObjectContext.didSaveObjectsNotification)
    try other.save()
    let log = NotificationLog(context)
    NSManagedObjectContext.mergeChanges(fromRemoteContextSave: try #require(saved.take().first), into: [context])
    #expect(log.take().compactMap { $0[NSUpdatedObjectsKey] as? Set<NSManagedObject> } == [[moved, new]])
    #expect(try lists.map { try $0.names() } == [[], []])
    #expect(moved["department"] == nil && (new["projects"] as? Set<NSManagedObject>)?.isEmpty == true)
  }
}
