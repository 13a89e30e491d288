// OpenCoreData
// SPDX-License-Identifier: Apache-2.0

import CoreData
import CoreDataPostgreSQLClient
import CoreDataPredicates
import CoreDataSQLite
import CoreDataStoreFiles
import Foundation

/// A destination for the values of columns, in their order.
protocol ColumnSink {
  mutating func null()
  mutating func put(integer: Int64)
  /// Puts an integer into a column of the smaller type, which stores entity numbers and versions.
  mutating func put(smaller: Int64)
  mutating func put(boolean: Bool)
  /// Puts a number that is not NaN.
  mutating func put(number: Double)
  mutating func put(float: Float)
  mutating func put(microseconds: Int64)
  mutating func put(decimal: Decimal)
  /// Returns false for a text with U+0000, which PostgreSQL cannot store.
  mutating func put(string: String) -> Bool
  mutating func put(data: Data)
  mutating func put(uuid: UUID)
}

extension ColumnSink {
  /// Puts a number. NaN is written as NULL, as in SQLite stores.
  @inline(__always)
  mutating func put(double: Double) { if double.isNaN { null() } else { put(number: double) } }

  /// Puts the two columns of a date: the timestamp, and the remainder that a timestamp cannot represent.
  mutating func put(date seconds: Double) {
    guard let date = StoredDate(seconds: seconds) else {
      null()
      null()
      return
    }
    put(microseconds: date.timestamp)
    if let remainder = date.remainder { put(number: remainder) } else { null() }
  }

  /// Puts the value of an attribute.
  ///
  /// - Parameter value: the value as SQLite stores it, made by `ColumnValues`, which refuses U+0000.
  mutating func put(_ value: SQLiteValue, _ coding: ColumnCoding) {
    switch (coding, value) {
    case (.date, _): put(date: value.real ?? .nan)
    case (_, .null): null()
    case (.boolean, .integer(let number)): put(boolean: number != 0)
    case (.float, .real(let number)): if number.isNaN { null() } else { put(float: Float(number)) }
    case (.decimal, .text(let text)): put(decimal: StoredDecimal.object(text)?.decimalValue ?? .nan)
    case (.uuid, .blob(let bytes)): put(uuid: bytes.withUnsafeBytes { UUID(uuid: $0.loadUnaligned(as: uuid_t.self)) })
    case (_, .integer(let number)): put(integer: number)
    case (_, .real(let number)): put(double: number)
    case (_, .text(let text)): _ = put(string: text)
    case (_, .blob(let data)): put(data: data)
    }
  }
}

/// Collects values as the parameters of a statement.
struct ParameterSink: ColumnSink {
  var values: [PostgreSQLValue] = []

  mutating func null() { values.append(.null) }
  mutating func put(integer: Int64) { values.append(.integer(integer)) }
  mutating func put(smaller: Int64) { values.append(.integer(smaller)) }
  mutating func put(boolean: Bool) { values.append(.boolean(boolean)) }
  mutating func put(number: Double) { values.append(.real(number)) }
  mutating func put(float: Float) { values.append(.real(Double(float))) }
  mutating func put(microseconds: Int64) { values.append(.timestamp(microseconds: microseconds)) }
  mutating func put(decimal: Decimal) { values.append(.numeric(DecimalConversion.text(of: decimal))) }
  mutating func put(string: String) -> Bool {
    values.append(.text(string))
    return !string.utf8.contains(0)
  }
  mutating func put(data: Data) { values.append(.bytes(data)) }
  mutating func put(uuid: UUID) { values.append(.uuid(uuid)) }
}

/// Writes values into a COPY.
struct CopySink: ColumnSink {
  let writer: CopyWriter

  func null() { writer.null() }
  func put(integer: Int64) { writer.field(int64: integer) }
  func put(smaller: Int64) { writer.field(int32: Int32(truncatingIfNeeded: smaller)) }
  func put(boolean: Bool) { writer.field(bool: boolean) }
  func put(number: Double) { writer.field(double: number) }
  func put(float: Float) { writer.field(float: float) }
  func put(microseconds: Int64) { writer.field(timestampMicroseconds: microseconds) }
  func put(decimal: Decimal) { writer.field(decimal: decimal) }
  func put(string: String) -> Bool { writer.field(text: string) }
  func put(data: Data) { data.withUnsafeBytes { writer.field(bytes: $0) } }
  func put(uuid: UUID) { writer.field(uuid: uuid) }
}
