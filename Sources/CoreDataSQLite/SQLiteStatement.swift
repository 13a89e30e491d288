// OpenCoreData
// SPDX-License-Identifier: Apache-2.0

import CSQLite
import CoreDataMistakes
import CoreDataTracing
import Foundation

/// A compiled SQL statement: bind values, step through rows, read columns.
///
/// Parameters are numbered from 1, as in `?1`, and columns from 0. A statement may outlive its connection's use: once
/// the connection is closed, binding and stepping throw an error.
package final class SQLiteStatement {
  /// The SQL that was compiled.
  package let sql: String
  let handle: DatabaseHandle
  private var pointer: OpaquePointer?
  /// The run that is measured; nil if nobody receives reports of statements.
  var run: StatementRun?

  init(pointer: OpaquePointer, handle: DatabaseHandle, sql: String) {
    self.pointer = pointer
    self.handle = handle
    self.sql = sql
    handle.adopt(pointer)
  }

  deinit {
    finalize()
  }

  /// Frees SQLite's resources for the statement without waiting for its last reference to be released.
  package func finalize() {
    if run != nil { endRun() }
    if let pointer { handle.finalize(pointer) }
    pointer = nil
  }

  /// Advances to the next row.
  ///
  /// - Returns: false if there are no more rows; another call would start over.
  /// - Throws: `SQLiteError`; the statement is then reset and holds no lock.
  package func step() throws -> Bool {
    let pointer = try opened()
    let result = StatementTracing.isOn ? measuredStep(pointer) : sqlite3_step(pointer)
    if result == SQLITE_ROW { return true }
    if result == SQLITE_DONE { return false }
    let error = SQLiteError(result: result, database: handle.pointer, sql: sql, path: handle.path)
    if run != nil { endRun(error) }
    sqlite3_reset(pointer)
    throw error
  }

  /// Moves back before the first row and releases locks. Bindings stay.
  package func reset() {
    if run != nil { endRun() }
    // The result repeats the error of the last step, which has already been thrown.
    if handle.isOpen { sqlite3_reset(pointer) }
  }

  /// Sets all parameters to null.
  package func clearBindings() {
    if handle.isOpen, let pointer { sqlite3_clear_bindings(pointer) }
  }

  /// The pointer. Traps if the statement was finalized.
  var live: OpaquePointer {
    guard let pointer, handle.isOpen else {
      trap("The statement was finalized or its connection closed: \(sql)")
    }
    return pointer
  }

  /// Returns the pointer, or throws an error if the statement was finalized.
  func opened() throws -> OpaquePointer {
    // This is a hot path: every binding and every step comes here.
    if let pointer, handle.isOpen { return pointer }
    _ = try handle.opened(for: sql)
    guard let pointer else {
      throw SQLiteError(
        extendedCode: SQLITE_MISUSE, message: "the statement was finalized", sql: sql, path: handle.path)
    }
    return pointer
  }
}

/// Makes SQLite copy the bytes before the call returns (`SQLITE_TRANSIENT`, a cast that Swift does not import).
let copiedBySQLite = unsafeBitCast(-1, to: sqlite3_destructor_type.self)

extension SQLiteStatement {
  /// Binds null to a parameter.
  package func bindNull(at index: Int) throws {
    try check(sqlite3_bind_null(opened(), Int32(clamping: index)))
  }

  /// Binds an integer to a parameter.
  package func bind(_ value: Int64, at index: Int) throws {
    try check(sqlite3_bind_int64(opened(), Int32(clamping: index), value))
  }

  /// Binds a number to a parameter; SQLite turns NaN into null.
  package func bind(_ value: Double, at index: Int) throws {
    try check(sqlite3_bind_double(opened(), Int32(clamping: index), value))
  }

  /// Binds a text to a parameter.
  package func bind(_ value: String, at index: Int) throws {
    let pointer = try opened()
    var value = value
    let result = value.withUTF8 { bytes in
      bytes.withMemoryRebound(to: CChar.self) {
        sqlite3_bind_text64(
          pointer, Int32(clamping: index), $0.baseAddress, UInt64($0.count), copiedBySQLite, UInt8(SQLITE_UTF8))
      }
    }
    try check(result)
  }

