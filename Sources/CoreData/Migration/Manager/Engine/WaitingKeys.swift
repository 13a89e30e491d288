// OpenCoreData
// SPDX-License-Identifier: Apache-2.0

/// Objects of a policy whose to-one relationships SQL sets, because nobody has looked at the objects: no values are read on
/// either side.
///
/// The relationships are set before anybody can see that they are not there yet.
final class WaitingKeys {
  let plan: ResolvedMapping
  /// The run has its executors, and they have this.
  private unowned(unsafe) let run: MigrationRun
  private var relationships: SQLRelationships?
  /// The associations that the SQL is made from.
  private var associationCount: Int
  private var rows: [RowSpan] = []
  private var offsets: [Int64] = []
  /// Whether the policy has asked the stores since the last save, so that it may know members of other sides.
  private var isSuspended = false

  /// - Returns: nil when the mapping has no relationships, or others than such keys.
  init?(_ plan: ResolvedMapping, _ run: MigrationRun) throws {
    guard let relationships = try run.sql?.keyRelationships(of: plan) else { return nil }
    (self.plan, self.run, self.relationships) = (plan, run, relationships)
    associationCount = run.manager.associations.changeCount
  }

  /// Has the relationships of an object set.
  ///
  /// - Returns: whether that is possible; nothing was done otherwise.
  func add(_ object: NSManagedObject, _ key: RowKey, from source: RowKey) throws -> Bool {
    guard !isSuspended, !object.isRealized, object.snapshot == nil, !object.hasChanges,
      source.entity == plan.sourceNumber, key.entity == plan.destinationNumber, !run.source.context.hasChanges,
      run.destination.context.deletionCount == 0, !run.isKeepingObjects
    else { return false }
    if associationCount != run.manager.associations.changeCount {
      try write()
      relationships = try run.sql?.keyRelationships(of: plan)
      associationCount = run.manager.associations.changeCount
    }
    guard relationships != nil else { return false }
    let offset = key.number - source.number
    if let last = rows.last, offsets.last == offset, last.keys.upperBound + 1 == key.number {
      rows[rows.count - 1] = RowSpan(entity: key.entity, keys: last.keys.lowerBound...key.number)
    } else {
      rows.append(RowSpan(entity: key.entity, keys: key.number...key.number))
      offsets.append(offset)
    }
    return true
  }

  /// Sets what waits.
  func write() throws {
    if rows.isEmpty { return }
    defer { (rows, offsets) = ([], []) }
    try relationships?.setKeys(rows, offsets: offsets)
  }

  /// Leaves further objects to be set one by one: the policy has asked the stores.
  func suspend() { isSuspended = true }

  /// Goes on after a save, at which all objects have given up their values.
  func resume() { isSuspended = false }
}
