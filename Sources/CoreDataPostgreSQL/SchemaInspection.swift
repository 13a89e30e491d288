// OpenCoreData
// SPDX-License-Identifier: Apache-2.0

import CoreData
import CoreDataModelFiles
import CoreDataPostgreSQLClient
import CoreDataSQLite
import CoreDataStoreFiles

/// Inspects a store for damage by others to its metadata, constraints, indexes, sequences and rows.
struct SchemaInspection {
  private let document: ModelDocument
  private let schema: SchemaInDatabase
  private let layout: StoreSchema
  private let catalog: StoreCatalog
  private let facts: SchemaFacts

  private var connection: PostgreSQLConnection { schema.connection }

  /// Reads the catalog of the store.
  ///
  /// - Parameter document: The model of the store.
  /// - Throws: The errors of the server and of its catalog.
  init(_ schema: SchemaInDatabase, _ document: ModelDocument) throws {
    (self.schema, self.document) = (schema, document)
    catalog = try schema.database.catalog()
    // A store of a configuration has only the tables of some entities.
    layout = try StoreSchema(
      document: document, catalog: catalog, primaryKeys: schema.primaryKeys(), allowsMissing: true,
      keepsMissingIndexes: true)
    facts = try SchemaFacts(schema.connection, schema: schema.address.schema)
  }

  private func isPresent(_ table: String) -> Bool { catalog.table(named: table) != nil }

  func problems() throws -> [ServerStoreProblem] {
    let tables = layout.tables.filter { isPresent($0.name) }
    let declared = SchemaCheck(facts, layout).findings.map(\.problem)
    let types = declared.contains { $0.kind == .column } ? [] : try self.types()
    return try metadata() + declared + types + tables.flatMap { try sequence($0) + rows($0) }
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

  /// Returns the first column whose values would be misread.
  private func types() throws -> [ServerStoreProblem] {
    do {
      try layout.checkColumnTypes(in: catalog)
      return []
    } catch let problem as SchemaProblem {
      return [
        ServerStoreProblem(
          .column, "\(problem)", cure: "Change the type of the column back, or restore the database from a backup.")
      ]
    }
  }

  /// Compares a sequence with the keys of its table.
  private func sequence(_ table: TableLayout) throws -> [ServerStoreProblem] {
    let size = PostgreSQLDefinitions.keyBlockSize
    guard facts.sequences[table.sequence]?.increment == size else { return [] }
    // Creating objects needs USAGE only, and reading them not even that.
    let mayRead = try connection.query(
      "SELECT has_sequence_privilege($1, 'SELECT')::int::bigint", [.text(SQLName.quoted(table.sequence))])
    guard mayRead.int64(0, 0) == 1 else { return [] }
    let rows = try connection.query(
      "SELECT CASE WHEN is_called THEN last_value + \(size) ELSE last_value END, "
        + "(SELECT coalesce(max(z_pk), 0) FROM \(SQLName.quoted(table.name))) FROM \(SQLName.quoted(table.sequence))")
    let (next, greatest) = (rows.int64(0, 0), rows.int64(0, 1))
    guard next <= greatest else { return [] }
    let repair = SchemaCheck.advance(table)
    return [
      ServerStoreProblem(
        .keys, entity: table.rootEntity,
        "\(table.sequence) gives out \(next) next, and the greatest key of \(table.name) is \(greatest): new objects would get "
          + "keys that are taken.", repair: [repair], cure: "Execute: \(repair)")
    ]
  }

  private func rows(_ table: TableLayout) throws -> [ServerStoreProblem] {
    let unknown = try Self.unknownEntityNumbers(in: table, of: layout, connection).map { number, count in
      ServerStoreProblem(
        .entityNumber, entity: table.rootEntity,
        "\(count == 1 ? "1 row" : "\(count) rows") of \(table.name) "
          + "\(count == 1 ? "has" : "have") the entity number \(number), which no entity of the table has.",
        cure: "Compare z_ent with the numbers in z_primarykey.")
    }
    return try unknown + NotNullInspection(schema: schema, document: document, layout: layout).problems(of: table)
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
      try schema.checkPresence()
      return try schema.cachedModel().map { try SchemaInspection(schema, $0).problems() } ?? []
    }
  }

  static func repair(at url: URL) throws -> ServerStoreRepair {
    try looking(at: url) { schema in
      try schema.checkPresence()
      return try schema.connection.transaction {
        try schema.connection.setLockTimeout(repairLockTimeout, isLocal: true)
        try schema.lock()
        // Another process may have repaired or migrated the store before this one got the lock.
        let problems = try schema.cachedModel().map { try SchemaInspection(schema, $0).problems() } ?? []
        var (repaired, refused): ([ServerStoreProblem], [ServerStoreProblem]) = ([], [])
        for problem in problems where !problem.repair.isEmpty {
          do {
            try schema.connection.transaction { for sql in problem.repair { try schema.connection.execute(sql) } }
            repaired.append(problem)
          } catch let error as PostgreSQLError where error.isIntegrityViolation {
            refused.append(problem)
          }
        }
        return ServerStoreRepair(repaired: repaired, refused: refused)
      }
    }
  }

  /// The seconds that a repair waits for a lock.
  private static let repairLockTimeout = 60.0
}
