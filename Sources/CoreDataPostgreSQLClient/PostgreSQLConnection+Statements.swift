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
    do {
      return try queryOnce(sql, values)
    } catch let error as PostgreSQLError where error.isOutdatedPlan {
      // The tables have been changed, which other statements do not know either.
      prepared.forgetAll()
      if transactionStatus != .none { throw error }
      return try queryOnce(sql, values)
    }
  }

  private func queryOnce(_ sql: String, _ values: [PostgreSQLValue]) throws -> PostgreSQLRows {
    let handle = try open()
    try dropObsoleteStatements(handle)
    let isKnown = prepared.knows(sql)
    let statement = prepared.statement(sql, values)
    try parameters.encode(values)
    if isKnown, !statement.isPrepared {
      let count = Int32(clamping: statement.types.count)
      cpq_PQclear(try checked(cpq_PQprepare(handle, statement.name, sql, count, statement.types), sql))
      statement.isPrepared = true
    }
    let result = parameters.withPointers { pointers in
      statement.isPrepared
        ? cpq_PQexecPrepared(
          handle, statement.name, pointers.count, pointers.values, pointers.lengths, pointers.formats, 1)
        : cpq_PQexecParams(
          handle, sql, pointers.count, statement.types, pointers.values, pointers.lengths, pointers.formats, 1)
    }
    return PostgreSQLRows(try checked(result, sql))
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
