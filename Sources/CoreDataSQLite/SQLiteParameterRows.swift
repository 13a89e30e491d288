// OpenCoreData
// SPDX-License-Identifier: Apache-2.0

import CSQLite
import Foundation

/// A target for binding values: a statement, or rows of parameters for running a statement later.
package protocol SQLiteParameters {
  /// Binds an integer to a parameter.
  func bind(_ value: Int64, at index: Int) throws

  /// Binds a number to a parameter; SQLite turns NaN into null.
  func bind(_ value: Double, at index: Int) throws

  /// Binds a text to a parameter.
  func bind(_ value: String, at index: Int) throws

  /// Binds a value of any type to a parameter.
  func bind(_ value: SQLiteValue, at index: Int) throws
}

extension SQLiteStatement: SQLiteParameters {}

/// The parameters of a statement for several rows, stored as bytes.
///
/// One thread can collect the rows and another run the statement. The buffers are reused after `removeAll()`.
package final class SQLiteParameterRows: SQLiteParameters {
  private enum Content: UInt8 {
    case integer, real, text, blob
  }

  private struct Parameter {
    let index: Int32
    let content: Content
    /// The integer, the bit pattern of the real, or the offset of the bytes of a text or BLOB.
    let bits: Int64
    let length: Int
  }

  // Only one thread at a time may use the rows.
  @exclusivity(unchecked) private var parameters: ContiguousArray<Parameter> = []
  /// The end index of each row in `parameters`.
  @exclusivity(unchecked) private var ends: ContiguousArray<Int> = []
  @exclusivity(unchecked) private var bytes: ContiguousArray<UInt8> = []

  package init() {}

  /// The number of rows.
  package var count: Int { ends.count }

  /// The total size of the texts and BLOBs in bytes.
  package var size: Int { bytes.count }

  /// Removes all rows. Keeps the capacity of the buffers.
  package func removeAll() {
    parameters.removeAll(keepingCapacity: true)
    ends.removeAll(keepingCapacity: true)
    bytes.removeAll(keepingCapacity: true)
  }

  package func bind(_ value: Int64, at index: Int) { add(.integer, value, index) }

  package func bind(_ value: Double, at index: Int) { add(.real, Int64(bitPattern: value.bitPattern), index) }

  package func bind(_ value: String, at index: Int) {
    let start = bytes.count
    bytes.append(contentsOf: value.utf8)
    add(.text, Int64(start), index, bytes.count - start)
  }

  package func bind(_ value: SQLiteValue, at index: Int) {
    switch value {
    // Parameters that are not bound are null.
    case .null: break
    case .integer(let value): bind(value, at: index)
    case .real(let value): bind(value, at: index)
    case .text(let value): bind(value, at: index)
    case .blob(let value):
      add(.blob, Int64(bytes.count), index, value.count)
      bytes.append(contentsOf: value)
    }
  }

  private func add(_ content: Content, _ bits: Int64, _ index: Int, _ length: Int = 0) {
    parameters.append(Parameter(index: Int32(clamping: index), content: content, bits: bits, length: length))
  }

  /// Ends a row.
  package func endRow() { ends.append(parameters.count) }

  /// Runs a statement that returns no rows once for each row of parameters.
  fileprivate func run(_ statement: SQLiteStatement) throws {
    defer {
      statement.reset()
      statement.clearBindings()
    }
    try bytes.withUnsafeBufferPointer { bytes in
      var next = 0
      for end in ends {
        while next < end {
          try statement.check(bind(parameters[next], bytes, to: statement.opened()))
          next += 1
        }
        while try statement.step() {}
        statement.reset()
        statement.clearBindings()
      }
    }
  }

  /// Binds a parameter without copying its bytes.
  private func bind(
    _ parameter: Parameter, _ bytes: UnsafeBufferPointer<UInt8>, to statement: OpaquePointer
  ) -> Int32 {
    let (index, length) = (parameter.index, parameter.length)
    switch parameter.content {
    case .integer: return sqlite3_bind_int64(statement, index, parameter.bits)
    case .real:
      return sqlite3_bind_double(statement, index, Double(bitPattern: UInt64(bitPattern: parameter.bits)))
    case .text, .blob:
      // SQLite binds null for a null pointer.
      if length == 0 {
        return parameter.content == .text
          ? sqlite3_bind_text(statement, index, "", 0, copiedBySQLite) : sqlite3_bind_zeroblob(statement, index, 0)
      }
      let start = bytes.baseAddress.map { UnsafeRawPointer($0 + Int(parameter.bits)) }
      if parameter.content == .blob { return sqlite3_bind_blob64(statement, index, start, UInt64(length), nil) }
      return sqlite3_bind_text64(
        statement, index, start?.assumingMemoryBound(to: CChar.self), UInt64(length), nil, UInt8(SQLITE_UTF8))
    }
  }
}

extension SQLiteStatement {
  /// Runs the statement, which must not return rows, once for each row of parameters.
  package func run(_ rows: SQLiteParameterRows) throws { try rows.run(self) }
}
