// OpenCoreData
// SPDX-License-Identifier: Apache-2.0

import CoreDataModelFiles
import CoreDataTestSupport
import Foundation
import Testing

@testable import CoreData
@testable import CoreDataSQLite
@testable import CoreDataStoreFiles

@Suite("A store that another coordinator or process migrates in place while it is open")
struct ForeignMigrationTests {
  private let store: TemporaryStore

  init() throws { store = try TemporaryStore() }

  private static let modes: [[String: String]] = [["journal_mode": "WAL"], ["journal_mode": "DELETE"]]

  /// What contexts can ask of a store.
  private static var uses: [(name: String, use: (NSManagedObjectContext, [NSManagedObject]) throws -> Void)] {
    [
      (
        "insert",
        { context, _ in
          context.make("Truck", ["load": "late"])
          try context.save()
        }
      ),
      (
        "update",
        { context, objects in
          objects.first { $0.entity.name == "Truck" }?.setValue("late", forKey: "load")
          try context.save()
        }
      ),
      (
        "delete",
        { context, objects in
          for object in objects { context.delete(object) }
          try context.save()
        }
      ),
      ("fetch", { context, _ in _ = try context.all("Van", by: "plate") }),
      (
        "fetch in memory",
        { context, _ in
          let request = NSFetchRequest<NSManagedObject>(entityName: "Van")
          request.predicate = NSPredicate { _, _ in true }
          _ = try context.fetch(request)
        }
      ),
      ("count", { context, _ in _ = try context.count(for: NSFetchRequest<NSManagedObject>(entityName: "Truck")) }),
      (
        "identifiers",
        { context, _ in
          let request = NSFetchRequest<NSManagedObjectID>(entityName: "Truck")
          request.resultType = .managedObjectIDResultType
          _ = try context.fetch(request)
        }
      ),
      (
        "dictionaries",
        { context, _ in
          let request = NSFetchRequest<NSDictionary>(entityName: "Truck")
          request.resultType = .dictionaryResultType
          request.propertiesToFetch = ["load"]
          _ = try context.fetch(request)
        }
      ),
      (
        "prefetching",
        { context, _ in
          let request = NSFetchRequest<NSManagedObject>(entityName: "Van")
          request.relationshipKeyPathsForPrefetching = ["parcels"]
          _ = try context.fetch(request)
        }
      ),
      (
        "existing object",
        { context, objects in
          let id = try #require(objects.first?.objectID)
          let other = NSManagedObjectContext(.privateQueue)
          other.persistentStoreCoordinator = context.persistentStoreCoordinator
          _ = try other.existingObject(with: id)
        }
      ),
      (
        "permanent identifiers",
        { context, _ in
          try context.obtainPermanentIDs(for: [context.make("Truck")])
        }
      ),
      ("query generation", { context, _ in try context.setQueryGenerationFrom(.current) }),
      (
        "batch insertion",
        { context, _ in
          _ = try context.execute(NSBatchInsertRequest(entityName: "Truck", objects: [["load": "late"]]))
        }
      ),
      (
        "batch update",
        { context, _ in
          let request = NSBatchUpdateRequest(entityName: "Truck")
          request.propertiesToUpdate = ["load": "late"]
          _ = try context.execute(request)
        }
      ),
      (
        "batch deletion",
        { context, _ in
          _ = try context.execute(NSBatchDeleteRequest(fetchRequest: NSFetchRequest(entityName: "Van")))
        }
      ),
      (
        "history",
        { context, _ in _ = try context.execute(NSPersistentHistoryChangeRequest.fetchHistory(after: Date.distantPast))
        }
      ),
      (
        "deletion of history",
        { context, _ in
          _ = try context.execute(NSPersistentHistoryChangeRequest.deleteHistory(before: Date.distantFuture))
        }
      ),
      (
        "metadata",
        { context, _ in
          let store = try #require(context.persistentStoreCoordinator?.persistentStores.first)
          context.persistentStoreCoordinator?.setMetadata(["App": "ours"], for: store)
          try context.save()
        }
      ),
    ]
  }

  @Test("Every use fails with an error that names both versions, and changes nothing", arguments: modes)
  func uses(_ pragmas: [String: String]) throws {
    let options: [AnyHashable: Any] = [NSSQLitePragmasOption: pragmas, NSPersistentHistoryTrackingKey: true]
    let old = try store.context(DepotVersions.first(), options: options)
    try DepotVersions.fill(old)
    let objects = try old.all("Van", by: "plate")
    let new = try store.context(DepotVersions.second(), options: options.merging(DepotVersions.migrating) { $1 })
    new.make("Bus", ["plate": "B"])
    try new.save()
    let before = try contents()
    for (name, use) in Self.uses where name != "query generation" || pragmas["journal_mode"] == "WAL" {
      let error = #expect(throws: NSError.self, "\(name)") { try use(old, objects) }
      #expect(error?.tellsOfMigration == true, "\(name): \(String(describing: error))")
      old.rollback()
    }
    #expect(try contents() == before)
    #expect(try new.all("Van", by: "plate").map { $0.entity.name } == ["Van", "Bus", "Truck"])
  }

