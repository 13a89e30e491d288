// OpenCoreData
// SPDX-License-Identifier: Apache-2.0

import CoreDataTestSupport
import Foundation
import PostgreSQLTestServer
import Testing

@testable import CoreData
@testable import CoreDataPostgreSQL

/// A program of two stacks over one store, which notes what it sees.
private final class Program: NSObject, NSFetchedResultsControllerDelegate {
  private let one: NSPersistentStoreCoordinator
  private let two: NSPersistentStoreCoordinator
  private(set) var lines: [String] = []

  init(_ make: () throws -> NSPersistentStoreCoordinator) throws { (one, two) = (try make(), try make()) }

  private func say(_ text: String) { lines.append(text) }

  private func attempt(_ name: String, _ body: () throws -> Void) {
    do {
      try body()
      say("\(name): done")
    } catch let error as NSError {
      say("\(name): \(error.domain) \(error.code)")
    }
  }

  private func context(
    _ coordinator: NSPersistentStoreCoordinator, _ policy: NSMergePolicy = .error
  ) -> NSManagedObjectContext {
    let context = NSManagedObjectContext(.privateQueue)
    (context.persistentStoreCoordinator, context.mergePolicy) = (coordinator, policy)
    return context
  }

  private func names(_ objects: [NSManagedObject]) -> String {
    objects.map { $0["name"] as? String ?? "nil" }.joined(separator: " ")
  }

  private func named(_ name: String, _ context: NSManagedObjectContext) throws -> NSManagedObject {
    try #require(try context.all("Employee", where: NSPredicate(format: "name == %@", name)).first)
  }

  func fill() throws {
    let context = context(one)
    for number in 0..<60 {
      let employee = context.make(
        number % 3 == 0 ? "Manager" : "Employee",
        ["name": "e\(number + 10)", "age": number % 7, "steps": number, "mood": "m\(number % 2)"])
      if number % 5 == 0 { employee["salary"] = NSDecimalNumber(string: "\(number).5") }
    }
    try context.save()
  }

  /// Attributes that are not stored.
  func transientValues() throws {
    let context = context(one)
    let kept = try named("e10", context)
    kept["mood"] = "m0"
    for format in [
      "mood == 'm0'", "mood != nil", "mood == nil AND age == 1", "ANY projects.title == 'x' OR mood == 'm1'",
    ] {
      attempt(format) { say(names(try context.all("Employee", where: NSPredicate(format: format)))) }
    }
    attempt("order") { say(names(try context.all("Employee", by: "mood").suffix(1))) }
    let update = NSBatchUpdateRequest(entityName: "Employee")
    update.propertiesToUpdate = ["mood": "x"]
    attempt("batch update") { try context.execute(update) }
    attempt("batch insertion") {
      try context.execute(NSBatchInsertRequest(entityName: "Employee", objects: [["name": "e99", "mood": "x"]]))
    }
    context.refresh(kept, mergeChanges: true)
    say("\(kept["mood"] ?? "nil") \(kept.hasChanges)")
  }

  /// Contexts in contexts, and a conflict that the outermost one meets.
  func children() throws {
    let parent = context(one)
    let (child, grandchild) = (NSManagedObjectContext(.privateQueue), NSManagedObjectContext(.privateQueue))
    (child.parent, grandchild.parent) = (parent, child)
    let changed = try named("e20", grandchild)
    changed["age"] = 99
    grandchild.make("Employee", ["name": "new"])["friends"] = Set([changed])
    grandchild.delete(try named("e21", grandchild))
    let request = NSFetchRequest<NSManagedObject>(entityName: "Employee")
    (request.fetchOffset, request.fetchLimit) = (2, 4)
    request.sortDescriptors = [
      NSSortDescriptor(key: "age", ascending: false), NSSortDescriptor(key: "name", ascending: true),
    ]
    for context in [grandchild, child] {
      say(names(try context.fetch(request)))
      try context.save()
    }
    say(names(try parent.fetch(request)))
    let other = context(two)
    let row = try named("e20", other)
    row["steps"] = 1000
    try other.save()
    attempt("save") { try parent.save() }
    parent.mergePolicy = NSMergePolicy.mergeByPropertyObjectTrump
    attempt("save with a policy") { try parent.save() }
    other.refreshAllObjects()
    let friends = row["friends"] as? Set<NSManagedObject> ?? []
    say("\(row["age"] ?? "nil") \(row["steps"] ?? "nil") \(names(Array(friends)))")
  }

