// OpenCoreData
// SPDX-License-Identifier: Apache-2.0

import CSQLite
import Foundation

/// Reads the texts and BLOBs of a column in parts, so that a whole value need not fit in memory.
///
/// The table must be an ordinary rowid table. Reads the value in the row of the last ``move(to:)``. Like a statement, a
/// reader may outlive its connection's use; reading then throws an error.
package final class SQLiteColumnReader {
  private let handle: DatabaseHandle
  private let table: String
  private let column: String
  private var pointer: OpaquePointer?

  /// The row of the current value; nil before the first call of `move(to:)`.
  package private(set) var row: Int64?
  /// The number of bytes of the current value.
  package private(set) var count = 0

  init(handle: DatabaseHandle, table: String, column: String) {
    self.handle = handle
    self.table = table
    self.column = column
  }

  deinit { close() }

  private func close() {
    if let pointer { handle.closeBlob(pointer) }
    pointer = nil
    (row, count) = (nil, 0)
  }

  /// Moves to the value of a row.
  ///
  /// - Throws: `SQLiteError`, also if the value is neither a text nor a BLOB.
  package func move(to row: Int64) throws {
    let database = try handle.opened()
    if let pointer {
      let result = sqlite3_blob_reopen(pointer, row)
      guard result == SQLITE_OK else {
        // SQLite does not reuse a handle after moving it has failed.
        defer { close() }
        throw SQLiteError(result: result, database: database, sql: place(row), path: handle.path)
      }
      (self.row, count) = (row, Int(sqlite3_blob_bytes(pointer)))
      return
    }
    var opened: OpaquePointer?
    let result = sqlite3_blob_open(database, "main", table, column, row, 0, &opened)
    guard result == SQLITE_OK, let opened else {
      throw SQLiteError(result: result, database: database, sql: place(row), path: handle.path)
    }
    handle.adoptBlob(opened)
    pointer = opened
    (self.row, count) = (row, Int(sqlite3_blob_bytes(opened)))
  }

  /// The read in the form of SQL, for errors.
  private func place(_ row: Int64) -> String {
    "SELECT \(SQLName.quoted(column)) FROM \(SQLName.quoted(table)) WHERE rowid = \(row)"
  }

  /// Fills a buffer with the bytes of the current value from an offset.
  ///
  /// - Throws: `SQLiteError`, also if the value has fewer bytes.
  package func read(at offset: Int, into buffer: UnsafeMutableRawBufferPointer) throws {
    let database = try handle.opened()
    guard let pointer else {
      throw SQLiteError(extendedCode: SQLITE_MISUSE, message: "no row was chosen", sql: nil, path: handle.path)
    }
    guard !buffer.isEmpty else { return }
    let result = sqlite3_blob_read(pointer, buffer.baseAddress, Int32(clamping: buffer.count), Int32(clamping: offset))
    guard result == SQLITE_OK else {
      throw SQLiteError(result: result, database: database, sql: nil, path: handle.path)
    }
  }
}

extension SQLiteConnection {
  /// Returns a reader for the texts and BLOBs of a column, or nil if its values cannot be read in parts.
  ///
  /// Reading in parts requires an ordinary table whose integer primary key has the given name, a column that is not
  /// generated, and a database in UTF-8.
  package func columnReader(
    _ column: String, of table: DatabaseCatalog.Table, key: String
  ) throws -> SQLiteColumnReader? {
    guard !table.isVirtual, table.column(named: column)?.isGenerated == false,
      table.columns.filter({ $0.primaryKeyPosition > 0 }).map({ SQLName.folded($0.name) }) == [SQLName.folded(key)],
      table.column(named: key)?.declaredType.uppercased() == "INTEGER", try !hasKeyIndex(table.name),
      try scalar("PRAGMA main.encoding")?.text == "UTF-8"
    else { return nil }
    return SQLiteColumnReader(handle: handle, table: table.name, column: column)
  }

  /// Returns whether the primary key has its own index, because the table is WITHOUT ROWID or the key is not the rowid.
  private func hasKeyIndex(_ table: String) throws -> Bool {
    try rows("PRAGMA main.index_list(\(SQLName.quoted(table)))").contains { $0["origin"]?.text == "pk" }
  }
}
