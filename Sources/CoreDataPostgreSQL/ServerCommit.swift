// OpenCoreData
// SPDX-License-Identifier: Apache-2.0

import CoreData
import CoreDataPostgreSQLClient
import CoreDataSQLite
import CoreDataStoreFiles
import Foundation
import Synchronization

/// A transaction whose commit the server has not answered.
final class ServerCommit: UnconfirmedCommit {
  /// The seconds to wait before asking again.
  private static let pause = 0.1
  /// The number of answers after which a transaction in progress is ended whose commit has not reached the server.
  private static let patience = 10

  private let transaction: ServerTransaction
  private let address: PostgreSQLAddress
  private let url: URL?
  /// The seconds for which to ask.
  private let timeout: TimeInterval
  private let failure: PostgreSQLError
  /// The first later run of the server that has answered.
  private let laterRun = Mutex<String?>(nil)

  init(
    _ transaction: ServerTransaction, _ address: PostgreSQLAddress, url: URL?, timeout: TimeInterval,
    _ failure: PostgreSQLError
  ) {
    // A host that does not answer must not take minutes.
    self.address = address.limitingConnectionTime(to: max(2, Int(min(timeout, 3_600).rounded(.up))))
    (self.transaction, self.url, self.timeout, self.failure) = (transaction, url, timeout, failure)
  }

  func isCommitted() throws -> Bool {
    try ErrorTranslation.translating(url: url, during: .use) { try askForOutcome() }
  }

  /// Asks on a connection of its own, again until the server tells or the time is up.
  ///
  /// - Throws: The error of the commit, with a hint that says why its outcome is unknown.
  func askForOutcome() throws -> Bool {
    let end = ContinuousClock.now + .seconds(timeout)
    var connection: PostgreSQLConnection?
    defer { connection?.close() }
    var attempt = 0
    while true {
      attempt += 1
      let reason: String
      do {
        let open = try connection ?? PostgreSQLConnection(address, applicationName: ProcessInfo.processInfo.processName)
        connection = open
        switch try outcome(open) {
        case .committed: return true
        case .rolledBack: return false
        case .unknown(let why): throw failure.withHint("The outcome of the commit cannot be learnt: \(why)")
        case .inProgress:
          if attempt >= Self.patience { try transaction.endUnlessCommitting(open) }
          reason = "the server is still executing the transaction."
        }
      } catch let error as PostgreSQLError where !error.isCommitUnknown {
        connection?.close()
        connection = nil
        reason = "\(error)"
      }
      if ContinuousClock.now >= end {
        throw failure.withHint("The outcome of the commit was not learnt within \(timeout) seconds: \(reason)")
      }
      Thread.sleep(forTimeInterval: Self.pause)
    }
  }
}

extension ServerCommit {
  private func outcome(_ connection: PostgreSQLConnection) throws -> ServerTransaction.Outcome {
    let run = try ServerTransaction.serverRun(connection)
    let first = laterRun.withLock { known in
      if known == nil, run != transaction.serverRun { known = run }
      return known
    }
    return try transaction.outcome(connection, isNextRun: first == nil || first == run)
  }
}

/// What identifies a transaction after its connection was lost.
struct ServerTransaction {
  enum Outcome: Equatable {
    case committed
    case rolledBack
    case inProgress
    /// The server cannot tell any more. The reason is the end of a sentence.
    case unknown(String)
  }

  /// A row that the transaction has written.
  struct WrittenRow {
    let table: String
    let key: Int64
    /// The version that the row had before; nil for a new row.
    let oldVersion: Int64?
    let isDeleted: Bool
  }

  /// The transaction ID, with its epoch.
  let number: UInt64
  /// The server process that ran the transaction.
  let processID: Int64
  /// The run of the server in which the ID was assigned, as `serverRun(_:)` returns it.
  let serverRun: String
  let schema: String
  /// Some of the rows that the transaction has written.
  let rows: [WrittenRow]

  /// Returns what identifies the current run of the server, which ends when the server stops or crashes.
  ///
  /// After a crash, the server assigns the IDs of transactions again whose log was lost.
  static func serverRun(_ connection: PostgreSQLConnection) throws -> String {
    // A crash of a single server process resets the statistics, but not the time of the start.
    try connection.query(
      "SELECT extract(epoch FROM pg_postmaster_start_time())::text || ' ' "
        + "|| coalesce(extract(epoch FROM pg_stat_get_bgwriter_stat_reset_time())::text, '')"
    ).string(0, 0)
  }

