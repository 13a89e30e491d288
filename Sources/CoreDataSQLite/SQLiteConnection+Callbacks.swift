// OpenCoreData
// SPDX-License-Identifier: Apache-2.0

import CSQLite
import Foundation

extension SQLiteConnection {
  /// The body of an SQL function.
  package typealias Function = (_ arguments: [SQLiteValue]) throws -> SQLiteValue

  /// Registers a function for SQL on this connection.
  ///
  /// If the body throws, the statement fails with an SQL error whose message is the description of the error.
  ///
  /// - Parameters:
  ///   - name: The name in SQL, where case is ignored.
  ///   - argumentCount: The number of arguments; nil for any number.
  ///   - deterministic: Whether equal arguments always give equal results, so that SQLite can omit calls.
  ///   - body: Computes the result.
  package func register(
    function name: String, argumentCount: Int? = nil, deterministic: Bool = false, _ body: @escaping Function
  ) throws {
    try register(directFunction: name, argumentCount: argumentCount, deterministic: deterministic) { call in
      call.setResult(try body((0..<call.argumentCount).map(call.value)))
    }
  }

  /// Registers a function that accesses its arguments and sets its result without copying them.
  ///
  /// - Parameters: See `register(function:argumentCount:deterministic:_:)`.
  ///   - body: Computes and sets the result, which defaults to null. Must not keep the call.
  package func register(
    directFunction name: String, argumentCount: Int? = nil, deterministic: Bool = false,
    _ body: @escaping (SQLiteFunctionCall) throws -> Void
  ) throws {
    let database = try handle.opened()
    let flags = SQLITE_UTF8 | (deterministic ? SQLITE_DETERMINISTIC : 0)
    let box = Unmanaged.passRetained(FunctionBox(body)).toOpaque()
    // SQLite calls the destructor even if the registration fails.
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

  /// Registers an aggregate function, whose state is a block of memory.
  ///
  /// - Parameters:
  ///   - name: The name in SQL, where case is ignored.
  ///   - words: The size of the state, in words of 64 bits. They are zero before the first row.
  ///   - step: Adds a row to the state. Must not keep the call.
  ///   - result: Computes the result from the state. The result for no rows is null.
  package func register(
    aggregate name: String, argumentCount: Int, words: Int,
    step: @escaping (UnsafeMutablePointer<Int64>, SQLiteFunctionCall) -> Void,
    result: @escaping (UnsafeMutablePointer<Int64>) -> SQLiteValue
  ) throws {
    let database = try handle.opened()
    let box = Unmanaged.passRetained(AggregateBox(size: words * 8, step: step, result: result)).toOpaque()
    // SQLite calls the destructor even if the registration fails.
    let status = sqlite3_create_function_v2(
      database, name, Int32(argumentCount), SQLITE_UTF8 | SQLITE_DETERMINISTIC, box, nil,
      { context, count, arguments in
        guard let context, let data = sqlite3_user_data(context) else { return }
        let box = Unmanaged<AggregateBox>.fromOpaque(data).takeUnretainedValue()
        guard let state = sqlite3_aggregate_context(context, Int32(box.size)) else {
          return sqlite3_result_error_nomem(context)
        }
        box.step(
          state.assumingMemoryBound(to: Int64.self),
          SQLiteFunctionCall(context: context, arguments: arguments, argumentCount: Int(count)))
      },
      { context in
        guard let context, let data = sqlite3_user_data(context) else { return }
        // Without a row there is no state.
        guard let state = sqlite3_aggregate_context(context, 0) else { return sqlite3_result_null(context) }
        let box = Unmanaged<AggregateBox>.fromOpaque(data).takeUnretainedValue()
        box.result(state.assumingMemoryBound(to: Int64.self)).setResult(to: context)
      }, { Unmanaged<AggregateBox>.fromOpaque($0!).release() })
    try handle.check(status)
  }

  /// Removes a function.
  ///
  /// - Parameters:
  ///   - name: The name as registered.
  ///   - argumentCount: The number of arguments as registered.
  package func unregister(function name: String, argumentCount: Int? = nil) throws {
    let result = sqlite3_create_function_v2(
      try handle.opened(), name, Int32(argumentCount ?? -1), SQLITE_UTF8, nil, nil, nil, nil, nil)
    try handle.check(result)
  }

  /// Registers a collation for SQL on this connection.
  ///
  /// - Parameters:
  ///   - name: The name in SQL.
  ///   - compare: A total order, as SQLite's indexes require.
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
      // Unlike for functions, SQLite does not call the destructor if the registration fails.
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

private final class AggregateBox {
  /// The size of the state, in bytes.
  let size: Int
  let step: (UnsafeMutablePointer<Int64>, SQLiteFunctionCall) -> Void
  let result: (UnsafeMutablePointer<Int64>) -> SQLiteValue

  init(
    size: Int, step: @escaping (UnsafeMutablePointer<Int64>, SQLiteFunctionCall) -> Void,
    result: @escaping (UnsafeMutablePointer<Int64>) -> SQLiteValue
  ) {
    (self.size, self.step, self.result) = (size, step, result)
  }
}

private final class CollationBox {
  let compare: (String, String) -> ComparisonResult

  init(_ compare: @escaping (String, String) -> ComparisonResult) {
    self.compare = compare
  }
}

/// A call of a function from SQL, valid until the function returns.
package struct SQLiteFunctionCall {
  fileprivate let context: OpaquePointer
  fileprivate let arguments: UnsafeMutablePointer<OpaquePointer?>?
  package let argumentCount: Int

  init(context: OpaquePointer, arguments: UnsafeMutablePointer<OpaquePointer?>?, argumentCount: Int) {
    self.context = context
    self.arguments = arguments
    self.argumentCount = argumentCount
  }

  /// Returns a copy of an argument.
  package func value(_ position: Int) -> SQLiteValue { SQLiteValue(argument: arguments?[position]) }

  /// Returns whether an argument is null.
  package func isNull(_ position: Int) -> Bool { sqlite3_value_type(arguments?[position]) == SQLITE_NULL }

  /// Returns the bytes of a text argument, which need not be UTF-8, or nil for any other type. Valid until the function
  /// returns.
  package func textBytes(_ position: Int) -> UnsafeBufferPointer<UInt8>? {
    let argument = arguments?[position]
    guard sqlite3_value_type(argument) == SQLITE_TEXT, let start = sqlite3_value_text(argument) else { return nil }
    return UnsafeBufferPointer(start: start, count: Int(sqlite3_value_bytes(argument)))
  }

  /// Sets the result.
  package func setResult(_ value: SQLiteValue) { value.setResult(to: context) }

  /// Sets the result to a text. Copies the bytes, which must be UTF-8.
  package func setResult(text bytes: UnsafeBufferPointer<UInt8>) {
    // Without an address SQLite would set the result to null.
    guard let start = bytes.baseAddress else { return setResult("") }
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

  fileprivate func setResult(to context: OpaquePointer) {
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

/// Holds the closure that decides whether SQLite continues.
final class ProgressHandler {
  let shouldContinue: () -> Bool

  init(_ shouldContinue: @escaping () -> Bool) {
    self.shouldContinue = shouldContinue
  }
}

/// Holds the closure that is called after each commit.
final class LogHandler {
  let didCommit: (Int) -> Void

  init(_ didCommit: @escaping (Int) -> Void) {
    self.didCommit = didCommit
  }
}

/// Holds the closure that receives every statement.
final class TraceHandler {
  let expanded: Bool
  let receive: (String) -> Void

  init(expanded: Bool, receive: @escaping (String) -> Void) {
    self.expanded = expanded
    self.receive = receive
  }
}

extension SQLiteConnection {
  /// Interrupts running statements, which fail with an error (`isInterrupted`). May be called on any thread.
  package func interrupt() {
    handle.interrupt()
  }

  /// Sets a closure that is called periodically while statements run.
  ///
  /// - Parameters:
  ///   - instructions: The number of virtual machine instructions between two calls.
  ///   - shouldContinue: Returns false to end the statement with an error (`isInterrupted`); nil removes the handler.
  package func setProgressHandler(every instructions: Int = 1000, _ shouldContinue: (() -> Bool)?) {
    let handler = shouldContinue.map(ProgressHandler.init)
    if let handler {
      sqlite3_progress_handler(
        handle.live, Int32(clamping: max(1, instructions)),
        { Unmanaged<ProgressHandler>.fromOpaque($0!).takeUnretainedValue().shouldContinue() ? 0 : 1 },
        Unmanaged.passUnretained(handler).toOpaque())
    } else {
      sqlite3_progress_handler(handle.live, 0, nil, nil)
    }
    handle.progressHandler = handler
  }

  /// Calls a closure periodically while the statements of a body run.
  ///
  /// If the closure throws, the running statement is interrupted, and the closure's error is thrown. If a progress
  /// handler is already set, it stays, and the closure is not called.
  ///
  /// - Parameters:
  ///   - instructions: The number of virtual machine instructions between two calls.
  ///   - check: The closure; it must not use the connection.
  package func checking<Result>(
    every instructions: Int, _ check: () throws -> Void, during body: () throws -> Result
  ) throws -> Result {
    guard handle.progressHandler == nil else { return try body() }
    return try withoutActuallyEscaping(check) { check in
      var failure: (any Error)?
      setProgressHandler(every: instructions) {
        do {
          if failure == nil { try check() }
        } catch {
          failure = error
        }
        return failure == nil
      }
      defer { setProgressHandler(nil) }
      do {
        let result = try body()
        if let failure { throw failure }
        return result
      } catch {
        throw failure ?? error
      }
    }
  }

  /// Sets a closure that is called after each commit to a write-ahead log, in place of SQLite's automatic checkpoints.
  ///
  /// - Parameter didCommit: Receives the number of pages in the log. It must not use the connection.
  package func setLogHandler(_ didCommit: @escaping (Int) -> Void) {
    let handler = LogHandler(didCommit)
    sqlite3_wal_hook(
      handle.live,
      { context, _, _, pages in
        Unmanaged<LogHandler>.fromOpaque(context!).takeUnretainedValue().didCommit(Int(pages))
        return SQLITE_OK
      }, Unmanaged.passUnretained(handler).toOpaque())
    handle.logHandler = handler
  }

  /// Sets a closure that receives the SQL of every statement when it starts to run.
  ///
  /// - Parameters:
  ///   - expanded: Whether bound values replace the parameters in the SQL.
  ///   - receive: Receives the SQL; nil ends tracing.
  package func setTrace(expanded: Bool = false, _ receive: ((String) -> Void)?) {
    let handler = receive.map { TraceHandler(expanded: expanded, receive: $0) }
    if let handler {
      sqlite3_trace_v2(
        handle.live, UInt32(SQLITE_TRACE_STMT),
        { _, context, statement, text in
          let handler = Unmanaged<TraceHandler>.fromOpaque(context!).takeUnretainedValue()
          let plain = String(cString: text!.assumingMemoryBound(to: CChar.self))
          if handler.expanded, !plain.hasPrefix("--"), let full = sqlite3_expanded_sql(OpaquePointer(statement)) {
            handler.receive(String(cString: full))
            sqlite3_free(full)
          } else {
            handler.receive(plain)
          }
          return 0
        }, Unmanaged.passUnretained(handler).toOpaque())
    } else {
      sqlite3_trace_v2(handle.live, 0, nil, nil)
    }
    handle.traceHandler = handler
  }
}
