// OpenCoreData
// SPDX-License-Identifier: Apache-2.0

import CoreDataSQLite
import CoreDataTestSupport
import Foundation
import Testing

@Suite("The transactions in a write-ahead log")
struct WriteAheadLogTests {
  private let directory: TemporaryDirectory
  private let path: String
  private var log: URL { URL(fileURLWithPath: path + "-wal") }

  init() throws {
    directory = try TemporaryDirectory()
    path = try directory.makeDatabase("Data.sqlite")
  }

  /// Writes transactions, and leaves their log beside the database, which is as it was.
  ///
  /// - Returns: the number of pages in the log.
  @discardableResult
  private func leaveLog(_ transactions: [String]) throws -> Int {
    let connection = try SQLiteConnection(path: path, mode: .readWrite)
    try connection.execute("PRAGMA journal_mode = WAL; PRAGMA wal_autocheckpoint = 0")
    for sql in transactions { try connection.execute(sql) }
    let (database, bytes) = (try Data(contentsOf: URL(fileURLWithPath: path)), try Data(contentsOf: log))
    try connection.close()
    try database.write(to: URL(fileURLWithPath: path))
    try bytes.write(to: log)
    return (bytes.count - 32) / (24 + 4096)
  }

  @Test("All pages up to the last transaction are counted, and the change count of the first page is the last one")
  func pages() throws {
    let count = try leaveLog(["UPDATE T SET name = 'x'", "CREATE TABLE U (X)", "INSERT INTO U VALUES (1)"])
    let found = try #require(try WriteAheadLog(beside: path))
    #expect(found.frameCount == count && count >= 4 && found.pageSize == 4096)
    let bytes = try DatabaseFile(path: path).firstBytes(100)
    let own = try #require(WriteAheadLog.changeCount(of: bytes))
    #expect(try #require(found.changeCount) > own)
  }

  @Test("A log that has not written the first page has no change count; without a log there is nothing")
  func few() throws {
    #expect(try WriteAheadLog(beside: path) == nil)
    try leaveLog(["UPDATE T SET name = 'x'"])
    let found = try #require(try WriteAheadLog(beside: path))
    #expect(found.frameCount == 1 && found.changeCount == nil)
  }

  @Test("What SQLite ignores is not counted: a torn transaction, a changed byte, other salts")
  func ignored() throws {
    let count = try leaveLog(["UPDATE T SET name = 'x'", "CREATE TABLE U (X)"])
    let whole = try Data(contentsOf: log)
    let frame = 24 + 4096
    try whole.dropLast(100).write(to: log)
    #expect(try WriteAheadLog(beside: path)?.frameCount == 1)
    var bytes = whole
    bytes[32 + frame + 24 + 1_000] ^= 1
    try bytes.write(to: log)
    #expect(try WriteAheadLog(beside: path)?.frameCount == 1)
    bytes = whole
    bytes[32 + 8] ^= 1
    try bytes.write(to: log)
    #expect(try WriteAheadLog(beside: path)?.frameCount == 0)
    bytes = whole
    bytes[20] ^= 1
    try bytes.write(to: log)
    #expect(try WriteAheadLog(beside: path)?.frameCount == 0)
    try Data("no log".utf8).write(to: log)
    #expect(try WriteAheadLog(beside: path) == nil)
    try whole.write(to: log)
    #expect(try WriteAheadLog(beside: path)?.frameCount == count)
    // And SQLite itself reads the same.
    let connection = try SQLiteConnection(path: path, mode: .readWrite)
    #expect(try connection.hasTable("U"))
    try connection.close()
  }
}
