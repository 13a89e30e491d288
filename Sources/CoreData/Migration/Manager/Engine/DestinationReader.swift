// OpenCoreData
// SPDX-License-Identifier: Apache-2.0

import Foundation

/// Reads the destination objects of a mapping, a batch at a time, together with the rows of their sources.
struct DestinationReader {
  let run: MigrationRun
  let table: Int

  func read(_ body: (NSManagedObject) throws -> Void, afterBatch: (Int) throws -> Void) throws {
    // The table may grow meanwhile: those are destinations of what other policies do in this pass.
    let spans = run.manager.associations.tables[table].destinationSpans
    var batch: [NSManagedObject] = []
    func finishBatch() throws {
      let sources = try readSources(of: batch)
      for object in batch where !object.isDeleted { try body(object) }
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
        let rows = try run.destination.store.rows(for: query) ?? []
        batch += rows.map { run.destination.context.object(for: $0) }
        let isEnd = rows.count < query.limit
        if batch.count >= run.batchSize { try finishBatch() }
        guard !isEnd, let last = rows.last else { break }
        next = last.id.key.number + 1
      }
    }
    if !batch.isEmpty { try finishBatch() }
  }

  /// The sources of a batch, read with one statement where they lie close together; kept alive by the caller.
  private func readSources(of batch: [NSManagedObject]) throws -> [NSManagedObject] {
    let associations = run.manager.associations.tables[table]
    guard let entity = run.source.store.entity(number: Int(associations.source)) else { return [] }
    var (least, greatest, count) = (Int64.max, Int64.min, 0)
    for object in batch {
      guard let key = run.destination.rowKey(of: object) else { continue }
      for source in associations.sources(of: key) where source.entity == associations.source {
        least = min(least, source.number)
        greatest = max(greatest, source.number)
        count += 1
      }
    }
    guard count > 1, greatest - least < Int64(count) * 8 else { return [] }
    var query = RowQuery(entity: entity, includesSubentities: false)
    query.keys = least...greatest
    return try (run.source.store.rows(for: query) ?? []).map { run.source.context.object(for: $0) }
  }
}
