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
  ///   - deterministic: whether equal arguments always give equal results, which spares calls.
  ///   - body: the work.
  package func register(
    function name: String, argumentCount: Int? = nil, deterministic: Bool = false, _ body: @escaping Function
  ) throws {
    try register(directFunction: name, argumentCount: argumentCount, deterministic: deterministic) { call in
      call.giveBack(try body((0..<call.argumentCount).map(call.value)))
    }
  }

  /// Makes a function that reads its arguments where SQLite has them, and gives its result back itself.
  ///
  /// - Parameters: as above.
  ///   - body: the work; where it gives nothing back, the result is null. It must not keep the call.
  package func register(
    directFunction name: String, argumentCount: Int? = nil, deterministic: Bool = false,
    _ body: @escaping (SQLiteFunctionCall) throws -> Void
  ) throws {
    let database = try handle.opened()
    let flags = SQLITE_UTF8 | (deterministic ? SQLITE_DETERMINISTIC : 0)
    let box = Unmanaged.passRetained(FunctionBox(body)).toOpaque()
    // SQLite calls the destructor also when the registration fails.
    let result = sqlite3_create_function_v2(
      database, name, Int32(argumentCount ?? -1), flags, box,
      { context, count, arguments in
        guard let context, let data = sqlite3_user_data(context) else { return }
        let box = Unmanaged<FunctionBox>.fromOpaque(data).takeUnretainedValue()
        do {
          try box.body(SQLiteFunctionCall(context: context, arguments: arguments, argumentCount: Int(count)))
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
  let body: (SQLiteFunctionCall) throws -> Void

  init(_ body: @escaping (SQLiteFunctionCall) throws -> Void) {
    self.body = body
  }
}

private final class CollationBox {
  let compare: (String, String) -> ComparisonResult

  init(_ compare: @escaping (String, String) -> ComparisonResult) {
    self.compare = compare
  }
}
