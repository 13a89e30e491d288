// OpenCoreData
// SPDX-License-Identifier: Apache-2.0

import CoreDataSQLite

/// The tables of persistent history, with the names, columns and indexes that Core Data gives them.
package enum HistoryTables {
  /// An entity of persistent history: its number and name in `Z_PRIMARYKEY`, and its table.
  package struct Entity: Sendable {
    package let number: Int64
    package let name: String
    package let table: String
  }

  package static let change = Entity(number: 16_001, name: "CHANGE", table: "ACHANGE")
  package static let transaction = Entity(number: 16_002, name: "TRANSACTION", table: "ATRANSACTION")
  package static let string = Entity(number: 16_003, name: "TRANSACTIONSTRING", table: "ATRANSACTIONSTRING")

  /// The columns of transactions that refer to a row of the table of strings, and those that older stores keep the
  /// strings in.
  package static let author = StringColumns(reference: "ZAUTHORTS", inline: "ZAUTHOR")
  package static let bundle = StringColumns(reference: "ZBUNDLEIDTS", inline: "ZBUNDLEID")
  package static let contextName = StringColumns(reference: "ZCONTEXTNAMETS", inline: "ZCONTEXTNAME")
  package static let process = StringColumns(reference: "ZPROCESSIDTS", inline: "ZPROCESSID")

  /// The two columns of a string of a transaction.
  package struct StringColumns: Sendable {
    package let reference: String
    package let inline: String
  }

  /// The most columns for values of deleted rows.
  package static let greatestTombstoneCount = 1_000

  /// The name of the column with a value of a deleted row.
  package static func tombstone(_ position: Int) -> String { "ZTOMBSTONE\(position)" }

  /// Whether a store has recorded history.
  package static func arePresent(in connection: SQLiteConnection) throws -> Bool {
    guard try connection.hasTable(transaction.table) else { return false }
    return try connection.hasTable(change.table)
  }

  private struct Table {
    let name: String
    let columns: [(name: String, type: String)]

    var statement: String {
      let list = columns.map { "\($0.name) \($0.type)" }.joined(separator: ", ")
      return "CREATE TABLE \(name) ( Z_PK INTEGER PRIMARY KEY, \(list) )"
    }
  }

  private static func tables(tombstones: Int) -> [Table] {
    let own = [("Z_ENT", "INTEGER"), ("Z_OPT", "INTEGER")]
    let references = [author, bundle, contextName, process].map { ($0.reference, "INTEGER") }
    let inline = [author, bundle, contextName, process].map { ($0.inline, "VARCHAR") }
    let numbers = ["ZCHANGETYPE", "ZENTITY", "ZENTITYPK", "ZTRANSACTIONID"].map { ($0, "INTEGER") }
    let values = (0..<tombstones).map { (tombstone($0), "BLOB") }
    return [
      Table(name: change.table, columns: own + numbers + [("ZCOLUMNS", "BLOB")] + values),
      Table(
        name: transaction.table,
        columns: own + references + [("ZTIMESTAMP", "FLOAT")] + inline + [("ZQUERYGEN", "BLOB")]),
      Table(name: string.table, columns: own + [("ZNAME", "VARCHAR")]),
    ]
  }

  private static let indexes: [(name: String, sql: String)] = {
    let references = [author, bundle, contextName, process].map { (transaction.table, $0.reference) }
    let keys = ([(change.table, "ZTRANSACTIONID")] + references).map { table, column in
      ("\(table)_\(column)_INDEX", "CREATE INDEX \(table)_\(column)_INDEX ON \(table) (\(column))")
    }
    return keys + [
      (
        "Z_TRANSACTION_TransactionAuthorIndex",
        "CREATE INDEX Z_TRANSACTION_TransactionAuthorIndex ON ATRANSACTION (ZAUTHOR COLLATE BINARY ASC)"
      ),
      (
        "Z_TRANSACTION_TransactionTimestampIndex",
        "CREATE INDEX Z_TRANSACTION_TransactionTimestampIndex ON ATRANSACTION (ZTIMESTAMP COLLATE BINARY ASC)"
      ),
      (
        "Z_TRANSACTIONSTRING_UNIQUE_NAME",
        "CREATE UNIQUE INDEX Z_TRANSACTIONSTRING_UNIQUE_NAME ON ATRANSACTIONSTRING (ZNAME COLLATE BINARY ASC)"
      ),
    ]
  }()

  /// Makes the tables and indexes that a store lacks, and the columns that tables of older stores lack.
  ///
  /// - Parameter tombstones: the number of columns for values of deleted rows.
  /// - Throws: `SchemaProblem.foreignTable` for a table with such a name that Core Data has not made.
  package static func make(in connection: SQLiteConnection, tombstones: Int) throws {
    guard try !missing(in: connection, tombstones: tombstones).isEmpty else { return }
    try connection.transaction {
      // Another process may have made them in the meantime.
      for statement in try missing(in: connection, tombstones: tombstones) { try connection.run(statement) }
    }
  }

  /// The statements that make what a store lacks.
  private static func missing(in connection: SQLiteConnection, tombstones: Int) throws -> [String] {
    let catalog = try connection.catalog()
    var statements: [String] = []
    for table in tables(tombstones: tombstones) {
      guard let found = catalog.table(named: table.name) else {
        statements.append(table.statement)
        continue
      }
      if let oddity = found.oddity { throw SchemaProblem.foreignTable(table.name, found: oddity) }
      for column in table.columns where found.column(named: column.name) == nil {
        statements.append("ALTER TABLE \(table.name) ADD COLUMN \(column.name) \(column.type)")
      }
    }
    return statements + indexes.filter { catalog.index(named: $0.name) == nil }.map(\.sql)
  }
}
