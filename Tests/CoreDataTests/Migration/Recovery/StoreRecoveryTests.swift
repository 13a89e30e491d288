// OpenCoreData
// SPDX-License-Identifier: Apache-2.0

import CoreDataFileSystem
import CoreDataModelFiles
import CoreDataSQLite
import CoreDataTestSupport
import Foundation
import Synchronization
import Testing

@testable import CoreData
@testable import CoreDataStoreFiles

@Suite("Unfinished work, and stores that are replaced or destroyed")
struct StoreRecoveryTests {
  private let store: TemporaryStore
  private let before: [String]

  init() throws {
    store = try TemporaryStore("Data.sqlite")
    try RecoverySample.fill(store.url, rows: 12, photos: 2)
    before = try RecoverySample.content(store.url)
  }

  private var coordinator: NSPersistentStoreCoordinator {
    NSPersistentStoreCoordinator(managedObjectModel: RecoverySample.model(1))
  }

  private func isHeld(_ place: StoreLocation) throws -> Bool {
    let work = try #require(try WorkDirectory.open(place, in: OpenDirectory.open(place.folder)))
    return try MigrationLock.isHeld(work, place)
  }

  /// Leaves what a process leaves that ends before the exchange.
  private func interrupt() throws {
    let place = StoreLocation(store.url)
    let lock = try MigrationLock.acquire(place)
    var journal = WorkJournal(purpose: .migration, source: "1", destination: "2")
    journal.phase = .exchanging
    journal.added = [UUID().uuidString]
    try journal.write(lock.work)
    try Data("new".utf8).write(to: place.newStore)
    try Data("value".utf8).write(to: place.externalData.appendingPathComponent(journal.added[0]))
    withExtendedLifetime(lock) {}
  }

  @Test("Inspection tells what was going on; recovery undoes it, and then there is nothing")
  func inspection() throws {
    #expect(try StoreRecovery.inspect(storeAt: store.url) == nil)
    #expect(try StoreRecovery.recover(storeAt: store.url) == nil)
    try interrupt()
    let found = try #require(try StoreRecovery.inspect(storeAt: store.url))
    #expect(found.purpose == .migration)
    #expect(found.source == "1")
    #expect(found.destination == "2")
    #expect(found.process == Int(getpid()))
    #expect(!found.isRunning)
    #expect(!found.isCommitted)
    #expect(try StoreRecovery.recover(storeAt: store.url) == .undone)
    #expect(try StoreRecovery.inspect(storeAt: store.url) == nil)
    #expect(try RecoverySample.files(store.folder) == ["Data.sqlite", "2 values"])
    #expect(try RecoverySample.content(store.url) == before)
  }

  @Test("Opening a store clears up; opening it for reading only, or while the work goes on, does not")
  func opening() throws {
    try interrupt()
    let place = StoreLocation(store.url)
    let reading = coordinator
    try reading.remove(
      reading.addPersistentStore(type: .sqlite, at: place.url, options: [NSReadOnlyPersistentStoreOption: true]))
    #expect(FileCalls.exists(place.workFolder))
    let lock = try MigrationLock.acquire(place)
    #expect(try StoreRecovery.inspect(storeAt: place.url)?.isRunning == true)
    #expect(try RecoverySample.content(place.url) == before)
    #expect(FileCalls.exists(place.newStore))
    withExtendedLifetime(lock) {}
  }

  @Test("A journal of a later version is left alone, and told of")
  func laterVersion() throws {
    try interrupt()
    let place = StoreLocation(store.url)
    let text = try String(contentsOf: place.journalFile, encoding: .utf8)
    try text.replacingOccurrences(of: "\"version\" : 1", with: "\"version\" : 2")
      .write(to: place.journalFile, atomically: true, encoding: .utf8)
    for failure in [
      thrownError { try StoreRecovery.recover(storeAt: place.url) },
      thrownError { _ = try StoreRecovery.inspect(storeAt: place.url) },
      thrownError { try coordinator.addPersistentStore(type: .sqlite, at: place.url) },
    ] {
      #expect(failure?.code == NSPersistentStoreOperationError)
      #expect(failure?.localizedFailureReason?.contains("version 2") == true, "\(String(describing: failure))")
    }
    #expect(FileCalls.exists(place.newStore))
  }

