// OpenCoreData
// SPDX-License-Identifier: Apache-2.0

import CoreDataPredicates
import CoreDataSQLite
import CoreDataStoreFiles
import Foundation

/// The rows that a batch request concerns: which it finds, deletes or updates.
enum BatchSelection {
  case query(RowQuery)
  case identifiers([NSManagedObjectID])
}

/// A set of rows of a store, in a temporary table of its connection, so that it takes no memory.
///
/// Its columns are the number of the root entity (`ROOT`), the primary key (`Z_PK`), the entity number (`Z_ENT`), and
/// values that were computed for the rows (`V0` and so on).
final class BatchRows {
  private let entities: StoredEntities
  private let connection: SQLiteConnection
  /// The table's name, without that of its database.
  let name: String

  /// The table's qualified name.
  var table: String { "temp.\(name)" }

  init(_ name: String, width: Int, in connection: SQLiteConnection, _ entities: StoredEntities) throws {
    self.name = name
    self.connection = connection
    self.entities = entities
    let values = (0..<width).map { "V\($0), " }.joined()
    try connection.run("DROP TABLE IF EXISTS temp.\(name)")
    try connection.run(
      "CREATE TEMP TABLE \(name) (ROOT INTEGER, Z_PK INTEGER, Z_ENT INTEGER, \(values)PRIMARY KEY (ROOT, Z_PK)) "
        + "WITHOUT ROWID")
  }

  func drop() throws { try connection.run("DROP TABLE temp.\(name)") }

  /// Adds the rows of a selection.
  ///
  /// - Throws: `NotExpressibleInSQL` for a query that SQL cannot express.
  func add(_ selection: BatchSelection) throws {
    switch selection {
    case .query(let query):
      let layout = try entities.layout(of: query.entity)
      let found = try entities.selects.select(["Z_PK", "Z_ENT"], of: layout, query.criteria)
      try add("SELECT \(raw: "\(layout.rootNumber)"), Z_PK, Z_ENT FROM (\(found))", like: layout)
    case .identifiers(let ids):
      var layouts: [Int: EntityLayout] = [:]
      for id in ids.map(\.current) where entities.owns(id) {
        let layout = try entities.layout(of: id.entity)
        layouts[layout.rootNumber] = layout
        try connection.run(
          "INSERT OR IGNORE INTO \(table) (ROOT, Z_PK, Z_ENT) SELECT \(layout.rootNumber), Z_PK, Z_ENT "
            + "FROM \(SQLName.quoted(layout.table)) WHERE Z_PK = ?", [.integer(id.key.number)])
      }
      for layout in layouts.values { try settleEntities(of: layout) }
    }
  }

  /// Adds the rows that a statement selects: the number of their root entity, their keys, entity numbers and values.
  func add(_ select: BoundSQL, values: Int = 0, like layout: EntityLayout) throws {
    let columns = (["ROOT", "Z_PK", "Z_ENT"] + (0..<values).map { "V\($0)" }).joined(separator: ", ")
    try connection.run("INSERT OR IGNORE INTO \(table) (\(columns)) \(select.sql)", select.values)
    try settleEntities(of: layout)
  }

  /// Adds one row.
  func add(entity: EntityLayout, key: Int64) throws {
    try connection.run(
      "INSERT OR IGNORE INTO \(table) (ROOT, Z_PK, Z_ENT) VALUES (?, ?, ?)",
      [.integer(Int64(entity.rootNumber)), .integer(key), .integer(Int64(entity.number))])
  }

  /// Adds all rows of another set that are of one entity.
  func add(_ number: Int, from other: BatchRows) throws {
    try connection.run(
      "INSERT OR IGNORE INTO \(table) (ROOT, Z_PK, Z_ENT) SELECT ROOT, Z_PK, Z_ENT FROM \(other.table) "
        + "WHERE Z_ENT = ?", [.integer(Int64(number))])
  }

  /// Gives rows of a table of one entity the number of that entity, since others may be in a file edited by hand.
  ///
  /// - Throws: `RowProblem` for a row of no entity.
  private func settleEntities(of layout: EntityLayout) throws {
    let root = SQLiteValue.integer(Int64(layout.rootNumber))
    let numbers = entities.schema.entity(number: layout.rootNumber)?.numbers ?? []
    if let only = numbers.first, numbers.count == 1 {
      try connection.run(
        "UPDATE \(table) SET Z_ENT = ?1 WHERE ROOT = ?2 AND Z_ENT IS NOT ?1", [.integer(Int64(only)), root])
      return
    }
    let list = numbers.map(String.init).joined(separator: ", ")
    let strays = "SELECT Z_PK, Z_ENT FROM \(table) WHERE ROOT = ? AND (Z_ENT IS NULL OR Z_ENT NOT IN (\(list))) LIMIT 1"
    if let stray = try connection.rows(strays, [root]).first {
      throw RowProblem(
        kind: .unknownEntity(number: stray[1].integer ?? 0), table: layout.table, primaryKey: stray[0].integer ?? 0,
        property: "")
    }
  }

  /// The entities that have rows in the set.
  func entityLayouts() throws -> [EntityLayout] {
    try connection.rows("SELECT DISTINCT Z_ENT FROM \(table) ORDER BY Z_ENT").compactMap { row in
      row[0].integer.flatMap { entities.schema.entity(number: Int($0)) }
    }
  }

  func count() throws -> Int { Int(try connection.scalar("SELECT COUNT(*) FROM \(table)")?.integer ?? 0) }

