// OpenCoreData
// SPDX-License-Identifier: Apache-2.0

import CoreDataModelFiles
import CoreDataPredicates
import CoreDataTestSupport
import Foundation
import Testing

@testable import CoreData

@Suite("Inferred mapping models")
struct MappingModelTests {
  private typealias I = Inference

  private func models() throws -> (NSManagedObjectModel, NSManagedObjectModel) {
    let source = ModelDocument(entities: [
      I.entity("Folder", [I.attribute("name"), I.attribute("old")], [I.relationship("tags", "Tag", toMany: true)]),
      I.entity("Gone"), I.entity("Tag"),
    ])
    let destination = ModelDocument(entities: [
      I.entity(
        "Box", was: "Folder", [I.attribute("title", was: "name"), I.attribute("made", .date)],
        [I.relationship("tags", "Tag", toMany: true)]),
      I.entity("Maker", [I.attribute("name")]), I.entity("Tag"),
    ])
    return (try NSManagedObjectModel(document: source), try NSManagedObjectModel(document: destination))
  }

  @Test("Mappings carry Apple's names and types, in a fixed order")
  func names() throws {
    let (source, destination) = try models()
    let mapping = try NSMappingModel.inferredMappingModel(forSourceModel: source, destinationModel: destination)
    #expect(
      mapping.entityMappings.map(\.name) == [
        "IEM_Transform_Folder", "IEM_Add_Maker", "IEM_Copy_Tag", "IEM_Remove_Gone",
      ])
    #expect(
      mapping.entityMappings.map(\.mappingType) == [
        .transformEntityMappingType, .addEntityMappingType, .copyEntityMappingType, .removeEntityMappingType,
      ])
    #expect(mapping.entityMappingsByName["IEM_Copy_Tag"] === mapping.entityMappings[2])
    let box = mapping.entityMappings[0]
    #expect(box.sourceEntityName == "Folder")
    #expect(box.destinationEntityName == "Box")
    #expect(box.sourceEntityVersionHash == source.entityVersionHashesByName["Folder"])
    #expect(box.destinationEntityVersionHash == destination.entityVersionHashesByName["Box"])
    #expect(mapping.entityMappings[1].sourceEntityName == nil)
    #expect(mapping.entityMappings[3].destinationEntityVersionHash == nil)
  }

  @Test("Every destination property has a mapping, with the expression that was seen on Apple's systems")
  func expressions() throws {
    let (source, destination) = try models()
    let mapping = try NSMappingModel.inferredMappingModel(forSourceModel: source, destinationModel: destination)
    let box = try #require(mapping.entityMappingsByName["IEM_Transform_Folder"])
    let value = { (name: String) -> ExpressionSyntax in
      .function(operand: .variable("source"), name: "valueForKey:", arguments: [.constant(.string(name))])
    }
    #expect(box.attributeMappings?.map(\.name) == ["made", "title"])
    #expect(box.attributeMappings?.map(\.valueSyntax) == [nil, value("name")])
    #expect(box.attributeMappings?[0].valueExpression == nil)
    #expect(
      box.attributeMappings?[1].valueExpression
        == NSExpression(format: "FUNCTION($source, \"valueForKey:\", \"name\")"))
    #expect(box.sourceExpression?.expressionType == .fetchRequest)
    #expect(box.relationshipMappings?.map(\.name) == ["tags"])
    #expect(
      box.relationshipMappings?.first?.valueSyntax
        == .function(
          operand: .variable("manager"), name: "destinationInstancesForSourceRelationshipNamed:sourceInstances:",
          arguments: [.constant(.string("tags")), value("tags")]))
    #expect(box.userInfo?["mappedProperties"] as? Set<String> == ["title", "tags"])
    #expect(box.userInfo?["addedProperties"] as? Set<String> == ["made"])
    #expect(box.userInfo?["removedProperties"] as? Set<String> == ["old"])
    #expect(mapping.entityMappingsByName["IEM_Add_Maker"]?.attributeMappings?.map(\.name) == ["name"])
    #expect(mapping.inferred?.removed == ["Gone"])
  }

  @Test("What cannot be inferred is error 134190 with reason, entity, property and advice")
  func refusal() throws {
    let source = try NSManagedObjectModel(document: ModelDocument(entities: [I.entity("A", [I.attribute("x")])]))
    let destination = try NSManagedObjectModel(
      document: ModelDocument(entities: [I.entity("A", [I.attribute("x", .date)])]))
    let error = try #require(throws: NSError.self) {
      try NSMappingModel.inferredMappingModel(forSourceModel: source, destinationModel: destination)
    }
    #expect(error.domain == NSCocoaErrorDomain)
    #expect(error.code == NSInferredMappingModelError)
    #expect(error.userInfo["entity"] as? String == "A")
    #expect(error.userInfo["property"] as? String == "x")
    #expect(
      (error.userInfo["reason"] as? String)?.hasPrefix("Source and destination attribute types are incompatible")
        == true)
    #expect(error.localizedRecoverySuggestion?.isEmpty == false)
  }

  @Test("A mapping by hand has a name made of its entities, and changes make a mapping model one's own")
  func byHand() throws {
    let mapping = NSEntityMapping()
    #expect(mapping.name == "->")
    mapping.sourceEntityName = "A"
    mapping.destinationEntityName = "B"
    #expect(mapping.name == "A->B")
    mapping.sourceExpression = NSExpression(format: "$manager.things")
    #expect(mapping.sourceSyntax == .keyPathOf(.variable("manager"), "things"))
    let property = NSPropertyMapping()
    property.valueExpression = NSExpression(forConstantValue: 7)
    #expect(property.valueSyntax == .constant(.integer(7)))
    mapping.name = "AToB"
    #expect(mapping.name == "AToB")
    let (source, destination) = try models()
    let model = try NSMappingModel.inferredMappingModel(forSourceModel: source, destinationModel: destination)
    model.entityMappings = nil
    #expect(model.entityMappings.isEmpty)
    #expect(model.inferred == nil)
  }

  /// One state of a model between two releases has a relationship that leads nowhere yet.
  private func isFinished(_ document: ModelDocument) -> Bool {
    document.entities.flatMap(\.relationships).allSatisfy { $0.destinationEntityName != nil }
  }

  @Test(
    "Every fixture model maps to itself, and neighbouring versions either map or say why not",
    .enabled(if: Fixtures.isPresent, "Fixtures are not there."))
  func fixtures() throws {
    var (mapped, refused) = (0, 0)
    var seen: Set<[ModelDocument]> = []
    for url in Fixtures.modelBundles {
      let documents = try ModelBundle(contentsOf: url).versions.map(\.document)
      // Many bundles are older states of others.
      guard seen.insert(documents).inserted else { continue }
      let versions = try documents.filter(isFinished).map { try NSManagedObjectModel(document: $0) }
      for model in versions {
        let same = try NSMappingModel.inferredMappingModel(forSourceModel: model, destinationModel: model)
        #expect(same.entityMappings.allSatisfy { $0.mappingType == .copyEntityMappingType })
        #expect(same.entityMappings.count == model.entities.count)
      }
      for (source, destination) in zip(versions, versions.dropFirst()) {
        do {
          let mapping = try NSMappingModel.inferredMappingModel(forSourceModel: source, destinationModel: destination)
          #expect(mapping.entityMappings.compactMap(\.destinationEntityName).count == destination.entities.count)
          mapped += 1
        } catch {
          let error = error as NSError
          #expect(error.code == NSInferredMappingModelError)
          #expect(error.userInfo["entity"] is String)
          refused += 1
        }
      }
    }
    #expect(mapped > 20 * refused, "\(mapped) mapped, \(refused) refused")
  }
}
