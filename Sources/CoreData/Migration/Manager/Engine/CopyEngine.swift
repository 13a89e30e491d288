// OpenCoreData
// SPDX-License-Identifier: Apache-2.0

import CoreDataSQLite
import Foundation

/// Carries out entity mappings without policy by SQL, with functions in Swift for what SQL does not have, beside others that a
/// policy wants object by object.
///
/// What comes out is what objects would give. What SQL cannot do is known before anything is written, and such mappings are
/// left to `ObjectEngine`; so is one that fails, for objects tell best what is wrong.
final class CopyEngine: MappingEngine {
  /// The run has its engines.
  private unowned(unsafe) let run: MigrationRun
  /// The mappings that SQL can carry out.
  private var transfers: [ObjectIdentifier: RowTransfer] = [:]
  /// The mappings whose rows were made here, with the extent of their associations then.
  private var made: [ObjectIdentifier: Int] = [:]
  /// The mappings whose relationships were set here too.
  private var related: Set<ObjectIdentifier> = []

  /// Finds out which mappings of a run SQL can carry out.
  init(run: MigrationRun) throws {
    self.run = run
    // An app's own manager wants to be told of every object, and so does one that is not to use the store's own way.
    let manager = run.manager
    guard manager.usesStoreSpecificMigrationManager, type(of: manager) == NSMigrationManager.self else { return }
    let source = CopySide(model: run.source.model, try run.source.store.state())
    let target = CopySide(model: run.destination.model, try run.destination.store.state())
    for (position, plan) in run.plans.enumerated() where plan.isPlain {
      guard plan.table != nil, let offset = plan.offset, let keys = plan.sourceKeys else { continue }
      do {
        guard let copy = try EntityCopy(plan.mapping, position: position, from: source, to: target),
          copy.rows.entity.number == plan.sourceNumber.map(Int.init)
        else { continue }
        (copy.offset, copy.keys) = (offset, keys)
        let copyPlan = CopyPlan(
          [copy], isInferred: run.isInferred, from: source, to: target, objects: SourceObjects(run.source))
        transfers[ObjectIdentifier(plan)] = try RowTransfer(copy, copyPlan)
      } catch is CopyBarrier {
        continue
      } catch is CopyProblem {
        // Told by the objects, when it is met.
        continue
      }
    }
  }

  /// Whether SQL can carry a mapping out.
  func canCarryOut(_ plan: EntityPlan) -> Bool { transfers[ObjectIdentifier(plan)] != nil }

  /// Whether SQL has made the rows of a mapping.
  func hasMade(_ plan: EntityPlan) -> Bool { made[ObjectIdentifier(plan)] != nil }

  /// Whether no object was needed for a mapping's relationships either.
  func hasRelated(_ plan: EntityPlan) -> Bool {
    related.contains(ObjectIdentifier(plan)) || (hasMade(plan) && plan.relationships.isEmpty)
  }

  // MARK: First pass

  func createInstances(of plan: EntityPlan) throws {
    made[ObjectIdentifier(plan)] = nil
    // What policies have associated by this mapping, or changed in sources, is for the other engine.
    guard let transfer = transfers[ObjectIdentifier(plan)], let table = plan.table, !run.source.context.hasChanges,
      run.manager.associations.tables[table].storedCount == 0, try make(transfer)
    else {
      try run.objects.createInstances(of: plan)
      return
    }
    let copy = transfer.copy
    run.manager.associations.addAll(
      copy.keys, offset: copy.offset, isPartial: copy.rows.filter != nil, to: table)
    made[ObjectIdentifier(plan)] = run.manager.associations.tables[table].storedCount
  }

  /// - Returns: whether the rows are there; where not, none of them is.
  private func make(_ transfer: RowTransfer) throws -> Bool {
    let (source, destination) = (try run.source.store.state(), try run.destination.store.state())
    let mark = destination.external.mark
    do {
      if transfer.isSearching { try run.destination.store.willSearch?(destination) }
      try destination.connection.transaction {
        try transfer.run(from: source.connection, to: destination.connection, batchSize: run.batchSize) { count in
          try run.manager.checkCancellation()
          run.didObjects(count)
        }
      }
      return true
    } catch {
      destination.external.didRollBack(to: mark)
      try run.manager.checkCancellation()
      // After some failures, as that of a full disk, SQLite has undone the whole transaction.
      guard destination.connection.inTransaction else {
        return try SQLiteStoreErrors.translating(url: run.destination.store.url, isOpening: false) { throw error }
      }
      return false
    }
  }

  // MARK: Second pass

  func createRelationships(of plan: EntityPlan) throws {
    if plan.relationships.isEmpty, hasMade(plan) { return }
    // What a policy has associated meanwhile is for the other engine, and so is what others are derived from.
    guard run.destination.context.coordinator.derivations.isEmpty, let extent = made[ObjectIdentifier(plan)],
      plan.table.map({ run.manager.associations.tables[$0].storedCount }) == extent, !run.source.context.hasChanges,
      try setKeys(of: plan) || setRows(of: plan)
    else {
      try run.objects.createRelationships(of: plan)
      return
    }
    related.insert(ObjectIdentifier(plan))
  }

  private func setRows(of plan: EntityPlan) throws -> Bool {
    guard let rows = try RelationshipRows(plan, run) else { return false }
    return try rows.set()
  }

  /// Sets relationships that are keys in rows on either side.
  ///
  /// - Returns: whether that was possible for all rows.
  private func setKeys(of plan: EntityPlan) throws -> Bool {
    guard run.destination.context.deletionCount == 0, let keys = try KeyAssignments(plan, run),
      let to = plan.destinationNumber, let offset = plan.offset, let all = plan.sourceKeys
    else { return false }
    var next = all.lowerBound
    while true {
      let rows = try keys.readAhead(next...all.upperBound, limit: run.batchSize)
      guard let last = rows.last else { return true }
      try run.manager.checkCancellation()
      for row in rows where try !keys.set(RowKey(entity: to, number: row + offset), from: row) { return false }
      try keys.write()
      run.didObjects(rows.count)
      if rows.count < run.batchSize || last == all.upperBound { return true }
      next = last + 1
    }
  }
}
