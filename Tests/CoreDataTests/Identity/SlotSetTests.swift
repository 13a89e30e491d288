// OpenCoreData
// SPDX-License-Identifier: Apache-2.0

import CoreDataTestSupport
import Testing

@testable import CoreData

@Suite("Sets of slots")
struct SlotSetTests {
  @Test("A set holds what was put in, once and in order, on both sides of the 64th", arguments: 1...40)
  func members(_ size: Int) {
    var random = SeededGenerator(seed: UInt64(size))
    let positions = (0..<size * 3).map { _ in Int.random(in: 0..<(size % 2 == 0 ? 64 : 200), using: &random) }
    let set = SlotSet(positions)
    #expect(Array(set) == Set(positions).sorted())
    #expect(set.isEmpty == positions.isEmpty)
    for position in 0..<260 { #expect(set.contains(position) == positions.contains(position)) }
    #expect(set == SlotSet(positions.reversed()))
    #expect(set.hashValue == SlotSet(positions.reversed()).hashValue)
  }

  @Test("An empty set has nothing")
  func empty() {
    #expect(SlotSet().isEmpty)
    #expect(Array(SlotSet()).isEmpty)
    #expect(!SlotSet().contains(0) && !SlotSet().contains(64))
  }
}
