// OpenCoreData
// SPDX-License-Identifier: Apache-2.0

import CoreDataFileSystem
import CoreDataSQLite
import CoreDataStoreFiles
import Foundation

/// Runs entity mappings without a policy in SQL over both stores, with Swift functions for operations SQL lacks.
///
/// Produces the same result as migrating object by object. Operations that SQL cannot perform are detected before
/// anything is written (`SQLObstacle`), and left to `ObjectExecutor`. If a mapping fails in SQL, it is retried with
/// objects, whose errors are more precise.
final class SQLExecutor: MappingExecutor {
  /// The number of source keys that one statement covers.
  static let keysPerStep: UInt64 = 20_000

  /// Unowned, since the run owns its executors.
  private unowned(unsafe) let run: MigrationRun
  private let source: MappedStore
  private let target: MappedStore
  /// Whether the source is attached to the destination's connection.
  private let isAttached: Bool
  /// Whether SQL may be used for any mapping.
  private let isAllowed: Bool
  /// The mappings that SQL can run.
  private var mappings: [ObjectIdentifier: SQLMapping] = [:]
  /// The mappings whose rows SQL has created, with the number of stored associations at that time.
  private var made: [ObjectIdentifier: Int] = [:]
  /// The relationships whose keys were inserted together with the rows.
  private var inserted: [ObjectIdentifier: Set<String>] = [:]
  /// Whether derived attributes are computed after SQL has set all relationships.
  private var derivesLast = false
  /// The reason why objects set the relationships of all mappings; nil if SQL can set those of every mapping without a
  /// policy.
  ///
  /// A pair of inverse relationships is set from both ends, and each executor relies on the other end being set
  /// according to its mapping. So SQL sets either all relationships or none.
  private var relationshipObstacle: String?
  private var checkedAllRelationships = false

  /// Determines which mappings of a run SQL can run.
  ///
  /// - Parameter obstacle: the reason why the source is not attached to the destination's connection; nil if it is.
  init(run: MigrationRun, obstacle: String?) throws {
    self.run = run
    isAttached = obstacle == nil
    source = try MappedStore(run.source, database: AttachedSource.name)
    target = try MappedStore(run.destination, database: "main")
    let obstacle = obstacle ?? Self.obstacle(of: run.manager)
    isAllowed = obstacle == nil
    let objects = SourceRowObjects(run.source)
    for plan in run.plans {
      do {
        if let obstacle { throw SQLObstacle(obstacle) }
        if case .none = plan.sources, plan.isPlain { continue }
        let mapping = try SQLMapping(plan, from: source, to: target, objects: objects)
        if plan.offset == nil, try run.source.store.keyRange(ofEntity: mapping.rows.entity.number) != nil {
          throw SQLObstacle("has no room left for the primary keys of its rows")
        }
        mappings[ObjectIdentifier(plan)] = mapping
      } catch let obstacle as SQLObstacle {
        plan.execution.obstacle = obstacle.reason
      }
    }
    derivesLast = run.isPlain && run.plans.allSatisfy { canCarryOut($0) }
    relationshipObstacle = obstacleOfPairs()
  }

  private static func obstacle(of manager: NSMigrationManager) -> String? {
    if type(of: manager) != NSMigrationManager.self { return "is run by a subclass of the migration manager" }
    return manager.usesStoreSpecificMigrationManager ? nil : "is run by a manager that may not use SQL"
  }

  /// Returns whether SQL can run a mapping, or there is nothing to do.
  func canCarryOut(_ plan: ResolvedMapping) -> Bool {
    if case .none = plan.sources, plan.isPlain { return isAllowed }
    return mappings[ObjectIdentifier(plan)] != nil
  }

  /// Returns whether SQL has created the rows of a mapping.
  func hasCreatedRows(_ plan: ResolvedMapping) -> Bool { made[ObjectIdentifier(plan)] != nil }

  // MARK: First pass

  func createInstances(of plan: ResolvedMapping) throws {
    made[ObjectIdentifier(plan)] = nil
    guard let mapping = mappings[ObjectIdentifier(plan)], let table = plan.table else {
      return plan.execution.madeRowsInSQL = true
    }
    // If policies have associated objects by this mapping, or changed sources, objects run it.
    if run.source.context.hasChanges || run.manager.associations.tables[table].storedCount > 0 {
      plan.execution.obstacle = "follows a policy that has changed or associated its source objects"
      return try run.objects.createInstances(of: plan)
    }
    guard try make(mapping) else { return try run.objects.createInstances(of: plan) }
    if let keys = plan.sourceKeys, let offset = plan.offset {
      run.manager.associations.addAll(keys, offset: offset, isPartial: mapping.rows.filter != nil, to: table)
    }
    made[ObjectIdentifier(plan)] = run.manager.associations.tables[table].storedCount
    plan.execution.madeRowsInSQL = true
  }

