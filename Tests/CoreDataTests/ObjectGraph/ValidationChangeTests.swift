// OpenCoreData
// SPDX-License-Identifier: Apache-2.0

import CoreDataTestSupport
import Foundation
import Testing

@testable import CoreData

/// Does during its validation what its name says.
final class ValidationActor: NSManagedObject, @unchecked Sendable {
  override func validateForUpdate() throws {
    act()
    try super.validateForUpdate()
  }

  private func act() {
    guard let context = managedObjectContext, let name = self["name"] as? String else { return }
    switch name {
    case "deletes its parent":
      if let parent = self["parent"] as? NSManagedObject, !parent.isDeleted { context.delete(parent) }
    case "inserts":
      self["name"] = "inserted"
      let child = context.make("Node", ["name": "child", "parent": self])
      context.make("Leaf", ["node": child])
    case "shouts": self["name"] = "SHOUTED"
    case "gets a deleted parent":
      self["name"] = "got a deleted parent"
      self["parent"] = context.deletedObjects.first
    default: break
    }
  }
}

@Suite("Changes that validation makes")
struct ValidationChangeTests {
  private static func model() -> NSManagedObjectModel {
    var builder = ModelBuilder()
    builder.entity(
      "Node", [.make("name", .stringAttributeType), .derived("quiet", .stringAttributeType, "lowercase:(name)")]
    ).managedObjectClassName = "CoreDataTests.ValidationActor"
    builder.entity("Leaf", [.make("name", .stringAttributeType, optional: false, default: "leaf")])
    builder.relate(.init("Node", "children", toMany: true), .init("Node", "parent"))
    builder.relate(.init("Node", "leaves", toMany: true, rule: .cascadeDeleteRule), .init("Leaf", "node"))
    builder.relate(.init("Node", "blocked", rule: .denyDeleteRule), .init("Leaf", "blocker"))
    return builder.model()
  }

  private static let kinds = StoreKind.allCases.filter { $0 != .incremental }

  @Test("What validation deletes is deleted by its rules", arguments: kinds)
  func deletion(_ kind: StoreKind) throws {
    let bench = try StoreKindBench(kind, Self.model)
    let context = bench.context()
    let parent = context.make("Node", ["name": "parent"])
    let child = context.make("Node", ["name": "child", "parent": parent])
    let other = context.make("Node", ["name": "other", "parent": parent])
    context.make("Leaf", ["node": parent])
    try context.save()
    child["name"] = "deletes its parent"
    try context.save()
    let fresh = bench.context()
    let found = try fresh.all("Node")
    #expect(found.map { $0["name"] as? String } == ["deletes its parent", "other"])
    #expect(try found.allSatisfy { $0["parent"] == nil } && fresh.all("Leaf").isEmpty)
    #expect(child["parent"] == nil && other["parent"] == nil && !context.hasChanges)
  }

  @Test("A deleted object that validation relates another one to is no destination", arguments: kinds)
  func deletedDestination(_ kind: StoreKind) throws {
    let bench = try StoreKindBench(kind, Self.model)
    let context = bench.context()
    let parent = context.make("Node", ["name": "parent"])
    let child = context.make("Node", ["name": "child"])
    try context.save()
    context.delete(parent)
    child["name"] = "gets a deleted parent"
    try context.save()
    let found = try bench.context().all("Node")
    #expect(found.map { $0["name"] as? String } == ["got a deleted parent"] && found.first?["parent"] == nil)
    #expect(child["parent"] == nil && !context.hasChanges)
  }

  @Test("The rules of what validation deletes are checked")
  func denied() throws {
    let bench = try StoreKindBench(.sqlite, Self.model)
    let context = bench.context()
    let parent = context.make("Node", ["name": "parent", "blocked": context.make("Leaf")])
    let child = context.make("Node", ["name": "child", "parent": parent])
    try context.save()
    child["name"] = "deletes its parent"
    let error = #expect(throws: NSError.self) { try context.save() }
    #expect(error?.code == NSValidationRelationshipDeniedDeleteError)
    #expect(try bench.context().all("Node").map { $0["name"] as? String } == ["child", "parent"])
  }

  @Test("What validation inserts is saved")
  func insertion() throws {
    let bench = try StoreKindBench(.sqlite, Self.model)
    let context = bench.context()
    let node = context.make("Node", ["name": "node"])
    try context.save()
    node["name"] = "inserts"
    try context.save()
    #expect(try bench.context().all("Node").map { $0["name"] as? String } == ["child", "inserted"])
    #expect(try bench.context().all("Leaf").count == 1 && !context.hasChanges)
  }

  @Test("Derived attributes are those of the values that validation has set")
  func derived() throws {
    let bench = try StoreKindBench(.sqlite, Self.model)
    let context = bench.context()
    let node = context.make("Node", ["name": "node"])
    try context.save()
    node["name"] = "shouts"
    try context.save()
    #expect(try bench.context().all("Node").first?["quiet"] as? String == "shouted")
    #expect(node["quiet"] as? String == "shouted" && !context.hasChanges)
  }
}
