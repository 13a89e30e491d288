// OpenCoreData
// SPDX-License-Identifier: Apache-2.0

import CoreDataSQLite
import CoreDataStoreFiles
import Foundation

/// Writes changes of rows, all in the transaction of its caller.
struct RowWriter {
  let connection: SQLiteConnection
  let entities: StoredEntities
  let external: ExternalData
  let plans: RowPlans

  /// Writes the changes: deletions first, so that they free what must be unique, then updates, insertions, and the
  /// relationships that stand outside the rows.
  ///
  /// - Throws: `RowConflicts` naming every row that has been changed since it was read; the caller rolls back then.
  func write(_ changes: [RowChange]) throws {
    var conflicts: [RowConflicts.Conflict] = []
    for kind in [RowChange.Kind.delete, .update, .insert] {
      // Changes are not copied: each holds its row as it was and as it is to be.
      for position in changes.indices where changes[position].kind == kind {
        let plan = try plans.plan(for: changes[position].id.entityDescription)
        let isDone: Bool
        switch kind {
        case .delete: isDone = try delete(changes[position], plan)
        case .update: isDone = try update(changes[position], plan)
        case .insert:
          try insert(changes[position], plan)
          isDone = true
        }
        if !isDone { conflicts.append(try conflict(changes[position], plan.layout)) }
      }
    }
    guard conflicts.isEmpty else { throw RowConflicts(conflicts: conflicts) }
    try writeRelationships(of: changes)
  }

  /// Whether other rows than those that change are looked for by what they hold.
  func isSearching(for changes: [RowChange]) throws -> Bool {
    for position in changes.indices {
      let kind = changes[position].kind
      if kind == .delete { return true }
      let plan = try plans.plan(for: changes[position].id.entityDescription)
      if kind == .update ? !plan.outside.isEmpty : plan.hasPlaces { return true }
    }
    return false
  }

  private func insert(_ change: RowChange, _ plan: RowPlan) throws {
    let statement = try plan.insertStatement()
    try run(statement) {
      try statement.bind(change.id.key.number, at: 1)
      try statement.bind(Int64(plan.layout.number), at: 2)
      try statement.bind(1 as Int64, at: 3)
      try bindColumns(of: change, plan, to: statement)
    }
  }

  /// Whether the row is as it was read.
  private func update(_ change: RowChange, _ plan: RowPlan) throws -> Bool {
    try noteReplacedFiles(of: change, plan, all: false)
    let version = change.old?.version ?? 0
    let statement = try plan.updateStatement(change.changed)
    try run(statement) {
      try statement.bind(change.id.key.number, at: 1)
      try statement.bind(RowVersion.next(after: version), at: 2)
      try statement.bind(version, at: 3)
      try bindColumns(of: change, plan, to: statement)
    }
    return connection.changes == 1
  }

  /// Runs a statement that the plan keeps, and leaves nothing in it.
  private func run(_ statement: SQLiteStatement, _ bind: () throws -> Void) throws {
    defer {
      statement.reset()
      statement.clearBindings()
    }
    try bind()
    while try statement.step() {}
  }

  private func delete(_ change: RowChange, _ plan: RowPlan) throws -> Bool {
    try noteReplacedFiles(of: change, plan, all: true)
    let layout = plan.layout
    let key = SQLiteValue.integer(change.id.key.number)
    try connection.run(
      "DELETE FROM \(SQLName.quoted(layout.table)) WHERE Z_PK = ? AND \(RowVersion.stored) = ?",
      [key, .integer(change.old?.version ?? 0)])
    guard connection.changes == 1 else { return false }
    try forgetRelationships(of: key, layout)
    return true
  }

  private func conflict(_ change: RowChange, _ layout: EntityLayout) throws -> RowConflicts.Conflict {
    let reader = RowReader(entity: layout, includesSubentities: false, entities: entities, external: external)
    let columns = reader.columns.map(SQLName.quoted).joined(separator: ", ")
    let stored = try connection.cached(
      "SELECT \(columns) FROM \(SQLName.quoted(layout.table)) WHERE Z_PK = ?"
    ) { statement -> RowSnapshot? in
      try statement.bind(change.id.key.number, at: 1)
      return try statement.step() ? try reader.snapshot(statement) : nil
    }
    return RowConflicts.Conflict(id: change.id, expectedVersion: change.old?.version ?? 0, stored: stored)
  }

  /// Has the files forgotten whose names stand in columns that are about to change.
  private func noteReplacedFiles(of change: RowChange, _ plan: RowPlan, all: Bool) throws {
    for (position, column) in plan.filed where all || change.changed.contains(position) {
      let sql = "SELECT \(SQLName.quoted(column)) FROM \(SQLName.quoted(plan.layout.table)) WHERE Z_PK = ?"
      if let bytes = try connection.scalar(sql, [.integer(change.id.key.number)])?.blob { external.willReplace(bytes) }
    }
  }
}
