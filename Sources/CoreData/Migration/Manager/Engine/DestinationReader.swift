// OpenCoreData
// SPDX-License-Identifier: Apache-2.0

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
