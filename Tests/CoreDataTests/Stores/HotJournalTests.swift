// OpenCoreData
// SPDX-License-Identifier: Apache-2.0

import CoreDataFileSystem
import CoreDataSQLite
import CoreDataTestSupport
import Foundation
import Testing

@testable import CoreData
@testable import CoreDataStoreFiles

@Suite("Stores whose writer was killed in a transaction")
struct HotJournalTests {
  private let store: TemporaryStore
  private let content: [String]
  private var url: URL { store.url }

  init() throws {
    store = try TemporaryStore("Data.sqlite")
    try RecoverySample.fill(store.url, rows: 300, photos: 2)
    content = try RecoverySample.content(store.url)
  }

  private func leave(isWAL: Bool, isShort: Bool = false) throws {
    let connection = try SQLiteConnection(url: url, mode: .readWrite)
    try connection.setJournalMode(isWAL ? .wal : .delete)
    try connection.close()
    try HotJournal.leave(at: url, table: "ZNOTE", isShort: isShort)
    #expect(try SQLiteFileHeader.read(path: url.path)?.usesWriteAheadLog == isWAL)
    let bytes = try Data(contentsOf: url)
    #expect(bytes.range(of: Data("of a transaction that never ended".utf8)) != nil, "nothing was written early")
  }

  private func bytes() throws -> [String: Data] {
    try Dictionary(
      uniqueKeysWithValues: store.files().filter { $0.hasPrefix("Data.sqlite") }.map {
        ($0, try Data(contentsOf: store.folder.appendingPathComponent($0)))
      })
  }

  @Test(
    "Reading sees the store as it was before the transaction, and changes neither it nor its journal",
    arguments: [false, true], [false, true])
  func reading(isWAL: Bool, isShort: Bool) throws {
    try leave(isWAL: isWAL, isShort: isShort)
    let before = try bytes()
    #expect(before.keys.sorted() == ["Data.sqlite", "Data.sqlite-journal"])
    let metadata = try SQLiteStore.metadataForPersistentStore(with: url)
    #expect(UUID(uuidString: metadata[NSStoreUUIDKey] as? String ?? "") != nil)
    #expect(try RecoverySample.version(url) == 1)
    #expect(try RecoverySample.content(url, options: [NSReadOnlyPersistentStoreOption: true]) == content)
    #expect(try RecoverySample.migration(url, [(2, .inferred)]).statements().isEmpty == false)
    #expect(try bytes() == before)
  }

  @Test("Opening rolls the transaction back", arguments: [false, true], [false, true])
  func opening(isWAL: Bool, isShort: Bool) throws {
    try leave(isWAL: isWAL, isShort: isShort)
    #expect(try RecoverySample.content(url) == content)
    #expect(try !store.files().contains("Data.sqlite-journal"))
    #expect(try SQLiteConnection(url: url, mode: .readOnly).integrityCheck() == [])
  }

  @Test("Recovery tells of the transaction and rolls it back, and then there is nothing", arguments: [false, true])
  func recovery(isShort: Bool) throws {
    try leave(isWAL: false, isShort: isShort)
    let before = try bytes()
    let found = try #require(try StoreRecovery.inspect(storeAt: url))
    #expect(found.purpose == .transaction && !found.isRunning && !found.isCommitted)
    #expect(try bytes() == before)
    #expect(try StoreRecovery.recover(storeAt: url) == .rolledBack)
    #expect(try StoreRecovery.inspect(storeAt: url) == nil)
    #expect(try StoreRecovery.recover(storeAt: url) == nil)
    #expect(try bytes().keys.sorted() == ["Data.sqlite"])
    #expect(try RecoverySample.content(url) == content)
  }

  @Test("Migrations begin with the store as it is rolled back", arguments: [false, true], [2, 3])
  func migrating(isWAL: Bool, version: Int) throws {
    try leave(isWAL: isWAL, isShort: true)
    let way: [(to: Int, kind: StoreMigration.Step.Kind)] =
      version == 2 ? [(2, .inferred)] : [(2, .mapping), (3, .inferred)]
    let report = try RecoverySample.migration(url, way).run()
    #expect(report.rows["Note"]?.before == 300 && report.rows["Note"]?.after == 300)
    #expect(try RecoverySample.content(url) == content)
    #expect(try RecoverySample.version(url) == version)
  }

  @Test("A backup is of the store as it is rolled back, and changes nothing", arguments: [false, true])
  func backup(isWAL: Bool) throws {
    try leave(isWAL: isWAL, isShort: true)
    let before = try bytes()
    let backup = try StoreBackup.make(of: url)
    #expect(try bytes() == before)
    #expect(try RecoverySample.content(backup) == content)
    #expect(try SQLiteConnection(url: backup, mode: .readOnly).integrityCheck() == [])
  }

