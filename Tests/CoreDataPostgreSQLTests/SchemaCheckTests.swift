// OpenCoreData
// SPDX-License-Identifier: Apache-2.0

import CoreDataTestSupport
import Foundation
import PostgreSQLTestServer
import Testing

@testable import CoreData
@testable import CoreDataPostgreSQL
@testable import CoreDataPostgreSQLClient

/// What others have done to the tables of a store is noticed when it is opened, and repaired where that needs no guess.
@Suite("Declarations in the server", .needsPostgreSQL)
struct SchemaCheckTests {
  private let bench = ServerBench()

  private func model() throws -> NSManagedObjectModel {
    let model = CompanyModel.make()
    let employee = try #require(model.entitiesByName["Employee"])
    employee.uniquenessConstraints = [["badge"]]
    let age = try #require(employee.propertiesByName["age"])
    employee.indexes = [
      NSFetchIndexDescription(
        name: "byAge", elements: [NSFetchIndexElementDescription(property: age, collationType: .binary)])
    ]
    return model
  }

  /// A store with three employees.
  private func store() throws {
    let context = bench.context(try bench.coordinator(nil, model()))
    for number in 1...3 { context.make("Employee", ["name": "e\(number)", "badge": number]) }
    try context.save()
  }

  private func open(_ options: [AnyHashable: Any] = [:], as role: String? = nil) throws -> NSManagedObjectContext {
    let coordinator = NSPersistentStoreCoordinator(managedObjectModel: try model())
    let url = role.map { name in bench.url(as: name) } ?? bench.url
    try coordinator.addPersistentStore(type: .postgreSQL, at: url, options: options)
    return bench.context(coordinator)
  }

  private func refusal(_ options: [AnyHashable: Any] = [:], as role: String? = nil) -> NSError? {
    thrownError { _ = try open(options, as: role) }
  }

  private static var readOnly: [AnyHashable: Any] { [NSReadOnlyPersistentStoreOption: true] }

  private struct Damage {
    let sql: String
    let words: String
    /// Whether reading is right all the same.
    let isReadable: Bool

    init(_ sql: String, _ words: String, isReadable: Bool = true) {
      (self.sql, self.words, self.isReadable) = (sql, words, isReadable)
    }
  }

  private static let damages: [Damage] = [
    .init("ALTER TABLE zemployee DROP CONSTRAINT zdepartment_fkey", "zdepartment_fkey"),
    .init("ALTER TABLE zemployee DISABLE TRIGGER ALL", "z_employee_unique_badge"),
    .init(
      "ALTER TABLE zemployee DROP CONSTRAINT zdepartment_fkey; ALTER TABLE zemployee ADD CONSTRAINT zdepartment_fkey "
        + "FOREIGN KEY (zdepartment) REFERENCES zdepartment (z_pk) ON DELETE CASCADE", "zdepartment_fkey"),
    .init("ALTER TABLE zemployee DROP CONSTRAINT z_employee_unique_badge", "z_employee_unique_badge"),
    .init("DROP SEQUENCE zemployee_z_pk_seq", "zemployee_z_pk_seq is missing"),
    .init("ALTER SEQUENCE zemployee_z_pk_seq INCREMENT BY 1", "has the increment 1 instead of 1000"),
    .init(
      "ALTER TABLE zemployee ALTER zname TYPE text COLLATE \"en-x-icu\"", "zemployee.zname has the collation en-x-icu",
      isReadable: false),
    .init("ALTER TABLE zemployee ALTER zhired TYPE timestamptz(0)", "timestamp(0) with time zone"),
    .init("ALTER TABLE zemployee ALTER zsalary TYPE numeric(10,2)", "numeric(10,2)"),
  ]