  /// Changes and deletions by others, under each merge policy.
  func conflicts() throws {
    for policy in [NSMergePolicy.error, .mergeByPropertyStoreTrump, .mergeByPropertyObjectTrump, .overwrite, .rollback]
    {
      let (mine, others) = (context(one, policy), context(two))
      let (object, row) = (try named("e30", mine), try named("e30", others))
      (object["age"], object["steps"]) = (50, 51)
      (row["age"], row["rating"]) = (60, 6.5)
      row["projects"] = Set([others.make("Project", ["title": "p"])])
      let (doomed, gone) = (
        try named("e3\(policy.mergeType.rawValue + 1)", mine), try named("e3\(policy.mergeType.rawValue + 1)", others)
      )
      others.delete(gone)
      try others.save()
      attempt("save \(policy.mergeType.rawValue)") { try mine.save() }
      doomed["age"] = 1
      attempt("save of a deleted row") { try mine.save() }
      mine.reset()
      let stored = try named("e30", mine)
      let count = (stored["projects"] as? Set<NSManagedObject>)?.count ?? -1
      say("\(stored["age"] ?? "nil") \(stored["steps"] ?? "nil") \(stored["rating"] ?? "nil") \(count)")
      say(names(try mine.all("Employee")))
    }
  }

  /// Refreshing, faults without a row, and a list in batches of which others delete rows.
  func deletions() throws {
    let (mine, others) = (context(one), context(two))
    let (object, row) = (try named("e40", mine), try named("e40", others))
    object["age"] = 77
    (row["age"], row["steps"]) = (1, 2)
    try others.save()
    mine.refresh(object, mergeChanges: true)
    say("\(object["age"] ?? "nil") \(object["steps"] ?? "nil") \(object.changedValues().keys.sorted())")
    attempt("save") { try mine.save() }
    let fault = try named("e41", mine)
    mine.refresh(fault, mergeChanges: false)
    others.reset()
    others.delete(try named("e41", others))
    let request = NSFetchRequest<NSManagedObject>(entityName: "Employee")
    request.fetchBatchSize = 7
    request.sortDescriptors = [NSSortDescriptor(key: "name", ascending: true)]
    let reader = context(one)
    let list = try reader.fetch(request)
    let all = try others.all("Employee")
    for position in stride(from: 10, to: 40, by: 3) { others.delete(all[position]) }
    try others.save()
    attempt("existing object") { _ = try mine.existingObject(with: fault.objectID) }
    mine.shouldDeleteInaccessibleFaults = true
    say("\(fault["name"] ?? "nil") \(fault.isDeleted)")
    attempt("save") { try mine.save() }
    say("\(list.count): \(names(list))")
    attempt("save") { try reader.save() }
  }

  /// A controller of results in sections, whose rows this stack and another one change.
  func controller() throws {
    let watching = context(one)
    let request = NSFetchRequest<NSManagedObject>(entityName: "Employee")
    request.fetchBatchSize = 5
    request.sortDescriptors = [
      NSSortDescriptor(key: "age", ascending: true), NSSortDescriptor(key: "name", ascending: true),
    ]
    request.predicate = NSPredicate(format: "age < 5 AND salary != nil")
    let controller = NSFetchedResultsController(
      fetchRequest: request, managedObjectContext: watching, sectionNameKeyPath: "age", cacheName: nil)
    controller.delegate = self
    func sections() {
      for section in controller.sections ?? [] {
        say("\(section.name): \(names((section.objects ?? []).compactMap { $0 as? NSManagedObject }))")
      }
    }
    try controller.performFetch()
    sections()
    let writer = context(one)
    let token = NotificationCenter.default.addObserver(
      forName: NSManagedObjectContext.didSaveObjectsNotification, object: writer, queue: nil
    ) { watching.mergeChanges(fromContextDidSave: $0) }
    defer { NotificationCenter.default.removeObserver(token) }
    for employee in try writer.all("Employee").prefix(9) {
      employee["age"] = (employee["age"] as? Int ?? 0) + 1
      employee["salary"] = NSDecimalNumber(string: "1.25")
    }
    writer.make("Employee", ["name": "e98", "age": 2, "salary": 3])
    writer.delete(try writer.all("Employee")[2])
    try writer.save()
    sections()
    let others = context(two)
    for employee in try others.all("Employee").prefix(4) { employee["age"] = 0 }
    others.delete(try others.all("Employee")[6])
    try others.save()
    watching.refreshAllObjects()
    watching.processPendingChanges()
    try controller.performFetch()
    sections()
  }

  func controllerWillChangeContent(_ controller: NSFetchedResultsController<any NSFetchRequestResult>) { say("will") }

  func controllerDidChangeContent(_ controller: NSFetchedResultsController<any NSFetchRequestResult>) { say("did") }