  /// The rows of all tables, and the metadata.
  private func contents() throws -> [String: [SQLiteRow]] {
    let connection = try SQLiteConnection(url: store.url, mode: .readOnly)
    defer { try? connection.close() }  // It has only read.
    var contents: [String: [SQLiteRow]] = [:]
    for table in try connection.catalog().tables {
      contents[table.name] = try connection.rows("SELECT * FROM \(SQLName.quoted(table.name))")
    }
    return contents
  }

  @Test("A reader without permission to write, and one with a state of its own, read no row of another entity")
  func readers() throws {
    try DepotVersions.fill(store.context(DepotVersions.first()))
    let reader = try store.context(DepotVersions.first(), options: [NSReadOnlyPersistentStoreOption: true])
    let pinned = try store.context(DepotVersions.first())
    try pinned.setQueryGenerationFrom(.current)
    #expect(try reader.all("Truck", by: "plate").count == 1 && pinned.all("Van", by: "plate").count == 2)
    let new = try DepotVersions.migrate(store)
    new.make("Truck", ["plate": "U"])
    try new.save()
    let error = #expect(throws: NSError.self) { try reader.all("Truck", by: "plate") }
    #expect(error?.tellsOfMigration == true)
    // What has been pinned is still there as it was, and cannot be saved.
    let vans = try pinned.all("Van", by: "plate")
    #expect(vans.map { $0.entity.name } == ["Van", "Truck"] && vans.map { $0["plate"] as? String } == ["A", "T"])
    vans[1].setValue("late", forKey: "load")
    let failure = #expect(throws: NSError.self) { try pinned.save() }
    #expect(failure?.tellsOfMigration == true)
    #expect(try new.all("Truck", by: "plate").map { $0["load"] as? String } == ["sand", nil])
  }

  @Test("A fault fails when its row is asked for, and at the next save where only a property was")
  func faults() throws {
    let old = try store.context(DepotVersions.first())
    try DepotVersions.fill(old)
    let id = try #require(try old.all("Truck", by: "plate").first?.objectID)
    old.reset()
    let fault = old.object(with: id)
    #expect(fault.isFault)
    let new = try DepotVersions.migrate(store)
    let error = #expect(throws: NSError.self) { try old.existingObject(with: id) }
    #expect(error?.tellsOfMigration == true)
    // Reading a property cannot throw: the next save does.
    let other = try #require(old.persistentStoreCoordinator)
    let reader = NSManagedObjectContext(.privateQueue)
    reader.persistentStoreCoordinator = other
    #expect(reader.object(with: id).value(forKey: "load") == nil)
    let failure = #expect(throws: NSError.self) { try reader.save() }
    #expect(failure?.tellsOfMigration == true)
    #expect(try new.all("Truck", by: "plate").map { $0["load"] as? String } == ["sand"])
  }

  @Test("A migration that changes no table is noticed: an entity with another version hash")
  func hashOnly() throws {
    let old = try store.context(DepotVersions.first())
    try DepotVersions.fill(old)
    let changed = DepotVersions.first()
    changed.entitiesByName["Parcel"]?.versionHashModifier = "2"
    changed.versionIdentifiers = ["V2"]
    let new = try store.context(changed, options: DepotVersions.migrating)
    let error = #expect(throws: NSError.self) { try old.all("Van", by: "plate") }
    #expect(error?.tellsOfMigration == true)
    old.make("Van")
    #expect(throws: NSError.self) { try old.save() }
    #expect(try new.all("Van", by: "plate").count == 2)
  }

  @Test(
    "A store that is of the same version goes on: after VACUUM, an index, another program's metadata, and a way back")
  func sameVersion() throws {
    let old = try store.context(DepotVersions.first())
    try DepotVersions.fill(old)
    let connection = try SQLiteConnection(url: store.url, mode: .readWrite)
    func goesOn(_ change: String) throws {
      old.make("Truck", ["plate": change])
      try old.save()
      #expect(try old.all("Truck", by: "plate").contains { $0["plate"] as? String == change })
    }
    try connection.execute("VACUUM")
    try goesOn("VACUUM")
    try connection.execute("CREATE INDEX Mine ON ZVAN (ZPLATE)")
    try goesOn("index")
    try connection.execute("CREATE TABLE Theirs (X)")
    try goesOn("table")
    try connection.execute("DROP TABLE Theirs; DROP INDEX Mine")
    try connection.close()
    try NSPersistentStoreCoordinator.setMetadata(["Theirs": 1], type: .sqlite, at: store.url)
    try goesOn("metadata")
    let new = try DepotVersions.migrate(store)
    let error = #expect(throws: NSError.self) { try old.all("Van", by: "plate") }
    #expect(error?.tellsOfMigration == true)
    for opened in new.persistentStoreCoordinator?.persistentStores ?? [] {
      try new.persistentStoreCoordinator?.remove(opened)
    }
    _ = try store.context(
      DepotVersions.first(), options: DepotVersions.migrating.merging([MigrationOption.allowsLoss: true]) { $1 })
    try goesOn("back")
    try store.close()
    try StoreChecks.check(store.url, DepotVersions.first())
  }

