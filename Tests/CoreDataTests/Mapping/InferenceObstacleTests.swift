// OpenCoreData
// SPDX-License-Identifier: Apache-2.0

import CoreDataModelFiles
import Foundation
import Testing

@testable import CoreData
@testable import CoreDataMigration

@Suite("What inference refuses")
struct InferenceObstacleTests {
  private typealias I = Inference

  private func only(_ obstacles: [InferenceObstacle]) throws -> InferenceObstacle {
    try #require(obstacles.count == 1, "\(obstacles.map(\.reason))")
    return obstacles[0]
  }

  @Test("Types that do not convert")
  func types() throws {
    let obstacle = try only(
      I.obstacles(
        from: [I.entity("Car", [I.attribute("size", .string)])],
        to: [I.entity("Car", [I.attribute("length", .binaryData, was: "size")])]))
    #expect(obstacle.entity == "Car")
    #expect(obstacle.property == "length")
    #expect(
      obstacle.reason
        == "Source and destination attribute types are incompatible: 'length' of entity 'Car' is String in the source, "
        + "Binary Data in the destination.")
  }

  @Test("Elements of composite attributes are held to the same rules")
  func composites() throws {
    func place(_ elements: [AttributeDocument]) -> [EntityDocument] {
      [I.entity("Place", [I.attribute("address", .composite) { $0.elements = elements }])]
    }
    let source = place([I.attribute("zip", .string)])
    #expect(I.obstacles(from: source, to: source).isEmpty)
    #expect(try only(I.obstacles(from: source, to: place([I.attribute("zip", .date)]))).property == "zip")
    let added = place([I.attribute("zip"), I.attribute("city", optional: false)])
    #expect(try only(I.obstacles(from: source, to: added)).property == "city")
  }

  @Test("A new required element of a composite attribute, told once and where it is declared")
  func requiredElement() throws {
    func address(_ elements: [AttributeDocument]) -> AttributeDocument {
      I.attribute("address", .composite) { $0.elements = elements }
    }
    let source = [I.entity("Car", [address([])]), I.entity("Van", parent: "Car")]
    let destination = [
      I.entity("Car", [address([I.attribute("name", optional: false)])]), I.entity("Van", parent: "Car"),
    ]
    let obstacle = try only(I.obstacles(from: source, to: destination))
    #expect(obstacle.entity == "Car")
    #expect(obstacle.property == "name")
    #expect(obstacle.advice == "Give it a default value, or make it optional.")
  }

  @Test("A new required attribute without default value is no obstacle: whether objects are there decides")
  func requiredAttribute() throws {
    let source = [I.entity("Car"), I.entity("Van", parent: "Car")]
    let destination = [I.entity("Car", [I.attribute("name", optional: false)]), I.entity("Van", parent: "Car")]
    let mapping = try I.mapping(from: source, to: destination)
    #expect(mapping.matched.map(\.attributesWithoutValue) == [["name"], ["name"]])
    #expect(mapping.attributeWithoutValue?.entity == "Car")
    let withDefault = I.attribute("name", optional: false) { $0.defaultValue = .string("none") }
    #expect(try I.mapping(from: [I.entity("Car")], to: [I.entity("Car", [withDefault])]).attributeWithoutValue == nil)
  }

  @Test("A new required relationship")
  func requiredRelationship() throws {
    let obstacle = try only(
      I.obstacles(
        from: [I.entity("Car")], to: [I.entity("Car", [], [I.relationship("owner", "Car", optional: false)])]))
    #expect(obstacle.property == "owner")
  }

  @Test(
    "No obstacle: a required to-many relationship that is new, or leads elsewhere, is empty")
  func requiredToMany() throws {
    #expect(
      I.obstacles(
        from: [I.entity("Car")],
        to: [I.entity("Car", [], [I.relationship("owners", "Car", toMany: true, optional: false)])]
      ).isEmpty)
    #expect(
      I.obstacles(
        from: [I.entity("A"), I.entity("N", [], [I.relationship("to", "A", toMany: true, optional: false)])],
        to: [I.entity("B"), I.entity("N", [], [I.relationship("to", "B", toMany: true, optional: false)])]
      ).isEmpty)
  }

  @Test("To-many that becomes to-one")
  func toOne() throws {
    let obstacle = try only(
      I.obstacles(
        from: [I.entity("Car", [], [I.relationship("owners", "Car", toMany: true)])],
        to: [I.entity("Car", [], [I.relationship("owner", "Car", was: "owners")])]))
    #expect(obstacle.property == "owner")
    #expect(obstacle.reason.contains("to-many in the source and to-one in the destination"))
  }

  @Test("A required relationship that leads to another entity")
  func destinations() throws {
    let obstacle = try only(
      I.obstacles(
        from: [I.entity("A"), I.entity("N", [], [I.relationship("to", "A")])],
        to: [I.entity("B"), I.entity("N", [], [I.relationship("to", "B", optional: false)])]))
    #expect(obstacle.reason.contains("leads to 'A' in the source and to 'B' in the destination"))
    #expect(obstacle.advice.contains("give 'B' the renaming identifier of 'A'"))
  }

  @Test("Hierarchies that are merged")
  func mergedHierarchies() throws {
    let obstacle = try only(
      I.obstacles(from: [I.entity("A"), I.entity("B")], to: [I.entity("A"), I.entity("B", parent: "A")]))
    #expect(obstacle.entity == "B")
    let throughNew = I.obstacles(
      from: [I.entity("A"), I.entity("B")],
      to: [I.entity("A"), I.entity("M", parent: "A"), I.entity("B", parent: "M")])
    #expect(throughNew.count == 1)
  }

  @Test("Renaming identifiers that are ambiguous")
  func ambiguous() throws {
    let entity = try only(
      I.obstacles(from: [I.entity("A")], to: [I.entity("B", was: "A"), I.entity("C", was: "A")]))
    #expect(entity.reason == "The renaming identifier 'A' is shared by the entities 'B', 'C'.")
    let beside = I.obstacles(from: [I.entity("A")], to: [I.entity("A"), I.entity("C", was: "A")])
    #expect(beside.count == 1)
    let property = try only(
      I.obstacles(
        from: [I.entity("A", [I.attribute("x")])],
        to: [I.entity("A", [I.attribute("y", was: "x"), I.attribute("z", was: "x")])]))
    #expect(property.entity == "A")
    #expect(property.property == "y")
  }

  @Test("Everything that is wrong is told at once")
  func everything() {
    let obstacles = I.obstacles(
      from: [I.entity("A", [I.attribute("x")]), I.entity("B")],
      to: [I.entity("A", [I.attribute("x", .date)]), I.entity("B", [], [I.relationship("y", "A", optional: false)])])
    #expect(obstacles.map(\.property) == ["x", "y"])
  }
}
