// OpenCoreData
// SPDX-License-Identifier: Apache-2.0

import Foundation
import Testing

@testable import CoreData

/// An edit of a model that a coordinator uses; every one must trap.
enum FrozenEdit: String, CaseIterable, Codable, Sendable {
  case modelTemplate, propertyValidation, indexPredicate
  case modelEntities, modelConfiguration, modelVersionIdentifiers, modelLocalization
  case entityName, entityProperties, entitySubentities, entityAbstract, entityClass, entityRenaming, entityModifier
  case entityConstraints, entityIndexes
  case propertyName, propertyOptional, propertyTransient, propertyRenaming, propertyModifier
  case propertySpotlight
  case attributeType, attributeDefault, attributeClass, attributeTransformer, attributeExternal, attributeHistory
  case attributeEncryption
  case relationshipDestination, relationshipInverse, relationshipMax, relationshipMin, relationshipRule
  case relationshipOrdered
  case indexName, indexElements, elementCollation, elementOrder, elementExpression
  case compositeElements, elementOfComposite

  func perform() {
    let model = ModelSamples.company()
    let department = model.entities.first { $0.name == "Department" }!
    let composite = NSCompositeAttributeDescription()
    composite.name = "address"
    composite.elements = [ModelSamples.attribute("street", .string)]
    department.properties += [composite]
    let name = department.attributesByName["name"]!
    let staff = department.relationshipsByName["staff"]!
    let index = department.indexes[0]
    let expression = NSExpressionDescription()
    index.elements += [NSFetchIndexElementDescription(property: expression, collationType: .binary)]
    model.freeze()
    switch self {
    case .modelTemplate: model.setFetchRequestTemplate(nil, forName: "A")
    case .propertyValidation: name.setValidationPredicates(nil, withValidationWarnings: nil)
    case .indexPredicate: index.partialIndexPredicate = nil
    case .modelEntities: model.entities = []
    case .modelConfiguration: model.setEntities([], forConfigurationName: "A")
    case .modelVersionIdentifiers: model.versionIdentifiers = ["1"]
    case .modelLocalization: model.localizationDictionary = [:]
    case .entityName: department.name = "Team"
    case .entityProperties: department.properties = []
    case .entitySubentities: department.subentities = []
    case .entityAbstract: department.isAbstract = true
    case .entityClass: department.managedObjectClassName = "Team"
    case .entityRenaming: department.renamingIdentifier = "Team"
    case .entityModifier: department.versionHashModifier = "1"
    case .entityConstraints: department.uniquenessConstraints = [["name"]]
    case .entityIndexes: department.indexes = []
    case .propertyName: name.name = "title"
    case .propertyOptional: name.isOptional = false
    case .propertyTransient: name.isTransient = true
    case .propertyRenaming: name.renamingIdentifier = "title"
    case .propertyModifier: name.versionHashModifier = "1"
    case .propertySpotlight: name.isIndexedBySpotlight = true
    case .attributeType: name.type = .integer16
    case .attributeDefault: name.defaultValue = "none"
    case .attributeClass: name.attributeValueClassName = "NSURL"
    case .attributeTransformer: name.valueTransformerName = "T"
    case .attributeExternal: name.allowsExternalBinaryDataStorage = true
    case .attributeHistory: name.preservesValueInHistoryOnDeletion = true
    case .attributeEncryption: name.allowsCloudEncryption = true
    case .relationshipDestination: staff.destinationEntity = department
    case .relationshipInverse: staff.inverseRelationship = nil
    case .relationshipMax: staff.maxCount = 1
    case .relationshipMin: staff.minCount = 1
    case .relationshipRule: staff.deleteRule = .denyDeleteRule
    case .relationshipOrdered: staff.isOrdered = true
    case .indexName: index.name = "other"
    case .indexElements: index.elements = []
    case .elementCollation: index.elements[0].collationType = .rTree
    case .elementOrder: index.elements[0].isAscending = false
    case .elementExpression: expression.resultType = .string
    case .compositeElements: composite.elements = []
    case .elementOfComposite: composite.elements[0].isOptional = false
    }
  }
}

@Suite("Models that a coordinator uses")
struct FrozenModelTests {
  @Test("Every edit traps and says why", arguments: FrozenEdit.allCases)
  func edit(_ edit: FrozenEdit) async throws {
    let result = try await #require(processExitsWith: .failure, observing: [\.standardErrorContent]) { [edit] in
      edit.perform()
    }
    let words = String(decoding: result.standardErrorContent, as: UTF8.self)
    #expect(words.contains("cannot be changed, since a coordinator uses the model. Edit a copy of it."))
  }

  @Test("Freezing twice does no harm, and reading goes on")
  func freezingTwice() {
    let model = ModelSamples.company()
    let hashes = model.entityVersionHashesByName
    model.freeze()
    model.freeze()
    #expect(model.entityVersionHashesByName == hashes)
    #expect(model.entitiesByName["Employee"]?.propertiesByName.count == 6)
  }
}
