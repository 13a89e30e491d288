// OpenCoreData
// SPDX-License-Identifier: Apache-2.0

import CSQLite
import Foundation

/// How a database keeps the way back from an unfinished transaction.
package enum SQLiteJournalMode: String, Hashable, Sendable, CaseIterable {
  case delete, truncate, persist, memory, wal, off
}

extension SQLiteConnection {
  /// Reads a pragma.
  ///
  /// - Parameters:
  ///   - name: as `user_version`.
  ///   - schema: the name of an attached database; nil for the default.
  /// - Returns: the first column of the first row; nil where SQLite knows no such pragma or has no answer.
  package func pragma(_ name: String, schema: String? = nil) throws -> SQLiteValue? {
    try prepare("PRAGMA \(qualified(name, schema))").scalar()
  }

  /// Sets a pragma.
  ///
  /// SQLite ignores names that it does not know and refuses some values without an error: look at the answer, or read
  /// the pragma again.
  ///
  /// - Parameters:
  ///   - name: as `user_version`.
  ///   - value: an integer, a real or a text; texts may be words such as `WAL`.
  ///   - schema: the name of an attached database; nil for the default.
  /// - Returns: what SQLite answers; nil for the many pragmas that answer nothing.
  @discardableResult
  package func setPragma(_ name: String, to value: SQLiteValue, schema: String? = nil) throws -> SQLiteValue? {
    try prepare("PRAGMA \(qualified(name, schema)) = \(value.literal)").scalar()
  }

  /// The journal mode of the main database.
  ///
  /// - Throws: `SQLiteError`; also where SQLite answers with a mode that this module does not know.
  package func journalMode() throws -> SQLiteJournalMode {
    try journalMode(answer: pragma("journal_mode"))
  }

  /// Changes the journal mode of the main database.
  ///
  /// - Throws: `SQLiteError` where SQLite keeps another mode, as it does for databases in memory.
  package func setJournalMode(_ mode: SQLiteJournalMode) throws {
    let kept = try journalMode(answer: setPragma("journal_mode", to: .text(mode.rawValue)))
    guard kept == mode else {
      throw SQLiteError(
        extendedCode: SQLITE_ERROR, message: "journal mode stays \(kept.rawValue), \(mode.rawValue) was refused",
        sql: "PRAGMA journal_mode = \(mode.rawValue)", path: path)
    }
  }

  private func journalMode(answer: SQLiteValue?) throws -> SQLiteJournalMode {
    guard case .text(let name) = answer, let mode = SQLiteJournalMode(rawValue: name.lowercased()) else {
      throw SQLiteError(
        extendedCode: SQLITE_ERROR, message: "unknown journal mode \(answer?.literal ?? "(no answer)")",
        sql: "PRAGMA journal_mode", path: path)
    }
    return mode
  }

  private func qualified(_ name: String, _ schema: String?) -> String {
    let quoted = SQLName.quoted(name)
    return schema.map { SQLName.quoted($0) + "." + quoted } ?? quoted
  }
}
