// OpenCoreData
// SPDX-License-Identifier: Apache-2.0

import CoreDataSQLite
import Foundation
import Testing

@Suite("Errors")
struct ErrorTests {
  let connection: SQLiteConnection

  init() throws {
    connection = try SQLiteConnection.inMemory()
  }

  @Test("A violated uniqueness names its columns")
  func unique() throws {
    try connection.execute("CREATE TABLE T (a, b, UNIQUE (a, b)); INSERT INTO T VALUES (1, 2)")
    let error = try #require(sqliteError { try connection.run("INSERT INTO T VALUES (1, 2)") })
    #expect(error.isConstraint)
    #expect(error.isUniqueConstraint)
    #expect(error.code == 19)
    #expect(error.extendedCode == 2067)
    #expect(error.violatedColumns.map(\.table) == ["T", "T"])
    #expect(error.violatedColumns.map(\.column) == ["a", "b"])
    #expect(
      error.description
        == "A change to the database in memory violates a constraint of its tables. "
        + "(SQLite 2067: UNIQUE constraint failed: T.a, T.b; statement: INSERT INTO T VALUES (1, 2))")
    #expect(error.localizedDescription == error.description)
  }

  @Test("A primary key that is there already is a violated uniqueness too")
  func primaryKey() throws {
    try connection.execute("CREATE TABLE T (a INTEGER PRIMARY KEY); INSERT INTO T VALUES (1)")
    #expect(sqliteError { try connection.run("INSERT INTO T VALUES (1)") }?.isUniqueConstraint == true)
  }

  @Test("A missing value is told apart from a violated uniqueness")
  func notNull() throws {
    try connection.execute("CREATE TABLE T (a NOT NULL)")
    let error = try #require(sqliteError { try connection.run("INSERT INTO T VALUES (NULL)") })
    #expect(error.extendedCode == 1299)
    #expect(!error.isUniqueConstraint)
    #expect(error.violatedColumns.map(\.column) == ["a"])
  }

  @Test(
    "Each family of codes answers to its own question",
    arguments: [
      (5, "isBusy"), (6, "isBusy"), (517, "isBusy"), (8, "isReadOnly"), (1544, "isReadOnly"), (13, "isFull"),
      (10, "isIOError"), (778, "isIOError"), (11, "isCorrupt"), (26, "isNotADatabase"), (14, "isCannotOpen"),
      (19, "isConstraint"), (9, "isInterrupted"), (1, "none"),
    ])
  func families(code: Int32, name: String) {
    let error = SQLiteError(extendedCode: code, message: "m", sql: nil, path: "p")
    let answers: [(String, Bool)] = [
      ("isBusy", error.isBusy), ("isReadOnly", error.isReadOnly), ("isFull", error.isFull),
      ("isIOError", error.isIOError), ("isCorrupt", error.isCorrupt), ("isNotADatabase", error.isNotADatabase),
      ("isCannotOpen", error.isCannotOpen), ("isConstraint", error.isConstraint),
      ("isInterrupted", error.isInterrupted),
    ]
    #expect(answers.filter(\.1).map(\.0) == (name == "none" ? [] : [name]))
    #expect(error.violatedColumns.isEmpty)
  }

  @Test("The sentence names the file, the system's reason and a long statement only in part")
  func sentence() {
    let sql = String(repeating: "x", count: 500)
    let error = SQLiteError(extendedCode: 13, message: "full", sql: sql, path: "/a/b.sqlite", systemError: ENOSPC)
    #expect(
      error.description
        == "There is no space to write \u{201C}/a/b.sqlite\u{201D}. Free space on the disk and try again; the last "
        + "transaction was rolled back. (SQLite 13: full; system: No space left on device; statement: "
        + String(repeating: "x", count: 400) + "…)")
  }

  @Test(
    "A full disk and a file that cannot be read are told apart, whatever SQLite was doing",
    arguments: [
      // SQLITE_FULL; SQLITE_IOERR_SHMSIZE without and with the system's number; _WRITE; _READ; _CORRUPTFS
      (13, nil, true, false), (10 | 19 << 8, nil, true, false), (10 | 19 << 8, EIO, false, false),
      (10 | 3 << 8, ENOSPC, true, false), (10 | 3 << 8, nil, false, false), (10 | 1 << 8, nil, false, true),
      (10 | 33 << 8, nil, false, true), (11, nil, false, false),
    ] as [(Int32, Int32?, Bool, Bool)])
  func fullOrUnreadable(code: Int32, number: Int32?, isFull: Bool, isReadError: Bool) {
    let error = SQLiteError(extendedCode: code, message: "", sql: nil, path: "", systemError: number)
    #expect(error.isFull == isFull && error.isReadError == isReadError)
  }
}