  /// - Returns: whether all rows were created; if not, none were.
  private func make(_ mapping: SQLMapping) throws -> Bool {
    guard let keys = mapping.resolved.sourceKeys else { return true }
    let destination = try run.destination.store.state()
    let mark = destination.external.mark
    do {
      let connection = destination.connection
      let relationships = try plannedRelationships(of: mapping.resolved)
      let insertion = mapping.insertion { relationships?.insertedColumns($0) ?? [] }
      if !derivesLast, !mapping.derivations.isEmpty { try run.destination.store.willSearch?(destination) }
      try connection.transaction {
        try mapping.rows.writeKeys(of: mapping, connection)
        try mapping.functions.calling(on: connection) {
          var count = 0
          try forEachPart(insertion, keys, connection) { changes, _ in
            count += changes
            run.didObjects(changes)
          }
          try checkCount(of: mapping, count, connection)
          if !derivesLast { for sql in mapping.derivations { try connection.run(sql.sql, sql.values) } }
        }
      }
      inserted[ObjectIdentifier(mapping.resolved)] = relationships?.inserted
      return true
    } catch {
      destination.external.didRollBack(to: mark)
      try handle(error, of: mapping.resolved)
      return false
    }
  }

  private func plannedRelationships(of plan: ResolvedMapping) throws -> SQLRelationships? {
    guard relationshipObstacle == nil, run.isPlain,
      run.destination.context.coordinator.derivations.isEmpty || derivesLast
    else { return nil }
    do {
      return try SQLRelationships(plan, run, from: source, to: target) { [self] other in
        mappings[ObjectIdentifier(other)]?.takesWholeTable ?? false
      }
    } catch is SQLObstacle {
      // The same obstacle is found again, and recorded, when relationships are set.
      return nil
    }
  }

  /// Throws if a mapping without a filter has not found all rows. They are counted without an index, because an index
  /// that does not match its table hides rows.
  private func checkCount(of mapping: SQLMapping, _ count: Int, _ connection: SQLiteConnection) throws {
    let entity = mapping.rows.entity
    guard mapping.rows.filter == nil else { return }
    let condition = source.sharesTable(entity) ? " WHERE Z_ENT = \(entity.number)" : ""
    let sql = "SELECT COUNT(*) FROM \(source.table(entity.table)) NOT INDEXED\(condition)"
    guard let expected = try connection.scalar(sql)?.integer, expected != Int64(count) else { return }
    throw HiddenRows(entity: entity.name, count: Int(expected), found: count)
  }

  private struct HiddenRows: Error, CustomStringConvertible {
    let entity: String
    let count: Int
    let found: Int

    var description: String {
      "'\(entity)' has \(count) rows in the source, and \(found) were found. Check the source "
        + "(PRAGMA integrity_check); if only an index is wrong, REINDEX repairs it."
    }
  }

  /// Records a failure, after which the mapping is retried with objects.
  ///
  /// - Throws: the failure if objects would meet it too: a cancellation, a full disk, or a transaction that was rolled
  ///   back.
  private func handle(_ error: any Error, of plan: ResolvedMapping) throws {
    try run.manager.checkCancellation()
    if try Self.isAboutTheDisk(error) || !run.destination.store.state().connection.inTransaction {
      throw ErrorTranslation.translated(error, url: run.destination.store.url, during: .use)
    }
    plan.execution.failure = error
    plan.execution.obstacle = "failed in SQL: \(error)"
  }

  private static func isAboutTheDisk(_ error: any Error) -> Bool {
    switch error {
    case let error as SQLiteError: return error.isFull || error.isIOError
    case let failure as FileFailure: return [ENOSPC, EDQUOT, EIO].contains(failure.number)
    case let failure as SQLiteRollbackFailure: return isAboutTheDisk(failure.cause) || isAboutTheDisk(failure.rollback)
    default:
      let error = error as NSError
      if error.domain == NSPOSIXErrorDomain { return [ENOSPC, EDQUOT, EIO].contains(Int32(error.code)) }
      if error.isCocoa(CocoaError.Code.fileWriteOutOfSpace.rawValue) { return true }
      return (error.userInfo[NSUnderlyingErrorKey] as? any Error).map(isAboutTheDisk) ?? false
    }
  }

