// OpenCoreData
// SPDX-License-Identifier: Apache-2.0

import CoreDataTestSupport
import Foundation
import PostgreSQLTestServer
import Testing

@testable import CoreData
@testable import CoreDataPostgreSQL
@testable import CoreDataPostgreSQLClient

/// What Documentation/PostgreSQL.md tells an operator to do.
@Suite("Operating stores in PostgreSQL", .needsPostgreSQL)
struct OperationTests {
  private let bench = ServerBench()

  private var schema: String {
    get throws { try PostgreSQLAddress(bench.url).schema }
  }

  /// The first block of a language below a heading of the document.
  private func block(_ language: String, below heading: String, file: StaticString = #filePath) throws -> String {
    let url = URL(fileURLWithPath: "\(file)").deletingLastPathComponent()
      .appendingPathComponent("../../Documentation/PostgreSQL.md")
    let text = try String(contentsOf: url, encoding: .utf8)
    let section = try #require(text.range(of: "\n### \(heading)\n")?.upperBound)
    let start = try #require(text[section...].range(of: "```\(language)\n")?.upperBound)
    let end = try #require(text[start...].range(of: "```")?.lowerBound)
    return String(text[start..<end])
  }

  private func versions() -> (old: NSManagedObjectModel, new: NSManagedObjectModel) {
    let new = CompanyModel.make()
    let attribute = NSAttributeDescription()
    (attribute.name, attribute.attributeType, attribute.isOptional) = ("level", .integer16AttributeType, true)
    new.entitiesByName["Employee"]?.properties.append(attribute)
    return (CompanyModel.make(), new)
  }

  private static var migrating: [AnyHashable: Any] {
    [
      NSMigratePersistentStoresAutomaticallyOption: true, NSInferMappingModelAutomaticallyOption: true,
      NSPersistentHistoryTrackingKey: true,
    ]
  }

  @Test("The documented roles do what they are for, and no more, also after a migration")
  func roles() throws {
    let schema = try schema
    let names = ["owner", "app", "reader"].map { "\(schema)_\($0)" }
    let statements = try block("sql", below: "Roles")
      .replacing("shop_owner", with: names[0]).replacing("shop_app", with: names[1])
      .replacing("shop_reader", with: names[2]).replacing("shop", with: "\"\(schema)\"")
      .replacing("DATABASE \"\(schema)\"", with: "DATABASE postgres")
    let administrator = try PostgreSQLConnection(
      PostgreSQLAddress(TestServer.shared.url()), applicationName: "tests")
    try administrator.execute(statements)
    func coordinator(
      _ role: Int, _ model: NSManagedObjectModel, _ options: [AnyHashable: Any] = OperationTests.migrating
    ) throws -> NSPersistentStoreCoordinator {
      let coordinator = NSPersistentStoreCoordinator(managedObjectModel: model)
      try coordinator.addPersistentStore(
        type: .postgreSQL, at: TestServer.shared.url(user: names[role], "schema=\(schema)"), options: options)
      return coordinator
    }
    func insertAndChange(_ coordinator: NSPersistentStoreCoordinator) throws {
      let context = bench.context(coordinator)
      let employee = context.make("Employee", ["name": "Ada"])
      context.make("Project", ["title": "Engine"]).setValue(NSSet(object: employee), forKey: "members")
      try context.save()
      employee["age"] = 36
      try context.save()
      context.delete(context.make("Employee", ["name": "Bob"]))
      context.delete(employee)
      try context.save()
      for number in 0..<30 { context.make("Employee", ["name": "\(number)"]) }
      try context.save()
      let update = NSBatchUpdateRequest(entityName: "Employee")
      update.propertiesToUpdate = ["age": 7]
      try context.execute(update)
    }
    func code(_ body: () throws -> Void) -> Int {
      do {
        try body()
        return 0
      } catch {
        return (error as NSError).code
      }
    }
    let denied = CocoaError.Code.fileWriteNoPermission.rawValue
    // Only the owner makes the store.
    #expect(code { _ = try coordinator(1, versions().old) } == denied)
    try insertAndChange(coordinator(0, versions().old))
    for version in 0..<2 {
      let model = { version == 0 ? versions().old : versions().new }
      try insertAndChange(coordinator(1, model()))
      let reading = try coordinator(2, model())
      #expect(reading.persistentStores[0].isReadOnly)
      #expect(try bench.context(reading).all("Employee").count == 30 * (2 * version + 2))
      #expect(code { try insertAndChange(reading) } != 0)
      if version == 1 { continue }
      // Only the owner migrates.
      #expect(code { _ = try coordinator(1, versions().new) } != 0)
      #expect(code { _ = try coordinator(2, versions().new) } != 0)
      try insertAndChange(coordinator(0, versions().new))
    }
    // The examination tells them apart.
    let words = try (0..<3).map { role in
      let url = TestServer.shared.url(user: names[role], "schema=\(schema)")
      return try PostgreSQLStore.examine(at: url).filter { $0.subject == "role" }.map(\.text).joined()
    }
    #expect(words[0] == "The role owns the tables: it may read, write and migrate.")
    #expect(words[1] == "The role may read and write. It does not own the tables, so that another role must migrate.")
    #expect(words[2] == "The role may only read. Open the store read-only.")
  }

