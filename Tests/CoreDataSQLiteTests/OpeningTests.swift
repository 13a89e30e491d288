// OpenCoreData
// SPDX-License-Identifier: Apache-2.0

import CoreDataSQLite
import CoreDataTestSupport
import Foundation
import Testing

@Suite("Opening database files")
struct OpeningTests {
  let directory: TemporaryDirectory

  init() throws {
    directory = try TemporaryDirectory()
  }

  @Test("Creating makes the file, and what is written is read again")
  func create() throws {
    let path = try directory.makeDatabase("Räume & 100%?#.sqlite", rows: 4)
    for mode in [SQLiteConnection.Mode.readOnly, .readWrite, .create, .immutable] {
      let connection = try SQLiteConnection(path: path, mode: mode)
      #expect(try connection.scalar("SELECT COUNT(*) FROM T") == 4, "\(mode)")
      #expect(connection.path == path)
      #expect(connection.mode == mode)
      try connection.close()
    }
  }

  @Test("An immutable connection takes relative paths and paths with two slashes")
  func immutablePaths() throws {
    let path = try directory.makeDatabase("Orders.sqlite")
    #expect(try SQLiteConnection(path: "/" + path, mode: .immutable).rowCount(of: "T") == 3)
    let up = String(repeating: "../", count: FileManager.default.currentDirectoryPath.split(separator: "/").count)
    #expect(try SQLiteConnection(path: up + path.dropFirst(), mode: .immutable).rowCount(of: "T") == 3)
  }

  @Test("A file URL opens the same file as its path")
  func url() throws {
    let path = try directory.makeDatabase("Orders.sqlite")
    let connection = try SQLiteConnection(url: URL(fileURLWithPath: path), mode: .readOnly)
    #expect(try connection.rowCount(of: "T") == 3)
  }

  @Test("Only create makes a missing file", arguments: [SQLiteConnection.Mode.readOnly, .readWrite, .immutable])
  func missing(mode: SQLiteConnection.Mode) throws {
    let error = sqliteError { _ = try SQLiteConnection(path: directory.path("none.sqlite"), mode: mode) }
    #expect(error?.isCannotOpen == true)
    #expect(error?.path == directory.path("none.sqlite"))
    #expect(error?.description.contains("exist") == true)
    #expect(!directory.exists("none.sqlite"))
  }

  @Test(
    "A file without the right to write is opened for reading only",
    .enabled(if: !isSuperuser, "root may write anywhere"))
  func unwritableFile() throws {
    let path = try directory.makeDatabase("Orders.sqlite")
    let writable = try SQLiteConnection(path: path, mode: .readWrite)
    #expect(!writable.isReadOnly)
    try FileManager.default.setAttributes([.posixPermissions: 0o400], ofItemAtPath: path)
    let connection = try SQLiteConnection(path: path, mode: .readWrite)
    #expect(connection.isReadOnly)
    #expect(try connection.rowCount(of: "T") == 3)
    #expect(sqliteError { try connection.run("DELETE FROM T") }?.isReadOnly == true)
  }

  @Test("A file in a directory that does not exist cannot be made")
  func missingDirectory() throws {
    let error = sqliteError { _ = try SQLiteConnection(path: directory.path("no/such/x.sqlite"), mode: .create) }
    #expect(error?.isCannotOpen == true)
    #expect(error?.systemError == ENOENT)
  }

  @Test("A directory is no database")
  func directoryAsFile() throws {
    let error = sqliteError { _ = try SQLiteConnection(path: directory.url.path, mode: .readWrite) }
    #expect(error?.isCannotOpen == true)
  }

  @Test("Read-only and immutable connections refuse to write", arguments: [SQLiteConnection.Mode.readOnly, .immutable])
  func readOnly(mode: SQLiteConnection.Mode) throws {
    let connection = try SQLiteConnection(path: directory.makeDatabase("Orders.sqlite"), mode: mode)
    let error = sqliteError { try connection.run("DELETE FROM T") }
    #expect(error?.isReadOnly == true)
    #expect(error?.sql == "DELETE FROM T")
    #expect(connection.isReadOnly)
    #expect(try connection.rowCount(of: "T") == 3)
  }

