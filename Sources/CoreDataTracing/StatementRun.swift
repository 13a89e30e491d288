// OpenCoreData
// SPDX-License-Identifier: Apache-2.0

import Dispatch
import Foundation

/// A statement that a database has run.
package struct StatementReport: Sendable {
  package struct Failure: Sendable {
    /// The code of the database: SQLite's extended result code, or PostgreSQL's SQLSTATE.
    package let code: String
    /// The message of the database, without the values of rows.
    package let message: String

    package init(code: String, message: String) { (self.code, self.message) = (code, message) }
  }

  package let sql: String
  /// The SQL with bound values in place of the parameters; nil unless asked for.
  package var boundSQL: String?
  /// The path of the database, or its URL without a password.
  package let location: String
  package let duration: Duration
  /// The number of rows returned, inserted, updated or deleted.
  package let rowCount: Int
  package let failure: Failure?
  package let origin: StatementOrigin?
}

/// The measurement of one run of a statement. One thread at a time uses it.
package final class StatementRun {
  private let sql: String
  private let location: String
  private let origin = StatementTracing.origin
  private var duration: UInt64 = 0
  private var start: UInt64?
  private var hasEnded = false
  package var rowCount = 0
  /// The SQL with bound values in place of the parameters; set if the reports contain values.
  package var boundSQL: String?

  package init(_ sql: String, at location: String) { (self.sql, self.location) = (sql, location) }

  private static var now: UInt64 { DispatchTime.now().uptimeNanoseconds }

  /// Starts or continues the measurement.
  package func resume() { if start == nil { start = Self.now } }

  /// Interrupts the measurement, while the program uses a row.
  package func pause() {
    guard let start else { return }
    duration += Self.now - start
    self.start = nil
  }

  /// Ends the run and reports it. Only the first call has an effect.
  package func end(_ failure: StatementReport.Failure? = nil) {
    pause()
    if hasEnded { return }
    hasEnded = true
    StatementTracing.report(
      StatementReport(
        sql: sql, boundSQL: boundSQL, location: location, duration: .nanoseconds(Int64(clamping: duration)),
        rowCount: rowCount, failure: failure, origin: origin))
  }
}
