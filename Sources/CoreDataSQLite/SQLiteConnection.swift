// OpenCoreData
// SPDX-License-Identifier: Apache-2.0

import CSQLite
import CoreDataFileSystem
import CoreDataTracing
import Foundation

/// An open connection to an SQLite database file.
///
/// A connection, its statements and everything obtained from them may be used on any thread, but only one at a time.
/// Only ``interrupt()`` may be called concurrently. The unsafe pointers of SQLite's C API do not leave this module.
package final class SQLiteConnection: @unchecked Sendable {
  /// How a database file is opened.
  package enum Mode: Hashable, Sendable {
    /// Read-only. In WAL mode SQLite may still create the `-wal` and `-shm` files beside the database.
    case readOnly
    /// Read-write; fails if the file does not exist.
    case readWrite
    /// Read-write; creates the file if it does not exist.
    case create
    /// Read-only, takes no locks, creates no files and *ignores a write-ahead log*: for files that no process writes
    /// to.
    case immutable
  }

  /// The path as passed; `:memory:` for a database without a file.
  package let path: String
  package let mode: Mode
  /// The number of idle statements that ``cached(_:_:)`` keeps.
  package var statementCacheLimit = 128

  let handle: DatabaseHandle
  var idleStatements: [String: IdleStatement] = [:]
  var statementUses: UInt64 = 0
  var savepointDepth = 0
  /// The seconds that a statement waits for a lock.
  package private(set) var busyTimeout: TimeInterval = 0
  @exclusivity(unchecked) var keptRead = KeptRead()

  /// Opens a database.
  ///
  /// SQLite reads nothing before the first statement, so only then does it detect a file that is not a database.
  ///
  /// - Parameters:
  ///   - path: A file system path, or `:memory:`.
  ///   - mode: What the connection may do with the file.
  ///   - busyTimeout: The seconds to wait for a lock before a statement fails as busy.
  /// - Throws: `SQLiteError` (`isCannotOpen`) if the file is missing or cannot be opened, or if it or a companion file
  ///   is not a regular file.
  package init(path: String, mode: Mode, busyTimeout: TimeInterval = 5) throws {
    StatementTracing.prepare()
    try DatabaseCompanions.check(path)
    var flags = SQLITE_OPEN_NOMUTEX
    var name = path
    switch mode {
    case .readOnly: flags |= SQLITE_OPEN_READONLY
    case .readWrite: flags |= SQLITE_OPEN_READWRITE
    case .create: flags |= SQLITE_OPEN_READWRITE | SQLITE_OPEN_CREATE
    case .immutable:
      flags |= SQLITE_OPEN_READONLY | SQLITE_OPEN_URI
      name = Self.immutableURI(path)
    }
    var pointer: OpaquePointer?
    let result = sqlite3_open_v2(
      name, &pointer, flags, Optimization.readAhead.isOn ? DatabaseReadAhead.name : nil)
    guard result == SQLITE_OK, let pointer else {
      defer { sqlite3_close(pointer) }
      throw SQLiteError(result: result, database: pointer, sql: nil, path: path).explainingLength()
    }
    sqlite3_extended_result_codes(pointer, 1)
    self.path = path
    self.mode = mode
    self.handle = DatabaseHandle(pointer: pointer, path: path)
    setBusyTimeout(busyTimeout)
    try distrustSchema()
  }

  /// Opens a database at a file URL.
  package convenience init(url: URL, mode: Mode, busyTimeout: TimeInterval = 5) throws {
    try self.init(path: url.path, mode: mode, busyTimeout: busyTimeout)
  }

  /// Opens a new in-memory database, which lives as long as its connection.
  package static func inMemory() throws -> SQLiteConnection {
    try SQLiteConnection(path: ":memory:", mode: .create)
  }

  /// Whether the connection has not been closed.
  package var isOpen: Bool { handle.isOpen }

  /// Whether the database is read-only, by request or because of its permissions.
  ///
  /// SQLite opens a file without write permission read-only, even if ``Mode/readWrite`` was requested.
  package var isReadOnly: Bool { sqlite3_db_readonly(handle.live, "main") == 1 }

  /// Finalizes all statements, rolls back an open transaction and closes the file. Does nothing if already closed.
  ///
  /// Remaining statements of the connection throw an error when used.
  package func close() throws {
    idleStatements.removeAll()
    try handle.close()
  }

  /// Sets how long a statement waits for a lock before it fails as busy.
  ///
  /// - Parameter seconds: The time to wait; 0 to fail at once.
  package func setBusyTimeout(_ seconds: TimeInterval) {
    busyTimeout = seconds
    sqlite3_busy_timeout(handle.pointer, Int32(clamping: Int(max(0, min(seconds, 86_400)) * 1000)))
  }

  /// The number of rows changed by the last INSERT, UPDATE or DELETE.
  package var changes: Int { Int(sqlite3_changes(handle.live)) }

  /// The number of rows changed since the connection was opened.
  package var totalChanges: Int { Int(sqlite3_total_changes(handle.live)) }

  private static func immutableURI(_ path: String) -> String {
    let encoded = path.utf8.map { byte in
      switch byte {
      case UInt8(ascii: "a")...UInt8(ascii: "z"), UInt8(ascii: "A")...UInt8(ascii: "Z"),
        UInt8(ascii: "0")...UInt8(ascii: "9"), UInt8(ascii: "/"), UInt8(ascii: "-"), UInt8(ascii: "."),
        UInt8(ascii: "_"):
        String(UnicodeScalar(byte))
      default:
        "%" + (byte < 16 ? "0" : "") + String(byte, radix: 16)
      }
    }
    // The empty host before an absolute path keeps SQLite from taking the first component of `//a/b` for a host.
    return (path.hasPrefix("/") ? "file://" : "file:") + encoded.joined() + "?immutable=1"
  }
}