  @Test(
    "What makes writes or reads wrong refuses the opening, and is repaired without a guess", arguments: damages.indices)
  func damage(position: Int) throws {
    let damage = Self.damages[position]
    try store()
    try bench.connection().execute(damage.sql)
    let error = try #require(refusal())
    #expect(error.code == NSPersistentStoreIncompatibleSchemaError, "\(error)")
    #expect(error.localizedFailureReason?.contains(damage.words) == true, "\(error)")
    #expect((refusal(Self.readOnly) == nil) == damage.isReadable)
    let repair = try PostgreSQLStore.repair(at: bench.url)
    #expect(!repair.repaired.isEmpty && repair.refused.isEmpty)
    #expect(try PostgreSQLStore.problems(at: bench.url) == [])
    let context = try open()
    context.make("Employee", ["name": "after", "badge": 4])
    try context.save()
    #expect(try context.all("Employee").count == 4)
  }

  @Test("What is wrong and would need a guess refuses the opening, and stays as it is")
  func unrepairable() throws {
    try store()
    let owner = try bench.connection()
    try owner.execute("ALTER TABLE zemployee ADD extra text NOT NULL DEFAULT ''; ALTER TABLE ztask ADD free text")
    #expect(refusal() == nil)
    try owner.execute("ALTER TABLE zemployee ALTER extra DROP DEFAULT")
    let required = try #require(refusal())
    #expect(required.localizedFailureReason?.contains("zemployee.extra") == true && refusal(Self.readOnly) == nil)
    #expect(try PostgreSQLStore.repair(at: bench.url).repaired == [])
    try owner.execute("ALTER TABLE zemployee ALTER extra SET DEFAULT ''")
    let role = "r\(UInt32.random(in: 0...UInt32.max))"
    let schema = try PostgreSQLAddress(bench.url).schema
    try owner.execute(
      "CREATE ROLE \(role) LOGIN; GRANT USAGE ON SCHEMA \(schema) TO \(role); "
        + "GRANT ALL ON ALL TABLES IN SCHEMA \(schema) TO \(role); GRANT ALL ON ALL SEQUENCES IN SCHEMA \(schema) TO \(role); "
        + "ALTER TABLE zemployee ENABLE ROW LEVEL SECURITY")
    let hidden = try #require(refusal(as: role))
    #expect(hidden.localizedFailureReason?.contains("may hide rows of the table zemployee") == true, "\(hidden)")
    #expect(refusal() == nil)
    try owner.execute("DROP OWNED BY \(role); DROP ROLE \(role)")
  }

  @Test("A missing index only makes a store slow: it opens, and is repaired")
  func index() throws {
    try store()
    try bench.connection().execute("DROP INDEX z_employee_byage")
    #expect(try open().all("Employee", where: NSPredicate(format: "age == nil")).count == 3)
    #expect(try PostgreSQLStore.problems(at: bench.url).map(\.kind) == [.index])
    #expect(try PostgreSQLStore.repair(at: bench.url).repaired.map(\.kind) == [.index])
    #expect(try PostgreSQLStore.problems(at: bench.url) == [])
  }

  @Test("A constraint that rows violate is not repaired, and everything else is")
  func violated() throws {
    try store()
    let owner = try bench.connection()
    try owner.execute("ALTER TABLE zemployee DROP CONSTRAINT z_employee_unique_badge; DROP INDEX z_employee_byage")
    try owner.execute("UPDATE zemployee SET zbadge = 1")
    let repair = try PostgreSQLStore.repair(at: bench.url)
    #expect(repair.refused.map(\.kind) == [.constraint] && repair.repaired.map(\.kind) == [.index])
    #expect(try PostgreSQLStore.problems(at: bench.url) == repair.refused)
    #expect(try owner.query("SELECT count(*) FROM zemployee WHERE zbadge = 1").int64(0, 0) == 3)
    #expect(refusal() != nil)
  }

