// OpenCoreData
// SPDX-License-Identifier: Apache-2.0

import Foundation
import Testing

@testable import CoreDataSQLite

@Suite("Write-ahead log")
struct WriteAheadLogTests {
  let directory: TemporaryDirectory

  init() throws {
    directory = try TemporaryDirectory()
  }

  /// A database whose third row is only in its log.
  private func withLog() throws -> (connection: SQLiteConnection, path: String) {
    let path = try directory.makeDatabase("Orders.sqlite", rows: 2)
    let connection = try SQLiteConnection(path: path, mode: .readWrite, busyTimeout: 0)
    try connection.setJournalMode(.wal)
    try connection.run("INSERT INTO T (name) VALUES ('logged')")
    return (connection, path)
  }

  @Test("A reader sees what stands in the log; an immutable one does not")
  func reading() throws {
    let (connection, path) = try withLog()
    #expect(try connection.journalMode() == .wal)
    #expect(directory.exists("Orders.sqlite-wal"))
    #expect(try SQLiteConnection(path: path, mode: .readOnly).rowCount(of: "T") == 3)
    #expect(try SQLiteConnection(path: path, mode: .immutable).rowCount(of: "T") == 2)
  }

  @Test("A log left behind by a killed process is read")
  func leftBehind() throws {
    let (connection, path) = try withLog()
    for suffix in ["", "-wal"] {
      try FileManager.default.copyItem(atPath: path + suffix, toPath: directory.path("Copy.sqlite" + suffix))
    }
    try connection.close()
    #expect(try SQLiteConnection(path: directory.path("Copy.sqlite"), mode: .readOnly).rowCount(of: "T") == 3)
  }

  @Test("A truncating checkpoint brings everything into the file and empties the log")
  func checkpoint() throws {
    let (connection, path) = try withLog()
    let result = try connection.checkpoint(.truncate)
    #expect(result == SQLiteCheckpointResult(wasBlocked: false, logFrames: 0, checkpointedFrames: 0))
    #expect(result.isComplete)
    let size = try FileManager.default.attributesOfItem(atPath: path + "-wal")[.size] as? NSNumber
    #expect(size?.intValue == 0)
    #expect(try SQLiteConnection(path: path, mode: .immutable).rowCount(of: "T") == 3)
  }

  @Test("A passive checkpoint tells how many frames it copied")
  func passive() throws {
    let (connection, _) = try withLog()
    let result = try connection.checkpoint()
    #expect(result.isComplete)
    #expect(result.logFrames == result.checkpointedFrames)
    #expect((result.logFrames ?? 0) > 0)
  }

  @Test("A reader of an older state blocks a checkpoint, which is a result")
  func blocked() throws {
    let (connection, path) = try withLog()
    let reader = try SQLiteConnection(path: path, mode: .readOnly)
    try reader.begin()
    #expect(try reader.rowCount(of: "T") == 3)
    try connection.run("DELETE FROM T")
    let result = try connection.checkpoint(.truncate)
    #expect(result.wasBlocked)
    #expect(!result.isComplete)
    #expect(try reader.rowCount(of: "T") == 3)
    try reader.commit()
    #expect(try connection.checkpoint(.truncate).isComplete)
  }

  @Test("Without a log there is nothing to check")
  func noLog() throws {
    let connection = try SQLiteConnection(path: directory.makeDatabase("Plain.sqlite"), mode: .readWrite)
    let result = try connection.checkpoint(.full)
    #expect(result == SQLiteCheckpointResult(wasBlocked: false, logFrames: nil, checkpointedFrames: nil))
    #expect(result.isComplete)
  }

  @Test("A checkpoint inside a transaction throws")
  func insideTransaction() throws {
    let (connection, _) = try withLog()
    try connection.transaction {
      try connection.run("DELETE FROM T")
      #expect(sqliteError { _ = try connection.checkpoint(.truncate) }?.code == 6)
    }
  }

  @Test("A journal mode that SQLite refuses is an error")
  func refused() throws {
    let memory = try SQLiteConnection.inMemory()
    #expect(try memory.journalMode() == .memory)
    let error = sqliteError { try memory.setJournalMode(.wal) }
    #expect(error?.message == "journal mode stays memory, wal was refused")
    // Without a journal a failed statement could leave a damaged file.
    #expect(sqliteError { try memory.setJournalMode(.off) }?.message == "journal mode stays memory, off was refused")
  }
}
