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

@Suite("Stores set aside, and brought back")
struct SettingAsideTests {
  private let store: TemporaryStore
  private let before: [String]

  init() throws {
    store = try TemporaryStore("Data.sqlite")
    try RecoverySample.fill(store.url, rows: 20, photos: 2)
    before = try RecoverySample.content(store.url)
  }

  /// A model that nothing can be inferred to.
  private func foreignModel() -> NSManagedObjectModel {
    var builder = ModelBuilder()
    builder.entity("Folder", [.make("name", .stringAttributeType)])
    builder.entity("Note", [.make("title", .dateAttributeType, optional: false)])
    return builder.model()
  }

  @Test("By an option: the old store lies in a folder of the date, a new one is open, and the caller is told")
  func option() throws {
    let container = NSPersistentContainer(name: "Data", managedObjectModel: foreignModel())
    let description = NSPersistentStoreDescription(url: store.url)
    description.shouldSetAsideIncompatibleStore = true
    container.persistentStoreDescriptions = [description]
    var told: (NSPersistentStoreDescription, (any Error)?)?
    container.loadPersistentStores { told = ($0, $1) }
    #expect(told?.1 == nil)
    let aside = try #require(told?.0.storeSetAside)
    #expect(aside.code == NSMigrationMissingMappingModelError)
    #expect(aside.reason.contains("title"), "\(aside.reason)")
    #expect(abs(aside.date.timeIntervalSinceNow) < 60)
    let opened = try #require(container.persistentStoreCoordinator.persistentStores.first)
    #expect(opened.storeSetAside == aside)
    #expect(try container.viewContext.count(for: NSFetchRequest<NSManagedObject>(entityName: "Note")) == 0)
    container.viewContext.make("Note", ["title": Date()])
    try container.viewContext.save()
    try container.persistentStoreCoordinator.remove(opened)
    #expect(aside.url.deletingLastPathComponent().deletingLastPathComponent().lastPathComponent == "Incompatible")
    #expect(try RecoverySample.content(aside.url) == before)
    #expect(try StoreRecovery.storesSetAside(from: store.url) == [aside])
    // The next opening finds a store that fits, and sets nothing aside.
    let again = NSPersistentStoreCoordinator(managedObjectModel: foreignModel())
    let second = try again.addPersistentStore(type: .sqlite, at: store.url, options: [StoreSetAsideOption: true])
    #expect(second.storeSetAside == nil)
    try again.remove(second)
  }

