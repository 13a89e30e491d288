// OpenCoreData
// SPDX-License-Identifier: Apache-2.0

import CoreData
import CoreDataPostgreSQLClient
import CoreDataPredicates
import CoreDataSQLite
import CoreDataStoreFiles
import Foundation

extension PostgreSQLStore {
  func batchEngine(_ opened: OpenedSchema) -> any BatchEngine { PostgreSQLBatchEngine(self, opened) }
}

/// The PostgreSQL-specific parts of batch requests.
private final class PostgreSQLBatchEngine: BatchEngine {
  private unowned let store: PostgreSQLStore
  private let state: OpenedSchema

  init(_ store: PostgreSQLStore, _ state: OpenedSchema) { (self.store, self.state) = (store, state) }

  var external: ExternalData? { nil }

  func forEachRow(_ keys: [Int64], of entity: EntityLayout, _ body: (Int64, RowSnapshot) throws -> Void) throws {
    guard let description = state.entities.description(number: entity.number) else { return }
    try state.database.flush()
    let reader = try state.readers.reader(for: description, includesSubentities: true)
    let columns = reader.columns.map(SQLName.quoted).joined(separator: ", ")
    let rows = try state.connection.query(
      "SELECT \(columns) FROM \(SQLName.quoted(entity.table)) WHERE z_pk = ANY ($1)", [.integers(keys)])
    for row in 0..<rows.count {
      try body(rows.int64(row, 0), reader.snapshot { try reader.pack(rows, row, into: $0) })
    }
  }

  func insertion(of plan: RowPlan) throws -> any BatchRowInsertion {
    PostgreSQLRowInsertion(store, state, plan)
  }

  func excludeWriters(of tables: [String]) throws { try store.excludeWriters(of: tables, state) }
}

/// Inserts rows for a batch request in groups.
private final class PostgreSQLRowInsertion: BatchRowInsertion {
  /// The maximum number of rows in a group.
  private static let maxQueueLength = 5_000

  private unowned let store: PostgreSQLStore
  private let state: OpenedSchema
  private let plan: RowPlan
  private let writer: PostgreSQLRowWriter
  private var rows: [(key: Int64, slots: [Slot], positions: SlotSet)] = []
  private var keys: [ClosedRange<Int64>] = []

  init(_ store: PostgreSQLStore, _ state: OpenedSchema, _ plan: RowPlan) {
    (self.store, self.state, self.plan) = (store, state, plan)
    writer = PostgreSQLRowWriter(state: state)
  }

  var findsDuplicates: Bool { false }

  func isNotUnique(_ error: any Error) -> Bool { (error as? PostgreSQLError)?.isUniqueViolation ?? false }

  func nextKey() throws -> Int64 {
    if keys.isEmpty {
      guard let root = state.entities.schema.entity(number: plan.layout.rootNumber) else { return 1 }
      keys = try store.keys.reserve(1, of: root, state.connection)
    }
    guard let range = keys.first else { return 1 }
    if range.count == 1 { keys.removeFirst() } else { keys[0] = (range.lowerBound + 1)...range.upperBound }
    return range.lowerBound
  }

  func insert(_ slots: [Slot], at positions: SlotSet, key: Int64) throws {
    rows.append((key, slots, positions))
    if rows.count >= Self.maxQueueLength { try flush() }
  }

  func update(_ change: RowChange, from version: Int64) throws {
    try flush()
    try writer.update(change, from: version)
  }

  func flush() throws {
    if rows.isEmpty { return }
    let waiting = rows
    rows = []
    try state.database.flush()
    try writer.insert(waiting, plan)
  }

  func finish() throws { try flush() }
}
