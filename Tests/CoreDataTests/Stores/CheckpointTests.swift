// OpenCoreData
// SPDX-License-Identifier: Apache-2.0

import CoreDataFileSystem
import CoreDataSQLite
import CoreDataTestSupport
import Foundation
import Testing

@testable import CoreData

@Suite("The write-ahead log is copied into the store beside saves", .timeLimit(.minutes(60)))
struct CheckpointTests {
  /// Saves texts that need more pages than the log may have.
  private func fill(_ context: NSManagedObjectContext, count: Int = 3_000) throws {
    for number in 0..<count {
      context.make("Task", ["title": "\(number) " + String(repeating: "a long title ", count: 150)])
    }
    try context.save()
  }

  private func open(
    _ place: TemporaryStore, pragmas: [String: String] = [:]
  ) throws -> (NSManagedObjectContext, SQLiteStore) {
    let options = pragmas.isEmpty ? nil : [NSSQLitePragmasOption: pragmas]
    let context = try place.context(CompanyModel.make(), options: options)
    return (context, try #require(context.coordinator.persistentStores.first as? SQLiteStore))
  }

  /// The number of tasks without what is in the log.
  private func countInFile(_ place: TemporaryStore) throws -> SQLiteValue? {
    try SQLiteConnection(path: place.url.path, mode: .immutable).scalar("SELECT COUNT(*) FROM ZTASK")
  }

  @Test("After a large save everything is in the file, and the next save begins the log anew")
  func copied() throws {
    let place = try TemporaryStore()
    let (context, store) = try open(place)
    try fill(context)
    try #require(store.checkpointer).wait()
    #expect(try countInFile(place) == 3_000)
    let log = URL(fileURLWithPath: place.url.path + "-wal")
    let size = try #require(try log.resourceValues(forKeys: [.fileSizeKey]).fileSize)
    context.make("Task", ["title": "last"])
    try context.save()
    // A log that begins anew keeps the space of a thousand pages.
    let rest = try #require(try URL(fileURLWithPath: log.path).resourceValues(forKeys: [.fileSizeKey]).fileSize)
    #expect(rest <= size && rest <= 4_200_000)
    #expect(try context.all("Task", by: "title").count == 3_001)
    try place.close()
    #expect(try place.files() == ["Store.sqlite"])
    #expect(try SQLiteConnection(path: place.url.path, mode: .readOnly).integrityCheck() == [])
  }

  private func logSize(_ place: TemporaryStore) -> Int { DatabaseCompanions.logFileSize(place.url.path) }

  /// Waits until a condition holds, which can take a few seconds on a busy computer.
  private func becomes(_ condition: () throws -> Bool) async rethrows -> Bool {
    for _ in 0..<300 {
      if try condition() { return true }
      // Ends early where the test is cancelled.
      try? await Task.sleep(nanoseconds: 50_000_000)
    }
    return false
  }

  @Test("SQLite does as the program has said, if it has")
  func pragma() throws {
    for (pages, expected) in [("0", 0), ("500", 3_000)] {
      let place = try TemporaryStore()
      let (context, store) = try open(place, pragmas: ["wal_autocheckpoint": pages])
      #expect(store.checkpointer == nil)
      try fill(context)
      #expect(try countInFile(place) == .integer(Int64(expected)))
      try place.close()
      #expect(try countInFile(place) == 3_000)
    }
  }

  @Test("A store that is removed, closed with its coordinator, or destroyed after a large save leaves nothing behind")
  func closing() throws {
    let place = try TemporaryStore()
    for round in 1...3 {
      let (context, store) = try open(place)
      try fill(context)
      try context.coordinator.remove(store)
      #expect(try place.files() == ["Store.sqlite"])
      #expect(try countInFile(place) == .integer(Int64(round * 3_000)))
      try place.close()
    }
    let (context, _) = try open(place)
    try fill(context)
    try context.coordinator.destroyPersistentStore(at: place.url, type: .sqlite)
    #expect(try Data(contentsOf: place.folder.appendingPathComponent("Store.sqlite-wal")).isEmpty)
  }

  @Test("Another file with the store's name is not opened")
  func replaced() throws {
    let place = try TemporaryStore()
    let (context, store) = try open(place)
    try fill(context, count: 10)
    let stranger = place.folder.appendingPathComponent("stranger")
    try Data("no database".utf8).write(to: stranger)
    #expect(rename(stranger.path, place.url.path) == 0)
    // The connection that writes keeps its file, where the rows would be lost.
    #expect { try fill(context) } throws: { ($0 as NSError).isCocoa(134070) }
    try #require(store.checkpointer).wait()
    #expect(try Data(contentsOf: place.url) == Data("no database".utf8))
    #expect(try context.count(for: NSFetchRequest<NSManagedObject>(entityName: "Task")) == 3_010)
  }

  @Test("While a reader keeps an older state, nothing that it reads is overwritten, and saves go on")
  func reader() throws {
    let place = try TemporaryStore()
    let (context, store) = try open(place)
    try fill(context)
    let reader = try SQLiteConnection(path: place.url.path, mode: .readOnly)
    try reader.begin(.deferred)
    #expect(try reader.scalar("SELECT COUNT(*) FROM ZTASK") == 3_000)
    for task in try context.all("Task", by: "title") { task.setValue("changed", forKey: "title") }
    try context.save()
    try fill(context)
    try #require(store.checkpointer).wait()
    #expect(try reader.scalar("SELECT COUNT(*) FROM ZTASK WHERE ZTITLE <> 'changed'") == 3_000)
    try reader.rollback()
    #expect(try reader.scalar("SELECT COUNT(*) FROM ZTASK WHERE ZTITLE = 'changed'") == 3_000)
  }

  @Test("What a reader has prevented is done after it has ended, though nothing is saved any more")
  func afterReader() async throws {
    let place = try TemporaryStore()
    let (context, store) = try open(place)
    try fill(context, count: 10)
    let reader = try SQLiteConnection(path: place.url.path, mode: .readOnly)
    try reader.begin(.deferred)
    #expect(try reader.scalar("SELECT COUNT(*) FROM ZTASK") == 10)
    try fill(context)
    try #require(store.checkpointer).wait()
    #expect(try countInFile(place) != 3_010)
    #expect(logSize(place) > 1 << 20)
    try reader.rollback()
    // The file alone makes no sense while the log is being copied into it.
    #expect(try await becomes { try logSize(place) == 0 && countInFile(place) == 3_010 })
    #expect(try context.count(for: NSFetchRequest<NSManagedObject>(entityName: "Task")) == 3_010)
  }

  @Test("Readers that keep their transactions do not keep the log from beginning anew")
  func busyReaders() async throws {
    let place = try TemporaryStore()
    let (context, store) = try open(place)
    try fill(context, count: 10)
    let other = try place.context(CompanyModel.make())
    let isDone = Guarded(false)
    let work = ParallelWork {
      while !isDone.value {
        other.performAndWait {
          other.reset()
          // Read again by the connection that writes if it fails.
          _ = try? other.count(for: NSFetchRequest<NSManagedObject>(entityName: "Task"))
        }
      }
    }
    for _ in 0..<60 {
      try fill(context, count: 60)
      context.reset()
    }
    isDone.value = true
    try work.wait()
    // 60 saves of more than 50 pages; the log may have 2,000 pages, and a save and a background copy beyond that.
    #expect(logSize(place) < 14 << 20)
    #expect(try context.count(for: NSFetchRequest<NSManagedObject>(entityName: "Task")) == 3_610)
    withExtendedLifetime(store) {}
  }

  @Test("A process that ends without closing its store leaves a short log, and every row")
  func exiting() async throws {
    let place = try TemporaryStore()
    let path = place.url.path
    await #expect(processExitsWith: .success) { [path = path as String] in
      let coordinator = NSPersistentStoreCoordinator(managedObjectModel: CompanyModel.make())
      try coordinator.addPersistentStore(type: .sqlite, at: URL(fileURLWithPath: path))
      let context = NSManagedObjectContext(.privateQueue)
      context.persistentStoreCoordinator = coordinator
      for number in 0..<3_000 {
        context.make("Task", ["title": "\(number) " + String(repeating: "a long title ", count: 150)])
      }
      try context.save()
      // As a global variable would.
      _ = Unmanaged.passRetained(context)
      exit(EXIT_SUCCESS)
    }
    #expect(logSize(place) <= 1 << 20)
    #expect(try countInFile(place) == 3_000)
  }

