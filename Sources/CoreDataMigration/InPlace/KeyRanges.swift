// OpenCoreData
// SPDX-License-Identifier: Apache-2.0

import CoreDataSQLite

/// Ranges of primary keys that together hold every row of a table, so that a large table can be worked through in parts.
///
/// Where keys are dense, the ranges are equally wide, and the rows done follow from the width. Where they are sparse, each
/// range is found by stepping over its rows.
struct KeyRanges: Sequence, IteratorProtocol {
  /// The rows up to the end of a range. Exact where the keys have no gaps, otherwise in proportion.
  typealias Range = (keys: ClosedRange<Int64>, rowsDone: Int)

  private let rows: Int
  /// The last key of each range but the last one.
  private let ends: [Int64]
  private var position = 0

  /// - Parameters:
  ///   - table: a table of which `StoreSchema` has made sure that `Z_PK` is its row identifier.
  ///   - rows: how many rows the table has.
  /// - Returns: nil for an empty table.
  init?(table: String, rows: Int, rowsAtOnce: Int, _ connection: SQLiteConnection) throws {
    let name = SQLName.quoted(table)
    guard let first = try connection.scalar("SELECT MIN(Z_PK) FROM \(name)")?.integer,
      let last = try connection.scalar("SELECT MAX(Z_PK) FROM \(name)")?.integer
    else { return nil }
    self.rows = rows
    let span = UInt64(bitPattern: last &- first)
    var ends: [Int64] = []
    if span / 4 <= UInt64(rows), first > Int64.min / 2, last < Int64.max / 2 {
      let count = Int64((rows + rowsAtOnce - 1) / rowsAtOnce)
      let width = Int64(span) / count + 1
      ends = (1..<count).map { first + $0 * width - 1 }
    } else {
      let next = "SELECT Z_PK FROM \(name) WHERE Z_PK > ? ORDER BY Z_PK LIMIT 1 OFFSET \(rowsAtOnce - 1)"
      var end = try connection.scalar("SELECT Z_PK FROM \(name) ORDER BY Z_PK LIMIT 1 OFFSET \(rowsAtOnce - 1)")
      while let key = end?.integer {
        ends.append(key)
        end = try connection.scalar(next, [.integer(key)])
      }
      if ends.last == Int64.max { ends.removeLast() }
    }
    self.ends = ends
  }

  mutating func next() -> Range? {
    guard position <= ends.count else { return nil }
    // The first and the last range are open, so that no key can fall outside.
    let lower = position == 0 ? Int64.min : ends[position - 1] + 1
    let upper = position == ends.count ? Int64.max : ends[position]
    position += 1
    return (lower...upper, Int(Double(rows) * Double(position) / Double(ends.count + 1)))
  }
}
