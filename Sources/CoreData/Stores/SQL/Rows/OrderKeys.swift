// OpenCoreData
// SPDX-License-Identifier: Apache-2.0

/// The numbers in `Z_FOK_` columns: 2048, 3072, 4096 …, with room between them.
enum OrderKeys {
  static let first: Int64 = 2048
  static let step: Int64 = 1024

  /// SQL for the key after the last one in a column.
  static func next(_ column: String) -> String { "IFNULL(MAX(\(column)), \(first - step)) + \(step)" }

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
        keys += (1...count).map { lower + $0 * step }
      } else {
        guard let upper = current[end], (upper - lower) / (count + 1) > 0 else { return renumbered(current.count) }
        keys += (1...count).map { lower + (upper - lower) / (count + 1) * $0 }
      }
      position = end
    }
    return keys
  }

  private static func renumbered(_ count: Int) -> [Int64] {
    (0..<count).map { first + Int64($0) * step }
  }
}
