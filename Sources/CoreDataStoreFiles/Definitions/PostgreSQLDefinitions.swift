// OpenCoreData
// SPDX-License-Identifier: Apache-2.0

import CoreDataMistakes
import CoreDataSQLite

/// The PostgreSQL statements that create a store: tables, sequences, indexes and constraints.
///
/// `creationStatements` creates a new store. A migration uses the statements of single tables, columns and indexes.
package struct PostgreSQLDefinitions {
  /// The value of a column in rows that are inserted without one.
  package struct Default: Hashable, Sendable {
    package let value: BoundSQL
    /// Whether the column has a value in every row.
    package let isRequired: Bool

    package init(_ value: BoundSQL, isRequired: Bool) { (self.value, self.isRequired) = (value, isRequired) }

    /// The default as in `CREATE TABLE` and `SET DEFAULT`.
    package var clause: String { "DEFAULT \(value.postgreSQLLiterals)" }
  }

  /// Defaults by table and column.
  package typealias Defaults = [String: [String: Default]]

  private let schema: StoreSchema
  private let defaults: Defaults

  /// The number of primary keys that a process takes from a sequence at a time.
  package static let keyBlockSize: Int64 = 1_000

  /// - Parameters:
  ///   - schema: the layout of a store in PostgreSQL.
  ///   - defaults: the defaults of columns in new tables.
  package init(_ schema: StoreSchema, defaults: Defaults = [:]) {
    trap(unless: schema.dialect == .postgreSQL, "The layout has the names of another engine.")
    self.schema = schema
    self.defaults = defaults
  }

  /// All statements that create an empty store. Constraints come last, since they refer to other tables.
  package var creationStatements: [SchemaStatement] {
    schema.tables.flatMap { [statement(of: $0), sequenceStatement(of: $0)] }
      + schema.joinTables.map(statement) + schema.indexes.map(statement) + foreignKeys.map(\.statement)
      + Self.housekeepingStatements
  }

  /// The tables that every store has.
  package static let housekeepingStatements = [
    SchemaStatement(
      name: "z_primarykey",
      sql:
        "CREATE TABLE z_primarykey (z_ent integer PRIMARY KEY, z_name text COLLATE \"C\", z_super integer, z_max bigint)"
    ),
    SchemaStatement(
      name: "z_metadata",
      sql: "CREATE TABLE z_metadata (z_version integer PRIMARY KEY, z_uuid text COLLATE \"C\", z_plist bytea)"),
    SchemaStatement(name: "z_modelcache", sql: "CREATE TABLE z_modelcache (z_content bytea)"),
  ]

  // MARK: Tables

  /// Returns `CREATE TABLE` for an entity's table.
  package func statement(of table: TableLayout) -> SchemaStatement {
    create(
      table.name,
      table.columns.map { column in
        let value = defaults[table.name]?[column.name]
        return definition(column) + (value.map { ($0.isRequired ? " NOT NULL " : " ") + $0.clause } ?? "")
      })
  }

  /// Returns `CREATE TABLE` for a join table.
  package func statement(of join: JoinTableLayout) -> SchemaStatement {
    let keys = [join.ownerColumn, join.destinationColumn].map(SQLName.quoted)
    let orders = [join.inverseOrderColumn, join.orderColumn].compactMap { $0 }.map(SQLName.quoted)
    return create(
      join.name,
      (keys + orders).map { "\($0) \(ColumnType.bigint.rawValue)" } + ["PRIMARY KEY (\(keys.joined(separator: ", ")))"])
  }

  private func create(_ name: String, _ definitions: [String]) -> SchemaStatement {
    SchemaStatement(name: name, sql: "CREATE TABLE \(SQLName.quoted(name)) (\(definitions.joined(separator: ", ")))")
  }

  /// Returns the definition of a column without its default, as in `CREATE TABLE` and `ADD COLUMN`.
  package func definition(_ column: ColumnLayout) -> String {
    let constraint =
      switch column.role {
      case .primaryKey: " PRIMARY KEY"
      case .entityNumber, .version: " NOT NULL"
      case .attribute, .remainder, .foreignKey, .foreignEntity, .ownerKey, .order: ""
      }
    return "\(SQLName.quoted(column.name)) \(Self.declaration(of: column.type))\(constraint)"
  }

  /// Returns the declared type of a column. Strings are ordered by their bytes, as in memory and in SQLite.
  package static func declaration(of type: ColumnType) -> String {
    type == .text ? "\(type.rawValue) COLLATE \"C\"" : type.rawValue
  }

  /// Returns `CREATE SEQUENCE` for the primary keys of a hierarchy.
  package func sequenceStatement(of table: TableLayout) -> SchemaStatement {
    SchemaStatement(
      name: table.sequence,
      sql: "CREATE SEQUENCE \(SQLName.quoted(table.sequence)) AS bigint INCREMENT BY \(Self.keyBlockSize) "
        + "OWNED BY \(SQLName.quoted(table.name)).z_pk")
  }

  // MARK: Indexes

  /// Returns the statement that creates an index, or the constraint of a unique one.
  package func statement(of index: IndexLayout) -> SchemaStatement {
    let (name, table) = (SQLName.quoted(index.name), SQLName.quoted(index.table))
    guard index.isUnique else {
      let list = index.elements.flatMap { terms(of: $0, isOrdered: index.isOrdered) }.joined(separator: ", ")
      return SchemaStatement(
        name: index.name, sql: "CREATE INDEX \(name) ON \(table) (\(list))\(condition(of: index))")
    }
    let columns = index.elements.flatMap { terms(of: $0, isOrdered: false) }
    // A uniqueness constraint can have columns only. An exclusion constraint may have expressions, which dates need.
    let isPlain = index.elements.allSatisfy { $0.remainderColumn == nil }
    let constraint =
      isPlain
      ? "UNIQUE (\(columns.joined(separator: ", ")))"
      : "EXCLUDE USING btree (\(columns.map { "\($0) WITH =" }.joined(separator: ", ")))"
    return SchemaStatement(
      name: index.name,
      sql: "ALTER TABLE \(table) ADD CONSTRAINT \(name) \(constraint) DEFERRABLE INITIALLY DEFERRED")
  }

  /// Returns the statement that removes an index, or the constraint of a unique one.
  package func removal(of index: IndexLayout) -> SchemaStatement {
    let name = SQLName.quoted(index.name)
    return SchemaStatement(
      name: index.name,
      sql: index.isUnique
        ? "ALTER TABLE \(SQLName.quoted(index.table)) DROP CONSTRAINT \(name)" : "DROP INDEX \(name)")
  }

  /// Returns the columns of an element. NULL sorts before all other values, as in memory and in SQLite.
  private func terms(of element: IndexLayout.Element, isOrdered: Bool) -> [String] {
    let direction = element.isAscending ? " ASC NULLS FIRST" : " DESC NULLS LAST"
    let column = SQLName.quoted(element.column)
    let terms = [column] + [element.remainderColumn].compactMap { $0.map { "(\(SQLDialect.remainder($0)))" } }
    return terms.map { $0 + (isOrdered ? direction : "") }
  }

  /// Returns the WHERE clause of a partial index. It is empty, so that the index contains all rows, if PostgreSQL
  /// cannot use the predicate.
  private func condition(of index: IndexLayout) -> String {
    guard let predicate = index.predicate, case .fetch(let name) = index.purpose, let entity = schema[name],
      let condition = PredicateSQL.indexCondition(predicate, of: entity, in: schema)
    else { return "" }
    return " WHERE \(condition.postgreSQLLiterals)"
  }

  // MARK: Foreign keys

  /// A foreign key: a constraint that limits a column to the primary keys of a table.
  package struct ForeignKey: Hashable, Sendable {
    package var name: String
    package var table: String
    package var column: String
    package var destination: String

    /// `ALTER TABLE` that adds the constraint.
    package var statement: SchemaStatement {
      SchemaStatement(
        name: name,
        sql: "ALTER TABLE \(SQLName.quoted(table)) ADD CONSTRAINT \(SQLName.quoted(name)) "
          + "FOREIGN KEY (\(SQLName.quoted(column))) REFERENCES \(SQLName.quoted(destination)) (z_pk) "
          + "DEFERRABLE INITIALLY DEFERRED")
    }

    fileprivate init(table: String, column: String, destination: String) {
      name = SQLDialect.postgreSQL.spelling(of: column + "_fkey")
      (self.table, self.column, self.destination) = (table, column, destination)
    }
  }

  /// The foreign keys of the store: those of join tables, and those of to-one relationships unless the inverse has the
  /// delete rule No Action, which leaves the keys of deleted objects in place.
  package var foreignKeys: [ForeignKey] {
    let own = schema.entities.flatMap { entity in
      entity.relationships.values.sorted { $0.name < $1.name }.compactMap { relationship -> ForeignKey? in
        guard relationship.declaringEntity == entity.name, case .foreignKey(let key) = relationship.storage,
          let destination = schema[relationship.destinationEntity],
          let inverse = relationship.inverseName.flatMap({ destination.relationships[$0] }),
          inverse.deleteRule != .noAction
        else { return nil }
        return ForeignKey(table: entity.table, column: key.column, destination: destination.table)
      }
    }
    let joins = schema.joinTables.flatMap { join -> [ForeignKey] in
      guard let owner = schema[join.ownerEntity], let other = schema[join.inverseEntity] else { return [] }
      return [
        ForeignKey(table: join.name, column: join.ownerColumn, destination: owner.table),
        ForeignKey(table: join.name, column: join.destinationColumn, destination: other.table),
      ]
    }
    return own + joins
  }
}

extension IndexLayout {
  /// Whether the order of the index matters to queries.
  fileprivate var isOrdered: Bool {
    if case .fetch = purpose { return true }
    return false
  }
}
