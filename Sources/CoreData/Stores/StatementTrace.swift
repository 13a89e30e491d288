// OpenCoreData
// SPDX-License-Identifier: Apache-2.0

import CoreDataTracing
import Dispatch
import Foundation

/// Reports the SQL statements of all stores of the process, with their durations: for metrics, logs and traces. An
/// addition to Apple's interface.
///
///     StatementTrace.observe { statement in
///       histogram.record(statement.duration, labels: ["request": statement.request.rawValue])
///       if statement.duration > .milliseconds(200) { logger.warning("slow: \(statement.sql)") }
///     }
///
/// The statements of SQLite and PostgreSQL stores are reported, including those of migrations, batch requests and stores
/// that are being opened. While nobody observes, each step of a statement costs one comparison more.
///
/// Without a line of code, the environment variable `COREDATA_LOG=sql,timing` writes the same to standard error, and
/// `COREDATA_LOG=sql,timing,values` also the bound values. So does the launch argument
/// `-com.apple.CoreData.SQLDebug 1`, or `3` with values.
public enum StatementTrace {
  /// Calls a handler after each statement, until the observation ends.
  ///
  /// The handler is called on a queue of its own, one statement after the other, in the order in which they ended. No
  /// lock, transaction or context is held then, so it may use contexts and save. It does not delay the stores: if 10,000
  /// statements wait for a slow handler, further ones are counted (`missedCount`) and not reported.
  ///
  /// Statements that the handler itself causes, on its thread, are not reported.
  ///
  /// - Parameters:
  ///   - includingValues: whether to report bound values. They are the data of the program's users, and computing them
  ///     takes time.
  ///   - handler: receives the statements.
  /// - Returns: the observation, which also lasts if it is not kept.
  @discardableResult
  public static func observe(
    includingValues: Bool = false, _ handler: @escaping @Sendable (StoreStatement) -> Void
  ) -> StatementObservation {
    StatementObservation(includingValues: includingValues, handler: handler)
  }
}

/// A statement that a store has run. An addition to Apple's interface.
public struct StoreStatement: Sendable {
  /// What a statement was run for.
  public enum Request: String, CaseIterable, Sendable {
    /// Opening a store, which includes creating it.
    case opening
    /// A migration, including all that its policies and handlers do.
    case migration
    /// A fetch, with the relationships that it prefetches.
    case fetch
    /// A count of objects.
    case count
    /// The row of a fault, or the members of a relationship.
    case fault
    /// A save, or the permanent identifiers of new objects.
    case save
    /// An `NSBatchInsertRequest`.
    case batchInsert = "batch insert"
    /// An `NSBatchUpdateRequest`.
    case batchUpdate = "batch update"
    /// An `NSBatchDeleteRequest`.
    case batchDelete = "batch delete"
    /// A request about persistent history.
    case history
    /// Work that belongs to no request, such as listening for changes.
    case other
  }

  /// The failure of a statement. The framework may have dealt with it, by repeating a transaction for example.
  public struct Failure: Sendable {
    /// The code of the database, such as `SQLSTATE 23505` or `SQLite 2067`.
    public let code: String
    /// The message of the database.
    public let message: String
  }

  /// The statement, with parameters in place of bound values.
  public let sql: String
  /// The statement with its bound values, shortened if they are long; nil unless the observation asked for values.
  public let sqlWithValues: String?
  /// The path of the database, or its URL without a password. A migration may work on a private copy beside the store,
  /// or in the temporary directory.
  public let location: String
  /// The time that the database took, without the time in which the program used the rows. In a pipeline, the time
  /// since the result of the statement before; for a COPY, also the time to write the rows.
  public let duration: Duration
  /// The number of rows returned, inserted, updated or deleted.
  public let rowCount: Int
  /// The reason why the statement failed; nil if it succeeded.
  public let failure: Failure?
  /// What the statement was run for.
  public let request: Request
  /// The name of the context that used the store. Children pass their requests to their parents.
  public let contextName: String?
  /// The context's `transactionAuthor`.
  public let author: String?
  /// The number of statements before this one that were not reported, because the handler was too slow.
  public let missedCount: Int

  fileprivate init(_ report: StatementReport, missedCount: Int) {
    sql = report.sql
    sqlWithValues = report.boundSQL
    location = report.location
    duration = report.duration
    rowCount = report.rowCount
    failure = report.failure.map { Failure(code: $0.code, message: $0.message) }
    request = (report.origin?.kind).flatMap { Request(rawValue: $0.rawValue) } ?? .other
    contextName = report.origin?.contextName
    author = report.origin?.author
    self.missedCount = missedCount
  }
}

/// An observation of statements. An addition to Apple's interface.
public final class StatementObservation: Sendable {
  /// The maximum number of statements that wait for the handler.
  private static let waitingLimit = 10_000

  private struct State {
    var waiting: [StoreStatement] = []
    /// The number of statements that found no place since the last one that did.
    var missedCount = 0
    var isDelivering = false
    var hasEnded = false
    var number: Int?
  }

  private let handler: @Sendable (StoreStatement) -> Void
  private let state = Guarded(State())
  private let queue = DispatchQueue(label: "StatementTrace")

  /// - Parameter location: a part of the locations of the databases to observe; nil for all databases.
  init(
    includingValues: Bool = false, location: String? = nil, handler: @escaping @Sendable (StoreStatement) -> Void
  ) {
    self.handler = handler
    state.number = StatementTracing.add(includesValues: includingValues) { report in
      if location.map(report.location.contains) ?? true { self.receive(report) }
    }
  }

  /// Ends the observation. The handler is not called again, but a call on another thread may still be running.
  public func end() {
    let number = state.update { state in
      state.hasEnded = true
      state.waiting = []
      return state.number
    }
    if let number { StatementTracing.remove(number) }
  }

  /// Waits until the handler has received all statements that have ended. Returns at once in the handler itself.
  public func flush() {
    if StatementTracing.isSilent { return }
    queue.sync {}
  }

  private func receive(_ report: StatementReport) {
    let isFirst = state.update { state in
      if state.hasEnded { return false }
      guard state.waiting.count < Self.waitingLimit else {
        state.missedCount += 1
        return false
      }
      state.waiting.append(StoreStatement(report, missedCount: state.missedCount))
      state.missedCount = 0
      defer { state.isDelivering = true }
      return !state.isDelivering
    }
    if isFirst { queue.async { self.deliver() } }
  }

  private func deliver() {
    StatementTracing.silently {
      while true {
        let statements = state.update { state in
          state.isDelivering = !state.waiting.isEmpty
          defer { state.waiting = [] }
          return state.waiting
        }
        if statements.isEmpty { return }
        for statement in statements where !state.hasEnded { handler(statement) }
      }
    }
  }
}
