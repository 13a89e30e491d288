// OpenCoreData
// SPDX-License-Identifier: Apache-2.0

import CSQLite
import Foundation

/// A transaction that could not be undone after its body had thrown.
package struct SQLiteRollbackFailure: Error, CustomStringConvertible {
  /// What the body threw.
  package let cause: any Error
  /// Why undoing failed.
  package let rollback: any Error

  /// Both, in this order.
  package var description: String {
    "\(cause) – and the changes made so far could not be rolled back: \(rollback)"
  }
}

extension SQLiteConnection {
  /// When a transaction takes its locks.
  package enum TransactionMode: String, Hashable, Sendable {
    /// With the first statement that reads or writes.
    case deferred = "DEFERRED"
    /// The lock for writing at once; others may still read.
    case immediate = "IMMEDIATE"
    /// Everything at once; in WAL mode the same as immediate.
    case exclusive = "EXCLUSIVE"
  }

  /// Whether a transaction is open: one begun here, or by SQL text.
  package var inTransaction: Bool {
    guard let pointer = handle.pointer else { return false }
    return sqlite3_get_autocommit(pointer) == 0
  }

  /// Begins a transaction that ``commit()`` or ``rollback()`` ends.
  package func begin(_ mode: TransactionMode = .deferred) throws {
    try run("BEGIN \(mode.rawValue)")
  }

  /// Makes the changes of the open transaction permanent.
  ///
  /// - Throws: `SQLiteError`; as busy when readers are in the way, and then the transaction is still open.
  package func commit() throws {
    let wasOpen = inTransaction
    do {
      try run("COMMIT")
    } catch let error as SQLiteError where error.isInterrupted && wasOpen && !inTransaction {
      // SQLite asks a progress handler once more when all is written, and tells of an interruption that came too late. One
      // that came in time has left the transaction open.
    }
  }

  /// Undoes the open transaction; does nothing where none is open, since SQLite itself rolls back after some errors.
  package func rollback() throws {
    guard inTransaction else { return }
    try run("ROLLBACK")
  }

  /// Runs a body whose changes are kept together or not at all.
  ///
  /// Inside another transaction the body gets a savepoint: when it throws, its own changes go and the outer ones stay.
  /// After a full disk or an I/O error SQLite may have rolled back everything; do not carry on in an outer body then.
  ///
  /// - Parameters:
  ///   - mode: which lock to take; without meaning for a nested transaction.
  ///   - body: the work.
  /// - Returns: what the body returns.
  /// - Throws: what the body throws, an error of the commit after rolling back, or `SQLiteRollbackFailure`.
  package func transaction<Result>(_ mode: TransactionMode = .immediate, _ body: () throws -> Result) throws -> Result {
    if inTransaction { return try savepoint(body) }
    try begin(mode)
    do {
      let result = try body()
      try commit()
      return result
    } catch {
      try undo(after: error) { try rollback() }
      throw error
    }
  }

  private func savepoint<Result>(_ body: () throws -> Result) throws -> Result {
    savepointDepth += 1
    let name = "nested\(savepointDepth)"
    defer { savepointDepth -= 1 }
    try run("SAVEPOINT \(name)")
    do {
      let result = try body()
      try run("RELEASE \(name)")
      return result
    } catch {
      try undo(after: error) {
        guard inTransaction else { return }
        try run("ROLLBACK TO \(name)")
        try run("RELEASE \(name)")
      }
      throw error
    }
  }

  private func undo(after cause: any Error, _ rollback: () throws -> Void) throws {
    do {
      try rollback()
    } catch {
      throw SQLiteRollbackFailure(cause: cause, rollback: error)
    }
  }
}
