// OpenCoreData
// SPDX-License-Identifier: Apache-2.0

import CoreDataSQLite
import CoreDataStoreFiles
import Foundation

/// A large string or binary value of an export, read in parts.
///
/// Valid until the store is closed. Like the store's reader, it must be used by one thread at a time.
package final class ExportedStream: @unchecked Sendable {
  /// The size from which values are streamed, in bytes. Smaller ones are read whole.
  package static let smallest = 32 << 10
  /// The size of the parts, in bytes. A multiple of 3, so that the base64 of the parts can be concatenated.
  package static let partSize = 12 << 10

  /// Whether the value is a string in UTF-8.
  package let isText: Bool
  /// The size of the value, in bytes.
  package let count: Int
  /// Fills a buffer with bytes from an offset, and returns their number, which is smaller only if a file has become
  /// shorter.
  private let fill: (_ offset: Int, _ buffer: UnsafeMutableRawBufferPointer) throws -> Int

  init(isText: Bool, count: Int, fill: @escaping (Int, UnsafeMutableRawBufferPointer) throws -> Int) {
    (self.isText, self.count, self.fill) = (isText, count, fill)
  }

  /// Calls a body with all bytes, in parts of ``partSize`` bytes and a shorter one at the end.
  ///
  /// - Throws: `StoreProblem`; the errors of `body`.
  package func forEachPart(_ body: (UnsafeRawBufferPointer) throws -> Void) throws {
    try forEachPart(endingWithCharacters: false, body)
  }

  /// Calls a body with the whole string, in parts that contain only whole characters.
  ///
  /// - Throws: `StoreProblem`; the errors of `body`.
  package func forEachText(_ body: (String) throws -> Void) throws {
    try forEachPart(endingWithCharacters: true) { try body(String(decoding: $0, as: UTF8.self)) }
  }

  fileprivate func forEachPart(
    endingWithCharacters: Bool, _ body: (UnsafeRawBufferPointer) throws -> Void
  ) throws {
    let buffer = UnsafeMutableRawBufferPointer.allocate(byteCount: Self.partSize, alignment: 1)
    defer { buffer.deallocate() }
    // The first `kept` bytes of the buffer are the beginning of a character that was incomplete in the last part.
    var (offset, kept) = (0, 0)
    while offset < count {
      let wanted = UnsafeMutableRawBufferPointer(rebasing: buffer[kept..<min(Self.partSize, kept + count - offset)])
      let found = try fill(offset, wanted)
      offset += found
      let isLast = offset >= count || found < wanted.count
      let filled = UnsafeRawBufferPointer(rebasing: buffer[..<(kept + found)])
      kept = isLast || !endingWithCharacters ? 0 : Self.incompleteEnd(of: filled)
      try body(UnsafeRawBufferPointer(rebasing: filled[..<(filled.count - kept)]))
      if isLast { return }
      buffer.copyMemory(from: UnsafeRawBufferPointer(rebasing: filled[(filled.count - kept)...]))
    }
  }

  /// Returns the number of bytes, at most 3, of an incomplete character at the end.
  private static func incompleteEnd(of bytes: UnsafeRawBufferPointer) -> Int {
    for length in 1...3 where length <= bytes.count {
      let byte = bytes[bytes.count - length]
      // Continuation bytes have the form 10xxxxxx.
      if byte & 0xC0 == 0x80 { continue }
      let whole = byte >= 0xF0 ? 4 : byte >= 0xE0 ? 3 : byte >= 0xC0 ? 2 : 1
      return whole > length ? length : 0
    }
    return 0
  }
}

/// Two streams are equal only if they are identical.
extension ExportedStream: Hashable {
  package static func == (left: ExportedStream, right: ExportedStream) -> Bool { left === right }

  package func hash(into hasher: inout Hasher) { hasher.combine(ObjectIdentifier(self)) }
}

/// Reads TEXT and BLOB values of a column without loading them in the statement.
struct StreamedColumn {
  private let reader: StoreReader
  private let values: SQLiteColumnReader

  /// Returns the expression to select in place of the column: the type name for a TEXT or BLOB, and any other value
  /// itself.
  static func expression(of column: String) -> String {
    let name = SQLName.quoted(column)
    return "CASE WHEN typeof(\(name)) IN ('text', 'blob') THEN typeof(\(name)) ELSE \(name) END"
  }

  /// Returns nil if the column's values cannot be read in parts.
  init?(_ column: String, of table: String, in reader: StoreReader) throws {
    guard let table = reader.catalog.table(named: table),
      let values = try reader.connection.columnReader(column, of: table, key: "Z_PK")
    else { return nil }
    (self.reader, self.values) = (reader, values)
  }

  /// The content of a column.
  enum Content {
    case value(SQLiteValue)
    case stream(ExportedStream)
  }

  /// Returns the value in the statement's current row.
  ///
  /// - Parameters:
  ///   - isExternal: whether the first byte of a binary value may say where the value is (`ExternalData`).
  /// - Throws: `SQLiteError`.
  func content(_ statement: SQLiteStatement, _ index: Int, key: Int64, isExternal: Bool) throws -> Content {
    guard statement.type(at: index) == .text else { return .value(statement.value(at: index)) }
    let isText = statement.withBlob(at: index) { $0.first == UInt8(ascii: "t") }
    try values.move(to: key)
    guard values.count >= ExportedStream.smallest else { return .value(try smallValue(isText: isText)) }
    let (reader, values, count) = (reader, values, values.count)
    func stream(isText: Bool, from start: Int = 0) -> ExportedStream {
      ExportedStream(isText: isText, count: count - start) { offset, buffer in
        try reader.explaining {
          if values.row != key { try values.move(to: key) }
          try values.read(at: start + offset, into: buffer)
          return buffer.count
        }
      }
    }
    // All parts are read once before the first is exported. This determines whether a string is valid UTF-8, and
    // reports a damaged value before a part of its object is written.
    let bytes = stream(isText: false)
    var (isUTF8, first) = (true, UInt8?.none)
    try bytes.forEachPart(endingWithCharacters: isText) { part in
      if first == nil { first = part.first }
      if isText, isUTF8 { isUTF8 = SQLiteText.isUTF8(part) }
    }
    if isText && isUTF8 { return .stream(stream(isText: true)) }
    return .stream(isExternal && first == ExternalData.inlineMark ? stream(isText: false, from: 1) : bytes)
  }

  /// Returns the current value, like `SQLiteStatement.exactValue(at:)`.
  private func smallValue(isText: Bool) throws -> SQLiteValue {
    try withUnsafeTemporaryAllocation(byteCount: values.count, alignment: 1) { buffer in
      try values.read(at: 0, into: buffer)
      let bytes = UnsafeRawBufferPointer(buffer)
      if isText, let text = String(validating: bytes, as: UTF8.self) { return .text(text) }
      return .blob(Data(bytes))
    }
  }
}
