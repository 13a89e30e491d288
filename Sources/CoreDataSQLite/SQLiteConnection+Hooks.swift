// OpenCoreData
// SPDX-License-Identifier: Apache-2.0

import CSQLite
import Foundation

/// Holds the closure that SQLite asks whether to go on.
final class ProgressHandler {
  let shouldContinue: () -> Bool

  init(_ shouldContinue: @escaping () -> Bool) {
    self.shouldContinue = shouldContinue
  }
}

/// Holds the closure that SQLite tells of every statement.
final class TraceHandler {
  let expanded: Bool
  let receive: (String) -> Void

  init(expanded: Bool, receive: @escaping (String) -> Void) {
    self.expanded = expanded
    self.receive = receive
  }
}

extension SQLiteConnection {
  /// Ends running statements with an error (`isInterrupted`) as soon as possible; may be called by any thread.
  package func interrupt() {
    handle.interrupt()
  }

  /// Has a closure asked while statements run whether they should go on.
  ///
  /// - Parameters:
  ///   - instructions: how many steps of SQLite's virtual machine lie between two questions.
  ///   - shouldContinue: false ends the statement with an error (`isInterrupted`); nil takes the question away.
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

  /// Calls a closure while the statements of a body run; what it throws ends them, and is thrown in place of their error.
  /// A progress handler that is set already stays, and the closure is not called.
  ///
  /// - Parameters:
  ///   - instructions: how many steps of SQLite's virtual machine lie between two calls.
  ///   - check: must not use the connection.
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

  /// Has a closure see the SQL of every statement when it starts to run.
  ///
  /// - Parameters:
  ///   - expanded: whether bound values stand in the text instead of `?`.
  ///   - receive: gets the text; nil ends tracing.
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
