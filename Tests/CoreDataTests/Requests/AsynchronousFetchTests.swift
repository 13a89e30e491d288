// OpenCoreData
// SPDX-License-Identifier: Apache-2.0

import CoreData
import CoreDataTestSupport
import Foundation
import Testing

@Suite("Asynchronous fetch requests")
struct AsynchronousFetchTests {
  private let store: TemporaryStore
  private let context: NSManagedObjectContext

  init() throws {
    store = try TemporaryStore()
    context = try store.context(CompanyModel.make())
    for number in 0..<1200 { context.make("Task", ["title": String(format: "%04d", number)]) }
    try context.save()
    context.reset()
  }

  private func request() -> NSFetchRequest<NSManagedObject> {
    let request = NSFetchRequest<NSManagedObject>(entityName: "Task")
    request.sortDescriptors = [NSSortDescriptor(key: "title", ascending: true)]
    return request
  }

  /// What a test learns on the context's queue.
  private final class Outcome: @unchecked Sendable {
    let done = DispatchSemaphore(value: 0)
    var titles: [String]?
    var error: NSError?
    var faults = 0
    var isOnQueue = false
    var calls = 0
  }

  /// Executes a request, and waits for its completion.
  private func run(
    _ request: NSFetchRequest<NSManagedObject>, before: (NSPersistentStoreAsynchronousResult) throws -> Void = { _ in }
  ) throws -> (Outcome, NSPersistentStoreAsynchronousResult) {
    let outcome = Outcome()
    let queueCheck = NSFetchRequest<NSManagedObject>(entityName: "Task")
    queueCheck.fetchLimit = 1
    let asynchronous = NSAsynchronousFetchRequest(fetchRequest: request) { result in
      outcome.calls += 1
      outcome.error = result.operationError as NSError?
      outcome.faults = result.finalResult?.filter(\.isFault).count ?? 0
      // Off the queue, there is an error.
      outcome.isOnQueue = (try? queueCheck.execute().first?.managedObjectContext) === result.managedObjectContext
      outcome.titles = result.finalResult?.map { $0.value(forKey: "title") as? String ?? "" }
      outcome.done.signal()
    }
    let result = try context.performAndWait { try context.execute(asynchronous) }
    let running = try #require(result as? NSPersistentStoreAsynchronousResult)
    try before(running)
    outcome.done.wait()
    return (outcome, running)
  }

  @Test("The results arrive on the context's queue, in order, with progress; rows are read before")
  func results() throws {
    let progress = Progress(totalUnitCount: 1)
    progress.becomeCurrent(withPendingUnitCount: 1)
    let (outcome, result) = try run(request())
    progress.resignCurrent()
    #expect(outcome.titles == (0..<1200).map { String(format: "%04d", $0) })
    #expect(outcome.isOnQueue && outcome.calls == 1 && outcome.error == nil && outcome.faults == 1200)
    #expect(result.progress?.completedUnitCount == 1200 && result.progress?.totalUnitCount == 1200)
    #expect(progress.fractionCompleted == 1)
    #expect((result as? NSAsynchronousFetchResult<NSManagedObject>)?.finalResult?.count == 1200)
    #expect(result.managedObjectContext === context)
  }

  @Test("Unsaved changes are in the results, and limits count them")
  func pending() throws {
    let limited = request()
    (limited.fetchLimit, limited.fetchOffset) = (3, 1)
    try context.performAndWait {
      context.make("Task", ["title": "0000a"])
      try context.fetch(limited)[1].setValue("9", forKey: "title")
    }
    #expect(try run(limited).0.titles == ["0000a", "0002", "0003"])
    limited.includesPendingChanges = false
    #expect(try run(limited).0.titles?.count == 3)
  }

  @Test("A context with a parent sees the parent's unsaved changes, and a pinned one its own generation")
  func families() throws {
    let (child, pinned) = (NSManagedObjectContext(.privateQueue), NSManagedObjectContext(.privateQueue))
    child.parent = context
    pinned.persistentStoreCoordinator = context.persistentStoreCoordinator
    try pinned.setQueryGenerationFrom(.current)
    _ = try pinned.performAndWait { try pinned.fetch(request()) }
    context.performAndWait { _ = context.make("Task", ["title": "unsaved"]) }
    func titles(_ context: NSManagedObjectContext) throws -> [String?]? {
      let outcome = Outcome()
      let limited = request()
      limited.fetchOffset = 1199
      let asynchronous = NSAsynchronousFetchRequest(fetchRequest: limited) { result in
        outcome.titles = result.finalResult?.map { $0.value(forKey: "title") as? String ?? "" }
        outcome.done.signal()
      }
      _ = try context.performAndWait { try context.execute(asynchronous) }
      outcome.done.wait()
      return outcome.titles
    }
    #expect(try titles(child) == ["1199", "unsaved"])
    try context.performAndWait { try context.save() }
    #expect(try titles(pinned) == ["1199"])
    #expect(try titles(child) == ["1199", "unsaved"])
  }

