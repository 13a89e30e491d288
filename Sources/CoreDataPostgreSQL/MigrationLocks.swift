// OpenCoreData
// SPDX-License-Identifier: Apache-2.0

import CoreDataPostgreSQLClient
import CoreDataSQLite
import Foundation

/// Locks the tables of a store for a migration.
///
/// While a statement waits for a lock, all others that need the table wait behind it, readers too. So the migration locks
/// everything that it needs before its first change, in short attempts. Between two attempts it holds no table, and the
/// others go on.
struct MigrationLocks {
  /// The duration of an attempt in seconds. The server looks for deadlocks after a second, so that no transaction of
  /// others is ended for the sake of an attempt.
  private static let attempt = 0.4
  /// The seconds between attempts, which grow.
  private static let (firstPause, longestPause) = (0.2, 2.0)

  private let connection: PostgreSQLConnection
  private let address: PostgreSQLAddress
  /// The seconds until the migration gives up.
  private let timeout: Double

  init(_ schema: SchemaInDatabase, timeout: Double) {
    (connection, address, self.timeout) = (schema.connection, schema.address, timeout)
  }

  /// Keeps other connections from writing to tables until the transaction ends, and from reading some of them.
  ///
  /// - Parameters:
  ///   - tables: All tables of the store.
  ///   - exclusive: The names of tables that others must not read either. Others than those of the store are ignored.
  /// - Throws: `PostgreSQLError` with `isLockTimeout` and a hint that names the processes in the way. No table is locked
  ///   then.
  func acquire(_ tables: [String], exclusive: Set<String>) throws {
    let alone = tables.filter(exclusive.contains)
    let statements = [(tables, "SHARE ROW EXCLUSIVE"), (alone, "ACCESS EXCLUSIVE")].filter { !$0.0.isEmpty }
      .map { names, mode in "LOCK TABLE \(names.map(SQLName.quoted).joined(separator: ", ")) IN \(mode) MODE" }
    let end = ContinuousClock.now.advanced(by: .seconds(timeout))
    var pause = Self.firstPause
    while true {
      let left = ContinuousClock.now.duration(to: end) / .seconds(1)
      let isLast = left <= Self.attempt
      let observer = isLast ? BlockerObserver(address) : nil
      do {
        try connection.transaction {
          try connection.setLockTimeout(isLast ? min(Self.attempt, timeout) : Self.attempt, isLocal: true)
          if let observer { observer.start(for: try serverProcess()) }
          for statement in statements { try connection.execute(statement) }
        }
        _ = observer?.stop()
        // From now on the others wait anyway.
        return try connection.setLockTimeout(timeout, isLocal: true)
      } catch let error as PostgreSQLError where error.isLockTimeout || error.isDeadlock {
        let blockers = observer?.stop()
        if isLast { throw error.withHint(blockers) }
        Thread.sleep(forTimeInterval: min(pause, max(left - Self.attempt, 0)))
        pause = min(pause * 1.5, Self.longestPause)
      }
    }
  }
}

extension MigrationLocks {
  /// Returns the process of the server that executes the statements of the open transaction. Behind a pooler this is
  /// not the one that the connection was told of.
  private func serverProcess() throws -> Int64 {
    try connection.query("SELECT pg_catalog.pg_backend_pid()::bigint").int64(0, 0)
  }
}

/// Asks the server, on a connection of its own, for the processes that another process waits for.
private final class BlockerObserver: @unchecked Sendable {
  /// The seconds between two questions.
  private static let pause = 0.03

  private let lock = NSLock()
  private var isStopped = false
  private var found: String?
  private let observer: PostgreSQLConnection
  private var isStarted = false
  private let ended = DispatchSemaphore(value: 0)

  /// Connects. A migration that cannot lock its tables fails with the right error even if nothing is found.
  init?(_ address: PostgreSQLAddress) {
    // See above.
    guard let made = try? PostgreSQLConnection(address, applicationName: ProcessInfo.processInfo.processName)
    else { return nil }
    observer = made
  }

  /// Starts asking for the processes that a process of the server waits for.
  func start(for process: Int64) {
    isStarted = true
    let thread = Thread { [self] in
      defer {
        observer.close()
        ended.signal()
      }
      while !lock.withLock({ isStopped }) {
        // See above.
        guard let blockers = try? Self.blockers(of: process, observer) else { return }
        // A save that ends in time is not what the migration gives up for.
        if !blockers.isEmpty { lock.withLock { found = blockers } }
        Thread.sleep(forTimeInterval: Self.pause)
      }
    }
    thread.start()
  }

  /// Stops asking, and returns a sentence that names the processes; nil if there were none.
  func stop() -> String? {
    guard isStarted else {
      observer.close()
      return nil
    }
    lock.withLock { isStopped = true }
    ended.wait()
    return lock.withLock { found }
  }

  private static func blockers(of process: Int64, _ observer: PostgreSQLConnection) throws -> String {
    let rows = try observer.query(
      "SELECT b.pid::text, coalesce(a.usename::text, ''), coalesce(a.application_name, ''), coalesce(a.state, ''), "
        + "coalesce(to_char(a.xact_start, 'YYYY-MM-DD HH24:MI:SS'), ''), "
        + "coalesce(to_char(a.query_start, 'YYYY-MM-DD HH24:MI:SS'), '') "
        + "FROM (SELECT DISTINCT unnest(pg_blocking_pids($1::int)) AS pid) b LEFT JOIN pg_stat_activity a USING (pid) "
        + "ORDER BY b.pid", [.integer(process)])
    if rows.count == 0 { return "" }
    let names = (0..<rows.count).map { row in
      // The server does not tell every role everything about the processes of others.
      let details = [
        rows.string(row, 2), rows.string(row, 3),
        rows.string(row, 4).isEmpty ? "" : "in a transaction since \(rows.string(row, 4)) UTC",
        rows.string(row, 5).isEmpty ? "" : "last query at \(rows.string(row, 5)) UTC",
      ].filter { !$0.isEmpty }
      let user = rows.string(row, 1).isEmpty ? "" : " of \(rows.string(row, 1))"
      // A prepared transaction has no process.
      let name = rows.string(row, 0) == "0" ? "a prepared transaction" : "process \(rows.string(row, 0))\(user)"
      return details.isEmpty ? name : "\(name) (\(details.joined(separator: ", ")))"
    }
    return "Locks are held by \(names.joined(separator: ", "))."
  }
}