  @Test("A role without a privilege is told which one when it opens the store")
  func privileges() throws {
    try store()
    let owner = try bench.connection()
    let role = "r\(UInt32.random(in: 0...UInt32.max))"
    let schema = try PostgreSQLAddress(bench.url).schema
    try owner.execute(
      "CREATE ROLE \(role) LOGIN; GRANT USAGE ON SCHEMA \(schema) TO \(role); "
        + "GRANT SELECT ON ALL TABLES IN SCHEMA \(schema) TO \(role)")
    let reader = try #require(refusal(as: role))
    #expect(reader.code == CocoaError.Code.fileWriteNoPermission.rawValue)
    let reason = reader.localizedFailureReason ?? ""
    #expect(reason.contains("\(role) lacks INSERT, UPDATE, DELETE on the table zemployee"), "\(reason)")
    #expect(try open(Self.readOnly, as: role).all("Employee").count == 3)
    #expect(try open([PostgreSQLMissingPrivilegesOption: true], as: role).all("Employee").count == 3)
    try owner.execute("GRANT INSERT, UPDATE, DELETE ON ALL TABLES IN SCHEMA \(schema) TO \(role)")
    let sequences = try #require(refusal(as: role)?.localizedFailureReason)
    #expect(sequences.contains("lacks USAGE on the sequence zemployee_z_pk_seq"), "\(sequences)")
    try owner.execute("GRANT USAGE ON ALL SEQUENCES IN SCHEMA \(schema) TO \(role)")
    #expect(refusal(as: role) == nil)
    for privilege in ["INSERT", "UPDATE", "DELETE", "SELECT"] {
      try owner.execute("REVOKE \(privilege) ON zemployee FROM \(role)")
      let found = try #require(refusal(as: role)?.localizedFailureReason)
      #expect(found.contains("lacks \(privilege) on the table zemployee"), "\(found)")
      #expect((refusal(Self.readOnly, as: role) == nil) == (privilege != "SELECT"))
      try owner.execute("GRANT \(privilege) ON zemployee TO \(role)")
    }
    // Privileges on all columns are as good as one on the table.
    try owner.execute(
      "REVOKE SELECT ON zemployee FROM \(role); DO $$ BEGIN EXECUTE (SELECT 'GRANT SELECT (' || string_agg(attname, ', ') "
        + "|| ') ON zemployee TO \(role)' FROM pg_attribute WHERE attrelid = 'zemployee'::regclass AND attnum > 0); END $$"
    )
    #expect(refusal(as: role) == nil)
    try owner.execute("DROP OWNED BY \(role); DROP ROLE \(role)")
  }

  @Test("A trigger of somebody else is reported, and rows that it discards are no saved rows", arguments: [1, 30])
  func trigger(count: Int) throws {
    try store()
    let owner = try bench.connection()
    try owner.execute(
      "CREATE FUNCTION f() RETURNS trigger LANGUAGE plpgsql AS 'BEGIN RETURN NULL; END'; "
        + "CREATE TRIGGER discarding BEFORE INSERT ON zemployee FOR EACH ROW EXECUTE FUNCTION f(); "
        + "CREATE TRIGGER audit AFTER INSERT ON zemployee FOR EACH ROW EXECUTE FUNCTION f()")
    let found = try PostgreSQLStore.problems(at: bench.url)
    #expect(found.map(\.kind) == [.trigger, .trigger] && found.contains { $0.text.contains("discard them") })
    let context = try open()
    for number in 0..<count { context.make("Employee", ["name": "new", "badge": 100 + number]) }
    var failure: NSError?
    do { try context.save() } catch { failure = error as NSError }
    #expect(failure?.localizedFailureReason?.contains("has not inserted") == true, "\(String(describing: failure))")
    #expect(context.insertedObjects.count == count)
    try owner.execute("DROP TRIGGER discarding ON zemployee")
    try context.save()
    #expect(try owner.query("SELECT count(*) FROM zemployee").int64(0, 0) == Int64(3 + count))
  }

