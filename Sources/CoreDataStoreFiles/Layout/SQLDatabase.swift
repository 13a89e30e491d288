// OpenCoreData
// SPDX-License-Identifier: Apache-2.0

import CoreDataSQLite
import Foundation

/// A connection to a store's database, as needed by the SQL that both engines share.
///
/// Statements are in SQLite's dialect, with `?` or `?1` for parameters and Core Data's names, unquoted or quoted as in
/// the store's schema. An implementation for another engine renders the parameters in its own way. Each parameter has a
/// value. `SQLDialect` provides the parts that the engines spell differently.
///
/// Like a connection, it is used by one thread at a time.
package protocol SQLDatabase: AnyObject {
  var dialect: SQLDialect { get }

  /// Runs a statement and ignores its result.
  ///
  /// An implementation may defer the statement until the next one that returns something, or the end of the
  /// transaction, which then throws its errors.
  func run(_ sql: String, _ values: [SQLiteValue]) throws

  /// Runs the statements that `run(_:_:)` has deferred.
  func flush() throws

  /// Runs a statement and returns the number of rows inserted, updated or deleted.
  func change(_ sql: String, _ values: [SQLiteValue]) throws -> Int

  /// Returns all rows of a query.
  func rows(_ sql: String, _ values: [SQLiteValue]) throws -> [SQLiteRow]

  /// Returns the first column of a query's first row; nil if there is no row.
  func scalar(_ sql: String, _ values: [SQLiteValue]) throws -> SQLiteValue?

  /// Calls a closure with each row of a query, without loading all rows into memory. The closure must not keep the row,
  /// and may run other statements.
  func forEachRow(_ statement: BoundSQL, _ body: (any SQLRowValues) throws -> Void) throws

  /// Runs a closure in a write transaction. Inside another transaction, an error undoes only the changes of the
  /// closure.
  ///
  /// In PostgreSQL each statement must see what others have committed before it (READ COMMITTED), since `HistoryWriter`
  /// waits for a lock and then reads the last number.
  func transaction<Result>(_ body: () throws -> Result) throws -> Result

  /// Runs a closure whose statements compute values from rows, inside a transaction.
  ///
  /// - Throws: `NotExpressibleInSQL`, without changing anything, if the engine rejects a calculation that evaluation in
  ///   memory allows, such as a division by zero; the errors of the closure.
  func calculating<Result>(_ body: () throws -> Result) throws -> Result

  /// Runs a closure whose queries all see the same state of the store.
  func snapshot<Result>(_ body: () throws -> Result) throws -> Result

  /// Whether a table exists, ignoring case.
  func hasTable(_ name: String) throws -> Bool

  /// Returns the catalog of the store, with at least the given tables and their indexes.
  func catalog(of tables: [String]) throws -> StoreCatalog
}

extension SQLDatabase {
  package func run(_ sql: String) throws { try run(sql, []) }

  package func rows(_ sql: String) throws -> [SQLiteRow] { try rows(sql, []) }

  package func scalar(_ sql: String) throws -> SQLiteValue? { try scalar(sql, []) }

  package func forEachRow(
    _ sql: String, _ values: [SQLiteValue], _ body: (any SQLRowValues) throws -> Void
  ) throws {
    try forEachRow(BoundSQL(sql, values), body)
  }
}

/// The values of a row that is being read. Columns past the last one are null.
package protocol SQLRowValues {
  func isNull(at index: Int) -> Bool
  /// Returns a column as an integer; 0 for null.
  func int64(at index: Int) -> Int64
  /// Returns a column as a number; 0 for null.
  func double(at index: Int) -> Double
  /// Returns a column as a string; nil for null.
  func text(at index: Int) -> String?
  /// Returns a column as bytes; nil for null.
  func blob(at index: Int) -> Data?
  /// Returns a column as a value of its type.
  func value(at index: Int) -> SQLiteValue
}

extension SQLiteStatement: SQLRowValues {}

extension SQLiteConnection: SQLDatabase {
  package var dialect: SQLDialect { .sqlite }

  package func change(_ sql: String, _ values: [SQLiteValue]) throws -> Int {
    try run(sql, values)
    return changes
  }

  package func flush() {}

  package func forEachRow(_ statement: BoundSQL, _ body: (any SQLRowValues) throws -> Void) throws {
    try cached(statement.sql) { prepared in
      try prepared.bind(statement.values)
      while try prepared.step() { try body(prepared) }
    }
  }

  package func transaction<Result>(_ body: () throws -> Result) throws -> Result { try transaction(.immediate, body) }

  package func calculating<Result>(_ body: () throws -> Result) throws -> Result { try body() }

  package func snapshot<Result>(_ body: () throws -> Result) throws -> Result { try transaction(.deferred, body) }

  package func catalog(of tables: [String]) throws -> StoreCatalog { StoreCatalog(try catalog()) }
}