  @Test("The long log of a killed process is emptied by the next one, though it saves nothing")
  func killed() async throws {
    let place = try TemporaryStore()
    let path = place.url.path
    await #expect(processExitsWith: .signal(SIGKILL)) { [path = path as String] in
      let coordinator = NSPersistentStoreCoordinator(managedObjectModel: CompanyModel.make())
      try coordinator.addPersistentStore(
        type: .sqlite, at: URL(fileURLWithPath: path), options: [NSSQLitePragmasOption: ["wal_autocheckpoint": "0"]])
      let context = NSManagedObjectContext(.privateQueue)
      context.persistentStoreCoordinator = coordinator
      for number in 0..<3_000 {
        context.make("Task", ["title": "\(number) " + String(repeating: "a long title ", count: 150)])
      }
      try context.save()
      kill(getpid(), SIGKILL)
    }
    #expect(logSize(place) > 5 << 20)
    let (context, _) = try open(place)
    #expect(await becomes { logSize(place) == 0 })
    #expect(try countInFile(place) == 3_000)
    #expect(try context.count(for: NSFetchRequest<NSManagedObject>(entityName: "Task")) == 3_000)
  }

  @Test("A store that is closed while another connection stays leaves a short log")
  func closingBesideReader() throws {
    let place = try TemporaryStore()
    let (context, store) = try open(place)
    try fill(context)
    let reader = try SQLiteConnection(path: place.url.path, mode: .readOnly)
    #expect(try reader.scalar("SELECT COUNT(*) FROM ZTASK") == 3_000)
    try context.coordinator.remove(store)
    #expect(logSize(place) == 0)
    #expect(try reader.scalar("SELECT COUNT(*) FROM ZTASK") == 3_000)
  }

  private final class Openings: @unchecked Sendable {
    private let lock = NSLock()
    private var opened = 0
    private var copied = 0
    private var free = Int.max
    /// Held while a log is copied.
    let gate = NSLock()

    var count: Int { lock.withLock { opened } }
    var copiedPages: Int {
      get { lock.withLock { copied } }
      set { lock.withLock { copied = newValue } }
    }

    var freeSpace: Int {
      get { lock.withLock { free } }
      set { lock.withLock { free = newValue } }
    }

    func open() -> SQLiteConnection? {
      lock.withLock { opened += 1 }
      gate.withLock {}
      return nil
    }
  }

  @Test("It is copied after each thousand pages, once at a time, and a save waits for a log that stays too long")
  func when() {
    let openings = Openings()
    let checkpointer = BackgroundCheckpointer(
      .init(
        path: "/nonexistent/Store.sqlite", pageSize: 1_024, open: { openings.open() }, endKeptReads: {},
        copiedPages: { openings.copiedPages }, freeSpace: { openings.freeSpace }))
    func isCopied(_ pages: Int, times: Int) -> Bool {
      checkpointer.noteCommit(pages: pages)
      checkpointer.wait()
      return openings.count == times
    }
    #expect(isCopied(1, times: 0) && isCopied(999, times: 0) && isCopied(1_000, times: 1))
    #expect(isCopied(1_900, times: 1) && isCopied(1_999, times: 1) && isCopied(2_000, times: 2))
    // The log has begun anew.
    #expect(isCopied(10, times: 2) && isCopied(1_010, times: 3))
    // Another process has copied it.
    openings.copiedPages = 1_500
    #expect(isCopied(1_900, times: 3))
    openings.copiedPages = 0
    #expect(isCopied(5, times: 3))
    openings.gate.lock()
    for pages in [1_100, 1_200, 1_300] { checkpointer.noteCommit(pages: pages) }
    openings.gate.unlock()
    checkpointer.wait()
    #expect(openings.count == 4)
    // One large save waits for nothing; the next one copies the log itself, and then each that has a thousand pages more.
    #expect(isCopied(5_000, times: 5))
    checkpointer.noteCommit(pages: 5_100)
    #expect(openings.count == 6)
    #expect(isCopied(5_200, times: 6))
    checkpointer.noteCommit(pages: 6_100)
    #expect(openings.count == 7)
    // Nor does a log wait that is larger than what is free on the disk.
    #expect(isCopied(1_100, times: 8) && isCopied(1_200, times: 8))
    openings.freeSpace = 1 << 20
    #expect(isCopied(1_210, times: 8) && isCopied(1_270, times: 9) && isCopied(1_280, times: 9))
    checkpointer.close()
    #expect(isCopied(20_000, times: 9))
  }
}
