// OpenCoreData
// SPDX-License-Identifier: Apache-2.0

import CoreDataFileSystem
import Foundation

/// The rows of a query, which are read part by part.
package struct RowCursor {
  /// How many rows are read before the others are read on a thread of their own.
  private static let alone = 1_024
  /// How many rows are read at once, and how many bytes from which on no more are: they stay in the processor's cache until they
  /// are used, and the memory for rows that are waiting is bounded.
  private static let (partSize, partBytes) = (256, 256 << 10)
  /// How many parts may wait for being used.
  private static let waitingLimit = 8

  private enum Content {
    case known([RowSnapshot])
    case unread((RowPacker) throws -> Bool)
  }

  private let content: Content

  /// Makes the cursor of a query.
  ///
  /// - Parameter pack: packs the next row, or returns false after the last. It may be called on another thread, while the
  ///   user of the cursor waits or uses the rows before.
  package init(_ pack: @escaping (RowPacker) throws -> Bool) {
    content = .unread(pack)
  }

  /// Makes a cursor of rows that have been read.
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

  /// Returns what is made of the rows. Of many rows, the next are read while something is made of those before.
  package func map<Result>(_ make: ([RowSnapshot]) -> [Result]) throws -> [Result] {
    switch content {
    case .known(let rows): return make(rows)
    case .unread(let pack):
      var results: [Result] = []
      let first = RowPacker()
      var count = 0
      while count < Self.alone {
        let isDone = try !Self.fill(first, pack)
        results += make(first.snapshots())
        if isDone { return results }
        count += first.count
      }
      // As many as are waiting, one that is used, and one that is filled.
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

  /// Packs the next rows in place of those before.
  ///
  /// - Returns: whether there may be more.
  private static func fill(_ packer: RowPacker, _ pack: (RowPacker) throws -> Bool) throws -> Bool {
    packer.removeAll()
    while packer.count < partSize, packer.size < partBytes { if try !pack(packer) { return false } }
    return true
  }
}
