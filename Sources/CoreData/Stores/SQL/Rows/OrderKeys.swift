// OpenCoreData
// SPDX-License-Identifier: Apache-2.0

import CoreDataStoreFiles

/// The positions in `Z_FOK_` columns: 2048, 3072, 4096 …, with gaps for later insertions.
package enum OrderKeys {
  static let first: Int64 = 2048
  static let step: Int64 = 1024

  /// Returns SQL for the position after the last one in a column. The result is an integer even if the file contains
  /// other values, or no room after the last position. Such positions are renumbered the next time the order is
  /// written.
  static func next(_ column: String, _ dialect: SQLDialect) -> String {
    let last = "CAST(COALESCE(MAX(\(column)), \(first - step)) AS BIGINT)"
    return "\(dialect.least)(\(last), \(Int64.max - step)) + \(step)"
  }

  /// Returns ascending positions for a list. Positions that already ascend are kept, and new members get positions
  /// between their neighbours. If there is no gap left, all are renumbered.
  package static func arranged(_ current: [Int64?]) -> [Int64] {
    let fixed = current.compactMap { $0 }
    let isGrowing = zip(fixed, fixed.dropFirst()).allSatisfy { $0 < $1 }
    guard isGrowing, !fixed.isEmpty else { return renumbered(current.count) }
    var keys: [Int64] = []
    var position = 0
    while position < current.count {
      if let key = current[position] {
        keys.append(key)
        position += 1
        continue
      }
      let end = current[position...].firstIndex { $0 != nil } ?? current.count
      let count = Int64(end - position)
      let lower = keys.last ?? 0
      if end == current.count {
        guard lower <= Int64.max - count * step else { return renumbered(current.count) }
        keys += (1...count).map { lower + $0 * step }
      } else {
        // In a damaged file, the distance can overflow.
        guard let upper = current[end], case (let distance, false) = upper.subtractingReportingOverflow(lower),
          distance / (count + 1) > 0
        else { return renumbered(current.count) }
        keys += (1...count).map { lower + distance / (count + 1) * $0 }
      }
      position = end
    }
    return keys
  }

  private static func renumbered(_ count: Int) -> [Int64] {
    (0..<count).map { first + Int64($0) * step }
  }
}
