// OpenCoreData
// SPDX-License-Identifier: Apache-2.0

import CoreDataSQLite
import Foundation
import Testing

@Suite("Statements")
struct StatementTests {
  let connection: SQLiteConnection

  init() throws {
    connection = try SQLiteConnection.inMemory()
  }

  static let values: [SQLiteValue] = [
    .null, .integer(0), .integer(.max), .integer(.min), .real(0.1), .real(-1e300), .text(""), .text("Größe 日本 🎉"),
    .text("a\0b"), .blob(Data()), .blob(Data([0, 255, 1])),
  ]

  @Test("Every kind of value comes back as it was bound", arguments: values)
  func roundTrip(value: SQLiteValue) throws {
    #expect(try connection.scalar("SELECT ?1", [value]) == value)
    let kind = try #require(try connection.scalar("SELECT typeof(?1)", [value])?.text)
    let statement = try connection.prepare("SELECT ?1")
    try statement.bind(value, at: 1)
    #expect(try statement.step())
    #expect("\(statement.type(at: 0))" == kind)
    #expect(statement.isNull(at: 0) == value.isNull)
  }

  @Test("Every kind of value can be written as a literal", arguments: values.filter { $0 != .text("a\0b") })
  func literal(value: SQLiteValue) throws {
    #expect(try connection.scalar("SELECT \(value.literal)") == value)
  }

  @Test("Numbers without a literal are written as SQLite stores them")
  func oddNumbers() throws {
    #expect(try connection.scalar("SELECT \(SQLiteValue.real(.infinity).literal)") == .real(.infinity))
    #expect(try connection.scalar("SELECT \(SQLiteValue.real(-.infinity).literal)") == .real(-.infinity))
    #expect(SQLiteValue.real(.nan).literal == "NULL")
    #expect(try connection.scalar("SELECT ?1", [.real(.nan)]) == .null)
    #expect(SQLiteValue.text("O'Hara").literal == "'O''Hara'")
    #expect(SQLiteValue.blob(Data([1, 171])).literal == "X'01ab'")
  }

  @Test("Columns are read without boxing, by SQLite's conversions")
  func columns() throws {
    let statement = try connection.prepare("SELECT 7 AS a, 2.5 AS b, '12x' AS c, X'4142' AS d, NULL AS e")
    #expect(statement.columnCount == 5)
    #expect(statement.columnNames == ["a", "b", "c", "d", "e"])
    #expect(try statement.step())
    #expect(statement.int64(at: 0) == 7)
    #expect(statement.double(at: 0) == 7)
    #expect(statement.double(at: 1) == 2.5)
    #expect(statement.int64(at: 1) == 2)
    #expect(statement.text(at: 2) == "12x")
    #expect(statement.int64(at: 2) == 12)
    #expect(statement.blob(at: 3) == Data([0x41, 0x42]))
    #expect(statement.withBlob(at: 3) { $0.count } == 2)
    #expect(statement.text(at: 4) == nil)
    #expect(statement.blob(at: 4) == nil)
    #expect(statement.int64(at: 4) == 0)
    #expect(statement.withBlob(at: 4) { $0.isEmpty })
    #expect(statement.isNull(at: 99))
    #expect(try !statement.step())
  }

  @Test("Parameters are bound and cleared")
  func parameters() throws {
    let statement = try connection.prepare("SELECT :first || :second")
    try statement.bind("a", at: 1)
    try statement.bind("b", at: 2)
    #expect(try statement.scalar() == "ab")
    statement.clearBindings()
    #expect(try statement.scalar() == .null)
  }

  @Test("Binding to a parameter that is not there throws", arguments: [0, 2, Int.max])
  func bindingOutOfRange(index: Int) throws {
    let statement = try connection.prepare("SELECT ?1")
    let error = sqliteError { try statement.bind(1 as Int64, at: index) }
    #expect(error?.code == 25)
    #expect(error?.sql == "SELECT ?1")
  }

  @Test("Rows know their columns by position and by name")
  func rows() throws {
    try connection.execute("CREATE TABLE T (a, b); INSERT INTO T VALUES (1, 'x'), (2, 'y')")
    let rows = try connection.rows("SELECT a, b FROM T WHERE a >= ?1 ORDER BY a", [1])
    #expect(rows.count == 2)
    #expect(rows[0].columns == ["a", "b"])
    #expect(rows[1][0] == 2)
    #expect(rows[1]["b"] == "y")
    #expect(rows[1]["c"] == nil)
    #expect(try connection.rows("SELECT a FROM T WHERE a > 9").isEmpty)
    #expect(try connection.scalar("SELECT a FROM T WHERE a > 9") == nil)

    var seen: [Int64] = []
    try connection.prepare("SELECT a FROM T ORDER BY a DESC").forEachRow { seen.append($0.int64(at: 0)) }
    #expect(seen == [2, 1])
  }

