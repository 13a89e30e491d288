// OpenCoreData
// SPDX-License-Identifier: Apache-2.0

import Foundation
import Testing

@testable import CoreDataModelFiles

@Suite("Looking up properties by name")
struct PropertyIndexTests {
  private static func entity(_ name: String, _ parent: String?, _ attributes: [(String, AttributeKind)])
    -> EntityDocument
  {
    var entity = EntityDocument(name: name, parentName: parent)
    entity.attributes = attributes.map { AttributeDocument(name: $0.0, kind: $0.1) }
    return entity
  }

  /// A name that few entities declare is found in another way than one that many declare.
  @Test("An inherited property is that of the nearest ancestor", arguments: [0, 20])
  func nearest(others: Int) {
    var entities = [
      Self.entity("Leaf", "Middle", []), Self.entity("Middle", "Root", [("name", .integer64)]),
      Self.entity("Root", nil, [("name", .string), ("age", .date)]), Self.entity("Side", "Root", []),
      Self.entity("Alone", nil, []),
    ]
    entities += (0..<others).map { Self.entity("Other\($0)", nil, [("name", .boolean)]) }
    let index = PropertyIndex(ModelDocument(entities: entities))
    #expect(index.attribute("name", of: "Leaf")?.kind == .integer64)
    #expect(index.attribute("name", of: "Middle")?.kind == .integer64)
    #expect(index.attribute("name", of: "Side")?.kind == .string)
    #expect(index.attribute("name", of: "Root")?.kind == .string)
    #expect(index.attribute("age", of: "Leaf")?.kind == .date)
    #expect(index.attribute("name", of: "Alone") == nil)
    #expect(index.attribute("name", of: "Missing") == nil)
    #expect(index.attribute("missing", of: "Leaf") == nil)
  }

  @Test("Inheritance is known in a tree, with a missing parent and in a cycle")
  func kinds() {
    let index = EntityIndex(
      ModelDocument(entities: [
        Self.entity("A", nil, []), Self.entity("B", "A", []), Self.entity("C", "B", []), Self.entity("D", "A", []),
        Self.entity("E", "Nowhere", []), Self.entity("X", "Y", []), Self.entity("Y", "X", []),
        Self.entity("Z", "X", []),
      ]))
    #expect(index.isKind("C", of: "A") && index.isKind("C", of: "C") && index.isKind("D", of: "A"))
    #expect(!index.isKind("A", of: "C") && !index.isKind("D", of: "B") && !index.isKind("E", of: "Nowhere"))
    #expect(index.isKind("Z", of: "Y") && index.isKind("X", of: "Y") && !index.isKind("X", of: "Z"))
    #expect(index.lineage(of: "C").map(\.name) == ["C", "B", "A"])
    #expect(index.lineage(of: "Z").map(\.name) == ["Z", "X", "Y"])
    #expect(index.root(of: "C")?.name == "A" && index.root(of: "E")?.name == "E")
  }
}
