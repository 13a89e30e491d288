// OpenCoreData
// SPDX-License-Identifier: Apache-2.0

import Foundation

/// Random numbers that can be had again: SplitMix64, so that a seed alone repeats a test.
///
/// `COREDATA_SEED_SHIFT=5` gives every test other numbers than usual: as if all seeds were others.
package struct SeededGenerator: RandomNumberGenerator {
  private static let shift = ProcessInfo.processInfo.environment["COREDATA_SEED_SHIFT"].flatMap(UInt64.init) ?? 0

  private var state: UInt64

  package init(seed: UInt64) {
    // Mixed, since generators whose states are a step apart give the same numbers, one behind the other.
    var mixed = seed &+ Self.shift &* 1_000_000_007 &+ 0x1234_5678_9ABC_DEF1
    mixed = (mixed ^ (mixed >> 33)) &* 0xFF51_AFD7_ED55_8CCD
    mixed = (mixed ^ (mixed >> 33)) &* 0xC4CE_B9FE_1A85_EC53
    state = mixed ^ (mixed >> 33)
  }

  package mutating func next() -> UInt64 {
    state &+= 0x9E37_79B9_7F4A_7C15
    var mixed = state
    mixed = (mixed ^ (mixed >> 30)) &* 0xBF58_476D_1CE4_E5B9
    mixed = (mixed ^ (mixed >> 27)) &* 0x94D0_49BB_1331_11EB
    return mixed ^ (mixed >> 31)
  }

  /// A number of the range; the order of calls is all that it depends on.
  mutating func number(_ range: ClosedRange<Int>) -> Int {
    range.lowerBound + Int(next() % UInt64(range.count))
  }

  /// A number that is another one after every call of `next()`.
  var peek: UInt64 { state }

  /// True once in `count` times.
  mutating func oneIn(_ count: Int) -> Bool { number(1...count) == 1 }

  /// One of a list; nil of an empty one.
  mutating func pick<Element>(_ list: [Element]) -> Element? {
    list.isEmpty ? nil : list[number(0...list.count - 1)]
  }

  /// Some of a list, in a random order.
  mutating func some<Element>(_ list: [Element], atMost count: Int) -> [Element] {
    var left = list
    var found: [Element] = []
    for _ in 0..<number(0...count) where !left.isEmpty { found.append(left.remove(at: number(0...left.count - 1))) }
    return found
  }
}