  /// Runs a statement for each part of a range of keys. The bounds of the part are its last two parameters.
  private func forEachPart(
    _ statement: BoundSQL, _ keys: ClosedRange<Int64>, _ connection: SQLiteConnection,
    _ didChange: (_ changes: Int, _ fraction: Double) throws -> Void
  ) throws {
    try KeyArithmetic.forEachPart(keys, by: Self.keysPerStep) { part in
      try run.manager.checkCancellation()
      let before = connection.totalChanges
      try connection.run(statement.sql, statement.values + [.integer(part.lowerBound), .integer(part.upperBound)])
      try didChange(
        connection.totalChanges - before,
        Double(KeyArithmetic.distance(keys.lowerBound...part.upperBound)) / Double(KeyArithmetic.distance(keys)))
    }
    try run.manager.checkCancellation()
  }

  // MARK: Second pass

  func createRelationships(of plan: ResolvedMapping) throws {
    if !run.hasTable(plan) || (plan.relationships.isEmpty && hasCreatedRows(plan)) {
      return plan.execution.setRelationshipsInSQL = true
    }
    guard hasCreatedRows(plan), try relate(plan) else {
      if plan.isPlain, relationshipObstacle == nil { try leaveToObjects(before: plan) }
      return try run.objects.createRelationships(of: plan)
    }
    plan.execution.setRelationshipsInSQL = true
  }

  /// The mappings without a policy that set relationships.
  private var relating: [ResolvedMapping] {
    run.plans.filter { $0.isPlain && run.hasTable($0) && !$0.relationships.isEmpty }
  }

  /// Returns the reason why the ends of some inverse relationships may name different pairs, or why objects set one of
  /// them; nil if SQL can set all pairs.
  ///
  /// - Returns: a predicate of which a mapping is the subject.
  private func obstacleOfPairs() -> String? {
    let finder = DestinationRowsFinder(run: run, source: source, target: target, willRunInSQL: nil)
    for plan in relating {
      guard canCarryOut(plan), let number = plan.sourceNumber, let from = source.schema.entity(number: Int(number)),
        let own = plan.destinationNumber, let entity = target.schema.entity(number: Int(own))
      else { return "sets relationships in addition to those of '\(plan.name)', which are migrated as objects" }
      for relationship in plan.relationships {
        guard let layout = entity.relationships[relationship.name] else { continue }
        // Whether a single relationship requires objects is found out when the rows exist.
        guard let asked = relationship.sources, let inverseName = layout.inverseName,
          let far = target.schema[layout.destinationEntity], let inverse = far.relationships[inverseName]
        else { continue }
        let reason =
          "sets relationships in addition to those of '\(plan.name)', whose '\(layout.name)' other mappings may set "
          + "differently"
        var origin: RelationshipLayout?
        if case .relationship(let name) = asked {
          origin = from.relationships[name]
          if origin == nil { continue }
        }
        let near = target.schema[inverse.destinationEntity]?.numbers ?? []
        let owners = plans(setting: layout.name, of: near)
        let members = plans(setting: inverseName, of: far.numbers)
        if members.isEmpty {
          // Members that change their owner, and one-to-one relationships, depend on the order of the mappings.
          if owners.count > 1, layout.isToMany || !inverse.isToMany { return reason }
          continue
        }
        // Rows created twice from one source row would each claim the same pairs.
        guard areOfDifferentSources(owners), areOfDifferentSources(members) else { return reason }
        let numbers = origin.map { source.schema[$0.destinationEntity]?.numbers ?? [] } ?? [Int(number)]
        let inverses = finder.inverses(of: layout, origin, of: plan)
        guard inverses.allSatisfy(\.isExact),
          members.allSatisfy({ member in
            !finder.asks(relationship, member, numbers.map { Int32($0) }) || inverses.contains { $0.plan === member }
          })
        else { return reason }
      }
    }
    return nil
  }

  /// Returns the mappings to some entities that set a relationship.
  private func plans(setting name: String, of entities: [Int]) -> [ResolvedMapping] {
    run.plans.filter { plan in
      plan.destinationNumber.map { entities.contains(Int($0)) } == true
        && plan.relationships.contains { $0.name == name }
    }
  }

  private func areOfDifferentSources(_ plans: [ResolvedMapping]) -> Bool {
    Set(plans.map(\.sourceNumber)).count == plans.count
  }

