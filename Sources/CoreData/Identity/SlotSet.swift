// OpenCoreData
// SPDX-License-Identifier: Apache-2.0

/// A set of slot positions as a bit set, which allocates memory only for positions from 64.
struct SlotSet: Hashable, Sequence {
  private static let wordSize = UInt64.bitWidth

  private var first: UInt64 = 0
  /// The bits after the first 64.
  private var others: [UInt64] = []

  init() {}

  init(_ positions: some Sequence<Int>) {
    for position in positions { insert(position) }
  }

  var isEmpty: Bool { first == 0 && others.allSatisfy { $0 == 0 } }

  func contains(_ position: Int) -> Bool {
    let (word, bit) = (position / Self.wordSize, UInt64(1) << UInt64(position % Self.wordSize))
    if word == 0 { return first & bit != 0 }
    return word <= others.count && others[word - 1] & bit != 0
  }

  mutating func insert(_ position: Int) {
    let (word, bit) = (position / Self.wordSize, UInt64(1) << UInt64(position % Self.wordSize))
    guard word > 0 else {
      first |= bit
      return
    }
    while others.count < word { others.append(0) }
    others[word - 1] |= bit
  }

  func makeIterator() -> Iterator { Iterator(left: first, others: others) }

  /// Iterates over the positions in ascending order.
  struct Iterator: IteratorProtocol {
    fileprivate var left: UInt64
    fileprivate let others: [UInt64]
    private var word = 0

    fileprivate init(left: UInt64, others: [UInt64]) {
      self.left = left
      self.others = others
    }

    mutating func next() -> Int? {
      while left == 0 {
        guard word < others.count else { return nil }
        left = others[word]
        word += 1
      }
      let bit = left.trailingZeroBitCount
      left &= left - 1
      return word * SlotSet.wordSize + bit
    }
  }
}
