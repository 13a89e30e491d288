// OpenCoreData
// SPDX-License-Identifier: Apache-2.0

import CoreDataFileSystem
import Foundation

/// Reads the rows of a query in batches, in the order of their keys, on a thread of its own: each while the caller works on
/// the one before.
final class RowsAhead: @unchecked Sendable {
  /// The size of a batch after which nothing more is read ahead, in bytes.
  private static let largestBatch = 4 << 20

  private let state: any StoreGeneration
  private let condition = NSCondition()
  /// What has been read and not been asked for.
  private var batch: [RowSnapshot]?
  private var hasEnded = false
  private var isStopped = false
  private var work: ParallelWork<Void>?

  /// Begins to read.
  ///
  /// - Parameters:
  ///   - query: a query without a predicate, whose limit is the size of a batch.
  ///   - rows: the last rows that the caller has read.
  ///   - state: the state that the caller reads.
  /// - Returns: nil if there is nothing to be read ahead.
  init?(_ query: RowQuery, after rows: [RowSnapshot], of state: any StoreGeneration) {
    guard let query = Self.query(query, after: rows), !query.entity.hasFiles else { return nil }
    self.state = state
    work = ParallelWork { [self] in read(query) }
  }

  /// Returns the next batch; nil if the caller must read it, after the end, a large batch or a failure.
  func next() -> [RowSnapshot]? {
    condition.withLock {
      while batch == nil, !hasEnded { condition.wait() }
      defer {
        batch = nil
        condition.broadcast()
      }
      return batch
    }
  }

  /// Ends reading, and waits for the end.
  func stop() {
    condition.withLock {
      isStopped = true
      condition.broadcast()
    }
    // The work throws nothing.
    try? work?.wait()
    work = nil
  }

  private func read(_ first: RowQuery) {
    var query: RowQuery? = first
    while let wanted = query {
      // The caller reads again what cannot be read, and throws the reason.
      guard let rows = try? state.reading({ try $0.rows(for: wanted) }), !rows.isEmpty, give(rows),
        rows.reduce(0, { $0 + ($1.packed?.size ?? Self.largestBatch) }) < Self.largestBatch
      else { break }
      query = Self.query(wanted, after: rows)
    }
    condition.withLock {
      hasEnded = true
      condition.broadcast()
    }
  }

  /// Waits until the batch before has been asked for, so that there is only one.
  ///
  /// - Returns: whether more is wanted.
  private func give(_ rows: [RowSnapshot]) -> Bool {
    condition.withLock {
      while batch != nil, !isStopped { condition.wait() }
      batch = rows
      condition.broadcast()
      return !isStopped
    }
  }

  /// The query for the rows that follow others; nil if there are none.
  private static func query(_ query: RowQuery, after rows: [RowSnapshot]) -> RowQuery? {
    guard rows.count == query.limit, let last = rows.last?.key.number, last < .max else { return nil }
    var next = query
    next.keys = last + 1...Int64.max
    return next
  }
}

extension NSEntityDescription {
  /// Whether values of the entity may be in files of their own.
  fileprivate var hasFiles: Bool { attributesByName.values.contains(where: \.allowsExternalBinaryDataStorage) }
}
