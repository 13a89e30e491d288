// OpenCoreData
// SPDX-License-Identifier: Apache-2.0

import CSQLite
import Foundation

extension SQLiteConnection {
  /// What an SQL function does with its arguments.
  package typealias Function = (_ arguments: [SQLiteValue]) throws -> SQLiteValue

  /// Makes a function that SQL of this connection can call.
  ///
  /// An error that the body throws ends the statement with an SQL error whose message is the error's description.
  ///
  /// - Parameters:
  ///   - name: the name in SQL; case does not matter.
  ///   - argumentCount: how many arguments it takes; nil for any number.
  ///   - deterministic: whether equal arguments always give equal results, which lets indexes use it.
  ///   - body: the work.
  package func register(
    function name: String, argumentCount: Int? = nil, deterministic: Bool = false, _ body: @escaping Function
  ) throws {
    let database = try handle.opened()
    let flags = SQLITE_UTF8 | (deterministic ? SQLITE_DETERMINISTIC : 0)
    let box = Unmanaged.passRetained(FunctionBox(body)).toOpaque()
    // SQLite calls the destructor also when the registration fails.
    let result = sqlite3_create_function_v2(
      database, name, Int32(argumentCount ?? -1), flags, box,
      { context, count, arguments in
        guard let context, let data = sqlite3_user_data(context) else { return }
        let body = Unmanaged<FunctionBox>.fromOpaque(data).takeUnretainedValue().body
        let values = (0..<Int(count)).map { SQLiteValue(argument: arguments?[$0]) }
        do {
          try body(values).giveBack(to: context)
        } catch {
          sqlite3_result_error(context, String(describing: error), -1)
          if let error = error as? SQLiteError { sqlite3_result_error_code(context, error.extendedCode) }
        }
      }, nil, nil, { Unmanaged<FunctionBox>.fromOpaque($0!).release() })
    try handle.check(result)
  }

  /// Takes a function away again.
  ///
  /// - Parameters:
  ///   - name: as registered.
  ///   - argumentCount: as registered.
  package func unregister(function name: String, argumentCount: Int? = nil) throws {
    let result = sqlite3_create_function_v2(
      try handle.opened(), name, Int32(argumentCount ?? -1), SQLITE_UTF8, nil, nil, nil, nil, nil)
    try handle.check(result)
  }

  /// Makes an order of texts that SQL of this connection can name after COLLATE.
  ///
  /// - Parameters:
  ///   - name: the name in SQL.
  ///   - compare: a total order; SQLite's indexes break where it is not.
  package func register(collation name: String, _ compare: @escaping (String, String) -> ComparisonResult) throws {
    let database = try handle.opened()
    let box = Unmanaged.passRetained(CollationBox(compare))
    let result = sqlite3_create_collation_v2(
      database, name, SQLITE_UTF8, box.toOpaque(),
      { data, leftCount, left, rightCount, right in
        let compare = Unmanaged<CollationBox>.fromOpaque(data!).takeUnretainedValue().compare
        let first = String(decoding: UnsafeRawBufferPointer(start: left, count: Int(leftCount)), as: UTF8.self)
        let second = String(decoding: UnsafeRawBufferPointer(start: right, count: Int(rightCount)), as: UTF8.self)
        return Int32(compare(first, second).rawValue)
      }, { Unmanaged<CollationBox>.fromOpaque($0!).release() })
    if result != SQLITE_OK {
      // Unlike for functions, SQLite does not call the destructor when the registration fails.
      box.release()
    }
    try handle.check(result)
  }
}

private final class FunctionBox {
  let body: SQLiteConnection.Function

  init(_ body: @escaping SQLiteConnection.Function) {
    self.body = body
  }
}

private final class CollationBox {
  let compare: (String, String) -> ComparisonResult

  init(_ compare: @escaping (String, String) -> ComparisonResult) {
    self.compare = compare
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