/// An idle statement in the cache of a connection.
struct IdleStatement {
  let statement: SQLiteStatement
  let lastUse: UInt64
}

extension SQLiteConnection {
  /// Runs all statements of a script and discards their rows.
  ///
  /// - Parameter script: Statements separated by semicolons; may contain comments.
  /// - Throws: `SQLiteError` with the statement that failed. The preceding statements have taken effect.
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
        guard result == SQLITE_OK else {
          let error = failure(result, from: rest, to: nil)
          reportFailedCompilation(error)
          throw error
        }
        if let statement {
          let run = StatementTracing.isOn ? StatementRun(text(from: rest, to: next), of: statement, handle) : nil
          var step = sqlite3_step(statement)
          while step == SQLITE_ROW {
            run?.rowCount += 1
            step = sqlite3_step(statement)
          }
          guard step == SQLITE_DONE else {
            let error = failure(step, from: rest, to: next)
            run?.end(error.reported)
            throw error
          }
          run?.noteChanges(by: statement, handle)
          run?.end()
        }
        rest = next
      }
    }
  }

  /// Compiles one statement.
  ///
  /// - Parameters:
  ///   - sql: Exactly one statement.
  ///   - persistent: Whether the statement will be kept for a long time.
  /// - Throws: `SQLiteError` if the SQL does not compile, or is not exactly one statement.
  package func prepare(_ sql: String, persistent: Bool = false) throws -> SQLiteStatement {
    let database = try handle.opened(for: sql)
    let flags = persistent ? UInt32(SQLITE_PREPARE_PERSISTENT) : 0
    let pointer = try sql.withCString { start -> OpaquePointer in
      var statement: OpaquePointer?
      var tail: UnsafePointer<CChar>?
      do {
        try handle.check(sqlite3_prepare_v3(database, start, -1, flags, &statement, &tail), sql: sql)
      } catch let error as SQLiteError {
        reportFailedCompilation(error)
        throw error
      }
      guard let statement else { throw misuse("the text holds no statement", sql) }
      if let tail, tail.pointee != 0 {
        var second: OpaquePointer?
        // A tail of spaces and comments compiles to no statement. Anything else is a second statement, valid or not.
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

  /// Calls a closure with a cached statement. Afterwards resets the statement and clears its bindings.
  ///
  /// The closure may request the same SQL again: a statement in use is not shared.
  ///
  /// - Parameters:
  ///   - sql: Exactly one statement; also the cache key.
  ///   - body: Binds, steps and reads; must not keep the statement.
  package func cached<Result>(_ sql: String, _ body: (SQLiteStatement) throws -> Result) throws -> Result {
    let statement = try idleStatements.removeValue(forKey: sql)?.statement ?? prepare(sql, persistent: true)
    defer { release(statement) }
    return try body(statement)
  }

  /// The number of idle statements in the cache.
  package var idleStatementCount: Int { idleStatements.count }

  /// Runs a cached statement to completion and discards its rows.
  package func run(_ sql: String, _ arguments: [SQLiteValue] = []) throws {
    try cached(sql) { statement in
      try statement.bind(arguments)
      while try statement.step() {}
    }
  }

  /// Returns the rows of a cached statement.
  package func rows(_ sql: String, _ arguments: [SQLiteValue] = []) throws -> [SQLiteRow] {
    try cached(sql) { statement in
      try statement.bind(arguments)
      return try statement.rows()
    }
  }

  /// Returns the first column of the first row of a cached statement, or nil if there is no row.
  package func scalar(_ sql: String, _ arguments: [SQLiteValue] = []) throws -> SQLiteValue? {
    try cached(sql) { statement in
      try statement.bind(arguments)
      return try statement.scalar()
    }
  }

  private func release(_ statement: SQLiteStatement) {
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
    SQLiteError(result: result, database: handle.pointer, sql: text(from: start, to: end), path: path)
  }

  /// Returns a part of a script; the rest of it without an end.
  private func text(from start: UnsafePointer<CChar>, to end: UnsafePointer<CChar>?) -> String {
    let length = end.map { $0 - start } ?? strlen(start)
    let bytes = UnsafeRawBufferPointer(start: start, count: length)
    return String(decoding: bytes, as: UTF8.self).trimmingCharacters(in: .whitespacesAndNewlines)
  }
}

/// A transaction that could not be rolled back after its body threw an error.
package struct SQLiteRollbackFailure: Error, CustomStringConvertible {
  /// The error that the body threw.
  package let cause: any Error
  /// The error of the rollback.
  package let rollback: any Error

  package var description: String {
    "\(cause) – and the changes made so far could not be rolled back: \(rollback)"
  }
}

extension SQLiteConnection {
  /// When a transaction takes its locks.
  package enum TransactionMode: String, Hashable, Sendable {
    /// Takes locks at the first statement that reads or writes.
    case deferred = "DEFERRED"
    /// Takes the write lock at once; other connections can still read.
    case immediate = "IMMEDIATE"
    /// Takes all locks at once; in WAL mode the same as immediate.
    case exclusive = "EXCLUSIVE"
  }

  /// Whether a transaction is open, begun either by this type or by an SQL statement.
  package var inTransaction: Bool {
    guard let pointer = handle.pointer else { return false }
    return sqlite3_get_autocommit(pointer) == 0
  }

  /// Begins a transaction that ``commit()`` or ``rollback()`` ends.
  package func begin(_ mode: TransactionMode = .deferred) throws {
    try run("BEGIN \(mode.rawValue)")
  }

  /// Commits the open transaction.
  ///
  /// - Throws: `SQLiteError`; if readers block the commit (`isBusy`), the transaction stays open.
  package func commit() throws {
    let wasOpen = inTransaction
    do {
      try run("COMMIT")
    } catch let error as SQLiteError where error.isInterrupted && wasOpen && !inTransaction {
      // SQLite calls the progress handler once more after everything was written, and then reports an interruption
      // although the commit succeeded. An interruption in time leaves the transaction open.
    }
  }

  /// Rolls back the open transaction. Does nothing if none is open, since SQLite itself rolls back after some errors.
  package func rollback() throws {
    guard inTransaction else { return }
    try run("ROLLBACK")
  }

  /// Runs a closure in a transaction.
  ///
  /// Inside another transaction, uses a savepoint: if the closure throws, only its own changes are rolled back. After a
  /// full disk or an I/O error SQLite may have rolled back everything, so an outer closure must not continue.
  ///
  /// - Parameters:
  ///   - mode: The lock to take; ignored for a nested transaction.
  ///   - body: The work.
  /// - Returns: The result of the closure.
  /// - Throws: The error of the closure, the error of the commit after rolling back, or `SQLiteRollbackFailure`.
  package func transaction<Result>(_ mode: TransactionMode = .immediate, _ body: () throws -> Result) throws -> Result {
    if inTransaction { return try savepoint(body) }
    try begin(mode)
    do {
      let result = try body()
      try commit()
      return result
    } catch {
      try undo(after: error) { try rollback() }
      throw error
    }
  }

  private func savepoint<Result>(_ body: () throws -> Result) throws -> Result {
    savepointDepth += 1
    let name = "nested\(savepointDepth)"
    defer { savepointDepth -= 1 }
    try run("SAVEPOINT \(name)")
    do {
      let result = try body()
      try run("RELEASE \(name)")
      return result
    } catch {
      try undo(after: error) {
        guard inTransaction else { return }
        try run("ROLLBACK TO \(name)")
        try run("RELEASE \(name)")
      }
      throw error
    }
  }

  private func undo(after cause: any Error, _ rollback: () throws -> Void) throws {
    do {
      try rollback()
    } catch {
      throw SQLiteRollbackFailure(cause: cause, rollback: error)
    }
  }
}
