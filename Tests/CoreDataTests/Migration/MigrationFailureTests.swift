// OpenCoreData
// SPDX-License-Identifier: Apache-2.0

import CoreDataFileSystem
import CoreDataModelFiles
import CoreDataSQLite
import CoreDataTestSupport
import Foundation
import Testing

@testable import CoreData
@testable import CoreDataStoreFiles

@Suite("Failing migrations")
struct MigrationFailureTests {
  struct Stop: Error {}

  private func migration(_ prepared: PreparedMigration, timeout: TimeInterval = 0.2) throws -> StoreMigration {
    let model = try NSManagedObjectModel(document: prepared.new)
    return try StoreMigration(
      storeAt: prepared.store.url, metadata: SQLiteStore.metadataForPersistentStore(with: prepared.store.url),
      known: ModelVersions(around: model), destination: .init(name: "new", model: model), configuration: nil,
      busyTimeout: timeout, allowsLoss: true)
  }

  @Test("When any statement fails, the store is as it was", arguments: [1000, 2000, 3000] as [UInt64])
  func everyStatement(_ seed: UInt64) throws {
    let prepared = try #require(try PreparedMigration.some(1, from: seed).first)
    let before = try FileContent(prepared.store.url)
    var number = 1
    while true {
      let file = try StoreFile.open(prepared.store.url, isReadOnly: false)
      var count = 0
      file.connection.setTrace { _ in count += 1 }
      file.connection.setProgressHandler(every: 1) { count != number }
      let failure = thrownError { _ = try InPlaceMigration(migration: migration(prepared), file: file).run { _ in } }
      try file.close()
      // What comes after the commit may fail; the store is migrated.
      if failure == nil { break }
      #expect(try FileContent(prepared.store.url) == before, "statement \(number)")
      number += 1
    }
    #expect(number > 20)
    #expect(try prepared.differences() == [])
  }

