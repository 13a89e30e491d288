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

  /// Writes the changes, and the relationships that are stored outside the rows.
  ///
  /// - Throws: `RowConflicts` with every row that has changed since it was read; the caller must roll back.
  func write(_ changes: [RowChange]) throws {
    let relationships = RelationshipWriter(
      database: state.database, entities: state.entities, plans: state.sharedPlans)
    var (conflicting, outside): ([Int], [Int]) = ([], [])
    // Write in the order of tables and keys: two saves then lock rows in the same order and cannot deadlock.
    for (kind, positions) in WritingOrder(changes).positions {
      switch kind {
      case .delete:
        for (_, part) in try groups(positions, changes) { conflicting += try delete(part, changes, relationships) }
      case .update: conflicting += try update(positions, changes)
      case .insert:
        for (plan, part) in try groups(positions, changes) { try insert(part, changes, plan) }
      }
      if kind != .delete { outside += try writtenOutside(positions, changes) }
    }
    guard conflicting.isEmpty else {
      throw RowConflicts(conflicts: try conflicting.map { try conflict(changes[$0]) })
    }
    if outside.isEmpty { return }
    // Restore the order in which the program made the changes.
    outside.sort()
    try relationships.write(outside.map { changes[$0] })
  }

  /// Returns the positions of changes with relationships that are stored outside the rows.
  private func writtenOutside(_ positions: [Int], _ changes: [RowChange]) throws -> [Int] {
    try positions.filter { position in
      try state.sharedPlans.plan(for: changes[position].id.entityDescription)
        .writesOutside(changes[position].changed)
    }
  }

  /// Groups positions by entity, in the order of the first position of each.
  private func groups(
    _ positions: [Int], _ changes: [RowChange]
  ) throws -> [(plan: PostgreSQLRowPlan, positions: [Int])] {
    var groups: [(plan: PostgreSQLRowPlan, positions: [Int])] = []
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
  private func delete(
    _ positions: [Int], _ changes: [RowChange], _ relationships: RelationshipWriter
  ) throws -> [Int] {
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
    if conflicting.isEmpty { try relationships.forget(positions.map { changes[$0].id.key.number }, plan.layout) }
    return conflicting
  }

  // MARK: Updating

  /// Updates rows.
  ///
  /// - Returns: The positions of rows that have changed since they were read.
  private func update(_ positions: [Int], _ changes: [RowChange]) throws -> [Int] {
    if positions.isEmpty { return [] }
    var conflicting: [Int] = []
    try connection.pipeline { pipeline in
      for position in positions {
        let change = changes[position]
        let plan = try state.plans.plan(for: change.id.entityDescription)
        let values = try parameters(of: change, from: change.old?.version ?? 0, plan)
        try pipeline.send(plan.update(change.changed), values) { rows in
          if rows.affected != 1 { conflicting.append(position) }
        }
      }
    }
    return conflicting
  }

  // MARK: Inserting

  private func insert(_ positions: [Int], _ changes: [RowChange], _ plan: PostgreSQLRowPlan) throws {
    if positions.count < Self.copyFrom { return try insertOneByOne(positions, changes, plan) }
    let columnCount = plan.columns.count
    let entity = Int64(plan.layout.number)
    try connection.copyIn(plan.layout.table, columns: plan.columns) { writer in
      var sink = CopySink(writer: writer)
      for position in positions {
        writer.beginRow(fieldCount: columnCount)
        try writeRow(changes[position], entity: entity, plan, to: &sink)
      }
    }
  }

  /// Inserts rows with version 1 for a batch request.
  func insert(_ rows: [(key: Int64, slots: [Slot], positions: SlotSet)], _ plan: PostgreSQLRowPlan) throws {
    let columnCount = plan.columns.count
    let entity = Int64(plan.layout.number)
    try connection.copyIn(plan.layout.table, columns: plan.columns) { writer in
      var sink = CopySink(writer: writer)
      for row in rows {
        writer.beginRow(fieldCount: columnCount)
        sink.put(integer: row.key)
        sink.put(smaller: entity)
        sink.put(smaller: 1)
        for position in plan.steps.indices {
          let slot = row.positions.contains(position) ? row.slots[position] : .null
          try write(slot, position, key: row.key, plan, to: &sink)
        }
      }
    }
  }

  /// Inserts rows of one entity without the relationships that are stored outside the rows.
  func insertCopies(_ rows: [RowChange], _ plan: PostgreSQLRowPlan) throws {
    try insert(Array(rows.indices), rows, plan)
  }

  /// Updates one row if it has the given version.
  func update(_ change: RowChange, from version: Int64) throws {
    let plan = try state.plans.plan(for: change.id.entityDescription)
    _ = try connection.run(plan.update(change.changed), parameters(of: change, from: version, plan))
  }

  private func parameters(
    of change: RowChange, from version: Int64, _ plan: PostgreSQLRowPlan
  ) throws -> [PostgreSQLValue] {
    var sink = ParameterSink()
    sink.put(integer: change.id.key.number)
    sink.put(integer: RowVersion.next(after: version))
    sink.put(integer: version)
    for position in change.changed {
      try write(change.slot(at: position), position, key: change.id.key.number, plan, to: &sink)
    }
    return sink.values
  }

  private func insertOneByOne(_ positions: [Int], _ changes: [RowChange], _ plan: PostgreSQLRowPlan) throws {
    try connection.pipeline { pipeline in
      for position in positions {
        var sink = ParameterSink()
        try writeRow(changes[position], entity: Int64(plan.layout.number), plan, to: &sink)
        try pipeline.send(plan.insert, sink.values) { _ in }
      }
    }
  }

  private func writeRow(
    _ change: RowChange, entity: Int64, _ plan: PostgreSQLRowPlan, to sink: inout some ColumnSink
  ) throws {
    try sink.put(integer: change.id.key.number)
    try sink.put(smaller: entity)
    try sink.put(smaller: 1)
    let slots = change.slots
    for position in plan.steps.indices {
      try write(slots[position], position, key: change.id.key.number, plan, to: &sink)
    }
  }

  @inline(__always)
  private func write(
    _ slot: Slot, _ position: Int, key: Int64, _ plan: PostgreSQLRowPlan, to sink: inout some ColumnSink
  ) throws {
    switch plan.steps[position] {
    case .nothing: return
    case .attribute(let cells):
      do {
        try cells.write(slot, plan.entity.slotTable.attribute(at: position), to: &sink)
      } catch let problem as UnwritableValue {
        throw unwritable(problem, plan.entity.slotTable.names[position], key: key, plan)
      }
    case .key(let relationship, let foreign):
      switch slot {
      case .null, .unread:
        try sink.null()
        if foreign.entityColumn != nil { try sink.null() }
      case .toOne(let id) where state.entities.owns(id):
        try sink.put(integer: id.key.number)
        if foreign.entityColumn != nil {
          try sink.put(smaller: Int64(try state.plans.plan(for: id.entity).layout.number))
        }
      default: throw unwritable(.wrongType(found: "\(slot)"), relationship.name, key: key, plan)
      }
    }
  }

  private func unwritable(
    _ problem: UnwritableValue, _ property: String, key: Int64, _ plan: PostgreSQLRowPlan
  ) -> RowProblem {
    let kind: RowProblem.Kind =
      switch problem {
      case .wrongType(let value): .unwritableValue(found: value)
      case .zeroCharacter: .zeroCharacter
      }
    return RowProblem(kind: kind, table: plan.layout.table, primaryKey: key, property: property)
  }

  private func conflict(_ change: RowChange) throws -> RowConflicts.Conflict {
    let reader = try state.reader(for: change.id.entityDescription, includesSubentities: true)
    let rows = try connection.query(reader.rowSelect, [.integer(change.id.key.number)])
    let stored = rows.count == 0 ? nil : try reader.snapshot(rows, 0)
    return RowConflicts.Conflict(id: change.id, expectedVersion: change.old?.version ?? 0, stored: stored)
  }
}
