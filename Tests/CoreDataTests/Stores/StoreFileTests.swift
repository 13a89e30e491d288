// OpenCoreData
// SPDX-License-Identifier: Apache-2.0

import CoreDataModelFiles
import CoreDataSQLite
import CoreDataTestSupport
import Foundation
import Testing

@testable import CoreData
@testable import CoreDataStoreFiles

@Suite("Files of SQLite stores")
struct StoreFileTests {
  @Test("A new store has Core Data's page size, vacuum level and journal, its own model, and nothing beside it")
  func creation() throws {
    let place = try TemporaryStore()
    try StoreFile.create(at: place.url, document: BenchModels.company)
    #expect(try place.files() == ["Store.sqlite"])
    let header = try #require(try SQLiteFileHeader.read(path: place.url.path))
    #expect(header.pageSize == 4096 && header.usesWriteAheadLog)
    let file = try StoreFile.open(place.url, isReadOnly: false)
    #expect(try file.connection.pragma("auto_vacuum") == 2)
    #expect(try file.connection.pragma("encoding") == "UTF-8")
    #expect(
      try file.connection.rows("SELECT name FROM sqlite_master WHERE sql IS NOT NULL ORDER BY rowid").map { $0[0].text }
        == StoreSchema(document: BenchModels.company).creationStatements.map(\.name))
    #expect(try file.connection.scalar("SELECT COUNT(*) FROM Z_METADATA WHERE Z_VERSION = 1") == 1)
    let cached = try #require(try file.cachedModel())
    #expect(VersionHashes(cached).entities == VersionHashes(BenchModels.company).entities)
    #expect(try StoreSchema(document: cached) == StoreSchema(document: BenchModels.company))
    #expect(try file.primaryKeys().map(\.name) == ["Department", "Note", "Person", "Manager", "Project"])
    #expect(try file.primaryKeys().map(\.parentNumber) == [0, 0, 0, 3, 0])
    let metadata = try file.metadata()
    #expect(
      Set(metadata.keys) == [
        "NSPersistenceFrameworkVersion", "NSPersistenceMaximumFrameworkVersion", "NSStoreModelVersionHashes",
        "NSStoreModelVersionHashesVersion", "NSStoreModelVersionHashesDigest", "NSStoreModelVersionChecksumKey",
        "NSStoreModelVersionIdentifiers", "NSStoreType", "NSStoreUUID", "_NSAutoVacuumLevel",
      ])
    #expect(metadata["_NSAutoVacuumLevel"] as? String == "2")
    #expect(metadata["NSStoreModelVersionHashes"] as? [String: Data] == VersionHashes(BenchModels.company).entities)
    let list = try #require(try file.connection.scalar("SELECT Z_PLIST FROM Z_METADATA")?.blob)
    #expect(list.starts(with: Data("bplist00".utf8)))
    #expect(UUID(uuidString: metadata["NSStoreUUID"] as? String ?? "") != nil)
  }

  @Test("A path that SQLite cannot open is said to be too long, and a path that Foundation cannot shorten has an end")
  func longPaths() throws {
    let place = try TemporaryStore()
    try StoreFile.create(at: place.url, document: BenchModels.company)
    let deep = place.folder.appendingPathComponent(String(repeating: "d", count: 200), isDirectory: true)
      .appendingPathComponent(String(repeating: "e", count: 200), isDirectory: true)
      .appendingPathComponent(String(repeating: "f", count: 200), isDirectory: true)
    try FileManager.default.createDirectory(at: deep, withIntermediateDirectories: true)
    let copy = deep.appendingPathComponent("Store.sqlite")
    try FileManager.default.copyItem(at: place.url, to: copy)
    let error = #expect(throws: SQLiteError.self) { try StoreFile.open(copy, isReadOnly: true) }
    #expect(error?.isCannotOpen == true)
    #expect(error?.message.contains("\(copy.path.utf8.count) bytes, and SQLite opens paths of up to 510") == true)
    let endless = URL(
      fileURLWithPath: "/" + String(repeating: String(repeating: "d", count: 200) + "/", count: 8) + "S")
    #expect(!StoreLocation(place.url).holds(endless))
  }

  @Test("Pragmas of the options are honoured")
  func pragmas() throws {
    let place = try TemporaryStore()
    let coordinator = NSPersistentStoreCoordinator(
      managedObjectModel: try NSManagedObjectModel(document: BenchModels.types))
    let options: [AnyHashable: Any] = [
      NSSQLitePragmasOption: ["journal_mode": "DELETE", "page_size": "8192", "synchronous": "1"]
    ]
    let store = try StoreBench.open(place.url, coordinator, options)
    #expect(try store.state().connection.journalMode() == .delete)
    #expect(try store.state().connection.pragma("synchronous") == 1)
    #expect(try store.state().connection.pragma("page_size") == 8192)
    try coordinator.remove(store)
    #expect(try SQLiteFileHeader.read(path: place.url.path)?.usesWriteAheadLog == false)
  }

  @Test("A creation that fails leaves nothing behind, and an existing file as it was")
  func failedCreation() throws {
    let place = try TemporaryStore()
    var broken = BenchModels.types
    broken.entities[0].attributes[0].kind = .undefined
    #expect(throws: SchemaProblem.unstorableAttribute(entity: "Thing", attribute: "small", kind: "undefined")) {
      try StoreFile.create(at: place.url, document: broken)
    }
    #expect(try place.files().isEmpty)
    // A name that SQLite refuses, so that the failure comes in the middle of the tables.
    var reserved = BenchModels.types
    reserved.entities[0].attributes = [AttributeDocument(name: "a", kind: .string)]
    reserved.entities[0].indexes = [.init(name: "x\0y", elements: [.init(propertyName: "a")])]
    #expect(throws: (any Error).self) { try StoreFile.create(at: place.url, document: reserved) }
    #expect(try place.files().isEmpty)
    let text = Data("precious".utf8)
    try text.write(to: place.url)
    #expect(throws: StoreFileProblem.self) { try StoreFile.create(at: place.url, document: BenchModels.types) }
    #expect(try Data(contentsOf: place.url) == text)
    #expect(try place.files() == ["Store.sqlite"])
  }

  @Test("An empty file is taken for a store to be made")
  func emptyFile() throws {
    let place = try TemporaryStore()
    try Data().write(to: place.url)
    let coordinator = NSPersistentStoreCoordinator(
      managedObjectModel: try NSManagedObjectModel(document: BenchModels.types))
    let store = try StoreBench.open(place.url, coordinator)
    #expect(
      try store.count(for: RowQuery(entity: #require(coordinator.managedObjectModel.entitiesByName["Thing"]))) == 0)
  }

  @Test("Files that are no stores are refused with a sentence that says what they are, and stay as they are")
  func refusals() throws {
    let place = try TemporaryStore()
    func refusal(_ content: Data?) throws -> NSError? {
      if let content { try content.write(to: place.url) }
      let error = #expect(throws: NSError.self) { try SQLiteStore.metadataForPersistentStore(with: place.url) }
      #expect(try content == nil || Data(contentsOf: place.url) == content)
      return error
    }
    #expect(try refusal(nil)?.code == CocoaError.Code.fileReadNoSuchFile.rawValue)
    let garbage = try refusal(Data((0..<5000).map { UInt8(truncatingIfNeeded: $0 * 31) }))
    #expect(garbage?.code == CocoaError.Code.fileReadCorruptFile.rawValue)
    #expect(garbage?.localizedFailureReason?.contains("not a SQLite database") == true)

    try FileManager.default.removeItem(at: place.url)
    try StoreFile.create(at: place.url, document: BenchModels.company)
    let whole = try Data(contentsOf: place.url)
    let truncated = try refusal(whole.prefix(whole.count / 2))
    #expect(truncated?.localizedFailureReason?.contains("cut off") == true)
    #expect(try refusal(whole.prefix(50))?.code == CocoaError.Code.fileReadCorruptFile.rawValue)

    try FileManager.default.removeItem(at: place.url)
    let other = try SQLiteConnection(url: place.url, mode: .create)
    try other.execute("CREATE TABLE t (a)")
    try other.close()
    let foreign = try refusal(try Data(contentsOf: place.url))
    #expect(foreign?.localizedFailureReason?.contains("no table Z_METADATA") == true)
  }

  @Test("A store whose log holds everything is read whole")
  func writeAheadLog() throws {
    let bench = try StoreBench(BenchModels.company)
    try bench.connection.setPragma("wal_autocheckpoint", to: 0)
    try bench.insert("Note", ["name": .string("in the log")])
    let place = try TemporaryStore()
    for suffix in ["", "-wal"] {
      try FileManager.default.copyItem(atPath: bench.url.path + suffix, toPath: place.url.path + suffix)
    }
    let file = try StoreFile.open(place.url, isReadOnly: true)
    #expect(try file.connection.scalar("SELECT ZNAME FROM ZNOTE") == "in the log")
    #expect(try file.metadata()[NSStoreUUIDKey] as? String == bench.store.identifier)
    #expect(file.isReadOnly)
  }

  @Test("Metadata of the app are written with the next save; those of the framework stay")
  func metadata() throws {
    let bench = try StoreBench(BenchModels.company)
    let identifier = bench.store.identifier
    bench.coordinator.setMetadata(["color": "green"], for: bench.store)
    try bench.insert("Note")
    let stored = try SQLiteStore.metadataForPersistentStore(with: bench.url)
    #expect(stored["color"] as? String == "green")
    #expect(stored[NSStoreUUIDKey] as? String == identifier)
    #expect(stored[NSStoreModelVersionHashesKey] as? [String: Data] == VersionHashes(BenchModels.company).entities)
    try bench.coordinator.remove(bench.store)
    try SQLiteStore.setMetadata(["color": "blue", NSStoreUUIDKey: "X"], forPersistentStoreAt: bench.url)
    let changed = try SQLiteStore.metadataForPersistentStore(with: bench.url)
    #expect(changed["color"] as? String == "blue" && changed[NSStoreUUIDKey] as? String == "X")
    #expect(changed[NSStoreTypeKey] as? String == "SQLite")
  }

  @Test("Metadata that an app has read before a stage of a migration began or ended leave the stage's record alone")
  func recordOfWork() throws {
    let bench = try StoreBench(BenchModels.company)
    try bench.coordinator.remove(bench.store)
    var earlier = try SQLiteStore.metadataForPersistentStore(with: bench.url)
    earlier["color"] = "green"
    let record = ["stage": "A"]
    func write(_ record: [String: String]?) throws {
      let file = try StoreFile.open(bench.url, isReadOnly: false)
      var metadata = try file.metadata()
      metadata[StoreMetadata.Key.pendingStage] = record
      try file.setMetadata(metadata)
      try file.close()
    }
    try write(record)
    try SQLiteStore.setMetadata(earlier, forPersistentStoreAt: bench.url)
    var found = try SQLiteStore.metadataForPersistentStore(with: bench.url)
    #expect(found["color"] as? String == "green")
    #expect(found[StoreMetadata.Key.pendingStage] as? [String: String] == record)
    try write(nil)
    try SQLiteStore.setMetadata(found, forPersistentStoreAt: bench.url)
    found = try SQLiteStore.metadataForPersistentStore(with: bench.url)
    #expect(found["color"] as? String == "green" && found[StoreMetadata.Key.pendingStage] == nil)
  }

  @Test("A store opened for reading only refuses to be changed, and is not changed by being opened")
  func readOnly() throws {
    let place = try TemporaryStore()
    try StoreFile.create(at: place.url, document: BenchModels.company)
    let before = try Data(contentsOf: place.url)
    let model = try NSManagedObjectModel(document: BenchModels.company)
    let coordinator = NSPersistentStoreCoordinator(managedObjectModel: model)
    let store = try StoreBench.open(place.url, coordinator, [NSReadOnlyPersistentStoreOption: true])
    let error = #expect(throws: NSError.self) {
      try store.makeIdentifiers(for: [#require(model.entitiesByName["Note"])])
    }
    #expect(error?.code == CocoaError.Code.fileWriteNoPermission.rawValue)
    try coordinator.remove(store)
    #expect(try Data(contentsOf: place.url) == before)
  }

  @Test(
    "A store that we make for a model has the statements of the store that Core Data made for it",
    .enabled(if: Fixtures.isPresent, "the fixtures are not there"))
  func sameStatements() throws {
    var compared = 0
    for store in try FixtureStore.all() where store.frameworkVersion >= SchemaProofTests.firstFrameworkOfToday {
      guard !store.wasMigratedInPlace, !SchemaProofTests.exceptions.contains(where: { store.name.hasSuffix($0.path) }),
        let document = try store.models().last?.document
      else { continue }
      let place = try TemporaryStore()
      try StoreFile.create(at: place.url, document: document)
      let ours = try FixtureStore(place.url)
      #expect(Set(ours.statements) == Set(store.statements), "\(store.name)")
      compared += 1
    }
    #expect(compared == 22)
  }

  @Test(
    "Every row of every store that carries its model is read",
    .enabled(if: Fixtures.isPresent, "the fixtures are not there"))
  func fixtureRows() throws {
    var counted = 0
    var stores = 0
    for url in Fixtures.stores {
      let temporary = try Fixtures.copy(ofStore: url)
      let copy = temporary.url
      guard let model = try SQLiteStore.carriedModel(at: copy) else { continue }
      let coordinator = NSPersistentStoreCoordinator(managedObjectModel: model)
      let store = try StoreBench.open(copy, coordinator, [NSIgnorePersistentStoreVersioningOption: true])
      for entity in model.entities where entity.superentity == nil {
        let rows = try #require(try store.rows(for: RowQuery(entity: entity)))
        let layout = try store.state().entities.layout(of: entity)
        #expect(try store.state().connection.rowCount(of: layout.table) == rows.count)
        for row in rows {
          for relationship in row.id.entity.relationshipsByName.values where relationship.isToMany {
            _ = try store.members(of: relationship, for: row.id)
          }
        }
        counted += rows.count
      }
      stores += 1
      try coordinator.remove(store)
    }
    print("Rows: \(counted) in \(stores) stores")
    #expect(stores > 20 && counted > 100)
  }
}
