// OpenCoreData
// SPDX-License-Identifier: Apache-2.0

import CPostgreSQL
import Foundation

/// The parameters of a statement as libpq takes them: bytes in PostgreSQL's binary format.
struct StatementParameters {
  private var bytes: [UInt8] = []
  /// Where the bytes of each parameter are; nil for a missing value.
  private var ranges: [Range<Int>?] = []

  init(_ values: [PostgreSQLValue]) {
    ranges.reserveCapacity(values.count)
    for value in values {
      let start = bytes.count
      if append(value) { ranges.append(start..<bytes.count) } else { ranges.append(nil) }
      // A parameter without bytes needs an address too.
      bytes.append(0)
    }
  }

  var size: Int { bytes.count }

  private mutating func append(_ value: PostgreSQLValue) -> Bool {
    switch value {
    case .null: return false
    case .integer(let number): put(number)
    case .real(let number): put(number.bitPattern)
    case .boolean(let flag): bytes.append(flag ? 1 : 0)
    case .text(let text): bytes.append(contentsOf: text.utf8)
    case .bytes(let data): bytes.append(contentsOf: data)
    case .uuid(let uuid): withUnsafeBytes(of: uuid.uuid) { bytes.append(contentsOf: $0) }
    case .timestamp(let microseconds): put(microseconds)
    case .numeric(let text): bytes.append(contentsOf: PostgreSQLNumeric.encode(text) ?? [])
    case .integers(let numbers):
      putArray(of: .int8, count: numbers.count)
      for number in numbers {
        put(Int32(8))
        put(number)
      }
    case .texts(let texts):
      putArray(of: .text, count: texts.count)
      for text in texts {
        put(Int32(text.utf8.count))
        bytes.append(contentsOf: text.utf8)
      }
    }
    return true
  }

  /// The head of an array with one dimension, without missing elements.
  private mutating func putArray(of type: PostgreSQLType, count: Int) {
    put(Int32(count == 0 ? 0 : 1))
    put(Int32(0))
    put(type.rawValue)
    if count > 0 {
      put(Int32(count))
      put(Int32(1))
    }
  }

  private mutating func put<Number: FixedWidthInteger>(_ number: Number) {
    withUnsafeBytes(of: number.bigEndian) { bytes.append(contentsOf: $0) }
  }

  typealias Pointers = (
    count: Int32, values: UnsafePointer<UnsafePointer<CChar>?>?, lengths: UnsafePointer<Int32>?,
    formats: UnsafePointer<Int32>?
  )

  func withPointers<Result>(_ body: (Pointers) -> Result) -> Result {
    if ranges.isEmpty { return body((0, nil, nil, nil)) }
    return bytes.withUnsafeBytes { all in
      let values = ranges.map { range -> UnsafePointer<CChar>? in
        range.flatMap { all.baseAddress?.advanced(by: $0.lowerBound).assumingMemoryBound(to: CChar.self) }
      }
      let lengths = ranges.map { Int32($0?.count ?? 0) }
      let formats = Array(repeating: 1 as Int32, count: ranges.count)
      return values.withUnsafeBufferPointer { values in
        lengths.withUnsafeBufferPointer { lengths in
          formats.withUnsafeBufferPointer { formats in
            body((Int32(ranges.count), values.baseAddress, lengths.baseAddress, formats.baseAddress))
          }
        }
      }
    }
  }
}

/// The prepared statements of a connection, by text and types of parameters.
struct PreparedStatements {
  struct Statement {
    let name: String
    let types: [PostgreSQLType?]
  }

  /// How many statements are kept.
  static let limit = 500

  private var known: [String: [Statement]] = [:]
  private var last = 0
  private(set) var count = 0

  /// Returns a statement that takes the values; nil if there is none.
  func statement(_ sql: String, _ values: [PostgreSQLValue]) -> Statement? {
    known[sql]?.first { statement in
      zip(statement.types, values).allSatisfy { type, value in value.type == nil || value.type == type }
    }
  }

  /// Makes the name of a new statement, which `keep(_:_:)` keeps once it has been prepared.
  mutating func new(_ values: [PostgreSQLValue]) -> Statement {
    last += 1
    return Statement(name: "s\(last)", types: values.map(\.type))
  }

  mutating func keep(_ statement: Statement, _ sql: String) {
    known[sql, default: []].append(statement)
    count += 1
  }

  mutating func forget(_ sql: String) { count -= known.removeValue(forKey: sql)?.count ?? 0 }

  mutating func removeAll() { (known, count) = ([:], 0) }
}
