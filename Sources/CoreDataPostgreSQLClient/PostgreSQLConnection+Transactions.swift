// OpenCoreData
// SPDX-License-Identifier: Apache-2.0

import CPostgreSQL

extension PostgreSQLConnection {
  /// The default mode of transactions, in which each statement sees what was committed before it.
  package static let readCommitted = "ISOLATION LEVEL READ COMMITTED"

  /// Begins a transaction, on whose settings its statements can rely.
  ///
  /// - Parameter mode: The text after BEGIN, such as `ISOLATION LEVEL REPEATABLE READ`. Does not depend on
  ///   `default_transaction_isolation`.
  package func begin(_ mode: String = readCommitted) throws {
    let begin = "BEGIN \(mode)\(namingOfTransaction)"
    // In other modes, the query would already take the snapshot.
    guard !isPooled, mode == Self.readCommitted else { return try execute(begin) }
    let rows = try textRows(of: "\(begin); SELECT pg_catalog.pg_backend_pid()")
    if rows.string(0, 0) == String(processID) { return }
    // The session belongs to others, too, and has none of the settings of this connection.
    try execute("ROLLBACK")
    becomePooled()
    try execute(begin)
  }

  /// Commits the transaction.
  ///
  /// - Throws: `PostgreSQLError`, with `isCommitUnknown` if the connection was lost and the server may have committed.
  package func commit() throws { try measuring("COMMIT") { _ in try sendCommit() } }

  private func sendCommit() throws {
    let handle = try open()
    // The connection was lost before, so the commit has not been sent.
    if isLost { throw failure("COMMIT") }
    guard cpq_PQsendQuery(handle, "COMMIT") == 1 else {
      throw isLost ? failure("COMMIT").withUnknownCommit : failure("COMMIT")
    }
    var tag: String?
    var problem: PostgreSQLError?
    while let result = cpq_PQgetResult(handle) {
      if cpq_PQresultStatus(result) == CPQ_COMMAND_OK {
        tag = String(libpq: cpq_PQcmdStatus(result))
        cpq_PQclear(result)
        continue
      }
      do {
        cpq_PQclear(try checked(result, "COMMIT"))
      } catch let error as PostgreSQLError {
        problem = problem ?? error
      }
    }
    switch tag {
    // The commit succeeded, even if the connection is lost by now.
    case "COMMIT": return
    case nil:
      let error = problem ?? failure("COMMIT")
      throw error.isConnectionLost ? error.withUnknownCommit : error
    default:
      throw PostgreSQLError("The transaction was rolled back, since one of its statements had failed.")
    }
  }

  package func rollback() throws {
    if isLost { return }
    try execute("ROLLBACK")
  }

  /// Runs a body in a transaction, or in a savepoint if a transaction is open.
  package func transaction<Result>(_ body: () throws -> Result) throws -> Result {
    guard !isInTransaction else { return try savepoint(body) }
    try begin()
    let result: Result
    do {
      result = try body()
    } catch {
      end("ROLLBACK")
      throw error
    }
    do {
      try commit()
    } catch {
      // After a failure of the connection or of libpq, the transaction might still be open.
      if isInTransaction { end("ROLLBACK") }
      throw error
    }
    return result
  }

  private func savepoint<Result>(_ body: () throws -> Result) throws -> Result {
    savepoints += 1
    let name = "c\(savepoints)"
    defer { savepoints -= 1 }
    try execute("SAVEPOINT \(name)")
    do {
      let result = try body()
      try execute("RELEASE SAVEPOINT \(name)")
      return result
    } catch {
      end("ROLLBACK TO SAVEPOINT \(name); RELEASE SAVEPOINT \(name)")
      throw error
    }
  }

  /// Runs a statement that rolls back after an error. Closes the connection if that fails, so that the caller can
  /// report the original error.
  private func end(_ sql: String) {
    if isLost { return }
    do {
      try execute(sql)
    } catch {
      // Closing the connection makes sure that the transaction cannot be committed by mistake.
      close()
    }
  }
}
