// OpenCoreData
// SPDX-License-Identifier: Apache-2.0

import CoreDataSQLite
import CoreDataTestSupport
import Foundation
import Testing

@Suite("Schemas that are not trusted")
struct DistrustTests {
  let connection: SQLiteConnection

  init() throws {
    connection = try SQLiteConnection.inMemory()
    try connection.execute("CREATE TABLE T (a INTEGER PRIMARY KEY, b); INSERT INTO T (b) VALUES (1), (2), (3)")
  }

  @Test("No trigger runs", arguments: ["INSERT", "UPDATE", "DELETE"])
  func triggers(event: String) throws {
    try connection.execute("CREATE TABLE Log (a); CREATE TRIGGER R AFTER \(event) ON T BEGIN DELETE FROM T; END")
    try connection.execute("INSERT INTO T VALUES (9, 9); UPDATE T SET b = 5; DELETE FROM T WHERE a = 9")
    #expect(try connection.rowCount(of: "T") == 3)
  }

  @Test("No view can be read")
  func views() throws {
    try connection.execute("CREATE VIEW V AS SELECT a FROM T")
    #expect(sqliteError { _ = try connection.rowCount(of: "V") }?.message.contains("prohibited") == true)
  }

  @Test("No CHECK constraint is computed, neither for what is written nor by a check of the file")
  func constraints() throws {
    try connection.execute("CREATE TABLE C (a CHECK (length(hex(randomblob(400000000))) < a))")
    try connection.run("INSERT INTO C VALUES (1), (2)")
    #expect(try connection.integrityCheck(quick: true) == [])
    #expect(try connection.rowCount(of: "C") == 2)
  }

  @Test("The limits of a check of the file do not outlive it")
  func limits() throws {
    #expect(try connection.integrityCheck(quick: true) == [])
    #expect(try connection.scalar("SELECT length(zeroblob(100000000))")?.integer == 100_000_000)
  }

  @Test("No foreign key removes rows")
  func foreignKeys() throws {
    try connection.execute("CREATE TABLE C (x REFERENCES T(a) ON DELETE CASCADE); INSERT INTO C SELECT a FROM T")
    try connection.run("DELETE FROM T")
    #expect(try connection.rowCount(of: "C") == 3)
  }

  @Test("The program's own functions cannot be called by a schema")
  func functions() throws {
    var calls = 0
    try connection.register(function: "own", deterministic: true) { arguments in
      calls += 1
      return arguments.first ?? .null
    }
    #expect(try connection.scalar("SELECT own(7)") == 7)
    for sql in ["CREATE INDEX I ON T (own(b))", "CREATE TABLE G (a, b AS (own(a)))"] {
      _ = sqliteError { try connection.execute("\(sql); INSERT INTO G (a) VALUES (1); SELECT b FROM G") }
    }
    #expect(calls == 1)
  }

  @Test("The schema cannot be edited as a table, and the way back from a transaction cannot be given up")
  func defensive() throws {
    let directory = try TemporaryDirectory()
    let file = try SQLiteConnection(path: directory.makeDatabase("A.sqlite"), mode: .readWrite)
    try file.setPragma("writable_schema", to: 1)
    _ = sqliteError { try file.run("DELETE FROM sqlite_master") }
    try file.setPragma("journal_mode", to: "OFF")
    #expect(try file.journalMode() == .delete)
  }

  @Test("A name in double quotes that is no column is an error and no text")
  func quotedText() throws {
    #expect(sqliteError { _ = try connection.rows("SELECT \"nothing\" FROM T") }?.message.contains("nothing") == true)
  }

  @Test("Neither libraries nor tokenizers can be loaded")
  func loading() throws {
    #expect(sqliteError { _ = try connection.rows("SELECT load_extension('x')") } != nil)
    #expect(sqliteError { _ = try connection.rows("SELECT fts3_tokenizer('simple', x'0000000000000000')") } != nil)
  }

  @Test("A value that an expression of the schema computes can be no larger than what such a file can hold")
  func largeValues() throws {
    try connection.execute("CREATE TABLE G (a, b AS (zeroblob(a))); INSERT INTO G (a) VALUES (20000000)")
    #expect(try connection.scalar("SELECT length(b) FROM G") == 20_000_000)
    connection.limitValues(toFileSize: 4096)
    #expect(sqliteError { _ = try connection.rows("SELECT hex(b) FROM G") }?.code == 18)
    connection.limitValues(toFileSize: 30 << 20)
    #expect(try connection.scalar("SELECT length(b) FROM G") == 20_000_000)
    connection.limitValues(toFileSize: 4096, atLeast: 30 << 20)
    #expect(try connection.scalar("SELECT length(b) FROM G") == 20_000_000)
    connection.limitValues(toFileSize: .max)
    #expect(try connection.scalar("SELECT length(b) FROM G") == 20_000_000)
  }

  @Test(
    "What computes values or lets rows vanish is noticed in a table's definition",
    arguments: [
      ("CREATE TABLE G (a, b AS (a + 1))", "an expression computes its column b"),
      ("CREATE TABLE G (a, b GENERATED ALWAYS AS (a + 1) STORED)", "an expression computes its column b"),
      ("CREATE TABLE G (a, UNIQUE (a) on /* x */ conflict REPLACE)", "ON CONFLICT"),
      ("CREATE TABLE G (a NOT NULL ON --\n CONFLICT IGNORE)", "ON CONFLICT"),
      ("CREATE TABLE G (a INTEGER PRIMARY KEY ON CONFLICT IGNORE)", "ON CONFLICT"),
    ])
  func oddities(sql: String, expected: String) throws {
    try connection.execute(sql)
    #expect(try connection.catalog().table(named: "G")?.unsupportedFeature?.contains(expected) == true)
  }

  @Test(
    "Ordinary definitions are not odd, whatever their columns are called",
    arguments: [
      "CREATE TABLE G (Z_PK INTEGER PRIMARY KEY, ZCONFLICT VARCHAR, CONSTRAINT u UNIQUE (ZCONFLICT))",
      "CREATE TABLE G (a, \"CONFLICT\", [conflict 2], `CONFLICT 3`) -- CONFLICT",
      "CREATE TABLE G (a DEFAULT 'ON CONFLICT' /* ON CONFLICT IGNORE */, PRIMARY KEY (a))",
    ])
  func ordinary(sql: String) throws {
    try connection.execute(sql)
    let table = try #require(try connection.catalog().table(named: "G"))
    #expect(table.unsupportedFeature == nil)
  }
}
