// OpenCoreData
// SPDX-License-Identifier: Apache-2.0

import CSQLite
import Foundation

/// An error reported by SQLite, with the details needed to diagnose it.
package struct SQLiteError: Error, Hashable, Sendable {
  /// The extended result code, such as 2067 for a violated uniqueness constraint.
  package let extendedCode: Int32
  /// SQLite's own message.
  package let message: String
  /// The statement that failed; nil if the error does not concern a statement.
  package let sql: String?
  /// The path of the database as passed to the connection.
  package let path: String
  /// The operating system's error number (`errno`) behind an I/O error; nil for other errors.
  package let systemError: Int32?

  package init(extendedCode: Int32, message: String, sql: String?, path: String, systemError: Int32? = nil) {
    self.extendedCode = extendedCode
    self.message = message
    self.sql = sql
    self.path = path
    self.systemError = systemError
  }

  /// Creates an error from the result of a call to SQLite's C API.
  init(result: Int32, database: OpaquePointer?, sql: String?, path: String) {
    // The connection keeps the details of its last error, which need not be this one.
    let remembered = sqlite3_extended_errcode(database)
    let fits = database != nil && remembered & 0xFF == result & 0xFF
    let code = fits ? remembered : result
    let primary = code & 0xFF
    var systemError: Int32?
    // SQLite sets the system error for these two codes only. For other codes the number may be from an earlier error.
    if fits, primary == SQLITE_IOERR || primary == SQLITE_CANTOPEN {
      let number = sqlite3_system_errno(database)
      systemError = number == 0 ? nil : number
    }
    self.init(
      extendedCode: code, message: String(cString: fits ? sqlite3_errmsg(database) : sqlite3_errstr(code)), sql: sql,
      path: path, systemError: systemError)
  }

  /// The maximum length of a path that SQLite opens, in bytes.
  private static let longestPath = 510

  /// Returns an error that says so if the file cannot be opened because its path is too long; otherwise this error.
  func explainingLength() -> SQLiteError {
    guard code == SQLITE_CANTOPEN, !path.isEmpty, path != ":memory:" else { return self }
    let length: Int
    if let absolute = realpath(path, nil) {
      length = strlen(absolute)
      free(absolute)
    } else {
      let directory = path.hasPrefix("/") ? "" : FileManager.default.currentDirectoryPath + "/"
      length = directory.utf8.count + path.utf8.count
    }
    guard length > Self.longestPath else { return self }
    return SQLiteError(
      extendedCode: extendedCode,
      message:
        "the whole path has \(length) bytes, and SQLite opens paths of up to \(Self.longestPath) bytes; move the "
        + "store to a directory with a shorter path", sql: sql, path: path, systemError: systemError)
  }

  /// The primary result code, such as 19 for any constraint.
  package var code: Int32 { extendedCode & 0xFF }

  /// Whether another connection holds a required lock.
  package var isBusy: Bool { code == SQLITE_BUSY || code == SQLITE_LOCKED }
  /// Whether the file, its directory or the connection is read-only.
  package var isReadOnly: Bool { code == SQLITE_READONLY }
  /// Whether a journal must be rolled back, but the connection is read-only (`SQLITE_READONLY_ROLLBACK`).
  package var isHotJournal: Bool { extendedCode == SQLITE_READONLY | 3 << 8 }
  /// Whether the disk is full, or the database has reached its maximum size.
  package var isFull: Bool {
    // Extending the log's index (`SQLITE_IOERR_SHMSIZE`) needs disk space too.
    code == SQLITE_FULL
      || isIOError && (systemError.map { [ENOSPC, EDQUOT].contains($0) } ?? (extendedCode == SQLITE_IOERR | 19 << 8))
  }
  /// Whether the operating system failed to read or write.
  package var isIOError: Bool { code == SQLITE_IOERR }
  /// Whether the operating system could not read expected contents of the file (`SQLITE_IOERR_READ`, `_SHORT_READ`,
  /// `_DATA`, `_CORRUPTFS`).
  package var isReadError: Bool { isIOError && [1, 2, 32, 33].contains(extendedCode >> 8) }
  /// Whether the database is damaged.
  package var isCorrupt: Bool { code == SQLITE_CORRUPT }
  /// Whether the file is not a database, or is an encrypted one.
  package var isNotADatabase: Bool { code == SQLITE_NOTADB }
  /// Whether the file, or a companion file, is missing or may not be opened.
  package var isCannotOpen: Bool { code == SQLITE_CANTOPEN }
  /// Whether a file could not be opened because too many files are open or memory is short. Opening it may succeed
  /// later.
  package var isOutOfResources: Bool {
    isCannotOpen && systemError.map { [EMFILE, ENFILE, ENOMEM].contains($0) } == true
  }
  /// Whether any constraint was violated.
  package var isConstraint: Bool { code == SQLITE_CONSTRAINT }
  /// Whether a unique index or a primary key was violated.
  package var isUniqueConstraint: Bool {
    // Swift does not import the macros for extended codes: 19 | 8 << 8, 19 | 6 << 8, 19 | 10 << 8.
    [2067, 1555, 2579].contains(extendedCode)
  }
  /// Whether `interrupt()` or a progress handler ended the statement.
  package var isInterrupted: Bool { code == SQLITE_INTERRUPT }

  /// Whether `SUM` or `ABS` of integers exceeded 64 bits.
  package var isIntegerOverflow: Bool { code == SQLITE_ERROR && message == "integer overflow" }
  /// Whether a statement is nested too deeply, has too many values, or is too long.
  package var isTooComplex: Bool {
    code == SQLITE_TOOBIG
      || code == SQLITE_ERROR
        && (message.hasPrefix("Expression tree is too large") || message == "too many SQL variables"
          || message == "parser stack overflow")
  }

  /// The columns of a violated constraint, as far as SQLite's message names them.
  package var violatedColumns: [(table: String, column: String)] {
    guard isConstraint, let colon = message.range(of: "constraint failed: ") else { return [] }
    return message[colon.upperBound...].components(separatedBy: ", ").compactMap { name in
      guard let dot = name.firstIndex(of: ".") else { return nil }
      return (String(name[..<dot]), String(name[name.index(after: dot)...]))
    }
  }
}

