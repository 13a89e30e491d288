// OpenCoreData
// SPDX-License-Identifier: Apache-2.0

import CoreDataTestSupport
import Foundation
import Testing

@testable import CoreData

@Suite("Contexts and coordinators")
struct ContextBehaviourTests {
  @Test("Metadata alone are written by save()")
  func metadata() throws {
    let store = try TemporaryStore()
    let context = try store.context(CompanyModel.make())
    let coordinator = try #require(context.persistentStoreCoordinator)
    let opened = try #require(coordinator.persistentStores.first)
    var metadata = coordinator.metadata(for: opened)
    metadata["note"] = "kept"
    coordinator.setMetadata(metadata, for: opened)
    try context.save()
    let read = try NSPersistentStoreCoordinator.metadataForPersistentStore(type: .sqlite, at: store.url)
    #expect(read["note"] as? String == "kept")
  }

  @Test(
    "performAndWait within performAndWait of another context and back does not wait for itself",
    .timeLimit(.minutes(60))
  )
  func nesting() throws {
    let store = try TemporaryStore()
    let first = try store.context(CompanyModel.make())
    let second = NSManagedObjectContext(.privateQueue)
    second.persistentStoreCoordinator = first.persistentStoreCoordinator
    let answer = first.performAndWait { second.performAndWait { first.performAndWait { second.performAndWait { 7 } } } }
    #expect(answer == 7)
  }

  @Test("Each event tells what was inserted, updated and deleted, once")
  func notifications() throws {
    let context = try TemporaryStore().context(CompanyModel.make())
    nonisolated(unsafe) var events: [[String]] = []
    let observer = NotificationCenter.default.addObserver(
      forName: NSManagedObjectContext.didChangeObjectsNotification, object: context, queue: nil
    ) { events.append($0.userInfo?.keys.compactMap { $0 as? String }.sorted() ?? []) }
    defer { NotificationCenter.default.removeObserver(observer) }
    let task = context.make("Task", ["title": "a"])
    try context.save()
    context.processPendingChanges()
    task["title"] = "b"
    context.processPendingChanges()
    context.refresh(task, mergeChanges: true)
    context.delete(task)
    try context.save()
    #expect(events == [["inserted"], ["updated"], ["refreshed"], ["deleted"]])
  }

  @Test("An object inserted and deleted again leaves nothing to save, and nobody leads to it")
  func insertedAndDeleted() throws {
    let context = try TemporaryStore().context(CompanyModel.make())
    let department = context.make("Department")
    try context.save()
    let task = context.make("Task")
    department["archive"] = NSSet(array: [task])
    context.delete(task)
    context.processPendingChanges()
    #expect(task.managedObjectContext == nil)
    #expect((department["archive"] as? NSSet)?.count == 0)
    try context.save()
  }

  @Test("Relationships can be changed by permanent identifiers that were asked for before the save")
  func permanentIDs() throws {
    let context = try TemporaryStore().context(CompanyModel.make())
    let ada = context.make("Employee", ["name": "Ada"])
    let project = context.make("Project", ["title": "P", "members": NSSet(array: [ada])])
    try context.obtainPermanentIDs(for: [ada, project])
    #expect(!ada.objectID.isTemporaryID)
    project.mutableSetValue(forKey: "members").add(ada)
    #expect((project["members"] as? NSSet)?.count == 1)
    project.mutableSetValue(forKey: "members").remove(ada)
    #expect((ada["projects"] as? NSSet)?.count == 0)
    try context.save()
  }

  @Test("Members added here and elsewhere are both there after a merge")
  func mergedMembers() throws {
    let store = try TemporaryStore()
    let first = try store.context(CompanyModel.make())
    let department = first.make("Department")
    let people = ["a", "b", "c"].map { first.make("Employee", ["name": $0]) }
    people[2]["department"] = department
    try first.save()
    let second = NSManagedObjectContext(.privateQueue)
    second.persistentStoreCoordinator = first.persistentStoreCoordinator
    people[0]["department"] = department
    people[2]["department"] = nil
    try second.existingObject(with: people[1].objectID)["department"] = second.object(with: department.objectID)
    try second.save()
    first.merge(SavedIdentifiers(updated: [people[1].objectID, department.objectID]))
    #expect(department["employees"] as? Set<NSManagedObject> == [people[0], people[1]])
  }