  @Test("A log that was moved aside for a damaged store's sake comes back when the work is undone")
  func movedLog() throws {
    let place = StoreLocation(store.url)
    let connection = try SQLiteConnection(url: store.url, mode: .readWrite)
    try connection.setPragma("wal_autocheckpoint", to: 0)
    try connection.run("UPDATE ZNOTE SET ZBODY = 'from the log'")
    let hot = store.folder.appendingPathComponent("hot")
    for suffix in ["", "-wal"] {
      try FileManager.default.copyItem(atPath: store.url.path + suffix, toPath: hot.path + suffix)
    }
    try connection.close()
    for suffix in ["", "-wal"] {
      try FileCalls.rename(URL(fileURLWithPath: hot.path + suffix), to: URL(fileURLWithPath: store.url.path + suffix))
    }
    try interrupt()
    try FileCalls.rename(StoreLocation.url(place.file, "-wal"), to: StoreLocation.url(place.oldStore, "-wal"))
    #expect(try StoreRecovery.recover(storeAt: store.url) == .undone)
    let content = try RecoverySample.content(store.url)
    #expect(content.count == 12 && content.allSatisfy { $0.contains("|from the log|") })
    #expect(try RecoverySample.files(store.folder) == ["Data.sqlite", "2 values"])
  }

  @Test("Who writes in the moment before a store is taken alone is noticed, and so is who moves it away")
  func intrusion() throws {
    let other = store.folder.appendingPathComponent("Other.sqlite")
    let intrusions: [(moment: String, StoreWriteLock.Intrusion, () throws -> Void)] = [
      (
        "locking_mode", .changed,
        {
          let writer = try SQLiteConnection(url: store.url, mode: .readWrite)
          try writer.run("UPDATE ZNOTE SET ZBODY = 'written'")
          try writer.close()
        }
      ),
      ("BEGIN EXCLUSIVE", .moved, { try FileCalls.rename(store.url, to: other) }),
    ]
    for (moment, expected, intrude) in intrusions {
      let connection = try SQLiteConnection(url: store.url, mode: .readWrite)
      let hold = try StoreWriteLock(connection, url: store.url, timeout: 5)
      var failure: (any Error)?
      var isDone = false
      connection.setTrace { statement in
        guard !isDone, statement.uppercased().contains(moment.uppercased()) else { return }
        isDone = true
        do { try intrude() } catch { failure = error }
      }
      #expect(throws: expected, "\(moment)") { try hold.upgradeToExclusive() }
      connection.setTrace(nil)
      hold.release()
      #expect(isDone && failure == nil, "\(String(describing: failure))")
    }
    try FileCalls.rename(other, to: store.url)
    #expect(try RecoverySample.content(store.url).allSatisfy { $0.contains("|written|") })
  }

  @Test("Nobody gets in between the look at a store's log and the moment when it is folded in")
  func noGap() throws {
    let connection = try SQLiteConnection(url: store.url, mode: .readWrite)
    let hold = try StoreWriteLock(connection, url: store.url, timeout: 5)
    var refusal: SQLiteError?
    connection.setTrace { statement in
      guard refusal == nil, statement.contains("journal_mode") else { return }
      do {
        let writer = try SQLiteConnection(url: store.url, mode: .readWrite, busyTimeout: 0)
        try writer.run("UPDATE ZNOTE SET ZBODY = 'written'")
      } catch {
        refusal = error as? SQLiteError
      }
    }
    try hold.upgradeToExclusive()
    #expect(refusal?.isBusy == true)
    connection.setTrace(nil)
    hold.release()
    #expect(try RecoverySample.content(store.url) == before)
  }

  @Test("Of many who want the lock one has it, though each takes its file away at the end")
  func lock() throws {
    final class Room: Sendable {
      let inside = Mutex(0)
      let most = Mutex(0)
      let failures = Mutex<[String]>([])
    }
    let (room, place) = (Room(), StoreLocation(store.url))
    inThreads(4) { _ in
      do {
        for _ in 0..<60 {
          let lock = try MigrationLock.acquire(place, timeout: 60)
          let count = room.inside.withLock { count in
            count += 1
            return count
          }
          room.most.withLock { $0 = max($0, count) }
          sched_yield()
          room.inside.withLock { $0 -= 1 }
          try lock.removeWorkFolder()
        }
      } catch {
        room.failures.withLock { $0.append("\(error)") }
      }
    }
    #expect(room.most.withLock { $0 } == 1)
    #expect(room.failures.withLock { $0 } == [])
    #expect(!FileCalls.exists(place.workFolder))
  }

