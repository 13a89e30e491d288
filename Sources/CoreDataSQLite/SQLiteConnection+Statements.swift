// OpenCoreData
// SPDX-License-Identifier: Apache-2.0

import CSQLite
import Foundation

/// A statement that waits in the cache of a connection.
struct IdleStatement {
  let statement: SQLiteStatement
  let lastUse: UInt64
}

extension SQLiteConnection {
  /// Runs every statement of a script and drops their rows.
  ///
  /// - Parameter script: statements separated by semicolons; comments are allowed.
  /// - Throws: `SQLiteError` that carries the statement which failed; those before it have taken effect.
  package func execute(_ script: String) throws {
    let database = try handle.opened(for: script)
    try script.withCString { start in
      var rest = start
      while rest.pointee != 0 {
        var statement: OpaquePointer?
        var tail: UnsafePointer<CChar>?
        let result = sqlite3_prepare_v2(database, rest, -1, &statement, &tail)
        let next = tail ?? rest
        defer { sqlite3_finalize(statement) }
        guard result == SQLITE_OK else { throw failure(result, from: rest, to: nil) }
        if let statement {
          var step = sqlite3_step(statement)
          while step == SQLITE_ROW { step = sqlite3_step(statement) }
          guard step == SQLITE_DONE else { throw failure(step, from: rest, to: next) }
        }
        rest = next
      }
    }
  }

  /// Compiles one statement.
  ///
  /// - Parameters:
  ///   - sql: exactly one statement.
  ///   - persistent: tells SQLite that the statement will be kept for long.
  /// - Throws: `SQLiteError` for SQL that cannot be compiled, for none at all and for more than one statement.
  package func prepare(_ sql: String, persistent: Bool = false) throws -> SQLiteStatement {
    let database = try handle.opened(for: sql)
    let flags = persistent ? UInt32(SQLITE_PREPARE_PERSISTENT) : 0
    let pointer = try sql.withCString { start -> OpaquePointer in
      var statement: OpaquePointer?
      var tail: UnsafePointer<CChar>?
      try handle.check(sqlite3_prepare_v3(database, start, -1, flags, &statement, &tail), sql: sql)
      guard let statement else { throw misuse("the text holds no statement", sql) }
      if let tail, tail.pointee != 0 {
        var second: OpaquePointer?
        // A tail of blanks and comments compiles to nothing; anything else is a second statement, correct or not.
        let result = sqlite3_prepare_v2(database, tail, -1, &second, nil)
        sqlite3_finalize(second)
        if result != SQLITE_OK || second != nil {
          sqlite3_finalize(statement)
          throw misuse("the text holds more than one statement; run a script with execute", sql)
        }
      }
      return statement
    }
    return SQLiteStatement(pointer: pointer, handle: handle, sql: sql)
  }

  /// Lends a statement from the cache, and takes it back reset and with its bindings cleared.
  ///
  /// The same text may be asked for again inside the body: a statement in use is not lent twice.
  ///
  /// - Parameters:
  ///   - sql: exactly one statement; also the key in the cache.
  ///   - body: binds, steps and reads; must not keep the statement.
  package func cached<Result>(_ sql: String, _ body: (SQLiteStatement) throws -> Result) throws -> Result {
    let statement = try idleStatements.removeValue(forKey: sql)?.statement ?? prepare(sql, persistent: true)
    defer { takeBack(statement) }
    return try body(statement)
  }

  /// Finalizes the statements that wait in the cache.
  package func emptyStatementCache() {
    idleStatements.removeAll()
  }

  /// How many statements wait in the cache.
  package var idleStatementCount: Int { idleStatements.count }

  /// Runs one cached statement to its end and drops its rows.
  package func run(_ sql: String, _ arguments: [SQLiteValue] = []) throws {
    try cached(sql) { statement in
      try statement.bind(arguments)
      while try statement.step() {}
    }
  }

  /// The rows of one cached statement.
  package func rows(_ sql: String, _ arguments: [SQLiteValue] = []) throws -> [SQLiteRow] {
    try cached(sql) { statement in
      try statement.bind(arguments)
      return try statement.rows()
    }
  }

  /// The first column of the first row of one cached statement; nil where there is no row.
  package func scalar(_ sql: String, _ arguments: [SQLiteValue] = []) throws -> SQLiteValue? {
    try cached(sql) { statement in
      try statement.bind(arguments)
      return try statement.scalar()
    }
  }

  private func takeBack(_ statement: SQLiteStatement) {
    guard isOpen, statementCacheLimit > 0 else { return }
    statement.reset()
    statement.clearBindings()
    statementUses += 1
    idleStatements[statement.sql] = IdleStatement(statement: statement, lastUse: statementUses)
    if idleStatements.count > statementCacheLimit,
      let oldest = idleStatements.min(by: { $0.value.lastUse < $1.value.lastUse })
    {
      idleStatements.removeValue(forKey: oldest.key)
    }
  }

  private func misuse(_ message: String, _ sql: String) -> SQLiteError {
    SQLiteError(extendedCode: SQLITE_MISUSE, message: message, sql: sql, path: path)
  }

  private func failure(
    _ result: Int32, from start: UnsafePointer<CChar>, to end: UnsafePointer<CChar>?
  ) -> SQLiteError {
    let length = end.map { $0 - start } ?? strlen(start)
    let bytes = UnsafeRawBufferPointer(start: start, count: length)
    let sql = String(decoding: bytes, as: UTF8.self).trimmingCharacters(in: .whitespacesAndNewlines)
    return SQLiteError(result: result, database: handle.pointer, sql: sql, path: path)
  }
}
