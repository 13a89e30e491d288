// OpenCoreData
// SPDX-License-Identifier: Apache-2.0

import CoreDataPredicates
import Foundation

/// Attributes and relationships.
extension XCDataModelWriter {
  mutating func attribute(_ attribute: AttributeDocument, entity: String) throws -> XMLOutput {
    var element = Self.named("attribute", attribute.name)
    element.set("optional", flag: attribute.isOptional)
    element.set("transient", flag: attribute.isTransient)
    element.set("attributeType", attribute.kind.sourceName)
    if attribute.kind == .composite { element.set("composite", compositeName(of: attribute)) }
    try setValues(of: attribute, entity: entity, in: &element)
    if let derivation = attribute.derivation {
      element.set("derived", "YES")
      element.set("derivationExpression", text(of: derivation))
    }
    if attribute.usesScalarValueType {
      element.set("usesScalarValueType", "YES")
    } else if style.marksObjectValues, attribute.kind.hasScalarType {
      element.set("usesScalarValueType", "NO")
    }
    element.set("valueTransformerName", attribute.valueTransformerName)
    element.set("customClassName", attribute.valueClassName)
    element.set("allowsExternalBinaryDataStorage", flag: attribute.allowsExternalBinaryDataStorage)
    element.set("allowsCloudEncryption", flag: attribute.allowsCloudEncryption)
    element.set("spotlightIndexingEnabled", flag: attribute.isIndexedBySpotlight)
    element.set("elementID", attribute.renamingIdentifier)
    element.set("versionHashModifier", attribute.versionHashModifier)
    element.set("preserveAfterDeletion", flag: attribute.preservesValueInHistoryOnDeletion)
    element.set("indexed", flag: attribute.isIndexed)
    element.set("syncable", flag: style.syncable == .entitiesAndProperties)
    element.children = try userInfo(attribute.userInfo, entity: entity, property: attribute.name)
    return element
  }

  func relationship(_ relationship: RelationshipDocument, entity: String) throws -> XMLOutput {
    guard relationship.validations.isEmpty else {
      throw Self.unsayable(
        "The relationship has validation rules.", "Check them in the class of the entity.", entity: entity,
        property: relationship.name)
    }
    var element = Self.named("relationship", relationship.name)
    element.set("optional", flag: relationship.isOptional)
    element.set("transient", flag: relationship.isTransient)
    element.set("toMany", flag: relationship.isToMany)
    element.set("minCount", relationship.minCount == 0 ? nil : "\(relationship.minCount)")
    element.set("maxCount", relationship.maxCount == 0 ? nil : "\(relationship.maxCount)")
    element.set("deletionRule", relationship.deleteRule.sourceName)
    element.set("ordered", flag: relationship.isOrdered)
    element.set("destinationEntity", relationship.destinationEntityName)
    element.set("inverseName", relationship.inverseName)
    if relationship.inverseName != nil { element.set("inverseEntity", relationship.destinationEntityName) }
    element.set("spotlightIndexingEnabled", flag: relationship.isIndexedBySpotlight)
    element.set("elementID", relationship.renamingIdentifier)
    element.set("versionHashModifier", relationship.versionHashModifier)
    element.set("syncable", flag: style.syncable == .entitiesAndProperties)
    element.children = try userInfo(relationship.userInfo, entity: entity, property: relationship.name)
    return element
  }

  func fetchedProperty(_ property: FetchedPropertyDocument, entity: String) throws -> XMLOutput {
    var element = Self.named("fetchedProperty", property.name)
    element.set("optional", flag: property.isOptional)
    element.set("elementID", property.renamingIdentifier)
    element.set("versionHashModifier", property.versionHashModifier)
    element.set("syncable", flag: style.syncable == .entitiesAndProperties)
    if var request = property.request {
      // The editor names the request of every fetched property so.
      if request.name.isEmpty { request.name = "fetchedPropertyFetchRequest" }
      element.children.append(try fetchRequest(request, entity: entity, property: property.name))
    }
    element.children += try userInfo(property.userInfo, entity: entity, property: property.name)
    return element
  }

  /// Derivations are mostly written with functions in place of collection operators; where that reads as something
  /// else, they are written as they are.
  private func text(of derivation: ExpressionSyntax) -> String {
    let plain = PredicatePrinter().format(derivation)
    let functions = PredicatePrinter.derivationFormat(derivation)
    // A text that does not parse is no way to write the derivation; the other way is then taken.
    return (try? PredicateParser.parseExpression(functions)) == derivation ? functions : plain
  }
}

extension AttributeKind {
  /// The name of the type in a source.
  var sourceName: String {
    switch self {
    case .undefined: "Undefined"
    case .integer16: "Integer 16"
    case .integer32: "Integer 32"
    case .integer64: "Integer 64"
    case .decimal: "Decimal"
    case .double: "Double"
    case .float: "Float"
    case .string: "String"
    case .boolean: "Boolean"
    case .date: "Date"
    case .binaryData: "Binary"
    case .uuid: "UUID"
    case .uri: "URI"
    case .transformable: "Transformable"
    case .objectID: "ObjectID"
    case .composite: "Composite"
    }
  }

  /// Whether generated classes have the choice of a scalar for values of the type.
  var hasScalarType: Bool {
    switch self {
    case .integer16, .integer32, .integer64, .double, .float, .boolean, .date, .uuid: true
    default: false
    }
  }
}

extension DeleteRuleKind {
  /// The name of the rule in a source.
  var sourceName: String {
    switch self {
    case .noAction: "No Action"
    case .nullify: "Nullify"
    case .cascade: "Cascade"
    case .deny: "Deny"
    }
  }
}
