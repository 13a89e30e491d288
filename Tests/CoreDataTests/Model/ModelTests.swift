// OpenCoreData
// SPDX-License-Identifier: Apache-2.0

import CoreDataModelFiles
import Foundation
import Testing

@testable import CoreData

@Suite("Models")
struct ModelTests {
  @Test("The entity of a public tutorial has the hash that Core Data printed for it")
  func tutorialHash() throws {
    let model = NSManagedObjectModel()
    model.entities = [
      ModelSamples.entity(
        "TSPItem",
        [
          ModelSamples.attribute("createdAt", .date), ModelSamples.attribute("done", .boolean, optional: false),
          ModelSamples.attribute("name", .string),
        ])
    ]
    let hash = try #require(model.entityVersionHashesByName["TSPItem"])
    #expect(
      hash.map { String(format: "%02x", $0) }.joined()
        == "ce1c66934229b0437cfe73244718b0c481c9af4d12e713733288b42e7de7ac62")
    #expect(model.entities[0].versionHash == hash)
    #expect(model.versionChecksum.count == 44)
  }

  @Test("A model is its document, there and back")
  func documentRoundTrip() throws {
    let model = ModelSamples.company()
    model.versionIdentifiers = ["1.0"]
    model.setEntities(model.entities.filter { $0.name == "Department" }, forConfigurationName: "Small")
    let again = try NSManagedObjectModel(document: model.document)
    #expect(again.document == model.document)
    #expect(again == model)
    #expect(again.entityVersionHashesByName == model.entityVersionHashesByName)
    let staff = try #require(again.entitiesByName["Department"]?.relationshipsByName["staff"])
    #expect(staff.inverseRelationship === again.entitiesByName["Employee"]?.ownProperties.last)
  }

  @Test("Indexes over expressions are kept in documents and copies")
  func expressionIndexes() throws {
    let model = ModelSamples.company()
    let department = try #require(model.entitiesByName["Department"])
    let expression = NSExpressionDescription()
    expression.name = "lowercase"
    expression.syntax = .function(operand: nil, name: "lowercase:", arguments: [.keyPath("name")])
    let element = NSFetchIndexElementDescription(property: expression, collationType: .binary)
    element.isAscending = false
    department.indexes += [NSFetchIndexDescription(name: "byLowercase", elements: [element])]
    let again = try NSManagedObjectModel(document: model.document)
    #expect(again == model)
    let copy = try #require(model.copy() as? NSManagedObjectModel)
    #expect(copy == model)
    let twin = try #require(copy.entitiesByName["Department"]?.indexes[1].elements[0])
    #expect(!twin.isAscending)
    #expect(twin.property !== expression)
    #expect((twin.property as? NSExpressionDescription)?.syntax == expression.syntax)
  }

  @Test("Hashes follow edits, of ancestors too")
  func hashesFollowEdits() throws {
    let model = ModelSamples.company()
    let before = model.entityVersionHashesByName
    let person = try #require(model.entitiesByName["Person"])
    let inheritedBefore = try #require(model.entitiesByName["Employee"]?.propertiesByName["born"]).versionHash
    person.attributesByName["born"]?.versionHashModifier = "2"
    #expect(model.entityVersionHashesByName["Person"] != before["Person"])
    #expect(model.entityVersionHashesByName["Employee"] != before["Employee"])
    #expect(model.entityVersionHashesByName["Department"] == before["Department"])
    #expect(model.entitiesByName["Employee"]?.propertiesByName["born"]?.versionHash != inheritedBefore)
    person.attributesByName["born"]?.versionHashModifier = nil
    #expect(model.entityVersionHashesByName == before)
  }

  @Test("A property has the same hash inside a model and outside")
  func propertyHashes() throws {
    let model = ModelSamples.company()
    for property in model.flatMap(\.ownProperties) {
      let copy = try #require(property.copy() as? NSPropertyDescription)
      #expect(property.versionHash.count == 32)
      #expect(copy.versionHash == property.versionHash, "\(property.name)")
    }
  }

  @Test("A configuration is compatible when exactly its entities' hashes are in the metadata")
  func compatibility() {
    let model = ModelSamples.company()
    let hashes = model.entityVersionHashesByName
    let departments = model.entities.filter { $0.name == "Department" }
    model.setEntities(departments, forConfigurationName: "Small")
    func compatible(_ name: String?, _ stored: [String: Data]) -> Bool {
      model.isConfiguration(withName: name, compatibleWithStoreMetadata: ["NSStoreModelVersionHashes": stored])
    }
    #expect(compatible(nil, hashes))
    #expect(!compatible("Small", hashes))
    #expect(compatible("Small", hashes.filter { $0.key == "Department" }))
    #expect(!compatible(nil, hashes.filter { $0.key == "Department" }))
    #expect(!compatible("Unknown", hashes))
    #expect(!compatible(nil, hashes.merging(["More": Data(count: 32)]) { $1 }))
    #expect(!model.isConfiguration(withName: nil, compatibleWithStoreMetadata: [:]))
  }

  @Test("Configurations are found by name; no name means all entities")
  func configurations() {
    let model = ModelSamples.company()
    model.setEntities([model.entities[0]], forConfigurationName: "B")
    model.setEntities([], forConfigurationName: "A")
    #expect(model.configurations == ["A", "B"])
    #expect(model.entities(forConfigurationName: nil)?.count == 3)
    #expect(model.entities(forConfigurationName: "PF_DEFAULT_CONFIGURATION_NAME")?.count == 3)
    #expect(model.entities(forConfigurationName: "B")?.map(\.name) == ["Person"])
    #expect(model.entities(forConfigurationName: "C") == nil)
    model.entities = model.entities.filter { $0.name == "Department" }
    #expect(model.entities(forConfigurationName: "B")?.isEmpty == true)
  }

  @Test("A copy is equal, can be edited, and leads to its own entities")
  func copying() throws {
    let model = ModelSamples.company()
    model.setEntities([model.entities[2]], forConfigurationName: "Small")
    model.versionIdentifiers = ["1"]
    model.freeze()
    let copy = try #require(model.copy() as? NSManagedObjectModel)
    #expect(copy == model)
    #expect(copy.isEditable)
    #expect(!model.isEditable)
    for relationship in copy.flatMap(\.ownProperties).compactMap({ $0 as? NSRelationshipDescription }) {
      #expect(relationship.destinationEntity?.owningModel === copy)
      #expect(relationship.inverseRelationship?.owningEntity?.owningModel === copy)
    }
    let index = try #require(copy.entitiesByName["Department"]?.indexes.first)
    #expect(index.elements[0].property?.entity === copy.entitiesByName["Department"])
    copy.entitiesByName["Department"]?.name = "Team"
    #expect(model.entitiesByName["Department"] != nil)
    #expect(copy != model)
  }

  @Test("Merging unites entities, and takes equal ones once")
  func merging() throws {
    let company = ModelSamples.company()
    company.versionIdentifiers = ["1"]
    let other = NSManagedObjectModel()
    other.entities = [ModelSamples.entity("Note", [ModelSamples.attribute("text", .string)])]
    other.versionIdentifiers = ["2"]
    let merged = try #require(NSManagedObjectModel(byMerging: [company, other, ModelSamples.company()]))
    #expect(Set(merged.entitiesByName.keys) == ["Person", "Employee", "Department", "Note"])
    #expect(merged.versionIdentifiers == ["1", "2"])
    #expect(merged.entitiesByName["Employee"]?.superentity === merged.entitiesByName["Person"])
    #expect(NSManagedObjectModel(byMerging: []) == nil)
  }

  @Test("Merging for metadata picks the versions that the store was made with")
  func mergingForMetadata() throws {
    let first = NSManagedObjectModel()
    first.entities = [ModelSamples.entity("Note", [ModelSamples.attribute("text", .string)])]
    let second = NSManagedObjectModel()
    second.entities = [
      ModelSamples.entity("Note", [ModelSamples.attribute("text", .string), ModelSamples.attribute("at", .date)])
    ]
    let company = ModelSamples.company()
    let hashes = second.entityVersionHashesByName.merging(company.entityVersionHashesByName) { $1 }
    let metadata: [String: Any] = ["NSStoreModelVersionHashes": hashes]
    let merged = try #require(
      NSManagedObjectModel(byMerging: [first, second, company], forStoreMetadata: metadata))
    #expect(merged.isConfiguration(withName: nil, compatibleWithStoreMetadata: metadata))
    #expect(NSManagedObjectModel(byMerging: [first, company], forStoreMetadata: metadata) == nil)
    #expect(NSManagedObjectModel(byMerging: [first], forStoreMetadata: [:]) == nil)
  }

  @Test("Threads may read a model while another freezes it")
  func concurrentReading() async {
    let model = ModelSamples.company()
    await withTaskGroup(of: Int.self) { group in
      for number in 0..<32 {
        group.addTask {
          if number % 4 == 0 { model.freeze() }
          return model.entities.map(\.propertiesByName.count).reduce(0, +)
        }
      }
      for await count in group { #expect(count == 12) }
    }
  }
}
