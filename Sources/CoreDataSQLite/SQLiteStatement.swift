// OpenCoreData
// SPDX-License-Identifier: Apache-2.0

import CSQLite
import Foundation

/// One compiled SQL statement: bind values, step through rows, read columns.
///
/// Parameters are counted from 1, as in `?1`; columns are counted from 0. A statement may outlive the use of its
/// connection; after the connection was closed binding and stepping throw.
package final class SQLiteStatement: @unchecked Sendable {
  /// The text that was compiled.
  package let sql: String
  let handle: DatabaseHandle
  private var pointer: OpaquePointer?

  init(pointer: OpaquePointer, handle: DatabaseHandle, sql: String) {
    self.pointer = pointer
    self.handle = handle
    self.sql = sql
    handle.adopt(pointer)
  }

  deinit {
    finalize()
  }

  /// Frees what SQLite holds for the statement now, instead of with its last reference.
  package func finalize() {
    if let pointer { handle.finalize(pointer) }
    pointer = nil
  }

  /// Goes to the next row.
  ///
  /// - Returns: false when there are no more rows; another call would start over.
  /// - Throws: `SQLiteError`; the statement is reset then and holds no lock.
  package func step() throws -> Bool {
    let pointer = try opened()
    let result = sqlite3_step(pointer)
    if result == SQLITE_ROW { return true }
    if result == SQLITE_DONE { return false }
    let error = SQLiteError(result: result, database: handle.pointer, sql: sql, path: handle.path)
    sqlite3_reset(pointer)
    throw error
  }

  /// Goes back before the first row and lets go of locks; bindings stay.
  package func reset() {
    // The result repeats the error of the last step, which was thrown there.
    if handle.isOpen { sqlite3_reset(pointer) }
  }

  /// Makes every parameter null.
  package func clearBindings() {
    if handle.isOpen, let pointer { sqlite3_clear_bindings(pointer) }
  }

  /// Whether the statement leaves the database file as it is.
  package var isReadOnly: Bool { sqlite3_stmt_readonly(live) != 0 }

  /// The text with bound values in the place of parameters; nil where SQLite cannot make it.
  package var expandedSQL: String? {
    guard let text = sqlite3_expanded_sql(live) else { return nil }
    defer { sqlite3_free(text) }
    return String(cString: text)
  }

  /// The pointer, where using a finalized statement is a mistake of the program.
  var live: OpaquePointer {
    guard let pointer, handle.isOpen else {
      preconditionFailure("The statement was finalized or its connection closed: \(sql)")
    }
    return pointer
  }

  /// The pointer, or an error that says that the statement can no longer be used.
  func opened() throws -> OpaquePointer {
    _ = try handle.opened(for: sql)
    guard let pointer else {
      throw SQLiteError(
        extendedCode: SQLITE_MISUSE, message: "the statement was finalized", sql: sql, path: handle.path)
    }
    return pointer
  }
}
