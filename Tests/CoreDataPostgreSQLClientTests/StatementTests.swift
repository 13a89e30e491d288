// OpenCoreData
// SPDX-License-Identifier: Apache-2.0

import CoreDataTestSupport
import Foundation
import PostgreSQLTestServer
import Synchronization
import Testing

@testable import CoreDataPostgreSQLClient

@Suite("Statements, pipelines and COPY", .needsPostgreSQL)
struct StatementTests {
  private struct Stop: Error {}

  private func preparedCount(_ connection: PostgreSQLConnection) throws -> Int64 {
    try connection.query("SELECT count(*) FROM pg_prepared_statements").int64(0, 0)
  }

  @Test("No more statements are kept than the limit; those used last are")
  func limit() throws {
    let connection = try TestSchema().connect(statementLimit: 20)
    for _ in 0..<2 { #expect(try connection.value("SELECT 'often'") == "often") }
    for number in 0..<200 {
      for _ in 0..<2 { #expect(try connection.value("SELECT \(number)::int8") == .integer(Int64(number))) }
      #expect(try connection.value("SELECT 'often'") == "often")
    }
    _ = try connection.query("SELECT 1")
    #expect(try preparedCount(connection) <= 21)
    #expect(
      try connection.value("SELECT count(*) FROM pg_prepared_statements WHERE statement = 'SELECT ''often'''") == 1)
    #expect(connection.prepared.count <= 20)
  }

  @Test("Statements that others have deallocated are prepared again, outside of transactions at once")
  func deallocated() throws {
    let connection = try TestSchema.connection()
    for _ in 0..<3 { #expect(try connection.value("SELECT $1 + 1", [1]) == 2) }
    try connection.execute("DEALLOCATE ALL")
    #expect(try connection.value("SELECT $1 + 1", [2]) == 3)
    try connection.pipeline { try $0.send("SELECT $1 + 2", [1]) }
    try connection.execute("DISCARD ALL")
    #expect(try postgreSQLError { try connection.pipeline { try $0.send("SELECT $1 + 2", [1]) } }.isOutdatedPlan)
    try connection.pipeline { try $0.send("SELECT $1 + 2", [1]) { #expect($0.int64(0, 0) == 3) } }
  }

  @Test("A changed table ends a transaction once; repeated, the transaction succeeds")
  func changedTables() throws {
    let schema = try TestSchema()
    let (connection, other) = (try schema.connect(), try schema.connect())
    try connection.execute(
      "CREATE TABLE t (a int8); CREATE TABLE u (a int8); INSERT INTO t VALUES (1); INSERT INTO u VALUES (1)")
    for _ in 0..<3 {
      for table in ["t", "u"] { #expect(try connection.query("SELECT * FROM \(table)").columnCount == 1) }
    }
    try other.execute("ALTER TABLE t ALTER a TYPE text; ALTER TABLE u ADD COLUMN b int8")
    let error = try postgreSQLError { try connection.transaction { _ = try connection.query("SELECT * FROM t") } }
    #expect(error.isOutdatedPlan && connection.transactionStatus == .none)
    let (value, columns) = try connection.transaction {
      (try connection.value("SELECT * FROM t"), try connection.query("SELECT * FROM u").columnCount)
    }
    #expect(value == "1" && columns == 2)
  }

  @Test("Errors name what they are about")
  func errors() throws {
    let connection = try TestSchema.connection("CREATE TABLE t (n int4 NOT NULL CHECK (n < 10), parent int8)")
    let missing = try postgreSQLError { _ = try connection.query("SELECT * FROM nowhere") }
    #expect(missing.isUndefinedTable && missing.statement == "SELECT * FROM nowhere" && !missing.isConnectionLost)
    #expect(try postgreSQLError { _ = try connection.query("SELECT x FROM t") }.isUndefinedColumn)
    let null = try postgreSQLError { try connection.run("INSERT INTO t VALUES ($1)", [.null]) }
    #expect(null.sqlState == "23502" && null.table == "t" && null.column == "n")
    #expect(
      try postgreSQLError { try connection.run("INSERT INTO t VALUES ($1)", [.integer(1 << 40)]) }.sqlState == "22003")
    try connection.execute("SET lock_timeout = '50ms'; SET statement_timeout = '5s'")
    let schema = try connection.query("SELECT current_schema()::text").string(0, 0)
    let other = try TestSchema.connect(TestServer.shared.url("schema=\(schema)"))
    try other.begin()
    try other.execute("LOCK TABLE t")
    #expect(try postgreSQLError { _ = try connection.query("SELECT * FROM t") }.isLockTimeout)
    try other.rollback()
    try connection.begin("READ ONLY")
    #expect(try postgreSQLError { try connection.run("INSERT INTO t VALUES (1)") }.isReadOnly)
    try connection.rollback()
    try connection.execute("SET statement_timeout = '50ms'")
    #expect(try postgreSQLError { _ = try connection.query("SELECT pg_sleep(10)") }.isCancelled)
    let long = try postgreSQLError {
      _ = try connection.query("SELECT x /* \(String(repeating: "y", count: 5_000)) */")
    }
    #expect(long.description.utf8.count < 1_000)
  }

  @Test("Serialization failures and deadlocks are told apart")
  func concurrency() throws {
    let schema = try TestSchema()
    let (one, two) = (try schema.connect(), try schema.connect())
    try one.execute("CREATE TABLE t (n int8 PRIMARY KEY, v int8); INSERT INTO t VALUES (1, 0), (2, 0)")
    for connection in [one, two] {
      try connection.begin("ISOLATION LEVEL REPEATABLE READ")
      _ = try connection.query("SELECT * FROM t")
    }
    try one.run("UPDATE t SET v = 1 WHERE n = 1")
    try one.commit()
    #expect(try postgreSQLError { try two.run("UPDATE t SET v = 2 WHERE n = 1") }.isSerializationFailure)
    try two.rollback()
    for connection in [one, two] { try connection.begin() }
    try one.run("UPDATE t SET v = 3 WHERE n = 1")
    try two.run("UPDATE t SET v = 3 WHERE n = 2")
    let failures = Mutex<[PostgreSQLError]>([])
    inThreads(2) { number in
      let connection = number == 0 ? one : two
      do {
        try connection.run("UPDATE t SET v = 4 WHERE n = $1", [.integer(number == 0 ? 2 : 1)])
      } catch let error as PostgreSQLError {
        failures.withLock { $0.append(error) }
        // The other one waits for the end of this transaction.
        do { try connection.rollback() } catch { Issue.record(error) }
      } catch {
        Issue.record(error)
      }
    }
    #expect(failures.withLock { $0.count == 1 && $0[0].isDeadlock })
  }

  @Test("Parts of a transaction are rolled back alone, also after an error of the server")
  func savepoints() throws {
    let connection = try TestSchema.connection("CREATE TABLE t (n int8 PRIMARY KEY)")
    // Swift 6.3.1 confuses a closure in `#expect(throws:)` with one beside it, if both are in a closure.
    func failingPart() throws -> PostgreSQLError {
      try postgreSQLError {
        try connection.transaction {
          try connection.transaction { _ = try connection.run("INSERT INTO t VALUES (2)") }
          _ = try connection.run("INSERT INTO t VALUES (1)")
        }
      }
    }
    try connection.transaction {
      try connection.run("INSERT INTO t VALUES (1)")
      for round in 0..<3 {
        let error = try failingPart()
        #expect(error.isUniqueViolation && connection.transactionStatus == .open, "round \(round)")
      }
      try connection.transaction { _ = try connection.run("INSERT INTO t VALUES (3)") }
    }
    #expect(try connection.query("SELECT string_agg(n::text, ' ' ORDER BY n) FROM t").string(0, 0) == "1 3")
  }

  @Test("A pipeline with large parameters and large results does not block")
  func largePipeline() throws {
    let connection = try TestSchema.connection()
    let text = PostgreSQLValue.text(String(repeating: "x", count: 100_000))
    var total = 0
    try connection.pipeline { pipeline in
      for _ in 0..<400 { try pipeline.send("SELECT $1 || ''", [text]) { total += $0.bytes(0, 0).count } }
    }
    #expect(total == 40_000_000)
  }

  @Test("Results come in order, and nothing follows an error", arguments: [0, 1, 999, 1_000, 2_500])
  func pipelineError(_ position: Int) throws {
    let connection = try TestSchema.connection("CREATE TABLE t (n int8 PRIMARY KEY)")
    var seen: [Int64] = []
    let error = try postgreSQLError {
      try connection.transaction {
        try connection.pipeline { pipeline in
          for number in 0..<3_000 {
            let value = number == position ? PostgreSQLValue.text("x") : .integer(Int64(number))
            try pipeline.send(
              number == position ? "INSERT INTO nowhere VALUES ($1)" : "INSERT INTO t VALUES ($1) RETURNING n", [value]
            ) { seen.append($0.int64(0, 0)) }
          }
        }
      }
    }
    #expect(error.isUndefinedTable && error.statement?.contains("nowhere") == true)
    #expect(seen == Array(0..<Int64(position)))
    #expect(connection.transactionStatus == .none)
    #expect(try connection.count("t") == .integer(0))
    // The statement that could not be prepared is not taken for a prepared one.
    #expect(try postgreSQLError { try connection.run("INSERT INTO nowhere VALUES ($1)", ["x"]) }.isUndefinedTable)
    try connection.pipeline {
      try $0.send("INSERT INTO t VALUES ($1) RETURNING n", [5]) { #expect($0.int64(0, 0) == 5) }
    }
  }

  @Test("An error of a check ends the pipeline")
  func check() throws {
    let connection = try TestSchema.connection()
    var checks = 0
    #expect(throws: Stop.self) {
      try connection.pipeline { pipeline in
        for _ in 0..<10 {
          try pipeline.send("SELECT 1") { _ in
            checks += 1
            if checks == 3 { throw Stop() }
          }
        }
      }
    }
    #expect(checks == 3)
    #expect(try connection.value("SELECT 1::int8") == 1)
  }

  @Test("Rows are read one by one; an error of a row, or of the body, ends the statement and not the connection")
  func oneByOne() throws {
    let connection = try TestSchema.connection()
    let series = "SELECT g, 1000 / (500 - g) FROM generate_series(1, $1) g"
    // From the second time on the statement is prepared.
    for _ in 0..<3 {
      var found: [Int64] = []
      try connection.forEachRow(series, [499]) { row in
        #expect(row.count == 1 && row.columnCount == 2)
        found.append(row.int64(0, 0))
      }
      #expect(found == Array(1...499))
      try connection.forEachRow(series, [0]) { _ in Issue.record("there is no row") }
      var count = 0
      #expect(
        try postgreSQLError { try connection.forEachRow(series, [1_000]) { _ in count += 1 } }.sqlState == "22012")
      #expect(count == 499 && connection.transactionStatus == .none)
      #expect(throws: Stop.self) { try connection.forEachRow(series, [499]) { _ in throw Stop() } }
      #expect(try connection.value("SELECT 1") == 1)
    }
    connection.close()
    #expect(try postgreSQLError { try connection.forEachRow(series, [1]) { _ in } }.isConnectionLost)
  }

  @Test("COPY writes every type, and values larger than its buffer")
  func copy() throws {
    let connection = try TestSchema.connection(
      "CREATE TABLE t (a int8, b int4, c float8, d float4, e bool, f timestamptz, g bytea, h text, i uuid, j numeric)")
    let uuid = UUID()
    let data = Data((0..<1_000_000).map { UInt8(truncatingIfNeeded: $0) })
    let count = try connection.copyIn("t", columns: ["a", "b", "c", "d", "e", "f", "g", "h", "i", "j"]) { writer in
      writer.beginRow(fieldCount: 10)
      writer.field(int64: .min)
      writer.field(int32: .max)
      writer.field(double: 0.1)
      writer.field(float: 0.1)
      writer.field(bool: true)
      writer.field(timestampMicroseconds: -5)
      data.withUnsafeBytes { writer.field(bytes: $0) }
      #expect(writer.field(text: "Ünï"))
      writer.field(uuid: uuid)
      writer.field(decimal: Decimal(string: "-12345.6789")!)
      writer.beginRow(fieldCount: 10)
      for _ in 0..<10 { writer.null() }
    }
    #expect(count == 2)
    let rows = try connection.query("SELECT * FROM t ORDER BY a")
    let expected: [PostgreSQLValue] = [
      .integer(.min), .integer(Int64(Int32.max)), 0.1, .real(Double(Float(0.1))), true, .timestamp(microseconds: -5),
      .bytes(data), "Ünï", .uuid(uuid), .numeric("-12345.6789"),
    ]
    #expect((0..<10).map { rows.value(0, $0) } == expected)
    #expect((0..<10).allSatisfy { rows.isNull(1, $0) })
  }

  @Test("COPY of a million rows")
  func manyRows() throws {
    let connection = try TestSchema.connection("CREATE TABLE t (n int8, s text)")
    let count = try connection.copyIn("t", columns: ["n", "s"]) { writer in
      for number in 0..<1_000_000 as Range<Int64> {
        writer.beginRow(fieldCount: 2)
        writer.field(int64: number)
        #expect(writer.field(text: "row"))
      }
    }
    #expect(count == 1_000_000)
    let rows = try connection.query("SELECT count(*), sum(n)::int8, count(DISTINCT s) FROM t")
    #expect((0..<3).map { rows.int64(0, $0) } == [1_000_000, 499_999_500_000, 1])
  }

  @Test("A row with too few fields is an error, and inserts nothing")
  func wrongRow() throws {
    let connection = try TestSchema.connection("CREATE TABLE t (n int8, m int8)")
    let error = try postgreSQLError {
      try connection.copyIn("t", columns: ["n", "m"]) { writer in
        writer.beginRow(fieldCount: 1)
        writer.field(int64: 1)
      }
    }
    #expect(error.sqlState == "22P04")
    #expect(try connection.count("t") == .integer(0))
    #expect(try postgreSQLError { try connection.copyIn("nowhere", columns: ["n"]) { _ in } }.isUndefinedTable)
  }

  @Test("Waiting for notifications ends at once when another thread wakes the connection")
  func wake() throws {
    let connection = try TestSchema.connection()
    try connection.listen("news")
    let start = Date()
    let thread = Thread {
      Thread.sleep(forTimeInterval: 0.1)
      do { try connection.wake() } catch { Issue.record(error) }
    }
    thread.start()
    #expect(try connection.notifications(waitingUpTo: 60).isEmpty)
    #expect(Date().timeIntervalSince(start) < 30)
    // Woken before it waits.
    try connection.wake()
    #expect(try connection.notifications(waitingUpTo: 60).isEmpty)
    // One that came with the result of another statement is not waited for.
    try connection.execute("NOTIFY news, 'own'")
    let found = try connection.notifications(waitingUpTo: 60)
    #expect(found.count == 1)
    #expect(Date().timeIntervalSince(start) < 30)
  }

  @Test("What a connection sets: schema, time zone, name of the program")
  func settings() throws {
    let name = "Größe \"x\""
    let url = try #require(
      URL(string: "\(TestServer.shared.url())&schema=Gr%C3%B6%C3%9Fe%20%22x%22"))
    let connection = try TestSchema.connect(url)
    try connection.execute("CREATE SCHEMA IF NOT EXISTS \(PostgreSQLConnection.quoted(name)); CREATE TABLE t (n int8)")
    #expect(try connection.value("SELECT current_schema()::text") == .text(name))
    #expect(try connection.value("SHOW timezone") == "UTC")
    #expect(try connection.value("SHOW application_name") == "tests")
    #expect(connection.processID > 0 && connection.transactionStatus == .none)
    try connection.execute("DROP SCHEMA \(PostgreSQLConnection.quoted(name)) CASCADE")
    connection.close()
    #expect(connection.isLost && connection.transactionStatus == .unknown)
    #expect(try postgreSQLError { _ = try connection.query("SELECT 1") }.isConnectionLost)
  }
}
