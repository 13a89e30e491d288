// OpenCoreData
// SPDX-License-Identifier: Apache-2.0

import Foundation
import SystemSQLite

/// A thin wrapper of SQLite's C interface for the work by hand: prepared statements and transactions.
final class Database {
  let pointer: OpaquePointer

  init(_ path: String) throws {
    var opened: OpaquePointer?
    let result = sqlite3_open_v2(path, &opened, SQLITE_OPEN_READWRITE | SQLITE_OPEN_CREATE | SQLITE_OPEN_NOMUTEX, nil)
    guard result == SQLITE_OK, let opened else { throw Failure(text: "cannot open \(path): \(result)") }
    pointer = opened
  }

  func close() throws {
    let result = sqlite3_close(pointer)
    guard result == SQLITE_OK else { throw Failure(text: "cannot close: \(String(cString: sqlite3_errmsg(pointer)))") }
  }

  func run(_ sql: String) throws {
    guard sqlite3_exec(pointer, sql, nil, nil, nil) == SQLITE_OK else { throw failure(sql) }
  }

  func integer(_ sql: String) throws -> Int64 {
    let statement = try prepare(sql)
    defer { statement.finish() }
    guard try statement.step() else { throw Failure(text: "no row: \(sql)") }
    return statement.integer(0)
  }

  /// The first column of all rows.
  func texts(_ sql: String) throws -> [String] {
    let statement = try prepare(sql)
    defer { statement.finish() }
    var texts: [String] = []
    while try statement.step() { texts.append(statement.text(0)) }
    return texts
  }

  func prepare(_ sql: String) throws -> Statement {
    var statement: OpaquePointer?
    guard sqlite3_prepare_v2(pointer, sql, -1, &statement, nil) == SQLITE_OK, let statement else { throw failure(sql) }
    return Statement(pointer: statement, database: self)
  }

  fileprivate func failure(_ what: String) -> Failure {
    Failure(text: "\(String(cString: sqlite3_errmsg(pointer))): \(what)")
  }
}

/// A prepared statement. Parameters are numbered from 1 and columns from 0, as in SQLite.
struct Statement {
  let pointer: OpaquePointer
  let database: Database

  func step() throws -> Bool {
    switch sqlite3_step(pointer) {
    case SQLITE_ROW: return true
    case SQLITE_DONE: return false
    default: throw database.failure(String(cString: sqlite3_sql(pointer)))
    }
  }

  /// Runs a statement without a result and resets it.
  func run() throws {
    _ = try step()
    sqlite3_reset(pointer)
  }

  func reset() { sqlite3_reset(pointer) }

  func finish() { sqlite3_finalize(pointer) }

  func bind(_ value: Int64, _ index: Int32) { sqlite3_bind_int64(pointer, index, value) }

  func bind(_ value: Double, _ index: Int32) { sqlite3_bind_double(pointer, index, value) }

  func bind(_ value: String, _ index: Int32) {
    var value = value
    value.withUTF8 { bytes in
      bytes.withMemoryRebound(to: CChar.self) {
        _ = sqlite3_bind_text(
          pointer, index, $0.baseAddress, Int32($0.count), unsafeBitCast(-1, to: sqlite3_destructor_type.self))
      }
    }
  }

  func integer(_ column: Int32) -> Int64 { sqlite3_column_int64(pointer, column) }

  func double(_ column: Int32) -> Double { sqlite3_column_double(pointer, column) }

  func text(_ column: Int32) -> String {
    guard let start = sqlite3_column_text(pointer, column) else { return "" }
    return String(
      decoding: UnsafeBufferPointer(start: start, count: Int(sqlite3_column_bytes(pointer, column))), as: UTF8.self)
  }
}

/// An error that stops a benchmark.
struct Failure: Error, CustomStringConvertible {
  let text: String
  var description: String { text }
}
