// OpenCoreData
// SPDX-License-Identifier: Apache-2.0

import CSQLite
import Foundation

/// A call of a function from SQL: its arguments, and the place for its result. It is gone when the function returns.
package struct SQLiteFunctionCall {
  fileprivate let context: OpaquePointer
  fileprivate let arguments: UnsafeMutablePointer<OpaquePointer?>?
  package let argumentCount: Int

  init(context: OpaquePointer, arguments: UnsafeMutablePointer<OpaquePointer?>?, argumentCount: Int) {
    self.context = context
    self.arguments = arguments
    self.argumentCount = argumentCount
  }

  /// An argument, copied.
  package func value(_ position: Int) -> SQLiteValue { SQLiteValue(argument: arguments?[position]) }

  /// What kind of value an argument is.
  package func isNull(_ position: Int) -> Bool { sqlite3_value_type(arguments?[position]) == SQLITE_NULL }

  /// The bytes of an argument that is a text, which may not be UTF-8; nil for every other kind. They stay until the function
  /// returns.
  package func textBytes(_ position: Int) -> UnsafeBufferPointer<UInt8>? {
    let argument = arguments?[position]
    guard sqlite3_value_type(argument) == SQLITE_TEXT, let start = sqlite3_value_text(argument) else { return nil }
    return UnsafeBufferPointer(start: start, count: Int(sqlite3_value_bytes(argument)))
  }

  /// Sets the result.
  package func giveBack(_ value: SQLiteValue) { value.giveBack(to: context) }

  /// Sets a text as result; the bytes are UTF-8 and are copied.
  package func giveBack(text bytes: UnsafeBufferPointer<UInt8>) {
    // Without an address SQLite would make the result null.
    guard let start = bytes.baseAddress else { return giveBack("") }
    start.withMemoryRebound(to: CChar.self, capacity: bytes.count) {
      sqlite3_result_text64(context, $0, UInt64(bytes.count), copiedBySQLite, UInt8(SQLITE_UTF8))
    }
  }
}

extension SQLiteValue {
  fileprivate init(argument: OpaquePointer?) {
    switch sqlite3_value_type(argument) {
    case SQLITE_INTEGER: self = .integer(sqlite3_value_int64(argument))
    case SQLITE_FLOAT: self = .real(sqlite3_value_double(argument))
    case SQLITE_TEXT:
      let start = sqlite3_value_text(argument)
      let bytes = UnsafeRawBufferPointer(start: start, count: Int(sqlite3_value_bytes(argument)))
      self = .text(String(decoding: bytes, as: UTF8.self))
    case SQLITE_BLOB:
      let start = sqlite3_value_blob(argument)
      self = .blob(Data(UnsafeRawBufferPointer(start: start, count: Int(sqlite3_value_bytes(argument)))))
    default: self = .null
    }
  }

  fileprivate func giveBack(to context: OpaquePointer) {
    switch self {
    case .null: sqlite3_result_null(context)
    case .integer(let value): sqlite3_result_int64(context, value)
    case .real(let value): sqlite3_result_double(context, value)
    case .text(var value):
      value.withUTF8 { bytes in
        bytes.withMemoryRebound(to: CChar.self) {
          sqlite3_result_text64(
            context, $0.baseAddress, UInt64($0.count), copiedBySQLite, UInt8(SQLITE_UTF8))
        }
      }
    case .blob(let value):
      value.withUnsafeBytes { bytes in
        if bytes.isEmpty {
          sqlite3_result_zeroblob(context, 0)
        } else {
          sqlite3_result_blob64(context, bytes.baseAddress, UInt64(bytes.count), copiedBySQLite)
        }
      }
    }
  }
}
