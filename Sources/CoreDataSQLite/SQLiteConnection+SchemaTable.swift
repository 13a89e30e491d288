// OpenCoreData
// SPDX-License-Identifier: Apache-2.0

import CSQLite

/// A statement that creates a table or an index of a new database.
package struct CreationStatement {
  /// The name of the table or index.
  package let name: String
  package let sql: String
  /// The name of the table, or of the table that is indexed.
  package let table: String

  package init(name: String, sql: String, table: String) {
    (self.name, self.sql, self.table) = (name, sql, table)
  }
}

/// Schema changes for databases with thousands of tables.
///
/// SQLite reads the whole schema table for each table and index it creates, and parses all definitions again for each
/// column it adds. With thousands of tables this takes minutes. These functions write to the schema table directly,
/// which SQLite's documentation of ALTER TABLE describes for changes that do not affect the rows. The caller must begin
/// a transaction, and roll it back if they throw.
extension SQLiteConnection {
  /// The maximum number of statements that are simply executed.
  private static let fewStatements = 400
  /// The number of statements to execute before their rows are removed from the schema table.
  private static let statementsAtOnce = 100

  /// Creates the tables and indexes of an empty database.
  ///
  /// - Parameter statements: The statements, each table before its indexes.
  /// - Throws: `SQLiteError`, also if SQLite's integrity check of the new tables finds a problem.
  package func create(_ statements: [CreationStatement]) throws {
    guard statements.count > Self.fewStatements else {
      for statement in statements { try run(statement.sql) }
      return
    }
    var made: [String: [[SQLiteValue]]] = [:]
    try withWritableSchema {
      for batch in Self.batches(of: statements) {
        for statement in batch { try run(statement.sql) }
        // Remove the rows so that SQLite has little to read. The tables themselves stay, and the rows are restored
        // below.
        var last = ""
        for row in try rows("SELECT type, name, tbl_name, rootpage, sql FROM main.sqlite_master ORDER BY rowid") {
          // The index of a primary key follows its table and has no SQL.
          if !row[4].isNull { last = row[1].text ?? "" }
          made[last, default: []].append((0..<5).map { row[$0] })
        }
        try run("DELETE FROM main.sqlite_master")
        try forgetSchema()
      }
      for statement in statements {
        for row in made[statement.name] ?? [] {
          try run("INSERT INTO main.sqlite_master (type, name, tbl_name, rootpage, sql) VALUES (?, ?, ?, ?, ?)", row)
        }
      }
      try forgetSchema()
    }
    if let problem = try integrityCheck(limit: 1).first {
      throw SQLiteError(
        extendedCode: SQLITE_CORRUPT, message: "the new tables are not sound: \(problem)", sql: nil, path: path)
    }
  }

  /// Groups the statements into batches that do not separate a table from its indexes.
  private static func batches(of statements: [CreationStatement]) -> [[CreationStatement]] {
    let byTable = Dictionary(grouping: statements, by: \.table)
    var seen: Set<String> = []
    var batches: [[CreationStatement]] = [[]]
    for statement in statements where seen.insert(statement.table).inserted {
      if batches[batches.count - 1].count >= statementsAtOnce { batches.append([]) }
      batches[batches.count - 1] += byTable[statement.table] ?? []
    }
    return batches
  }

  /// Replaces the definitions of tables. The new definitions must fit the existing rows.
  ///
  /// - Parameter definitions: The new `CREATE TABLE` statements by table name.
  /// - Throws: `SQLiteError`, also if a table does not exist.
  package func redefineTables(_ definitions: [String: String]) throws {
    var rowIDs: [String: Int64] = [:]
    for row in try rows("SELECT name, rowid FROM main.sqlite_master WHERE type = 'table'") {
      if let name = row[0].text { rowIDs[name] = row[1].integer }
    }
    try withWritableSchema {
      for (name, sql) in definitions.sorted(by: { $0.key < $1.key }) {
        guard let rowID = rowIDs[name] else {
          throw SQLiteError(extendedCode: SQLITE_ERROR, message: "no such table: \(name)", sql: sql, path: path)
        }
        try run("UPDATE main.sqlite_master SET sql = ?1 WHERE rowid = ?2", [.text(sql), .integer(rowID)])
      }
      try forgetSchema()
    }
  }

  /// Makes all connections read the schema table again.
  private func forgetSchema() throws {
    let version = try pragma("schema_version")?.integer ?? 0
    try setPragma("schema_version", to: .integer((version + 1) & 0x7FFF_FFFF))
  }

  private func withWritableSchema(_ body: () throws -> Void) throws {
    let database = try handle.opened()
    func allow(_ isWritable: Bool) throws {
      let value: Int32 = isWritable ? 1 : 0
      try handle.check(opencoredata_sqlite3_db_switch(database, SQLITE_DBCONFIG_DEFENSIVE, 1 - value))
      try handle.check(opencoredata_sqlite3_db_switch(database, SQLITE_DBCONFIG_WRITABLE_SCHEMA, value))
    }
    try allow(true)
    do {
      try body()
    } catch {
      // Report the error of the body. The caller rolls back.
      try? allow(false)
      throw error
    }
    try allow(false)
  }
}