  /// Binds a BLOB to a parameter.
  package func bind(_ value: Data, at index: Int) throws {
    try value.withUnsafeBytes { try bind(bytes: $0, at: index) }
  }

  /// Binds a copy of some bytes to a parameter as a BLOB.
  package func bind(bytes: UnsafeRawBufferPointer, at index: Int) throws {
    let pointer = try opened()
    let result =
      bytes.isEmpty
      ? sqlite3_bind_zeroblob(pointer, Int32(clamping: index), 0)
      : sqlite3_bind_blob64(
        pointer, Int32(clamping: index), bytes.baseAddress, UInt64(bytes.count), copiedBySQLite)
    try check(result)
  }

  /// Binds a value of any type to a parameter.
  package func bind(_ value: SQLiteValue, at index: Int) throws {
    switch value {
    case .null: try bindNull(at: index)
    case .integer(let value): try bind(value, at: index)
    case .real(let value): try bind(value, at: index)
    case .text(let value): try bind(value, at: index)
    case .blob(let value): try bind(value, at: index)
    }
  }

  /// Binds values to the first parameters, in order.
  package func bind(_ values: [SQLiteValue]) throws {
    for (offset, value) in values.enumerated() { try bind(value, at: offset + 1) }
  }

  func check(_ result: Int32) throws {
    if result != SQLITE_OK { try handle.check(result, sql: sql) }
  }
}

/// The type of a value in a row.
package enum SQLiteType: Hashable, Sendable {
  case null, integer, real, text, blob

  fileprivate init(_ code: Int32) {
    self =
      switch code {
      case SQLITE_INTEGER: .integer
      case SQLITE_FLOAT: .real
      case SQLITE_TEXT: .text
      case SQLITE_BLOB: .blob
      default: .null
      }
  }
}

/// Reads the current row of ``step()``. An index past the last column reads null.
extension SQLiteStatement {
  /// The number of columns; 0 for a statement that returns no rows.
  package var columnCount: Int { Int(sqlite3_column_count(live)) }

  /// The names of the columns, as given by the SQL or its AS clauses.
  package var columnNames: [String] {
    (0..<columnCount).map { index in
      sqlite3_column_name(live, Int32(index)).map { String(cString: $0) } ?? ""
    }
  }

  /// Returns the type of the value in a column of the current row.
  package func type(at index: Int) -> SQLiteType {
    SQLiteType(sqlite3_column_type(live, Int32(truncatingIfNeeded: index)))
  }

  /// Returns whether a column of the current row is null.
  package func isNull(at index: Int) -> Bool {
    sqlite3_column_type(live, Int32(truncatingIfNeeded: index)) == SQLITE_NULL
  }

  /// Returns a column as an integer: 0 for null, SQLite's conversion for other types.
  package func int64(at index: Int) -> Int64 {
    sqlite3_column_int64(live, Int32(truncatingIfNeeded: index))
  }

  /// Returns a column as a number: 0 for null, SQLite's conversion for other types.
  package func double(at index: Int) -> Double {
    sqlite3_column_double(live, Int32(truncatingIfNeeded: index))
  }

  /// Returns a column as a text, or nil for null. Invalid UTF-8 is replaced by U+FFFD.
  package func text(at index: Int) -> String? {
    let index = Int32(truncatingIfNeeded: index)
    guard let start = sqlite3_column_text(live, index) else { return nil }
    let count = Int(sqlite3_column_bytes(live, index))
    return String(decoding: UnsafeBufferPointer(start: start, count: count), as: UTF8.self)
  }

  /// Returns a column as bytes, or nil for null.
  package func blob(at index: Int) -> Data? {
    isNull(at: index) ? nil : withBlob(at: index) { Data($0) }
  }

  /// Calls a closure with the bytes of a column, without copying them; no bytes for null.
  ///
  /// - Parameters:
  ///   - index: The column.
  ///   - body: Must neither keep the buffer nor use the statement.
  package func withBlob<Result>(at index: Int, _ body: (UnsafeRawBufferPointer) throws -> Result) rethrows -> Result {
    let index = Int32(truncatingIfNeeded: index)
    let start = sqlite3_column_blob(live, index)
    return try body(UnsafeRawBufferPointer(start: start, count: Int(sqlite3_column_bytes(live, index))))
  }

