// OpenCoreData
// SPDX-License-Identifier: Apache-2.0

import CSQLite
import Foundation

extension SQLiteError: CustomStringConvertible, LocalizedError {
  /// What happened, what to do about it, and SQLite's own words.
  package var description: String {
    var details = "SQLite \(extendedCode): \(message)"
    if let systemError { details += "; system: \(String(cString: strerror(systemError)))" }
    if let sql { details += "; statement: \(sql.count > 400 ? sql.prefix(400) + "…" : sql)" }
    return "\(sentence.prefix(1).uppercased())\(sentence.dropFirst()) (\(details))"
  }

  /// The same as `description`.
  package var errorDescription: String? { description }

  private var file: String {
    path == ":memory:" || path.isEmpty ? "the database in memory" : "\u{201C}\(path)\u{201D}"
  }

  private var sentence: String {
    switch code {
    case SQLITE_BUSY, SQLITE_LOCKED:
      "\(file) is locked by another connection. Wait until the other program is done with it, or close it."
    case SQLITE_READONLY:
      "\(file) cannot be written. Check the permissions of the file and of its directory, and how it was opened."
    case SQLITE_FULL:
      "There is no room to write \(file). Free space on the disk and try again; the last transaction was undone."
    case SQLITE_IOERR:
      "Reading or writing \(file) failed in the file system. Check the disk and its connection."
    case SQLITE_CORRUPT:
      "\(file) is damaged. Restore it from a backup, or recover what can be read from a copy."
    case SQLITE_NOTADB:
      "\(file) is not an SQLite database, or it is encrypted. Check that it is the file you mean."
    case SQLITE_CANTOPEN:
      "\(file) cannot be opened. Check that it and its directory exist and may be accessed."
    case SQLITE_PERM, SQLITE_AUTH:
      "Access to \(file) was refused. Check the permissions of the file and of its directory."
    case SQLITE_CONSTRAINT:
      "A change of \(file) breaks a rule of its tables."
    case SQLITE_INTERRUPT:
      "Work on \(file) was interrupted before it was done."
    case SQLITE_NOMEM, SQLITE_TOOBIG:
      "A value or a result is too large for the memory or for SQLite, in \(file)."
    case SQLITE_SCHEMA:
      "The tables of \(file) were changed by another connection meanwhile. Try again."
    case SQLITE_MISUSE:
      "A call on \(file) was not possible at that moment."
    default:
      "A statement failed on \(file)."
    }
  }
}
