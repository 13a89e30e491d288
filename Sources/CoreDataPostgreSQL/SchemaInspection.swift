// OpenCoreData
// SPDX-License-Identifier: Apache-2.0

import CoreData
import CoreDataModelFiles
import CoreDataPostgreSQLClient
import CoreDataSQLite
import CoreDataStoreFiles

/// Inspects a store for damage by others to its metadata, constraints, indexes, sequences and rows.
struct SchemaInspection {
  private let schema: SchemaInDatabase
  private let layout: StoreSchema
  private let catalog: StoreCatalog

  private var connection: PostgreSQLConnection { schema.connection }

  /// Reads the catalog of the store.
  ///
  /// - Parameter document: The model of the store.
  /// - Throws: The errors of the server and of its catalog.
  init(_ schema: SchemaInDatabase, _ document: ModelDocument) throws {
    self.schema = schema
    catalog = try schema.database.catalog()
    // A store of a configuration has only the tables of some entities.
    layout = try StoreSchema(
      document: document, catalog: catalog, primaryKeys: schema.primaryKeys(), allowsMissing: true,
      keepsMissingIndexes: true)
  }

  private func isPresent(_ table: String) -> Bool { catalog.table(named: table) != nil }

  func problems() throws -> [ServerStoreProblem] {
    let tables = layout.tables.filter { isPresent($0.name) }
    return try metadata() + indexes() + foreignKeys() + tables.flatMap { try sequence($0) + rows($0) }
  }

  private func metadata() throws -> [ServerStoreProblem] {
    let count = try connection.query("SELECT count(*) FROM z_metadata").int64(0, 0)
    guard count != 1 else { return [] }
    return [
      ServerStoreProblem(
        .metadata, "z_metadata has \(count) rows. A store has one; the one with the greatest z_version is used.",
        cure: "Delete the other rows.")
    ]
  }

  private func indexes() throws -> [ServerStoreProblem] {
    let definitions = PostgreSQLDefinitions(layout)
    return layout.indexes.filter { isPresent($0.table) && !catalog.hasIndex($0.name) }.map { index in
      let entity = layout.table(named: index.table)?.rootEntity
      let sql = definitions.statement(of: index).sql
      return index.isUnique
        ? ServerStoreProblem(
          .constraint, entity: entity,
          "The uniqueness constraint \(index.name) of \(index.table) is missing: the server accepts duplicates.",
          cure: "Execute: \(sql)")
        : ServerStoreProblem(
          .index, entity: entity, "The index \(index.name) of \(index.table) is missing.", cure: "Execute: \(sql)")
    }
  }

  private func foreignKeys() throws -> [ServerStoreProblem] {
    let found = try connection.query(
      "SELECT c.relname::text, k.conname::text FROM pg_constraint k JOIN pg_class c ON c.oid = k.conrelid "
        + "JOIN pg_namespace n ON n.oid = c.relnamespace WHERE n.nspname = $1 AND k.contype = 'f'",
      [.text(schema.address.schema)])
    let present = Set((0..<found.count).map { [found.string($0, 0), found.string($0, 1)] })
    let missing = PostgreSQLDefinitions(layout).foreignKeys.filter { key in
      isPresent(key.table) && isPresent(key.destination) && !present.contains([key.table, key.name])
    }
    return missing.map { key in
      ServerStoreProblem(
        .constraint, entity: layout.table(named: key.table)?.rootEntity,
        "The foreign key \(key.name) of \(key.table) is missing: the server accepts links to rows that are gone.",
        cure: "Execute: \(key.statement.sql)")
    }
  }

  private func sequence(_ table: TableLayout) throws -> [ServerStoreProblem] {
    let name = SQLName.quoted(table.sequence)
    guard try connection.query("SELECT to_regclass($1) IS NOT NULL", [.text(name)]).bool(0, 0) else {
      return [
        ServerStoreProblem(
          .keys, entity: table.rootEntity, "The sequence \(table.sequence) is missing: no object can be inserted.",
          cure: "Create it, with an increment of \(PostgreSQLDefinitions.keyBlockSize), after the greatest z_pk.")
      ]
    }
    let rows = try connection.query(
      "SELECT CASE WHEN is_called THEN last_value + \(PostgreSQLDefinitions.keyBlockSize) ELSE last_value END, "
        + "(SELECT coalesce(max(z_pk), 0) FROM \(SQLName.quoted(table.name))) FROM \(name)")
    let (next, greatest) = (rows.int64(0, 0), rows.int64(0, 1))
    guard next <= greatest else { return [] }
    return [
      ServerStoreProblem(
        .keys, entity: table.rootEntity,
        "\(table.sequence) gives out \(next) next, and the greatest key of \(table.name) is \(greatest): new objects would get "
          + "keys that are taken.",
        cure: "Execute: SELECT setval('\(table.sequence)', \(greatest + 1), false)")
    ]
  }

  private func rows(_ table: TableLayout) throws -> [ServerStoreProblem] {
    try Self.unknownEntityNumbers(in: table, of: layout, connection).map { number, count in
      ServerStoreProblem(
        .entityNumber, entity: table.rootEntity,
        "\(count == 1 ? "1 row" : "\(count) rows") of \(table.name) "
          + "\(count == 1 ? "has" : "have") the entity number \(number), which no entity of the table has.",
        cure: "Compare z_ent with the numbers in z_primarykey.")
    }
  }

  /// Returns the entity numbers in a table that do not belong to any of its entities, with their row counts.
  static func unknownEntityNumbers(
    in table: TableLayout, of layout: StoreSchema, _ connection: PostgreSQLConnection
  ) throws -> [(number: Int64, count: Int64)] {
    let known = layout.entities(inTable: table.name).map { Int64($0.number) }
    let rows = try connection.query(
      "SELECT z_ent::bigint, count(*) FROM \(SQLName.quoted(table.name)) WHERE z_ent <> ALL($1) GROUP BY 1 ORDER BY 1",
      [.integers(known)])
    return (0..<rows.count).map { (rows.int64($0, 0), rows.int64($0, 1)) }
  }
}

extension PostgreSQLStore {
  static func problems(at url: URL) throws -> [ServerStoreProblem] {
    try looking(at: url) { schema in
      guard try schema.isPresent() else {
        throw PostgreSQLStoreErrors.noStore(url: url, schema: schema.address.schema)
      }
      guard let document = try schema.cachedModel() else { return [] }
      return try SchemaInspection(schema, document).problems()
    }
  }
}