  @Test("A cancelled fetch calls its block with the error and without results")
  func cancelling() throws {
    // The context's queue is busy until the fetch has been cancelled.
    let outcome = Outcome()
    let asynchronous = NSAsynchronousFetchRequest(fetchRequest: request()) { result in
      outcome.error = result.operationError as NSError?
      outcome.titles = result.finalResult?.map { _ in "" }
      outcome.done.signal()
    }
    let result = try context.performAndWait {
      let result = try context.execute(asynchronous) as? NSAsynchronousFetchResult<NSManagedObject>
      #expect(result?.finalResult == nil && result?.operationError == nil)
      result?.cancel()
      return result
    }
    outcome.done.wait()
    #expect(outcome.error?.code == 3072 && outcome.titles == nil)
    #expect(result?.progress?.isCancelled == true && result?.finalResult == nil)
  }

  @Test("Cancelling ends a query that is running, and the store is read on", .timeLimit(.minutes(60)))
  func interrupted() throws {
    let project = context.make("Project", ["title": "all"])
    for task in try context.all("Task", by: "title") { task.setValue(project, forKey: "project") }
    try context.save()
    // More than a thousand million comparisons.
    let slow = request()
    slow.predicate = NSPredicate(
      format: "SUBQUERY(project.tasks, $t, SUBQUERY($t.project.tasks, $u, $u.title < $t.title AND $u.title > $t.title)"
        + ".@count > 0).@count > 0"
    )
    let (outcome, _) = try run(slow) { result in
      Thread.sleep(forTimeInterval: 0.3)
      #expect(result.operationError == nil)
      result.cancel()
    }
    #expect(outcome.error?.code == 3072 && outcome.titles == nil)
    #expect(try run(request()).0.titles?.count == 1200)
  }

  @Test("A failure is the operation's error; contexts without a queue and other requests are refused")
  func failures() throws {
    let wrong = request()
    wrong.predicate = NSPredicate(format: "colour = 1")
    let (outcome, result) = try run(wrong)
    #expect(outcome.error?.code == NSCoreDataError && outcome.titles == nil)
    #expect((result.operationError as NSError?)?.code == NSCoreDataError)
    let confined = NSManagedObjectContext(concurrencyType: .confinementConcurrencyType)
    confined.persistentStoreCoordinator = context.persistentStoreCoordinator
    #expect(throws: NSError.self) {
      try confined.execute(NSAsynchronousFetchRequest(fetchRequest: request()))
    }
    #expect(throws: NSError.self) { try context.execute(request()) }
  }

  @Test("Identifiers, dictionaries and batches come asynchronously too; the block takes any result type")
  func forms() throws {
    let done = DispatchSemaphore(value: 0)
    let ids = NSFetchRequest<NSManagedObjectID>(entityName: "Task")
    ids.resultType = .managedObjectIDResultType
    let counting = NSAsynchronousFetchRequest(fetchRequest: ids) { result in
      #expect(result.finalResult?.count == 1200)
      done.signal()
    }
    _ = try context.execute(counting)
    done.wait()
    let batches = request()
    batches.fetchBatchSize = 100
    let (outcome, _) = try run(batches)
    #expect(outcome.titles?.count == 1200)
    #expect(counting.completionBlock != nil)
    #expect(NSAsynchronousFetchRequest(fetchRequest: ids).completionBlock == nil)
  }

  @Test("execute() fetches in the context whose block is running, and fails outside of one")
  func currentContext() async throws {
    let request = request()
    request.fetchLimit = 2
    #expect(throws: NSError.self) { try request.execute() }
    let (inner, context) = (NSManagedObjectContext(.privateQueue), context)
    inner.persistentStoreCoordinator = context.persistentStoreCoordinator
    let owners = try context.performAndWait {
      let outer = try request.execute()
      let nested = try inner.performAndWait { try request.execute() }
      return try (outer + nested + request.execute()).map { $0.managedObjectContext === context }
    }
    #expect(owners == [true, true, false, false, true, true])
    let count = try await context.perform { try request.execute().count }
    #expect(count == 2)
  }
}
