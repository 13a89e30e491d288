// OpenCoreData
// SPDX-License-Identifier: Apache-2.0

import CoreDataModelFiles
import CoreDataTestSupport
import CoreDataTesting
import Foundation
import PostgreSQLTestServer
import Testing

@testable import CoreData
@testable import CoreDataPostgreSQL
@testable import CoreDataPostgreSQLClient

@Suite("Migration in PostgreSQL", .needsPostgreSQL)
struct MigrationTests {
  private let bench = ServerBench()

  private func model(_ change: (NSManagedObjectModel) -> Void = { _ in }) -> NSManagedObjectModel {
    let model = CompanyModel.make()
    change(model)
    return model
  }

  private var options: [AnyHashable: Any] {
    [NSMigratePersistentStoresAutomaticallyOption: true, NSInferMappingModelAutomaticallyOption: true]
  }

  private func addAttribute(_ model: NSManagedObjectModel) {
    let attribute = NSAttributeDescription()
    attribute.name = "level"
    attribute.attributeType = .integer16AttributeType
    attribute.isOptional = false
    attribute.defaultValue = 7
    model.entitiesByName["Employee"]?.properties.append(attribute)
  }

  @Test("An added attribute with a default is a change of the catalogue; keys, the UUID and rows stay")
  func added() throws {
    let before = bench.context(try bench.coordinator())
    for number in 0..<100 { before.make(number % 2 == 0 ? "Employee" : "Manager", ["name": "e\(number)"]) }
    try before.save()
    let uuid = before.persistentStoreCoordinator?.persistentStores[0].identifier
    let keys = try before.all("Employee", by: "name").map { $0.objectID.uriRepresentation().lastPathComponent }
    let file = try bench.connection().query("SELECT pg_relation_filenode('zemployee')").int64(0, 0)
    #expect(throws: (any Error).self) { try bench.coordinator(nil, model(addAttribute)) }
    let after = bench.context(try bench.coordinator(options, model(addAttribute)))
    let found = try after.all("Employee", by: "name")
    #expect(found.count == 100 && found.allSatisfy { $0["level"] as? Int == 7 })
    #expect(found.map { $0.objectID.uriRepresentation().lastPathComponent } == keys)
    #expect(after.persistentStoreCoordinator?.persistentStores[0].identifier == uuid)
    // The table has not been rewritten.
    #expect(try bench.connection().query("SELECT pg_relation_filenode('zemployee')").int64(0, 0) == file)
    found[0]["level"] = 8
    try after.save()
  }

