// OpenCoreData
// SPDX-License-Identifier: Apache-2.0

import CoreDataSQLite
import CoreDataStoreFiles
import Foundation

/// Writes row changes to a SQLite store, in the caller's transaction.
struct RowWriter {
  let state: SQLiteStore.Opened

  private var connection: SQLiteConnection { state.connection }
  private var external: ExternalData { state.external }
  private var statements: StoreStatements { state.statements }
  private var values: ColumnValues { ColumnValues(entities: state.entities, external: external) }

  /// Writes the changes.
  ///
  /// - Throws: as `SQLRowSource.writeInOrder(_:by:)`.
  func writeChanges(_ changes: [RowChange]) throws {
    try state.writeInOrder(changes) { kind, positions in
      switch kind {
      case .delete: return try positions.filter { try !delete(changes[$0]) }
      case .update: return try update(positions, of: changes)
      case .insert:
        for position in positions {
          try insert(changes[position], try statements.statements(for: changes[position].id.entityDescription))
        }
        return []
      }
    }
  }

  /// - Returns: the positions of the rows that have changed since they were read.
  private func update(_ positions: [Int], of changes: [RowChange]) throws -> [Int] {
    var conflicting: [Int] = []
    var isVacated = false
    for (index, position) in positions.enumerated() {
      let rows = try statements.statements(for: changes[position].id.entityDescription)
      let kept = try keptFiles(of: changes[position], rows.plan)
      try noteReplacedFiles(of: changes[position], rows.plan, keeping: kept)
      let isDone: Bool
      do {
        isDone = try update(changes[position], rows, keeping: kept)
      } catch let error as SQLiteError where error.isUniqueConstraint && !isVacated {
        isVacated = true
        try vacateUniqueColumns(positions[index...].map { changes[$0] })
        isDone = try update(changes[position], rows, keeping: kept)
      }
      if !isDone { conflicting.append(position) }
    }
    return conflicting
  }

  /// Binds a new row to the parameters of its insertion.
  private func bind(_ change: RowChange, _ plan: RowPlan, to parameters: SQLiteStatement) throws {
    try parameters.bind(change.id.key.number, at: 1)
    try parameters.bind(Int64(plan.layout.number), at: 2)
    try parameters.bind(1 as Int64, at: 3)
    try bindColumns(of: change, plan, to: parameters)
  }

  /// Inserts only the rows themselves. `connectCopies(_:)` writes what is stored outside them.
  func insertCopies(_ rows: [RowChange]) throws {
    for position in rows.indices {
      try insert(rows[position], try statements.statements(for: rows[position].id.entityDescription))
    }
  }

  /// Writes the members of relationships, for rows that have no members yet.
  func connectCopies(_ rows: [RowChange]) throws {
    try state.relationships.writeRelationships(rows, positionsFollow: true)
  }

  private func insert(_ change: RowChange, _ rows: RowStatements) throws {
    let (plan, statement) = (rows.plan, try rows.insertion())
    try run(statement) { try bind(change, plan, to: statement) }
  }

  /// - Returns: whether the row is unchanged since it was read.
  private func update(
    _ change: RowChange, _ rows: RowStatements, keeping kept: [String: SQLiteValue]
  ) throws -> Bool {
    try update(change, from: change.old?.version ?? 0, rows, keeping: kept)
    return connection.changes == 1
  }

  /// Writes the changed values of a row, if it still has the expected version.
  ///
  /// - Parameter kept: the result of `keptFiles(of:_:)`.
  func update(
    _ change: RowChange, from version: Int64, _ rows: RowStatements, keeping kept: [String: SQLiteValue]
  ) throws {
    let statement = try rows.update(change.changed)
    try run(statement) {
      try statement.bind(change.id.key.number, at: 1)
      try statement.bind(RowVersion.next(after: version), at: 2)
      try statement.bind(version, at: 3)
      try bindColumns(of: change, rows.plan, keeping: kept, to: statement)
    }
  }

  /// Clears the unique columns of rows that are about to get other values there. SQLite enforces uniqueness statement
  /// by statement, so otherwise two rows could not exchange values in one save.
  private func vacateUniqueColumns(_ updates: [RowChange]) throws {
    let unique = state.entities.schema.indexes.filter(\.isUnique)
    for change in updates {
      let plan = try statements.plans.plan(for: change.id.entityDescription)
      let indexed = Set(unique.filter { $0.table == plan.layout.table }.flatMap { $0.elements.map(\.column) })
      let columns = change.changed.flatMap { RowPlan.columns(of: plan.steps[$0]) }.filter(indexed.contains)
      guard !columns.isEmpty else { continue }
      let cleared = columns.map { "\(SQLName.quoted($0)) = NULL" }.joined(separator: ", ")
      // The following update reports a row whose version has changed.
      try connection.run(
        "UPDATE \(SQLName.quoted(plan.layout.table)) SET \(cleared) WHERE Z_PK = ? AND \(RowVersion.stored) = ?",
        [.integer(change.id.key.number), .integer(change.old?.version ?? 0)])
    }
  }

  /// Runs a statement of a plan, and resets it for the next use.
  func run(_ statement: SQLiteStatement, _ bind: () throws -> Void) throws {
    defer {
      statement.reset()
      statement.clearBindings()
    }
    try bind()
    while try statement.step() {}
  }

