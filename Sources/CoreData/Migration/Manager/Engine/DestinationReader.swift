// OpenCoreData
// SPDX-License-Identifier: Apache-2.0

import CoreDataSQLite
import Foundation

/// Reads the destination objects of a mapping in batches, together with the rows of their sources.
struct DestinationReader {
  let run: MigrationRun
  let table: Int
  /// Whether a batch of rows is read with one statement, before any value is used.
  var readsRows: Bool
  /// Keys read ahead for later batches, so that not every batch waits for pending writes, with the number of deletions
  /// at that time.
  private var prefetchedKeys: (keys: ArraySlice<Int64>, deletionCount: Int) = ([], 0)

  /// The number of batches whose keys are read together.
  private static let prefetchedBatchCount = 32

  init(run: MigrationRun, table: Int, readsRows: Bool) {
    (self.run, self.table, self.readsRows) = (run, table, readsRows)
  }

  mutating func read(_ body: (NSManagedObject) throws -> Void, afterBatch: (Int) throws -> Void) throws {
    // Other policies may insert rows into the table during this pass. Those rows are not visited.
    let spans = run.manager.associations.tables[table].destinationSpans
    var batch: [NSManagedObject] = []
    func finishBatch() throws {
      let sources = try readSources(of: batch)
      for object in batch where !object.isDeleted { try body(object) }
      // A policy that reads the values of one object is likely to read those of others.
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
        guard !isEnd, let last = found.last?.key.number, last < span.keys.upperBound else { break }
        next = last + 1
      }
    }
    if !batch.isEmpty { try finishBatch() }
  }

  private mutating func objects(
    for query: RowQuery, in span: RowSpan
  ) throws -> (objects: [NSManagedObject], isEnd: Bool) {
    if readsRows {
      let rows = try run.destination.store.rows(for: query) ?? []
      return (rows.map { run.destination.context.object(for: $0) }, rows.count < query.limit)
    }
    guard let layout = run.destination.store.rowLayout(ofEntity: Int(span.entity)) else { return ([], true) }
    let keys = try keys(in: query.keys ?? span.keys, of: span.entity, limit: query.limit)
    return (keys.map { run.destination.context.object(layout, $0) }, keys.count < query.limit)
  }

  /// Returns the first keys of rows in a range.
  private mutating func keys(
    in range: ClosedRange<Int64>, of entity: Int32, limit: Int
  ) throws -> ArraySlice<Int64> {
    let deletionCount = run.destination.context.deletionCount
    var known = prefetchedKeys.deletionCount == deletionCount ? prefetchedKeys.keys : []
    if known.first.map({ !range.contains($0) }) ?? true || known.count < limit {
      known = try run.destination.store.primaryKeys(
        ofEntity: Int(entity), in: range, limit: limit * Self.prefetchedBatchCount)[...]
    }
    let keys = known.prefix(limit)
    prefetchedKeys = (known.dropFirst(limit), deletionCount)
    return keys
  }

  /// Reads the sources of a batch with one statement if their keys are close together. The caller keeps them alive.
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
    guard count > 0, KeyArithmetic.isDense(least...greatest, count: count) else { return [] }
    var query = RowQuery(entity: entity, includesSubentities: false)
    query.keys = least...greatest
    return try (run.source.store.rows(for: query) ?? []).map { run.source.context.object(for: $0) }
  }
}

/// The objects that a policy finds when it lists those of the destination context.
///
/// A run releases objects batch by batch, so that memory stays bounded. A policy that searches the registered objects
/// for what it has created must not notice this. So the run records the created rows, as ranges of keys. Such a search
/// loads the objects of all these rows with their values, and the run keeps them until the policy has not searched for
/// some batches.
final class DestinationListing {
  /// Unowned, since the run owns its listing.
  private unowned(unsafe) let run: MigrationRun
  /// The rows of objects that policies have inserted or fetched, by entity number.
  private var rows: [Int32: [ClosedRange<Int64>]] = [:]
  private var made: Set<NSManagedObject> = []
  /// Whether a policy has recently listed objects, so that the run keeps all of them.
  private(set) var isKeeping = false
  /// Whether a policy has listed objects in this batch.
  private var isListed = false
  /// The number of batches without a list since the last one.
  private var idleBatches = 0
  /// The number of batches without a list before the objects are released. It doubles each time they are loaded, so
  /// that a policy which lists them occasionally does not load all of them every time.
  private var patience = 1

  init(run: MigrationRun) {
    self.run = run
  }

  /// Installs the hooks of the destination context.
  func listen() {
    run.destination.context.madeByMigration = { [unowned self] in
      do {
        try keep()
      } catch {
        run.failure = run.failure ?? error
      }
      return made
    }
    run.destination.context.madeObject = { [unowned self] in object(for: $0) }
    run.destination.context.didFetch = { [unowned self] in note($0) }
  }

