// OpenCoreData
// SPDX-License-Identifier: Apache-2.0

import CoreDataSQLite
import CoreDataStoreFiles
import Foundation

/// Writes row changes in the transaction of its caller.
struct RowWriter {
  let connection: SQLiteConnection
  let entities: StoredEntities
  let external: ExternalData
  let plans: RowPlans

  /// Writes the changes: deletions first, to free unique values, then updates, insertions, and the relationships that are
  /// stored outside the rows.
  ///
  /// - Throws: `RowConflicts` with every row that has changed since it was read; the caller must roll back.
  func write(_ changes: [RowChange]) throws {
    var conflicts: [RowConflicts.Conflict] = []
    for kind in [RowChange.Kind.delete, .update, .insert] {
      // Indexing avoids copies of changes, each of which holds the row before and after.
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

  /// Whether the changes search for rows by other values than their primary keys.
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

  /// - Returns: whether the row was unchanged since it was read.
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

  /// Runs a statement of a plan, and clears it for the next use.
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

  /// Marks the files as unused whose names are in columns that are about to change.
  private func noteReplacedFiles(of change: RowChange, _ plan: RowPlan, all: Bool) throws {
    for (position, column) in plan.filed where all || change.changed.contains(position) {
      let sql = "SELECT \(SQLName.quoted(column)) FROM \(SQLName.quoted(plan.layout.table)) WHERE Z_PK = ?"
      if let bytes = try connection.scalar(sql, [.integer(change.id.key.number)])?.blob { external.willReplace(bytes) }
    }
  }
}

extension RowWriter {
  /// A column and its value.
  typealias ColumnValue = (column: String, value: SQLiteValue)

  /// Binds the changed values of the row itself to a plan's statement. To-many relationships have none.
  func bindColumns(of change: RowChange, _ plan: RowPlan, to statement: SQLiteStatement) throws {
    for position in change.changed {
      let slot = change.slots[position]
      switch plan.steps[position] {
      case .nothing: continue
      case .column(let coding, let attribute, let index):
        switch (coding, slot) {
        case (.string, .string(let value)): try statement.bind(value, at: index)
        case (.integer, .integer(let value)): try statement.bind(value, at: index)
        case (.double, .double(let value)), (.date, .date(let value)): try statement.bind(value, at: index)
        default:
          let value = try columnValue(
            of: slot, attribute, coding, description: change.id.entityDescription.slotTable.attribute(at: position),
            in: plan.layout, row: change.id.key.number)
          try statement.bind(value, at: index)
        }
      case .columns(let attribute):
        let values = try columnValues(
          of: slot, attribute, description: change.id.entityDescription.slotTable.attribute(at: position),
          in: plan.layout,
          row: change.id.key.number)
        for (column, value) in values { try statement.bind(value, at: plan.index(of: column)) }
      case .key(let relationship, let key, let index):
        let (number, entity) = try keyValues(of: slot, relationship, key, in: plan.layout, row: change.id.key.number)
        try statement.bind(number, at: index)
        if key.entityColumn != nil { try statement.bind(entity, at: index + 1) }
      }
    }
  }

  private func columnValues(
    of slot: Slot, _ attribute: AttributeLayout, description: NSAttributeDescription?, in layout: EntityLayout,
    row: Int64
  ) throws -> [ColumnValue] {
    guard let column = attribute.column, let coding = ColumnCoding(attribute) else {
      return try elementValues(of: slot, attribute, description: description, in: layout, row: row)
    }
    let value = try columnValue(of: slot, attribute, coding, description: description, in: layout, row: row)
    return [(column, value)]
  }

  private func columnValue(
    of slot: Slot, _ attribute: AttributeLayout, _ coding: ColumnCoding, description: NSAttributeDescription?,
    in layout: EntityLayout, row: Int64
  ) throws -> SQLiteValue {
    var slot = slot
    if case .archived = coding, case .object(let value) = slot, let description {
      slot = try TransformableValues.encode(value, of: description).map { .archived($0) } ?? .null
    }
    guard let value = try coding.value(of: slot, external: external) else {
      throw unwritable(slot, attribute.name, in: layout, row: row)
    }
    return value
  }

  private func elementValues(
    of slot: Slot, _ attribute: AttributeLayout, description: NSAttributeDescription?, in layout: EntityLayout,
    row: Int64
  ) throws -> [ColumnValue] {
    let values: NSDictionary
    switch slot {
    case .null: values = [:]
    case .object(let object as NSDictionary): values = object
    default: throw unwritable(slot, attribute.name, in: layout, row: row)
    }
    let descriptions = (description as? NSCompositeAttributeDescription)?.elements ?? []
    return try attribute.elements.flatMap { element -> [ColumnValue] in
      guard let description = descriptions.first(where: { $0.name == element.name }) else { return [] }
      guard let slot = Slot(values[element.name as NSString], for: description) else {
        throw unwritable(.null, "\(attribute.name).\(element.name)", in: layout, row: row)
      }
      return try columnValues(of: slot, element, description: description, in: layout, row: row)
    }
  }

  private func keyValues(
    of slot: Slot, _ relationship: RelationshipLayout, _ key: ForeignKeyLayout, in layout: EntityLayout, row: Int64
  ) throws -> (number: SQLiteValue, entity: SQLiteValue) {
    switch slot {
    case .null: return (.null, .null)
    case .toOne(let id):
      guard entities.owns(id) else { throw unwritable(slot, relationship.name, in: layout, row: row) }
      let entity: SQLiteValue =
        key.entityColumn == nil ? .null : .integer(Int64(try plans.plan(for: id.entity).layout.number))
      return (.integer(id.key.number), entity)
    default: throw unwritable(slot, relationship.name, in: layout, row: row)
    }
  }

  private func unwritable(_ slot: Slot, _ property: String, in layout: EntityLayout, row: Int64) -> RowProblem {
    RowProblem(kind: .unwritableValue(found: "\(slot)"), table: layout.table, primaryKey: row, property: property)
  }
}