  @Test("A row that cannot be read gives an object without values, and the next save throws and writes nothing")
  func unreadable() throws {
    let store = try TemporaryStore()
    let context = try store.context(CompanyModel.make())
    context.make("Employee", ["name": "Ada", "token": UUID()])
    try context.save()
    let other = try store.context(CompanyModel.make())
    let uri = try #require(context.all("Employee").first).objectID.uriRepresentation()
    let id = try #require(other.persistentStoreCoordinator?.managedObjectID(forURIRepresentation: uri))
    let sqlite = try #require(other.persistentStoreCoordinator?.persistentStores.first as? SQLiteStore)
    try sqlite.state().connection.run("UPDATE ZEMPLOYEE SET ZTOKEN = x'00'")
    let ada = other.object(with: id)
    #expect(ada["name"] == nil)
    ada["name"] = "Eve"
    #expect(throws: NSError.self) { try other.save() }
    #expect(throws: NSError.self) { try other.existingObject(with: id) }
    try sqlite.state().connection.run("UPDATE ZEMPLOYEE SET ZTOKEN = NULL")
    #expect(try other.existingObject(with: id)["name"] as? String == "Ada")
    // The value that was set is not forgotten without a word.
    let error = #expect(throws: NSError.self) { try other.save() }
    #expect(error?.code == NSPersistentStoreOperationError)
    #expect(!other.hasChanges)
    try other.save()
    #expect(try store.context(CompanyModel.make()).all("Employee").count == 1)
  }

  @Test("A context's and an object's misuse stops the program with a sentence", arguments: ContextMisuse.allCases)
  func misuse(_ mistake: ContextMisuse) async {
    let result = await #expect(processExitsWith: .failure, observing: [\.standardErrorContent]) { [mistake] in
      try mistake.perform()
    }
    let text = result.map { String(decoding: $0.standardErrorContent, as: UTF8.self) } ?? ""
    #expect(text.contains(mistake.rawValue))
  }
}

/// A programmer's mistake, and a part of the sentence that it must end with.
enum ContextMisuse: String, CaseIterable, Codable, Sendable {
  case unknownKey = "The entity 'Employee' has no property 'nonsense'."
  case wrongType = "'age' of 'Employee' takes values of class NSNumber, but was given a value of class String"
  case wrongTypeToOne = "'department' of 'Employee' takes values of class NSManagedObject"
  case wrongTypeToMany = "'projects' of 'Employee' takes values of class NSSet, but was given a value of class Int"
  case wrongMember = "'projects' of 'Employee' takes values of class NSManagedObject, but was given a value of class"
  case wrongEntity = "'department' of 'Employee' takes objects of 'Department', but was given an object of 'Task'."
  case wrongEntityInSet = "'projects' of 'Employee' takes objects of 'Project', but was given an object of 'Task'."
  case otherContext = "'department' of 'Employee' cannot refer to an object of another context."
  case otherContextInsert = "already belongs to another context."
  case otherContextDelete = "belongs to another context: delete it there."
  case otherContextRefresh = "belongs to another context: refresh it there."
  case noCoordinator = "This context has no persistent store coordinator."
  case unknownEntity = "The model has no entity named 'Nobody'."
  case orderedAsSet = "favourites of Employee is not an unordered to-many relationship."
  case setAsOrdered = "projects of Employee is not an ordered to-many relationship."
  case throughAttribute = "'name.x' of 'Employee': the key path continues after name"
  case noMergePolicy = "String is not a merge policy"
  case predicateFormat = "at character 8 there is the end"
  case predicateKey = "The predicate nobody == 1 cannot be evaluated"
  case sortKey = "Objects cannot be sorted by \"nobody\""
  case assignOther = "Only managed objects can be assigned to a store"

  func perform() throws {
    let store = try TemporaryStore()
    let context = try store.context(CompanyModel.make())
    let ada = context.make("Employee", ["name": "Ada"])
    let other = NSManagedObjectContext(.privateQueue)
    other.persistentStoreCoordinator = context.persistentStoreCoordinator
    switch self {
    case .unknownKey: ada["nonsense"] = 1
    case .wrongType: ada["age"] = "old"
    case .wrongTypeToOne: ada["department"] = "Research"
    case .wrongTypeToMany: ada["projects"] = 7
    case .wrongMember: ada["projects"] = NSSet(array: ["Apollo"])
    case .wrongEntity: ada["department"] = context.make("Task")
    case .wrongEntityInSet: ada.mutableSetValue(forKey: "projects").add(context.make("Task"))
    case .otherContext: ada["department"] = other.make("Department")
    case .otherContextInsert: other.insert(ada)
    case .otherContextDelete: other.delete(ada)
    case .otherContextRefresh: other.refresh(ada, mergeChanges: true)
    case .noCoordinator: NSManagedObjectContext(.privateQueue).make("Task")
    case .unknownEntity: context.make("Nobody")
    case .orderedAsSet: _ = ada.mutableSetValue(forKey: "favourites")
    case .setAsOrdered: _ = ada.mutableOrderedSetValue(forKey: "projects")
    case .throughAttribute: ada.setValue(1, forKeyPath: "name.x")
    case .noMergePolicy: context.mergePolicy = "error"
    case .predicateFormat: _ = NSPredicate(format: "name ==")
    case .predicateKey: _ = NSPredicate(format: "nobody == 1").evaluate(with: ada)
    case .sortKey: _ = NSSortDescriptor(key: "nobody", ascending: true).compare(ada, to: ada)
    case .assignOther:
      if let opened = context.persistentStoreCoordinator?.persistentStores.first { context.assign("ada", to: opened) }
    }
  }
}
