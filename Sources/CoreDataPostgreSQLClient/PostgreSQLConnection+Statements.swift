// OpenCoreData
// SPDX-License-Identifier: Apache-2.0

import CPostgreSQL
import Foundation

extension PostgreSQLConnection {
  /// Runs one statement. Prepares it when it is run for the second time, except through a pooler.
  ///
  /// A statement whose plan is outdated because its tables have changed is prepared again.
  ///
  /// - Parameter values: The values of `$1` and so on.
  /// - Throws: `PostgreSQLError`, also if an outdated plan has made a transaction fail (`isOutdatedPlan`).
  package func query(_ sql: String, _ values: [PostgreSQLValue] = []) throws -> PostgreSQLRows {
    try planningAgain {
      try measuring(sql, values) { run in
        guard let found = try runOnce(sql, values, rowByRow: false, { try $0() }) else { throw failure(sql) }
        run?.noteRows(of: found.result)
        return found
      }
    }
  }

  /// Runs one statement like `query(_:_:)`, but processes each row as it arrives, while the server produces the next.
  ///
  /// - Parameter body: Called with one row at a time. Must neither use the connection nor keep the row.
  package func forEachRow(
    _ sql: String, _ values: [PostgreSQLValue] = [], _ body: (PostgreSQLRows) throws -> Void
  ) throws {
    try readRows(sql, values) { next in
      while let row = try next() { try body(row) }
    }
  }

  /// Runs one statement like `query(_:_:)`, but lets a body request the rows one by one while the server produces the
  /// next.
  ///
  /// - Parameter body: Receives a function that returns the next row, valid until the next call, or nil after the last.
  ///   Only one thread at a time may call the function, and the connection must not be used otherwise. The body is
  ///   called again if the statement failed before its first row because its plan was outdated.
  package func readRows<Result>(
    _ sql: String, _ values: [PostgreSQLValue] = [], _ body: (@escaping () throws -> PostgreSQLRows?) throws -> Result
  ) throws -> Result {
    // An outdated plan fails before the first row.
    try planningAgain {
      try measuring(sql, values) { run in
        try runOnce(sql, values, rowByRow: true) { next in
          guard let run else { return try body(next) }
          // The time in which the body uses a row does not count.
          return try body {
            run.resume()
            let row = try next()
            run.pause()
            if row != nil { run.rowCount += 1 }
            return row
          }
        }
      }
    }
  }

  private func planningAgain<Result>(_ body: () throws -> Result) throws -> Result {
    do {
      return try body()
    } catch let error as PostgreSQLError where error.isOutdatedPlan {
      // The tables have changed, so the plans of other statements may be outdated too.
      prepared.forgetAll()
      if transactionStatus != .none { throw error }
      return try body()
    }
  }

  /// Returns the statement for a text, preparing it if the text has been used before, and encodes its parameters.
  func statement(
    _ sql: String, _ values: [PostgreSQLValue], _ handle: OpaquePointer
  ) throws -> PreparedStatements.Statement {
    try dropObsoleteStatements(handle)
    let isKnown = prepared.knows(sql)
    let statement = prepared.statement(sql, values)
    try parameters.encode(values)
    if isKnown, !statement.isPrepared, !isPooled {
      let count = Int32(clamping: statement.types.count)
      cpq_PQclear(try checked(cpq_PQprepare(handle, statement.name, sql, count, statement.types), sql))
      statement.isPrepared = true
    }
    return statement
  }

  /// Runs a statement and lets a body request its result, or each of its rows as it arrives.
  func runUnchecked<Result>(
    _ sql: String, _ values: [PostgreSQLValue], rowByRow: Bool,
    _ body: (@escaping () throws -> PostgreSQLRows?) throws -> Result
  ) throws -> Result {
    if isPooled, transactionStatus == .none {
      return try runAfterSettings(sql, values, rowByRow: rowByRow, body)
    }
    let handle = try open()
    // Within a transaction, a cancelled statement would make the transaction fail.
    let mayCancel = rowByRow && cpq_PQtransactionStatus(handle) == CPQ_TRANSACTION_IDLE
    let statement = try statement(sql, values, handle)
    let isSent = parameters.withPointers { pointers in
      statement.isPrepared
        ? cpq_PQsendQueryPrepared(
          handle, statement.name, pointers.count, pointers.values, pointers.lengths, pointers.formats, 1)
        : cpq_PQsendQueryParams(
          handle, sql, pointers.count, statement.types, pointers.values, pointers.lengths, pointers.formats, 1)
    }
    guard isSent == 1 else { throw failure(sql) }
    if rowByRow { cpq_PQsetSingleRowMode(handle) }
    // Consume the remaining results even after an error: the next statement cannot start before.
    defer { discardResults(handle, mayCancel: mayCancel) }
    var rows: PostgreSQLRows?
    return try body { [self] in
      while let result = cpq_PQgetResult(handle) {
        let result = try checked(result, sql)
        if let rows { rows.replace(by: result) } else { rows = PostgreSQLRows(result) }
        // The last row is followed by a result without rows.
        if let rows, !rowByRow || rows.count > 0 { return rows }
      }
      return nil
    }
  }

  /// The number of rows that are read and discarded before the server is asked to stop sending more.
  static let longestRest = 1_000

  /// Discards the results of the running statement, and ends it early if it has many rows left.
  private func discardResults(_ handle: OpaquePointer, mayCancel: Bool) {
    var count = 0
    while let rest = cpq_PQgetResult(handle) {
      cpq_PQclear(rest)
      count += 1
      // If the server cannot be reached, the statement runs to its end.
      if mayCancel, count == Self.longestRest { cancel() }
    }
  }

  /// Deallocates obsolete statements on the server.
  private func dropObsoleteStatements(_ handle: OpaquePointer) throws {
    // Within a transaction, deallocating a statement that does not exist would make the transaction fail.
    if prepared.obsolete.isEmpty || cpq_PQtransactionStatus(handle) != CPQ_TRANSACTION_IDLE { return }
    for name in prepared.obsolete {
      do {
        cpq_PQclear(try checked(cpq_PQexec(handle, "DEALLOCATE \(name)"), nil))
      } catch let error as PostgreSQLError where error.sqlState == "26000" {
        // The statement does not exist: DEALLOCATE ALL or DISCARD ALL was executed.
        continue
      }
    }
    prepared.obsoleteForgotten()
  }

  /// Runs a statement.
  ///
  /// - Returns: The number of rows inserted, updated or deleted.
  @discardableResult
  package func run(_ sql: String, _ values: [PostgreSQLValue] = []) throws -> Int { try query(sql, values).affected }

  /// Runs statements without parameters, separated by semicolons.
  package func execute(_ script: String) throws {
    try measuring(script) { run in
      let result = try checked(cpq_PQexec(open(), settled(script)), script)
      run?.noteRows(of: result)
      cpq_PQclear(result)
    }
  }
}
