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
    packer.end(primaryKey: 7, version: 2, entity: 1) { layout }
    var first = RowSnapshot(packer.row(at: 0))
    let copy = first
    first.version = 3
    #expect(first.version == 3 && copy.version == 2 && first.packed != nil && first.key == copy.key)
    #expect(Self.title(first) == Self.title(copy) && Self.title(first)?.utf8.count == 43)
    first.slots[0] = .null
    first.version = 4
    #expect(first.version == 4 && first.packed == nil && Self.title(first) == nil && Self.title(copy) != nil)
  }

  @Test(
    "Rows that are packed one after the other, of several entities, are made afterwards; one that was not ended is dropped"
  )
  func several() {
    let identities = RowIdentities(store: 1, reference: StoreReference(NSObject(), identifier: nil), members: [])
    func layout(_ names: [String], _ number: Int) -> RowLayout {
      let entity = NSEntityDescription()
      entity.properties = names.map { name in
        let attribute = NSAttributeDescription()
        (attribute.name, attribute.attributeType) = (name, .stringAttributeType)
        return attribute
      }
      return RowLayout(entity: entity, number: number, identities: identities)
    }
    let (small, large) = (layout(["title"], 1), layout(["a", "b", "title"], 2))
    let packer = RowPacker()
    func pack(_ text: String, _ number: Int64, _ entity: Int, ends: Bool = true) {
      packer.begin(slotCount: entity == 1 ? 1 : 3)
      let bytes = Array(text.utf8)
      bytes.withUnsafeBytes { packer.pack(string: $0, at: entity == 1 ? 0 : 2) }
      if entity == 2 { packer.pack(.object(NSNumber(value: number)), at: 0) }
      if ends { packer.end(primaryKey: number, version: number + 1, entity: entity) { entity == 1 ? small : large } }
    }
    for round in 0..<2 {
      for number in 0..<50 as Range<Int64> {
        let entity = number % 3 == 0 ? 2 : 1
        if number % 7 == 0 { pack("dropped", -1, 2, ends: false) }
        pack(String(repeating: "x", count: Int(number) * 3 + round), number, entity)
      }
      let rows = packer.snapshots()
      #expect(rows.count == 50 && packer.count == 50)
      for (number, row) in rows.enumerated() {
        let isLarge = number % 3 == 0
        #expect(row.packed?.layout === (isLarge ? large : small) && row.version == Int64(number) + 1)
        let title = row.slots[isLarge ? 2 : 0].publicValue as? String
        #expect(title == String(repeating: "x", count: number * 3 + round) && row.key.number == Int64(number))
        if isLarge { #expect(row.slots[0].publicValue as? NSNumber == NSNumber(value: number) && row.slots[1].isNull) }
      }
      packer.removeAll()
      #expect(packer.count == 0)
    }
  }

  @Test("A row may begin wherever the buffer ends")
  func boundaries() {
    let identities = RowIdentities(store: 1, reference: StoreReference(NSObject(), identifier: nil), members: [])
    let entity = NSEntityDescription()
    let title = NSAttributeDescription()
    (title.name, title.attributeType) = ("title", .stringAttributeType)
    entity.properties = [title]
    let layout = RowLayout(entity: entity, number: 1, identities: identities)
    // The buffer has 1,024 bytes at first.
    for length in 980...1_030 {
      let packer = RowPacker()
      for count in [length, 1] {
        packer.begin(slotCount: 1)
        Array(repeating: UInt8(ascii: "x"), count: count).withUnsafeBytes { packer.pack(string: $0, at: 0) }
        packer.end(primaryKey: 1, version: 1, entity: 1) { layout }
      }
      #expect(packer.snapshots().map { Self.title($0)?.utf8.count } == [length, 1])
    }
  }

  @Test("It is one reference, so that an object without one pays little for it")
  func size() {
    #expect(MemoryLayout<RowSnapshot?>.size == MemoryLayout<AnyObject?>.size)
  }
}