  @Test("A backup is complete, names no password, and restores the store as it was before a migration")
  func backup() throws {
    let folder = try TemporaryDirectory()
    let (old, new) = versions()
    let coordinator = try bench.coordinator(Self.migrating, old)
    let context = bench.context(coordinator)
    for number in 0..<50 { context.make("Employee", ["name": "\(number)", "age": number]) }
    context.make("Project", ["title": "Engine"])
      .setValue(NSSet(array: try context.all("Employee")), forKey: "members")
    try context.save()
    let schema = try schema
    try bench.connection().execute("ALTER DEFAULT PRIVILEGES IN SCHEMA \(schema) GRANT SELECT ON TABLES TO PUBLIC")
    let before = try #require(coordinator.persistentStores[0].metadata[NSStoreUUIDKey] as? String)
    let secret = "very-secret-\(UUID().uuidString)"
    let url = try #require(URL(string: bench.url.absoluteString + "&password=\(secret)"))
    let backup = try PostgreSQLStore.backUp(at: url, to: folder.url, name: "shop")
    #expect(try folder.files() == ["shop.dump"])
    let mode = try FileManager.default.attributesOfItem(atPath: backup.file.path)[.posixPermissions] as? Int
    #expect(mode == 0o600)
    #expect(!backup.restoring.joined().contains(secret))
    try coordinator.remove(coordinator.persistentStores[0])
    // The migration, and what is saved after it.
    let migrated = bench.context(try bench.coordinator(Self.migrating, new))
    try #require(try migrated.all("Employee").first)["level"] = 5
    migrated.make("Employee", ["name": "later"])
    try migrated.save()
    let migratedCoordinator = try #require(migrated.persistentStoreCoordinator)
    try migratedCoordinator.remove(migratedCoordinator.persistentStores[0])
    for command in backup.restoring {
      let (status, message) = try ServerPrograms.run("/bin/sh", ["-c", command], ["PGPASSWORD": secret])
      #expect(status == 0, "\(command): \(message)")
    }
    let restored = try bench.coordinator([NSPersistentHistoryTrackingKey: true], CompanyModel.make())
    #expect(restored.persistentStores[0].metadata[NSStoreUUIDKey] as? String == before)
    let after = bench.context(restored)
    #expect(try after.all("Employee").map { $0["age"] as? Int }.compactMap { $0 }.sorted() == Array(0..<50))
    #expect((try after.all("Project", by: "title").first?["members"] as? NSSet)?.count == 50)
    after.make("Employee", ["name": "new"])
    try after.save()
    #expect(try PostgreSQLStore.problems(at: bench.url) == [])
    let privileges = try bench.connection().query(
      "SELECT 1 FROM pg_default_acl d JOIN pg_namespace n ON n.oid = d.defaclnamespace WHERE n.nspname = $1",
      [.text(schema)])
    #expect(privileges.count == 1)
  }

