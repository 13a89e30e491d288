// OpenCoreData
// SPDX-License-Identifier: Apache-2.0

import CPostgreSQL
import Foundation

extension PostgreSQLConnection {
  /// Runs one statement. It is kept prepared when it is run for the second time.
  ///
  /// - Parameter values: the values of `$1` and so on.
  /// - Throws: `PostgreSQLError`. If the statement no longer fits its tables, it is prepared again, unless that has ended a
  ///   transaction (`isOutdatedPlan`).
  package func query(_ sql: String, _ values: [PostgreSQLValue] = []) throws -> PostgreSQLRows {
    try planningAgain {
      guard let found = try runOnce(sql, values, rowByRow: false, { try $0() }) else { throw failure(sql) }
      return found
    }
  }

  /// Runs one statement like `query(_:_:)`, and reads each row as soon as it has come, while the server makes the next.
  ///
  /// - Parameter body: called with one row at a time. It must not use the connection, and must not keep the row.
  package func forEachRow(
    _ sql: String, _ values: [PostgreSQLValue] = [], _ body: (PostgreSQLRows) throws -> Void
  ) throws {
    try readRows(sql, values) { next in
      while let row = try next() { try body(row) }
    }
  }

  /// Runs one statement like `query(_:_:)`, and has a body ask for each row, which the server makes while those before are read.
  ///
  /// - Parameter body: receives a function that returns the next row, which is valid until the next call, or nil after the
  ///   last. One thread at a time may call it, and must not use the connection otherwise. The body may be called again, if the
  ///   statement failed before its first row.
  package func readRows<Result>(
    _ sql: String, _ values: [PostgreSQLValue] = [], _ body: (@escaping () throws -> PostgreSQLRows?) throws -> Result
  ) throws -> Result {
    // A plan that is outdated fails before the first row.
    try planningAgain { try runOnce(sql, values, rowByRow: true, body) }
  }

  private func planningAgain<Result>(_ body: () throws -> Result) throws -> Result {
    do {
      return try body()
    } catch let error as PostgreSQLError where error.isOutdatedPlan {
      // The tables have been changed, which other statements do not know either.
      prepared.forgetAll()
      if transactionStatus != .none { throw error }
      return try body()
    }
  }

  /// Returns the statement of a text, which is prepared if it is known, and encodes its parameters.
  private func statement(
    _ sql: String, _ values: [PostgreSQLValue], _ handle: OpaquePointer
  ) throws -> PreparedStatements.Statement {
    try dropObsoleteStatements(handle)
    let isKnown = prepared.knows(sql)
    let statement = prepared.statement(sql, values)
    try parameters.encode(values)
    if isKnown, !statement.isPrepared {
      let count = Int32(clamping: statement.types.count)
      cpq_PQclear(try checked(cpq_PQprepare(handle, statement.name, sql, count, statement.types), sql))
      statement.isPrepared = true
    }
    return statement
  }

  /// Runs a statement, and has a body ask for its result, or for each row of it as soon as it has come.
  private func runOnce<Result>(
    _ sql: String, _ values: [PostgreSQLValue], rowByRow: Bool,
    _ body: (@escaping () throws -> PostgreSQLRows?) throws -> Result
  ) throws -> Result {
    let handle = try open()
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
    // The statement has to end before the next, whatever went wrong.
    defer { while let rest = cpq_PQgetResult(handle) { cpq_PQclear(rest) } }
    var rows: PostgreSQLRows?
    return try body { [self] in
      while let result = cpq_PQgetResult(handle) {
        let result = try checked(result, sql)
        if let rows { rows.replace(by: result) } else { rows = PostgreSQLRows(result) }
        // Behind the last row there is a result without any.
        if let rows, !rowByRow || rows.count > 0 { return rows }
      }
      return nil
    }
  }

  /// Has the server forget statements that are not kept any more.
  private func dropObsoleteStatements(_ handle: OpaquePointer) throws {
    // In a transaction, a statement that the server does not know would end it.
    if prepared.obsolete.isEmpty || cpq_PQtransactionStatus(handle) != CPQ_TRANSACTION_IDLE { return }
    for name in prepared.obsolete {
      do {
        cpq_PQclear(try checked(cpq_PQexec(handle, "DEALLOCATE \(name)"), nil))
      } catch let error as PostgreSQLError where error.sqlState == "26000" {
        // Somebody has executed DEALLOCATE ALL or DISCARD ALL.
        continue
      }
    }
    prepared.obsoleteForgotten()
  }

  /// Runs a statement.
  ///
  /// - Returns: the number of rows that it has inserted, updated or deleted.
  @discardableResult
  package func run(_ sql: String, _ values: [PostgreSQLValue] = []) throws -> Int { try query(sql, values).affected }

  /// Runs statements without parameters, separated by semicolons.
  package func execute(_ script: String) throws { cpq_PQclear(try checked(cpq_PQexec(open(), script), script)) }
}
