// OpenCoreData
// SPDX-License-Identifier: Apache-2.0

import Foundation
import Testing

@testable import CoreDataSQLite

@Suite("Values read in parts")
struct ColumnReaderTests {
  private func reader(_ connection: SQLiteConnection, _ column: String = "V") throws -> SQLiteColumnReader? {
    let table = try #require(try connection.catalog().table(named: "T"))
    return try connection.columnReader(column, of: table, key: "K")
  }

  private func bytes(_ reader: SQLiteColumnReader, _ row: Int64, from offset: Int = 0) throws -> [UInt8] {
    try reader.move(to: row)
    var bytes = [UInt8](repeating: 0, count: reader.count - offset)
    try bytes.withUnsafeMutableBytes { try reader.read(at: offset, into: $0) }
    return bytes
  }

  @Test("Texts and BLOBs are read as they are stored; other values and missing rows are errors")
  func values() throws {
    let connection = try SQLiteConnection.inMemory()
    try connection.execute(
      """
      CREATE TABLE T (K INTEGER PRIMARY KEY, V);
      INSERT INTO T VALUES (1, 'aé'), (2, x'00ff01'), (3, NULL), (4, 7), (5, ''), (6, CAST(x'6100ff' AS TEXT));
      """)
    let reader = try #require(try reader(connection))
    #expect(try bytes(reader, 1) == [0x61, 0xC3, 0xA9] && reader.row == 1)
    #expect(try bytes(reader, 2, from: 1) == [0xFF, 0x01])
    for row: Int64 in [3, 4, 7] {
      #expect(throws: SQLiteError.self) { try reader.move(to: row) }
      #expect(reader.row == nil && reader.count == 0)
    }
    #expect(try bytes(reader, 5).isEmpty)
    #expect(try bytes(reader, 6) == [0x61, 0, 0xFF])
    #expect(throws: SQLiteError.self) {
      var byte: UInt8 = 0
      try withUnsafeMutableBytes(of: &byte) { try reader.read(at: 3, into: $0) }
    }
  }

  @Test(
    "Only a table whose rows are found by the key's number can be read in parts",
    arguments: [
      ("CREATE TABLE T (K INTEGER PRIMARY KEY, V VARCHAR)", true), ("CREATE TABLE T (k integer primary key, V)", true),
      ("CREATE TABLE T (K INTEGER PRIMARY KEY, V) WITHOUT ROWID", false),
      ("CREATE TABLE T (K INTEGER PRIMARY KEY DESC, V)", false), ("CREATE TABLE T (K INT PRIMARY KEY, V)", false),
      ("CREATE TABLE T (K INTEGER, V)", false), ("CREATE TABLE T (K INTEGER, V, PRIMARY KEY (K, V))", false),
      ("CREATE TABLE T (K INTEGER PRIMARY KEY, W, V AS (W))", false),
      ("PRAGMA encoding = 'UTF-16'; CREATE TABLE T (K INTEGER PRIMARY KEY, V)", false),
    ])
  func tables(sql: String, isReadable: Bool) throws {
    let connection = try SQLiteConnection.inMemory()
    try connection.execute(sql)
    #expect(try (reader(connection) != nil) == isReadable)
  }

  @Test("A connection closes while values are read, and reading then is an error")
  func closing() throws {
    let connection = try SQLiteConnection.inMemory()
    try connection.execute("CREATE TABLE T (K INTEGER PRIMARY KEY, V); INSERT INTO T VALUES (1, 'abc')")
    let reader = try #require(try reader(connection))
    try reader.move(to: 1)
    try connection.close()
    #expect(throws: SQLiteError.self) { try bytes(reader, 1) }
  }
}
