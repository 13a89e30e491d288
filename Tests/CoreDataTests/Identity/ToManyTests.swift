// OpenCoreData
// SPDX-License-Identifier: Apache-2.0

import CoreDataTestSupport
import Foundation
import Testing

@testable import CoreData

/// Random edits of a relationship's members, beside an array.
@Suite("Members of a relationship")
struct ToManyTests {
  private static let ids = (0..<900).map { _ in TemporaryObjectID(for: NSEntityDescription()) as NSManagedObjectID }

  /// What a state of the members must be, for as long as it is kept.
  private struct State {
    let members: ToMany
    let expected: [NSManagedObjectID]

    var isRight: Bool {
      guard members.count == expected.count, Set(members.ids.map(\.key)) == Set(expected.map(\.key)) else {
        return false
      }
      if members.isOrdered, members.ids.map(\.key) != expected.map(\.key) { return false }
      return members.ids.indices.allSatisfy {
        members.index(of: members.ids[$0]) == $0 && members.id(at: $0) === members.ids[$0]
      }
        && ToManyTests.ids.allSatisfy { id in members.contains(id) == expected.contains { $0 === id } }
    }
  }

  @Test("They agree with an array after any edits, and so do copies that were made before", arguments: 0..<6)
  func edits(seed: Int) {
    var random = SeededGenerator(seed: UInt64(seed))
    let isOrdered = seed % 3 > 0
    var expected = Array(Self.ids.shuffled(using: &random).prefix(seed % 2 == 0 ? 700 : 6))
    var members = ToMany(expected, isOrdered: isOrdered)
    var kept: [State] = []
    for step in 0..<1_500 {
      let id = Self.ids.randomElement(using: &random) ?? Self.ids[0]
      let known = expected.firstIndex { $0 === id }
      switch Int.random(in: 0..<10, using: &random) {
      case 0..<2:
        #expect(members.insert(id) == (known == nil))
        if known == nil { expected.append(id) }
      case 2..<6 where isOrdered:
        let index = [0, expected.count, Int.random(in: 0...expected.count, using: &random)].randomElement(
          using: &random)
        let place = index ?? 0
        #expect(members.insert(id, at: place) == (known == nil))
        if known == nil { expected.insert(id, at: place) }
      case 6 where isOrdered && expected.count > 1:
        let (one, other) = (
          Int.random(in: 0..<expected.count, using: &random), Int.random(in: 0..<expected.count, using: &random)
        )
        members.swapAt(one, other)
        expected.swapAt(one, other)
      case 7 where !expected.isEmpty:
        let first = Bool.random(using: &random) ? expected[0] : expected[expected.count - 1]
        let removed = members.remove(first)
        #expect(removed != nil && (!isOrdered || removed == expected.firstIndex { $0 === first }))
        expected.removeAll { $0 === first }
      default:
        #expect((members.remove(id) != nil) == (known != nil))
        if let known { expected.remove(at: known) }
      }
      if step % 150 == 0 { kept.append(State(members: members, expected: expected)) }
    }
    #expect(State(members: members, expected: expected).isRight)
    for (number, state) in kept.enumerated() { #expect(state.isRight, "copy \(number)") }
  }

  @Test("A copy is known as one until either changes")
  func copies() {
    var members = ToMany(Array(Self.ids.prefix(20)), isOrdered: true)
    let copy = members
    #expect(copy.isCopy(of: members))
    #expect(!members.insert(Self.ids[3]) && copy.isCopy(of: members))
    #expect(members.insert(Self.ids[30], at: 0) && !copy.isCopy(of: members))
    #expect(copy.count == 20 && members.count == 21 && !copy.hasSameMembers(as: members))
  }
}
