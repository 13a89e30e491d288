// OpenCoreData
// SPDX-License-Identifier: Apache-2.0

import CoreDataSQLite
import CoreDataTestSupport
import Foundation
import Testing

@Suite("Backup, checks and pragmas")
struct MaintenanceTests {
  struct GiveUp: Error {}

  let directory: TemporaryDirectory

  init() throws {
    directory = try TemporaryDirectory()
  }

  @Test("A backup copies every row and reports pages that only grow")
  func backup() throws {
    let source = try SQLiteConnection(path: directory.makeDatabase("Orders.sqlite", rows: 5000), mode: .readOnly)
    var reports: [SQLiteBackupProgress] = []
    try source.backup(toPath: directory.path("Copy.sqlite"), pagesPerStep: 5) { reports.append($0) }
    let pages = try source.pragma("page_count")?.integer
    #expect(reports.count > 3)
    #expect(reports.map(\.copiedPages) == reports.map(\.copiedPages).sorted())
    #expect(reports.allSatisfy { Int64($0.pageCount) == pages })
    #expect(reports.last?.copiedPages == reports.last?.pageCount)
    let copy = try SQLiteConnection(path: directory.path("Copy.sqlite"), mode: .readOnly)
    #expect(try copy.rowCount(of: "T") == 5000)
    #expect(try copy.integrityCheck().isEmpty)
    #expect(!source.inTransaction)
  }

  @Test("A backup holds one state while another connection writes")
  func steadyBackup() throws {
    let path = try directory.makeDatabase("Orders.sqlite", rows: 5000)
    let writer = try SQLiteConnection(path: path, mode: .readWrite)
    try writer.setJournalMode(.wal)
    let source = try SQLiteConnection(path: path, mode: .readWrite)
    let destination = try SQLiteConnection(path: directory.path("Copy.sqlite"), mode: .create)
    var copied: [Int] = []
    try source.backup(to: destination, pagesPerStep: 5) { progress in
      try writer.run("DELETE FROM T WHERE id % 2 = 0")
      copied.append(progress.copiedPages)
    }
    #expect(copied == copied.sorted())
    #expect(Set(copied).count == copied.count)
    #expect(try destination.rowCount(of: "T") == 5000)
    #expect(try writer.rowCount(of: "T") == 2500)
  }

