// OpenCoreData
// SPDX-License-Identifier: Apache-2.0

import CPostgreSQL
import CoreDataMistakes
import Foundation

/// The rows returned by a statement, in PostgreSQL's binary format. Read each column as the type it has.
///
/// Rows and columns are numbered from 0. Values out of range read as null. Any thread may read rows.
package final class PostgreSQLRows: @unchecked Sendable {
  // Changed only while one thread reads the rows one by one (`forEachRow`). Members used for every value are inlinable
  // into other modules.
  @usableFromInline @exclusivity(unchecked) package private(set) var result: OpaquePointer
  @usableFromInline package let types: UnsafeMutablePointer<PostgreSQLType>
  @exclusivity(unchecked) package private(set) var count: Int
  package let columnCount: Int

  init(_ result: OpaquePointer) {
    self.result = result
    count = Int(cpq_PQntuples(result))
    columnCount = Int(cpq_PQnfields(result))
    types = .allocate(capacity: columnCount)
    for column in 0..<columnCount {
      (types + column).initialize(to: PostgreSQLType(rawValue: cpq_PQftype(result, Int32(column))))
    }
  }

  /// Replaces the result by the next one of the same statement.
  func replace(by next: OpaquePointer) {
    cpq_PQclear(result)
    result = next
    count = Int(cpq_PQntuples(next))
  }

  deinit {
    types.deallocate()
    cpq_PQclear(result)
  }

  /// The number of rows that the statement inserted, updated, deleted or returned.
  package var affected: Int { Int(String(libpq: cpq_PQcmdTuples(result))) ?? 0 }

  package func type(of column: Int) -> PostgreSQLType {
    trap(unless: column >= 0 && column < columnCount, "the result has no column \(column)")
    return types[column]
  }

  package func name(of column: Int) -> String { String(libpq: cpq_PQfname(result, Int32(column))) }

  @inlinable @inline(__always)
  package func isNull(_ row: Int, _ column: Int) -> Bool {
    cpq_PQgetisnull(result, Int32(truncatingIfNeeded: row), Int32(truncatingIfNeeded: column)) != 0
  }

  /// Returns the bytes of a value, valid as long as the rows.
  @inlinable @inline(__always)
  package func bytes(_ row: Int, _ column: Int) -> UnsafeRawBufferPointer {
    let (row, column) = (Int32(truncatingIfNeeded: row), Int32(truncatingIfNeeded: column))
    return UnsafeRawBufferPointer(
      start: cpq_PQgetvalue(result, row, column), count: Int(cpq_PQgetlength(result, row, column)))
  }

  /// Returns a value of a fixed size, or nil if it has another size, as null has.
  @inlinable @inline(__always)
  func fixed<Number: FixedWidthInteger & BitwiseCopyable>(_ row: Int, _ column: Int, as type: Number.Type) -> Number? {
    let (row, column) = (Int32(truncatingIfNeeded: row), Int32(truncatingIfNeeded: column))
    guard cpq_PQgetlength(result, row, column) == Int32(MemoryLayout<Number>.size),
      let start = cpq_PQgetvalue(result, row, column)
    else { return nil }
    return Number(bigEndian: UnsafeRawPointer(start).loadUnaligned(as: Number.self))
  }

  /// Returns an integer, or 0 if the value is null or not a number.
  @inlinable @inline(__always)
  package func int64(_ row: Int, _ column: Int) -> Int64 {
    types[column] == .int8 ? fixed(row, column, as: Int64.self) ?? 0 : otherInt64(row, column)
  }

  @usableFromInline
  func otherInt64(_ row: Int, _ column: Int) -> Int64 {
    switch types[column] {
    case .int4: return Int64(fixed(row, column, as: Int32.self) ?? 0)
    case .int2: return Int64(fixed(row, column, as: Int16.self) ?? 0)
    case .oid: return Int64(fixed(row, column, as: UInt32.self) ?? 0)
    case .bool: return Int64(fixed(row, column, as: UInt8.self) ?? 0)
    case .timestamptz: return fixed(row, column, as: Int64.self) ?? 0
    case .float4, .float8, .numeric: return Int64(exactly: double(row, column).rounded(.towardZero)) ?? 0
    default: return 0
    }
  }

  /// Returns a number, or 0 if the value is null or not a number.
  @inlinable @inline(__always)
  package func double(_ row: Int, _ column: Int) -> Double {
    types[column] == .float8
      ? Double(bitPattern: fixed(row, column, as: UInt64.self) ?? 0) : otherDouble(row, column)
  }

  @usableFromInline
  func otherDouble(_ row: Int, _ column: Int) -> Double {
    switch types[column] {
    case .float4: return Double(Float(bitPattern: fixed(row, column, as: UInt32.self) ?? 0))
    case .numeric: return Double(numericText(row, column)) ?? 0
    case .int2, .int4, .int8, .bool, .oid: return Double(int64(row, column))
    default: return 0
    }
  }

  @inlinable @inline(__always)
  package func bool(_ row: Int, _ column: Int) -> Bool {
    types[column] == .bool ? fixed(row, column, as: UInt8.self) == 1 : int64(row, column) != 0
  }

  package func string(_ row: Int, _ column: Int) -> String { String(decoding: bytes(row, column), as: UTF8.self) }

  package func data(_ row: Int, _ column: Int) -> Data { Data(bytes(row, column)) }

  package func uuid(_ row: Int, _ column: Int) -> UUID {
    let bytes = bytes(row, column)
    guard bytes.count == 16 else { return UUID(uuid: (0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0)) }
    return UUID(uuid: bytes.loadUnaligned(as: uuid_t.self))
  }

  /// Returns a timestamp in microseconds since 2000-01-01. `Int64.min` and `Int64.max` stand for -infinity and
  /// infinity.
  package func microseconds(_ row: Int, _ column: Int) -> Int64 { fixed(row, column, as: Int64.self) ?? 0 }

  /// Returns a number as decimal digits.
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
