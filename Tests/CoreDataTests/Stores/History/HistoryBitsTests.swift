// OpenCoreData
// SPDX-License-Identifier: Apache-2.0

import CoreDataModelFiles
import CoreDataStoreFiles
import CoreDataTestSupport
import Foundation
import Testing

@testable import CoreData

@Suite("Bits of updated properties")
struct HistoryBitsTests {
  private func attribute(_ name: String) -> NSAttributeDescription { .make(name, .stringAttributeType) }

  private func bits(_ entity: String, _ model: NSManagedObjectModel) throws -> HistoryBits {
    let schema = try StoreSchema(document: model.document)
    return HistoryBits(try #require(schema[entity]), in: schema)
  }

  private func hex(_ properties: String..., of bits: HistoryBits) -> String {
    bits.bytes(of: properties).map { String(format: "%02x", $0) }.joined()
  }

  /// Entities of an app of Apple's, with the bytes that its store has.
  @Test("To-one relationships come first, with two bits for a destination with sub-entities; then attributes")
  func cloudState() throws {
    var builder = ModelBuilder()
    builder.entity("Syncing")
    builder.entity("Note", parent: "Syncing")
    let names = ["currentLocalVersion", "inCloud", "latestVersionSyncedToCloud", "localVersionDate"]
    builder.entity("State", names.map(attribute))
    builder.relate(.init("State", "cloudSyncingObject"), .init("Syncing", "cloudState"))
    let bits = try bits("State", builder.model())
    #expect(hex("currentLocalVersion", "localVersionDate", of: bits) == "24")
    #expect(hex("latestVersionSyncedToCloud", of: bits) == "08")
    #expect(hex("inCloud", of: bits) == "10")
    #expect(hex("cloudSyncingObject", of: bits) == "c0")
  }

  @Test("In each group the root entity comes first, and a composite attribute has a bit for each element")
  func groups() throws {
    var builder = ModelBuilder()
    let place = NSCompositeAttributeDescription()
    place.name = "b"
    let inner = NSCompositeAttributeDescription()
    inner.name = "inner"
    inner.elements = [attribute("x"), attribute("y")]
    place.elements = [attribute("z"), inner]
    let transient = attribute("aa")
    transient.isTransient = true
    builder.entity("Base", [attribute("m"), place, transient])
    builder.entity("Leaf", parent: "Base", [attribute("a")])
    builder.entity("Other")
    builder.relate(.init("Base", "z1"), .init("Other", "bases", toMany: true))
    builder.relate(.init("Leaf", "a1"), .init("Other", "leaves", toMany: true))
    builder.relate(.init("Base", "many", toMany: true), .init("Other", "bases2", toMany: true))
    builder.relate(.init("Base", "others1", toMany: true), .init("Other", "base1"))
    builder.relate(.init("Base", "others2", toMany: true), .init("Other", "base2"))
    builder.relate(.init("Leaf", "own", toMany: true), .init("Other", "leaf"))
    let bits = try bits("Leaf", builder.model())
    // z1, a1; b.inner.x, b.inner.y, b.z, m, a; others2 …
    #expect(hex("z1", of: bits) == "8000" && hex("a1", of: bits) == "4000")
    #expect(hex("b", of: bits) == "3800" && hex("m", of: bits) == "0400" && hex("a", of: bits) == "0200")
    // … others1, own; many.
    #expect(hex("others2", of: bits) == "0100" && hex("others1", of: bits) == "0080")
    #expect(hex("own", of: bits) == "0040" && hex("many", of: bits) == "0020")
    #expect(bits.properties(in: Data([0x08, 0x40])) == ["b", "own"])
    #expect(bits.properties(in: Data([0x00, 0x1f, 0xff])) == [])
  }
}