  /// The identifiers of the rows, by entity and key.
  func identifiers() throws -> [NSManagedObjectID] {
    try connection.rows("SELECT Z_ENT, Z_PK FROM \(table) ORDER BY ROOT, Z_PK").compactMap { row in
      guard let number = row[0].integer, let key = row[1].integer else { return nil }
      return entities.id(entity: Int(number), primaryKey: key)
    }
  }

  /// How many keys are read at a time.
  private static let chunk = 500

  /// Calls a closure with the keys of all rows of one table.
  func forEachKey(root: Int, _ body: (Int64) throws -> Void) throws {
    var last: Int64?
    let bound = "AND (?2 IS NULL OR Z_PK > ?2)"
    while true {
      let keys = try connection.rows(
        "SELECT Z_PK FROM \(table) WHERE ROOT = ?1 \(bound) ORDER BY Z_PK LIMIT \(Self.chunk)",
        [.integer(Int64(root)), last.map { .integer($0) } ?? .null]
      ).compactMap { $0[0].integer }
      for key in keys { try body(key) }
      guard keys.count == Self.chunk else { return }
      last = keys.last
    }
  }

  /// A condition that a column holds the key of a row of the set.
  func contains(_ column: String, root: Int) -> String {
    "\(column) IN (SELECT Z_PK FROM \(table) WHERE ROOT = \(root))"
  }
}

/// The state of one batch request while it runs, within one transaction of its store.
final class BatchRun {
  let entities: StoredEntities
  let external: ExternalData
  let connection: SQLiteConnection
  let plans: RowPlans
  let derivations: Derivations
  /// Records the changes; nil for a store without history.
  let history: HistoryWriter?
  private let facts: StoreHistory?
  private var made: [BatchRows] = []

  init(_ state: SQLiteStore.Opened, derivations: Derivations, origin: HistoryOrigin) {
    entities = state.entities
    external = state.external
    connection = state.connection
    plans = state.plans
    self.derivations = derivations
    facts = state.history
    history = state.history.map { _ in HistoryWriter(state.connection, origin: origin) }
  }

  var writer: RowWriter { RowWriter(connection: connection, entities: entities, external: external, plans: plans) }

  /// Makes an empty set of rows.
  func rows(width: Int = 0) throws -> BatchRows {
    let rows = try BatchRows("CDBatch\(made.count)", width: width, in: connection, entities)
    made.append(rows)
    return rows
  }

  /// Ends the work, before the transaction is committed.
  func finish() throws {
    try history?.finish()
    for rows in made { try rows.drop() }
  }

  /// The bits of updated properties of an entity, and of those that are derived from them.
  private func bits(of properties: Set<String>, _ entity: Int, _ facts: StoreHistory) -> Data {
    var all = properties
    if !derivations.isEmpty, let description = entities.description(number: entity) {
      all.formUnion(derivations.rules(of: description).filter { $0.concerns(properties) }.map(\.name))
    }
    return facts.bits(of: entity).bytes(of: all)
  }

  /// Records the update of a row.
  func recordUpdate(of properties: Set<String>, entity: Int, key: Int64) throws {
    guard let history, let facts else { return }
    try history.record(.update, entity: entity, key: key, columns: bits(of: properties, entity, facts))
  }

  /// Records the updates of rows.
  func recordUpdates(of properties: Set<String>, _ rows: BatchRows) throws {
    guard let history, let facts else { return }
    for layout in try rows.entityLayouts() {
      try history.record(
        .update, entity: layout.number, rows: "FROM \(raw: rows.table) WHERE Z_ENT = \(raw: "\(layout.number)")",
        columns: bits(of: properties, layout.number, facts))
    }
  }

  /// Records the deletions of rows, which must still be there.
  func recordDeletions(_ rows: BatchRows) throws {
    guard let history, let facts else { return }
    for layout in try rows.entityLayouts() {
      let test = rows.contains("Z_PK", root: layout.rootNumber)
      let entity = "SELECT Z_PK FROM \(rows.table) WHERE Z_ENT = \(layout.number)"
      try history.record(
        .delete, entity: layout.number,
        rows: "FROM \(column: layout.table) WHERE \(raw: test) AND Z_PK IN (\(raw: entity))",
        keeping: facts.tombstones(of: layout.number).map(\.sql))
    }
  }

  /// Marks the files of the rows as unused after the commit, for all columns or some properties.
  func noteReplacedFiles(_ rows: BatchRows, properties: Set<String>? = nil) throws {
    for layout in try rows.entityLayouts() {
      for attribute in layout.attributes.values.flatMap(\.withElements) where attribute.allowsExternalStorage {
        guard let column = attribute.column, properties?.contains(attribute.name) ?? true else { continue }
        let values = try connection.prepare(
          "SELECT \(SQLName.quoted(column)) FROM \(SQLName.quoted(layout.table)) "
            + "WHERE length(\(SQLName.quoted(column))) = \(ExternalData.fileNameLength) "
            + "AND Z_PK IN (SELECT Z_PK FROM \(rows.table) WHERE Z_ENT = \(layout.number))")
        while try values.step() {
          if let bytes = values.blob(at: 0) { external.willReplace(bytes) }
        }
      }
    }
  }
}

extension AttributeLayout {
  /// The attribute and the elements of a composite one.
  fileprivate var withElements: [AttributeLayout] { [self] + elements.flatMap(\.withElements) }
}