  /// Asks the server how the transaction has ended.
  ///
  /// - Parameter isNextRun: Whether the run that answers may be the next one after that of the transaction. A later run
  ///   cannot tell whose ID it has found.
  func outcome(_ connection: PostgreSQLConnection, isNextRun: Bool = true) throws -> Outcome {
    if try connection.query("SELECT pg_is_in_recovery()").bool(0, 0) {
      return .unknown("the server that answers is a standby.")
    }
    let run = try Self.serverRun(connection)
    let isSameRun = run == serverRun
    if try isOfAnotherStart(run) && isUnknownToRun(connection) { return .rolledBack }
    let status: String?
    do {
      let rows = try connection.query("SELECT pg_xact_status($1::text::xid8)", [.text(String(number))])
      status = rows.isNull(0, 0) ? nil : rows.string(0, 0)
    } catch let error as PostgreSQLError where error.sqlState == "22023" {
      // The server has not assigned the ID yet. It knew nothing of the transaction when it crashed.
      return .rolledBack
    }
    switch status {
    case "aborted": return .rolledBack
    // In a later run, this is another transaction with the same ID.
    case "in progress": return isSameRun ? .inProgress : .rolledBack
    case "committed" where isSameRun: return .committed
    case "committed":
      switch try evidence(connection) {
      case .missing: return .rolledBack
      case .insertedRow: return .committed
      case .updatedRow, .none:
        if try isNextRun && isFromEarlierRun(connection) { return .committed }
        return .unknown(
          "the server was restarted or replaced since, and may have given the transaction's ID to another one.")
      }
    default:
      switch try evidence(connection) {
      case .missing: return .rolledBack
      case .insertedRow: return .committed
      case .updatedRow where isSameRun: return .committed
      case .updatedRow, .none: return .unknown("the server has forgotten the transaction.")
      }
    }
  }

  /// Returns whether the server was started again since. The time of its statistics alone does not tell that.
  private func isOfAnotherStart(_ run: String) -> Bool {
    run.split(separator: " ").first != serverRun.split(separator: " ").first
  }

  /// Returns whether a server that was started again had not read of the ID in its log: the commit was not written there,
  /// and the ID has gone to another transaction since, or will.
  ///
  /// The latest checkpoint is that with which the run began, or a later one, unless the server was a standby and has made
  /// none since, in which case the checkpoint is of another timeline.
  private func isUnknownToRun(_ connection: PostgreSQLConnection) throws -> Bool {
    let rows = try connection.query(
      "SELECT timeline_id = ('x' || left(pg_walfile_name(pg_current_wal_insert_lsn()), 8))::bit(32)::int, next_xid "
        + "FROM pg_control_checkpoint()")
    guard rows.bool(0, 0), let next = Self.number(rows.string(0, 1)) else { return false }
    return number >= next
  }

  /// Returns the transaction ID of a text with its epoch, such as `0:731`.
  private static func number(_ text: String) -> UInt64? {
    let parts = text.split(separator: ":").compactMap { UInt64($0) }
    return parts.count == 2 ? parts[0] << 32 | parts[1] : nil
  }

  /// Returns whether the current run of the server began after the ID was assigned.
  ///
  /// The checkpoint with which a run begins has the first ID that the run assigns, until the next checkpoint.
  private func isFromEarlierRun(_ connection: PostgreSQLConnection) throws -> Bool {
    let rows = try connection.query(
      "SELECT redo_lsn = checkpoint_lsn AND current_setting('wal_level') <> 'minimal', next_xid "
        + "FROM pg_control_checkpoint()")
    guard rows.bool(0, 0), let next = Self.number(rows.string(0, 1)) else { return false }
    return number < next
  }

  /// What the rows tell that the transaction has written.
  private enum Evidence {
    /// A row is as it was before.
    case missing
    /// A new row bears the ID. Its key was given out once, so no other transaction has inserted it.
    case insertedRow
    /// An updated row bears the ID. Another transaction with this ID could have updated it.
    case updatedRow
    /// Others have changed the rows since, or the transaction has only deleted.
    case none
  }

  private func evidence(_ connection: PostgreSQLConnection) throws -> Evidence {
    var best = Evidence.none
    for (table, written) in Dictionary(grouping: rows, by: \.table) {
      let found = try connection.query(
        "SELECT z_pk, z_opt::bigint, xmin::text FROM \(SQLName.quoted(schema)).\(SQLName.quoted(table)) "
          + "WHERE z_pk = ANY ($1)", [.integers(written.map(\.key))])
      var states: [Int64: (version: Int64, isOwn: Bool)] = [:]
      for row in 0..<found.count {
        let isOwn = UInt64(found.string(row, 2)) == number & 0xFFFF_FFFF
        states[found.int64(row, 0)] = (found.int64(row, 1), isOwn)
      }
      for row in written {
        guard let state = states[row.key] else { continue }
        if row.isDeleted || state.version == row.oldVersion && !state.isOwn { return .missing }
        guard state.isOwn else { continue }
        if row.oldVersion == nil { best = .insertedRow } else if best == .none { best = .updatedRow }
      }
    }
    return best
  }

  /// Ends the server process of the transaction if it waits for a statement: the commit has not reached it, and the
  /// server has not noticed the end of the connection. The transaction is rolled back then.
  func endUnlessCommitting(_ connection: PostgreSQLConnection) throws {
    _ = try connection.query(
      "SELECT pg_terminate_backend(pid) FROM pg_stat_activity WHERE pid = $1::int "
        + "AND backend_xid = $2::text::xid8::xid AND state LIKE 'idle in transaction%'",
      [.integer(processID), .text(String(number))])
  }
}