  @Test("A backup that is given up leaves the destination as it was")
  func givenUp() throws {
    let source = try SQLiteConnection(path: directory.makeDatabase("Orders.sqlite", rows: 5000), mode: .readOnly)
    let kept = try directory.makeDatabase("Kept.sqlite", rows: 2)
    for path in [kept, directory.path("New.sqlite")] {
      #expect(throws: GiveUp.self) {
        try source.backup(toPath: path, pagesPerStep: 5) { if $0.copiedPages > 10 { throw GiveUp() } }
      }
    }
    #expect(!source.inTransaction)
    let destination = try SQLiteConnection(path: kept, mode: .readWrite)
    #expect(throws: GiveUp.self) {
      try source.backup(to: destination, pagesPerStep: 5) { if $0.copiedPages > 10 { throw GiveUp() } }
    }
    #expect(try destination.rowCount(of: "T") == 2)
    try destination.close()
    let writer = try SQLiteConnection(path: kept, mode: .readWrite, busyTimeout: 0)
    try writer.run("DELETE FROM T")
    #expect(writer.changes == 2)
    #expect(!directory.exists("New.sqlite"))
  }

  @Test("A backup of a damaged file, or onto a locked one, throws")
  func failingBackup() throws {
    let path = try directory.makeDatabase("Orders.sqlite")
    let source = try SQLiteConnection(path: path, mode: .readOnly)
    let locked = try SQLiteConnection(path: directory.makeDatabase("Locked.sqlite"), mode: .readWrite)
    let destination = try SQLiteConnection(path: directory.path("Locked.sqlite"), mode: .readWrite, busyTimeout: 0)
    try locked.transaction(.exclusive) {
      let error = sqliteError { try source.backup(to: destination) }
      #expect(error?.isBusy == true)
      #expect(error?.path == directory.path("Locked.sqlite"))
      #expect(error?.message == "database is locked, while copying from \u{201C}\(path)\u{201D}")
    }
    try Data(repeating: 65, count: 4096).write(to: URL(fileURLWithPath: directory.path("Bad.sqlite")))
    let bad = try SQLiteConnection(path: directory.path("Bad.sqlite"), mode: .readOnly)
    #expect(sqliteError { try bad.backup(toPath: directory.path("Copy.sqlite")) }?.isNotADatabase == true)
    #expect(!directory.exists("Copy.sqlite"))
  }

  @Test("An integrity check lists what is wrong")
  func integrity() throws {
    let path = directory.path("Liar.sqlite")
    let writer = try SQLiteConnection(path: path, mode: .create)
    try writer.execute("CREATE TABLE T (a, b); CREATE INDEX I ON T (a); INSERT INTO T VALUES (1, 2), (3, 4)")
    #expect(try writer.integrityCheck().isEmpty)
    try writer.close()
    var bytes = try Data(contentsOf: URL(fileURLWithPath: path))
    let text = try #require(bytes.range(of: Data("CREATE INDEX I ON T (a)".utf8)))
    bytes.replaceSubrange(text, with: Data("CREATE INDEX I ON T (b)".utf8))
    try bytes.write(to: URL(fileURLWithPath: path))
    let connection = try SQLiteConnection(path: path, mode: .readOnly)
    #expect(try connection.integrityCheck(limit: 1) == ["row 1 missing from index I"])
    #expect(try connection.integrityCheck(quick: true).isEmpty)
  }

  @Test("A check of one table does not look at others, and lists each contradiction by itself")
  func integrityOfTable() throws {
    let path = directory.path("Cut.sqlite")
    let writer = try SQLiteConnection(path: path, mode: .create)
    try writer.execute(
      "CREATE TABLE T (a); CREATE TABLE U (a); INSERT INTO T VALUES (zeroblob(20500)), (zeroblob(20500))")
    try writer.close()
    var bytes = try Data(contentsOf: URL(fileURLWithPath: path))
    // Both values go on in the same page.
    let pageSize = 4096
    let root = try #require(
      (1..<bytes.count / pageSize).first { bytes[$0 * pageSize] == 13 && bytes[$0 * pageSize + 4] == 2 })
    let page = root * pageSize
    let cells = (0..<2).map { page + Int(bytes[page + 8 + 2 * $0]) << 8 + Int(bytes[page + 9 + 2 * $0]) }
    let length = cells[0] - cells[1]
    let next = (0..<2).map { cells[$0] + length - 4 }
    bytes.replaceSubrange(next[1]..<next[1] + 4, with: bytes[next[0]..<next[0] + 4])
    try bytes.write(to: URL(fileURLWithPath: path))
    let connection = try SQLiteConnection(path: path, mode: .readOnly)
    #expect(try connection.integrityCheck(quick: true, of: "U").isEmpty)
    let problems = try connection.integrityCheck(quick: true, of: "T")
    #expect(problems.first?.contains("2nd reference to page") == true, "\(problems)")
    #expect(problems.allSatisfy { !$0.contains("\n") && !$0.hasPrefix("***") })
  }

  @Test("Pragmas are read and written, in attached databases too")
  func pragmas() throws {
    let connection = try SQLiteConnection(path: directory.path("New.sqlite"), mode: .create)
    #expect(try connection.pragma("user_version") == 0)
    try connection.setPragma("user_version", to: 42)
    #expect(try connection.pragma("user_version") == 42)
    #expect(try connection.pragma("no_such_pragma") == nil)
    try connection.attach(directory.path("Other.sqlite"), as: "other one")
    try connection.setPragma("user_version", to: 7, schema: "other one")
    #expect(try connection.pragma("user_version", schema: "other one") == 7)
    #expect(try connection.pragma("user_version") == 42)
    try connection.detach("other one")
    #expect(sqliteError { try connection.detach("other one") }?.message == "no such database: other one")
  }

  @Test("A header is read without opening the database")
  func header() throws {
    let path = directory.path("New.sqlite")
    let connection = try SQLiteConnection(path: path, mode: .create)
    try connection.setPragma("page_size", to: 65536)
    try connection.execute("CREATE TABLE T (a)")
    let header = try #require(try SQLiteFileHeader.read(path: path))
    #expect(header.pageSize == 65536)
    #expect(!header.usesWriteAheadLog)
    #expect(try connection.pragma("page_count") == .integer(Int64(header.pageCount)))
    try connection.setJournalMode(.wal)
    #expect(try SQLiteFileHeader.read(path: path)?.usesWriteAheadLog == true)
  }

  @Test("A header of something else is refused, an empty file has none")
  func noHeader() throws {
    let path = directory.path("x")
    try Data().write(to: URL(fileURLWithPath: path))
    #expect(try SQLiteFileHeader.read(path: path) == nil)
    for bytes in [
      Data("SQLite format 3\0".utf8), Data(repeating: 1, count: 100), SQLiteFileHeader.signature + Data(count: 84),
    ] {
      let error = sqliteError { _ = try SQLiteFileHeader(bytes: bytes, path: path) }
      #expect(error?.isNotADatabase == true)
      #expect(error?.path == path)
    }
    #expect(throws: (any Error).self) { try SQLiteFileHeader.read(path: directory.path("missing")) }
  }
}
