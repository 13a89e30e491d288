// OpenCoreData
// SPDX-License-Identifier: Apache-2.0

import CoreDataSQLite
import CoreDataTestSupport
import Dispatch
import Foundation
import Testing

@testable import CoreData

@Suite("Contexts read a SQLite store beside each other and beside saves", .timeLimit(.minutes(60)))
struct ReadingConnectionTests {
  private static var patience: DispatchTime { .now() + 60 }

  private func open(
    _ place: TemporaryStore, options: [AnyHashable: Any]? = nil
  ) throws -> (NSManagedObjectContext, SQLiteStore) {
    let context = try place.context(CompanyModel.make(), options: options)
    return (context, try #require(context.coordinator.persistentStores.first as? SQLiteStore))
  }

  private func context(beside other: NSManagedObjectContext) -> NSManagedObjectContext {
    let context = NSManagedObjectContext(.privateQueue)
    context.persistentStoreCoordinator = other.persistentStoreCoordinator
    return context
  }

  /// Makes a store with a task that is here, and opens it, and another with one that is there.
  private func twoStores(
    _ place: TemporaryStore, _ other: TemporaryStore
  ) throws -> (NSManagedObjectContext, SQLiteStore) {
    let (context, store) = try open(place)
    let (second, _) = try open(other)
    context.make("Task", ["title": "here"])
    second.make("Task", ["title": "there"])
    try context.save()
    try second.save()
    return (context, store)
  }

  private func titles(_ context: NSManagedObjectContext) throws -> [String] {
    try context.all("Task", by: "title").map { $0["title"] as? String ?? "-" }
  }

  @Test("While one thread is in the middle of a read, another reads and saves, and the first sees its own state")
  func longRead() throws {
    let place = try TemporaryStore()
    let (context, store) = try open(place)
    context.make("Task", ["title": "first"])
    try context.save()
    let query = RowQuery(entity: try #require(context.coordinator.managedObjectModel.entitiesByName["Task"]))
    let (isReading, isSaved) = (DispatchSemaphore(value: 0), DispatchSemaphore(value: 0))
    let counts = Box<[Int]>([])
    let thread = Thread {
      let found: [Int?]? = store.concurrently { source in
        guard let opened = source as? SQLiteStore.Opened, opened.connection.inTransaction else { return [] }
        let before = try source.count(for: query)
        isReading.signal()
        let isInTime = isSaved.wait(timeout: Self.patience) == .success
        let after = try source.count(for: query)
        return isInTime ? [before, after] : []
      }
      counts.value = (found ?? []).compactMap { $0 }
      isReading.signal()
    }
    thread.start()
    #expect(isReading.wait(timeout: Self.patience) == .success)
    context.make("Task", ["title": "second"])
    try context.save()
    #expect(try titles(self.context(beside: context)) == ["first", "second"])
    isSaved.signal()
    #expect(isReading.wait(timeout: Self.patience) == .success)
    #expect(counts.value == [1, 1])
  }

  private final class Box<Value>: @unchecked Sendable {
    var value: Value

    init(_ value: Value) { self.value = value }
  }

  @Test("A fetch, a fault and a relationship do not wait for a thread that holds the coordinator's lock")
  func lockedCoordinator() throws {
    let place = try TemporaryStore()
    let (context, _) = try open(place)
    context.make("Department", ["name": "d", "employees": NSSet(object: context.make("Employee", ["name": "e"]))])
    try context.save()
    context.reset()
    let coordinator = context.coordinator
    let (isHeld, isDone, isReleased) = (
      DispatchSemaphore(value: 0), DispatchSemaphore(value: 0), DispatchSemaphore(value: 0)
    )
    let inTime = Box(false)
    let thread = Thread {
      coordinator.performAndWait {
        isHeld.signal()
        inTime.value = isDone.wait(timeout: Self.patience) == .success
      }
      isReleased.signal()
    }
    thread.start()
    #expect(isHeld.wait(timeout: Self.patience) == .success)
    let department = try #require(try context.all("Department").first)
    let employees = try #require(department["employees"] as? Set<NSManagedObject>)
    #expect(employees.map { $0["name"] as? String } == ["e"])
    context.refreshAllObjects()
    #expect(employees.first?["department"] as? NSManagedObject === department)
    #expect(try context.count(for: NSFetchRequest<NSManagedObject>(entityName: "Employee")) == 1)
    isDone.signal()
    #expect(isReleased.wait(timeout: Self.patience) == .success)
    #expect(inTime.value)
  }

  @Test("Several threads read while others save large values that replace each other: every value is whole")
  func readsBesideSaves() throws {
    let place = try TemporaryStore()
    let (context, _) = try open(place)
    let ids = try context.performAndWait { () -> [NSManagedObjectID] in
      let objects = (0..<6).map {
        context.make("Employee", ["name": "\($0)", "scan": Data(repeating: 0, count: 300_000)])
      }
      try context.save()
      return objects.map(\.objectID)
    }
    let problems = Box<[String]>([])
    let lock = NSLock()
    inThreads(6) { thread in
      let own = self.context(beside: context)
      own.mergePolicy = NSMergePolicy.mergeByPropertyObjectTrump
      own.performAndWait {
        do {
          for round in 1...25 {
            if thread < 2 {
              let object = own.object(with: ids[(round + thread) % ids.count])
              object["scan"] = Data(repeating: UInt8(round), count: 300_000)
              try own.save()
            } else {
              for object in try own.all("Employee") {
                let scan = object["scan"] as? Data ?? Data()
                // One comparison of memory: with a thread sanitizer, a look at each byte takes minutes.
                guard scan != Data(repeating: scan.first ?? 0, count: 300_000) else { continue }
                lock.withLock { problems.value.append("\(object["name"] ?? "") has \(scan.count) bytes") }
              }
              own.reset()
            }
          }
        } catch {
          lock.withLock { problems.value.append("\(error)") }
        }
      }
    }
    #expect(problems.value == [])
    try place.close()
    try StoreChecks.check(place.url, CompanyModel.make())
  }

  @Test("The thread that holds the coordinator's lock in a transaction sees what it has written")
  func ownTransaction() throws {
    let place = try TemporaryStore()
    let (context, store) = try open(place)
    context.make("Task", ["title": "saved"])
    try context.save()
    let task = try #require(context.coordinator.managedObjectModel.entitiesByName["Task"])
    let layout = try store.state().entities.layout(of: task)
    try context.coordinator.performAndWait {
      let connection = try store.state().connection
      try connection.begin(.immediate)
      try connection.run("UPDATE \(layout.table) SET ZTITLE = 'not committed'")
      #expect(try titles(self.context(beside: context)) == ["not committed"])
      try connection.rollback()
    }
    #expect(try titles(self.context(beside: context)) == ["saved"])
  }

  @Test("A store that is destroyed, replaced or removed has no connection left, and is read anew afterwards")
  func endings() throws {
    let (place, other) = (try TemporaryStore(), try TemporaryStore())
    let (context, store) = try twoStores(place, other)
    #expect(try titles(self.context(beside: context)) == ["here"])
    try other.close()
    try context.coordinator.replacePersistentStore(at: place.url, withPersistentStoreFrom: other.url, type: .sqlite)
    #expect(try titles(self.context(beside: context)) == ["there"])
    try context.coordinator.remove(store)
    #expect(try place.files() == ["Store.sqlite"])
    let (third, _) = try open(place)
    #expect(try titles(third) == ["there"])
    try third.coordinator.destroyPersistentStore(at: place.url, type: .sqlite)
    #expect(throws: (any Error).self) { try titles(self.context(beside: third)) }
  }

  @Test("When another file takes the store's name, reads and writes stay with the file that was opened")
  func otherFile() throws {
    let (place, other) = (try TemporaryStore(), try TemporaryStore())
    let (context, store) = try twoStores(place, other)
    try other.close()
    // The log, which keeps its name, must not hide what is in the other file.
    _ = try store.state().connection.checkpoint(.truncate)
    let kept = place.folder.appendingPathComponent("Kept.sqlite")
    try FileManager.default.moveItem(at: place.url, to: kept)
    try FileManager.default.copyItem(at: other.url, to: place.url)
    // As many connections as a read can need are new.
    let found: [[String]?]? = store.concurrently { _ in
      [try? titles(self.context(beside: context)), try? titles(self.context(beside: context))]
    }
    for titles in found ?? [] { #expect(titles == ["here"]) }
    #expect(try titles(self.context(beside: context)) == ["here"])
  }

  @Test("Pragmas that concern reading hold for every connection")
  func pragmas() throws {
    let place = try TemporaryStore()
    let (_, store) = try open(place, options: [NSSQLitePragmasOption: ["cache_size": "77", "synchronous": "OFF"]])
    let size: SQLiteValue?? = store.concurrently { source in
      try (source as? SQLiteStore.Opened)?.connection.pragma("cache_size")
    }
    #expect(size == .some(.integer(77)))
  }

  @Test("Stores whose journal mode or locks allow no second reader are read by the connection that writes")
  func withoutLog() throws {
    for pragmas in [["journal_mode": "DELETE"], ["locking_mode": "EXCLUSIVE"]] {
      let place = try TemporaryStore()
      let (context, store) = try open(place, options: [NSSQLitePragmasOption: pragmas])
      context.make("Task", ["title": "here"])
      try context.save()
      let result: Int? = store.concurrently { _ in 1 }
      #expect(result == nil, "\(pragmas)")
      #expect(try titles(self.context(beside: context)) == ["here"], "\(pragmas)")
    }
  }

  /// Makes a store with tasks, and returns a context with their faults, of which the first two have been read: the second
  /// by a connection that keeps its state.
  private func faults(_ place: TemporaryStore) throws -> (NSManagedObjectContext, [NSManagedObject], SQLiteStore) {
    let (context, store) = try open(place)
    let ids = ["0", "1", "2"].map { context.make("Task", ["title": $0]) }
    try context.save()
    let other = self.context(beside: context)
    let faults = ids.map { other.object(with: $0.objectID) }
    #expect(faults[0]["title"] as? String == "0")
    #expect(faults[1]["title"] as? String == "1")
    let keepsState: Bool? = store.concurrently { ($0 as? SQLiteStore.Opened)?.keepsState == true }
    #expect(keepsState == true)
    return (other, faults, store)
  }

  @Test("A fault sees what another connection has committed since the fault before")
  func faultsAfterCommits() throws {
    let place = try TemporaryStore()
    let (context, faults, _) = try faults(place)
    let outside = try SQLiteConnection(url: place.url, mode: .readWrite)
    try outside.run("UPDATE ZTASK SET ZTITLE = 'changed'")
    #expect(faults[2]["title"] as? String == "changed")
    #expect(faults[1]["title"] as? String == "1")
    context.refreshAllObjects()
    #expect(faults[1]["title"] as? String == "changed")
    try outside.close()
  }

  @Test("Faults beside writers that are killed in the middle see every commit, and nothing that was not committed")
  func killedWriters() async throws {
    let place = try TemporaryStore()
    let (context, faults, _) = try faults(place)
    let observer = try SQLiteConnection(url: place.url, mode: .readOnly)
    func committed() throws -> Int {
      Int(try observer.scalar("SELECT ZTITLE FROM ZTASK WHERE Z_PK = 1")?.text ?? "") ?? -1
    }
    let isDone = DispatchSemaphore(value: 0)
    let path = place.url.path
    let killing = Task {
      for _ in 0..<12 {
        await #expect(processExitsWith: .signal(SIGKILL)) { [path = path as String] in
          let connection = try SQLiteConnection(path: path, mode: .readWrite)
          Thread.detachNewThread {
            usleep(UInt32.random(in: 1_000...60_000))
            kill(getpid(), SIGKILL)
          }
          // All rows have the same number after each commit.
          while true {
            try connection.execute("BEGIN IMMEDIATE")
            try connection.run("UPDATE ZTASK SET ZTITLE = CAST(CAST(ZTITLE AS INTEGER) + 1 AS TEXT) WHERE Z_PK = 1")
            try connection.run("UPDATE ZTASK SET ZTITLE = (SELECT ZTITLE FROM ZTASK WHERE Z_PK = 1) WHERE Z_PK <> 1")
            try connection.execute("COMMIT")
          }
        }
      }
      isDone.signal()
    }
    // In the context's queue: a loop here would hold a thread that other tests wait for.
    let (reads, stale) = try await context.perform {
      var (reads, stale) = (0, 0)
      // The pause is for other tests, for which the next writer may have to wait.
      while isDone.wait(timeout: .now() + .microseconds(500)) == .timedOut {
        let before = try committed()
        context.refresh(faults[0], mergeChanges: false)
        let found = Int(faults[0]["title"] as? String ?? "") ?? -1
        let after = try committed()
        reads += 1
        if found < before || found > after { stale += 1 }
      }
      return (reads, stale)
    }
    await killing.value
    #expect(try stale == 0 && reads > 100 && committed() > 10)
    try observer.close()
  }

  @Test("Reads that have ended hold up the reset of the log for a moment, or until the store is written to")
  func resetsOfTheLog() throws {
    let place = try TemporaryStore()
    let (context, faults, store) = try faults(place)
    let outside = try SQLiteConnection(url: place.url, mode: .readWrite, busyTimeout: 60)
    #expect(try outside.checkpoint(.truncate).isComplete)
    outside.setBusyTimeout(0)
    try outside.run("UPDATE ZTASK SET ZTITLE = 'changed'")
    #expect(faults[2]["title"] as? String == "changed")
    _ = try store.writableState()
    #expect(try outside.checkpoint(.truncate).isComplete)
    withExtendedLifetime(context) {}
    try outside.close()
  }
}