  @Test("Values that a copy put back needs are not removed by late clearing up")
  func copyPutBack() throws {
    let copy = store.folder.appendingPathComponent("Copy.sqlite")
    let connection = try SQLiteConnection(url: store.url, mode: .readOnly)
    try connection.backup(toPath: copy.path)
    let names = try ExternalReferences.names(in: connection).sorted()
    try connection.close()
    let place = StoreLocation(store.url)
    let lock = try MigrationLock.acquire(place)
    var journal = WorkJournal(purpose: .migration)
    journal.phase = .exchanging
    journal.obsolete = names
    try journal.write(lock.work)
    for file in place.companions { try FileCalls.removeFile(file) }
    try FileCalls.rename(copy, to: place.file)
    #expect(try InterruptedWork.settle(lock) == .finished)
    #expect(try RecoverySample.content(store.url) == before)
  }

  @Test("A store is replaced by a copy of another, log and values included, which stays as it is")
  func replacement() throws {
    let other = store.folder.appendingPathComponent("Other.sqlite")
    try RecoverySample.fill(other, rows: 5, photos: 1)
    let writer = try SQLiteConnection(url: other, mode: .readWrite)
    try writer.setPragma("wal_autocheckpoint", to: 0)
    try writer.run("UPDATE ZNOTE SET ZBODY = 'in the log'")
    try coordinator.replacePersistentStore(at: store.url, withPersistentStoreFrom: other, type: .sqlite)
    try writer.close()
    let content = try RecoverySample.content(store.url)
    #expect(content.count == 5)
    #expect(content.allSatisfy { $0.contains("in the log") })
    #expect(try RecoverySample.content(other) == content)
    let fresh = store.folder.appendingPathComponent("Fresh.sqlite")
    try coordinator.replacePersistentStore(at: fresh, withPersistentStoreFrom: other, ofType: NSSQLiteStoreType)
    #expect(try RecoverySample.content(fresh) == content)
    #expect(
      try RecoverySample.files(store.folder) == ["Data.sqlite", "Fresh.sqlite", "Other.sqlite", "3 values"])
    let missing = store.folder.appendingPathComponent("Missing.sqlite")
    let failure = thrownError {
      try coordinator.replacePersistentStore(at: store.url, withPersistentStoreFrom: missing, type: .sqlite)
    }
    #expect(failure?.code == CocoaError.Code.fileReadNoSuchFile.rawValue)
    #expect(try RecoverySample.content(store.url) == content)
  }

  @Test("A destroyed store is an empty file, in which a new store can be made")
  func destruction() throws {
    let reader = try SQLiteConnection(url: store.url, mode: .readWrite)
    _ = try reader.scalar("SELECT COUNT(*) FROM ZNOTE")
    let options = [NSPersistentStoreTimeoutOption: 0.1]
    let failure = thrownError { try coordinator.destroyPersistentStore(at: store.url, type: .sqlite, options: options) }
    #expect(failure?.code == NSPersistentStoreTimeoutError)
    try reader.close()
    #expect(try RecoverySample.content(store.url) == before)
    try coordinator.destroyPersistentStore(at: store.url, type: .sqlite)
    #expect(try RecoverySample.files(store.folder) == ["Data.sqlite"])
    #expect(try Data(contentsOf: store.url).isEmpty)
    let making = coordinator
    try making.remove(making.addPersistentStore(type: .sqlite, at: store.url))
    try StoreChecks.check(store.url, RecoverySample.model(1))
  }

  @Test("By force a store is destroyed though somebody has it open")
  func force() throws {
    let reader = try SQLiteConnection(url: store.url, mode: .readWrite)
    _ = try reader.scalar("SELECT COUNT(*) FROM ZNOTE")
    try coordinator.destroyPersistentStore(
      at: store.url, ofType: NSSQLiteStoreType, options: [NSPersistentStoreForceDestroyOption: true])
    #expect(try Data(contentsOf: store.url).isEmpty)
    try reader.close()
  }

  #if os(Linux)
  @Test("A lock that is given back is free, though a process that was just started still has its file open")
  func inheritedLock() throws {
    let place = StoreLocation(store.url)
    var lock: MigrationLock? = try MigrationLock.acquire(place)
    let names = try FileManager.default.contentsOfDirectory(atPath: "/proc/self/fd").compactMap(Int32.init)
    // Some descriptors are gone by now.
    let inherited = names.filter { number in
      let target = try? FileManager.default.destinationOfSymbolicLink(atPath: "/proc/self/fd/\(number)")
      return target == place.lockFile.path
    }.map { dup($0) }
    defer { inherited.forEach { close($0) } }
    #expect(inherited.count == 1)
    #expect(try isHeld(place))
    withExtendedLifetime(lock) {}
    lock = nil
    #expect(try !isHeld(place))
    try MigrationLock.acquire(place).removeWorkFolder()
  }
  #endif
}