  /// - Returns: whether the row is unchanged since it was read.
  private func delete(_ change: RowChange) throws -> Bool {
    let rows = try statements.statements(for: change.id.entityDescription)
    try noteReplacedFiles(of: change, rows.plan)
    let statement = try rows.deletion()
    try run(statement) {
      try statement.bind(change.id.key.number, at: 1)
      try statement.bind(change.old?.version ?? 0, at: 2)
    }
    guard connection.changes == 1 else { return false }
    try state.relationships.forget([change.id.key.number], rows.plan.layout)
    return true
  }

  /// Marks files as unused whose names are in columns that are about to change, or in any column of a deleted row.
  ///
  /// - Parameter kept: the columns that do not change.
  func noteReplacedFiles(of change: RowChange, _ plan: RowPlan, keeping kept: [String: SQLiteValue] = [:]) throws {
    for (position, column) in plan.filed where change.kind == .delete || change.changed.contains(position) {
      if kept[column] != nil { continue }
      if let bytes = try stored(column, of: change, plan).blob { external.willReplace(bytes) }
    }
  }

  /// Returns the value of a row's column.
  private func stored(_ column: String, of change: RowChange, _ plan: RowPlan) throws -> SQLiteValue {
    let sql = "SELECT \(SQLName.quoted(column)) FROM \(SQLName.quoted(plan.layout.table)) WHERE Z_PK = ?"
    return try connection.scalar(sql, [.integer(change.id.key.number)]) ?? .null
  }

  /// Returns the columns that keep their files when composite attributes change, with their contents. These belong to
  /// elements whose value is unchanged, and to unreadable elements without a new value, because the files of the latter
  /// may reappear.
  func keptFiles(of change: RowChange, _ plan: RowPlan) throws -> [String: SQLiteValue] {
    guard !plan.filed.isEmpty, let old = change.old else { return [:] }
    var kept: [String: SQLiteValue] = [:]
    for position in Set(plan.filed.map(\.position)) where change.changed.contains(position) {
      guard case .columns(let attribute) = plan.steps[position],
        case .object(let new as NSDictionary) = change.slot(at: position)
      else { continue }
      let before: NSDictionary
      switch old.slot(at: position) {
      case .object(let value as NSDictionary): before = value
      case .object(let value as UnreadableValue): before = value.rest ?? [:]
      default: continue
      }
      for column in Self.unchanged(attribute, before, new) { kept[column] = try stored(column, of: change, plan) }
    }
    return kept
  }

  /// Returns the columns of a composite attribute's elements that are stored in files and are equal in two values of
  /// the attribute. If an element has no value in either, it is NULL or could not be read, even if the object was saved
  /// since.
  private static func unchanged(
    _ attribute: AttributeLayout, _ old: NSDictionary, _ new: NSDictionary
  ) -> [String] {
    attribute.elements.flatMap { element -> [String] in
      let (before, after) = (old[element.name as NSString], new[element.name as NSString])
      guard let column = element.column else {
        return unchanged(element, before as? NSDictionary ?? [:], after as? NSDictionary ?? [:])
      }
      guard element.allowsExternalStorage else { return [] }
      guard let after else { return before == nil ? [column] : [] }
      guard let after = after as? Data, after.count >= ExternalData.smallestFile else { return [] }
      return before as? Data == after ? [column] : []
    }
  }

  /// Binds the changed values of the row itself to a plan's statement. To-many relationships have no values there.
  func bindColumns(
    of change: RowChange, _ plan: RowPlan, keeping kept: [String: SQLiteValue] = [:],
    to parameters: SQLiteStatement
  ) throws {
    if !plan.hasColumns(change.changed) { return }
    let row = change.id.key.number
    for position in change.changed {
      try bind(change.slot(at: position), at: position, row: row, plan, keeping: kept, to: parameters)
    }
  }

  /// Binds one value of a row to a plan's statement.
  func bind(
    _ slot: Slot, at position: Int, row: Int64, _ plan: RowPlan, keeping kept: [String: SQLiteValue] = [:],
    to parameters: SQLiteStatement
  ) throws {
    switch plan.steps[position] {
    case .nothing: return
    case .column(let coding, let attribute, let index):
      switch (coding, slot) {
      case (.string, .string(let value)): try parameters.bind(value, at: index)
      case (.integer, .integer(let value)): try parameters.bind(value, at: index)
      case (.double, .double(let value)), (.date, .date(let value)): try parameters.bind(value, at: index)
      default:
        let value = try values.value(
          of: slot, attribute, coding, description: plan.entity.slotTable.attribute(at: position), in: plan.layout,
          row: row)
        try parameters.bind(value, at: index)
      }
    case .columns(let attribute):
      let found = try values.columns(
        of: slot, attribute, description: plan.entity.slotTable.attribute(at: position), in: plan.layout, row: row,
        keeping: kept)
      for column in found { try parameters.bind(column.value, at: plan.index(of: column.name)) }
    case .key(let relationship, let key, let index):
      let (number, entity) = try values.key(of: slot, relationship, key, in: plan.layout, row: row)
      try parameters.bind(number, at: index)
      if key.entityColumn != nil { try parameters.bind(entity, at: index + 1) }
    }
  }
}
