// OpenCoreData
// SPDX-License-Identifier: Apache-2.0

import CSQLite
import CoreDataFileSystem
import CoreDataTestSupport
import Foundation
import Synchronization
import Testing

@testable import CoreDataSQLite

/// Scans of a table, whose pages are read ahead, beside a writer that uses SQLite's own access to the same file.
@Suite("Pages are read ahead")
struct ReadAheadTests {
  let directory: TemporaryDirectory

  init() throws {
    directory = try TemporaryDirectory()
  }

  /// The rows of the table, which have about three to a page.
  private static let rowCount = 600

  /// A database of some hundred pages, whose rows all have the version 0.
  private func makeDatabase(_ mode: SQLiteJournalMode) throws -> String {
    let path = directory.path("Rows.sqlite")
    let connection = try SQLiteConnection(path: path, mode: .create)
    try connection.setJournalMode(mode)
    try connection.execute("CREATE TABLE T (id INTEGER PRIMARY KEY, version INTEGER, text TEXT)")
    try connection.transaction {
      for row in 1...Self.rowCount {
        try connection.run(
          "INSERT INTO T VALUES (?1, 0, ?2)", [.integer(Int64(row)), .text(String(repeating: "x", count: 1_200))])
      }
    }
    try connection.close()
    return path
  }

  /// The versions that a scan of rows finds. If only some are read, what has been read ahead holds pages of others.
  private static func versions(_ connection: SQLiteConnection, in ids: ClosedRange<Int> = 1...rowCount) throws
    -> [Int64]
  {
    var found: Set<Int64> = []
    var count = 0
    let bounds = [SQLiteValue.integer(Int64(ids.lowerBound)), .integer(Int64(ids.upperBound))]
    for row in try connection.rows("SELECT version, text FROM T WHERE id BETWEEN ?1 AND ?2", bounds) {
      if case .integer(let version) = row[0] { found.insert(version) }
      if case .text(let text) = row[1], text.utf8.count == 1_200 { count += 1 }
    }
    #expect(count == ids.count)
    return found.sorted()
  }

  /// Some rows on pages beside one another.
  private static func someRows(_ random: inout SeededGenerator) -> ClosedRange<Int> {
    let first = Int.random(in: 0...9, using: &random) * 25 + 1
    return first...(first + Int.random(in: 25...60, using: &random))
  }

  /// SQLite's own access to a file.
  private final class Plain {
    private var pointer: OpaquePointer?

    init(_ path: String) throws {
      try #require(sqlite3_open_v2(path, &pointer, SQLITE_OPEN_READWRITE, "unix") == SQLITE_OK)
      sqlite3_busy_timeout(pointer, 10_000)
    }

    deinit { sqlite3_close(pointer) }

    /// Returns SQLite's result code.
    @discardableResult
    func run(_ sql: String) -> Int32 { sqlite3_exec(pointer, sql, nil, nil, nil) }
  }

  @Test("A scan takes fewer calls of the system than a quarter of its pages", .enabled(if: ThreadReads.areCounted))
  func calls() throws {
    let connection = try SQLiteConnection(path: makeDatabase(.wal), mode: .readOnly)
    let pages = try #require(connection.rows("PRAGMA page_count").first.map { $0[0] })
    let before = try ThreadReads.count()
    #expect(try Self.versions(connection) == [0])
    let calls = try ThreadReads.count() - before
    guard case .integer(let count) = pages else { throw CocoaError(.coderReadCorrupt) }
    #expect(count > 150)
    #expect(calls < count / 4, "\(calls) calls for \(count) pages")
  }

