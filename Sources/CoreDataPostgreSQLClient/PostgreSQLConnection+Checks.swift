// OpenCoreData
// SPDX-License-Identifier: Apache-2.0

import CPostgreSQL

extension PostgreSQLConnection {
  /// A statement that shows whether the database is still as the program expects it to be.
  ///
  /// It is executed after each statement outside a transaction, in a transaction of its own, and in the same round trip
  /// if both statements are prepared. What it does not see had not been committed when the statement before it read.
  package struct Check {
    package let sql: String
    /// Throws if the result is not the expected one. Called when both statements have ended, even if the first one has
    /// failed. May use the connection, whose statements are not checked meanwhile.
    package let verify: (PostgreSQLConnection, Result<PostgreSQLRows, any Error>) throws -> Void

    package init(
      _ sql: String, verify: @escaping (PostgreSQLConnection, Result<PostgreSQLRows, any Error>) throws -> Void
    ) {
      (self.sql, self.verify) = (sql, verify)
    }
  }

  /// Runs a body whose statements are not followed by the check.
  package func unchecked<Result>(_ body: () throws -> Result) rethrows -> Result {
    let check = check
    self.check = nil
    defer { self.check = check }
    return try body()
  }

  /// Runs a statement, and the check after it if no transaction is open.
  ///
  /// - Throws: The error of the check, which may be the cause of other errors; that of the statement; that of the body.
  func runOnce<Result>(
    _ sql: String, _ values: [PostgreSQLValue], rowByRow: Bool,
    _ body: (@escaping () throws -> PostgreSQLRows?) throws -> Result
  ) throws -> Result {
    guard let check, transactionStatus == .none else { return try runUnchecked(sql, values, rowByRow: rowByRow, body) }
    var pair: (Swift.Result<Result, any Error>, Swift.Result<PostgreSQLRows, any Error>)?
    do {
      pair = try runTogether(sql, values, rowByRow: rowByRow, check.sql, body)
    } catch let error as PostgreSQLError where !error.isConnectionLost {
      // The statement could not be prepared.
      pair = (.failure(error), runAlone(check.sql))
    }
    let (result, found) =
      pair ?? (Swift.Result { try runUnchecked(sql, values, rowByRow: rowByRow, body) }, runAlone(check.sql))
    if case .failure(let error as PostgreSQLError) = result, error.isConnectionLost { throw error }
    if case .failure(let error as PostgreSQLError) = found, error.isOutdatedPlan { prepared.forget(check.sql) }
    try unchecked { try check.verify(self, found) }
    return try result.get()
  }

  private func runAlone(_ sql: String) -> Swift.Result<PostgreSQLRows, any Error> {
    Result {
      guard let rows = try runUnchecked(sql, [], rowByRow: false, { try $0() }) else { throw failure(sql) }
      return rows
    }
  }

  /// Sends two statements together and reads both results.
  ///
  /// - Returns: nil if one of them has not been prepared. Nothing has been sent then.
  private func runTogether<Value>(
    _ sql: String, _ values: [PostgreSQLValue], rowByRow: Bool, _ second: String,
    _ body: (@escaping () throws -> PostgreSQLRows?) throws -> Value
  ) throws -> (Result<Value, any Error>, Result<PostgreSQLRows, any Error>)? {
    let handle = try open()
    guard prepared.knows(sql), prepared.knows(second) else { return nil }
    let checking = try statement(second, [], handle)
    let statement = try statement(sql, values, handle)
    guard statement.isPrepared, checking.isPrepared else { return nil }
    guard cpq_PQenterPipelineMode(handle) == 1 else { throw failure(sql) }
    // With a synchronization after each statement, both are executed whether or not the other one fails.
    var isSent = send(statement, handle)
    if isSent, rowByRow { cpq_PQsetSingleRowMode(handle) }
    isSent = isSent && cpq_PQpipelineSync(handle) == 1
    if isSent {
      try parameters.encode([])
      isSent = send(checking, handle) && cpq_PQpipelineSync(handle) == 1
    }
    guard isSent else {
      let error = failure(sql)
      // The connection would not leave the pipeline mode.
      close()
      throw error
    }
    let first = PipelinedResult(self, handle, sql)
    let result = Result { try body { try first.next(rowByRow: rowByRow) } }
    let next = PipelinedResult(self, handle, second)
    do {
      try first.finish()
      let found = Result {
        guard let rows = try next.next(rowByRow: false) else { throw failure(second) }
        return rows
      }
      try next.finish()
      guard cpq_PQexitPipelineMode(handle) == 1 else { throw failure(sql) }
      return (result, found)
    } catch let error as PostgreSQLError {
      close()
      if case .failure(let first as PostgreSQLError) = result, first.isConnectionLost { throw first }
      if error.isConnectionLost { throw error }
      throw PostgreSQLError(
        "The results of a pipeline cannot be read: \(error.message)", isConnectionLost: true, statement: sql)
    }
  }

  /// Sends a prepared statement with the parameters that were encoded last. Returns false if libpq refuses it.
  private func send(_ statement: PreparedStatements.Statement, _ handle: OpaquePointer) -> Bool {
    parameters.withPointers { pointers in
      cpq_PQsendQueryPrepared(
        handle, statement.name, pointers.count, pointers.values, pointers.lengths, pointers.formats, 1)
    } == 1
  }

  /// Runs statements without parameters, separated by semicolons, in the open transaction, and returns the rows of the
  /// last one as text.
  package func lastRows(_ script: String) throws -> PostgreSQLRows {
    PostgreSQLRows(try checked(cpq_PQexec(open(), script), script))
  }
}

/// The results of one statement in a pipeline.
private final class PipelinedResult {
  private unowned let connection: PostgreSQLConnection
  private let handle: OpaquePointer
  private let sql: String
  private var rows: PostgreSQLRows?
  /// Whether the null pointer was read that ends the results.
  private var isEnded = false

  init(_ connection: PostgreSQLConnection, _ handle: OpaquePointer, _ sql: String) {
    (self.connection, self.handle, self.sql) = (connection, handle, sql)
  }

  /// Returns the next rows, or nil after the last ones.
  func next(rowByRow: Bool) throws -> PostgreSQLRows? {
    while let result = result() {
      let result = try connection.checked(result, sql)
      if let rows { rows.replace(by: result) } else { rows = PostgreSQLRows(result) }
      // The last row is followed by a result without rows.
      if let rows, !rowByRow || rows.count > 0 { return rows }
    }
    return nil
  }

  private func result() -> OpaquePointer? {
    if isEnded { return nil }
    let result = cpq_PQgetResult(handle)
    isEnded = result == nil
    return result
  }

  /// Reads the remaining results, and the synchronization after them.
  func finish() throws {
    while let rest = result() { cpq_PQclear(rest) }
    let end = cpq_PQgetResult(handle)
    defer { cpq_PQclear(end) }
    guard let end, cpq_PQresultStatus(end) == CPQ_PIPELINE_SYNC else { throw connection.failure(sql) }
  }
}
