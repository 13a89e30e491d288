// OpenCoreData
// SPDX-License-Identifier: Apache-2.0

import Foundation
import PostgreSQLTestServer
import Testing

@testable import CoreDataPostgreSQLClient

@Suite("Values of statements and rows", .needsPostgreSQL)
struct RowTests {
  private static let uuid = UUID(uuidString: "00112233-4455-6677-8899-AABBCCDDEEFF")!

  /// Values with the types that columns for them have.
  private static let values: [(String, PostgreSQLValue)] = [
    ("int8", .integer(.min)), ("int8", .integer(.max)), ("int8", .integer(0)), ("int4", .integer(Int64(Int32.min))),
    ("int4", .integer(Int64(Int32.max))), ("int2", .integer(-32_768)), ("float8", .real(0.1)), ("float8", .real(-0.0)),
    ("float8", .real(.infinity)), ("float8", .real(-.infinity)), ("float8", .real(.leastNonzeroMagnitude)),
    ("float8", .real(.greatestFiniteMagnitude)), ("float4", .real(Double(Float(0.1)))), ("bool", .boolean(true)),
    ("bool", .boolean(false)), ("text", .text("")), ("text", .text("Ünïcødé 👩‍👩‍👧‍👦 'quoted' \\ \"double\"\n\t")),
    ("text", .text(String(repeating: "x", count: 3_000_000))), ("bytea", .bytes(Data())),
    ("bytea", .bytes(Data((0...255).map { UInt8($0) }))), ("bytea", .bytes(Data(repeating: 7, count: 2_000_000))),
    ("uuid", .uuid(uuid)), ("timestamptz", .timestamp(microseconds: 0)), ("timestamptz", .timestamp(microseconds: -1)),
    ("timestamptz", .timestamp(microseconds: .max)), ("timestamptz", .timestamp(microseconds: .min)),
    ("timestamptz", .timestamp(microseconds: 9_223_371_331_199_999_999)),
    ("timestamptz", .timestamp(microseconds: -211_813_488_000_000_000)), ("numeric", .numeric("-12.3400")),
  ]

  @Test("Values return as they were stored", arguments: [false, true])
  func roundTrip(prepared: Bool) throws {
    let connection = try TestSchema.connection()
    for (type, value) in Self.values {
      try connection.execute("CREATE TABLE t (v \(type))")
      for _ in 0..<(prepared ? 3 : 1) {
        try connection.run("DELETE FROM t")
        #expect(try connection.run("INSERT INTO t VALUES ($1)", [value]) == 1)
        #expect(try connection.value("SELECT v FROM t") == value)
      }
      try connection.execute("DROP TABLE t")
    }
  }

  @Test("Null has every type, and is read as null")
  func null() throws {
    let connection = try TestSchema.connection("CREATE TABLE t (a int8, b text, c uuid, d timestamptz, e numeric)")
    try connection.run("INSERT INTO t VALUES ($1, $2, $3, $4, $5)", Array(repeating: .null, count: 5))
    let rows = try connection.query("SELECT * FROM t")
    for column in 0..<5 {
      #expect(rows.isNull(0, column) && rows.value(0, column) == .null && rows.bytes(0, column).isEmpty)
    }
    #expect((rows.int64(0, 0), rows.double(0, 0)) == (0, 0))
  }

