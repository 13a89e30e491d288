// OpenCoreData
// SPDX-License-Identifier: Apache-2.0

import CoreDataModelFiles
import CoreDataPredicates
import CoreDataSQLite
import CoreDataStoreFiles
import Foundation

/// The rows that a batch request finds, deletes or updates.
package enum BatchSelection {
  case query(RowQuery)
  case identifiers([NSManagedObjectID])
}

/// A set of rows in a temporary table of the connection, so that it takes no memory.
///
/// Its columns are the number of the root entity (`ROOT`), the primary key (`Z_PK`), the entity number (`Z_ENT`), and
/// values computed for the rows (`V0` and so on). Dates are stored as seconds since the reference date, other values as
/// in the columns of their attributes.
package final class BatchRows {
  private let entities: StoredEntities
  private let database: any SQLDatabase
  /// The table's name, without the schema.
  let name: String

  /// The table's qualified name.
  var table: String { "\(database.dialect.temporarySchema).\(name)" }

  /// - Parameter values: the attributes of the values.
  init(
    _ name: String, values: [AttributeKind], in database: any SQLDatabase, _ entities: StoredEntities
  ) throws {
    self.name = name
    self.database = database
    self.entities = entities
    let dialect = database.dialect
    let columns = values.enumerated().map { "V\($0)\(dialect.batchType($1)), " }.joined()
    if dialect == .sqlite { try database.run("DROP TABLE IF EXISTS \(table)") }
    try database.run(
      "CREATE TEMP TABLE \(name) (ROOT BIGINT, Z_PK BIGINT, Z_ENT BIGINT, \(columns)PRIMARY KEY (ROOT, Z_PK)) "
        + dialect.temporaryTableOptions)
  }

  func drop() throws { try database.run("DROP TABLE \(table)") }

  /// Adds the rows of a selection.
  ///
  /// - Throws: `NotExpressibleInSQL` for a query that SQL cannot express or the engine cannot compute.
  package func add(_ selection: BatchSelection) throws {
    switch selection {
    case .query(let query):
      let layout = try entities.layout(of: query.entity)
      let found = try entities.selects.select(["Z_PK", "Z_ENT"], of: layout, query.criteria)
      try database.calculating {
        try add("SELECT \(raw: "\(layout.rootNumber)"), Z_PK, Z_ENT FROM (\(found)) f WHERE 1 = 1", like: layout)
      }
    case .identifiers(let ids):
      var layouts: [Int: EntityLayout] = [:]
      for id in ids.map(\.current) where entities.owns(id) {
        let layout = try entities.layout(of: id.entity)
        layouts[layout.rootNumber] = layout
        try database.run(
          "INSERT INTO \(table) (ROOT, Z_PK, Z_ENT) SELECT \(layout.rootNumber), Z_PK, Z_ENT "
            + "FROM \(SQLName.quoted(layout.table)) WHERE Z_PK = ? ON CONFLICT DO NOTHING", [.integer(id.key.number)])
      }
      for layout in layouts.values { try settleEntities(of: layout) }
    }
  }

  /// Adds the rows selected by a statement, which must have a WHERE clause and return the numbers of root entities, the
  /// keys, entity numbers and values.
  func add(_ select: BoundSQL, values: Int = 0, like layout: EntityLayout) throws {
    let columns = (["ROOT", "Z_PK", "Z_ENT"] + (0..<values).map { "V\($0)" }).joined(separator: ", ")
    try database.run("INSERT INTO \(table) (\(columns)) \(select.sql) ON CONFLICT DO NOTHING", select.values)
    try settleEntities(of: layout)
  }

  /// Adds rows of one entity.
  func add(_ keys: [Int64], of entity: EntityLayout) throws {
    let (root, number) = (SQLiteValue.integer(Int64(entity.rootNumber)), SQLiteValue.integer(Int64(entity.number)))
    switch database.dialect {
    case .sqlite:
      for key in keys {
        try database.run(
          "INSERT INTO \(table) (ROOT, Z_PK, Z_ENT) VALUES (?, ?, ?) ON CONFLICT DO NOTHING",
          [root, .integer(key), number])
      }
    case .postgreSQL:
      try database.run(
        "INSERT INTO \(table) (ROOT, Z_PK, Z_ENT) SELECT ?1, k, ?2 FROM unnest(CAST(?3 AS BIGINT[])) k "
          + "ON CONFLICT DO NOTHING", [root, number] + database.dialect.values(ofKeys: keys))
    }
  }

  /// Adds all rows of one entity from another set.
  func add(_ number: Int, from other: BatchRows) throws {
    try database.run(
      "INSERT INTO \(table) (ROOT, Z_PK, Z_ENT) SELECT ROOT, Z_PK, Z_ENT FROM \(other.table) "
        + "WHERE Z_ENT = ? ON CONFLICT DO NOTHING", [.integer(Int64(number))])
  }

  /// Assigns the entity's number to rows in a table of a single entity, since a file edited by hand may contain others.
  ///
  /// - Throws: `RowProblem` for a row that belongs to no entity.
  private func settleEntities(of layout: EntityLayout) throws {
    let root = SQLiteValue.integer(Int64(layout.rootNumber))
    let numbers = entities.schema.entity(number: layout.rootNumber)?.numbers ?? []
    if let only = numbers.first, numbers.count == 1 {
      try database.run(
        "UPDATE \(table) SET Z_ENT = ?1 WHERE ROOT = ?2 AND Z_ENT \(database.dialect.isDifferent) ?1",
        [.integer(Int64(only)), root])
      return
    }
    let list = numbers.map(String.init).joined(separator: ", ")
    let strays = "SELECT Z_PK, Z_ENT FROM \(table) WHERE ROOT = ? AND (Z_ENT IS NULL OR Z_ENT NOT IN (\(list))) LIMIT 1"
    if let stray = try database.rows(strays, [root]).first {
      throw RowProblem(
        kind: .unknownEntity(number: stray[1].integer ?? 0), table: layout.table, primaryKey: stray[0].integer ?? 0,
        property: "")
    }
  }

  /// Returns the entities that have rows in the set.
  func entityLayouts() throws -> [EntityLayout] {
    try database.rows("SELECT DISTINCT Z_ENT FROM \(table) ORDER BY Z_ENT").compactMap { row in
      row[0].integer.flatMap { entities.schema.entity(number: Int($0)) }
    }
  }

  package func count() throws -> Int { Int(try database.scalar("SELECT COUNT(*) FROM \(table)")?.integer ?? 0) }

  /// Returns the identifiers of the rows, by entity and key.
  package func identifiers() throws -> [NSManagedObjectID] {
    try database.rows("SELECT Z_ENT, Z_PK FROM \(table) ORDER BY ROOT, Z_PK").compactMap { row in
      guard let number = row[0].integer, let key = row[1].integer else { return nil }
      return entities.id(entity: Int(number), primaryKey: key)
    }
  }

  /// The number of keys to read at a time.
  private static let chunk = 500

  /// Calls a closure with the keys of all rows of one table, in chunks.
  func forEachKeys(root: Int, _ body: ([Int64]) throws -> Void) throws {
    var last: Int64?
    while true {
      let keys = try database.rows(
        "SELECT Z_PK FROM \(table) WHERE ROOT = ?1\(last == nil ? "" : " AND Z_PK > ?2") "
          + "ORDER BY Z_PK LIMIT \(Self.chunk)",
        [.integer(Int64(root))] + [last].compactMap { $0 }.map { .integer($0) }
      ).compactMap { $0[0].integer }
      if !keys.isEmpty { try body(keys) }
      guard keys.count == Self.chunk else { return }
      last = keys.last
    }
  }

  /// Returns the condition that a column contains the key of a row of the set.
  func contains(_ column: String, root: Int) -> String {
    "\(column) IN (SELECT Z_PK FROM \(table) WHERE ROOT = \(root))"
  }
}

extension SQLDialect {
  /// The schema of temporary tables.
  fileprivate var temporarySchema: String {
    switch self {
    case .sqlite: "temp"
    case .postgreSQL: "pg_temp"
    }
  }

  fileprivate var temporaryTableOptions: String {
    switch self {
    case .sqlite: "WITHOUT ROWID"
    case .postgreSQL: "ON COMMIT DROP"
    }
  }

  /// Returns the type of a computed value's column, preceded by a space; empty if columns accept any value.
  fileprivate func batchType(_ kind: AttributeKind) -> String {
    guard self == .postgreSQL else { return "" }
    return switch kind {
    case .integer16, .integer32, .integer64: " BIGINT"
    case .boolean: " BOOLEAN"
    case .double, .date: " DOUBLE PRECISION"
    case .float: " REAL"
    case .decimal: " NUMERIC"
    case .string, .uri: " TEXT COLLATE \"C\""
    case .uuid: " UUID"
    case .binaryData, .transformable, .undefined, .objectID, .composite: " BYTEA"
    }
  }
}
