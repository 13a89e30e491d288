// OpenCoreData
// SPDX-License-Identifier: Apache-2.0

import Foundation

/// The objects that a policy finds when it lists those of the destination context.
///
/// A run lets objects go from batch to batch, so that memory stays bounded. A policy that looks among the registered objects
/// for what it has made before must not notice. The rows that are made are therefore noted, as ranges of keys; at the first
/// such look the objects of all of them are brought back with their values, and from then on the run lets none go.
final class DestinationListing {
  /// The run has its listing.
  private unowned(unsafe) let run: MigrationRun
  /// The rows of objects that policies have inserted or fetched, by entity.
  private var rows: [Int32: [ClosedRange<Int64>]] = [:]
  private var made: Set<NSManagedObject> = []
  /// Whether a policy has listed objects, so that all of them are kept.
  private(set) var isKeeping = false

  init(run: MigrationRun) {
    self.run = run
  }

  /// Begins to answer the destination context.
  func listen() {
    run.destination.context.madeByMigration = { [unowned self] in
      do {
        try keep()
      } catch {
        run.failure = run.failure ?? error
      }
      return made.filter { $0.context != nil }
    }
    run.destination.context.didFetch = { [unowned self] in note($0) }
  }

  /// Notes the rows of objects that have been saved or fetched.
  func note(_ objects: [NSManagedObject]) {
    for object in objects {
      guard let key = run.destination.rowKey(of: object) else { continue }
      var ranges = rows[key.entity] ?? []
      // Keys come mostly in order.
      if let last = ranges.last, last.upperBound < .max, last.upperBound + 1 == key.number {
        ranges[ranges.count - 1] = last.lowerBound...key.number
      } else if ranges.last?.contains(key.number) != true {
        ranges.append(key.number...key.number)
      }
      rows[key.entity] = ranges
    }
    if isKeeping { made.formUnion(objects) }
  }

  /// Brings all objects back, and has the run keep them.
  private func keep() throws {
    if isKeeping { return }
    try run.saveChanges()
    isKeeping = true
    run.destination.context.retainsRegisteredObjects = true
    try load()
  }

  /// Reads all rows anew, after some were made or changed without their objects.
  func reload() throws {
    guard isKeeping else { return }
    run.destination.releaseValues()
    try load()
  }

  private func load() throws {
    for plan in run.plans {
      guard let table = plan.table else { continue }
      for span in run.manager.associations.tables[table].destinationSpans { try load(span.keys, of: span.entity) }
    }
    for (entity, ranges) in rows {
      for range in ranges { try load(range, of: entity) }
    }
    // Objects that a policy holds, or that others lead to, have values too.
    for object in run.destination.context.registry.objects where object.isFault { object.realize() }
  }

  private func load(_ keys: ClosedRange<Int64>, of number: Int32) throws {
    guard let entity = run.destination.store.entity(number: Int(number)) else { return }
    var query = RowQuery(entity: entity, includesSubentities: false)
    query.limit = run.batchSize
    var next = keys.lowerBound
    while true {
      query.keys = next...keys.upperBound
      let found = try run.destination.store.rows(for: query) ?? []
      for row in found {
        let object = run.destination.context.object(for: row)
        if !object.isDeleted { object.realize() }
        made.insert(object)
      }
      guard found.count == query.limit, let last = found.last?.id.key.number, last < keys.upperBound else { return }
      next = last + 1
    }
  }
}
