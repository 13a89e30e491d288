// OpenCoreData
// SPDX-License-Identifier: Apache-2.0

import CoreDataFileSystem
import Foundation

/// The rows of a query, read in parts.
package struct RowCursor {
  /// Number of rows read synchronously before a background reader starts.
  private static let alone = 1_024
  /// The maximum number of rows in a part, and the size in bytes after which no more are added. A part stays in the
  /// processor's cache until it is used, and the memory for waiting parts is bounded.
  private static let (partSize, partBytes) = (256, 256 << 10)
  /// The maximum number of parts that wait to be used.
  private static let waitingLimit = 8

  private enum Content {
    case known([RowSnapshot])
    case unread((RowPacker) throws -> Bool)
  }

  private let content: Content

  /// Creates a cursor for a query.
  ///
  /// - Parameter pack: packs the next row, or returns false after the last. May be called on another thread, while the
  ///   user of the cursor waits or uses earlier rows.
  package init(_ pack: @escaping (RowPacker) throws -> Bool) {
    content = .unread(pack)
  }

  /// Creates a cursor for rows that have already been read.
  package init(_ rows: [RowSnapshot]) {
    content = .known(rows)
  }

  /// Reads all rows.
  package func rows() throws -> [RowSnapshot] {
    switch content {
    case .known(let rows): return rows
    case .unread(let pack):
      let packer = RowPacker()
      var rows: [RowSnapshot] = []
      while try Self.fill(packer, pack) { rows += packer.snapshots() }
      return rows + packer.snapshots()
    }
  }

  /// Calls a closure with the rows, in parts, until it returns false.
  package func forEachPart(_ body: ([RowSnapshot]) throws -> Bool) throws {
    switch content {
    case .known(let rows):
      for start in stride(from: 0, to: rows.count, by: Self.partSize) {
        if try !body(Array(rows[start..<min(start + Self.partSize, rows.count)])) { return }
      }
    case .unread(let pack):
      let packer = RowPacker()
      while true {
        let isEnded = try !Self.fill(packer, pack)
        if packer.count > 0, try !body(packer.snapshots()) { return }
        if isEnded { return }
      }
    }
  }

  /// Returns the results made from the rows. If there are many rows, a background thread reads ahead.
  package func map<Result>(_ make: ([RowSnapshot]) -> [Result]) throws -> [Result] {
    switch content {
    case .known(let rows): return make(rows)
    case .unread(let pack):
      var results: [Result] = []
      let first = RowPacker()
      var count = 0
      while count < Self.alone || !Optimization.backgroundRows.isOn {
        let isDone = try !Self.fill(first, pack)
        results += make(first.snapshots())
        if isDone { return results }
        count += first.count
      }
      // One buffer for each waiting part, one in use, and one being filled.
      var packers = (0..<Self.waitingLimit + 2).map { _ in RowPacker() }
      var isEnded = false
      let parts = ParallelValues<RowPacker>(limit: Self.waitingLimit) {
        if isEnded { return nil }
        let packer = packers.removeFirst()
        packers.append(packer)
        isEnded = try !Self.fill(packer, pack)
        return packer.count > 0 ? packer : nil
      }
      defer { parts.stop() }
      while let part = try parts.next() { results += make(part.snapshots()) }
      return results
    }
  }

  /// Packs the next rows, replacing the previous ones.
  ///
  /// - Returns: whether there may be more rows.
  private static func fill(_ packer: RowPacker, _ pack: (RowPacker) throws -> Bool) throws -> Bool {
    packer.removeAll()
    while packer.count < partSize, packer.size < partBytes { if try !pack(packer) { return false } }
    return true
  }
}