  @Test(
    "A directory without the right to write refuses new files", .enabled(if: !isSuperuser, "root may write anywhere"))
  func unwritableDirectory() throws {
    let path = try directory.makeDatabase("Orders.sqlite")
    try FileManager.default.setAttributes([.posixPermissions: 0o500], ofItemAtPath: directory.url.path)
    let creation = sqliteError { _ = try SQLiteConnection(path: directory.path("new.sqlite"), mode: .create) }
    #expect(creation?.isCannotOpen == true)
    let connection = try SQLiteConnection(path: path, mode: .readWrite)
    let writing = sqliteError { try connection.run("DELETE FROM T") }
    #expect(writing?.isReadOnly == true || writing?.isCannotOpen == true)
    #expect(try connection.rowCount(of: "T") == 3)
  }

  @Test(
    "A write-ahead-log database in a directory without the right to write opens as immutable",
    .enabled(if: !isSuperuser, "root may write anywhere"))
  func unwritableLog() throws {
    let path = try directory.makeDatabase("Orders.sqlite")
    let writer = try SQLiteConnection(path: path, mode: .readWrite)
    try writer.setJournalMode(.wal)
    try writer.close()
    try FileManager.default.setAttributes([.posixPermissions: 0o500], ofItemAtPath: directory.url.path)
    let plain = try SQLiteConnection(path: path, mode: .readOnly)
    let error = sqliteError { _ = try plain.rowCount(of: "T") }
    #expect(error?.isCannotOpen == true || error?.isReadOnly == true, "\(error?.description ?? "no error")")
    let immutable = try SQLiteConnection(path: path, mode: .immutable)
    #expect(try immutable.rowCount(of: "T") == 3)
  }

  @Test("A text file is not a database, and the error says so")
  func notADatabase() throws {
    let path = directory.path("notes.txt")
    try Data(String(repeating: "These are notes. ", count: 100).utf8).write(to: URL(fileURLWithPath: path))
    let connection = try SQLiteConnection(path: path, mode: .readWrite)
    let error = sqliteError { _ = try connection.catalog() }
    #expect(error?.isNotADatabase == true)
    #expect(error?.isCorrupt == false)
    #expect(
      error?.description.hasPrefix(
        "\u{201C}\(path)\u{201D} is not an SQLite database, or it is encrypted. Check that this is the intended file. "
          + "(SQLite 26: file is not a database; statement: ") == true)
  }

  @Test("A truncated file is reported as damaged")
  func truncated() throws {
    let path = try directory.makeDatabase("Orders.sqlite", rows: 5000)
    let whole = try Data(contentsOf: URL(fileURLWithPath: path))
    try whole.prefix(whole.count / 2).write(to: URL(fileURLWithPath: path))
    let connection = try SQLiteConnection(path: path, mode: .readOnly)
    let error = sqliteError { _ = try connection.scalar("SELECT SUM(LENGTH(name)) FROM T") }
    #expect(error?.isCorrupt == true)
    #expect(error?.description.contains("damaged") == true)
  }

  @Test("Closing releases the file, and everything afterwards says that it is closed")
  func closing() throws {
    let path = try directory.makeDatabase("Orders.sqlite")
    let connection = try SQLiteConnection(path: path, mode: .readWrite)
    let statement = try connection.prepare("SELECT name FROM T")
    #expect(try statement.step())
    try connection.begin(.exclusive)
    #expect(connection.isOpen)
    try connection.close()
    try connection.close()
    #expect(!connection.isOpen)
    #expect(!connection.inTransaction)

    #expect(sqliteError { _ = try statement.step() }?.message == "the connection was closed")
    #expect(sqliteError { try statement.bind(1 as Int64, at: 1) }?.message == "the connection was closed")
    #expect(sqliteError { _ = try connection.prepare("SELECT 1") }?.message == "the connection was closed")
    #expect(sqliteError { try connection.execute("SELECT 1") }?.message == "the connection was closed")
    #expect(sqliteError { _ = try connection.checkpoint() }?.message == "the connection was closed")
    statement.reset()
    statement.finalize()
    connection.interrupt()

    let other = try SQLiteConnection(path: path, mode: .readWrite, busyTimeout: 0)
    try other.transaction(.exclusive) { try other.run("DELETE FROM T") }
    #expect(other.changes == 3)
  }

  @Test("A statement keeps the file open for itself when its connection is dropped without closing")
  func dropped() throws {
    let path = try directory.makeDatabase("Orders.sqlite")
    var connection: SQLiteConnection? = try SQLiteConnection(path: path, mode: .readOnly)
    let statement = try #require(try connection?.prepare("SELECT name FROM T ORDER BY id"))
    connection = nil
    #expect(try statement.rows().map { $0["name"] } == ["row 1", "row 2", "row 3"])
  }
}
