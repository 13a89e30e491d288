// OpenCoreData
// SPDX-License-Identifier: Apache-2.0

import CoreDataFileSystem
import CoreDataSQLite
import CoreDataTestSupport
import Foundation
import Testing

@testable import CoreData
@testable import CoreDataStoreFiles

/// A process was killed, its store was deleted or moved away, and its log stayed.
@Suite("Logs that a store has left which is gone")
struct DeadLogTests {
  private let store: TemporaryStore
  private let log: Data

  /// A folder with the log of a store `Data.sqlite`, and without that store.
  init() throws {
    store = try TemporaryStore("Data.sqlite")
    let old = store.folder.appendingPathComponent("Old.sqlite")
    try RecoverySample.fill(old, rows: 9, photos: 0)
    let connection = try SQLiteConnection(url: old, mode: .readWrite)
    try connection.setPragma("wal_autocheckpoint", to: 0)
    try connection.run("UPDATE ZNOTE SET ZBODY = 'from the log'")
    try connection.run("VACUUM")
    log = try Data(contentsOf: store.folder.appendingPathComponent("Old.sqlite-wal"))
    try connection.close()
    try FileManager.default.removeItem(at: old)
    #expect(log.count > 100_000 / 4)
    try putLogs(at: store.url)
  }

  private func putLogs(at url: URL) throws {
    for suffix in ["-wal", "-journal"] { try log.write(to: URL(fileURLWithPath: url.path + suffix)) }
    try Data().write(to: URL(fileURLWithPath: url.path + "-shm"))
  }

  private func checkKept(at url: URL, sourceLocation: SourceLocation = #_sourceLocation) throws {
    for suffix in ["-wal~", "-journal~"] {
      #expect(FileManager.default.contents(atPath: url.path + suffix) == log, sourceLocation: sourceLocation)
    }
  }

  @Test("The premise: SQLite plays such a log into a new store of that name")
  func premise() throws {
    let other = store.folder.appendingPathComponent("New.sqlite")
    try StoreFile.create(at: other, document: RecoverySample.model(2).document)
    try FileManager.default.removeItem(atPath: store.url.path + "-journal")
    try FileManager.default.moveItem(at: other, to: store.url)
    let connection = try SQLiteConnection(url: store.url, mode: .readWrite)
    #expect(try connection.rowCount(of: "ZNOTE") == 9)
    try connection.close()
  }

  @Test("A new store is empty, and the log is kept under another name", arguments: [false, true])
  func creating(opening: Bool) throws {
    let model = RecoverySample.model(2)
    if opening {
      let coordinator = NSPersistentStoreCoordinator(managedObjectModel: model)
      try coordinator.remove(coordinator.addPersistentStore(type: .sqlite, at: store.url))
    } else {
      try StoreFile.create(at: store.url, document: model.document)
    }
    #expect(try RecoverySample.content(store.url) == [])
    try StoreChecks.check(store.url, model)
    try checkKept(at: store.url)
  }

  @Test("So is the destination of a migration manager", arguments: [false, true])
  func migrating(usesSQL: Bool) throws {
    let source = store.folder.appendingPathComponent("Source.sqlite")
    try RecoverySample.fill(source, rows: 4, photos: 1)
    let content = try RecoverySample.content(source)
    let step = try RecoverySample.migration(source, [(2, .mapping)]).steps[0]
    let manager = NSMigrationManager(sourceModel: step.sourceModel, destinationModel: step.destinationModel)
    manager.usesStoreSpecificMigrationManager = usesSQL
    try manager.migrateStore(from: source, type: .sqlite, mapping: step.mappingModel, to: store.url, type: .sqlite)
    #expect(try RecoverySample.content(store.url) == content)
    try checkKept(at: store.url)
  }

  @Test("So is what replacing, and moving, puts there", arguments: [false, true])
  func replacing(moving: Bool) throws {
    let source = store.folder.appendingPathComponent("Source.sqlite")
    try RecoverySample.fill(source, rows: 4, photos: 1)
    let content = try RecoverySample.content(source)
    let coordinator = NSPersistentStoreCoordinator(managedObjectModel: RecoverySample.model(1))
    if moving {
      let opened = try coordinator.addPersistentStore(type: .sqlite, at: source)
      try coordinator.remove(coordinator.migratePersistentStore(opened, to: store.url, type: .sqlite))
    } else {
      try coordinator.replacePersistentStore(at: store.url, withPersistentStoreFrom: source, type: .sqlite)
    }
    #expect(try RecoverySample.content(store.url) == content)
    try checkKept(at: store.url)
  }

  @Test("So is a store that was set aside and comes back")
  func bringingBack() throws {
    for suffix in ["-wal", "-journal", "-shm"] { try FileManager.default.removeItem(atPath: store.url.path + suffix) }
    try RecoverySample.fill(store.url, rows: 4, photos: 1)
    let content = try RecoverySample.content(store.url)
    try StoreRecovery.setAside(storeAt: store.url, model: RecoverySample.model(3))
    for file in StoreFiles.databaseFiles(of: store.url) { try FileCalls.removeFile(file) }
    try putLogs(at: store.url)
    let aside = try #require(try StoreRecovery.storesSetAside(from: store.url).first)
    _ = try StoreRecovery.restore(RecoverySample.migration(aside.url, [(2, .inferred)]), to: store.url)
    #expect(try RecoverySample.content(store.url) == content)
    try checkKept(at: store.url)
  }

  @Test("Logs that hold nothing go; a second log gets a number; a link is moved, and not followed")
  func names() throws {
    #expect(
      try StoreFiles.setOrphanedLogsAside(of: store.url).map(\.lastPathComponent) == [
        "Data.sqlite-wal~", "Data.sqlite-journal~",
      ])
    let secret = store.folder.appendingPathComponent("secret")
    try Data("secret".utf8).write(to: secret)
    try FileManager.default.createSymbolicLink(
      at: URL(fileURLWithPath: store.url.path + "-wal"), withDestinationURL: secret)
    try Data().write(to: URL(fileURLWithPath: store.url.path + "-journal"))
    #expect(try StoreFiles.setOrphanedLogsAside(of: store.url).map(\.lastPathComponent) == ["Data.sqlite-wal~2"])
    #expect(try StoreFiles.setOrphanedLogsAside(of: store.url) == [])
    #expect(try store.files() == ["Data.sqlite-journal~", "Data.sqlite-wal~", "Data.sqlite-wal~2", "secret"])
    // The log of a store that is there is nobody's to move.
    try StoreFile.create(at: store.url, document: RecoverySample.model(1).document)
    try log.write(to: URL(fileURLWithPath: store.url.path + "-wal"))
    #expect(try StoreFiles.setOrphanedLogsAside(of: store.url) == [])
  }
}
