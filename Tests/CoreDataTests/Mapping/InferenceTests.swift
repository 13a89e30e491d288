// OpenCoreData
// SPDX-License-Identifier: Apache-2.0

import CoreDataModelFiles
import Foundation
import Testing

@testable import CoreData
@testable import CoreDataMigration

@Suite("What inference accepts")
struct InferenceTests {
  private typealias I = Inference

  @Test("Entities are added, removed, and matched by name")
  func entities() throws {
    let mapping = try I.mapping(
      from: [I.entity("Kept"), I.entity("Gone")], to: [I.entity("New"), I.entity("Kept")])
    #expect(mapping.added == ["New"])
    #expect(mapping.removed == ["Gone"])
    #expect(mapping.matched.map(\.destination) == ["Kept"])
    #expect(mapping.matched[0].isUnchanged)
  }

  @Test("Attributes and relationships are added, removed and renamed")
  func properties() throws {
    let mapping = try I.mapping(
      from: [
        I.entity(
          "Car", [I.attribute("name"), I.attribute("color")],
          [I.relationship("owner", "Car"), I.relationship("seller", "Car")])
      ],
      to: [
        I.entity(
          "Car", [I.attribute("title", was: "name"), I.attribute("wheels", .integer16)],
          [I.relationship("keeper", "Car", was: "owner"), I.relationship("garage", "Car")])
      ])
    let match = try #require(mapping.match(ofSource: "Car"))
    #expect(!match.isUnchanged)
    #expect(match.attributes == [.init(source: "name", destination: "title")])
    #expect(match.addedAttributes == ["wheels"])
    #expect(match.removedAttributes == ["color"])
    #expect(match.relationships == [.init(source: "owner", destination: "keeper")])
    #expect(match.addedRelationships == ["garage"])
    #expect(match.removedRelationships == ["seller"])
  }

  @Test("A renamed entity is matched, and relationships to it go on")
  func renamedEntity() throws {
    let mapping = try I.mapping(
      from: [I.entity("Folder"), I.entity("Note", [], [I.relationship("folder", "Folder")])],
      to: [I.entity("Box", was: "Folder"), I.entity("Note", [], [I.relationship("folder", "Box")])])
    #expect(mapping.match(ofSource: "Folder")?.destination == "Box")
    #expect(mapping.match(ofSource: "Note")?.relationships.count == 1)
    #expect(mapping.added.isEmpty && mapping.removed.isEmpty)
  }

  @Test("A canonical renaming identifier works over several versions, and when it is cleared later")
  func canonicalIdentifier() throws {
    let first = [I.entity("A", [I.attribute("a")])]
    let second = [I.entity("B", was: "A", [I.attribute("b", was: "a")])]
    let third = [I.entity("C", was: "A", [I.attribute("c", was: "a")])]
    let cleared = [I.entity("C", [I.attribute("c")])]
    for (source, destination) in [(first, second), (second, third), (first, third), (third, cleared)] {
      let mapping = try I.mapping(from: source, to: destination)
      #expect(mapping.matched.count == 1)
      #expect(mapping.matched[0].attributes.count == 1)
    }
  }

  @Test("An identifier may be the last name, where the version before declares another one")
  func lastName() throws {
    let second = [I.entity("B", was: "A", [I.attribute("b", was: "a")])]
    let third = [I.entity("C", was: "B", [I.attribute("c", was: "b")])]
    let mapping = try I.mapping(from: second, to: third)
    #expect(mapping.matched.map(\.source) == ["B"] && mapping.removed.isEmpty && mapping.added.isEmpty)
    #expect(mapping.matched[0].attributes.map(\.source) == ["b"])
    // What declares it goes before what has the name now.
    let again = [I.entity("B", was: "A", [I.attribute("b"), I.attribute("c", was: "b")])]
    #expect(try I.mapping(from: second, to: again).matched[0].attributes.map(\.destination) == ["c"])
    let shared = [I.entity("B", was: "A", [I.attribute("c", was: "b"), I.attribute("d", was: "b")])]
    #expect(I.obstacles(from: second, to: shared).count == 1)
  }

  @Test("An identifier that no source has makes a new property of an old name")
  func identifierToDrop() throws {
    let mapping = try I.mapping(
      from: [I.entity("Car", [I.attribute("size", .string)])],
      to: [I.entity("Car", [I.attribute("size", .binaryData, was: "size2")])])
    #expect(mapping.matched[0].attributes.isEmpty)
    #expect(mapping.matched[0].addedAttributes == ["size"])
    #expect(mapping.matched[0].removedAttributes == ["size"])
  }

  @Test("Elements that share an identifier are told apart by their names")
  func sharedIdentifier() throws {
    let both = [I.entity("Car", [I.attribute("a"), I.attribute("b", was: "a")])]
    let mapping = try I.mapping(from: both, to: both)
    #expect(mapping.matched[0].attributes.map(\.source) == ["a", "b"])
  }

