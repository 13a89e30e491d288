// OpenCoreData
// SPDX-License-Identifier: Apache-2.0

import CoreData
import CoreDataPostgreSQLClient
import CoreDataSQLite
import CoreDataStoreFiles
import Foundation

/// Writes row changes in the caller's transaction: deletes by arrays of keys, updates in a pipeline, and inserts with
/// COPY, or in the pipeline if there are few.
struct PostgreSQLRowWriter {
  /// The number of rows of an entity from which they are inserted with COPY, which takes two round trips.
  private static let copyFrom = 20
  /// The number of rows that one statement deletes.
  private static let deletionsPerStatement = 10_000

  let state: OpenedSchema

  private var connection: PostgreSQLConnection { state.connection }
  private var values: ColumnValues { ColumnValues(entities: state.entities, external: nil) }

  /// Writes the changes. Two saves lock rows in the same order, that of tables and keys, and cannot deadlock.
  ///
  /// - Throws: The errors of `SQLRowSource.writeInOrder(_:by:)`.
  func writeChanges(_ changes: [RowChange]) throws {
    try state.writeInOrder(changes) { kind, positions in
      switch kind {
      case .delete: return try groups(positions, changes).flatMap { try delete($0.positions, changes) }
      case .update: return try update(positions, changes)
      case .insert:
        for (plan, part) in try groups(positions, changes) { try insert(part, changes, plan) }
        return []
      }
    }
  }

  /// Groups positions by entity, in the order of the first position of each.
  private func groups(
    _ positions: [Int], _ changes: [RowChange]
  ) throws -> [(plan: RowPlan, positions: [Int])] {
    var groups: [(plan: RowPlan, positions: [Int])] = []
    var known: [ObjectIdentifier: Int] = [:]
    for position in positions {
      let plan = try state.plans.plan(for: changes[position].id.entityDescription)
      if let group = known[ObjectIdentifier(plan)] {
        groups[group].positions.append(position)
      } else {
        known[ObjectIdentifier(plan)] = groups.count
        groups.append((plan, [position]))
      }
    }
    return groups
  }

  // MARK: Deleting

  /// Deletes rows.
  ///
  /// - Returns: The positions of rows that have changed since they were read.
  private func delete(_ positions: [Int], _ changes: [RowChange]) throws -> [Int] {
    let plan = try state.plans.plan(for: changes[positions[0]].id.entityDescription)
    var conflicting: [Int] = []
    for start in stride(from: 0, to: positions.count, by: Self.deletionsPerStatement) {
      let part = positions[start...].prefix(Self.deletionsPerStatement)
      let keys = part.map { changes[$0].id.key.number }
      let versions = part.map { changes[$0].old?.version ?? 0 }
      let gone = try connection.query(
        "DELETE FROM \(SQLName.quoted(plan.layout.table)) t "
          + "USING unnest($1, $2) AS d(key, version) "
          + "WHERE t.z_pk = d.key AND t.z_opt = d.version RETURNING t.z_pk", [.integers(keys), .integers(versions)])
      if gone.count < part.count {
        let found = Set((0..<gone.count).map { gone.int64($0, 0) })
        conflicting += part.filter { !found.contains(changes[$0].id.key.number) }
      }
    }
    if conflicting.isEmpty { try state.relationships.forget(positions.map { changes[$0].id.key.number }, plan.layout) }
    return conflicting
  }

  // MARK: Updating

  /// Updates rows.
  ///
  /// - Returns: The positions of rows that have changed since they were read.
  private func update(_ positions: [Int], _ changes: [RowChange]) throws -> [Int] {
    var conflicting: [Int] = []
    try connection.pipeline { pipeline in
      for position in positions {
        let change = changes[position]
        let plan = try state.plans.plan(for: change.id.entityDescription)
        let values = try parameters(of: change, from: change.old?.version ?? 0, plan)
        try pipeline.send(state.statements.update(of: plan, change.changed), values) { rows in
          if rows.affected != 1 { conflicting.append(position) }
        }
      }
    }
    return conflicting
  }

  // MARK: Inserting

  private func insert(_ positions: [Int], _ changes: [RowChange], _ plan: RowPlan) throws {
    if positions.count < Self.copyFrom { return try insertOneByOne(positions, changes, plan) }
    try copy(positions, plan) { position, sink in try writeRow(changes[position], plan, to: &sink) }
  }

  /// Inserts rows with version 1 for a batch request.
  func insert(_ rows: [(key: Int64, slots: [Slot], positions: SlotSet)], _ plan: RowPlan) throws {
    try copy(rows, plan) { row, sink in
      try writeRow(row.key, plan, to: &sink) { row.positions.contains($0) ? row.slots[$0] : .null }
    }
  }

  private func copy<Row>(
    _ rows: [Row], _ plan: RowPlan, _ write: (Row, inout CopySink) throws -> Void
  ) throws {
    let columns = RowTexts.columns(of: plan)
    let count = try connection.copyIn(plan.layout.table, columns: columns) { writer in
      var sink = CopySink(writer: writer)
      for row in rows {
        writer.beginRow(fieldCount: columns.count)
        try write(row, &sink)
      }
    }
    guard count == rows.count else { throw RowsNotInserted(table: plan.layout.table, count: rows.count - count) }
  }

  /// Inserts rows of one entity without the relationships that are stored outside the rows.
  func insertCopies(_ rows: [RowChange], _ plan: RowPlan) throws {
    try insert(Array(rows.indices), rows, plan)
  }

  /// Updates one row if it has the given version.
  func update(_ change: RowChange, from version: Int64) throws {
    let plan = try state.plans.plan(for: change.id.entityDescription)
    _ = try connection.run(
      state.statements.update(of: plan, change.changed), parameters(of: change, from: version, plan))
  }

