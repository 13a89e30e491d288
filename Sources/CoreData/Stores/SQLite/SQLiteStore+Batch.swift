// OpenCoreData
// SPDX-License-Identifier: Apache-2.0

import CoreDataPredicates
import CoreDataSQLite
import CoreDataStoreFiles
import Foundation

extension SQLiteStore {
  func batchEngine(_ opened: Opened) -> any BatchEngine { SQLiteBatchEngine(opened, url: url) }
}

/// The SQLite implementation of `BatchEngine`.
private final class SQLiteBatchEngine: BatchEngine {
  private let state: SQLiteStore.Opened
  private let url: URL?

  init(_ state: SQLiteStore.Opened, url: URL?) {
    (self.state, self.url) = (state, url)
  }

  var external: ExternalData? { state.external }

  func forEachRow(_ keys: [Int64], of entity: EntityLayout, _ body: (Int64, RowSnapshot) throws -> Void) throws {
    let reader = RowReader(
      entity: entity, includesSubentities: true, entities: state.entities, external: state.external)
    for key in keys {
      if let row = try reader.tolerating({ try reader.row(key, state.connection) }) { try body(key, row) }
    }
  }

  func insertion(of plan: RowPlan) throws -> any BatchRowInsertion {
    try SQLiteRowInsertion(state, plan, url: url)
  }

  /// Does nothing, because a write transaction of SQLite already excludes all other writers.
  func excludeWriters(of tables: [String]) {}
}

/// Inserts rows into a SQLite store for a batch request.
private final class SQLiteRowInsertion: BatchRowInsertion {
  private let state: SQLiteStore.Opened
  private let plan: RowPlan
  private let writer: RowWriter
  private let statement: SQLiteStatement
  private let entityNumber: Int64
  private let url: URL?
  private let firstKey: Int64
  private var key: Int64

  init(_ state: SQLiteStore.Opened, _ plan: RowPlan, url: URL?) throws {
    (self.state, self.plan, self.url) = (state, plan, url)
    writer = state.writer
    statement = try state.statements.statements(for: plan.entity).insertion()
    entityNumber = Int64(plan.layout.number)
    firstKey = try state.lastKey(root: plan.layout.rootNumber)
    key = firstKey
  }

  var findsDuplicates: Bool { true }

  func isNotUnique(_ error: any Error) -> Bool { (error as? SQLiteError)?.isUniqueConstraint ?? false }

  func nextKey() throws -> Int64 {
    guard key < .max else {
      throw StoreErrors.keysExhausted(url: url, entity: plan.layout.name, table: plan.layout.table, last: key)
    }
    key += 1
    return key
  }

  func insert(_ slots: [Slot], at positions: SlotSet, key: Int64) throws {
    let mark = state.external.mark
    do {
      try writer.run(statement) {
        try statement.bind(key, at: 1)
        try statement.bind(entityNumber, at: 2)
        try statement.bind(1 as Int64, at: 3)
        for position in positions { try writer.bind(slots[position], at: position, row: key, plan, to: statement) }
      }
    } catch {
      state.external.didRollBack(to: mark)
      // The next row uses the key.
      self.key = key - 1
      throw error
    }
  }

  func update(_ change: RowChange, from version: Int64) throws {
    let rows = try state.statements.statements(for: change.id.entityDescription)
    let kept = try writer.keptFiles(of: change, rows.plan)
    try writer.noteReplacedFiles(of: change, rows.plan, keeping: kept)
    try writer.update(change, from: version, rows, keeping: kept)
  }

  /// Does nothing, because rows are inserted at once.
  func flush() {}

  func finish() throws {
    guard key > firstKey else { return }
    try state.connection.run(
      "UPDATE Z_PRIMARYKEY SET Z_MAX = ? WHERE Z_ENT = ?",
      [.integer(key), .integer(Int64(plan.layout.rootNumber))])
  }
}
