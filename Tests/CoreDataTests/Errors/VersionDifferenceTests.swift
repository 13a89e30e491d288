// OpenCoreData
// SPDX-License-Identifier: Apache-2.0

import CoreDataMigration
import CoreDataModelFiles
import CoreDataTestSupport
import Foundation
import Testing

@testable import CoreData

@Suite("Differences of versions")
struct VersionDifferenceTests {
  private typealias I = Inference

  private func differences(_ store: [EntityDocument], _ model: [EntityDocument]) -> [VersionDifference] {
    VersionDifference.between(store: ModelDocument(entities: store), model: ModelDocument(entities: model))
  }

  @Test("Added and removed properties are named, and changed ones with the aspect")
  func properties() {
    let found = differences(
      [I.entity("Car", [I.attribute("a"), I.attribute("b", .integer16)], [I.relationship("r", "Car")])],
      [
        I.entity(
          "Car", [I.attribute("b", .double, optional: false), I.attribute("c")],
          [I.relationship("r", "Car", toMany: true)])
      ])
    #expect(
      found == [
        VersionDifference(entity: "Car", property: "a", .missingInModel),
        VersionDifference(entity: "Car", property: "b", .aspect("isOptional", store: "true", model: "false")),
        VersionDifference(entity: "Car", property: "b", .aspect("type", store: "Integer 16", model: "Double")),
        VersionDifference(entity: "Car", property: "c", .missingInStore),
        VersionDifference(entity: "Car", property: "r", .aspect("maxCount", store: "1", model: "unlimited")),
      ])
  }

  @Test("What is not part of version hashes is no difference")
  func ignored() {
    let new = I.attribute("a", was: "x") {
      $0.defaultValue = .string("none")
      $0.userInfo = ["key": .string("value")]
    }
    #expect(differences([I.entity("Car", [I.attribute("a")])], [I.entity("Car", [new])]).isEmpty)
  }

  @Test("An entity that differs by its ancestor alone is told by its hash")
  func inherited() throws {
    let found = differences(
      [I.entity("Car", [I.attribute("a")]), I.entity("Van", parent: "Car")],
      [I.entity("Car", [I.attribute("b")]), I.entity("Van", parent: "Car")])
    #expect(found.map(\.entity) == ["Car", "Car", "Van"])
    guard case .hash(let store, let model) = try #require(found.last?.change) else {
      Issue.record("\(found)")
      return
    }
    #expect(store.count == 8 && model.count == 8 && store != model)
  }

  @Test("Entities as such: abstract, superentity, modifier, constraints")
  func entities() {
    var old = I.entity("Van", [I.attribute("a")])
    old.uniquenessConstraints = [["a"]]
    var new = I.entity("Van", parent: "Car", [I.attribute("a")])
    new.isAbstract = true
    new.versionHashModifier = "2"
    let found = differences([I.entity("Car"), old], [I.entity("Car"), new])
    #expect(
      found.map(\.change) == [
        .aspect("isAbstract", store: "false", model: "true"), .aspect("superentity", store: "none", model: "Car"),
        .aspect("uniquenessConstraints", store: "a", model: "none"),
        .aspect("versionHashModifier", store: "none", model: "2"),
      ])
  }

  @Test(
    "Between versions of the fixtures, entities differ exactly when their hashes do",
    .enabled(if: Fixtures.isPresent, "Fixtures are not there."))
  func fixtures() throws {
    let url = Fixtures.url("artsy__energy/Resources/CoreData/ArtsyPartner.xcdatamodeld")
    let documents = try ModelBundle(contentsOf: url).versions.map(\.document)
    #expect(documents.count > 10)
    for (store, model) in zip(documents, documents.dropFirst()) {
      let (old, new) = (VersionHashes(store).entities, VersionHashes(model).entities)
      let changed = Set(old.keys).union(new.keys).filter { old[$0] != new[$0] }
      let found = VersionDifference.between(store: store, model: model)
      #expect(Set(found.map(\.entity)) == changed)
      let byHash = found.filter { if case .hash = $0.change { true } else { false } }
      #expect(byHash.allSatisfy { EntityIndex(model)[$0.entity]?.parentName != nil })
    }
  }
}
