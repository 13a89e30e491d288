// OpenCoreData
// SPDX-License-Identifier: Apache-2.0

import CoreDataPostgreSQLClient
import CoreDataSQLite
import CoreDataStoreFiles

/// Primary keys for new rows, taken from sequences in blocks, so that few insertions have to ask the server.
///
/// Keys that a process does not use are lost, which leaves gaps.
struct KeyBlocks {
  /// The unused keys of blocks, by root entity.
  private var left: [Int: [ClosedRange<Int64>]] = [:]

  /// Returns unused keys of a root entity, in ascending order, as ranges.
  mutating func reserve(_ count: Int, of root: EntityLayout, _ connection: PostgreSQLConnection) throws
    -> [ClosedRange<Int64>]
  {
    var found: [ClosedRange<Int64>] = []
    var missing = Int64(count)
    func use(_ block: ClosedRange<Int64>) -> ClosedRange<Int64>? {
      let size = min(missing, block.upperBound - block.lowerBound + 1)
      let last = block.lowerBound + (size - 1)
      found.append(block.lowerBound...last)
      missing -= size
      return last < block.upperBound ? (last + 1)...block.upperBound : nil
    }
    var blocks = left[root.number] ?? []
    while true {
      let have = blocks.reduce(0) { $0 + ($1.upperBound - $1.lowerBound) + 1 }
      if have >= Int64(count) { break }
      // At the end of the sequence, the server has fewer, and then an error.
      blocks += try Self.fetch(missing - have, of: root, connection)
    }
    var position = 0
    while missing > 0, position < blocks.count {
      if let rest = use(blocks[position]) { blocks[position] = rest } else { position += 1 }
    }
    left[root.number] = Array(blocks[position...])
    return found
  }

  private static func fetch(
    _ count: Int64, of root: EntityLayout, _ connection: PostgreSQLConnection
  ) throws -> [ClosedRange<Int64>] {
    let size = PostgreSQLDefinitions.keyBlockSize
    let rows = try connection.query(
      "SELECT nextval($1::text::regclass) FROM generate_series(1, $2)",
      [.text(SQLName.quoted(TableLayout.sequenceName(ofTable: root.table))), .integer((count + size - 1) / size)])
    return (0..<rows.count).map { row in
      let first = rows.int64(row, 0)
      // The last block of a sequence is smaller.
      let (last, isBeyond) = first.addingReportingOverflow(size - 1)
      return first...(isBeyond ? .max : last)
    }.sorted { $0.lowerBound < $1.lowerBound }
  }

  /// Discards all keys, because the sequences may have changed.
  mutating func removeAll() { left = [:] }
}