  private func parameters(
    of change: RowChange, from version: Int64, _ plan: RowPlan
  ) throws -> [PostgreSQLValue] {
    var sink = ParameterSink()
    sink.put(integer: change.id.key.number)
    sink.put(integer: RowVersion.next(after: version))
    sink.put(integer: version)
    for position in change.changed {
      try writeSlot(change.slot(at: position), position, key: change.id.key.number, plan, to: &sink)
    }
    return sink.values
  }

  private func insertOneByOne(_ positions: [Int], _ changes: [RowChange], _ plan: RowPlan) throws {
    try connection.pipeline { pipeline in
      for position in positions {
        var sink = ParameterSink()
        try writeRow(changes[position], plan, to: &sink)
        try pipeline.send(state.statements.insertion(of: plan), sink.values) { rows in
          guard rows.affected == 1 else { throw RowsNotInserted(table: plan.layout.table, count: 1) }
        }
      }
    }
  }

  private func writeRow(_ change: RowChange, _ plan: RowPlan, to sink: inout some ColumnSink) throws {
    let slots = change.slots
    try writeRow(change.id.key.number, plan, to: &sink) { slots[$0] }
  }

  @inline(__always)
  private func writeRow(
    _ key: Int64, _ plan: RowPlan, to sink: inout some ColumnSink, _ slot: (Int) -> Slot
  ) throws {
    sink.put(integer: key)
    sink.put(smaller: Int64(plan.layout.number))
    sink.put(smaller: 1)
    for position in plan.steps.indices { try writeSlot(slot(position), position, key: key, plan, to: &sink) }
  }

  @inline(__always)
  private func writeSlot(
    _ slot: Slot, _ position: Int, key: Int64, _ plan: RowPlan, to sink: inout some ColumnSink
  ) throws {
    switch plan.steps[position] {
    case .nothing: return
    case .column(let coding, let attribute, _):
      switch (coding, slot) {
      case (.string, .string(let value)):
        guard sink.put(string: value) else {
          throw RowProblem(
            kind: .zeroCharacter, table: plan.layout.table, primaryKey: key, property: attribute.name)
        }
      case (.integer, .integer(let value)): sink.put(integer: value)
      case (.date, .date(let value)): sink.put(date: value)
      case (.double, .double(let value)): sink.put(double: value)
      case (.decimal, .object(let value as NSDecimalNumber)): sink.put(decimal: value.decimalValue)
      case (.uuid, .uuid(let value)): sink.put(uuid: value)
      default:
        let description = plan.entity.slotTable.attribute(at: position)
        sink.put(
          try values.value(of: slot, attribute, coding, description: description, in: plan.layout, row: key), coding)
      }
    case .columns(let attribute):
      let description = plan.entity.slotTable.attribute(at: position)
      let found = try values.values(of: slot, attribute, description: description, in: plan.layout, row: key)
      for element in found { sink.put(element.value, element.coding) }
    case .key(let relationship, let foreign, _):
      var value = slot
      if case .unread = slot { value = .null }
      let (number, entity) = try values.key(of: value, relationship, foreign, in: plan.layout, row: key)
      if let number = number.integer { sink.put(integer: number) } else { sink.null() }
      if foreign.entityColumn == nil { return }
      if let entity = entity.integer { sink.put(smaller: entity) } else { sink.null() }
    }
  }
}

/// Rows that the server has not inserted, without an error: a trigger or rule of somebody else has discarded them.
struct RowsNotInserted: Error, TranslatableError {
  let table: String
  let count: Int

  func translated(in context: ErrorContext) -> any Error {
    StoreErrors.operationFailed(
      url: context.url,
      reason:
        "The server has not inserted \(count == 1 ? "1 row" : "\(count) rows") of \(table): a trigger or rule of the table, "
        + "which is not the framework's, has discarded what was written. Nothing was saved. coredata store verify lists the triggers."
    )
  }
}

/// The texts of the statements that write rows, made once for each connection.
final class RowTexts {
  private struct Key: Hashable {
    let plan: ObjectIdentifier
    /// The changed slots of an update; nil for an insertion.
    let changed: SlotSet?
  }

  private var known: [Key: String] = [:]

  /// Returns the columns of an inserted row.
  static func columns(of plan: RowPlan) -> [String] { ["z_pk", "z_ent", "z_opt"] + plan.columns }

  /// Returns the statement that inserts a row, with a parameter for each column.
  func insertion(of plan: RowPlan) -> String {
    text(plan, nil) {
      let columns = Self.columns(of: plan)
      let marks = columns.indices.map { "$\($0 + 1)" }.joined(separator: ", ")
      let names = columns.map(SQLName.quoted).joined(separator: ", ")
      return "INSERT INTO \(SQLName.quoted(plan.layout.table)) (\(names)) VALUES (\(marks))"
    }
  }

  /// Returns the statement that updates some slots of a row. `$1` is the key, `$2` the new version, `$3` the old
  /// version; the values follow.
  func update(of plan: RowPlan, _ changed: SlotSet) -> String {
    text(plan, changed) {
      let columns = changed.flatMap { RowPlan.columns(of: plan.steps[$0]) }
      let values = columns.enumerated().map { "\(SQLName.quoted($1)) = $\($0 + 4)" }
      return "UPDATE \(SQLName.quoted(plan.layout.table)) SET \((["z_opt = $2"] + values).joined(separator: ", ")) "
        + "WHERE z_pk = $1 AND z_opt = $3"
    }
  }

  private func text(_ plan: RowPlan, _ changed: SlotSet?, _ make: () -> String) -> String {
    let key = Key(plan: ObjectIdentifier(plan), changed: changed)
    if let text = known[key] { return text }
    let made = make()
    known[key] = made
    return made
  }
}
