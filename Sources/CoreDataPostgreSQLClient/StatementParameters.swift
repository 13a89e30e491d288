// OpenCoreData
// SPDX-License-Identifier: Apache-2.0

import CPostgreSQL
import Foundation

/// The parameters of a statement in the form libpq expects: bytes in PostgreSQL's binary format and arrays of their
/// addresses.
///
/// A connection reuses one instance for all its statements, so that a statement in a pipeline allocates nothing.
final class StatementParameters {
  /// The capacity in bytes above which the buffer is not kept for the next statement.
  private static let keptCapacity = 1 << 20

  private(set) var count = 0
  private var bytes: [UInt8] = []
  /// The offset of each parameter's bytes; -1 for null.
  private var starts: [Int] = []
  private var addresses: [UnsafePointer<CChar>?] = []
  private var lengths: [Int32] = []
  private var formats: [Int32] = []

  /// The size of the encoded values in bytes.
  var size: Int { bytes.count }

  /// Replaces the parameters.
  ///
  /// - Throws: `PostgreSQLError` if the text of a `numeric` is not a number, or if a value is too large.
  func encode(_ values: [PostgreSQLValue]) throws {
    if bytes.capacity > Self.keptCapacity { bytes = [] } else { bytes.removeAll(keepingCapacity: true) }
    starts.removeAll(keepingCapacity: true)
    lengths.removeAll(keepingCapacity: true)
    count = values.count
    for value in values {
      let start = bytes.count
      let isNull = try !append(value)
      starts.append(isNull ? -1 : start)
      // The values of a statement are sent as one message, for which the same limit holds.
      try check(size: bytes.count)
      lengths.append(Int32(bytes.count - start))
      // Empty values need an address too.
      bytes.append(0)
    }
    if formats.count < count { formats = Array(repeating: 1, count: count) }
  }

  private func append(_ value: PostgreSQLValue) throws -> Bool {
    switch value {
    case .null: return false
    case .integer(let number): put(number)
    case .real(let number): put(number.bitPattern)
    case .boolean(let flag): bytes.append(flag ? 1 : 0)
    case .text(var text): try text.withUTF8 { try append(UnsafeRawBufferPointer($0)) }
    case .bytes(let data): try data.withUnsafeBytes { try append($0) }
    case .uuid(let uuid): withUnsafeBytes(of: uuid.uuid) { bytes.append(contentsOf: $0) }
    case .timestamp(let microseconds): put(microseconds)
    case .numeric(let text):
      guard let number = PostgreSQLNumeric.encode(text) else {
        throw PostgreSQLError("'\(text.prefix(50))' is not a number, or is one that PostgreSQL cannot hold.")
      }
      bytes.append(contentsOf: number)
    case .integers(let numbers):
      try check(size: 20 + 12 * numbers.count)
      putArray(of: .int8, count: numbers.count)
      bytes.reserveCapacity(bytes.count + 12 * numbers.count)
      for number in numbers {
        put(Int32(8))
        put(number)
      }
    case .texts(let texts):
      try check(size: texts.reduce(20) { $0 + 4 + $1.utf8.count })
      putArray(of: .text, count: texts.count)
      for text in texts {
        put(Int32(text.utf8.count))
        bytes.append(contentsOf: text.utf8)
      }
    }
    return true
  }

  private func append(_ value: UnsafeRawBufferPointer) throws {
    try check(size: value.count)
    bytes.append(contentsOf: value)
  }

  /// Throws if the server would not accept a value of a size.
  private func check(size: Int) throws {
    guard size <= PostgreSQLValue.maxSize else { throw PostgreSQLError(tooLarge: size) }
  }

  /// Appends the header of a one-dimensional array without nulls.
  private func putArray(of type: PostgreSQLType, count: Int) {
    put(Int32(count == 0 ? 0 : 1))
    put(Int32(0))
    put(type.rawValue)
    if count > 0 {
      put(Int32(count))
      put(Int32(1))
    }
  }

  private func put<Number: FixedWidthInteger>(_ number: Number) {
    withUnsafeBytes(of: number.bigEndian) { bytes.append(contentsOf: $0) }
  }

  typealias Pointers = (
    count: Int32, values: UnsafePointer<UnsafePointer<CChar>?>?, lengths: UnsafePointer<Int32>?,
    formats: UnsafePointer<Int32>?
  )

  func withPointers<Result>(_ body: (Pointers) -> Result) -> Result {
    if count == 0 { return body((0, nil, nil, nil)) }
    return bytes.withUnsafeBytes { all in
      let base = all.baseAddress.unsafelyUnwrapped.assumingMemoryBound(to: CChar.self)
      addresses.removeAll(keepingCapacity: true)
      for start in starts { addresses.append(start < 0 ? nil : base + start) }
      return addresses.withUnsafeBufferPointer { values in
        lengths.withUnsafeBufferPointer { lengths in
          formats.withUnsafeBufferPointer { formats in
            body((Int32(clamping: count), values.baseAddress, lengths.baseAddress, formats.baseAddress))
          }
        }
      }
    }
  }
}