  @Test("Every number converts to every other", arguments: [AttributeKind.integer16, .double, .decimal, .boolean])
  func numbers(kind: AttributeKind) {
    for other in [AttributeKind.integer32, .integer64, .float, .double, .boolean] {
      let obstacles = I.obstacles(
        from: [I.entity("Car", [I.attribute("n", kind)])], to: [I.entity("Car", [I.attribute("n", other)])])
      #expect(obstacles.isEmpty)
    }
  }

  @Test("A required attribute may be new; with a default value, derived, or in a new entity also where objects are")
  func requiredAttributes() {
    let source = [I.entity("Car")]
    let withDefault = I.attribute("name", optional: false) { $0.defaultValue = .string("none") }
    let derived = I.attribute("name", optional: false) { $0.derivation = .keyPath("other") }
    #expect(I.obstacles(from: source, to: [I.entity("Car", [withDefault])]).isEmpty)
    #expect(I.obstacles(from: source, to: [I.entity("Car", [derived])]).isEmpty)
    let isNew = I.entity("Van", [I.attribute("name", optional: false)], [I.relationship("car", "Car", optional: false)])
    #expect(I.obstacles(from: source, to: source + [isNew]).isEmpty)
  }

  @Test("Optional and required may change places; rows without value are the migration's business")
  func optionality() {
    let optional = [I.entity("Car", [I.attribute("name")])]
    let required = [I.entity("Car", [I.attribute("name", optional: false)])]
    #expect(I.obstacles(from: optional, to: required).isEmpty)
    #expect(I.obstacles(from: required, to: optional).isEmpty)
  }

  @Test("To-one becomes to-many, unordered becomes ordered and back")
  func cardinality() {
    let one = [I.entity("Car", [], [I.relationship("r", "Car")])]
    let many = [I.entity("Car", [], [I.relationship("r", "Car", toMany: true)])]
    let ordered = [I.entity("Car", [], [I.relationship("r", "Car", toMany: true, ordered: true)])]
    #expect(I.obstacles(from: one, to: many).isEmpty)
    #expect(I.obstacles(from: one, to: ordered).isEmpty)
    #expect(I.obstacles(from: many, to: ordered).isEmpty)
    #expect(I.obstacles(from: ordered, to: many).isEmpty)
  }

  @Test("A transient attribute that becomes persistent is new, and the reverse is removed")
  func transience() throws {
    let transient = [I.entity("Car", [I.attribute("a") { $0.isTransient = true }])]
    let persistent = [I.entity("Car", [I.attribute("a")])]
    #expect(try I.mapping(from: transient, to: persistent).matched[0].addedAttributes == ["a"])
    #expect(try I.mapping(from: persistent, to: transient).matched[0].removedAttributes == ["a"])
    #expect(
      try I.mapping(from: transient, to: [I.entity("Car", [I.attribute("a", optional: false)])])
        .matched[0].attributesWithoutValue == ["a"])
  }

  @Test("Properties move up and down a hierarchy, and entities get new parents")
  func hierarchies() throws {
    let flat = [I.entity("A", [I.attribute("name")]), I.entity("B", [I.attribute("name")])]
    let family = [I.entity("P", [I.attribute("name")]), I.entity("A", parent: "P"), I.entity("B", parent: "P")]
    let up = try I.mapping(from: flat, to: family)
    #expect(up.added == ["P"])
    #expect(up.matched.allSatisfy { $0.attributes == [.init(source: "name", destination: "name")] })
    let down = try I.mapping(from: family, to: flat)
    #expect(down.removed == ["P"])
    #expect(down.matched.allSatisfy { $0.attributes.count == 1 })
    let chain = [I.entity("P", [I.attribute("name")]), I.entity("A", parent: "P"), I.entity("B", parent: "A")]
    #expect(I.obstacles(from: family, to: chain).isEmpty)
  }

  @Test("A relationship may widen to an ancestor of where it led")
  func widening() {
    let source = [I.entity("P"), I.entity("A", parent: "P"), I.entity("N", [], [I.relationship("to", "A")])]
    let destination = [I.entity("P"), I.entity("A", parent: "P"), I.entity("N", [], [I.relationship("to", "P")])]
    #expect(I.obstacles(from: source, to: destination).isEmpty)
  }

  @Test("An optional relationship that leads to another entity, or a narrower one, starts anew")
  func redirection() throws {
    let source = [I.entity("A"), I.entity("B"), I.entity("N", [], [I.relationship("to", "A")])]
    let destination = [I.entity("A"), I.entity("B"), I.entity("N", [], [I.relationship("to", "B")])]
    let match = try #require(try I.mapping(from: source, to: destination).match(ofSource: "N"))
    #expect(match.relationships.isEmpty)
    #expect(match.addedRelationships == ["to"])
    #expect(match.removedRelationships == ["to"])
    #expect(match.redirectedRelationships == [.init(source: "to", destination: "to")])
  }
}
