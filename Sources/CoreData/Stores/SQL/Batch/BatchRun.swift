// OpenCoreData
// SPDX-License-Identifier: Apache-2.0

import CoreDataModelFiles
import CoreDataSQLite
import CoreDataStoreFiles
import Foundation

/// The operations that batch requests need from an engine in addition to SQL.
package protocol BatchEngine: AnyObject {
  /// The files of large values; nil for a store without files.
  var external: ExternalData? { get }

  /// Calls a closure with the rows with the given keys, in any order. The rows are of the entity or one of its
  /// sub-entities.
  func forEachRow(_ keys: [Int64], of entity: EntityLayout, _ body: (Int64, RowSnapshot) throws -> Void) throws

  /// Prepares the insertion of rows of an entity.
  func insertion(of plan: RowPlan) throws -> any BatchRowInsertion

  /// Prevents other connections from changing rows of tables until the transaction ends. Called before the request
  /// changes anything.
  func excludeWriters(of tables: [String]) throws
}

/// Inserts rows of one entity for a batch request, in the request's transaction.
package protocol BatchRowInsertion: AnyObject {
  /// Whether `insert(_:at:key:)` throws immediately for duplicate values, with an error for which `isNotUnique(_:)`
  /// returns true, and the transaction can continue. If not, rows with the same values are searched first.
  var findsDuplicates: Bool { get }

  func isNotUnique(_ error: any Error) -> Bool

  /// Returns the key of the next new row.
  ///
  /// - Throws: an error if no keys are left.
  func nextKey() throws -> Int64

  /// Inserts a row with version 1, immediately or at the next call of `flush()`.
  ///
  /// - Parameters:
  ///   - slots: the values, by the positions of the entity's slot table.
  ///   - positions: the values to write; others are null.
  func insert(_ slots: [Slot], at positions: SlotSet, key: Int64) throws

  /// Writes the changed values of an existing row that has the given version, and increments the version. The row is of
  /// the plan's entity or of a sub-entity.
  func update(_ change: RowChange, from version: Int64) throws

  /// Inserts the rows held back. Called before any statement that could depend on them.
  func flush() throws

  /// Inserts the rows held back, and records which keys were used.
  func finish() throws
}

/// The state of a running batch request, within one transaction of its store.
package final class BatchRun {
  let entities: StoredEntities
  let database: any SQLDatabase
  let plans: RowPlans
  let engine: any BatchEngine
  let derivations: Derivations
  /// The recorder of changes; nil for a store without history.
  let history: HistoryWriter?
  private let facts: StoreHistory?
  private var made: [BatchRows] = []

  /// - Parameters:
  ///   - history: how changes appear in persistent history; nil if they are not recorded.
  ///   - origin: the author and context to record for the changes.
  package init(
    database: any SQLDatabase, entities: StoredEntities, plans: RowPlans, engine: any BatchEngine,
    history: StoreHistory?, derivations: Derivations, origin: HistoryOrigin
  ) {
    (self.database, self.entities, self.plans, self.engine) = (database, entities, plans, engine)
    self.derivations = derivations
    facts = history
    self.history = history.map { _ in HistoryWriter(database, origin: origin) }
  }

  var external: ExternalData? { engine.external }

  /// Returns whether the store has the row of an object.
  func hasRow(_ id: NSManagedObjectID) throws -> Bool {
    let table = SQLName.quoted(try entities.layout(of: id.entity).table)
    return try database.scalar("SELECT 1 FROM \(table) WHERE Z_PK = ?", [.integer(id.key.number)]) != nil
  }

  var values: ColumnValues { ColumnValues(entities: entities, external: external) }

  /// Makes an empty set of rows.
  ///
  /// - Parameter values: the attributes of the values that are computed for the rows.
  package func rows(values: [AttributeKind] = []) throws -> BatchRows {
    let rows = try BatchRows("CDBatch\(made.count)", values: values, in: database, entities)
    made.append(rows)
    return rows
  }

  /// Finishes the request, before the transaction is committed.
  package func finish() throws {
    try history?.finish()
    for rows in made { try rows.drop() }
  }

  /// Returns the bits of the updated properties of an entity, and of the properties derived from them.
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

  /// Records the deletions of rows, which must still exist.
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

  /// Marks the files of the rows as unused after the commit, for all columns or for some properties.
  func noteReplacedFiles(_ rows: BatchRows, properties: Set<String>? = nil) throws {
    guard let external else { return }
    for layout in try rows.entityLayouts() {
      let changed = layout.attributes.values.filter { properties?.contains($0.name) ?? true }
      for column in changed.flatMap(\.filed).compactMap(\.column) {
        try database.forEachRow(
          "SELECT \(SQLName.quoted(column)) FROM \(SQLName.quoted(layout.table)) "
            + "WHERE length(\(SQLName.quoted(column))) = \(ExternalData.fileNameLength) "
            + "AND Z_PK IN (SELECT Z_PK FROM \(rows.table) WHERE Z_ENT = \(layout.number))", []
        ) { row in
          if let bytes = row.blob(at: 0) { external.willReplace(bytes) }
        }
      }
    }
  }
}