  /// Checks once, before the first relationship is set, that SQL can set those of all mappings without a policy.
  ///
  /// - Throws: `SQLObstacle`, again for every mapping.
  private func checkAllRelationships() throws {
    if relationshipObstacle == nil, !checkedAllRelationships {
      checkedAllRelationships = true
      for plan in relating {
        guard hasCreatedRows(plan) else {
          relationshipObstacle =
            "sets relationships in addition to those of '\(plan.name)', which are migrated as "
            + "objects"
          break
        }
        do {
          _ = try SQLRelationships(
            plan, run, from: source, to: target, inserted: inserted[ObjectIdentifier(plan)] ?? [])
        } catch let obstacle as SQLObstacle {
          plan.execution.obstacle = obstacle.reason
          relationshipObstacle = "sets relationships in addition to those of '\(plan.name)', which \(obstacle.reason)"
          break
        }
      }
    }
    if let relationshipObstacle { throw SQLObstacle(relationshipObstacle) }
  }

  /// Makes objects set all relationships, after SQL has failed to set those of a mapping. Earlier mappings are
  /// repeated, because SQL may have relied on this one for the other ends of their relationships.
  private func leaveToObjects(before plan: ResolvedMapping) throws {
    relationshipObstacle = "sets relationships in addition to those of '\(plan.name)', which are migrated as objects"
    for earlier in relating where earlier.position < plan.position && earlier.execution.setRelationshipsInSQL {
      earlier.execution.setRelationshipsInSQL = false
      earlier.execution.obstacle = relationshipObstacle
      try run.objects.createRelationships(of: earlier)
    }
  }

  private func relate(_ plan: ResolvedMapping) throws -> Bool {
    do {
      try checkAllRelationships()
      // If a policy has since associated objects, objects set the relationships; likewise if derived attributes depend
      // on them.
      if run.source.context.hasChanges
        || plan.table.map({ run.manager.associations.tables[$0].storedCount }) != made[ObjectIdentifier(plan)]
      {
        throw SQLObstacle("has source objects that a policy has changed or associated")
      }
      if !run.destination.context.coordinator.derivations.isEmpty,
        !derivesLast || !run.plans.allSatisfy({ hasCreatedRows($0) || !run.hasTable($0) })
      {
        throw SQLObstacle("has relationships that derived attributes may depend on")
      }
      let connection = try run.destination.store.state().connection
      let relationships = try SQLRelationships(
        plan, run, from: source, to: target, inserted: inserted[ObjectIdentifier(plan)] ?? [])
      let count = plan.sourceCount
      var statements = 0.0
      try relationships.set { statement, keys in
        try forEachPart(statement, keys, connection) { _, fraction in
          run.didPart((statements + fraction) / Double(relationships.maxStatementCount), of: count)
        }
        statements += 1
      }
      run.didObjects(count)
      return true
    } catch let obstacle as SQLObstacle {
      // The mapping that prevents SQL from setting the relationships has its own reason.
      plan.execution.obstacle = plan.execution.obstacle ?? obstacle.reason
      return false
    } catch {
      try handle(error, of: plan)
      return false
    }
  }

  /// Returns the relationships of a mapping with a policy if each is a foreign key in the row that SQL can set; nil
  /// otherwise.
  func keyRelationships(of plan: ResolvedMapping) throws -> SQLRelationships? {
    guard isAttached, relationshipObstacle == nil, !plan.relationships.isEmpty else { return nil }
    do {
      let relationships = try SQLRelationships(plan, run, from: source, to: target)
      return relationships.areKeys ? relationships : nil
    } catch is SQLObstacle {
      return nil
    }
  }

  /// Computes the derived attributes that depend on relationships.
  func finishRelationships() throws {
    guard derivesLast else { return }
    for plan in run.plans where hasCreatedRows(plan) {
      guard let mapping = mappings[ObjectIdentifier(plan)], !mapping.derivations.isEmpty else { continue }
      try run.destination.store.withState { state in
        try run.destination.store.willSearch?(state)
        try mapping.functions.calling(on: state.connection) {
          for sql in mapping.derivations { try state.connection.run(sql.sql, sql.values) }
        }
      }
    }
  }

  // MARK: Third pass

  /// Returns whether SQL alone has created all rows of an entity, and they are valid.
  func hasValidRows(of entity: NSEntityDescription) throws -> Bool {
    let plans = run.plans.filter { $0.destinationEntity === entity && run.hasTable($0) }
    guard run.isPlain, !plans.isEmpty, plans.allSatisfy(hasCreatedRows) else { return false }
    return try run.destination.store.withState { state in
      try run.destination.store.willSearch?(state)
      return try plans.allSatisfy { plan in
        try mappings[ObjectIdentifier(plan)].map {
          try RowValidation(mapping: $0, connection: state.connection).isPassed()
        } ?? false
      }
    }
  }
}