  @Test("Never without the option, for a store that is in use, or for one that may only be read")
  func notUnasked() throws {
    for options in [
      [:], [StoreSetAsideOption: true, NSReadOnlyPersistentStoreOption: true],
    ] as [[String: Any]] {
      #expect(throws: (any Error).self) {
        try NSPersistentStoreCoordinator(managedObjectModel: foreignModel())
          .addPersistentStore(type: .sqlite, at: store.url, options: options)
      }
    }
    let reader = try SQLiteConnection(url: store.url, mode: .readWrite)
    _ = try reader.scalar("SELECT COUNT(*) FROM ZNOTE")
    #expect(throws: (any Error).self) {
      try NSPersistentStoreCoordinator(managedObjectModel: foreignModel()).addPersistentStore(
        type: .sqlite, at: store.url, options: [StoreSetAsideOption: true, NSPersistentStoreTimeoutOption: 0.1])
    }
    try reader.close()
    #expect(try RecoverySample.files(store.folder) == ["Data.sqlite", "2 values"])
    #expect(try RecoverySample.content(store.url) == before)
  }

  @Test("Not where the cause is outside the store: a handler of a stage, or a file of the model")
  func outside() throws {
    struct NoNetwork: Error {}
    let notes = try NoteVersions()
    try notes.fill("v1")
    func setAside() throws -> [SetAsideStore] { try StoreRecovery.storesSetAside(from: notes.store.url) }
    let stage = NSCustomMigrationStage(migratingFrom: try notes.reference("v1"), to: try notes.reference("v2"))
    stage.didMigrateHandler = { _, _ in throw NoNetwork() }
    let handler = try #require(throws: NSError.self) {
      try notes.open(
        "v2",
        [
          StoreSetAsideOption: true,
          NSPersistentStoreStagedMigrationManagerOptionKey: NSStagedMigrationManager([stage]),
        ])
    }
    #expect(handler.userInfo[NSUnderlyingErrorKey] is NoNetwork)
    #expect(try setAside().isEmpty)
    // The store is of the second version now, and a mapping model to the third one is broken.
    let broken = notes.mappings.appendingPathComponent("Broken.cdm")
    try Data("nonsense".utf8).write(to: broken)
    #expect(throws: NSError.self) { try notes.open("v3", [StoreSetAsideOption: true]) }
    #expect(try setAside().isEmpty)
    try FileManager.default.removeItem(at: broken)
    try Data("nonsense".utf8).write(to: notes.url.appendingPathComponent("v3.mom"))
    #expect(throws: NSError.self) { try notes.open("v4", [StoreSetAsideOption: true]) }
    #expect(try setAside().isEmpty)
    #expect(try notes.open("v2").count == 2)
  }

  /// Opens the store with the option for setting it aside.
  private func open(_ body: () throws -> NSPersistentStore) throws -> NSPersistentStore {
    try SettingAside.open(
      store.url, model: foreignModel(), nil, StoreOptions([StoreSetAsideOption: true]), body)
  }

  /// Puts another store in the place of the store.
  private func replace(by other: TemporaryStore) throws {
    try FileManager.default.moveItem(at: store.url, to: store.folder.appendingPathComponent("moved.sqlite"))
    try FileManager.default.moveItem(at: other.url, to: store.url)
  }

  @Test("Not the store that another process has put in its place meanwhile")
  func replacedMeanwhile() throws {
    let other = try TemporaryStore("Other.sqlite")
    let context = try other.context(foreignModel())
    context.make("Note", ["title": Date()])
    try context.save()
    try other.close()
    let coordinator = NSPersistentStoreCoordinator(managedObjectModel: foreignModel())
    var count = 0
    let opened = try open {
      count += 1
      if count == 1 {
        try replace(by: other)
        throw NSError(domain: NSCocoaErrorDomain, code: NSPersistentStoreIncompatibleVersionHashError)
      }
      return try coordinator.addPersistentStore(type: .sqlite, at: store.url)
    }
    #expect(count == 2 && opened.storeSetAside == nil)
    #expect(try StoreRecovery.storesSetAside(from: store.url).isEmpty)
    let reader = NSManagedObjectContext(.privateQueue)
    reader.persistentStoreCoordinator = coordinator
    #expect(try reader.count(for: NSFetchRequest<NSManagedObject>(entityName: "Note")) == 1)
    try coordinator.remove(opened)
  }

  @Test("A store that is replaced while it is opened, and does not fit then, is set aside")
  func replacedByOpening() throws {
    let other = try TemporaryStore("Data.sqlite")
    try RecoverySample.fill(other.url, rows: 7, photos: 0)
    let replaced = try RecoverySample.content(other.url)
    let coordinator = NSPersistentStoreCoordinator(managedObjectModel: foreignModel())
    var count = 0
    let opened = try open {
      count += 1
      // As a stage of a migration that makes a new file, before one that fails.
      if count == 1 { try replace(by: other) }
      if count < 3 { throw NSError(domain: NSCocoaErrorDomain, code: NSMigrationError) }
      return try coordinator.addPersistentStore(type: .sqlite, at: store.url)
    }
    let aside = try #require(opened.storeSetAside)
    #expect(try count == 3 && RecoverySample.content(aside.url) == replaced)
    try coordinator.remove(opened)
  }

  @Test("A damaged file is set aside as it is, with what lies beside it")
  func damaged() throws {
    let bytes = Data("this is no database, and never was".utf8)
    try bytes.write(to: store.url)
    try Data("a log".utf8).write(to: StoreLocation.url(store.url, "-wal"))
    let coordinator = NSPersistentStoreCoordinator(managedObjectModel: RecoverySample.model(2))
    let opened = try coordinator.addPersistentStore(
      type: .sqlite, at: store.url, options: [StoreSetAsideOption: true])
    let aside = try #require(opened.storeSetAside)
    #expect(aside.code == CocoaError.Code.fileReadCorruptFile.rawValue)
    #expect(try Data(contentsOf: aside.url) == bytes)
    #expect(try Data(contentsOf: StoreLocation.url(aside.url, "-wal")) == Data("a log".utf8))
    #expect(try FileCalls.names(in: StoreLocation.externalData(of: aside.url)).count == 2)
    try coordinator.remove(opened)
    try StoreChecks.check(store.url, RecoverySample.model(2))
  }

  @Test("Two in one second have folders of their own")
  func collision() throws {
    let first = try StoreRecovery.setAside(storeAt: store.url, model: RecoverySample.model(2))
    let second = try StoreRecovery.setAside(storeAt: store.url, model: RecoverySample.model(2))
    #expect(first.url != second.url)
    #expect(try RecoverySample.content(first.url) == before)
    #expect(try RecoverySample.content(second.url) == [])
    #expect(Set(try StoreRecovery.storesSetAside(from: store.url)) == [first, second])
  }

  @Test("A store comes back, migrated; the one in its place is set aside in turn, and nothing is lost")
  func back() throws {
    let aside = try StoreRecovery.setAside(storeAt: store.url, model: RecoverySample.model(2))
    let coordinator = NSPersistentStoreCoordinator(managedObjectModel: RecoverySample.model(2))
    let opened = try coordinator.addPersistentStore(type: .sqlite, at: store.url)
    let context = NSManagedObjectContext(.privateQueue)
    context.persistentStoreCoordinator = coordinator
    context.make("Note", ["title": "written since", "photo": Data(repeating: 1, count: 150_000)])
    try context.save()
    try coordinator.remove(opened)
    let since = try RecoverySample.content(store.url)
    let report = try StoreRecovery.restore(RecoverySample.migration(aside.url, [(2, .inferred)]), to: store.url)
    #expect(try RecoverySample.content(store.url) == before)
    #expect(try RecoverySample.version(store.url) == 2)
    #expect(report.rows["Note"] == .init(before: 20, after: 20))
    let replaced = try #require(report.replacedStore)
    #expect(try RecoverySample.content(replaced) == since)
    // The original stays until it is removed.
    #expect(try RecoverySample.content(aside.url) == before)
    #expect(try StoreRecovery.storesSetAside(from: store.url).count == 2)
    for store in try StoreRecovery.storesSetAside(from: store.url) { try store.remove() }
    #expect(try RecoverySample.files(store.folder) == ["Data.sqlite", "2 values"])
    #expect(try RecoverySample.content(store.url) == before)
  }
}
