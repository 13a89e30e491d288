// OpenCoreData
// SPDX-License-Identifier: Apache-2.0

import CSQLite
import CoreDataTracing
import Foundation

/// Measures the runs of statements. Used only while somebody receives reports.
extension SQLiteStatement {
  /// Advances to the next row, as part of a measured run. A run ends with the last row, or when the statement is reset.
  func measuredStep(_ pointer: OpaquePointer) -> Int32 {
    let run = run ?? StatementRun(sql, of: pointer, handle)
    self.run = run
    run.resume()
    let result = sqlite3_step(pointer)
    run.pause()
    switch result {
    case SQLITE_ROW: run.rowCount += 1
    case SQLITE_DONE:
      run.noteChanges(by: pointer, handle)
      endRun()
    default: break
    }
    return result
  }

  /// Ends the measured run and reports it.
  func endRun(_ error: SQLiteError? = nil) {
    run?.end(error?.reported)
    run = nil
  }
}

extension StatementRun {
  /// The number of bytes up to which a statement is shown with its values.
  private static let longestText: Int32 = 1 << 20

  /// Creates the measurement of a statement whose values are bound.
  convenience init(_ sql: String, of statement: OpaquePointer, _ handle: DatabaseHandle) {
    self.init(sql, at: handle.path)
    if StatementTracing.includesValues, let database = handle.pointer {
      // Large values would take several times their size.
      let usual = sqlite3_limit(database, SQLITE_LIMIT_LENGTH, Self.longestText)
      if let text = sqlite3_expanded_sql(statement) {
        boundSQL = String(cString: text)
        sqlite3_free(text)
      }
      sqlite3_limit(database, SQLITE_LIMIT_LENGTH, usual)
    }
    resume()
  }

  private static let changingWords = ["INSERT", "UPDATE", "DELETE", "REPLACE", "WITH"]

  /// Takes the number of rows that a finished statement has changed, if it is one that changes rows. Others leave the
  /// number of the statement before.
  func noteChanges(by statement: OpaquePointer, _ handle: DatabaseHandle) {
    guard sqlite3_column_count(statement) == 0, sqlite3_stmt_readonly(statement) == 0,
      let sql = sqlite3_sql(statement).map({ String(cString: $0) })
    else { return }
    let start = sql.drop(while: \.isWhitespace).prefix(7).uppercased()
    if Self.changingWords.contains(where: start.hasPrefix) { rowCount = Int(sqlite3_changes(handle.pointer)) }
  }
}

extension SQLiteConnection {
  /// Reports a statement that does not compile, and therefore never runs.
  func reportFailedCompilation(_ error: SQLiteError) {
    guard StatementTracing.isOn else { return }
    StatementRun(error.sql ?? "", at: path).end(error.reported)
  }
}

extension SQLiteError {
  /// The error without the statement and the path, which a report has beside it.
  var reported: StatementReport.Failure { StatementReport.Failure(code: "SQLite \(extendedCode)", message: message) }
}
