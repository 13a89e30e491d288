// OpenCoreData
// SPDX-License-Identifier: Apache-2.0

import CoreDataTestSupport
import Foundation
import PostgreSQLTestServer
import Synchronization
import Testing

@testable import CoreData
@testable import CoreDataPostgreSQL
@testable import CoreDataPostgreSQLClient

@Suite("Faults of the server", .needsPostgreSQL)
struct FaultTests {
  private let bench = ServerBench()

  @Test("Saves whose connection is cut at any moment are saved once or not at all, and no row is lost")
  func cutConnections() throws {
    let coordinator = try bench.coordinator()
    let context = bench.context(coordinator)
    let store = try #require(coordinator.persistentStores.first as? PostgreSQLStore)
    let killer = try bench.connection()
    let isDone = Mutex(false)
    let count = Mutex(0)
    let pids = Mutex<[Int]>([])
    let thread = Thread {
      var generator = SystemRandomNumberGenerator()
      while !isDone.withLock({ $0 }) {
        Thread.sleep(forTimeInterval: Double.random(in: 0.0005...0.02, using: &generator))
        guard let pid = pids.withLock({ $0.last }) else { continue }
        // The connection may have ended by itself.
        _ = try? killer.query("SELECT pg_terminate_backend($1::int)", [.integer(Int64(pid))])
        count.withLock { $0 += 1 }
      }
    }
    thread.start()
    var saved: Set<String> = []
    var (failures, unknown) = (0, 0)
    for number in 0..<300 {
      pids.withLock { $0 = [store.opened?.connection.processID ?? 0] }
      let name = "save \(number)"
      for part in 0..<(number % 3 == 0 ? 40 : 3) { context.make("Employee", ["name": name, "age": part]) }
      do {
        try context.save()
        saved.insert(name)
      } catch {
        failures += 1
        if (error as NSError).code == NSPersistentStoreSaveError { unknown += 1 }
        context.rollback()
      }
    }
    isDone.withLock { $0 = true }
    let rows = try bench.connection().query("SELECT zname, count(*) FROM zemployee GROUP BY zname")
    let found = Dictionary(
      uniqueKeysWithValues: (0..<rows.count).map { (rows.string($0, 0), Int(rows.int64($0, 1))) })
    for number in 0..<300 {
      let (name, size) = ("save \(number)", number % 3 == 0 ? 40 : 3)
      let stored = found[name] ?? 0
      #expect(stored == 0 || stored == size, "\(name) is half there: \(stored) rows")
      if saved.contains(name) { #expect(stored == size, "\(name) was lost") }
    }
    let strays = found.keys.filter { !saved.contains($0) }.count
    #expect(strays <= unknown, "\(strays) saves are there that were reported as failed")
    print(
      "Cut connections: \(count.withLock { $0 }) cuts, 300 saves, \(saved.count) saved, \(failures) failed, "
        + "\(unknown) unknown, 0 rows lost")
    #expect(!saved.isEmpty)
  }

  @Test(
    "A role without rights, a read-only role and changed tables are errors that say so; nothing is half done",
    .disabled(if: TestServer.isPooled, "A pooler's sessions keep the settings that a role had."))
  func rights() throws {
    let coordinator = try bench.coordinator()
    let context = bench.context(coordinator)
    context.make("Employee", ["name": "Ada"])
    try context.save()
    let schema = try PostgreSQLAddress(bench.url).schema
    let owner = try bench.connection()
    try owner.execute("CREATE ROLE \(schema)_reader LOGIN; GRANT USAGE ON SCHEMA \(schema) TO \(schema)_reader")
    let other = TestServer.shared.url(user: "\(schema)_reader", "schema=\(schema)")
    let model = CompanyModel.make()
    let refused = NSPersistentStoreCoordinator(managedObjectModel: model)
    let error =
      try #require(throws: (any Error).self) {
        try refused.addPersistentStore(type: .postgreSQL, at: other)
      } as NSError
    #expect(error.code == CocoaError.Code.fileWriteNoPermission.rawValue && error.reasonText.contains("z_metadata"))
    try owner.execute("GRANT SELECT ON ALL TABLES IN SCHEMA \(schema) TO \(schema)_reader")
    #expect(throws: (any Error).self) { try refused.addPersistentStore(type: .postgreSQL, at: other) }
    try refused.addPersistentStore(type: .postgreSQL, at: other, options: [PostgreSQLMissingPrivilegesOption: true])
    let reader = bench.context(refused)
    let ada = try #require(try reader.all("Employee").first)
    ada["age"] = 2
    let denied = try #require(throws: (any Error).self) { try reader.save() } as NSError
    #expect(denied.code == CocoaError.Code.fileWriteNoPermission.rawValue && denied.reasonText.contains("zemployee"))
    try owner.execute("ALTER ROLE \(schema)_reader SET default_transaction_read_only = on")
    #expect(
      try NSPersistentStoreCoordinator(managedObjectModel: model).addPersistentStore(
        type: .postgreSQL, at: other
      ).isReadOnly)
    try owner.execute("ALTER TABLE zemployee DROP COLUMN zage")
    context.reset()
    let changed = try #require(throws: (any Error).self) { try context.all("Employee") } as NSError
    #expect(changed.code == NSPersistentStoreIncompatibleSchemaError && changed.reasonText.contains("zage"))
    let opening = try #require(throws: (any Error).self) { try bench.coordinator() } as NSError
    #expect(
      opening.code == NSPersistentStoreIncompatibleSchemaError && opening.userInfo["property"] as? String == "age")
    for (column, type, property) in [
      ("zhired", "text", "hired"), ("zhired_sub", "real", "hired"), ("zbadge", "integer", "badge"),
      ("zisactive", "text", "isActive"),
    ] {
      let place = ServerBench()
      _ = try place.coordinator()
      try place.connection().execute("ALTER TABLE zemployee ALTER \(column) TYPE \(type) USING NULL")
      let other = try #require(throws: (any Error).self) { try place.coordinator() } as NSError
      #expect(
        other.code == NSPersistentStoreIncompatibleSchemaError && other.userInfo["property"] as? String == property)
      #expect(other.reasonText.contains("zemployee.\(column) has the type \(type)"), "\(other)")
    }
    try owner.execute("DROP OWNED BY \(schema)_reader; DROP ROLE \(schema)_reader")
  }

  @Test("Rows that a policy of the server hides are an error, not missing")
  func rowSecurity() throws {
    let superuser = try PostgreSQLConnection(PostgreSQLAddress(TestServer.shared.url()), applicationName: "tests")
    let schema = try PostgreSQLAddress(bench.url).schema
    let role = "\(schema)_owner"
    try superuser.execute("CREATE ROLE \(role) LOGIN; CREATE SCHEMA \(schema) AUTHORIZATION \(role)")
    let place = ServerBench(url: TestServer.shared.url(user: role, "schema=\(schema)"))
    let context = place.context(try place.coordinator())
    for age in 0..<4 { context.make("Employee", ["name": "e", "age": age]) }
    try context.save()
    try place.connection().execute(
      "ALTER TABLE zemployee ENABLE ROW LEVEL SECURITY; ALTER TABLE zemployee FORCE ROW LEVEL SECURITY; "
        + "CREATE POLICY visible ON zemployee USING (zage > 1)")
    let error = try #require(throws: (any Error).self) { try context.all("Employee") } as NSError
    #expect(error.code == CocoaError.Code.fileWriteNoPermission.rawValue && error.reasonText.contains("row-level"))
    try superuser.execute("ALTER ROLE \(role) BYPASSRLS")
    #expect(try place.context(try place.coordinator()).all("Employee").count == 4)
    try superuser.execute("DROP OWNED BY \(role) CASCADE; DROP ROLE \(role)")
  }

  @Test("A role that may not use the schema is told so")
  func usage() throws {
    _ = try bench.coordinator()
    let schema = try PostgreSQLAddress(bench.url).schema
    try bench.connection().execute("CREATE ROLE \(schema)_stranger LOGIN")
    let place = ServerBench(url: TestServer.shared.url(user: "\(schema)_stranger", "schema=\(schema)"))
    let error = try #require(throws: (any Error).self) { try place.coordinator() } as NSError
    #expect(error.code == CocoaError.Code.fileWriteNoPermission.rawValue && error.reasonText.contains(schema))
    try bench.connection().execute("DROP ROLE \(schema)_stranger")
  }

  @Test("A schema whose name takes almost all bytes that PostgreSQL allows")
  func longSchema() throws {
    let place = ServerBench(
      url: TestServer.shared.url("schema=" + String(repeating: "%C3%A4", count: 31)))
    let context = place.context(
      try place.coordinator([NSPersistentStoreRemoteChangeNotificationPostOptionKey: true]))
    context.make("Employee", ["name": "Ada"])
    try context.save()
    #expect(try place.context(try place.coordinator()).all("Employee").count == 1)
  }

  @Test(
    "A copy that was interrupted and continued has all indexes and constraints; two at once are refused",
    .disabled(if: TestServer.isPooled, "Stores are not copied through a pooler."))
  func continuedCopy() throws {
    struct Interruption: Error {}
    let model = CompanyModel.make()
    let source = NSPersistentStoreCoordinator(managedObjectModel: model)
    let file = try TemporaryStore()
    let store = try source.addPersistentStore(type: .sqlite, at: file.url)
    let context = bench.context(source)
    for number in 0..<200 { context.make("Employee", ["name": "e\(number)"]) }
    try context.save()
    var settings = CopySettings()
    (settings.partSize, settings.pageLimit) = (50, 50)
    settings.progress = { if $0.done >= 100 { throw Interruption() } }
    #expect(throws: (any Error).self) {
      try source.copyPersistentStore(store, to: bench.url, options: nil, type: .postgreSQL, settings)
    }
    let schema = try PostgreSQLAddress(bench.url)
    // Another process is about to copy.
    let other = SchemaInDatabase(try bench.connection(), schema, url: nil)
    #expect(try other.lockForCopy())
    settings.progress = { _ in }
    let busy =
      try #require(throws: (any Error).self) {
        try source.copyPersistentStore(store, to: bench.url, options: nil, type: .postgreSQL, settings)
      } as NSError
    #expect(busy.reasonText.contains("Another process is copying"), "\(busy)")
    try other.unlockAfterCopy()
    _ = try source.copyPersistentStore(store, to: bench.url, options: nil, type: .postgreSQL, settings)
    let fresh = ServerBench()
    _ = try fresh.coordinator(nil, CompanyModel.make())
    func definitions(_ place: ServerBench) throws -> [String] {
      let rows = try place.connection().query(
        "SELECT replace(pg_get_indexdef(indexrelid), current_schema() || '.', '') FROM pg_index i JOIN pg_class c "
          + "ON c.oid = i.indrelid WHERE c.relnamespace = current_schema()::regnamespace UNION ALL "
          + "SELECT conname || pg_get_constraintdef(oid) FROM pg_constraint "
          + "WHERE connamespace = current_schema()::regnamespace ORDER BY 1")
      return (0..<rows.count).map { rows.string($0, 0) }
    }
    #expect(try definitions(bench) == definitions(fresh))
    #expect(try bench.context(try bench.coordinator()).all("Employee").count == 200)
  }

  @Test("What others do to constraints, indexes, sequences, metadata and entity numbers is found by an inspection")
  func inspection() throws {
    let model = CompanyModel.make()
    let employee = try #require(model.entitiesByName["Employee"])
    employee.uniquenessConstraints = [["badge"]]
    employee.indexes = [
      NSFetchIndexDescription(
        name: "byAge",
        elements: [
          NSFetchIndexElementDescription(
            property: try #require(employee.propertiesByName["age"]), collationType: .binary)
        ])
    ]
    let context = bench.context(try bench.coordinator(nil, model))
    for number in 0..<3 { context.make("Employee", ["name": "e", "badge": number]) }
    try context.save()
    #expect(try PostgreSQLStore.problems(at: bench.url) == [])
    let owner = try bench.connection()
    let changes: [(String, ServerStoreProblem.Kind, String)] = [
      ("ALTER TABLE zemployee DROP CONSTRAINT zdepartment_fkey", .constraint, "zdepartment_fkey"),
      ("ALTER TABLE zemployee DROP CONSTRAINT z_employee_unique_badge", .constraint, "z_employee_unique_badge"),
      ("DROP INDEX z_employee_byage", .index, "z_employee_byage"),
      ("SELECT setval('zemployee_z_pk_seq', 1, false)", .keys, "gives out 1 next"),
      ("DROP SEQUENCE ztask_z_pk_seq", .keys, "ztask_z_pk_seq is missing"),
      ("UPDATE zemployee SET z_ent = 99 WHERE z_pk = 2", .entityNumber, "1 row of zemployee has the entity number 99"),
      ("INSERT INTO z_metadata SELECT 0, 'other', z_plist FROM z_metadata", .metadata, "2 rows"),
    ]
    for (position, (change, kind, words)) in changes.enumerated() {
      try owner.execute(change)
      let found = try PostgreSQLStore.problems(at: bench.url)
      #expect(
        found.count == position + 1 && found.contains { $0.kind == kind && $0.text.contains(words) },
        "\(change): \(found)")
    }
    // Such rows would be lost.
    let target = CompanyModel.make()
    target.entitiesByName["Task"]?.properties.removeAll { $0.name == "title" }
    #expect(throws: (any Error).self) {
      try owner.transaction {
        try SchemaInDatabase(owner, PostgreSQLAddress(bench.url), url: bench.url)
          .replaceTables(target.document, configuration: nil, metadata: [:])
      }
    }
    #expect(try owner.query("SELECT count(*) FROM zemployee").int64(0, 0) == 3)
  }
}

extension NSError {
  var reasonText: String { localizedFailureReason ?? "" }
}
