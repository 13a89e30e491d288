// OpenCoreData
// SPDX-License-Identifier: Apache-2.0

import CSQLite
import Foundation

/// Tells SQLite to copy bytes before the call returns (`SQLITE_TRANSIENT`, a cast that Swift does not import).
let copiedBySQLite = unsafeBitCast(-1, to: sqlite3_destructor_type.self)

extension SQLiteStatement {
  /// The largest index of a parameter.
  package var parameterCount: Int { Int(sqlite3_bind_parameter_count(live)) }

  /// The index of a parameter by name, as `:name`; nil where the statement has none such.
  package func parameterIndex(_ name: String) -> Int? {
    let index = sqlite3_bind_parameter_index(live, name)
    return index == 0 ? nil : Int(index)
  }

  /// Makes a parameter null.
  package func bindNull(at index: Int) throws {
    try check(sqlite3_bind_null(opened(), Int32(clamping: index)))
  }

  /// Gives a parameter an integer.
  package func bind(_ value: Int64, at index: Int) throws {
    try check(sqlite3_bind_int64(opened(), Int32(clamping: index), value))
  }

  /// Gives a parameter a number; SQLite makes NaN null.
  package func bind(_ value: Double, at index: Int) throws {
    try check(sqlite3_bind_double(opened(), Int32(clamping: index), value))
  }

  /// Gives a parameter a text.
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

  /// Gives a parameter bytes.
  package func bind(_ value: Data, at index: Int) throws {
    try value.withUnsafeBytes { try bind(bytes: $0, at: index) }
  }

  /// Gives a parameter bytes, which are copied.
  package func bind(bytes: UnsafeRawBufferPointer, at index: Int) throws {
    let pointer = try opened()
    let result =
      bytes.isEmpty
      ? sqlite3_bind_zeroblob(pointer, Int32(clamping: index), 0)
      : sqlite3_bind_blob64(
        pointer, Int32(clamping: index), bytes.baseAddress, UInt64(bytes.count), copiedBySQLite)
    try check(result)
  }

  /// Gives a parameter a value of any kind.
  package func bind(_ value: SQLiteValue, at index: Int) throws {
    switch value {
    case .null: try bindNull(at: index)
    case .integer(let value): try bind(value, at: index)
    case .real(let value): try bind(value, at: index)
    case .text(let value): try bind(value, at: index)
    case .blob(let value): try bind(value, at: index)
    }
  }

  /// Gives a parameter what stands in a column of the row that another statement is at, whichever connection it is of.
  package func bind(column: Int, of row: SQLiteStatement, at index: Int) throws {
    let value = sqlite3_column_value(row.live, Int32(clamping: column))
    try check(sqlite3_bind_value(opened(), Int32(clamping: index), value))
  }

  /// Gives the first parameters these values, in order.
  package func bind(_ values: [SQLiteValue]) throws {
    for (offset, value) in values.enumerated() { try bind(value, at: offset + 1) }
  }

  private func check(_ result: Int32) throws {
    try handle.check(result, sql: sql)
  }
}
