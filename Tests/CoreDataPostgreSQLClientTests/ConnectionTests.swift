// OpenCoreData
// SPDX-License-Identifier: Apache-2.0

import Foundation
import PostgreSQLTestServer
import Synchronization
import Testing

@testable import CoreDataPostgreSQLClient

@Suite("Connections to PostgreSQL", .needsPostgreSQL)
struct ConnectionTests {
  private let connection: PostgreSQLConnection

  init() throws { connection = try Self.connect() }

  private static func connect() throws -> PostgreSQLConnection {
    try PostgreSQLConnection(PostgreSQLAddress(TestServer.shared.url()), applicationName: "tests")
  }

  @Test("Values of every type come back as they were sent, the extreme ones too")
  func values() throws {
    let id = UUID()
    let values: [(PostgreSQLValue, String)] = [
      (.integer(.min), "int8"), (.integer(.max), "int8"), (.real(.leastNonzeroMagnitude), "float8"),
      (.real(-.infinity), "float8"),
      (.boolean(true), "bool"), (.text("a\u{301} 👩‍👧 '\"\\"), "text"), (.text(""), "text"), (.bytes(Data()), "bytea"),
      (.bytes(Data([0, 255, 0])), "bytea"), (.uuid(id), "uuid"), (.timestamp(microseconds: -1), "timestamptz"),
      (.timestamp(microseconds: .max), "timestamptz"), (.timestamp(microseconds: .min), "timestamptz"),
      (.numeric("-12345678901234567890.123456789"), "numeric"), (.numeric("0.0001"), "numeric"),
      (.numeric("NaN"), "numeric"), (.numeric("10000"), "numeric"),
    ]
    for (value, type) in values {
      let rows = try connection.query("SELECT $1::\(type)", [value])
      #expect(rows.value(0, 0) == value, "\(type)")
    }
    #expect(try connection.query("SELECT NULL::text").value(0, 0) == .null)
    let sum = try connection.query("SELECT sum(n) FROM unnest($1) n", [.integers([1, 2, 3])])
    #expect(sum.numericText(0, 0) == "6")
    #expect(try connection.query("SELECT count(*) FROM unnest($1) n", [.integers([])]).int64(0, 0) == 0)
    let table = try TestSchema.connection("CREATE TABLE d (n numeric)")
    for digits in ["0", "1", "-1", "0.1", "99999999999999999999999999999999999999", "1e127", "1.5e-100", "12345.6789"] {
      let decimal = try #require(Decimal(string: digits))
      try table.execute("TRUNCATE d")
      _ = try table.copyIn("d", columns: ["n"]) { writer in
        writer.beginRow(fieldCount: 1)
        writer.field(decimal: decimal)
      }
      let text = try table.query("SELECT n FROM d").numericText(0, 0)
      #expect(Decimal(string: text) == decimal, "\(digits)")
    }
  }

  @Test(
    "A warning of the server during connecting is not written to the standard error",
    arguments: ["", "connect_timeout=5"])
  func warning(parameters: String) async throws {
    let name = "warning\(parameters.count)"
    // The server warns whoever connects to a database whose collations are of another version.
    let isMade = Result {
      try connection.execute("CREATE DATABASE \(name) TEMPLATE template0 LOCALE_PROVIDER icu ICU_LOCALE 'en-US'")
    }
    guard case .success = isMade else {
      return print("The server has no ICU, so that it cannot warn during connecting.")
    }
    try connection.execute("UPDATE pg_database SET datcollversion = '0' WHERE datname = '\(name)'")
    let url = TestServer.shared.url(database: name, parameters).absoluteString
    let result = try await #require(processExitsWith: .success, observing: [\.standardErrorContent]) {
      [url = url as String] in
      let address = try PostgreSQLAddress(try #require(URL(string: url)))
      let connection = try PostgreSQLConnection(address, applicationName: "tests")
      #expect(try connection.query("SELECT current_database()::text").string(0, 0).hasPrefix("warning"))
    }
    #expect(String(decoding: result.standardErrorContent, as: UTF8.self) == "")
  }