  @Test("Changes are those of the last statement")
  func changes() throws {
    try connection.execute("CREATE TABLE T (id INTEGER PRIMARY KEY, a)")
    try connection.run("INSERT INTO T VALUES (41, 'x'), (42, 'y')")
    #expect(connection.changes == 2)
    try connection.run("DELETE FROM T WHERE id = 41")
    #expect(connection.changes == 1)
    #expect(connection.totalChanges == 3)
  }

  @Test("SQL that cannot be compiled is an error with its text")
  func syntaxError() throws {
    let error = sqliteError { _ = try connection.prepare("SELEKT 1") }
    #expect(error?.code == 1)
    #expect(error?.message == "near \"SELEKT\": syntax error")
    #expect(
      error?.description
        == "A statement failed on the database in memory. "
        + "(SQLite 1: near \"SELEKT\": syntax error; statement: SELEKT 1)")
  }

  @Test(
    "Prepare takes exactly one statement", arguments: ["", "  -- nothing", "SELECT 1; SELECT 2", "SELECT 1; nonsense"])
  func exactlyOne(sql: String) throws {
    #expect(sqliteError { _ = try connection.prepare(sql) }?.code == 21)
  }

  @Test("A semicolon, blanks and comments after the statement do no harm")
  func harmlessTail() throws {
    #expect(try connection.scalar("SELECT 1 ; -- one\n /* really */ ") == 1)
  }

  @Test("A script runs to its end; a failure names its own statement")
  func script() throws {
    try connection.execute(" CREATE TABLE T (a); -- first\n INSERT INTO T VALUES (1);; SELECT * FROM T;\n\n")
    let error = sqliteError {
      try connection.execute("INSERT INTO T VALUES (2);\n  INSERT INTO U VALUES (3); INSERT INTO T VALUES (4)")
    }
    #expect(error?.message == "no such table: U")
    #expect(error?.sql?.hasPrefix("INSERT INTO U") == true)
    #expect(try connection.rows("SELECT a FROM T ORDER BY a").map { $0[0] } == [1, 2])
    let failing = sqliteError { try connection.execute("SELECT 1; SELECT abs(-9223372036854775808); SELECT 2") }
    #expect(failing?.sql == "SELECT abs(-9223372036854775808);")
  }

  @Test("Cached statements are lent again, reset and without bindings")
  func cache() throws {
    let sql = "SELECT ?1"
    var first: ObjectIdentifier?
    try connection.cached(sql) { statement in
      first = ObjectIdentifier(statement)
      try statement.bind("left over", at: 1)
      #expect(try statement.step())
    }
    #expect(connection.idleStatementCount == 1)
    try connection.cached(sql) { statement in
      #expect(ObjectIdentifier(statement) == first)
      #expect(connection.idleStatementCount == 0)
      #expect(try statement.step())
      #expect(statement.isNull(at: 0))
      try connection.cached(sql) { #expect($0 !== statement) }
    }
    #expect(connection.idleStatementCount == 1)
  }

  @Test("The cache keeps the statements that were used last")
  func cacheLimit() throws {
    connection.statementCacheLimit = 2
    for number in [1, 2, 1, 3] { _ = try connection.scalar("SELECT \(number)") }
    #expect(connection.idleStatementCount == 2)
    var texts: [String] = []
    for number in [1, 3] {
      try connection.cached("SELECT \(number)") { texts.append($0.sql) }
      #expect(connection.idleStatementCount == 2)
    }
    #expect(texts == ["SELECT 1", "SELECT 3"])
  }

  @Test("A cached statement comes back to the cache when its body throws")
  func cacheAfterFailure() throws {
    try connection.execute("CREATE TABLE T (a UNIQUE); INSERT INTO T VALUES (1)")
    for _ in 1...2 {
      #expect(sqliteError { try connection.run("INSERT INTO T VALUES (1)") }?.isUniqueConstraint == true)
    }
    #expect(connection.idleStatementCount == 1)
  }

  @Test("A statement follows a change of the schema")
  func schemaChange() throws {
    try connection.execute("CREATE TABLE T (a); INSERT INTO T VALUES (1)")
    #expect(try connection.rows("SELECT * FROM T")[0].columns == ["a"])
    try connection.execute("ALTER TABLE T ADD COLUMN b DEFAULT 5")
    #expect(try connection.rows("SELECT * FROM T")[0].columns == ["a", "b"])
  }

  @Test("A finalized statement throws")
  func finalized() throws {
    let statement = try connection.prepare("SELECT 1")
    statement.finalize()
    statement.finalize()
    #expect(sqliteError { _ = try statement.step() }?.message == "the statement was finalized")
  }

  @Test("Values tell their kind")
  func accessors() {
    #expect(SQLiteValue.integer(3).integer == 3)
    #expect(SQLiteValue.integer(3).real == 3)
    #expect(SQLiteValue.real(3.5).real == 3.5)
    #expect(SQLiteValue.real(3.5).integer == nil)
    #expect(SQLiteValue.text("x").text == "x")
    #expect(SQLiteValue.text("x").blob == nil)
    #expect(SQLiteValue.blob(Data([1])).blob == Data([1]))
    #expect(SQLiteValue.null.text == nil)
    #expect(SQLiteValue.null.isNull)
  }
}
