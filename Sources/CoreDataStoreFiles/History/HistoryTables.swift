// OpenCoreData
// SPDX-License-Identifier: Apache-2.0

/// The tables of persistent history, with Core Data's names, columns and indexes.
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

  /// The columns with a transaction's author: a reference to the table of strings, and the column used by older stores.
  package static let author = StringColumns(reference: "ZAUTHORTS", inline: "ZAUTHOR")
  package static let bundle = StringColumns(reference: "ZBUNDLEIDTS", inline: "ZBUNDLEID")
  package static let contextName = StringColumns(reference: "ZCONTEXTNAMETS", inline: "ZCONTEXTNAME")
  package static let process = StringColumns(reference: "ZPROCESSIDTS", inline: "ZPROCESSID")

  /// The two columns for a string of a transaction.
  package struct StringColumns: Sendable {
    package let reference: String
    package let inline: String
  }

  /// The maximum number of columns for values of deleted rows.
  package static let maxTombstoneCount = 1_000

  /// Returns the name of the column with a value of a deleted row.
  package static func tombstone(_ position: Int) -> String { "ZTOMBSTONE\(position)" }

  /// Whether a store has the tables of persistent history.
  package static func arePresent(in database: any SQLDatabase) throws -> Bool {
    guard try database.hasTable(transaction.table) else { return false }
    return try database.hasTable(change.table)
  }

  /// Whether the tables of history, which must exist, contain no transactions and no changes: all history was deleted,
  /// or none has been recorded.
  package static func areEmpty(in database: any SQLDatabase) throws -> Bool {
    try [transaction, change].allSatisfy { try database.scalar("SELECT 1 FROM \($0.table) LIMIT 1") == nil }
  }

  private struct Table {
    let name: String
    let columns: [(name: String, type: ColumnType)]

    func statement(_ dialect: SQLDialect) -> String {
      let list = columns.map { "\($0.name) \(dialect.historyType($0.type))" }.joined(separator: ", ")
      return "CREATE TABLE \(name) ( Z_PK \(dialect.historyType(.integer)) PRIMARY KEY, \(list) )"
    }
  }

  private static func tables(tombstones: Int) -> [Table] {
    let own: [(String, ColumnType)] = [("Z_ENT", .integer), ("Z_OPT", .integer)]
    let references = [author, bundle, contextName, process].map { ($0.reference, ColumnType.integer) }
    let inline = [author, bundle, contextName, process].map { ($0.inline, ColumnType.varchar) }
    let numbers = ["ZCHANGETYPE", "ZENTITY", "ZENTITYPK", "ZTRANSACTIONID"].map { ($0, ColumnType.integer) }
    let values = (0..<tombstones).map { (tombstone($0), ColumnType.blob) }
    return [
      Table(name: change.table, columns: own + numbers + [("ZCOLUMNS", .blob)] + values),
      Table(
        name: transaction.table,
        columns: own + references + [("ZTIMESTAMP", .float)] + inline + [("ZQUERYGEN", .blob)]),
      Table(name: string.table, columns: own + [("ZNAME", .varchar)]),
    ]
  }

  private static func indexes(_ dialect: SQLDialect) -> [(name: String, sql: String)] {
    // PostgreSQL's columns already order text by its bytes.
    let order = dialect == .sqlite ? " COLLATE BINARY ASC" : ""
    let references = [author, bundle, contextName, process].map { (transaction.table, $0.reference) }
    let keys = ([(change.table, "ZTRANSACTIONID")] + references).map { table, column in
      ("\(table)_\(column)_INDEX", "CREATE INDEX \(table)_\(column)_INDEX ON \(table) (\(column))")
    }
    // An entry of a PostgreSQL index is limited to 2.7 KB. The order of the names is never used, and they are unique
    // because a transaction takes the history lock before it adds one.
    let names =
      dialect == .sqlite
      ? (
        "Z_TRANSACTIONSTRING_UNIQUE_NAME",
        "CREATE UNIQUE INDEX Z_TRANSACTIONSTRING_UNIQUE_NAME ON ATRANSACTIONSTRING (ZNAME\(order))"
      )
      : (
        "Z_TRANSACTIONSTRING_NAME",
        "CREATE INDEX Z_TRANSACTIONSTRING_NAME ON ATRANSACTIONSTRING USING hash (ZNAME)"
      )
    return keys + [
      (
        "Z_TRANSACTION_TransactionAuthorIndex",
        "CREATE INDEX Z_TRANSACTION_TransactionAuthorIndex ON ATRANSACTION (ZAUTHOR\(order))"
      ),
      (
        "Z_TRANSACTION_TransactionTimestampIndex",
        "CREATE INDEX Z_TRANSACTION_TransactionTimestampIndex ON ATRANSACTION (ZTIMESTAMP\(order))"
      ),
      names,
    ]
  }

  /// Creates the tables and indexes that a store lacks, and the columns that tables of older stores lack.
  ///
  /// - Parameter tombstones: the number of columns for values of deleted rows.
  /// - Throws: `SchemaProblem.foreignTable` if a table with such a name was not created by Core Data.
  package static func make(in database: any SQLDatabase, tombstones: Int) throws {
    guard try !missing(in: database, tombstones: tombstones).isEmpty else { return }
    try database.transaction {
      try lock(database)
      // Another process may have created them in the meantime.
      for statement in try missing(in: database, tombstones: tombstones) { try database.run(statement) }
    }
  }

  /// Waits until no other transaction records history, and blocks others from recording until the transaction ends.
  /// SQLite allows only one write transaction at a time anyway.
  package static func lock(_ database: any SQLDatabase) throws {
    guard let lock = database.dialect.historyLock else { return }
    try database.run(lock)
  }

  /// Returns the statements that create the missing tables, columns and indexes.
  private static func missing(in database: any SQLDatabase, tombstones: Int) throws -> [String] {
    let tables = tables(tombstones: tombstones)
    let dialect = database.dialect
    let catalog = try database.catalog(of: tables.map(\.name))
    var statements: [String] = []
    for table in tables {
      guard let found = catalog.table(named: table.name) else {
        statements.append(table.statement(dialect))
        continue
      }
      if let unsupportedFeature = found.unsupportedFeature {
        throw SchemaProblem.foreignTable(table.name, found: unsupportedFeature)
      }
      for column in table.columns where found.spelling(of: column.name) == nil {
        statements.append("ALTER TABLE \(table.name) ADD COLUMN \(column.name) \(dialect.historyType(column.type))")
      }
    }
    return statements + indexes(dialect).filter { !catalog.hasIndex($0.name) }.map(\.sql)
  }
}

extension SQLDialect {
  /// Returns the type of a history column.
  fileprivate func historyType(_ type: ColumnType) -> String {
    guard self == .postgreSQL else { return type.rawValue }
    return switch type {
    case .integer: "BIGINT"
    case .timestamp, .float: "DOUBLE PRECISION"
    case .varchar: "TEXT COLLATE \"C\""
    case .decimal: "NUMERIC"
    default: "BYTEA"
    }
  }

  /// The statement that waits until no other transaction in the same schema records history; nil if the engine allows
  /// only one.
  fileprivate var historyLock: String? {
    // The first number identifies the history locks of this framework.
    self == .postgreSQL ? "SELECT pg_advisory_xact_lock(1130652756, hashtext(current_schema()))" : nil
  }
}
