// OpenCoreData
// SPDX-License-Identifier: Apache-2.0

import CoreDataTestSupport
import Foundation
import PostgreSQLTestServer
import Testing

@testable import CoreData
@testable import CoreDataPostgreSQL
@testable import CoreDataPostgreSQLClient
@testable import CoreDataTracing

@Suite("Reports of statements in PostgreSQL", .needsPostgreSQL)
struct StatementReportTests {
  private let bench = ServerBench()

  /// Runs a body, and returns the statements of the store that were reported meanwhile.
  private func statements(includingValues: Bool = false, _ body: () throws -> Void) throws -> [StoreStatement] {
    let found = Guarded<[StoreStatement]>([])
    let schema = try PostgreSQLAddress(bench.url).schema
    // No other schema's name ends so.
    let observation = StatementObservation(includingValues: includingValues, location: "schema=\(schema)") {
      statement in
      if statement.location.hasSuffix("schema=\(schema)") { found.update { $0.append(statement) } }
    }
    defer { observation.end() }
    try body()
    observation.flush()
    return found.value
  }

  private func named(_ name: String?, _ coordinator: NSPersistentStoreCoordinator) -> NSManagedObjectContext {
    let context = bench.context(coordinator)
    context.name = name
    return context
  }

  @Test("Requests are reported with their context and rows: by pipeline, by COPY, row by row, and without values")
  func requests() throws {
    let coordinator = try bench.coordinator()
    let context = named("import", coordinator)
    context.transactionAuthor = "Ada"
    func check(
      _ request: StoreStatement.Request, _ start: String, rows: Int, location: SourceLocation = #_sourceLocation,
      _ body: () throws -> Void
    ) throws {
      let found = try statements(body).filter { $0.request != .other }
      #expect(found.allSatisfy { $0.request == request }, "\(found)", sourceLocation: location)
      #expect(
        found.allSatisfy { $0.contextName == "import" && $0.author == "Ada" }, "\(found)", sourceLocation: location)
      let matching = found.filter { $0.sql.hasPrefix(start) && $0.sql.contains("zemployee") }
      #expect(matching.map(\.rowCount).reduce(0, +) == rows, "\(found)", sourceLocation: location)
      #expect(matching.contains { $0.duration > .zero }, "\(found)", sourceLocation: location)
      #expect(!found.contains { $0.sql.contains("Lovelace") || $0.sqlWithValues != nil }, sourceLocation: location)
    }
    try check(.save, "INSERT INTO", rows: 3) {
      for number in 0..<3 { context.make("Employee", ["name": "Lovelace", "age": number]) }
      try context.save()
    }
    try check(.save, "COPY", rows: 30) {
      for number in 0..<30 { context.make("Employee", ["name": "Lovelace", "age": number]) }
      try context.save()
    }
    let all = try context.all("Employee")
    try check(.save, "UPDATE", rows: 33) {
      for employee in all { employee.setValue(99, forKey: "age") }
      try context.save()
    }
    context.reset()
    try check(.fetch, "SELECT", rows: 33) {
      let found = try context.all("Employee", where: NSPredicate(format: "name == %@", "Lovelace"))
      #expect(found.count == 33)
    }
    let id = try #require(context.all("Employee").first).objectID
    context.reset()
    try check(.fault, "SELECT", rows: 1) {
      #expect(context.object(with: id).value(forKey: "age") as? Int == 99)
    }
    try check(.batchUpdate, "UPDATE", rows: 33) {
      let update = NSBatchUpdateRequest(entityName: "Employee")
      update.propertiesToUpdate = ["age": 7]
      try context.execute(update)
    }
    try check(.batchInsert, "COPY", rows: 2) {
      let objects = [["name": "Lovelace"], ["name": "Byron"]]
      try context.execute(NSBatchInsertRequest(entityName: "Employee", objects: objects))
    }
    let opening = try statements { _ = try bench.coordinator() }
    #expect(opening.contains { $0.request == .opening } && !opening.contains { $0.request == .fetch })
  }

  @Test("Values take the place of parameters, outside of names and texts")
  func values() throws {
    let texts = try statements(includingValues: true) {
      let context = try bench.context(bench.coordinator())
      context.make("Employee", ["name": "Love'lace"])
      try context.save()
    }.compactMap(\.sqlWithValues)
    #expect(texts.contains { $0.hasPrefix("INSERT INTO") && $0.contains("'Love''lace'") }, "\(texts)")
    #expect(
      BoundStatementText.text(
        of: #"SELECT "a$1", '$1', $1, $2, $10, $3 FROM t"#, [.null, .integers([1, 2]), .bytes(Data([0, 255]))])
        == #"SELECT "a$1", '$1', NULL, ARRAY[1, 2], $10, '\x00ff' FROM t"#)
    let long = BoundStatementText.text(of: "$1", [.text(String(repeating: "x", count: 5_000))])
    #expect(long.count == 1_003 && long.hasSuffix("…'"))
  }

  @Test("A failure is reported without the values of its row, and so is what follows it in a pipeline")
  func failures() throws {
    _ = try bench.coordinator()
    let connection = try bench.connection()
    try connection.execute("CREATE TABLE t (x text UNIQUE)")
    let found = try statements {
      #expect(throws: PostgreSQLError.self) { try connection.query("SELECT 1 FROM missing") }
      #expect(throws: PostgreSQLError.self) {
        try connection.pipeline { pipeline in
          for value in ["a", "Lovelace", "Lovelace", "b"] {
            try pipeline.send("INSERT INTO t VALUES ($1)", [.text(value)])
          }
        }
      }
      #expect(throws: PostgreSQLError.self) {
        try connection.copyIn("t", columns: ["x"]) { writer in
          for _ in 0..<2 {
            writer.beginRow(fieldCount: 1)
            _ = writer.field(text: "Lovelace")
          }
        }
      }
    }
    #expect(
      found.map(\.failure?.code) == ["SQLSTATE 42P01", nil, nil, "SQLSTATE 23505", "SQLSTATE 23505"], "\(found)")
    #expect(found.map(\.rowCount) == [0, 1, 1, 0, 0])
    #expect(!found.contains { $0.failure?.message.contains("Lovelace") == true })
  }

  @Test("A handler that saves in the same store waits for nothing")
  func savingHandler() throws {
    let context = named("program", try bench.coordinator())
    let schema = try PostgreSQLAddress(bench.url).schema
    let handled = Guarded(0)
    let saving = StatementObservation(location: "schema=\(schema)") { statement in
      guard statement.location.hasSuffix("schema=\(schema)"), statement.sql == "COMMIT" else { return }
      handled.update { $0 += 1 }
      context.performAndWait {
        context.make("Department", ["name": "after"])
        #expect(context.saveCode() == 0)
      }
    }
    for _ in 0..<3 {
      context.performAndWait {
        context.make("Employee", ["name": "x"])
        #expect(context.saveCode() == 0)
      }
    }
    saving.flush()
    saving.end()
    #expect(handled.value == 3)
    #expect(try context.performAndWait { try context.all("Department").count } == 3)
  }

  // MARK: The server's views

  @Test(
    "Connections have the name of the context that reads, and transactions that of the one that saves",
    .disabled(if: TestServer.isPooled, "Behind a pooler, only transactions have names."))
  func applicationName() throws {
    let coordinator = try bench.coordinator()
    let observer = try bench.connection()
    let mark = "c\(UInt32.random(in: 0...UInt32.max))"
    func names() throws -> [String] {
      let rows = try observer.query(
        "SELECT application_name::text FROM pg_stat_activity WHERE application_name LIKE $1 ORDER BY 1",
        [.text("%: \(mark)%")])
      return (0..<rows.count).map { rows.string($0, 0) }
    }
    let context = named("\(mark) one", coordinator)
    _ = try context.all("Employee")
    #expect(try names().map { $0.hasSuffix(": \(mark) one") } == [true])
    _ = try named("\(mark) two", coordinator).all("Employee")
    #expect(try names().map { $0.hasSuffix(": \(mark) two") } == [true])
    _ = try named(nil, coordinator).all("Employee")
    #expect(try names() == [])
    // A trigger sees the name of the transaction.
    try observer.execute(
      "CREATE TABLE seen (name text); CREATE FUNCTION see() RETURNS trigger LANGUAGE plpgsql AS "
        + "'BEGIN INSERT INTO seen VALUES (current_setting(''application_name'')); RETURN NEW; END'; "
        + "CREATE TRIGGER see BEFORE INSERT ON zemployee FOR EACH ROW EXECUTE FUNCTION see()")
    for name in ["\(mark) ö'\\", nil] {
      let context = named(name, coordinator)
      context.make("Employee", ["name": "x"])
      try context.save()
    }
    let seen = try observer.query("SELECT name FROM seen")
    #expect(seen.count == 2 && seen.string(0, 0).hasSuffix(": \(mark) ?'?"), "\(seen.string(0, 0))")
    #expect(!seen.string(1, 0).contains(mark))
    #expect(try names() == [])
  }

  @Test("The name in the URL comes first, and a long one is cut")
  func givenName() throws {
    let url = try #require(URL(string: bench.url.absoluteString + "&application_name=shop"))
    let connection = try PostgreSQLConnection(PostgreSQLAddress(url), applicationName: "tests")
    func name(_ context: String?) throws -> String {
      try StatementTracing.reporting(.fetch, name: context) {
        try connection.showContext()
        return try connection.query("SELECT current_setting('application_name')").string(0, 0)
      }
    }
    #expect(try name(nil) == "shop" && name("reports") == "shop: reports" && name(nil) == "shop")
    #expect(try name(String(repeating: "x", count: 100)).count == 63)
  }

  @Test(
    "A connection takes another name only for another context, and a transaction with its beginning",
    .disabled(if: TestServer.isPooled, "Behind a pooler, only transactions have names."))
  func statementsForNames() throws {
    let connection = try PostgreSQLConnection(PostgreSQLAddress(bench.url), applicationName: "tests")
    func sent(_ name: String?, _ body: () throws -> Void) throws -> [String] {
      try statements { try StatementTracing.reporting(.fetch, name: name, body) }.map(\.sql)
    }
    for round in 0..<2 {
      let first = try sent("one") { try connection.showContext() }
      #expect(first == ["SET application_name = 'tests: one'"])
      #expect(try sent("one") { for _ in 0..<10 { try connection.showContext() } } == [])
      let transaction = try sent("two") {
        try connection.begin("READ ONLY")
        #expect(try connection.query("SHOW application_name").string(0, 0) == "tests: two")
        try connection.rollback()
      }
      #expect(transaction.count == 3 && transaction[0].contains("; SET LOCAL application_name = 'tests: two'"))
      #expect(try connection.query("SHOW application_name").string(0, 0) == "tests: one")
      #expect(try sent(nil) { try connection.showContext() } == ["SET application_name = 'tests'"], "\(round)")
      #expect(try sent(nil) { try connection.transaction {} }.count == 2)
    }
  }

  @Test(
    "A read names its connection only if another context has read before",
    .disabled(if: TestServer.isPooled, "Behind a pooler, only transactions have names."))
  func connectionsOfContexts() throws {
    let coordinator = try bench.coordinator()
    let contexts = (0..<2).map { named("context \($0)", coordinator) }
    _ = try contexts[0].all("Employee")
    let first = try statements { _ = try contexts[0].all("Employee") }
    #expect(!first.contains { $0.sql.contains("application_name") }, "\(first)")
    let second = try statements { _ = try contexts[1].all("Employee") }
    #expect(second.filter { $0.sql.contains("application_name") }.count == 1, "\(second)")
  }
}