  @Test("A row that gets lost on the way is noticed, and the store is as it was")
  func lostRow() throws {
    func model(_ type: NSAttributeType) -> NSManagedObjectModel {
      var builder = ModelBuilder()
      builder.entity("Note", [.make("stars", type)])
      builder.entity("Tag", [.make("name", .stringAttributeType)])
      return builder.model()
    }
    let store = try TemporaryStore()
    let context = try store.context(model(.integer16AttributeType))
    for number in 0..<9 { context.make("Note", ["stars": number]) }
    try context.save()
    try store.close()
    let before = try FileContent(store.url)
    let new = model(.doubleAttributeType)
    let migration = try StoreMigration(
      storeAt: store.url, metadata: SQLiteStore.metadataForPersistentStore(with: store.url),
      known: ModelVersions(around: model(.integer16AttributeType)), destination: .init(name: "new", model: new),
      configuration: nil, allowsLoss: true)
    let file = try StoreFile.open(store.url, isReadOnly: false)
    var isLost = false
    let failure = thrownError {
      try ErrorTranslation.translating(url: migration.storeURL, during: .use) {
        _ = try InPlaceMigration(migration: migration, file: file).run { event in
          // The table has been made anew at this moment.
          guard !isLost, event.table != nil, event.rowsDone == event.rowCount else { return }
          try file.connection.run("DELETE FROM ZNOTE WHERE Z_PK = 5")
          isLost = true
        }
      }
    }
    try file.close()
    #expect(isLost)
    #expect(failure?.code == NSMigrationError)
    #expect(failure?.userInfo["entity"] as? String == "Note")
    #expect(
      failure?.localizedFailureReason?.contains("had 9 rows and would have 8") == true, "\(String(describing: failure))"
    )
    #expect(try FileContent(store.url) == before)
  }

  @Test("Files of values that a migration drops are there whatever statement fails, up to the commit")
  func files() throws {
    func model(photo: Bool) -> NSManagedObjectModel {
      var builder = ModelBuilder()
      builder.entity(
        "Note",
        [.make("title", .stringAttributeType)]
          + (photo ? [.make("photo", .binaryDataAttributeType, external: true)] : []))
      return builder.model()
    }
    let store = try TemporaryStore()
    let context = try store.context(model(photo: true))
    for number in 0..<3 { context.make("Note", ["photo": Data(repeating: UInt8(number), count: 200_000)]) }
    try context.save()
    try store.close()
    let before = try FileContent(store.url)
    let new = model(photo: false)
    /// Migrates a copy, and has one statement fail; the first is number 1.
    func migrate(failingAt number: Int) throws -> (failure: NSError?, content: FileContent, files: Int, statements: Int)
    {
      let url = store.folder.appendingPathComponent("Copy \(number)").appendingPathComponent("Store.sqlite")
      try FileManager.default.createDirectory(
        at: url.deletingLastPathComponent(), withIntermediateDirectories: true)
      try StoreReplacement.copy(store.url, to: url)
      let migration = try StoreMigration(
        storeAt: url, metadata: SQLiteStore.metadataForPersistentStore(with: url),
        known: ModelVersions(around: new), destination: .init(name: "new", model: new), configuration: nil,
        allowsLoss: true)
      let file = try StoreFile.open(url, isReadOnly: false)
      var count = 0
      file.connection.setTrace { _ in count += 1 }
      file.connection.setProgressHandler(every: 1) { count != number }
      let failure = thrownError { _ = try InPlaceMigration(migration: migration, file: file).run { _ in } }
      try file.close()
      let files = try FileCalls.names(in: StoreLocation.externalData(of: url)).count
      return (failure, try FileContent(url), files, count)
    }
    let whole = try migrate(failingAt: 0)
    #expect(whole.failure == nil && whole.files == 0 && whole.content != before)
    var refused = 0
    for number in 1...whole.statements {
      let found = try migrate(failingAt: number)
      if found.failure == nil { continue }
      refused += 1
      #expect(found.content == before && found.files == 3, "statement \(number) of \(whole.statements)")
    }
    #expect(refused > 10)
  }

  @Test("A plan for a version that the store does not have any more is refused, in place and by copying")
  func outdatedPlan() throws {
    let store = try TemporaryStore()
    try RecoverySample.fill(store.url, rows: 3, photos: 0)
    let plans = try [StoreMigration.Step.Kind.inferred, .mapping].map {
      try RecoverySample.migration(store.url, [(2, $0)])
    }
    try RecoverySample.migration(store.url, [(2, .inferred), (3, .inferred)]).run()
    let before = try FileContent(store.url)
    for plan in plans {
      let failure = thrownError { try plan.run() }
      #expect(failure?.code == NSMigrationError)
      #expect(failure?.localizedFailureReason?.contains("The migration was planned from the version") == true)
      #expect(try FileContent(store.url) == before)
      #expect(try RecoverySample.files(store.folder) == ["Store.sqlite"])
    }
  }

  @Test("When the disk is full, the error is 640 and the store is as it was")
  func fullDisk() throws {
    var refused = 0
    for prepared in try PreparedMigration.some(4, from: 4000, rows: 60) {
      let before = try FileContent(prepared.store.url)
      let file = try StoreFile.open(prepared.store.url, isReadOnly: false)
      let pages = try #require(try file.connection.pragma("page_count"))
      try file.connection.setPragma("max_page_count", to: pages)
      let failure = thrownError {
        try ErrorTranslation.translating(url: prepared.store.url, during: .use) {
          _ = try InPlaceMigration(migration: migration(prepared), file: file).run { _ in }
        }
      }
      try file.close()
      guard let failure else { continue }
      refused += 1
      #expect(failure.code == CocoaError.Code.fileWriteOutOfSpace.rawValue, "\(failure)")
      #expect(try FileContent(prepared.store.url) == before)
      #expect(try prepared.image(prepared.old) == prepared.before)
    }
    #expect(refused > 0)
  }

  @Test("Cancelled at any report of progress, the error is 134120 and the store is as it was")
  func cancellation() throws {
    for prepared in try PreparedMigration.some(3, from: 5000) {
      let before = try FileContent(prepared.store.url)
      var number = 0
      while true {
        var count = 0
        let failure = thrownError {
          try migration(prepared).run { _ in
            count += 1
            if count > number { throw Stop() }
          }
        }
        guard let failure else { break }
        #expect(failure.code == NSMigrationCancelledError)
        #expect(try FileContent(prepared.store.url) == before)
        number += 1
      }
      #expect(number > 1)
      #expect(try prepared.differences() == [])
    }
  }

  @Test("Progress only grows, never exceeds its total, and ends with everything done")
  func progress() throws {
    for prepared in try PreparedMigration.some(8, from: 6000) {
      var last = 0.0
      var event: MigrationProgress?
      try migration(prepared).run { next in
        #expect(next.fractionCompleted >= last)
        #expect(next.rowsDone <= next.rowCount)
        last = next.fractionCompleted
        event = next
      }
      #expect(last == 1)
      #expect(event?.rowsDone == event?.rowCount)
    }
  }

  @Test("A store that another connection writes gives a timeout, and is as it was")
  func lockedStore() throws {
    let prepared = try #require(try PreparedMigration.some(1, from: 7000).first)
    let before = try FileContent(prepared.store.url)
    let other = try SQLiteConnection(url: prepared.store.url, mode: .readWrite)
    try other.begin(.immediate)
    let failure = try #require(thrownError { try migration(prepared).run() })
    #expect(failure.code == NSPersistentStoreTimeoutError)
    try other.rollback()
    try other.close()
    #expect(try FileContent(prepared.store.url) == before)
    #expect(try prepared.image(prepared.old) == prepared.before)
  }

  @Test(
    "A file or a folder that cannot be written is refused, and nothing is changed",
    .enabled(if: geteuid() != 0, "root may write everything"))
  func readOnly() throws {
    let prepared = try #require(try PreparedMigration.some(1, from: 7100).first)
    let before = try FileContent(prepared.store.url)
    let files = FileManager.default
    for path in [prepared.store.url.path, prepared.store.folder.path] {
      // Where the files of a log are there already, SQLite needs no right to the folder: the store can be written then.
      for suffix in ["-wal", "-shm"] where files.fileExists(atPath: prepared.store.url.path + suffix) {
        try files.removeItem(atPath: prepared.store.url.path + suffix)
      }
      let old = try #require(try files.attributesOfItem(atPath: path)[.posixPermissions])
      try files.setAttributes(
        [.posixPermissions: path == prepared.store.folder.path ? 0o555 : 0o444], ofItemAtPath: path)
      #expect(thrownError { try migration(prepared).run() }?.code == CocoaError.Code.fileWriteNoPermission.rawValue)
      try files.setAttributes([.posixPermissions: old], ofItemAtPath: path)
      #expect(try FileContent(prepared.store.url) == before)
    }
  }

  @Test("Of several that migrate one store at once one wins, and the others see its result or an error")
  func rivals() async throws {
    for seed in 0..<4 as Range<UInt64> {
      let prepared = try #require(try PreparedMigration.some(1, from: 8000 + seed * 20, rows: 40).first)
      let (url, new) = (prepared.store.url, prepared.new)
      let outcomes = await withTaskGroup(of: Int?.self) { group in
        for _ in 0..<3 {
          group.addTask {
            do {
              let coordinator = NSPersistentStoreCoordinator(
                managedObjectModel: try NSManagedObjectModel(document: new))
              try coordinator.addPersistentStore(
                type: .sqlite, at: url,
                options: [
                  NSMigratePersistentStoresAutomaticallyOption: true, NSInferMappingModelAutomaticallyOption: true,
                  MigrationOption.allowsLoss: true,
                ])
              for store in coordinator.persistentStores { try coordinator.remove(store) }
              return nil
            } catch {
              return (error as NSError).code
            }
          }
        }
        return await group.reduce(into: []) { $0.append($1) }
      }
      #expect(outcomes.contains(nil), "\(outcomes)")
      #expect(try prepared.differences() == [])
      try StoreChecks.check(url, try NSManagedObjectModel(document: new))
    }
  }

  @Test("A store whose rows are still in its log is migrated with all of them")
  func hotLog() throws {
    let prepared = try #require(try PreparedMigration.some(1, from: 9000).first)
    let hot = prepared.store.folder.appendingPathComponent("Hot.sqlite")
    let connection = try SQLiteConnection(url: prepared.store.url, mode: .readWrite)
    try connection.setJournalMode(.wal)
    try connection.setPragma("wal_autocheckpoint", to: 0)
    try connection.run("UPDATE Z_METADATA SET Z_UUID = 'HOT'")
    // Copied while the connection is open, so that its log has not been taken over.
    for suffix in ["", "-wal"] {
      try FileManager.default.copyItem(atPath: prepared.store.url.path + suffix, toPath: hot.path + suffix)
    }
    try connection.close()
    let model = try NSManagedObjectModel(document: prepared.new)
    let migration = try StoreMigration(
      storeAt: hot, metadata: SQLiteStore.metadataForPersistentStore(with: hot), known: ModelVersions(around: model),
      destination: .init(name: "new", model: model), configuration: nil, allowsLoss: true)
    try migration.run()
    #expect(try SQLiteStore.metadataForPersistentStore(with: hot)[NSStoreUUIDKey] as? String == "HOT")
    try StoreChecks.check(hot, model)
  }

  @Test("A store without write-ahead log keeps its way of journaling")
  func journalMode() throws {
    let prepared = try #require(try PreparedMigration.some(1, from: 9100).first)
    let connection = try SQLiteConnection(url: prepared.store.url, mode: .readWrite)
    try connection.setJournalMode(.delete)
    try connection.close()
    try migration(prepared).run()
    let again = try SQLiteConnection(url: prepared.store.url, mode: .readOnly)
    #expect(try again.journalMode() == .delete)
    try again.close()
    #expect(try prepared.differences() == [])
  }
}