  /// Returns a column as a value of its stored type.
  package func value(at index: Int) -> SQLiteValue {
    switch type(at: index) {
    case .null: .null
    case .integer: .integer(int64(at: index))
    case .real: .real(double(at: index))
    case .text: .text(text(at: index) ?? "")
    case .blob: .blob(blob(at: index) ?? Data())
    }
  }

  /// Returns a column as a value of its stored type. Returns a text that is not valid UTF-8 as a BLOB, so that nothing
  /// is lost.
  package func exactValue(at index: Int) -> SQLiteValue {
    let isText = type(at: index) == .text
    return isText && !withBlob(at: index, SQLiteText.isUTF8) ? .blob(blob(at: index) ?? Data()) : value(at: index)
  }
}

/// A value of a statement's current row, valid until the statement is stepped or reset.
///
/// Faster than reading through the statement, where each call to SQLite looks up the value again. Like the statement,
/// it must be used by one thread at a time.
package struct SQLiteColumn {
  fileprivate let value: OpaquePointer?

  /// The type of the value.
  package var type: SQLiteType { SQLiteType(sqlite3_value_type(value)) }

  /// The value as an integer: 0 for null, SQLite's conversion for other types.
  package var int64: Int64 { sqlite3_value_int64(value) }

  /// The value as a number: 0 for null, SQLite's conversion for other types.
  package var double: Double { sqlite3_value_double(value) }

  /// The UTF-8 bytes of the value converted to text; empty for null.
  package var text: UnsafeRawBufferPointer {
    let start = sqlite3_value_text(value)
    return UnsafeRawBufferPointer(start: start, count: Int(sqlite3_value_bytes(value)))
  }

  /// The bytes of the value; empty for null.
  package var blob: UnsafeRawBufferPointer {
    let start = sqlite3_value_blob(value)
    return UnsafeRawBufferPointer(start: start, count: Int(sqlite3_value_bytes(value)))
  }
}

/// The values of a statement's current row, valid until the statement is stepped or reset.
package struct SQLiteCurrentRow {
  fileprivate let pointer: OpaquePointer

  /// Returns the value in a column.
  @inline(__always)
  package func column(at index: Int32) -> SQLiteColumn { SQLiteColumn(value: sqlite3_column_value(pointer, index)) }
}

extension SQLiteStatement {
  /// The current row, for reading several columns.
  package var row: SQLiteCurrentRow { SQLiteCurrentRow(pointer: live) }

  /// Returns the value in a column of the current row.
  package func column(at index: Int) -> SQLiteColumn {
    SQLiteColumn(value: sqlite3_column_value(live, Int32(truncatingIfNeeded: index)))
  }
}

/// A row as values, for use where convenience matters more than speed.
package struct SQLiteRow: Hashable, Sendable {
  /// The names of the columns; empty if another database engine has read the row.
  package let columns: [String]
  /// The values, one for each column.
  package let values: [SQLiteValue]

  package init(_ values: [SQLiteValue], columns: [String] = []) {
    (self.columns, self.values) = (columns, values)
  }

  /// The value of the column at an index, from 0.
  package subscript(index: Int) -> SQLiteValue { values[index] }

  /// The value of the first column with the given name, or nil if there is none.
  package subscript(column: String) -> SQLiteValue? {
    columns.firstIndex(of: column).map { values[$0] }
  }
}

extension SQLiteStatement {
  /// Runs the statement from its start and returns its rows.
  package func rows() throws -> [SQLiteRow] {
    reset()
    var columns: [String]?
    var rows: [SQLiteRow] = []
    while try step() {
      // Read the names after the first step: SQLite may recompile the statement there, for a changed schema.
      let names = columns ?? columnNames
      columns = names
      rows.append(SQLiteRow(names.indices.map { value(at: $0) }, columns: names))
    }
    return rows
  }

  /// Runs the statement from its start and returns the first column of the first row, or nil if there is no row.
  package func scalar() throws -> SQLiteValue? {
    reset()
    defer { reset() }
    return try step() ? value(at: 0) : nil
  }

  /// Runs the statement from its start and calls a closure for every row, which reads its columns.
  package func forEachRow(_ body: (SQLiteStatement) throws -> Void) throws {
    reset()
    defer { reset() }
    while try step() { try body(self) }
  }
}