  @Test("The option of setting aside does not set a store aside that SQLite repairs", arguments: [false, true])
  func settingAside(isWAL: Bool) throws {
    try leave(isWAL: isWAL, isShort: true)
    let coordinator = NSPersistentStoreCoordinator(managedObjectModel: RecoverySample.model(1))
    let opened = try coordinator.addPersistentStore(type: .sqlite, at: url, options: [StoreSetAsideOption: true])
    #expect(opened.storeSetAside == nil)
    try coordinator.remove(opened)
    #expect(try RecoverySample.content(url) == content)
  }

  @Test("A store that is set aside all the same is whole where it lies then")
  func settingAsideOnPurpose() throws {
    try leave(isWAL: false, isShort: true)
    let aside = try StoreRecovery.setAside(storeAt: url, model: RecoverySample.model(4))
    #expect(try RecoverySample.content(aside.url) == content)
    #expect(try RecoverySample.version(url) == 4)
  }

  @Test("The journal lies beside the store, and not beside a link to it")
  func links() throws {
    try leave(isWAL: false, isShort: true)
    let elsewhere = store.folder.appendingPathComponent("elsewhere")
    try FileManager.default.createDirectory(at: elsewhere, withIntermediateDirectories: true)
    let link = elsewhere.appendingPathComponent("Data.sqlite")
    try FileManager.default.createSymbolicLink(at: link, withDestinationURL: url)
    #expect(try RecoverySample.version(link) == 1)
    #expect(try StoreRecovery.inspect(storeAt: link)?.purpose == .transaction)
    #expect(try StoreRecovery.recover(storeAt: link) == .rolledBack)
    #expect(try RecoverySample.content(url) == content)
    #expect(try FileManager.default.contentsOfDirectory(atPath: elsewhere.path) == ["Data.sqlite"])
  }

  @Test("The journal of a writer at work does not wait, and is left alone")
  func atWork() throws {
    let writer = try SQLiteConnection(url: url, mode: .readWrite)
    try writer.setJournalMode(.delete)
    try writer.setPragma("cache_size", to: 1)
    try writer.begin(.immediate)
    try writer.run("UPDATE ZNOTE SET Z_OPT = 7")
    #expect(DatabaseCompanions.hasJournal(url.path))
    #expect(try !StoreFile.hasHotJournal(url))
    #expect(try StoreRecovery.inspect(storeAt: url) == nil)
    #expect(try StoreRecovery.recover(storeAt: url) == nil)
    try writer.commit()
    #expect(try RecoverySample.version(url) == 1)
    #expect(try writer.scalar("SELECT COUNT(*) FROM ZNOTE WHERE Z_OPT = 7") == 300)
    try writer.close()
  }

  @Test("A journal that has been dealt with is no reason to read a copy", arguments: [0, 512])
  func idle(size: Int) throws {
    try Data(count: size).write(to: URL(fileURLWithPath: url.path + "-journal"))
    #expect(try StoreRecovery.inspect(storeAt: url) == nil)
    let file = try StoreFile.peek(url)
    #expect(file.connection.path == url.path)
    try file.close()
    #expect(try RecoverySample.content(url) == content)
  }

  @Test("A journal beside no store does not keep a new one from being made, and is not rolled back into it")
  func journalOfNobody() throws {
    try leave(isWAL: false)
    try FileManager.default.removeItem(at: url)
    let context = try store.context(RecoverySample.model(1))
    #expect(try context.count(for: NSFetchRequest<NSManagedObject>(entityName: "Note")) == 0)
    try store.close()
    #expect(try RecoverySample.content(url) == [])
  }

  @Test("A link in the place of the journal is an error of the interface, for who reads and for who writes")
  func linkedJournal() throws {
    let victim = store.folder.appendingPathComponent("victim")
    try Data("precious".utf8).write(to: victim)
    try FileManager.default.createSymbolicLink(atPath: url.path + "-journal", withDestinationPath: victim.path)
    let attempts: [() throws -> Void] = [
      { _ = try NSPersistentStoreCoordinator.metadataForPersistentStore(type: .sqlite, at: url) },
      { _ = try store.context(RecoverySample.model(1)) }, { _ = try StoreRecovery.recover(storeAt: url) },
      { _ = try StoreRecovery.inspect(storeAt: url) }, { _ = try StoreBackup.make(of: url) },
    ]
    for attempt in attempts {
      let error = #expect(throws: NSError.self) { try attempt() }
      #expect(error?.domain == NSCocoaErrorDomain)
      #expect(
        error?.localizedFailureReason?.contains("'\(url.path)-journal' is a symbolic link") == true, "\(error as Any)")
    }
    #expect(try Data(contentsOf: victim) == Data("precious".utf8))
  }

  @Test("A file that was cut off is refused when there is nothing to roll back, or when it stays short")
  func truncated() throws {
    try leave(isWAL: false)
    try FileManager.default.removeItem(atPath: url.path + "-journal")
    let handle = try FileHandle(forUpdating: url)
    try handle.truncate(atOffset: 2 * 4096)
    try handle.close()
    let error = #expect(throws: NSError.self) { try SQLiteStore.metadataForPersistentStore(with: url) }
    #expect(error?.localizedFailureReason?.contains("cut off") == true)
  }
}
