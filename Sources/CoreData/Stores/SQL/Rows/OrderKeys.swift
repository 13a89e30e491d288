// OpenCoreData
// SPDX-License-Identifier: Apache-2.0

/// The numbers in `Z_FOK_` columns: 2048, 3072, 4096 …, with room between them.
enum OrderKeys {
  static let first: Int64 = 2048
  static let step: Int64 = 1024

  /// SQL for the key after the last one in a column. Keys of a file that are no integers, or leave no room behind them, give
  /// an integer too; the places that they stand for are given anew when the order is next written.
  static func next(_ column: String) -> String {
    "MIN(CAST(IFNULL(MAX(\(column)), \(first - step)) AS INTEGER), \(Int64.max - step)) + \(step)"
  }

  /// Keys that grow along a list. Members that have growing keys keep them, a newcomer gets one between its neighbours;
  /// where there is no room all are numbered anew.
  static func arranged(_ current: [Int64?]) -> [Int64] {
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
        // Keys of a file can be so far apart that the distance is no number.
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