  @Test("What a store of no known version would lose is counted in the server, without reading its rows")
  func counted() throws {
    let before = bench.context(try bench.coordinator())
    before.make("Employee", ["name": "Ada", "badge": 1])
    before.make("Manager", ["name": "Bob"])
    try before.save()
    // No decimal is so large, so that nobody can read this row.
    try bench.connection().execute("UPDATE zemployee SET zsalary = '1e500' WHERE zname = 'Ada'")
    func without(_ name: String) -> NSManagedObjectModel {
      model { $0.entitiesByName["Employee"]?.properties.removeAll { $0.name == name } }
    }
    let options = options.merging([MigrationOption.allowsDowngrade: true]) { $1 }
    let error = try #require(throws: (any Error).self) { try bench.coordinator(options, without("badge")) } as NSError
    #expect(
      error.code == NSMigrationMissingSourceModelError && "\(error)".contains("1 value of 'Employee.badge'"), "\(error)"
    )
    #expect("\(error)".contains("schema="))
    // It has no values.
    let after = bench.context(try bench.coordinator(options, without("token")))
    #expect(try after.count(for: NSFetchRequest<NSManagedObject>(entityName: "Employee")) == 2)
    let columns = try bench.connection().query(
      "SELECT count(*) FROM information_schema.columns WHERE table_schema = current_schema() AND column_name = 'ztoken'"
    )
    #expect(columns.int64(0, 0) == 0)
  }

  @Test("Of many servers with the new model, one migrates, and the others wait and go on")
  func atOnce() throws {
    let before = bench.context(try bench.coordinator())
    before.make("Employee", ["name": "Ada"])
    try before.save()
    let model = model(addAttribute)
    inThreads(8) { _ in
      do {
        let context = bench.context(try bench.coordinator(options, NSManagedObjectModel(document: model.document)))
        #expect(try context.all("Employee").map { $0["level"] as? Int } == [7])
      } catch {
        Issue.record(error)
      }
    }
  }

  /// The options of a migration, and those of one with a stage, which works on a copy.
  private func options(byCopy: Bool, to destination: NSManagedObjectModel) -> [AnyHashable: Any] {
    guard byCopy else { return options }
    let source = model()
    let stage = NSCustomMigrationStage(
      migratingFrom: NSManagedObjectModelReference(model: source, versionChecksum: source.versionChecksum),
      to: NSManagedObjectModelReference(model: destination, versionChecksum: destination.versionChecksum))
    return options.merging([NSPersistentStoreStagedMigrationManagerOptionKey: NSStagedMigrationManager([stage])]) { $1 }
  }

  @Test(
    "Migrations whose connection is cut at any moment leave the old version or the new one", arguments: [false, true])
  func killed(byCopy: Bool) throws {
    let killer = try bench.connection()
    var counts = (old: 0, new: 0)
    _ = try bench.coordinator()
    func migrate(_ place: ServerBench) throws {
      let target = model(addAttribute)
      _ = try place.coordinator(options(byCopy: byCopy, to: target), target)
    }
    let time = try ContinuousClock().measure { try migrate(bench) }
    let rounds = TortureSize.isFull ? 40 : 10
    for round in 0..<rounds {
      let place = ServerBench()
      let before = place.context(try place.coordinator())
      for number in 0..<50 {
        before.make(
          number % 2 == 0 ? "Employee" : "Task",
          ["name": "e", "title": "t"].filter {
            $0.key == (number % 2 == 0 ? "name" : "title")
          })
      }
      try before.save()
      let old = try #require(before.persistentStoreCoordinator)
      try old.remove(old.persistentStores[0])
      let schema = try PostgreSQLAddress(place.url).schema
      let isCut = DispatchSemaphore(value: 0)
      let thread = Thread {
        defer { isCut.signal() }
        Thread.sleep(forTimeInterval: time / .seconds(1) * Double(round) / (Double(rounds) * 0.75))
        // There need be nobody to cut.
        _ = try? killer.query(
          "SELECT pg_terminate_backend(l.pid) FROM pg_locks l JOIN pg_class c ON c.oid = l.relation "
            + "JOIN pg_namespace n ON n.oid = c.relnamespace WHERE n.nspname = $1", [.text(schema)])
      }
      thread.start()
      // Whatever the error is, the store must be of one version.
      let isMigrated = (try? migrate(place)) != nil
      isCut.wait()
      let model = isMigrated ? self.model(addAttribute) : self.model()
      // A commit that the cut has hidden is told by the store itself.
      let found: NSManagedObjectContext
      do {
        found = place.context(try place.coordinator(nil, model))
        if isMigrated { counts.new += 1 } else { counts.old += 1 }
      } catch  where !isMigrated {
        found = place.context(try place.coordinator(nil, self.model(addAttribute)))
        counts.new += 1
      }
      #expect(try found.all("Employee").count == 25 && found.all("Task", by: "title").count == 25)
    }
    print(
      "Cut migrations \(byCopy ? "by copy" : "inside"): \(rounds) tries, \(counts.old) old, \(counts.new) new, 0 rows lost"
    )
  }

  @Test("Stages with handlers run as over files, and history stays")
  func staged() throws {
    let (one, two) = (model(), model(addAttribute))
    let tracking = [NSPersistentHistoryTrackingKey: true]
    let before = bench.context(try bench.coordinator(tracking, one))
    before.transactionAuthor = "before"
    before.make("Employee", ["name": "Ada"])
    try before.save()
    let stage = NSCustomMigrationStage(
      migratingFrom: NSManagedObjectModelReference(model: one, versionChecksum: one.versionChecksum),
      to: NSManagedObjectModelReference(model: two, versionChecksum: two.versionChecksum))
    stage.didMigrateHandler = { manager, _ in
      let context = try #require(manager.container).newBackgroundContext()
      try context.performAndWait {
        for object in try context.all("Employee") { object["level"] = 9 }
        try context.save()
      }
    }
    var options = options.merging(tracking) { $1 }
    options[NSPersistentStoreStagedMigrationManagerOptionKey] = NSStagedMigrationManager([stage])
    let after = bench.context(try bench.coordinator(options, NSManagedObjectModel(document: two.document)))
    #expect(try after.all("Employee").map { $0["level"] as? Int } == [9])
    let request = NSPersistentHistoryChangeRequest.fetchHistory(after: nil as NSPersistentHistoryToken?)
    let history = try #require(
      (try after.execute(request) as? NSPersistentHistoryResult)?.result as? [NSPersistentHistoryTransaction])
    #expect(history.first?.author == "before" && history.first?.changes?.first?.changeType == .insert)
    #expect(history.count > 1)
  }

  @Test("Equal indexes stay as they are")
  func equalIndexes() throws {
    func indexed(_ model: NSManagedObjectModel) {
      guard let employee = model.entitiesByName["Employee"], let name = employee.propertiesByName["name"] else {
        return
      }
      employee.indexes = ["first", "second"].map { title in
        NSFetchIndexDescription(
          name: title, elements: [NSFetchIndexElementDescription(property: name, collationType: .binary)])
      }
    }
    func indexes() throws -> [String: Int64] {
      let rows = try bench.connection().query(
        "SELECT c.relname::text, c.oid::bigint FROM pg_class c WHERE c.relkind = 'i' "
          + "AND c.relnamespace = current_schema()::regnamespace")
      return Dictionary(uniqueKeysWithValues: (0..<rows.count).map { (rows.string($0, 0), rows.int64($0, 1)) })
    }
    _ = try bench.coordinator(nil, model(indexed))
    let before = try indexes()
    #expect(before.keys.filter { $0.contains("first") || $0.contains("second") }.count == 2)
    _ = try bench.coordinator(
      options,
      model {
        indexed($0)
        addAttribute($0)
      })
    #expect(try indexes() == before)
  }

  @Test(
    "What others have added to the tables is not lost: columns and triggers are refused, privileges are granted again")
  func additions() throws {
    let context = bench.context(try bench.coordinator())
    context.make("Employee", ["name": "Ada"])
    try context.save()
    let owner = try bench.connection()
    let schema = try PostgreSQLAddress(bench.url).schema
    try owner.execute(
      "CREATE ROLE \(schema)_guest; GRANT SELECT, INSERT ON zemployee TO \(schema)_guest; CREATE SEQUENCE other_z_pk_seq; "
        + "GRANT USAGE ON SEQUENCE zemployee_z_pk_seq TO \(schema)_guest")
    let target = model(addAttribute)
    let additions = [
      ("ALTER TABLE zemployee ADD COLUMN extra text", "zemployee.extra", "ALTER TABLE zemployee DROP COLUMN extra"),
      (
        "CREATE FUNCTION noted() RETURNS trigger LANGUAGE plpgsql AS 'BEGIN RETURN NEW; END'; "
          + "CREATE TRIGGER mine BEFORE INSERT ON zemployee FOR EACH ROW EXECUTE FUNCTION noted()", "zemployee.mine",
        "DROP TRIGGER mine ON zemployee"
      ),
      ("CREATE POLICY all_rows ON zemployee USING (true)", "zemployee.all_rows", "DROP POLICY all_rows ON zemployee"),
    ]
    for (addition, name, removal) in additions {
      try owner.execute(addition)
      let error = try #require(throws: (any Error).self) {
        try bench.coordinator(options(byCopy: true, to: target), target)
      }
      #expect("\(error)".contains(name), "\(error)")
      #expect(try bench.context(try bench.coordinator()).all("Employee").count == 1)
      try owner.execute(removal)
    }
    _ = try bench.coordinator(options(byCopy: true, to: target), target)
    let rights = try owner.query(
      "SELECT has_table_privilege($1, 'zemployee', 'INSERT'), has_table_privilege($1, 'zemployee', 'DELETE'), "
        + "has_sequence_privilege($1, 'zemployee_z_pk_seq', 'USAGE'), to_regclass('other_z_pk_seq') IS NOT NULL",
      [.text("\(schema)_guest")])
    #expect((0..<4).map { rights.bool(0, $0) } == [true, false, true, true])
    try owner.execute("DROP OWNED BY \(schema)_guest; DROP ROLE \(schema)_guest")
  }

  @Test("A migration that waits too long for a lock says who has it, and succeeds later")
  func lockHolders() throws {
    let context = bench.context(try bench.coordinator())
    context.make("Employee", ["name": "Ada"])
    try context.save()
    let holder = try bench.connection()
    try holder.begin()
    let (process, application) = try holder.serverProcess()
    _ = try holder.query("SELECT * FROM zemployee")
    let timeout = options.merging([NSPersistentStoreTimeoutOption: 0.5]) { $1 }
    let error =
      try #require(throws: (any Error).self) { try bench.coordinator(timeout, model(addAttribute)) } as NSError
    #expect(
      "\(error)".contains(
        "held by process \(process) of tester (\(application), idle in transaction, in a transaction since "),
      "\(error)")
    try holder.rollback()
    let after = bench.context(try bench.coordinator(timeout, model(addAttribute)))
    #expect(try after.all("Employee").map { $0["level"] as? Int } == [7])
  }

  @Test(
    "A store with some of the model's entities is migrated inside the server, and by copy", arguments: [false, true])
  func configuration(byCopy: Bool) throws {
    func model(_ level: Bool) -> NSManagedObjectModel {
      var builder = ModelBuilder()
      builder.entity(
        "Note", [.make("text", .stringAttributeType)] + (level ? [.make("level", .integer16AttributeType)] : []))
      builder.entity("Log", [.make("line", .stringAttributeType)])
      let model = builder.model()
      model.setEntities(model.entities.filter { $0.name == "Note" }, forConfigurationName: "Notes")
      return model
    }
    func context(_ model: NSManagedObjectModel, _ options: [AnyHashable: Any]? = nil) throws -> NSManagedObjectContext {
      let coordinator = NSPersistentStoreCoordinator(managedObjectModel: model)
      try coordinator.addPersistentStore(type: .postgreSQL, configuration: "Notes", at: bench.url, options: options)
      return bench.context(coordinator)
    }
    let before = try context(model(false))
    before.make("Note", ["text": "kept"])
    try before.save()
    #expect(try PostgreSQLStore.problems(at: bench.url) == [])
    var options = options
    if byCopy {
      let (one, two) = (model(false), model(true))
      options[NSPersistentStoreStagedMigrationManagerOptionKey] = NSStagedMigrationManager([
        NSCustomMigrationStage(
          migratingFrom: NSManagedObjectModelReference(model: one, versionChecksum: one.versionChecksum),
          to: NSManagedObjectModelReference(model: two, versionChecksum: two.versionChecksum))
      ])
    }
    let after = try context(model(true), options)
    let notes = try after.all("Note", by: "text")
    #expect(notes.map { $0["text"] as? String } == ["kept"] && notes[0].entity.attributesByName["level"] != nil)
    #expect(try bench.connection().query("SELECT to_regclass('zlog') IS NULL").bool(0, 0))
  }

  @Test("A migration that may not read the store's model says so")
  func unreadableModel() throws {
    _ = try bench.coordinator()
    let schema = try PostgreSQLAddress(bench.url).schema
    try bench.connection().execute(
      "CREATE ROLE \(schema)_half LOGIN; GRANT ALL ON SCHEMA \(schema) TO \(schema)_half; "
        + "GRANT ALL ON ALL TABLES IN SCHEMA \(schema) TO \(schema)_half; REVOKE ALL ON z_modelcache FROM \(schema)_half"
    )
    let place = ServerBench(url: TestServer.shared.url(user: "\(schema)_half", "schema=\(schema)"))
    let error =
      try #require(throws: (any Error).self) { try place.coordinator(options, model(addAttribute)) } as NSError
    #expect(error.code == CocoaError.Code.fileWriteNoPermission.rawValue && "\(error)".contains("z_modelcache"))
    try bench.connection().execute("DROP OWNED BY \(schema)_half; DROP ROLE \(schema)_half")
  }

  @Test("A model in the store that is damaged is named")
  func damagedModel() throws {
    _ = try bench.coordinator()
    try bench.connection().execute("UPDATE z_modelcache SET z_content = '\\x0123'")
    let error = try #require(throws: (any Error).self) { try PostgreSQLStore.carriedModel(at: bench.url) } as NSError
    #expect("\(error)".contains("z_modelcache is damaged"), "\(error)")
  }

  @Test("A migration that fails leaves the old version, with all rows")
  func failing() throws {
    let before = bench.context(try bench.coordinator())
    for _ in 0..<2 { before.make("Employee", ["name": "same"]) }
    try before.save()
    let unique = model { $0.entitiesByName["Employee"]?.uniquenessConstraints = [["name"]] }
    let error = try #require(throws: (any Error).self) { try bench.coordinator(options, unique) } as NSError
    #expect(error.code == 134_111 || error.code == NSManagedObjectConstraintMergeError, "\(error)")
    #expect(try bench.context(try bench.coordinator()).all("Employee").count == 2)
  }

  /// A filled SQLite store is moved into the server. Both are migrated, and compared by their digests. Transformable values that
  /// the store converts have no digest that could differ in two ways.
  @Test("Stores of all fixture models hold the same as in SQLite after each migration to the last version")
  func fixtures() throws {
    var (migrated, inside, refused) = (0, 0, 0)
    for family in VersionFamily.some {
      guard let last = family.versions.last else { continue }
      for version in family.versions.dropLast() {
        // Models that no store can have, and versions without an inferred mapping, are tested elsewhere.
        guard let old = try? MigrationStack.plainCopy(of: NSManagedObjectModel(document: version.document)),
          let new = try? MigrationStack.plainCopy(of: NSManagedObjectModel(document: last.document)),
          (try? NSMappingModel.inferredMappingModel(forSourceModel: old, destinationModel: new)) != nil
        else { continue }
        let words = "\(family) \(version.name) -> \(last.name)"
        let (place, file) = (ServerBench(), try TemporaryStore())
        try fill(file.url, old, version.document, place.url)
        let inFile = Result { try digest(file.url, .sqlite, new) }
        let before = try identity(place)
        let inServer = Result { try digest(place.url, .postgreSQL, new) }
        switch (inFile, inServer) {
        case (.success(let expected), .success(let found)):
          migrated += 1
          if try identity(place) == before { inside += 1 }
          #expect(expected.difference(of: found) == nil, "\(words): \(expected.difference(of: found)?.entity ?? "")")
        case (.failure(let one), .failure(let other)):
          refused += 1
          #expect((one as NSError).code == (other as NSError).code, "\(words)")
        case (.failure(let error), _): Issue.record("\(words), only in SQLite: \(error)")
        case (_, .failure(let error)): Issue.record("\(words), only in the server: \(error)")
        }
        try NSPersistentStoreCoordinator(managedObjectModel: new).destroyPersistentStore(
          at: place.url, type: .postgreSQL)
      }
    }
    print(
      "Migrations in PostgreSQL: \(migrated) as in SQLite, \(inside) of them inside the server; \(refused) refused by both"
    )
    #expect(TortureSize.isFull ? migrated > 40 && inside > 20 : migrated > 10 && inside > 5)
  }

  /// From each version to the next and all the way back, so that every step begins with a layout that another has left
  /// and that only the catalogue tells.
  @Test("Stores that go through all versions and back hold the same in PostgreSQL and in SQLite after each step")
  func chains() throws {
    var (steps, inside) = (0, 0)
    for family in VersionFamily.some {
      // Models that no store can have are tested elsewhere.
      let versions = family.versions.filter {
        (try? MigrationStack.plainCopy(of: NSManagedObjectModel(document: $0.document))) != nil
      }
      guard var current = versions.first else { continue }
      let (place, file) = (ServerBench(), try TemporaryStore())
      func model(_ document: ModelDocument) throws -> NSManagedObjectModel {
        try MigrationStack.plainCopy(of: NSManagedObjectModel(document: document))
      }
      try fill(file.url, model(current.document), current.document, place.url)
      for next in versions.dropFirst() + versions.dropLast().reversed() {
        let words = "\(family) \(current.name) -> \(next.name)"
        let (old, new) = try (model(current.document), model(next.document))
        // Versions without an inferred mapping are tested elsewhere.
        guard (try? NSMappingModel.inferredMappingModel(forSourceModel: old, destinationModel: new)) != nil else {
          continue
        }
        let inFile = Result { try digest(file.url, .sqlite, new) }
        let before = try identity(place)
        let inServer = Result { try digest(place.url, .postgreSQL, new) }
        switch (inFile, inServer) {
        case (.success(let expected), .success(let found)):
          steps += 1
          if try identity(place) == before { inside += 1 }
          #expect(expected.difference(of: found) == nil, "\(words): \(expected.difference(of: found)?.entity ?? "")")
          #expect(try PostgreSQLStore.problems(at: place.url) == [], "\(words)")
          current = next
          continue
        case (.failure(let one), .failure(let other)):
          #expect((one as NSError).code == (other as NSError).code, "\(words)")
          continue
        case (.failure(let error), _): Issue.record("\(words), only in SQLite: \(error)")
        case (_, .failure(let error)): Issue.record("\(words), only in the server: \(error)")
        }
        // One store that has gone on without the other can be compared no more.
        break
      }
      try NSPersistentStoreCoordinator(managedObjectModel: model(current.document)).destroyPersistentStore(
        at: place.url, type: .postgreSQL)
    }
    print("Chained migrations in PostgreSQL: \(steps) steps as in SQLite, \(inside) of them inside the server")
    #expect(min(steps, inside) > (TortureSize.isFull ? 80 : 20))
  }

  /// Fills a SQLite store, and copies it into the server.
  private func fill(_ url: URL, _ model: NSManagedObjectModel, _ document: ModelDocument, _ server: URL) throws {
    let coordinator = NSPersistentStoreCoordinator(managedObjectModel: model)
    let store = try coordinator.addPersistentStore(type: .sqlite, at: url)
    let context = NSManagedObjectContext(.privateQueue)
    context.persistentStoreCoordinator = coordinator
    var filling = ModelFilling(document, .plain, keepsRules: true)
    try context.performAndWait {
      try filling.fill(context)
      try context.save()
    }
    try coordinator.migratePersistentStore(store, to: server, type: .postgreSQL)
  }

  /// Migrates a store, and returns what it holds then.
  private func digest(
    _ url: URL, _ type: NSPersistentStore.StoreType, _ model: NSManagedObjectModel
  ) throws -> StoreDigest {
    let coordinator = NSPersistentStoreCoordinator(managedObjectModel: model)
    let store = try coordinator.addPersistentStore(
      type: type, at: url, options: options.merging([MigrationOption.allowsLoss: true]) { $1 })
    defer { store.willRemove(from: coordinator) }
    let rows = try #require(store as? any RowStore)
    // SQLite keeps fifteen digits of a decimal number.
    return try coordinator.withLock {
      try StoreDigest(of: rows, PresentKeys(of: rows, model), roundsDecimals: true)
    }
  }

  /// What stays if the tables are not made again.
  private func identity(_ place: ServerBench) throws -> Int64 {
    try place.connection().query("SELECT 'z_metadata'::regclass::oid::bigint").int64(0, 0)
  }
}
