// OpenCoreData
// SPDX-License-Identifier: Apache-2.0

/// Sets relationships that are keys in destination rows, from keys in source rows, without reading the rows of either side or
/// making objects of them.
///
/// What is set is collected, and written before anybody can see that it is not there yet.
final class KeyAssignments {
  let plan: EntityPlan
  /// The run has its engines, and they have this.
  private unowned(unsafe) let run: MigrationRun
  /// By relationship mapping.
  private let tables: [[Int]]
  private let sourceKeys: KeyColumns
  private let destinationKeys: KeyColumns
  /// The source rows that were read ahead, ascending, and their keys.
  private var rows: [Int64] = []
  private var keys: [RowKey?] = []
  /// The destination rows that wait, and their keys.
  private var waitingRows: [Int64] = []
  private var waitingKeys: [RowKey?] = []

  /// - Returns: nil when the mapping has no relationships, or others than plain ones.
  init?(_ plan: EntityPlan, _ run: MigrationRun) throws {
    guard !plan.relationships.isEmpty, plan.hasPlainRelationships, let source = plan.sourceNumber,
      let destination = plan.destinationNumber
    else { return nil }
    var (origins, tables): ([String], [[Int]]) = ([], [])
    for relationship in plan.relationships {
      guard case .mapping(let name, .relationship(let origin)) = relationship.value else { return nil }
      origins.append(origin)
      do {
        tables.append(try run.tables(named: name))
      } catch is EvaluationError {
        // The mapping model's mistake is told with the object that it is met at.
        return nil
      }
    }
    let names = plan.relationships.map(\.name)
    guard
      let sourceKeys = try run.source.store.asking({
        KeyColumns(entity: Int(source), relationships: origins, schema: $0.entities.schema)
      }),
      let destinationKeys = try run.destination.store.asking({
        KeyColumns(entity: Int(destination), relationships: names, schema: $0.entities.schema)
      }), destinationKeys.areUnordered
    else { return nil }
    self.plan = plan
    self.run = run
    self.tables = tables
    self.sourceKeys = sourceKeys
    self.destinationKeys = destinationKeys
  }

  // MARK: Reading

  /// Reads the keys of source rows.
  func readAhead(_ range: ClosedRange<Int64>, limit: Int = -1) throws -> [Int64] {
    (rows, keys) = try run.source.store.asking { try sourceKeys.read(range, limit: limit, $0.connection) }
    return rows
  }

  // MARK: Setting

  /// Sets the relationships of an object that nobody has looked at.
  ///
  /// - Returns: whether that was possible; nothing was done otherwise.
  func set(_ object: NSManagedObject, _ key: RowKey, from source: RowKey) throws -> Bool {
    guard !object.isRealized, object.snapshot == nil, !object.hasChanges, source.entity == plan.sourceNumber,
      key.entity == plan.destinationNumber, !run.source.context.hasChanges
    else { return false }
    return try set(key, from: source.number)
  }

  /// Sets the relationships of a row.
  ///
  /// - Parameter source: a row whose keys were read ahead.
  /// - Returns: whether that was possible; nothing was done otherwise.
  func set(_ key: RowKey, from source: Int64) throws -> Bool {
    let position = rows.firstPosition { $0 >= source }
    guard position < rows.count, rows[position] == source, run.destination.context.deletionCount == 0 else {
      return false
    }
    let count = waitingKeys.count
    for (index, relationship) in plan.relationships.enumerated() {
      var found: RowKey?
      if let target = keys[position * tables.count + index] {
        let associations = run.manager.associations
        found = associations.ordinaryDestination(of: target, in: tables[index])
        var isOnly = true
        if found == nil {
          let all = try associations.destinations(of: target, in: tables[index]) { try run.exists($0) }
          (found, isOnly) = (all.first, all.count <= 1)
        }
        guard isOnly, found.map({ fits($0, relationship.relationship) }) ?? true else {
          // The object engine says what is wrong, and with which object.
          waitingKeys.removeLast(waitingKeys.count - count)
          return false
        }
      }
      waitingKeys.append(found)
    }
    waitingRows.append(key.number)
    return true
  }

  /// Whether a row may be what a relationship leads to, and nobody has read the other side.
  private func fits(_ key: RowKey, _ relationship: NSRelationshipDescription) -> Bool {
    let store = run.destination.store
    guard let id = store.objectKey(entity: Int(key.entity), primaryKey: key.number) else { return false }
    if let wanted = relationship.destinationEntity, let entity = store.entity(number: Int(key.entity)),
      entity !== wanted, !entity.isKindOf(entity: wanted)
    {
      return false
    }
    return run.destination.context.registry[id]?.hasUnreadInverse(of: relationship) ?? true
  }

  // MARK: Writing

  var isEmpty: Bool { waitingRows.isEmpty }

  /// Writes what waits.
  func write() throws {
    if isEmpty { return }
    let (rows, keys) = (waitingRows, waitingKeys)
    waitingRows.removeAll(keepingCapacity: true)
    waitingKeys.removeAll(keepingCapacity: true)
    try run.destination.store.asking { try destinationKeys.write(rows, keys, $0.connection) }
  }
}
