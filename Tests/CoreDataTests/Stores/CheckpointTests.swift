// OpenCoreData
// SPDX-License-Identifier: Apache-2.0

import CoreDataSQLite
import CoreDataTestSupport
import Foundation
import Testing

@testable import CoreData

@Suite("The write-ahead log is copied into the store beside saves", .timeLimit(.minutes(10)))
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
    try #require(store.checkpoints).wait()
    #expect(try countInFile(place) == 3_000)
    let log = URL(fileURLWithPath: place.url.path + "-wal")
    let size = try #require(try log.resourceValues(forKeys: [.fileSizeKey]).fileSize)
    context.make("Task", ["title": "last"])
    try context.save()
    #expect(try log.resourceValues(forKeys: [.fileSizeKey]).fileSize == size)
    #expect(try context.all("Task", by: "title").count == 3_001)
    try place.close()
    #expect(try place.files() == ["Store.sqlite"])
    #expect(try SQLiteConnection(path: place.url.path, mode: .readOnly).integrityCheck() == [])
  }

  @Test("SQLite does as the program has said, if it has")
  func pragma() throws {
    for (pages, expected) in [("0", 0), ("500", 3_000)] {
      let place = try TemporaryStore()
      let (context, store) = try open(place, pragmas: ["wal_autocheckpoint": pages])
      #expect(store.checkpoints == nil)
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
    #expect(try !place.files().contains("Store.sqlite-wal"))
  }

  @Test("Another file with the store's name is not opened")
  func replaced() throws {
    let place = try TemporaryStore()
    let (context, store) = try open(place)
    try fill(context, count: 10)
    let stranger = place.folder.appendingPathComponent("stranger")
    try Data("no database".utf8).write(to: stranger)
    #expect(rename(stranger.path, place.url.path) == 0)
    // The connection that writes keeps its file, whose log is the same.
    try fill(context)
    try #require(store.checkpoints).wait()
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
    try #require(store.checkpoints).wait()
    #expect(try reader.scalar("SELECT COUNT(*) FROM ZTASK WHERE ZTITLE <> 'changed'") == 3_000)
    try reader.rollback()
    #expect(try reader.scalar("SELECT COUNT(*) FROM ZTASK WHERE ZTITLE = 'changed'") == 3_000)
  }

  private final class Openings: @unchecked Sendable {
    private let lock = NSLock()
    private var opened = 0
    /// Held while a log is copied.
    let gate = NSLock()

    var count: Int { lock.withLock { opened } }

    func open() -> SQLiteConnection? {
      lock.withLock { opened += 1 }
      gate.withLock {}
      return nil
    }
  }

  @Test("It is copied after each thousand pages, once at a time, and a save waits for a log that grows too long")
  func when() {
    let openings = Openings()
    let checkpoints = CheckpointsBehind { openings.open() }
    func isCopied(_ pages: Int, times: Int) -> Bool {
      checkpoints.noteCommit(pages: pages)
      checkpoints.wait()
      return openings.count == times
    }
    #expect(isCopied(1, times: 0) && isCopied(999, times: 0) && isCopied(1_000, times: 1))
    #expect(isCopied(1_999, times: 1) && isCopied(2_000, times: 2) && isCopied(2_001, times: 2))
    // The log has begun anew.
    #expect(isCopied(10, times: 2) && isCopied(1_010, times: 3))
    openings.gate.lock()
    for pages in [3_000, 4_000, 5_000] { checkpoints.noteCommit(pages: pages) }
    openings.gate.unlock()
    checkpoints.wait()
    #expect(openings.count == 4)
    // Not by another thread after this call.
    checkpoints.noteCommit(pages: 16_000)
    #expect(openings.count == 5)
    checkpoints.noteCommit(pages: 16_001)
    #expect(openings.count == 6)
  }
}
