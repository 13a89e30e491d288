// OpenCoreData
// SPDX-License-Identifier: Apache-2.0

import CSQLite
import Foundation

/// One open connection to one SQLite database file.
///
/// A connection, its statements and everything that they hand out may be used by any thread, but by one at a time; only
/// ``interrupt()`` may be called from elsewhere. The unsafe pointers of SQLite's C API do not leave this module.
package final class SQLiteConnection: @unchecked Sendable {
  /// How a database file is opened.
  package enum Mode: Hashable, Sendable {
    /// Reads only. In WAL mode the `-wal` and `-shm` files may still be created beside the database.
    case readOnly
    /// Reads and writes; fails where the file does not exist.
    case readWrite
    /// Reads and writes; makes the file where it does not exist.
    case create
    /// Reads only, takes no locks, makes no files and *ignores a write-ahead log*: for files that nobody writes.
    case immutable
  }

  /// The path as given; `:memory:` for a database without a file.
  package let path: String
  /// How the file was opened.
  package let mode: Mode
  /// How many idle statements ``cached(_:_:)`` keeps.
  package var statementCacheLimit = 128

  let handle: DatabaseHandle
  var idleStatements: [String: IdleStatement] = [:]
  var statementUses: UInt64 = 0
  var savepointDepth = 0

  /// Opens a database.
  ///
  /// SQLite reads nothing until the first statement, so a file that is no database is noticed only then.
  ///
  /// - Parameters:
  ///   - path: a path of the file system, or `:memory:`.
  ///   - mode: what the connection may do with the file.
  ///   - busyTimeout: seconds to wait for a lock before a statement fails as busy.
  /// - Throws: `SQLiteError` (`isCannotOpen`) where the file is missing or may not be opened, and where it or what lies
  ///   beside it is no regular file.
  package init(path: String, mode: Mode, busyTimeout: TimeInterval = 5) throws {
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
    let result = sqlite3_open_v2(name, &pointer, flags, nil)
    guard result == SQLITE_OK, let pointer else {
      defer { sqlite3_close(pointer) }
      throw SQLiteError(result: result, database: pointer, sql: nil, path: path)
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

  /// Opens a new database that lives in memory and ends with its connection.
  package static func inMemory() throws -> SQLiteConnection {
    try SQLiteConnection(path: ":memory:", mode: .create)
  }

  /// Whether ``close()`` has not been called yet.
  package var isOpen: Bool { handle.isOpen }

  /// Whether nothing can be written: as asked for, or because the rights of the file do not allow it.
  ///
  /// SQLite opens a file that it may not write for reading, also where ``Mode/readWrite`` was asked for.
  package var isReadOnly: Bool { sqlite3_db_readonly(handle.live, "main") == 1 }

  /// Finalizes every statement, rolls back an open transaction and releases the file. A second call does nothing.
  ///
  /// Statements of the connection that are still around throw when they are used afterwards.
  package func close() throws {
    idleStatements.removeAll()
    try handle.close()
  }

  /// How long a statement waits for a lock of another connection before it fails as busy.
  ///
  /// - Parameter seconds: 0 for not at all.
  package func setBusyTimeout(_ seconds: TimeInterval) {
    sqlite3_busy_timeout(handle.pointer, Int32(clamping: Int(max(0, min(seconds, 86_400)) * 1000)))
  }

  /// Rows changed by the last INSERT, UPDATE or DELETE.
  package var changes: Int { Int(sqlite3_changes(handle.live)) }

  /// Rows changed since the connection was opened.
  package var totalChanges: Int { Int(sqlite3_total_changes(handle.live)) }

  /// The row identifier that the last INSERT made; 0 before any.
  package var lastInsertRowID: Int64 { sqlite3_last_insert_rowid(handle.live) }

  /// The version of the SQLite library, as `3.40.1`.
  package static var libraryVersion: String { String(cString: sqlite3_libversion()) }

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
    // The empty host before an absolute path keeps SQLite from taking the first name of `//a/b` for one.
    return (path.hasPrefix("/") ? "file://" : "file:") + encoded.joined() + "?immutable=1"
  }
}