extension SQLiteError: CustomStringConvertible, LocalizedError {
  /// A description of what happened and what to do, with SQLite's own message.
  package var description: String {
    var details = "SQLite \(extendedCode): \(message)"
    if let systemError { details += "; system: \(String(cString: strerror(systemError)))" }
    if let sql { details += "; statement: \(sql.count > 400 ? sql.prefix(400) + "…" : sql)" }
    return "\(sentence.prefix(1).uppercased())\(sentence.dropFirst()) (\(details))"
  }

  package var errorDescription: String? { description }

  private var file: String {
    path == ":memory:" || path.isEmpty ? "the database in memory" : "\u{201C}\(path)\u{201D}"
  }

  private var sentence: String {
    switch code {
    case SQLITE_BUSY, SQLITE_LOCKED:
      "\(file) is locked by another connection. Wait until the other program has finished, or close it."
    case SQLITE_READONLY:
      "\(file) cannot be written. Check the permissions of the file and of its directory, and how it was opened."
    case SQLITE_FULL:
      "There is no space to write \(file). Free space on the disk and try again; the last transaction was rolled back."
    case SQLITE_IOERR:
      "Reading or writing \(file) failed in the file system. Check the disk and its connection."
    case SQLITE_CORRUPT:
      "\(file) is damaged. Restore it from a backup, or recover what can be read from a copy."
    case SQLITE_NOTADB:
      "\(file) is not an SQLite database, or it is encrypted. Check that this is the intended file."
    case SQLITE_CANTOPEN:
      "\(file) cannot be opened. Check that it and its directory exist and may be accessed."
    case SQLITE_PERM, SQLITE_AUTH:
      "Access to \(file) was refused. Check the permissions of the file and of its directory."
    case SQLITE_CONSTRAINT:
      "A change to \(file) violates a constraint of its tables."
    case SQLITE_INTERRUPT:
      "An operation on \(file) was interrupted before it finished."
    case SQLITE_NOMEM, SQLITE_TOOBIG:
      "A value or a result is too large for the memory or for SQLite, in \(file)."
    case SQLITE_SCHEMA:
      "Another connection has changed the schema of \(file). Try again."
    case SQLITE_MISUSE:
      "A call on \(file) was made at a time when it is not allowed."
    default:
      "A statement failed on \(file)."
    }
  }
}