  /// Records the rows of saved or fetched objects.
  func note(_ objects: [NSManagedObject]) {
    // Keys usually arrive in order.
    var span: RowSpan?
    for object in objects {
      guard let key = run.destination.rowKey(of: object) else { continue }
      if let known = span, known.entity == key.entity, known.keys.upperBound < .max,
        known.keys.upperBound + 1 == key.number
      {
        span = RowSpan(entity: key.entity, keys: known.keys.lowerBound...key.number)
      } else {
        note(span)
        span = RowSpan(entity: key.entity, keys: key.number...key.number)
      }
    }
    note(span)
    if isKeeping { made.formUnion(objects) }
  }

  private func note(_ span: RowSpan?) {
    guard let span else { return }
    if let last = rows[span.entity]?.last {
      if last.contains(span.keys.lowerBound), last.contains(span.keys.upperBound) { return }
      if last.upperBound < .max, last.upperBound + 1 == span.keys.lowerBound {
        rows[span.entity]?.removeLast()
        rows[span.entity]?.append(last.lowerBound...span.keys.upperBound)
        return
      }
    }
    rows[span.entity, default: []].append(span.keys)
  }

  /// Loads all objects created so far, and makes the run keep them.
  private func keep() throws {
    isListed = true
    if isKeeping { return }
    try run.saveChanges()
    isKeeping = true
    try load()
  }

  /// Called after a batch has been saved. Stops keeping objects if no policy has listed them recently.
  func didSaveBatch() {
    idleBatches = isListed ? 0 : idleBatches + 1
    isListed = false
    guard isKeeping, idleBatches >= patience else { return }
    isKeeping = false
    made = []
    patience = min(patience * 2, 1_000_000)
  }

  /// Returns the object of a created row; nil for any other row, and for a missing one.
  private func object(for id: NSManagedObjectID) -> NSManagedObject? {
    let (store, context) = (run.destination.store, run.destination.context)
    guard let id = context.ownIdentifier(id), !id.isTemporaryID, let number = store.number(of: id.entityDescription),
      let root = store.rootNumber(ofEntity: number)
    else { return nil }
    guard
      id.key.number > run.lastKeysBefore[root] ?? 0
        || rows[Int32(number)]?.contains(where: { $0.contains(id.key.number) }) == true
    else { return nil }
    do {
      return try context.existingObject(with: id)
    } catch let error as NSError {
      if !error.isCocoa(NSManagedObjectReferentialIntegrityError) { run.failure = run.failure ?? error }
      return nil
    }
  }

  /// Reads all rows again, after some were created or changed without their objects.
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
    // Objects that a policy holds, or that other objects refer to, need their values too.
    for object in run.destination.context.registry.objects where object.isFault { object.fireFault() }
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
        if !object.isDeleted { object.fireFault() }
        made.insert(object)
      }
      guard found.count == query.limit, let last = found.last?.key.number, last < keys.upperBound else { return }
      next = last + 1
    }
  }
}

/// Validates all objects that a migration has created, entity by entity.
struct DestinationValidation {
  private let run: MigrationRun
  private var validated: Set<String> = []
  /// The number of failures after which validation stops.
  private static let maxFailureCount = 100

  init(run: MigrationRun) {
    self.run = run
  }

  /// Validates the objects of an entity, unless that has already been done.
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
    var next = (run.lastKeysBefore[root] ?? 0) + 1
    var failures: [NSError] = []
    while failures.count < Self.maxFailureCount {
      query.keys = next...Int64.max
      guard let rows = try run.destination.store.rows(for: query), let last = rows.last else { break }
      for row in rows where failures.count < Self.maxFailureCount {
        let object = run.destination.context.object(for: row)
        object.fireFault()
        // A save skips unread relationships, because they cannot have changed. Here they have never been validated.
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
      if rows.count < query.limit || last.key.number == Int64.max { break }
      next = last.key.number + 1
    }
    if let error = ValidationErrors.migrated(failures, source: sourceRow) { throw error }
  }

  /// Returns the name of an object's source row; nil if it has none or several.
  private func sourceRow(of object: NSManagedObject) -> String? {
    guard let key = run.destination.rowKey(of: object) else { return nil }
    let sources = Set(
      run.plans.compactMap(\.table).flatMap { run.manager.associations.tables[$0].sources(of: key) })
    guard sources.count == 1, let source = sources.first,
      let entity = run.source.store.entity(number: Int(source.entity))?.name
    else { return nil }
    return "\(entity)/p\(source.number)"
  }

  /// Validates the objects of the entities that have no mapping.
  mutating func validateRest() throws {
    for entity in run.destination.model.entities { try validate(entity) }
  }
}
