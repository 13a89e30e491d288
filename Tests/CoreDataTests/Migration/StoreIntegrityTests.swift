// OpenCoreData
// SPDX-License-Identifier: Apache-2.0

import CoreDataSQLite
import CoreDataTestSupport
import Foundation
import Testing

@testable import CoreData
@testable import CoreDataFileSystem
@testable import CoreDataMigration
@testable import CoreDataStoreFiles

@Suite("Stores whose pages contradict each other")
struct StoreIntegrityTests {
  private let store: TemporaryStore
  private let content: [String]

  init() throws {
    store = try TemporaryStore("Data.sqlite")
    try RecoverySample.fill(store.url, rows: 300, photos: 0)
    content = try RecoverySample.content(store.url)
    let connection = try SQLiteConnection(url: store.url, mode: .readWrite)
    // As the stores of older systems are: without a map that tells which pages are in use.
    try connection.setPragma("auto_vacuum", to: 0)
    try connection.setJournalMode(.delete)
    try connection.run("VACUUM")
    try connection.close()
  }

  private func pages() throws -> ClosedRange<Int> { 2...(try Data(contentsOf: store.url).count / 4096) }

  @Test(
    "A page with rows that is listed as free is found before it is overwritten, whatever the migration does",
    arguments: [
      [(to: 2, kind: StoreMigration.Step.Kind.inferred)], [(to: 3, kind: .inferred)], [(to: 2, kind: .mapping)],
      [(to: 2, kind: .mapping), (to: 3, kind: .inferred)],
    ])
  func freeList(way: [(to: Int, kind: StoreMigration.Step.Kind)]) throws {
    let sound = try Data(contentsOf: store.url)
    for page in try pages() {
      try sound.write(to: store.url)
      try StoreDamage.listAsFree(page: page, of: store.url)
      let bytes = try Data(contentsOf: store.url)
      let error = #expect(throws: NSError.self) { try RecoverySample.migration(store.url, way).run() }
      #expect(error?.code == CocoaError.Code.fileReadCorruptFile.rawValue, "page \(page)")
      #expect(
        error?.localizedFailureReason?.contains("2nd reference to page \(page)") == true, "\(page) \(error as Any)")
      #expect(error?.localizedRecoverySuggestion?.contains(".recover") == true)
      #expect(try Data(contentsOf: store.url) == bytes)
      #expect(try store.files() == ["Data.sqlite"])
    }
  }

  @Test(
    "A migration manager finds pages of zeros, whatever it has met before, and makes no store",
    arguments: [true, false])
  func manager(usesSQL: Bool) throws {
    let sound = try Data(contentsOf: store.url)
    let target = store.folder.appendingPathComponent("Target.sqlite")
    let (old, new) = (RecoverySample.model(1), RecoverySample.model(2))
    let mapping = try NSMappingModel.inferredMappingModel(forSourceModel: old, destinationModel: new)
    for page in try pages() {
      var bytes = sound
      bytes.replaceSubrange((page - 1) * 4096..<page * 4096, with: Data(count: 4096))
      try bytes.write(to: store.url)
      let manager = NSMigrationManager(sourceModel: old, destinationModel: new)
      manager.usesStoreSpecificMigrationManager = usesSQL
      let error = #expect(throws: NSError.self) {
        try manager.migrateStore(from: store.url, type: .sqlite, mapping: mapping, to: target, type: .sqlite)
      }
      #expect(error?.code == NSMigrationManagerSourceStoreError, "page \(page): \(error as Any)")
      #expect(try Data(contentsOf: store.url) == bytes)
      #expect(try store.files() == ["Data.sqlite"], "page \(page)")
    }
  }

  @Test("A check beside other work finds damage, whatever that has thrown, and ends with it when it is cancelled")
  func besideOtherWork() throws {
    struct Failure: Error {}
    func check(_ failure: (any Error)?, isCancelled: Bool = false) throws -> Int {
      let connection = try SQLiteConnection(url: store.url, mode: .readOnly)
      defer { try? connection.close() }  // Only read from.
      return try PageCheck.during(connection, url: store.url, largeFile: 1, isCancelled: { isCancelled }) {
        if let failure { throw failure }
        return 7
      }
    }
    #expect(try check(nil) == 7)
    #expect(throws: Failure.self) { try check(Failure()) }
    #expect(throws: Failure.self) { try check(Failure(), isCancelled: true) }
    try StoreDamage.listAsFree(page: pages().upperBound, of: store.url)
    #expect(throws: PageCheck.Failure.self) { try check(nil) }
    #expect(throws: PageCheck.Failure.self) { try check(Failure()) }
  }

  /// Makes the store a large one.
  private func enlarge() throws {
    let connection = try SQLiteConnection(url: store.url, mode: .readWrite)
    try connection.execute("CREATE TABLE X AS SELECT zeroblob(\(PageCheck.largeFile)) AS a")
    try connection.run(
      "WITH RECURSIVE n(k) AS (SELECT 1000 UNION ALL SELECT k + 1 FROM n LIMIT 60000) "
        + "INSERT INTO ZNOTE (Z_PK, Z_ENT, Z_OPT, ZTITLE) SELECT k, (SELECT MAX(Z_ENT) FROM ZNOTE), 1, "
        + "'a name that needs some room in the new store ' || k FROM n")
    try connection.close()
  }

  /// Expects a migration to find the damage, and to leave the store as it was.
  private func expectDamage(_ migration: StoreMigration) throws {
    let bytes = try Data(contentsOf: store.url)
    let error = #expect(throws: NSError.self) { try migration.run() }
    #expect(error?.code == CocoaError.Code.fileReadCorruptFile.rawValue, "\(error as Any)")
    #expect(try Data(contentsOf: store.url) == bytes)
    #expect(try store.files() == ["Data.sqlite"])
  }

  @Test("A large store is checked and synced beside the migration, and damage is found", arguments: [true, false])
  func large(isDamaged: Bool) throws {
    try enlarge()
    if isDamaged { try StoreDamage.listAsFree(page: 3, of: store.url) }
    let migration = try RecoverySample.migration(store.url, [(2, .mapping)])
    if isDamaged {
      try expectDamage(migration)
    } else {
      #expect(try migration.run().rows["Note"]?.after == 60_300)
      #expect(FileCalls.size(store.url) >= PageCheck.largeFile)
    }
  }

  @Test(
    "A large store with a log is checked beside a migration in place, and damage is found",
    arguments: [true, false], [SQLiteJournalMode.wal, .delete])
  func largeInPlace(isDamaged: Bool, mode: SQLiteJournalMode) throws {
    try enlarge()
    let connection = try SQLiteConnection(url: store.url, mode: .readWrite)
    try connection.setJournalMode(mode)
    try connection.close()
    if isDamaged { try StoreDamage.listAsFree(page: 3, of: store.url) }
    let migration = try RecoverySample.migration(store.url, [(2, .inferred), (3, .inferred)])
    if isDamaged {
      try expectDamage(migration)
    } else {
      #expect(try migration.run().rows["Note"]?.after == 60_300)
    }
  }

  @Test("A check beside a transaction sees the store before it, and its findings count more than other errors")
  func besideTransaction() throws {
    struct Failure: Error {}
    try enlarge()
    func check(_ failure: (any Error)? = nil, isCancelled: Bool = false) throws -> Int {
      let connection = try SQLiteConnection(url: store.url, mode: .readWrite)
      try connection.setJournalMode(.wal)
      var checks = 0
      connection.setTrace { if $0.contains("quick_check") { checks += 1 } }
      defer {
        connection.setTrace(nil)
        #expect(throws: Never.self) { try connection.close() }
      }
      let integrity = IntegrityGuard(connection, url: store.url, policy: .automatic)
      return try connection.transaction(.exclusive) {
        try integrity.whileChecking(isCancelled: { isCancelled }) {
          try integrity.willMoveRows()
          try connection.execute("UPDATE ZNOTE SET ZTITLE = 'changed'; CREATE TABLE Y AS SELECT * FROM ZNOTE")
          #expect(integrity.hasChecked && checks == 0)
          if let failure { throw failure }
          return 7
        }
      }
    }
    #expect(throws: Failure.self) { try check(Failure()) }
    #expect(throws: Failure.self) { try check(Failure(), isCancelled: true) }
    let sound = try Data(contentsOf: store.url)
    #expect(try check() == 7)
    try sound.write(to: store.url)
    try StoreDamage.listAsFree(page: 3, of: store.url)
    let bytes = try Data(contentsOf: store.url)
    #expect(throws: StoreFileProblem.self) { try check() }
    #expect(throws: StoreFileProblem.self) { try check(Failure()) }
    #expect(try Data(contentsOf: store.url) == bytes)
  }

  @Test("Opening with a migration finds it as well, unless that is not wanted")
  func opening() throws {
    try StoreDamage.listAsFree(page: pages().upperBound, of: store.url)
    let options: [AnyHashable: Any] = [
      NSMigratePersistentStoresAutomaticallyOption: true, NSInferMappingModelAutomaticallyOption: true,
    ]
    let error = #expect(throws: NSError.self) { _ = try store.context(RecoverySample.model(2), options: options) }
    #expect(error?.code == CocoaError.Code.fileReadCorruptFile.rawValue)
    #expect(try RecoverySample.content(store.url, options: [NSReadOnlyPersistentStoreOption: true]) == content)
    for value: Any in ["sometimes", 3] {
      let wrong = options.merging([MigrationOption.integrityCheck: value]) { $1 }
      let refusal = #expect(throws: NSError.self) { _ = try store.context(RecoverySample.model(2), options: wrong) }
      #expect(refusal?.localizedFailureReason?.contains("IntegrityCheck") == true)
    }
  }

  @Test("Without the check a migration that loses rows by it is taken back, or loses none")
  func withoutCheck() throws {
    let sound = try Data(contentsOf: store.url)
    for page in try pages() {
      try sound.write(to: store.url)
      try StoreDamage.listAsFree(page: page, of: store.url)
      var migration = try RecoverySample.migration(store.url, [(3, .inferred)])
      migration.integrityCheck = .never
      do {
        try migration.run()
      } catch let error as NSError {
        #expect(error.domain == NSCocoaErrorDomain)
        #expect(try RecoverySample.content(store.url, options: [NSReadOnlyPersistentStoreOption: true]) == content)
        continue
      }
      let rows = try SQLiteConnection(url: store.url, mode: .readOnly).scalar("SELECT COUNT(*) FROM ZNOTE NOT INDEXED")
      #expect(rows == 300, "page \(page)")
    }
  }

  @Test("A sound store with free pages is migrated", arguments: [StoreIntegrityCheck.automatic, .always, .never])
  func sound(check: StoreIntegrityCheck) throws {
    let connection = try SQLiteConnection(url: store.url, mode: .readWrite)
    try connection.execute("CREATE TABLE X AS SELECT zeroblob(9000) FROM ZNOTE; DROP TABLE X")
    #expect(try connection.pragma("freelist_count") != 0)
    try connection.close()
    var migration = try RecoverySample.migration(store.url, [(2, .inferred), (3, .inferred), (4, .inferred)])
    migration.integrityCheck = check
    let report = try migration.run()
    #expect(report.rows["Note"]?.before == 300 && report.rows["Note"]?.after == 300)
    #expect(try RecoverySample.content(store.url) == content)
  }

  @Test("A large file without free pages is read when rows are moved, and not before")
  func cost() throws {
    let connection = try SQLiteConnection.inMemory()
    var checks = 0
    connection.setTrace { if $0.contains("quick_check") { checks += 1 } }
    try IntegrityGuard(connection, url: store.url, policy: .automatic).begin()
    #expect(checks == 1)
    try connection.execute("CREATE TABLE X AS SELECT zeroblob(\(IntegrityGuard.smallFile)) AS a")
    let integrity = IntegrityGuard(connection, url: store.url, policy: .automatic)
    try integrity.begin()
    #expect(checks == 1 && !integrity.hasChecked)
    try integrity.willMoveRows()
    try integrity.willMoveRows()
    #expect(checks == 2 && integrity.hasChecked)
    try connection.execute("CREATE TABLE Y AS SELECT zeroblob(9000) AS a; DROP TABLE Y")
    try IntegrityGuard(connection, url: store.url, policy: .automatic).begin()
    #expect(checks == 3)
    connection.setTrace(nil)
  }
}
