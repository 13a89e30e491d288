// OpenCoreData
// SPDX-License-Identifier: Apache-2.0

/// Pairs of rows, found by the first of the two.
///
/// The pairs are kept sorted, but for a tail of new ones, which is looked through one by one and sorted in when it has
/// grown.
struct RowPairs: Sendable {
  private struct Pair: Comparable {
    let key: RowKey
    let value: RowKey

    static func < (left: Pair, right: Pair) -> Bool { (left.key, left.value) < (right.key, right.value) }
  }

  private static let longestTail = 256

  private var pairs: [Pair] = []
  private var sortedCount = 0

  var count: Int { pairs.count }

  mutating func add(_ key: RowKey, _ value: RowKey) {
    let pair = Pair(key: key, value: value)
    // What comes in order needs no sorting.
    if sortedCount == pairs.count, pairs.last.map({ $0 < pair }) ?? true { sortedCount += 1 }
    pairs.append(pair)
    if pairs.count - sortedCount > max(Self.longestTail, sortedCount / 4) {
      pairs.sort()
      sortedCount = pairs.count
    }
  }

  /// The second rows of the pairs that have this first one.
  func values(of key: RowKey) -> [RowKey] {
    var result: [RowKey] = []
    var position = pairs[..<sortedCount].firstPosition { $0.key >= key }
    while position < sortedCount, pairs[position].key == key {
      result.append(pairs[position].value)
      position += 1
    }
    for pair in pairs[sortedCount...] where pair.key == key { result.append(pair.value) }
    return result
  }

  /// All first rows, each once, ascending.
  var keys: [RowKey] {
    var result: [RowKey] = []
    for pair in (sortedCount == pairs.count ? pairs : pairs.sorted()) where result.last != pair.key {
      result.append(pair.key)
    }
    return result
  }
}

extension RandomAccessCollection where Index == Int {
  /// The first position at which a condition holds that, once it holds, holds to the end.
  func firstPosition(where holds: (Element) -> Bool) -> Int {
    var (low, high) = (startIndex, endIndex)
    while low < high {
      let middle = low + (high - low) / 2
      if holds(self[middle]) { high = middle } else { low = middle + 1 }
    }
    return low
  }
}