  func controller(
    _ controller: NSFetchedResultsController<any NSFetchRequestResult>, didChange anObject: Any,
    at indexPath: IndexPath?, for type: NSFetchedResultsChangeType, newIndexPath: IndexPath?
  ) {
    let paths = [indexPath, newIndexPath].map { $0.map { "\($0)" } ?? "-" }
    say("\((anObject as? NSManagedObject)?["name"] ?? "nil") \(type.rawValue) \(paths)")
  }
}

@Suite("A program over either engine", .needsPostgreSQL)
struct SameProgramTests {
  private static func lines(_ make: () throws -> NSPersistentStoreCoordinator) throws -> [String] {
    let program = try Program(make)
    try program.fill()
    try program.transientValues()
    try program.children()
    try program.conflicts()
    try program.deletions()
    try program.controller()
    return program.lines
  }

  @Test("A program with children, conflicts, batches and a controller sees the same over PostgreSQL as over SQLite")
  func lines() throws {
    let (bench, folder) = (ServerBench(), try TemporaryStore())
    let here = try Self.lines { try bench.coordinator() }
    let there = try Self.lines {
      let coordinator = NSPersistentStoreCoordinator(managedObjectModel: CompanyModel.make())
      try coordinator.addPersistentStore(type: .sqlite, at: folder.folder.appendingPathComponent("Program.sqlite"))
      return coordinator
    }
    #expect(here == there)
    #expect(here.count > 60 && here.contains { $0.hasPrefix("save 0: NSCocoaErrorDomain 133020") })
  }

  @Test(
    "Asynchronous fetches that are cancelled at any moment leave a context and connections that work",
    .timeLimit(.minutes(60)))
  func cancelled() async throws {
    let bench = ServerBench()
    let coordinator = try bench.coordinator()
    let context = bench.context(coordinator)
    let count = 5_000
    try await context.perform {
      for number in 0..<count { context.make("Employee", ["name": "e\(number)", "steps": number]) }
      try context.save()
      context.reset()
    }
    let observer = try bench.connection()
    let schema = try #require(
      URLComponents(url: bench.url, resolvingAgainstBaseURL: false)?.queryItems?.first { $0.name == "schema" }?.value)
    var (cancelled, completed) = (0, 0)
    for round in 1...80 {
      let (stream, continuation) = AsyncStream.makeStream(of: (Int?, Int?).self)
      let request = NSFetchRequest<NSManagedObject>(entityName: "Employee")
      request.sortDescriptors = [NSSortDescriptor(key: "steps", ascending: round % 2 == 0)]
      if round % 3 == 0 { request.predicate = NSPredicate(format: "name CONTAINS[c] 'E'") }
      let asynchronous = NSAsynchronousFetchRequest(fetchRequest: request) { result in
        continuation.yield(((result.operationError as NSError?)?.code, result.finalResult?.count))
        continuation.finish()
      }
      let running = try await context.perform {
        try context.execute(asynchronous) as? NSPersistentStoreAsynchronousResult
      }
      try await Task.sleep(nanoseconds: UInt64.random(in: 0...20_000_000))
      running?.cancel()
      for await (code, found) in stream {
        switch (code, found) {
        case (CocoaError.Code.userCancelled.rawValue, nil): cancelled += 1
        case (nil, count): completed += 1
        default: Issue.record("The fetch has ended with \(code ?? 0) and \(found ?? -1) objects.")
        }
      }
      // What another connection writes is seen at once.
      try observer.execute("UPDATE zemployee SET zsteps = \(-round) WHERE z_pk = (SELECT min(z_pk) FROM zemployee)")
      let least = try await context.perform {
        let request = NSFetchRequest<NSDictionary>(entityName: "Employee")
        (request.resultType, request.propertiesToFetch, request.fetchLimit) = (.dictionaryResultType, ["steps"], 1)
        request.sortDescriptors = [NSSortDescriptor(key: "steps", ascending: true)]
        return try context.fetch(request).first?["steps"] as? Int
      }
      #expect(least == -round)
    }
    #expect(cancelled > 0, "\(completed) fetches were completed before they could be cancelled.")
    let open = try observer.query(
      "SELECT DISTINCT a.pid, a.state::text FROM pg_stat_activity a JOIN pg_locks l ON l.pid = a.pid "
        + "JOIN pg_class c ON c.oid = l.relation WHERE c.relnamespace = $1::text::regnamespace AND a.pid <> pg_backend_pid()",
      [.text(schema)])
    #expect(open.count == 0)
    try await context.perform {
      context.make("Employee", ["name": "last"])
      try context.save()
    }
  }
}
