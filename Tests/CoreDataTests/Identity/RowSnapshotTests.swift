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

  @Test("A row that has not been decoded gets another version without being decoded, and its copy keeps its own")
  func versions() {
    let identities = RowIdentities(store: 1, reference: StoreReference(NSObject(), identifier: nil), members: [])
    let entity = NSEntityDescription()
    let title = NSAttributeDescription()
    (title.name, title.attributeType) = ("title", .stringAttributeType)
    entity.properties = [title]
    let packer = RowPacker()
    packer.begin(slotCount: 1)
    "a long title that fits into no small string".withCString {
      packer.pack(string: UnsafeRawBufferPointer(start: $0, count: 43), at: 0)
    }
    let layout = RowLayout(entity: entity, number: 1, identities: identities)
    var first = RowSnapshot(packer.finish(layout, primaryKey: 7, version: 2))
    let copy = first
    first.version = 3
    #expect(first.version == 3 && copy.version == 2 && first.packed != nil && first.key == copy.key)
    #expect(Self.title(first) == Self.title(copy) && Self.title(first)?.utf8.count == 43)
    first.slots[0] = .null
    first.version = 4
    #expect(first.version == 4 && first.packed == nil && Self.title(first) == nil && Self.title(copy) != nil)
  }

  @Test("It is one reference, so that an object without one pays little for it")
  func size() {
    #expect(MemoryLayout<RowSnapshot?>.size == MemoryLayout<AnyObject?>.size)
  }
}
