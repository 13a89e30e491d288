// OpenCoreData
// SPDX-License-Identifier: Apache-2.0

import CPostgreSQL

extension PostgreSQLConnection {
  /// - Parameter mode: what follows BEGIN, such as `READ ONLY`.
  package func begin(_ mode: String = "") throws { try execute(mode.isEmpty ? "BEGIN" : "BEGIN \(mode)") }

  /// - Throws: `PostgreSQLError`, with `isCommitUnknown` if the connection was lost after the server may have begun to commit.
  package func commit() throws {
    let handle = try open()
    // What was lost before cannot be committed.
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
    // The connection may be lost all the same.
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

  /// Runs a body in a transaction, or within one in a part that can be rolled back alone.
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
      // After a failure of the connection or of libpq the transaction might be open.
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

  /// Undoes a transaction, or a part of it, after an error, which is what the caller needs to know.
  private func end(_ sql: String) {
    if isLost { return }
    do {
      try execute(sql)
    } catch {
      // Without the connection, nothing of the transaction can be committed by mistake.
      close()
    }
  }
}
