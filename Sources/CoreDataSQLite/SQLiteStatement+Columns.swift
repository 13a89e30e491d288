// OpenCoreData
// SPDX-License-Identifier: Apache-2.0

import CSQLite
import Foundation

/// What kind of value a column of the current row holds.
package enum SQLiteType: Hashable, Sendable {
  case null, integer, real, text, blob
}

/// Reads the row that ``step()`` went to. An index beyond the last column reads null.
extension SQLiteStatement {
  /// How many columns a row has; 0 for a statement without rows.
  package var columnCount: Int { Int(sqlite3_column_count(live)) }

  /// The names of the columns, as SQL or its AS clauses give them.
  package var columnNames: [String] {
    (0..<columnCount).map { index in
      sqlite3_column_name(live, Int32(index)).map { String(cString: $0) } ?? ""
    }
  }

  /// What kind of value the column holds in this row.
  package func type(at index: Int) -> SQLiteType {
    switch sqlite3_column_type(live, Int32(truncatingIfNeeded: index)) {
    case SQLITE_INTEGER: .integer
    case SQLITE_FLOAT: .real
    case SQLITE_TEXT: .text
    case SQLITE_BLOB: .blob
    default: .null
    }
  }

  /// Whether the column is null in this row.
  package func isNull(at index: Int) -> Bool {
    sqlite3_column_type(live, Int32(truncatingIfNeeded: index)) == SQLITE_NULL
  }

  /// The column as integer; 0 for null, and SQLite's conversion for other kinds.
  package func int64(at index: Int) -> Int64 {
    sqlite3_column_int64(live, Int32(truncatingIfNeeded: index))
  }

  /// The column as number; 0 for null, and SQLite's conversion for other kinds.
  package func double(at index: Int) -> Double {
    sqlite3_column_double(live, Int32(truncatingIfNeeded: index))
  }

  /// The column as text; nil for null. Bytes that are not UTF-8 are replaced by U+FFFD.
  package func text(at index: Int) -> String? {
    let index = Int32(truncatingIfNeeded: index)
    guard let start = sqlite3_column_text(live, index) else { return nil }
    let count = Int(sqlite3_column_bytes(live, index))
    return String(decoding: UnsafeBufferPointer(start: start, count: count), as: UTF8.self)
  }

  /// The column as bytes; nil for null.
  package func blob(at index: Int) -> Data? {
    isNull(at: index) ? nil : withBlob(at: index) { Data($0) }
  }

  /// Lends the bytes of the column without a copy; no bytes for null.
  ///
  /// - Parameters:
  ///   - index: the column.
  ///   - body: must neither keep the buffer nor touch the statement.
  package func withBlob<Result>(at index: Int, _ body: (UnsafeRawBufferPointer) throws -> Result) rethrows -> Result {
    let index = Int32(truncatingIfNeeded: index)
    let start = sqlite3_column_blob(live, index)
    return try body(UnsafeRawBufferPointer(start: start, count: Int(sqlite3_column_bytes(live, index))))
  }

  /// The column as a value of its own kind.
  package func value(at index: Int) -> SQLiteValue {
    switch type(at: index) {
    case .null: .null
    case .integer: .integer(int64(at: index))
    case .real: .real(double(at: index))
    case .text: .text(text(at: index) ?? "")
    case .blob: .blob(blob(at: index) ?? Data())
    }
  }
}
