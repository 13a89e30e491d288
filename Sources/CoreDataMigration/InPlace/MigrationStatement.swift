// OpenCoreData
// SPDX-License-Identifier: Apache-2.0

import CoreDataSQLite
import CoreDataStoreFiles

/// One SQL statement of an in-place migration: a plan shows it, a run executes it.
package struct MigrationStatement: Sendable {
  /// What a statement does, for progress and for error messages.
  package enum Purpose: Hashable, Sendable {
    case structure
    /// Moves or changes the rows of a table.
    case rows(table: String)
    /// Gives the rows of a source table, or what refers to them, new keys.
    case keys(table: String)
    case index
    /// Finds objects with several objects at the other end of a relationship that keeps only one.
    case link(LinkCheck)
    case housekeeping
  }

  package let sql: BoundSQL
  package let purpose: Purpose
  /// Whether it copies the rows of one entity into a table that is made anew.
  package var isCopy = false
  /// The table whose rows the statement reads or changes one by one; nil where it must be executed as a whole.
  package private(set) var scannedTable: String?
  private var hasCondition = false

  package init(_ sql: String, _ values: [SQLiteValue] = [], _ purpose: Purpose = .structure) {
    self.sql = BoundSQL(sql, values)
    self.purpose = purpose
  }

  /// A statement that deals with each row of one table independently of the other rows, and keeps its primary key.
  ///
  /// - Parameters:
  ///   - scannedTable: the table, by the name that it has when the statement is executed.
  ///   - sql: the statement up to its WHERE clause.
  ///   - condition: a condition without OR; nil for all rows.
  ///   - table: the destination table.
  package init(
    eachRowOf scannedTable: String, _ sql: String, _ values: [SQLiteValue] = [], where condition: String?,
    in table: String
  ) {
    self.init(sql + InPlaceStep.whereClause(condition), values, .rows(table: table))
    self.scannedTable = scannedTable
    hasCondition = condition != nil
  }

  /// The statement for the rows with some keys.
  package func sql(keys: ClosedRange<Int64>) -> BoundSQL {
    let bounds: [SQLiteValue] = [.integer(keys.lowerBound), .integer(keys.upperBound)]
    return BoundSQL(sql.sql + (hasCondition ? " AND" : " WHERE") + " Z_PK BETWEEN ? AND ?", sql.values + bounds)
  }
}