  @Test("A change that a trigger discards is no conflict, whatever the merge policy", arguments: ["UPDATE", "DELETE"])
  func discardedChange(event: String) throws {
    try store()
    let owner = try bench.connection()
    try owner.execute(
      "CREATE FUNCTION f() RETURNS trigger LANGUAGE plpgsql AS 'BEGIN RETURN NULL; END'; "
        + "CREATE TRIGGER discarding BEFORE \(event) ON zemployee FOR EACH ROW EXECUTE FUNCTION f()")
    for policy in [NSMergePolicy.error, .mergeByPropertyObjectTrump, .mergeByPropertyStoreTrump, .overwrite] {
      let context = try open()
      context.mergePolicy = policy
      let employee = try #require(try context.all("Employee").first)
      if event == "DELETE" { context.delete(employee) } else { employee["name"] = "changed" }
      var failure: NSError?
      do { try context.save() } catch { failure = error as NSError }
      #expect(failure?.code == NSPersistentStoreOperationError, "\(String(describing: failure))")
      #expect(failure?.localizedFailureReason?.contains("(Employee), whose rows are as they were read") == true)
      #expect(context.hasChanges)
    }
    // A row that somebody has changed is a conflict as ever.
    let context = try open()
    let employee = try #require(try context.all("Employee").first)
    if event == "DELETE" { context.delete(employee) } else { employee["name"] = "changed" }
    try owner.execute(
      "ALTER TABLE zemployee DISABLE TRIGGER discarding; UPDATE zemployee SET z_opt = z_opt + 1; "
        + "ALTER TABLE zemployee ENABLE TRIGGER discarding")
    var failure: NSError?
    do { try context.save() } catch { failure = error as NSError }
    #expect(failure?.code == NSManagedObjectMergeError, "\(String(describing: failure))")
    context.rollback()
    try owner.execute("DROP TRIGGER discarding ON zemployee")
  }

  @Test("The name of a schema may have capital letters and quotation marks, and the scheme may be in capitals")
  func names() throws {
    for name in ["Capital\(UInt32.random(in: 0...UInt32.max))", "q\"uote'\(UInt32.random(in: 0...UInt32.max))"] {
      let text = bench.url.absoluteString
      let schema = try PostgreSQLAddress(bench.url).schema
      let encoded = try #require(name.addingPercentEncoding(withAllowedCharacters: .alphanumerics))
      let capitals = text.replacingOccurrences(of: "schema=\(schema)", with: "schema=\(encoded)")
        .replacingOccurrences(of: "postgresql://", with: "POSTGRESQL://")
      let url = try #require(URL(string: capitals))
      let container = NSPersistentContainer(name: "Company", managedObjectModel: try model())
      container.persistentStoreDescriptions = [NSPersistentStoreDescription(url: url)]
      var failure: (any Error)?
      container.loadPersistentStores { failure = $1 }
      if let failure { throw failure }
      container.viewContext.make("Employee", ["name": "Ada", "badge": 1])
      try container.viewContext.save()
      let rows = try bench.connection().query(
        "SELECT count(*) FROM pg_tables WHERE schemaname = $1 AND tablename = 'zemployee'", [.text(name)])
      #expect(rows.int64(0, 0) == 1)
      #expect(try PostgreSQLStore.problems(at: url) == [])
    }
  }

  @Test(
    "A store whose entity and properties have control characters, quotation marks or letters beyond ASCII opens again",
    arguments: ["A\nB", "A\tB", "A\"B", "A'B", "A\\B", "A;B", "A\u{1}B", "\u{DC}n\u{EF}", "A\u{2028}B"])
  func unusualNames(_ name: String) throws {
    func makeModel() -> NSManagedObjectModel {
      var builder = ModelBuilder()
      let entity = builder.entity(
        name, [.make("\(name) key", .stringAttributeType), .make("\(name) number", .integer64AttributeType)])
      builder.entity("Other", [.make("title", .stringAttributeType)])
      builder.relate(.init("Other", "\(name) many", toMany: true), .init(name, "\(name) back", toMany: true))
      entity.uniquenessConstraints = [["\(name) key", "\(name) number"]]
      return builder.model()
    }
    for round in 1...2 {
      let context = bench.context(try bench.coordinator(nil, makeModel()))
      let other = context.make("Other")
      context.make(name, ["\(name) key": "v\(round)", "\(name) number": round, "\(name) back": Set([other])])
      try context.save()
      #expect(try context.count(for: NSFetchRequest<NSManagedObject>(entityName: name)) == round)
    }
    #expect(try PostgreSQLStore.problems(at: bench.url) == [])
  }
}

extension ServerBench {
  /// Returns the URL for another role.
  fileprivate func url(as role: String) -> URL {
    guard var parts = URLComponents(url: url, resolvingAgainstBaseURL: false) else { return url }
    parts.user = role
    return parts.url ?? url
  }
}
