// OpenCoreData
// SPDX-License-Identifier: Apache-2.0

import CPostgreSQL
import Foundation

/// Writes the rows of a COPY in PostgreSQL's binary format.
///
/// A connection failure is reported when the COPY ends. Data written after it is discarded.
package final class CopyWriter {
  /// The size in bytes at which the buffer is sent.
  private static let threshold = 256 << 10
  private static let signature: [UInt8] =
    Array("PGCOPY\n".utf8) + [0xFF, 0x0D, 0x0A, 0x00] + Array(repeating: 0, count: 8)

  private let send: (UnsafeRawBufferPointer) -> Bool
  /// Whether sending has failed.
  private(set) var hasFailed = false
  /// The size of a value that is too large; nil if there is none. A null was written in its place.
  private(set) var excessiveSize: Int?
  private var buffer = UnsafeMutableRawBufferPointer.allocate(byteCount: threshold + 4_096, alignment: 16)
  private var length = 0

  init(send: @escaping (UnsafeRawBufferPointer) -> Bool) {
    self.send = send
    Self.signature.withUnsafeBytes { append($0) }
  }

  deinit { buffer.deallocate() }

  private func flush() {
    if length > 0, !hasFailed { hasFailed = !send(UnsafeRawBufferPointer(rebasing: buffer[..<length])) }
    length = 0
  }

  func finish() {
    // The last value may have filled the buffer.
    reserve(2)
    put(Int16(-1))
    flush()
  }

  @inline(__always)
  private func put<Number: FixedWidthInteger & BitwiseCopyable>(_ number: Number) {
    buffer.storeBytes(of: number.bigEndian, toByteOffset: length, as: Number.self)
    length += MemoryLayout<Number>.size
  }

  /// Reserves space for a value and its length.
  @inline(__always)
  private func reserve(_ size: Int) {
    if length + size > buffer.count { makeRoom(size) }
  }

  private func makeRoom(_ size: Int) {
    flush()
    guard size > buffer.count else { return }
    buffer.deallocate()
    buffer = .allocate(byteCount: size, alignment: 16)
  }

  private func append(_ bytes: UnsafeRawBufferPointer) {
    reserve(bytes.count)
    if let start = bytes.baseAddress {
      buffer.baseAddress.unsafelyUnwrapped.advanced(by: length).copyMemory(from: start, byteCount: bytes.count)
    }
    length += bytes.count
  }

  /// Begins a row. The given number of fields must follow.
  package func beginRow(fieldCount: Int) {
    if length >= Self.threshold { flush() }
    reserve(2)
    put(Int16(fieldCount))
  }

  package func null() {
    reserve(4)
    put(Int32(-1))
  }

  package func field(int64 value: Int64) {
    reserve(12)
    put(Int32(8))
    put(value)
  }

  package func field(int32 value: Int32) {
    reserve(8)
    put(Int32(4))
    put(value)
  }

  package func field(double value: Double) {
    reserve(12)
    put(Int32(8))
    put(value.bitPattern)
  }

  package func field(float value: Float) {
    reserve(8)
    put(Int32(4))
    put(value.bitPattern)
  }

  package func field(bool value: Bool) {
    reserve(5)
    put(Int32(1))
    put(value ? 1 as UInt8 : 0)
  }

  /// Writes a timestamp in microseconds since 2000-01-01.
  package func field(timestampMicroseconds value: Int64) { field(int64: value) }

  package func field(bytes value: UnsafeRawBufferPointer) {
    guard value.count <= PostgreSQLValue.maxSize else {
      excessiveSize = value.count
      return null()
    }
    reserve(4 + value.count)
    put(Int32(value.count))
    append(value)
  }

  /// Writes a text.
  ///
  /// - Returns: false if the text contains U+0000, which PostgreSQL cannot store. Nothing has been written then.
  package func field(text value: String) -> Bool {
    var value = value
    return value.withUTF8 { text in
      if let start = text.baseAddress, memchr(start, 0, text.count) != nil { return false }
      field(bytes: UnsafeRawBufferPointer(text))
      return true
    }
  }

  package func field(uuid value: UUID) { withUnsafeBytes(of: value.uuid) { field(bytes: $0) } }

  package func field(decimal value: Decimal) {
    reserve(4 + PostgreSQLNumeric.decimalCapacity)
    let count = PostgreSQLNumeric.encode(
      value, to: buffer.baseAddress.unsafelyUnwrapped.advanced(by: length + 4))
    put(Int32(count))
    length += count
  }
}
