// OpenCoreData
// SPDX-License-Identifier: Apache-2.0

import CoreDataSQLite
import Foundation

/// The values of deleted rows in history.
///
/// In SQLite a column holds values of any type. In PostgreSQL it holds bytes: the first one gives the type of the
/// value, and the others its binary form.
package enum HistoryTombstone {
  private enum Mark: UInt8 {
    case integer = 1
    case real = 2
    case text = 3
    case bytes = 4
    /// A timestamp and, unless it represents the date exactly, the remainder (`StoredDate`).
    case date = 5
  }

  /// Returns SQL for the value of an attribute to keep; nil for an attribute without a column of its own.
  package static func sql(of attribute: AttributeLayout, _ dialect: SQLDialect) -> String? {
    guard let column = attribute.column.map(SQLName.quoted) else { return nil }
    switch dialect {
    case .sqlite:
      // Values in external data files are not kept, since the files are removed with the row.
      return attribute.allowsExternalStorage
        ? "CASE WHEN SUBSTR(\(column), 1, 1) = X'02' THEN NULL ELSE \(column) END" : column
    case .postgreSQL: return postgreSQL(attribute, column)
    }
  }

  private static func postgreSQL(_ attribute: AttributeLayout, _ column: String) -> String? {
    func marked(_ mark: Mark, _ bytes: String) -> String { "decode('0\(mark.rawValue)', 'hex') || \(bytes)" }
    switch attribute.kind {
    case .integer16, .integer32, .integer64: return marked(.integer, "int8send(\(column))")
    case .boolean: return marked(.integer, "int8send(CAST(CAST(\(column) AS INTEGER) AS BIGINT))")
    case .double, .float: return marked(.real, "float8send(CAST(\(column) AS DOUBLE PRECISION))")
    case .decimal: return marked(.text, "convert_to(CAST(\(column) AS TEXT), 'UTF8')")
    case .string, .uri: return marked(.text, "convert_to(\(column), 'UTF8')")
    case .uuid: return marked(.bytes, "uuid_send(\(column))")
    case .binaryData, .transformable: return marked(.bytes, column)
    case .date:
      let remainder = attribute.remainderColumn.map {
        " || COALESCE(float8send(\(SQLName.quoted($0))), decode('', 'hex'))"
      }
      return marked(.date, "timestamptz_send(\(column))" + (remainder ?? ""))
    case .undefined, .objectID, .composite: return nil
    }
  }

  /// Returns the value stored in a column; null if its bytes are not a valid value.
  static func value(of stored: SQLiteValue, _ dialect: SQLDialect) -> SQLiteValue {
    guard dialect == .postgreSQL else { return stored }
    guard let bytes = stored.blob, let mark = bytes.first.flatMap(Mark.init) else { return .null }
    let rest = bytes.dropFirst()
    switch mark {
    case .integer: return number(rest).map { .integer(Int64(bitPattern: $0)) } ?? .null
    case .real: return number(rest).map { .real(Double(bitPattern: $0)) } ?? .null
    case .text: return String(data: rest, encoding: .utf8).map { .text($0) } ?? .null
    case .bytes: return .blob(Data(rest))
    case .date:
      guard let timestamp = number(rest.prefix(8)) else { return .null }
      let remainder = number(rest.dropFirst(8)).map { Double(bitPattern: $0) }
      return .real(StoredDate(timestamp: Int64(bitPattern: timestamp), remainder: remainder).seconds)
    }
  }

  /// Returns the column's content for a value.
  static func stored(_ value: SQLiteValue, _ dialect: SQLDialect) -> SQLiteValue {
    guard dialect == .postgreSQL else { return value }
    func marked(_ mark: Mark, _ bytes: Data) -> SQLiteValue { .blob(Data([mark.rawValue]) + bytes) }
    func bytes(_ number: UInt64) -> Data { withUnsafeBytes(of: number.bigEndian) { Data($0) } }
    switch value {
    case .null: return .null
    case .integer(let number): return marked(.integer, bytes(UInt64(bitPattern: number)))
    case .real(let number): return marked(.real, bytes(number.bitPattern))
    case .text(let text): return marked(.text, Data(text.utf8))
    case .blob(let data): return marked(.bytes, data)
    }
  }

  /// Reads eight bytes, the most significant first.
  private static func number(_ bytes: Data) -> UInt64? {
    bytes.count == 8 ? bytes.reduce(0) { $0 << 8 | UInt64($1) } : nil
  }
}
