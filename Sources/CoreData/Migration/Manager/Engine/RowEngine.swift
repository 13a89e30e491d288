// OpenCoreData
// SPDX-License-Identifier: Apache-2.0

import Foundation

/// Carries out entity mappings without policy class whose attributes are copied or constant: from rows to rows, in batches,
/// without an object for either.
///
/// What comes out is what objects would give. Where that cannot be promised, the mapping is left to `ObjectEngine`.
final class RowEngine: MappingEngine {
  /// The run has its engines.
  private unowned(unsafe) let run: MigrationRun
  /// The mappings whose rows were made here, with the extent of their associations then.
  private var made: [ObjectIdentifier: Int] = [:]

  init(run: MigrationRun) {
    self.run = run
  }

  /// Whether rows are enough for a mapping.
  func canCarryOut(_ plan: EntityPlan) -> Bool {
    guard plan.isPlain, plan.offset != nil, plan.table != nil, let source = plan.sourceEntity,
      let destination = plan.destinationEntity, source.subentities.isEmpty, !destination.isAbstract,
      run.destination.context.coordinator.derivations.isEmpty
    else { return false }
    let areValuesPlain = plan.attributes.allSatisfy { attribute in
      switch attribute.value {
      case .copy, .constant: true
      case .convert, .expression: false
      }
    }
    return areValuesPlain && plan.hasPlainRelationships
  }

  // MARK: First pass

  func createInstances(of plan: EntityPlan) throws {
    guard let query = try SourceReader(run: run, plan: plan).wholeQuery(), let table = plan.table,
      let entity = plan.destinationEntity, let from = plan.sourceNumber, let to = plan.destinationNumber,
      let offset = plan.offset, run.manager.associations.tables[table].destinationSpans.isEmpty
    else {
      try run.objects.createInstances(of: plan)
      return
    }
    var previous: Int64?
    let slots = entity.slotTable
    made[ObjectIdentifier(plan)] = nil
    try batches(of: query) { rows in
      var changes: [RowChange] = []
      changes.reserveCapacity(rows.count)
      for row in rows {
        let key = row.id.key.number
        guard let id = run.destination.store.identifier(entity: Int(to), primaryKey: key + offset) else { continue }
        let values = values(of: plan, from: row, slots.defaults)
        let changed = values.indices.filter { !slots.isTransient(at: $0) && !isEmpty(values[$0]) }
        changes.append(RowChange(kind: .insert, id: id, old: nil, slots: values, changed: SlotSet(changed)))
      }
      try run.write(changes)
      for row in rows {
        let key = row.id.key.number
        run.manager.associations.add(
          RowKey(entity: from, number: key), RowKey(entity: to, number: key + offset), to: table, after: previous)
        previous = key
      }
    }
    made[ObjectIdentifier(plan)] = run.manager.associations.tables[table].storedCount
  }

  private func values(of plan: EntityPlan, from row: RowSnapshot, _ defaults: [Slot]) -> [Slot] {
    var values = defaults
    for attribute in plan.attributes {
      switch attribute.value {
      case .copy(let position):
        if attribute.keepsDefault, row.slots[position].isNull { continue }
        values[attribute.position] = row.slots[position]
      case .constant(let slot): values[attribute.position] = slot
      case .convert, .expression: preconditionFailure("\(attribute.name) is no value that rows are enough for.")
      }
    }
    return values
  }

  private func isEmpty(_ slot: Slot) -> Bool {
    switch slot {
    case .null, .unread, .toMany: true
    default: false
    }
  }

  // MARK: Second pass

  func createRelationships(of plan: EntityPlan) throws {
    if plan.relationships.isEmpty { return }
    // What a policy has associated or deleted meanwhile is for the other engine.
    guard run.destination.context.deletionCount == 0, let extent = made[ObjectIdentifier(plan)],
      plan.table.map({ run.manager.associations.tables[$0].storedCount }) == extent,
      let keys = try KeyAssignments(plan, run), try setKeys(keys)
    else {
      try run.objects.createRelationships(of: plan)
      return
    }
  }

  /// - Returns: whether that was possible for all rows.
  private func setKeys(_ keys: KeyAssignments) throws -> Bool {
    guard let to = keys.plan.destinationNumber, let offset = keys.plan.offset else { return false }
    var next = Int64.min
    while true {
      let rows = try keys.readAhead(next...Int64.max, limit: run.batchSize)
      guard let last = rows.last else { return true }
      try run.manager.checkCancellation()
      for row in rows where try !keys.set(RowKey(entity: to, number: row + offset), from: row) { return false }
      try keys.write()
      run.didObjects(rows.count)
      if rows.count < run.batchSize || last == Int64.max { return true }
      next = last + 1
    }
  }

  // MARK: Rows

  private func batches(of query: RowQuery, _ body: ([RowSnapshot]) throws -> Void) throws {
    var query = query
    query.limit = run.batchSize
    var next = Int64.min
    while true {
      query.keys = next...Int64.max
      guard let rows = try run.source.store.rows(for: query), let last = rows.last else { return }
      try run.manager.checkCancellation()
      try body(rows)
      run.didObjects(rows.count)
      if rows.count < query.limit || last.id.key.number == Int64.max { return }
      next = last.id.key.number + 1
    }
  }
}
