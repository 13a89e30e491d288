// OpenCoreData
// SPDX-License-Identifier: Apache-2.0

import CoreDataPostgreSQLClient
import CoreDataPredicates
import CoreDataStoreFiles
import Foundation

/// Collects values as the parameters of a statement.
struct ParameterSink: ColumnSink {
  var values: [PostgreSQLValue] = []

  mutating func null() { values.append(.null) }
  mutating func put(integer: Int64) { values.append(.integer(integer)) }
  mutating func put(smaller: Int64) { values.append(.integer(smaller)) }
  mutating func put(boolean: Bool) { values.append(.boolean(boolean)) }
  mutating func put(double: Double) { values.append(.real(double)) }
  mutating func put(float: Float) { values.append(.real(Double(float))) }
  mutating func put(microseconds: Int64) { values.append(.timestamp(microseconds: microseconds)) }
  mutating func put(decimal: Decimal) { values.append(.numeric(DecimalConversion.text(of: decimal))) }
  mutating func put(string: String) throws {
    if string.utf8.contains(0) { throw UnwritableValue.zeroCharacter }
    values.append(.text(string))
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
  func put(double: Double) { writer.field(double: double) }
  func put(float: Float) { writer.field(float: float) }
  func put(microseconds: Int64) { writer.field(timestampMicroseconds: microseconds) }
  func put(decimal: Decimal) { writer.field(decimal: decimal) }
  func put(string: String) throws {
    guard writer.field(text: string) else { throw UnwritableValue.zeroCharacter }
  }
  func put(data: Data) { data.withUnsafeBytes { writer.field(bytes: $0) } }
  func put(uuid: UUID) { writer.field(uuid: uuid) }
}
