// OpenCoreData
// SPDX-License-Identifier: Apache-2.0

import CoreDataModelFiles
import CoreDataPredicates
import Foundation
import Testing

@testable import CoreData

@Suite("Predicates and expressions in models")
struct ModelSyntaxTests {
  @Test("Validation rules keep their texts and codes, in models and documents")
  func validation() throws {
    let attribute = ModelSamples.attribute("name", .string)
    let rule = NSPredicate(format: "length <= 8")
    attribute.setValidationPredicates([rule], withValidationWarnings: ["Too long"])
    let tree = try PredicateSyntax(rule)
    #expect(try attribute.validationPredicates.map { try PredicateSyntax($0) } == [tree])
    #expect(attribute.validationWarnings as? [String] == ["Too long"])
    attribute.validations[0].warning = .integer(1660)
    #expect(attribute.validationWarnings as? [Int] == [1660])
    let model = NSManagedObjectModel()
    model.entities = [ModelSamples.entity("Note", [attribute])]
    let again = try NSManagedObjectModel(document: model.document)
    #expect(again == model)
    let copy = try #require(again.entitiesByName["Note"]?.attributesByName["name"])
    #expect(try copy.validationPredicates.map { try PredicateSyntax($0) } == [tree])
    attribute.setValidationPredicates(nil, withValidationWarnings: nil)
    #expect(attribute.validationPredicates.isEmpty)
    #expect(again != model)
  }

  @Test("A derived attribute's expression goes into its version hash")
  func derivation() throws {
    let attribute = NSDerivedAttributeDescription()
    attribute.name = "count"
    attribute.type = .integer64
    attribute.derivationExpression = NSExpression(format: "pages.@count")
    let hash = attribute.versionHash
    attribute.derivationExpression = NSExpression(format: "words.@count")
    #expect(attribute.versionHash != hash)
    let copy = try #require(attribute.copy() as? NSDerivedAttributeDescription)
    #expect(copy.derivationExpression == attribute.derivationExpression)
    attribute.derivationExpression = nil
    #expect(attribute.derivation == nil)
  }

  @Test("An index's predicate and an expression description's expression come back as they were set")
  func others() throws {
    let model = ModelSamples.company()
    let index = try #require(model.entitiesByName["Department"]?.indexes[0])
    let predicate = NSPredicate(format: "name != nil")
    index.partialIndexPredicate = predicate
    let found = try #require(index.partialIndexPredicate)
    #expect(try PredicateSyntax(found) == PredicateSyntax(predicate))
    #expect(try NSManagedObjectModel(document: model.document) == model)
    let description = NSExpressionDescription()
    description.expression = NSExpression(format: "salary * 2")
    #expect(description.expression == NSExpression(format: "salary * 2"))
    description.expressionResultType = .doubleAttributeType
    #expect(description.resultType == .double)
  }
}
