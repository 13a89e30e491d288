// OpenCoreData
// SPDX-License-Identifier: Apache-2.0

import CoreDataSQLite
import Foundation

/// Reads the destination objects of a mapping, a batch at a time, together with the rows of their sources.
struct DestinationReader {
  let run: MigrationRun
  let table: Int
  /// Whether rows are read together, before anybody asks for them.
  var readsRows: Bool

  mutating func read(_ body: (NSManagedObject) throws -> Void, afterBatch: (Int) throws -> Void) throws {
    // The table may grow meanwhile: those are destinations of what other policies do in this pass.
    let spans = run.manager.associations.tables[table].destinationSpans
    var batch: [NSManagedObject] = []
    func finishBatch() throws {
      let sources = try readSources(of: batch)
      for object in batch where !object.isDeleted { try body(object) }
      // A policy that asks for the values of one object asks for those of others too.
      if batch.contains(where: { !$0.isFault }) { readsRows = true }
      try withExtendedLifetime(sources) { try afterBatch(batch.count) }
      batch = []
    }
    for span in spans {
      guard let entity = run.destination.store.entity(number: Int(span.entity)) else { continue }
      var next = span.keys.lowerBound
      while next <= span.keys.upperBound {
        var query = RowQuery(entity: entity, includesSubentities: false)
        query.keys = next...span.keys.upperBound
        query.limit = run.batchSize - batch.count
        let (found, isEnd) = try objects(for: query, in: span)
        batch += found
        if batch.count >= run.batchSize { try finishBatch() }
        guard !isEnd, let last = found.last?.identifier.key.number, last < span.keys.upperBound else { break }
        next = last + 1
      }
    }
    if !batch.isEmpty { try finishBatch() }
  }

  private func objects(for query: RowQuery, in span: RowSpan) throws -> (objects: [NSManagedObject], isEnd: Bool) {
    if readsRows {
      let rows = try run.destination.store.rows(for: query) ?? []
      return (rows.map { run.destination.context.object(for: $0) }, rows.count < query.limit)
    }
    let keys = try run.destination.store.primaryKeys(
      ofEntity: Int(span.entity), in: query.keys ?? span.keys, limit: query.limit)
    let objects = keys.compactMap { run.destination.object(of: RowKey(entity: span.entity, number: $0)) }
    return (objects, keys.count < query.limit)
  }

  /// The sources of a batch, read with one statement where they lie close together; kept alive by the caller.
  private func readSources(of batch: [NSManagedObject]) throws -> [NSManagedObject] {
    guard readsRows else { return [] }
    let associations = run.manager.associations.tables[table]
    guard let entity = run.source.store.entity(number: Int(associations.source)) else { return [] }
    var (least, greatest, count) = (Int64.max, Int64.min, 0)
    func note(_ source: RowKey) {
      guard source.entity == associations.source else { return }
      least = min(least, source.number)
      greatest = max(greatest, source.number)
      count += 1
    }
    for object in batch {
      guard let key = run.destination.rowKey(of: object) else { continue }
      if let source = associations.onlySource(of: key) {
        note(source)
      } else {
        associations.sources(of: key).forEach(note)
      }
    }
    guard count > 0, KeyRanges.isDense(least...greatest, count: count) else { return [] }
    var query = RowQuery(entity: entity, includesSubentities: false)
    query.keys = least...greatest
    return try (run.source.store.rows(for: query) ?? []).map { run.source.context.object(for: $0) }
  }
}

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

/// Has the rules of the destination model checked for all objects that a migration has made, entity by entity.
struct DestinationValidation {
  private let run: MigrationRun
  private var validated: Set<String> = []
  /// More failures than anybody reads are not looked for.
  private static let mostFailures = 100

  init(run: MigrationRun) {
    self.run = run
  }

  /// Checks the objects of an entity, once.
  ///
  /// - Throws: 1550 to 1680, or 1560 for several failures.
  mutating func validate(_ entity: NSEntityDescription) throws {
    guard validated.insert(entity.name ?? "").inserted, !entity.isAbstract else { return }
    guard !entity.slotTable.restricted.isEmpty, let number = run.destination.store.number(of: entity),
      let root = run.destination.store.rootNumber(ofEntity: number)
    else { return }
    if try run.sql?.hasValidRows(of: entity) ?? false { return }
    var query = RowQuery(entity: entity, includesSubentities: false)
    query.limit = run.batchSize
    var next = (run.greatestKeysBefore[root] ?? 0) + 1
    var failures: [NSError] = []
    while failures.count < Self.mostFailures {
      query.keys = next...Int64.max
      guard let rows = try run.destination.store.rows(for: query), let last = rows.last else { break }
      for row in rows where failures.count < Self.mostFailures {
        let object = run.destination.context.object(for: row)
        object.realize()
        // Members that nobody has read cannot have been changed, and are not counted by a save; here nobody has counted them.
        for position in entity.slotTable.restricted { object.readRelationship(at: position) }
        do {
          try object.validateForInsert()
        } catch let error as NSError {
          failures.append(error)
        }
      }
      if let failure = run.destination.context.readingFailure { throw failure }
      try run.manager.checkCancellation()
      if failures.isEmpty { run.releaseDestinationValues() }
      if rows.count < query.limit || last.id.key.number == Int64.max { break }
      next = last.id.key.number + 1
    }
    if let error = ValidationErrors.combined(failures) { throw error }
  }

  /// Checks the objects of entities that no mapping is about.
  mutating func validateRest() throws {
    for entity in run.destination.model.entities { try validate(entity) }
  }
}
