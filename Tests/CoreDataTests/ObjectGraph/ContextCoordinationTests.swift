// OpenCoreData
// SPDX-License-Identifier: Apache-2.0

import CoreDataTestSupport
import Dispatch
import Foundation
import Testing

@testable import CoreData

@Suite("Contexts beside each other: merging, generations, queues")
struct ContextCoordinationTests {
  private func contexts(_ store: TemporaryStore) throws -> (NSManagedObjectContext, NSManagedObjectContext) {
    let first = try store.context(CompanyModel.make())
    let second = NSManagedObjectContext(.privateQueue)
    second.persistentStoreCoordinator = first.persistentStoreCoordinator
    return (first, second)
  }

  private func code(_ body: () throws -> Void) -> Int? {
    do { try body() } catch { return (error as NSError).code }
    return nil
  }

  // MARK: Merging

  @Test("An identifier of another coordinator stands for the row of the same store")
  func otherCoordinator() async throws {
    let (store, elsewhere) = (try TemporaryStore(), try TemporaryStore())
    let (writer, reader) = (try store.context(CompanyModel.make()), try store.context(CompanyModel.make()))
    let project = writer.make("Project", ["title": "Sea"])
    let stranger = try elsewhere.context(CompanyModel.make())
    try writer.save()
    let id = project.objectID
    #expect(reader.registeredObject(for: id) == nil)
    let known = try reader.existingObject(with: id)
    #expect(known["title"] as? String == "Sea" && known.objectID != id)
    #expect(known.objectID.persistentStore?.persistentStoreCoordinator === reader.persistentStoreCoordinator)
    #expect(reader.object(with: id) === known && reader.registeredObject(for: id) === known)
    #expect(try reader.fetch(NSFetchRequest<NSManagedObject>(entityName: "Project")) == [known])
    known["title"] = "Shore"
    try reader.save()
    writer.refreshAllObjects()
    #expect(project["title"] as? String == "Shore")
    let failure = #expect(throws: NSError.self) { try stranger.existingObject(with: id) }
    #expect(failure?.code == NSManagedObjectReferentialIntegrityError)
    #expect(stranger.registeredObject(for: id) == nil)
    await #expect(processExitsWith: .failure) {
      let (store, elsewhere) = (try TemporaryStore(), try TemporaryStore())
      let context = try store.context(CompanyModel.make())
      let project = context.make("Project")
      try context.save()
      _ = try elsewhere.context(CompanyModel.make()).object(with: project.objectID)
    }
  }

  @Test("After a batch deletion has been merged, relationships that have been read no longer lead to what is gone")
  func mergedBatchDeletion() throws {
    let store = try TemporaryStore()
    let (context, other) = try contexts(store)
    let projects = ["Kept", "Gone"].map { context.make("Project", ["title": $0]) }
    let manager = context.make("Manager", ["name": "Mia"])
    let people = ["Ann", "Ben", "Cid"].map { context.make("Employee", ["name": $0]) }
    for person in people {
      person.setValue(Set(projects), forKey: "projects")
      person.setValue(manager, forKey: "manager")
    }
    try context.save()
    // One whose members have been read, one whose row alone has, one with a change.
    context.refreshAllObjects()
    for person in [people[0], people[2]] {
      #expect((person.value(forKey: "projects") as? Set<NSManagedObject>)?.count == 2)
      #expect(person.value(forKey: "manager") as? NSManagedObject === manager)
    }
    #expect(people[1].value(forKey: "name") as? String == "Ben")
    people[2].setValue("Cyd", forKey: "name")
    context.processPendingChanges()
    // A context that knows the members, but has no objects for them.
    let reader = try store.context(CompanyModel.make())
    let request = NSFetchRequest<NSManagedObject>(entityName: "Employee")
    request.predicate = NSPredicate(format: "name == 'Ann'")
    let ann = try #require(try reader.fetch(request).first)
    #expect(ann.objectIDs(forRelationshipNamed: "projects").count == 2 && reader.registeredObjects == [ann])
    let log = NotificationLog(context)
    for (entity, object) in [("Project", projects[1]), ("Manager", manager)] {
      let request = NSFetchRequest<any NSFetchRequestResult>(entityName: entity)
      request.predicate = NSPredicate(format: "SELF == %@", object.objectID)
      let deletion = NSBatchDeleteRequest(fetchRequest: request)
      deletion.resultType = .resultTypeObjectIDs
      let result = try other.execute(deletion) as? NSBatchDeleteResult
      let ids = try #require(result?.result as? [NSManagedObjectID])
      #expect(ids.count == 1)
      NSManagedObjectContext.mergeChanges(fromRemoteContextSave: [NSDeletedObjectsKey: ids], into: [context, reader])
    }
    #expect(ann.objectIDs(forRelationshipNamed: "projects").count == 1)
    let refreshed = log.take().reduce(into: Set<NSManagedObject>()) {
      $0.formUnion($1[NSRefreshedObjectsKey] as? Set<NSManagedObject> ?? [])
    }
    #expect(refreshed == [people[0], people[1], projects[0]] || refreshed == [people[0], people[1]])
    #expect(context.updatedObjects == [people[2]] && context.deletedObjects.isEmpty)
    for person in people {
      #expect(person.value(forKey: "projects") as? Set<NSManagedObject> == [projects[0]])
      #expect(person.value(forKey: "manager") == nil)
    }
    #expect(people[2].value(forKey: "name") as? String == "Cyd")
    // The deletion has changed the row of the manager's report, too.
    context.mergePolicy = NSMergePolicy.mergeByPropertyObjectTrump
    try context.save()
    other.reset()
    let stored = try #require(try other.existingObject(with: people[2].objectID) as NSManagedObject?)
    #expect(
      stored.value(forKey: "name") as? String == "Cyd" && stored.value(forKeyPath: "projects.@count") as? Int == 1)
  }

  @Test("Changes of another process are merged from identifiers, their URIs, or objects, into parents before children")
  func remoteChanges() throws {
    let store = try TemporaryStore()
    let (first, second) = try contexts(store)
    let child = NSManagedObjectContext(.privateQueue)
    child.parent = first
    let tasks = ["a", "b", "c", "d"].map { second.make("Task", ["title": $0]) }
    try second.save()
    let seen = tasks.map { first.object(with: $0.objectID) }
    let below = tasks.map { child.object(with: $0.objectID) }
    #expect((seen + below).compactMap { $0["title"] as? String }.count == 8)
    seen[0]["title"] = "mine"
    for task in tasks[0...2] { task["title"] = "new" }
    second.delete(tasks[3])
    let inserted = second.make("Task", ["title": "e"])
    try second.save()
    let (log, ids) = (
      NotificationLog(first), NotificationLog(first, NSManagedObjectContext.didMergeChangesObjectIDsNotification)
    )
    NSManagedObjectContext.mergeChanges(
      fromRemoteContextSave: [
        NSInsertedObjectsKey: [inserted.objectID.uriRepresentation()],
        NSUpdatedObjectIDsKey: Set(tasks[0...1].map(\.objectID)),
        NSRefreshedObjectsKey: [tasks[2].objectID.uriRepresentation()] as NSArray,
        NSDeletedObjectsKey: [seen[3].objectID],
      ], into: [child, first])
    #expect(below[0...2].map { $0["title"] as? String } == ["mine", "new", "new"])
    #expect(seen[0...2].map { $0["title"] as? String } == ["mine", "new", "new"])
    #expect(seen[3].managedObjectContext == nil && below[3].managedObjectContext == nil)
    #expect(log.titles().first?.mapValues(\.count) == ["inserted": 1, "refreshed": 3, "deleted": 1])
    #expect((ids.take().first?[NSUpdatedObjectIDsKey] as? Set<NSManagedObjectID>)?.count == 2)
    // Nothing is known of the rest, so everything may have changed.
    tasks[1]["title"] = "newest"
    try second.save()
    NSManagedObjectContext.mergeChanges(fromRemoteContextSave: [NSInvalidatedAllObjectsKey: []], into: [first, child])
    #expect(seen[1]["title"] as? String == "newest" && below[1]["title"] as? String == "newest")
    #expect(seen[0]["title"] as? String == "mine" && first.updatedObjects == [seen[0]])
  }

  @Test("rollback() tells which objects have come back, which have their old values, and which are gone")
  func rollback() throws {
    let store = try TemporaryStore()
    let (context, _) = try contexts(store)
    let (kept, changed) = (context.make("Task", ["title": "kept"]), context.make("Task", ["title": "old"]))
    try context.save()
    context.delete(kept)
    changed["title"] = "new"
    let brief = context.make("Task", ["title": "brief"])
    context.processPendingChanges()
    let log = NotificationLog(context)
    context.rollback()
    #expect(log.titles() == [["inserted": ["kept"], "refreshed": ["old"], "deleted": ["brief"]]])
    #expect(brief.managedObjectContext == nil && !kept.isDeleted && !context.hasChanges)
    context.rollback()
    #expect(log.titles().isEmpty)
  }

  @Test("A fault uses a row that it keeps only as long as the staleness interval allows")
  func staleness() throws {
    let store = try TemporaryStore()
    let (first, second) = try contexts(store)
    let task = second.make("Task", ["title": "a"])
    try second.save()
    for (interval, wanted) in [(-1.0, "a"), (60, "a"), (0, "b")] {
      task["title"] = "a"
      try second.save()
      first.reset()
      first.stalenessInterval = interval
      let fault = try #require(try first.all("Task", by: "title").first)
      task["title"] = "b"
      try second.save()
      #expect(fault.isFault && fault["title"] as? String == wanted)
    }
  }

  @Test("An object without changes is checked if it is asked for, and the policy decides")
  func conflicts() throws {
    let store = try TemporaryStore()
    let (first, second) = try contexts(store)
    let task = second.make("Task", ["title": "a"])
    try second.save()
    let read = try first.existingObject(with: task.objectID)
    let child = NSManagedObjectContext(.privateQueue)
    child.parent = first
    let below = try child.existingObject(with: task.objectID)
    task["title"] = "b"
    try second.save()
    first.make("Task", ["title": "other"])
    first.detectConflicts(for: read)
    #expect(code(first.save) == NSManagedObjectMergeError)
    #expect(try second.count(for: NSFetchRequest<NSManagedObject>(entityName: "Task")) == 1)
    first.mergePolicy = NSMergePolicy.mergeByPropertyObjectTrump
    try first.save()
    #expect(read["title"] as? String == "b")
    // The mark is for one save only.
    task["title"] = "c"
    try second.save()
    first.mergePolicy = NSMergePolicy.error
    first.make("Task", ["title": "more"])
    try first.save()
    child.detectConflicts(for: below)
    #expect(code(child.save) == NSManagedObjectMergeError)
    child.refresh(below, mergeChanges: true)
    _ = below["title"]
    try child.save()
  }

  /// Decides for each inaccessible fault.
  private final class CarefulContext: NSManagedObjectContext, @unchecked Sendable {
    var asked: [String?] = []

    override func shouldHandleInaccessibleFault(
      _ fault: NSManagedObject, for oid: NSManagedObjectID, triggeredByProperty property: NSPropertyDescription?
    ) -> Bool {
      asked.append(property?.name)
      return true
    }
  }

  @Test("A context is asked what to do about a fault without row")
  func inaccessibleFaults() async throws {
    let store = try TemporaryStore()
    let (first, _) = try contexts(store)
    let task = first.make("Task", ["title": "a"])
    try first.save()
    let careful = CarefulContext(.privateQueue)
    careful.persistentStoreCoordinator = first.persistentStoreCoordinator
    careful.shouldDeleteInaccessibleFaults = false
    let fault = careful.object(with: task.objectID)
    first.delete(task)
    try first.save()
    #expect(fault["title"] == nil && fault.isDeleted && careful.asked == ["title"])
    await #expect(processExitsWith: .failure) {
      let store = try TemporaryStore()
      let context = try store.context(CompanyModel.make())
      let task = context.make("Task")
      try context.save()
      let id = task.objectID
      context.delete(task)
      try context.save()
      context.shouldDeleteInaccessibleFaults = false
      _ = context.object(with: id)["title"]
    }
  }

  // MARK: Generations

  @Test("A pinned context reads one state until it saves, merges or is set free")
  func generations() throws {
    let store = try TemporaryStore()
    let (reader, writer) = try contexts(store)
    let project = writer.make("Project", ["title": "p"])
    for title in ["a", "b"] { writer.make("Task", ["title": title, "project": project]) }
    try writer.save()
    #expect(reader.queryGenerationToken == nil)
    try reader.setQueryGenerationFrom(.current)
    #expect(reader.queryGenerationToken === NSQueryGenerationToken.current)
    func titles(_ context: NSManagedObjectContext) throws -> [String?] {
      context.refreshAllObjects()
      return try context.all("Task", by: "title").map { $0["title"] as? String }
    }
    #expect(try titles(reader) == ["a", "b"])
    let token = try #require(reader.queryGenerationToken)
    #expect(token !== NSQueryGenerationToken.current)
    try writer.all("Task", by: "title")[0]["title"] = "A"
    writer.make("Task", ["title": "c", "project": project])
    try writer.save()
    // Rows, members of relationships, and faults are of the old state, also below a pinned parent.
    #expect(try titles(reader) == ["a", "b"])
    let child = NSManagedObjectContext(.privateQueue)
    child.parent = reader
    #expect(try titles(child) == ["a", "b"])
    #expect((reader.object(with: project.objectID)["tasks"] as? NSOrderedSet)?.count == 2)
    #expect(try reader.count(for: NSFetchRequest<NSManagedObject>(entityName: "Task")) == 2)
    reader.refreshAllObjects()
    let projects = NSFetchRequest<NSManagedObject>(entityName: "Project")
    projects.relationshipKeyPathsForPrefetching = ["tasks"]
    #expect(try reader.fetch(projects).map { ($0["tasks"] as? NSOrderedSet)?.count } == [2])
    // Another context reads the same state.
    let other = NSManagedObjectContext(.privateQueue)
    other.persistentStoreCoordinator = reader.persistentStoreCoordinator
    try other.setQueryGenerationFrom(token)
    #expect(try titles(other) == ["a", "b"] && other.queryGenerationToken == token)
    #expect(try titles(writer) == ["A", "b", "c"])
    // A save checks the current rows, and moves on.
    let log = NotificationLog(reader, NSManagedObjectContext.didSaveObjectsNotification)
    try reader.all("Task", by: "title")[0]["title"] = "mine"
    #expect(code(reader.save) == NSManagedObjectMergeError)
    reader.rollback()
    reader.make("Task", ["title": "d"])
    try reader.save()
    #expect(try titles(reader) == ["A", "b", "c", "d"])
    let saved = log.take().first?[NSManagedObjectContextQueryGenerationKey] as? NSQueryGenerationToken
    #expect(saved == reader.queryGenerationToken && saved != token)
    #expect(try titles(other) == ["a", "b"])
    other.mergeChanges(fromContextDidSave: Notification(name: NSManagedObjectContext.didSaveObjectsNotification))
    #expect(try titles(other) == ["A", "b", "c", "d"])
    // So does one that has read nothing since it was pinned.
    try reader.setQueryGenerationFrom(.current)
    let unread = NotificationLog(reader, NSManagedObjectContext.didSaveObjectsNotification)
    reader.make("Task", ["title": "f"])
    try reader.save()
    #expect(unread.take().first?[NSManagedObjectContextQueryGenerationKey] is NSQueryGenerationToken)
    try writer.delete(#require(try writer.all("Task", by: "title").last))
    try writer.save()
    try reader.setQueryGenerationFrom(nil)
    #expect(reader.queryGenerationToken == nil)
    writer.make("Task", ["title": "e"])
    try writer.save()
    #expect(try titles(reader).count == 5 && titles(other).count == 4)
    other.reset()
    #expect(try titles(other).count == 5)
  }

  @Test("A store that keeps no states, and a state whose store is gone, are errors")
  func impossibleGenerations() throws {
    let store = try TemporaryStore()
    let plain = try store.context(
      CompanyModel.make(), options: [NSSQLitePragmasOption: ["journal_mode": "DELETE"]])
    #expect(code { try plain.setQueryGenerationFrom(.current) } == NSPersistentStoreUnsupportedRequestTypeError)
    #expect(plain.queryGenerationToken == nil)
    let logged = try TemporaryStore()
    let (first, second) = try contexts(logged)
    let task = second.make("Task", ["title": "a"])
    try second.save()
    try first.setQueryGenerationFrom(.current)
    let fault = try #require(try first.all("Task", by: "title").first)
    let strange = try TemporaryStore()
    let other = try strange.context(CompanyModel.make())
    let token = first.queryGenerationToken
    #expect(code { try other.setQueryGenerationFrom(token) } == NSPersistentStoreUnsupportedRequestTypeError)
    let coordinator = try #require(first.persistentStoreCoordinator)
    let url = try #require(coordinator.persistentStores.first?.url)
    try coordinator.destroyPersistentStore(at: url, type: .sqlite, options: nil)
    first.refresh(fault, mergeChanges: false)
    #expect(code { _ = try first.existingObject(with: task.objectID) } == NSPersistentStoreOperationError)
  }

  // MARK: Queues

  @Test("Contexts of the main queue and of private ones are parents of one another")
  @MainActor
  func queues() async throws {
    let store = try TemporaryStore()
    let root = try store.context(CompanyModel.make())
    let main = NSManagedObjectContext(.mainQueue)
    main.parent = root
    let background = NSManagedObjectContext(.privateQueue)
    background.parent = main
    try await background.perform(schedule: .enqueued) {
      background.make("Task", ["title": "a"])
      try background.save()
    }
    #expect(try main.all("Task", by: "title").count == 1)
    try main.save()
    let count = try await root.perform { try root.all("Task", by: "title").count }
    #expect(count == 1)
    // From one queue to another and back, without waiting for itself.
    let depth = background.performAndWait {
      root.performAndWait { main.performAndWait { background.performAndWait { 4 } } }
    }
    #expect(depth == 4)
    await background.perform { root.performAndWait { background.performAndWait { main.reset() } } }
  }

  @Test("Blocks return values, throw errors and run with the coordinator's lock")
  func blocks() async throws {
    struct Failure: Error {}
    let store = try TemporaryStore()
    let context = try store.context(CompanyModel.make())
    let coordinator = try #require(context.persistentStoreCoordinator)
    #expect(throws: Failure.self) { try context.performAndWait { throw Failure() } }
    await #expect(throws: Failure.self) { try await context.perform(schedule: .enqueued) { throw Failure() } }
    await #expect(throws: Failure.self) { try await coordinator.perform { throw Failure() } }
    #expect(await coordinator.perform { coordinator.persistentStores.count } == 1)
    await withCheckedContinuation { done in coordinator.perform { done.resume() } }
    #expect(coordinator.performAndWait { 5 } == 5)
    #expect(NSManagedObjectContext().concurrencyType == .confinementConcurrencyType)
  }

  @Test("The concurrency check is asked for by an argument or the environment")
  func requests() {
    let argument = "-com.apple.CoreData.ConcurrencyDebug"
    func isOn(_ arguments: [String], _ value: String? = nil) -> Bool {
      ConcurrencyDebug.isRequested(
        arguments: ["app"] + arguments, environment: value.map { ["COREDATA_CONCURRENCY_DEBUG": $0] } ?? [:])
    }
    #expect(isOn([argument, "1"]) && isOn([argument, "YES"]) && isOn([], "1") && isOn(["-x", argument, "1", "-y"]))
    #expect(!isOn([]) && !isOn([argument]) && !isOn([argument, "0"], "1") && !isOn([], "0"))
  }

  @Test("With the check, a context used off its queue stops the program, and one used on it does not")
  func violations() async {
    await #expect(processExitsWith: .success) {
      setenv("COREDATA_CONCURRENCY_DEBUG", "1", 1)
      let store = try TemporaryStore()
      let context = try store.context(CompanyModel.make())
      let child = NSManagedObjectContext(.privateQueue)
      child.parent = context
      try child.performAndWait {
        child.make("Task", ["title": "a"])["title"] = "b"
        try child.save()
        _ = try child.all("Task", by: "title")
      }
      try context.performAndWait { try context.save() }
      await context.perform { context.reset() }
    }
    await #expect(processExitsWith: .failure) {
      setenv("COREDATA_CONCURRENCY_DEBUG", "1", 1)
      let store = try TemporaryStore()
      let context = try store.context(CompanyModel.make())
      _ = try context.all("Task", by: "title")
    }
    await #expect(processExitsWith: .failure) {
      setenv("COREDATA_CONCURRENCY_DEBUG", "1", 1)
      let store = try TemporaryStore()
      let context = try store.context(CompanyModel.make())
      let task = context.performAndWait { context.make("Task") }
      task["title"] = "a"
    }
    await #expect(processExitsWith: .failure) {
      setenv("COREDATA_CONCURRENCY_DEBUG", "1", 1)
      let store = try TemporaryStore()
      let context = try store.context(CompanyModel.make())
      let task = context.performAndWait { context.make("Task", ["title": "a"]) }
      let other = NSManagedObjectContext(.privateQueue)
      other.persistentStoreCoordinator = context.persistentStoreCoordinator
      await other.perform { _ = task["title"] }
    }
  }
}