  @Test("One statement takes values and nulls in any order")
  func mixedNulls() throws {
    let connection = try TestSchema.connection("CREATE TABLE t (a int8, b text, c float8)")
    let choices: [[PostgreSQLValue]] = [[.null, .integer(1)], [.null, .text("x")], [.null, .real(0.5)]]
    for round in 0..<3 {
      for number in 0..<8 {
        let values = (0..<3).map { choices[$0][number >> $0 & 1] }
        try connection.run("INSERT INTO t VALUES ($1, $2, $3)", values)
        let rows = try connection.query("SELECT a, b, c FROM t")
        #expect((0..<3).map { rows.value(0, $0) } == values, "round \(round)")
        try connection.run("DELETE FROM t")
      }
    }
    // Not one for each of the eight patterns.
    #expect(
      try connection.value("SELECT count(*) FROM pg_prepared_statements WHERE statement LIKE 'INSERT%'") == .integer(1))
  }

  @Test("A statement may be given values of other types")
  func otherTypes() throws {
    let connection = try TestSchema.connection()
    for _ in 0..<3 {
      #expect(try connection.value("SELECT $1 || ''", [.text("a")]) == .text("a"))
      #expect(try connection.value("SELECT $1", [.integer(7)]) == .integer(7))
      #expect(try connection.value("SELECT $1", [.real(0.5)]) == .real(0.5))
      #expect(try connection.value("SELECT $1", [.boolean(true)]) == .boolean(true))
    }
  }

  @Test("Lists are arrays", arguments: [0, 1, 10_000])
  func arrays(_ count: Int) throws {
    let connection = try TestSchema.connection()
    let numbers = (0..<Int64(count)).map { $0 * 1_000_000_007 }
    let rows = try connection.query(
      "SELECT x FROM unnest($1) WITH ORDINALITY AS u(x, n) ORDER BY n", [.integers(numbers)])
    #expect((0..<rows.count).map { rows.int64($0, 0) } == numbers)
    let texts = (0..<count).map { "té\($0)" } + [""]
    let found = try connection.query("SELECT x FROM unnest($1) WITH ORDINALITY AS u(x, n) ORDER BY n", [.texts(texts)])
    #expect((0..<found.count).map { found.string($0, 0) } == texts)
  }

  @Test("A list of one type for two, not for the other")
  func emptyText() throws {
    let connection = try TestSchema.connection()
    #expect(try connection.value("SELECT 5 = ANY ($1)", [.integers([])]) == .boolean(false))
    #expect(try connection.value("SELECT 'x' = ANY ($1)", [.texts(["y", "x"])]) == .boolean(true))
  }

  @Test("Names, types and counts of a result")
  func description() throws {
    let connection = try TestSchema.connection()
    let rows = try connection.query("SELECT 1::int2 AS small, 2::int8 AS \"Large\", 'x'::text, '7'::oid WHERE false")
    #expect(rows.count == 0 && rows.columnCount == 4)
    #expect((0..<4).map { rows.name(of: $0) } == ["small", "Large", "text", "oid"])
    #expect((0..<4).map { rows.type(of: $0) } == [.int2, .int8, .text, .oid])
  }

  @Test("Rows outlive their connection")
  func outliving() throws {
    let connection = try TestSchema.connection()
    let rows = try connection.query("SELECT 'text'::text, $1::uuid", [.uuid(Self.uuid)])
    connection.close()
    #expect(rows.string(0, 0) == "text" && rows.uuid(0, 1) == Self.uuid && rows.data(0, 0) == Data("text".utf8))
  }

  @Test("Rows affected")
  func affected() throws {
    let connection = try TestSchema.connection("CREATE TABLE t (a int8)")
    #expect(try connection.run("INSERT INTO t SELECT generate_series(1, 10)") == 10)
    #expect(try connection.run("UPDATE t SET a = a WHERE a > $1", [.integer(7)]) == 3)
    #expect(try connection.run("DELETE FROM t WHERE a = $1", [.integer(99)]) == 0)
    #expect(try connection.run("CREATE TABLE u ()") == 0)
  }

  @Test("A text with U+0000 is an error of the statement")
  func zero() throws {
    let connection = try TestSchema.connection("CREATE TABLE t (a text)")
    let error = try postgreSQLError { try connection.run("INSERT INTO t VALUES ($1)", [.text("a\0b")]) }
    #expect(error.sqlState == "22021")
    #expect(try connection.count("t") == .integer(0))
  }

  @Test("More parameters than the protocol has are an error")
  func tooMany() throws {
    let connection = try TestSchema.connection()
    let values = Array(repeating: PostgreSQLValue.integer(1), count: 65_536)
    let sql = "SELECT " + values.indices.map { "$\($0 + 1)" }.joined(separator: "+")
    let error = try postgreSQLError { _ = try connection.query(sql, values) }
    #expect(!error.isConnectionLost && error.description.count < 1_000)
    #expect(try connection.value("SELECT 1") == .integer(1))
  }
}
