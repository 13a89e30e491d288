// OpenCoreData
// SPDX-License-Identifier: Apache-2.0

import CoreDataSQLite

/// A statement that creates a table or an index, and the name of what it creates.
package struct SchemaStatement: Hashable, Sendable {
  package let name: String
  package let sql: String

  package init(
    name: String, sql: String
  ) {
    self.name = name
    self.sql = sql
  }
}

extension TableLayout {
  /// `CREATE TABLE`, to the letter as Core Data writes it.
  package var statement: SchemaStatement {
    let definitions = columns.map { column in
      let key = column.role == .primaryKey ? " PRIMARY KEY" : ""
      return "\(SQLName.quoted(column.name)) \(column.type.rawValue)\(key)"
    }
    return SchemaStatement(
      name: name, sql: "CREATE TABLE \(SQLName.quoted(name)) ( \(definitions.joined(separator: ", ")) )")
  }
}

extension JoinTableLayout {
  /// `CREATE TABLE`, to the letter as Core Data writes it.
  package var statement: SchemaStatement {
    let keys = [ownerColumn, destinationColumn].map(SQLName.quoted)
    let orders = [inverseOrderColumn, orderColumn].compactMap { $0 }.map(SQLName.quoted)
    let definitions = (keys + orders).map { "\($0) INTEGER" } + ["PRIMARY KEY (\(keys.joined(separator: ", ")))"]
    return SchemaStatement(
      name: name, sql: "CREATE TABLE \(SQLName.quoted(name)) ( \(definitions.joined(separator: ", ")) )")
  }
}

extension IndexLayout {
  /// `CREATE INDEX`, to the letter as Core Data writes it.
  package var statement: SchemaStatement {
    let collated: Bool
    switch purpose {
    case .fetch, .uniqueness: collated = true
    case .foreignKey, .entityNumber, .joinTable: collated = false
    }
    let columns = elements.map { element in
      let direction = element.isAscending ? "ASC" : "DESC"
      return SQLName.quoted(element.column) + (collated ? " COLLATE BINARY \(direction)" : "")
    }
    let kind = isUnique ? "UNIQUE INDEX" : "INDEX"
    return SchemaStatement(
      name: name,
      sql: "CREATE \(kind) \(SQLName.quoted(name)) ON \(SQLName.quoted(table)) (\(columns.joined(separator: ", ")))")
  }
}

extension StoreSchema {
  /// The tables that every store has, in the order in which Core Data creates them.
  package static let housekeepingStatements = [
    SchemaStatement(
      name: "Z_PRIMARYKEY",
      sql: "CREATE TABLE Z_PRIMARYKEY (Z_ENT INTEGER PRIMARY KEY, Z_NAME VARCHAR, Z_SUPER INTEGER, Z_MAX INTEGER)"),
    SchemaStatement(
      name: "Z_METADATA",
      sql: "CREATE TABLE Z_METADATA (Z_VERSION INTEGER PRIMARY KEY, Z_UUID VARCHAR(255), Z_PLIST BLOB)"),
    SchemaStatement(name: "Z_MODELCACHE", sql: "CREATE TABLE Z_MODELCACHE (Z_CONTENT BLOB)"),
  ]

  /// Entity tables, each followed by the join tables that its hierarchy owns.
  package var tableStatements: [SchemaStatement] {
    tables.flatMap { table -> [SchemaStatement] in
      let owners = Set(entities.filter { $0.rootName == table.rootEntity }.map(\.name))
      return [table.statement] + joinTables.filter { owners.contains($0.ownerEntity) }.map(\.statement)
    }
  }

  /// Everything that makes an empty store, in the order of `sqlite_master` in stores that Core Data has made.
  package var creationStatements: [SchemaStatement] {
    tableStatements + indexes.map(\.statement) + Self.housekeepingStatements
  }
}
