// OpenCoreData
// SPDX-License-Identifier: Apache-2.0

import CSQLite
import Foundation

/// What SQLite could not do, with everything that helps to find out why.
package struct SQLiteError: Error, Hashable, Sendable {
  /// The extended result code, as 2067 for a uniqueness constraint.
  package let extendedCode: Int32
  /// SQLite's own message.
  package let message: String
  /// The statement that failed; nil where the failure belongs to none.
  package let sql: String?
  /// The database file as it was given to the connection.
  package let path: String
  /// The number of the operating system's error (`errno`) behind an I/O failure; nil for other failures.
  package let systemError: Int32?

  /// Describes a failure.
  package init(extendedCode: Int32, message: String, sql: String?, path: String, systemError: Int32? = nil) {
    self.extendedCode = extendedCode
    self.message = message
    self.sql = sql
    self.path = path
    self.systemError = systemError
  }

  /// Describes what a call of SQLite's C API has just returned.
  init(result: Int32, database: OpaquePointer?, sql: String?, path: String) {
    // The connection remembers the details of its last failure, which need not be the one at hand.
    let remembered = sqlite3_extended_errcode(database)
    let fits = database != nil && remembered & 0xFF == result & 0xFF
    let code = fits ? remembered : result
    let primary = code & 0xFF
    var systemError: Int32?
    // SQLite notes the system's error for these two only; for others the number would be that of an older failure.
    if fits, primary == SQLITE_IOERR || primary == SQLITE_CANTOPEN {
      let number = sqlite3_system_errno(database)
      systemError = number == 0 ? nil : number
    }
    self.init(
      extendedCode: code, message: String(cString: fits ? sqlite3_errmsg(database) : sqlite3_errstr(code)), sql: sql,
      path: path, systemError: systemError)
  }

  /// The primary result code, as 19 for any constraint.
  package var code: Int32 { extendedCode & 0xFF }

  /// Another connection holds a lock that is needed.
  package var isBusy: Bool { code == SQLITE_BUSY || code == SQLITE_LOCKED }
  /// The file, its directory or the connection allows no writing.
  package var isReadOnly: Bool { code == SQLITE_READONLY }
  /// A journal has to be rolled back, and the connection may not write (`SQLITE_READONLY_ROLLBACK`).
  package var isHotJournal: Bool { extendedCode == SQLITE_READONLY | 3 << 8 }
  /// The disk, or the size that the database is allowed to have, is full.
  package var isFull: Bool { code == SQLITE_FULL }
  /// The operating system failed to read or write.
  package var isIOError: Bool { code == SQLITE_IOERR }
  /// The file is a database, but a damaged one.
  package var isCorrupt: Bool { code == SQLITE_CORRUPT }
  /// The file is something else than a database, or an encrypted one.
  package var isNotADatabase: Bool { code == SQLITE_NOTADB }
  /// The file, or one that belongs beside it, is missing or may not be opened.
  package var isCannotOpen: Bool { code == SQLITE_CANTOPEN }
  /// Any constraint of a table was violated.
  package var isConstraint: Bool { code == SQLITE_CONSTRAINT }
  /// Values that must be unique were not: a unique index or a primary key.
  package var isUniqueConstraint: Bool {
    // The macros of extended codes are expressions that Swift does not import: 19 | 8 << 8, 19 | 6 << 8, 19 | 10 << 8.
    [2067, 1555, 2579].contains(extendedCode)
  }
  /// A column that must have a value had none.
  package var isNotNullConstraint: Bool { extendedCode == SQLITE_CONSTRAINT | 5 << 8 }
  /// `interrupt()` or a progress handler ended the statement.
  package var isInterrupted: Bool { code == SQLITE_INTERRUPT }

  /// The columns of a violated uniqueness, as table and column, as far as SQLite's message names them.
  package var violatedColumns: [(table: String, column: String)] {
    guard isConstraint, let colon = message.range(of: "constraint failed: ") else { return [] }
    return message[colon.upperBound...].components(separatedBy: ", ").compactMap { name in
      guard let dot = name.firstIndex(of: ".") else { return nil }
      return (String(name[..<dot]), String(name[name.index(after: dot)...]))
    }
  }
}
