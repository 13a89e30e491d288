// OpenCoreData
// SPDX-License-Identifier: Apache-2.0

import CoreData
import CoreDataPostgreSQLClient
import CoreDataStoreFiles
import Foundation

/// Commits, and finding out whether the server has carried them out.
extension PostgreSQLStore {
  /// The maximum number of rows of each kind of change that a transaction is recognized by.
  private static let rowLimit = 50

  func takeUnconfirmedCommit() -> (any UnconfirmedCommit)? {
    defer { unconfirmedCommit = nil }
    return unconfirmedCommit
  }

  /// Returns what identifies the running transaction after its commit; nil if it has written nothing.
  func identifyTransaction(_ state: OpenedSchema) throws -> ServerTransaction? {
    let found = try state.connection.query(
      "SELECT pg_current_xact_id_if_assigned()::text, pg_backend_pid()::bigint")
    guard !found.isNull(0, 0), let number = UInt64(found.string(0, 0)), let run = state.serverRun else { return nil }
    return ServerTransaction(
      number: number, processID: found.int64(0, 1), serverRun: run, schema: try address().schema, rows: [])
  }

  /// Finds out whether the server has committed a transaction although it did not answer.
  ///
  /// - Parameter transaction: The transaction; nil if it has written nothing.
  /// - Throws: The failure if that cannot be learnt. `takeUnconfirmedCommit()` returns the transaction then.
  func isCommitted(_ transaction: ServerTransaction?, after failure: PostgreSQLError) throws -> Bool {
    guard let transaction else { return true }
    let known = ServerTransaction(
      number: transaction.number, processID: transaction.processID, serverRun: transaction.serverRun,
      schema: transaction.schema, rows: try writtenRows())
    let commit = ServerCommit(
      known, try address(), url: url, timeout: StoreOptions(options).timeout ?? StoreOptions.defaultTimeout, failure)
    do {
      return try commit.askForOutcome()
    } catch {
      unconfirmedCommit = commit
      throw error
    }
  }

  /// Returns some of the rows that the last `writeRows(_:)` has written.
  private func writtenRows() throws -> [ServerTransaction.WrittenRow] {
    guard let plans = opened?.plans else { return [] }
    var rows: [ServerTransaction.WrittenRow] = []
    for kind in [RowChange.Kind.insert, .update, .delete] {
      for change in writtenChanges.lazy.filter({ $0.kind == kind }).prefix(Self.rowLimit) {
        rows.append(
          .init(
            table: try plans.plan(for: change.id.entityDescription).layout.table, key: change.id.key.number,
            oldVersion: change.old?.version, isDeleted: kind == .delete))
      }
    }
    return rows
  }

  /// Runs a body in a transaction, or in a savepoint if a transaction is open.
  ///
  /// - Throws: The errors of the body and of the commit. If the connection is lost at the commit, the error tells
  ///   whether the server has not committed, or that this is unknown.
  func transaction<Result>(_ state: OpenedSchema, _ body: () throws -> Result) throws -> Result {
    guard !state.isInTransaction, borrowed == nil else { return try state.connection.transaction(body) }
    try state.noteServerRun()
    var (transaction, result): (ServerTransaction?, Result?)
    do {
      return try state.connection.transaction {
        let made = try body()
        transaction = try identifyTransaction(state)
        result = made
        return made
      }
    } catch let failure as PostgreSQLError where failure.isCommitUnknown {
      guard let result else { throw failure }
      if try isCommitted(transaction, after: failure) { return result }
      throw failure.withoutCommit
    }
  }

  func commitWriting() throws {
    if borrowed != nil { return }
    try ErrorTranslation.translating(url: url, during: .use) {
      guard let opened else { return }
      let transaction = try identifyTransaction(opened)
      do {
        try opened.connection.commit()
      } catch let failure as PostgreSQLError where failure.isCommitUnknown {
        guard try isCommitted(transaction, after: failure) else { throw failure.withoutCommit }
      }
      opened.isInTransaction = false
      writtenChanges = []
      connections.resume()
    }
  }
}
