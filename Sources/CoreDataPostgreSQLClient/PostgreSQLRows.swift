// OpenCoreData
// SPDX-License-Identifier: Apache-2.0

import CPostgreSQL
import Foundation

/// The rows that a statement has returned, in PostgreSQL's binary format. Columns are read by the types that they have.
package final class PostgreSQLRows: @unchecked Sendable {
  // Immutable once it has been received.
  private let result: OpaquePointer
  package let count: Int
  package let columnCount: Int
  private let types: [PostgreSQLType]

  init(_ result: OpaquePointer) {
    self.result = result
    count = Int(cpq_PQntuples(result))
    columnCount = Int(cpq_PQnfields(result))
    types = (0..<columnCount).map { PostgreSQLType(rawValue: cpq_PQftype(result, Int32($0))) }
  }

  deinit { cpq_PQclear(result) }

  /// The number of rows that the statement has inserted, updated, deleted or returned.
  package var affected: Int { Int(String(libpq: cpq_PQcmdTuples(result))) ?? 0 }

  package func type(of column: Int) -> PostgreSQLType { types[column] }

  package func isNull(_ row: Int, _ column: Int) -> Bool { cpq_PQgetisnull(result, Int32(row), Int32(column)) != 0 }

  /// The bytes of a value, which live as long as the rows.
  package func bytes(_ row: Int, _ column: Int) -> UnsafeRawBufferPointer {
    UnsafeRawBufferPointer(
      start: cpq_PQgetvalue(result, Int32(row), Int32(column)),
      count: Int(cpq_PQgetlength(result, Int32(row), Int32(column))))
  }

  private func start(_ row: Int, _ column: Int) -> UnsafeRawPointer {
    // libpq returns an empty text for a missing value, never a null pointer.
    UnsafeRawPointer(cpq_PQgetvalue(result, Int32(row), Int32(column)).unsafelyUnwrapped)
  }

  /// An integer; 0 for a missing value, and for one that is no number.
  package func int64(_ row: Int, _ column: Int) -> Int64 {
    let length = cpq_PQgetlength(result, Int32(row), Int32(column))
    let start = start(row, column)
    switch length {
    case 8 where types[column] != .float8: return Int64(bigEndian: start.loadUnaligned(as: Int64.self))
    case 4 where types[column] != .float4: return Int64(Int32(bigEndian: start.loadUnaligned(as: Int32.self)))
    case 2: return Int64(Int16(bigEndian: start.loadUnaligned(as: Int16.self)))
    case 1: return Int64(start.load(as: UInt8.self))
    case 0: return 0
    default: return Int64(exactly: double(row, column).rounded(.towardZero)) ?? 0
    }
  }

  /// A number; 0 for a missing value, and for one that is no number.
  package func double(_ row: Int, _ column: Int) -> Double {
    switch types[column] {
    case .float8:
      if isNull(row, column) { return 0 }
      return Double(bitPattern: UInt64(bigEndian: start(row, column).loadUnaligned(as: UInt64.self)))
    case .float4:
      if isNull(row, column) { return 0 }
      return Double(Float(bitPattern: UInt32(bigEndian: start(row, column).loadUnaligned(as: UInt32.self))))
    case .numeric: return Double(numericText(row, column)) ?? 0
    case .int2, .int4, .int8, .bool, .oid: return Double(int64(row, column))
    default: return 0
    }
  }

  package func bool(_ row: Int, _ column: Int) -> Bool {
    types[column] == .bool ? bytes(row, column).first == 1 : int64(row, column) != 0
  }

  package func string(_ row: Int, _ column: Int) -> String { String(decoding: bytes(row, column), as: UTF8.self) }

  package func data(_ row: Int, _ column: Int) -> Data { Data(bytes(row, column)) }

  package func uuid(_ row: Int, _ column: Int) -> UUID {
    let bytes = bytes(row, column)
    guard bytes.count == 16 else { return UUID(uuid: (0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0)) }
    return UUID(uuid: bytes.loadUnaligned(as: uuid_t.self))
  }

  /// A timestamp in microseconds since 2000-01-01; the least and the greatest integer are the infinite ones.
  package func microseconds(_ row: Int, _ column: Int) -> Int64 { int64(row, column) }

  /// A number in decimal digits.
  package func numericText(_ row: Int, _ column: Int) -> String {
    if types[column] == .numeric { return PostgreSQLNumeric.text(bytes(row, column)) ?? PostgreSQLNumeric.notANumber }
    return types[column] == .float8 || types[column] == .float4
      ? String(double(row, column)) : String(int64(row, column))
  }

  package func value(_ row: Int, _ column: Int) -> PostgreSQLValue {
    if isNull(row, column) { return .null }
    switch types[column] {
    case .int2, .int4, .int8, .oid: return .integer(int64(row, column))
    case .float4, .float8: return .real(double(row, column))
    case .bool: return .boolean(bool(row, column))
    case .bytea: return .bytes(data(row, column))
    case .uuid: return .uuid(uuid(row, column))
    case .numeric: return .numeric(numericText(row, column))
    case .timestamptz: return .timestamp(microseconds: microseconds(row, column))
    default: return .text(string(row, column))
    }
  }
}