  @Test("An error in a pipeline ends what follows, and the connection goes on")
  func pipeline() throws {
    try connection.execute("CREATE TEMP TABLE t (n bigint PRIMARY KEY)")
    let counts = Mutex(0)
    try connection.pipeline { pipeline in
      for number in 0..<100_000 {
        try pipeline.send("INSERT INTO t VALUES ($1)", [.integer(Int64(number))]) { rows in
          counts.withLock { $0 += rows.affected }
        }
      }
    }
    #expect(counts.withLock { $0 } == 100_000)
    let error = try #require(throws: PostgreSQLError.self) {
      try connection.transaction {
        try connection.pipeline { pipeline in
          for number in [100_001, 5, 100_002] {
            try pipeline.send("INSERT INTO t VALUES ($1)", [.integer(Int64(number))]) { _ in }
          }
        }
      }
    }
    #expect(error.isUniqueViolation && error.table == "t" && error.constraint == "t_pkey")
    #expect(try connection.query("SELECT count(*) FROM t").int64(0, 0) == 100_000)
    struct Stop: Error {}
    #expect(throws: Stop.self) {
      try connection.pipeline { pipeline in
        try pipeline.send("SELECT 1") { _ in }
        throw Stop()
      }
    }
    #expect(try connection.query("SELECT 2").int64(0, 0) == 2)
  }

  @Test("A COPY whose body throws, or whose rows are refused, inserts nothing")
  func copy() throws {
    struct Stop: Error {}
    let connection = try TestSchema.connection("CREATE TABLE c (n bigint PRIMARY KEY, t text)")
    #expect(throws: Stop.self) {
      _ = try connection.copyIn("c", columns: ["n", "t"]) { writer in
        for number in 0..<100_000 as Range<Int64> {
          writer.beginRow(fieldCount: 2)
          writer.field(int64: number)
          #expect(writer.field(text: "text"))
        }
        throw Stop()
      }
    }
    let error = try #require(throws: PostgreSQLError.self) {
      _ = try connection.copyIn("c", columns: ["n"]) { writer in
        for _ in 0..<2 {
          writer.beginRow(fieldCount: 1)
          writer.field(int64: 1)
        }
      }
    }
    #expect(error.isUniqueViolation)
    let count = try connection.copyIn("c", columns: ["n", "t"]) { writer in
      writer.beginRow(fieldCount: 2)
      writer.field(int64: 7)
      #expect(!writer.field(text: "a\0b"))
      writer.null()
    }
    #expect(count == 1)
    #expect(try connection.query("SELECT n FROM c").int64(0, 0) == 7)
  }

  @Test("Tables may change between two uses of a statement; transactions nest")
  func changes() throws {
    try connection.execute("CREATE TEMP TABLE v (a bigint)")
    #expect(try connection.query("SELECT * FROM v").columnCount == 1)
    try connection.execute("ALTER TABLE v ADD COLUMN b text")
    #expect(try connection.query("SELECT * FROM v").columnCount == 2)
    for number in 0..<1_200 { _ = try connection.query("SELECT \(number)") }
    struct Stop: Error {}
    try connection.transaction {
      try connection.run("INSERT INTO v (a) VALUES (1)")
      #expect(throws: Stop.self) {
        try connection.transaction {
          try connection.run("INSERT INTO v (a) VALUES (2)")
          throw Stop()
        }
      }
    }
    #expect(try connection.query("SELECT array_agg(a)::text FROM v").string(0, 0) == "{1}")
  }

  @Test("A statement is cancelled from another thread")
  func cancel() throws {
    let connection = connection
    let thread = Thread {
      Thread.sleep(forTimeInterval: 0.2)
      _ = connection.cancel()
    }
    thread.start()
    let error = try #require(throws: PostgreSQLError.self) { _ = try connection.query("SELECT pg_sleep(30)") }
    #expect(error.isCancelled)
    #expect(try connection.query("SELECT 1").int64(0, 0) == 1)
  }

  @Test("Notifications arrive; a lost connection says so")
  func notifications() throws {
    let other = try Self.connect()
    try connection.listen("news \"1\"")
    #expect(try connection.notifications(waitingUpTo: 0.01).isEmpty)
    _ = try other.query("SELECT pg_notify($1, 'x')", [.text("news \"1\"")])
    #expect(try connection.notifications(waitingUpTo: 10).count == 1)
    _ = try other.query("SELECT pg_terminate_backend($1::int)", [.integer(Int64(connection.processID))])
    let error = try #require(throws: PostgreSQLError.self) {
      for _ in 0..<100 { _ = try connection.query("SELECT pg_sleep(0.01)") }
    }
    #expect(error.isConnectionLost && connection.isLost)
  }
}