  @Test("Metadata that are saved keep what another connection has written of the framework's own")
  func staleMetadata() throws {
    let old = try store.context(DepotVersions.first())
    try DepotVersions.fill(old)
    let key = StoreMetadata.Key.deferredCleanup
    var metadata = try NSPersistentStoreCoordinator.metadataForPersistentStore(type: .sqlite, at: store.url)
    metadata[key] = true
    let connection = try SQLiteConnection(url: store.url, mode: .readWrite)
    try connection.run("UPDATE Z_METADATA SET Z_PLIST = ?", [.blob(StoreMetadata.encode(metadata))])
    try connection.close()
    let coordinator = try #require(old.persistentStoreCoordinator)
    coordinator.setMetadata(["App": "ours"], for: coordinator.persistentStores[0])
    try old.save()
    let found = try NSPersistentStoreCoordinator.metadataForPersistentStore(type: .sqlite, at: store.url)
    #expect(found[key] as? Bool == true && found["App"] as? String == "ours")
  }

  @Test("Tables that have changed within the same version are an error too, which says so")
  func rearranged() throws {
    let old = try store.context(DepotVersions.first())
    try DepotVersions.fill(old)
    try SQLiteConnection.execute(
      """
      BEGIN; UPDATE ZVAN SET Z_ENT = 12 WHERE Z_ENT = 2; UPDATE Z_PRIMARYKEY SET Z_ENT = 12 WHERE Z_NAME = 'Truck';
      COMMIT
      """, at: store.url)
    let error = #expect(throws: NSError.self) { try old.all("Van", by: "plate") }
    #expect(error?.code == NSPersistentStoreOperationError)
    #expect(error?.localizedFailureReason?.contains("the tables of the store were changed") == true, "\(error as Any)")
  }

  @Test(
    "A store that was replaced by one of another version, between reading and saving: the same error",
    arguments: [NSXMLStoreType, NSBinaryStoreType])
  func files(_ type: String) throws {
    func open(_ model: NSManagedObjectModel, _ options: [AnyHashable: Any]? = nil) throws -> NSManagedObjectContext {
      let coordinator = NSPersistentStoreCoordinator(managedObjectModel: model)
      try coordinator.addPersistentStore(ofType: type, configurationName: nil, at: store.url, options: options)
      let context = NSManagedObjectContext(.privateQueue)
      context.persistentStoreCoordinator = coordinator
      return context
    }
    let bundle = store.folder.appendingPathComponent("Depot.momd")
    try ModelBundle.writeCompiled(
      [("V1", DepotVersions.first().document), ("V2", DepotVersions.second().document)], current: "V2", to: bundle)
    let old = try open(.load(contentsOf: bundle, version: "V1"))
    try DepotVersions.fill(old)
    let new = try open(.load(contentsOf: bundle, version: "V2"), DepotVersions.migrating)
    let content = try Data(contentsOf: store.url)
    old.make("Truck", ["load": "late"])
    let error = #expect(throws: NSError.self) { try old.save() }
    #expect(error?.tellsOfMigration == true, "\(error as Any)")
    #expect(try Data(contentsOf: store.url) == content)
    #expect(try new.all("Van", by: "plate").count == 2)
  }

  @Test("A process that has the store open is told of the migration by another process")
  func processes() async throws {
    let old = try store.context(DepotVersions.first())
    try DepotVersions.fill(old)
    let objects = try old.all("Van", by: "plate")
    let path = store.url.path
    await #expect(processExitsWith: .success) { [path = path as String] in
      let coordinator = NSPersistentStoreCoordinator(managedObjectModel: DepotVersions.second())
      let store = try coordinator.addPersistentStore(
        type: .sqlite, at: URL(fileURLWithPath: path), options: DepotVersions.migrating)
      try coordinator.remove(store)
    }
    for (name, use) in Self.uses where name != "history" && name != "deletion of history" {
      let error = #expect(throws: NSError.self, "\(name)") { try use(old, objects) }
      #expect(error?.tellsOfMigration == true, "\(name): \(String(describing: error))")
      old.rollback()
    }
  }
}
