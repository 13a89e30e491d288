// OpenCoreData
// SPDX-License-Identifier: Apache-2.0

import Foundation
import Testing

@testable import CoreData

@Suite("Snapshots of rows")
struct RowSnapshotTests {
  private static func id() -> NSManagedObjectID { TemporaryObjectID(for: NSEntityDescription()) }

  private static func title(_ snapshot: RowSnapshot) -> String? { snapshot.slots[0].publicValue as? String }

  @Test("A copy keeps its values when the other is changed, in place or as a whole")
  func copies() {
    let first = RowSnapshot(id: Self.id(), version: 3, slots: [.string("a"), .null])
    var second = first
    second.slots[0] = .string("b")
    var third = second
    third.slots[0] = .string("c")
    third.slots[1] = .integer(1)
    var fourth = third
    fourth.slots = [.string("d"), .null]
    #expect([first, second, third, fourth].map(Self.title) == ["a", "b", "c", "d"])
    #expect([first, second, third, fourth].allSatisfy { $0.version == 3 && $0.id === first.id })
  }

  @Test("The parent's object stays with the row, and with its copies, when values change")
  func origins() {
    let (parent, other) = (NSObject(), NSObject())
    var first = RowSnapshot(id: Self.id(), version: 1, slots: [.string("a")], origin: parent)
    let copy = first
    first.slots[0] = .string("b")
    #expect(first.origin === parent && copy.origin === parent)
    first.origin = other
    #expect(first.origin === other && copy.origin === parent)
    first.slots = [.string("c")]
    first.slots[0] = .string("d")
    #expect(first.origin === other && Self.title(first) == "d" && Self.title(copy) == "a")
    first.origin = nil
    #expect(first.origin == nil && Self.title(first) == "d")
  }

  @Test("It is one reference, so that an object without one pays little for it")
  func size() {
    #expect(MemoryLayout<RowSnapshot?>.size == MemoryLayout<AnyObject?>.size)
  }
}