  @Test("What a reader sees does not change in its transaction, and is the newest afterwards", arguments: 1...6)
  func states(seed: UInt64) throws {
    var random = SeededGenerator(seed: seed)
    let path = try makeDatabase(.wal)
    let (reader, writer) = (try SQLiteConnection(path: path, mode: .readOnly), try Plain(path))
    var (committed, begun): (Int64, Int64?) = (0, nil)
    for _ in 0..<150 {
      switch Int.random(in: 0..<8, using: &random) {
      case 0, 1, 2:
        committed += 1
        #expect(writer.run("UPDATE T SET version = \(committed)") == SQLITE_OK)
      case 3: writer.run("PRAGMA wal_checkpoint(PASSIVE)")
      case 4:
        // Fails while the reader is in the way.
        if begun == nil { #expect(writer.run("PRAGMA wal_checkpoint(TRUNCATE)") == SQLITE_OK) }
      case 5:
        if begun == nil { #expect(writer.run("VACUUM") == SQLITE_OK) }
      case 6 where begun == nil:
        try reader.begin()
        begun = committed
        #expect(try Self.versions(reader) == [committed])
      case 6, 7:
        if begun != nil { try reader.commit() }
        begun = nil
      default: break
      }
      #expect(try Self.versions(reader, in: Self.someRows(&random)) == [begun ?? committed])
    }
  }

  @Test("A file with a rollback journal is read as it is now", arguments: 1...3)
  func journal(seed: UInt64) throws {
    var random = SeededGenerator(seed: seed)
    let path = try makeDatabase(.delete)
    let (reader, writer) = (try SQLiteConnection(path: path, mode: .readOnly), try Plain(path))
    for version in 1...40 {
      #expect(writer.run("UPDATE T SET version = \(version)") == SQLITE_OK)
      if Bool.random(using: &random) {
        writer.run("BEGIN; UPDATE T SET version = -1; DELETE FROM T WHERE id % 2; ROLLBACK")
      }
      if Int.random(in: 0..<5, using: &random) == 0 { #expect(writer.run("VACUUM") == SQLITE_OK) }
      #expect(try Self.versions(reader, in: Self.someRows(&random)) == [Int64(version)])
    }
  }

  @Test("Every scan beside a writer that checkpoints sees one state, and none that is older than the one before")
  func besideWriter() throws {
    let path = try makeDatabase(.wal)
    let isDone = Mutex(false)
    let work = ParallelWork { () throws -> Int64 in
      let writer = try Plain(path)
      var version: Int64 = 0
      while !isDone.withLock({ $0 }) {
        version += 1
        #expect(writer.run("UPDATE T SET version = \(version)") == SQLITE_OK)
        if version % 3 == 0 { writer.run("PRAGMA wal_checkpoint(\(version % 2 == 0 ? "TRUNCATE" : "PASSIVE"))") }
      }
      return version
    }
    let reader = try SQLiteConnection(path: path, mode: .readOnly, busyTimeout: 10)
    var last: Int64 = 0
    var random = SeededGenerator(seed: 1)
    for _ in 0..<1_000 {
      let seen = try Self.versions(reader, in: Self.someRows(&random))
      #expect(seen.count == 1)
      #expect(try #require(seen.first) >= last)
      last = seen.first ?? last
    }
    isDone.withLock { $0 = true }
    #expect(try work.wait() >= last)
  }

  @Test(
    "A connection that writes reads what it has written, in every journal mode",
    arguments: [SQLiteJournalMode.wal, .delete])
  func writes(mode: SQLiteJournalMode) throws {
    let connection = try SQLiteConnection(path: makeDatabase(mode), mode: .readWrite)
    // Hardly any page stays in SQLite's cache.
    try connection.run("PRAGMA cache_size = 10")
    var random = SeededGenerator(seed: 1)
    for version in 1...40 {
      try connection.transaction {
        #expect(try Self.versions(connection, in: Self.someRows(&random)) == [Int64(version - 1)])
        // Changed pages go to the file while what has been read ahead still holds them as they were.
        let (first, last) = (Int.random(in: 1...400, using: &random), 500)
        try connection.run("UPDATE T SET version = -1 WHERE id BETWEEN \(first) AND \(last)")
        let start = last - Int.random(in: 20...60, using: &random)
        #expect(try Self.versions(connection, in: start...last) == [-1])
        try connection.run("UPDATE T SET version = \(version)")
        #expect(try Self.versions(connection, in: Self.someRows(&random)) == [Int64(version)])
      }
      #expect(try Self.versions(connection, in: Self.someRows(&random)) == [Int64(version)])
      if version % 5 == 0 { try connection.run("VACUUM") }
    }
    #expect(try connection.rows("PRAGMA integrity_check").first?[0] == .text("ok"))
  }

  @Test("A file that has been cut off fails as damaged, and so do its remaining pages when they are read again")
  func cutOff() throws {
    let path = try makeDatabase(.delete)
    let connection = try SQLiteConnection(path: path, mode: .readOnly)
    #expect(try Self.versions(connection) == [0])
    #expect(truncate(path, 300 * 1024) == 0)
    for _ in 0..<2 {
      let failure = #expect(throws: SQLiteError.self) { try connection.rows("SELECT version, text FROM T") }
      #expect(failure?.isCorrupt == true)
    }
  }
}

/// The reads of the current thread, as the system counts them.
private enum ThreadReads {
  private static let path = "/proc/thread-self/io"

  static let areCounted = FileManager.default.isReadableFile(atPath: path)

  static func count() throws -> Int64 {
    let text = try String(contentsOfFile: path, encoding: .utf8)
    let line = try #require(text.split(separator: "\n").first(where: { $0.hasPrefix("syscr:") }))
    return try #require(Int64(line.split(separator: " ")[1]))
  }
}