  @Test("A backup that cannot be made leaves no file, and says why")
  func failedBackup() throws {
    let folder = try TemporaryDirectory()
    let none = ServerPrograms(environment: ["PATH": folder.url.path], versions: folder.url.path)
    let missing = try #require(throws: BackupToolMissing.self) {
      try PostgreSQLStore.backUp(at: bench.url, to: folder.url, name: "shop", none)
    }
    #expect(missing.program == "pg_dump" && missing.advice.contains("postgresql-client"))
    let absent =
      try #require(throws: (any Error).self) {
        try PostgreSQLStore.backUp(at: bench.url, to: folder.url, name: "shop")
      } as NSError
    #expect(absent.localizedFailureReason?.contains("pg_dump has ended with status 1: ") == true, "\(absent)")
    #expect(try folder.files() == [])
    _ = try bench.coordinator()
    let nowhere = folder.url.appendingPathComponent("none")
    #expect(throws: (any Error).self) { try PostgreSQLStore.backUp(at: bench.url, to: nowhere, name: "shop") }
  }

  /// Writes a model with two versions, of which the second is the current one.
  private func writeModel(to bundle: URL) throws {
    for (version, attributes) in [("Shop", ["name"]), ("Shop 2", ["name", "note"])] {
      let folder = bundle.appendingPathComponent(version + ".xcdatamodel")
      try FileManager.default.createDirectory(at: folder, withIntermediateDirectories: true)
      let lines = attributes.map { "<attribute name=\"\($0)\" optional=\"YES\" attributeType=\"String\"/>" }
      let text =
        "<?xml version=\"1.0\"?>\n<model type=\"com.apple.IDECoreDataModeler.DataModel\" documentVersion=\"1.0\">"
        + "<entity name=\"Order\">\(lines.joined())</entity></model>\n"
      try Data(text.utf8).write(to: folder.appendingPathComponent("contents"))
    }
    let marker = try PropertyListSerialization.data(
      fromPropertyList: ["_XCCurrentVersionName": "Shop 2.xcdatamodel"], format: .xml, options: 0)
    try marker.write(to: bundle.appendingPathComponent(".xccurrentversion"))
  }

  @Test(
    "The tool examines a store, and backs it up before it migrates it",
    .enabled(if: BuiltProgram("coredata").isPresent, "The program was not built beside the tests"))
  func tool() throws {
    let folder = try TemporaryDirectory()
    let (model, file) = (folder.file("Shop.xcdatamodeld"), folder.file("Old.sqlite"))
    try writeModel(to: model)
    let tool = BuiltProgram("coredata")
    let url = bench.url.absoluteString
    #expect(try tool.run(["store", "create", file.path, model.path, "--version", "Shop"]).status == 0)
    #expect(try tool.run(["store", "copy", file.path, url]).status == 0)
    let doctor = try tool.run(["doctor", url, model.path])
    // The server of the tests runs without fsync.
    #expect(doctor.status == 1 && doctor.output.contains("problem  durability: fsync is off"), "\(doctor)")
    #expect(doctor.output.contains("ok       server: PostgreSQL "))
    #expect(doctor.output.contains("There is a way: Shop -> Shop 2."))
    let missing = try tool.run(["doctor", url + "none"])
    #expect(missing.status == 1 && missing.output.contains("There is no store in the schema"), "\(missing)")
    let run = try tool.run(["migrate", "run", url, model.path, "--backup", folder.url.path, "--quiet"])
    #expect(run.status == 0, "\(run)")
    let dumps = try folder.files().filter { $0.hasSuffix(".dump") }
    let start = "\(try schema)-Shop-"
    #expect(dumps.count == 1 && dumps[0].hasPrefix(start), "\(dumps)")
    #expect(run.output.contains("Backup  \(folder.url.path)/"), "\(run)")
    // Nothing is to be done any more, and no backup is made.
    let again = try tool.run(["migrate", "run", url, model.path, "--backup", folder.url.path, "--quiet"])
    #expect(again.status == 0 && again.output.contains("Nothing was changed"), "\(again)")
    #expect(try folder.files().filter { $0.hasSuffix(".dump") } == dumps)
  }

  @Test("A URL with a primary and a standby reads from the standby, and writes to the primary")
  func standby() throws {
    let primary = try TestServer()
    let url = primary.schemaURL()
    let writer = ServerBench(url: url)
    let context = writer.context(try writer.coordinator())
    context.make("Employee", ["name": "Ada"])
    try context.save()
    let standby = try TestServer(standbyOf: primary)
    let schema = try PostgreSQLAddress(url).schema
    func both(_ parameters: String) -> ServerBench {
      let hosts = "\(primary.socketFolder),\(standby.socketFolder)"
      let text = "postgresql://tester@/postgres?host=\(hosts)&schema=\(schema)&\(parameters)"
      return ServerBench(url: URL(string: text) ?? url)
    }
    let reading = both("target_session_attrs=prefer-standby")
    let reader = try reading.coordinator()
    #expect(reader.persistentStores[0].isReadOnly)
    #expect(try reading.context(reader).all("Employee").count == 1)
    #expect(try PostgreSQLStore.examine(at: reading.url).contains { $0.subject == "standby" })
    let writing = both("target_session_attrs=read-write")
    let second = writing.context(try writing.coordinator())
    second.make("Employee", ["name": "Bob"])
    try second.save()
    // Without the standby, the same URL reads from the primary.
    try standby.stop()
    let alone = try reading.coordinator()
    #expect(try reading.context(alone).all("Employee").count == 2)
    // After a failover, the same URL writes to the new primary.
    try standby.start()
    let follower = ServerBench(url: standby.url("schema=\(schema)"))
    let following = follower.context(try follower.coordinator())
    for _ in 0..<600 {
      if try following.all("Employee").count == 2 { break }
      Thread.sleep(forTimeInterval: 0.05)
    }
    try primary.stop()
    try standby.promote()
    second.make("Employee", ["name": "Eve"])
    try second.save()
    second.reset()
    #expect(try second.all("Employee").map { $0["name"] as? String } == ["Ada", "Bob", "Eve"])
  }

  @Test("An examination finds what an operator must know, and changes nothing")
  func examination() throws {
    let absent = try PostgreSQLStore.examine(at: bench.url)
    #expect(absent.contains { $0.level == .problem && $0.subject == "store" })
    _ = try bench.coordinator()
    let sound = try PostgreSQLStore.examine(at: bench.url)
    // The server of the tests runs without fsync.
    #expect(sound.filter { $0.level == .problem }.map(\.text).allSatisfy { $0.hasPrefix("fsync is off") }, "\(sound)")
    #expect(sound.contains { $0.subject == "durability" && $0.level == .problem })
    for subject in ["server", "connections", "timeouts", "store", "role", "schema"] {
      #expect(sound.contains { $0.subject == subject && $0.level != .problem }, "\(subject): \(sound)")
    }
    try bench.connection().execute("DROP SEQUENCE zemployee_z_pk_seq CASCADE; DELETE FROM z_modelcache WHERE false")
    let broken = try PostgreSQLStore.examine(at: bench.url)
    #expect(
      broken.contains { $0.level == .problem && $0.subject == "schema" && $0.text.contains("zemployee_z_pk_seq") })
    let none = try #require(URL(string: "postgresql://nobody@/postgres?host=/nonexistent&schema=x"))
    #expect(throws: (any Error).self) { try PostgreSQLStore.examine(at: none) }
  }
}
