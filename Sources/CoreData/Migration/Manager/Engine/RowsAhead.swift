// OpenCoreData
// SPDX-License-Identifier: Apache-2.0

import CoreDataFileSystem
import Foundation

/// Reads the rows of a query in batches, in the order of their keys, on a background thread: each batch while the
/// caller processes the previous one.
final class RowsAhead {
  /// The size of a batch, in bytes, after which nothing more is read ahead.
  private static let largestBatch = 4 << 20

  private let batches: ParallelValues<[RowSnapshot]>

  /// Starts reading.
  ///
  /// - Parameters:
  ///   - query: a query without a predicate, whose limit is the size of a batch.
  ///   - rows: the last rows that the caller has read.
  ///   - state: the state that the caller reads.
  /// - Returns: nil if there is nothing to read ahead.
  init?(_ query: RowQuery, after rows: [RowSnapshot], of state: any StoreGeneration) {
    guard Optimization.backgroundSource.isOn, let first = Self.query(query, after: rows), !first.entity.hasFiles else {
      return nil
    }
    var next: RowQuery? = first
    batches = ParallelValues(limit: 1) {
      // The caller repeats a failed read, and throws its error.
      guard let wanted = next, let rows = try? state.reading({ try $0.rows(for: wanted) }), !rows.isEmpty else {
        return nil
      }
      let isSmall = rows.reduce(0) { $0 + ($1.packed?.size ?? Self.largestBatch) } < Self.largestBatch
      next = isSmall ? Self.query(wanted, after: rows) : nil
      return rows
    }
  }

  /// Returns the next batch; nil if the caller must read it: after the end, a large batch or a failure.
  func next() -> [RowSnapshot]? {
    // Reading ahead does not throw.
    try? batches.next()
  }

  /// Stops reading, and waits until it has stopped.
  func stop() { batches.stop() }

  /// Returns the query for the rows that follow the given ones; nil if there are none.
  private static func query(_ query: RowQuery, after rows: [RowSnapshot]) -> RowQuery? {
    guard rows.count == query.limit, let last = rows.last?.key.number, last < .max else { return nil }
    var next = query
    next.keys = last + 1...Int64.max
    return next
  }
}

extension NSEntityDescription {
  /// Whether values of the entity may be stored in separate files.
  fileprivate var hasFiles: Bool { attributesByName.values.contains(where: \.allowsExternalBinaryDataStorage) }
}
