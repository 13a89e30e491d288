// OpenCoreData
// SPDX-License-Identifier: Apache-2.0

import CoreDataPredicates
import Foundation

/// Attributes and relationships.
extension XCDataModelReader {
  private static let kinds: [String: AttributeKind] = [
    "Undefined": .undefined, "Integer 16": .integer16, "Integer 32": .integer32, "Integer 64": .integer64,
    "Decimal": .decimal, "Double": .double, "Float": .float, "String": .string, "Boolean": .boolean, "Date": .date,
    "Binary": .binaryData, "Binary Data": .binaryData, "UUID": .uuid, "URI": .uri, "Transformable": .transformable,
    "ObjectID": .objectID, "Object ID": .objectID, "Composite": .composite,
  ]

  private static let deleteRules: [String: DeleteRuleKind] = [
    "No Action": .noAction, "Nullify": .nullify, "Cascade": .cascade, "Deny": .deny,
  ]

  func attribute(
    _ element: XMLElementNode, entity: String?, enclosing: [String] = []
  ) throws -> AttributeDocument {
    let name = try name(of: element, entity: entity)
    attributeCount.value += 1
    guard attributeCount.value <= AttributeCount.most, enclosing.count <= AttributeCount.deepest else {
      throw ModelFileError(
        .unsupportedFile,
        found: "The model has more than \(AttributeCount.most) attributes, or composite types nested more than "
          + "\(AttributeCount.deepest) deep.",
        advice: "Use fewer composite types inside others.", file: file, line: element.line, entity: entity,
        property: name)
    }
    let typeName = element["attributeType"] ?? "Undefined"
    guard let kind = Self.kinds[typeName] else {
      throw ModelFileError(
        .unknownAttributeType, found: "The attribute type \"\(typeName)\" is unknown.",
        advice: "Known types are \(Self.kinds.keys.sorted().joined(separator: ", ")).", file: file,
        line: element.line, entity: entity, property: name)
    }
    var attribute = AttributeDocument(name: name, kind: kind, isOptional: element.flag("optional"))
    attribute.isTransient = element.flag("transient")
    attribute.defaultValue = defaultValue(of: element, kind: kind, entity: entity, property: name)
    attribute.valueClassName = element["customClassName"]
    attribute.valueTransformerName = element["valueTransformerName"]
    attribute.allowsExternalBinaryDataStorage = element.flag("allowsExternalBinaryDataStorage")
    attribute.preservesValueInHistoryOnDeletion =
      element.flag("preserveAfterDeletion") || element.flag("preservesValueInHistoryOnDeletion")
    attribute.allowsCloudEncryption = element.flag("allowsCloudEncryption")
    attribute.isIndexed = element.flag("indexed")
    attribute.isIndexedBySpotlight = element.flag("spotlightIndexingEnabled")
    attribute.usesScalarValueType = element.flag("usesScalarValueType")
    attribute.renamingIdentifier = renamingIdentifier(of: element)
    attribute.versionHashModifier = element["versionHashModifier"]
    attribute.userInfo = userInfo(of: element)
    attribute.validations = validations(of: element, kind: kind, entity: entity, property: name)
    if element.flag("derived") {
      attribute.derivation = try expression("derivationExpression", of: element, entity: entity, property: name)
    }
    if kind == .composite {
      attribute.compositeName = element["composite"]
      attribute.elements = try elements(of: element, entity: entity, property: name, enclosing: enclosing)
    }
    return attribute
  }

  /// The elements of a composite attribute, taken from the composite type that it names.
  private func elements(
    of element: XMLElementNode, entity: String?, property: String, enclosing: [String]
  ) throws -> [AttributeDocument] {
    let typeName = element["composite"] ?? ""
    guard let type = composites[typeName] else {
      throw ModelFileError(
        .missingComposite, found: "The composite type \"\(typeName)\" does not exist.",
        advice: "Correct its name, or add it.", file: file, line: element.line, entity: entity, property: property)
    }
    guard !enclosing.contains(typeName) else {
      throw ModelFileError(
        .missingComposite, found: "The composite type \"\(typeName)\" contains itself.",
        advice: "Remove the attribute that closes the ring.", file: file, line: type.line, entity: entity,
        property: property)
    }
    return try type.children("attribute").map {
      try attribute($0, entity: entity, enclosing: enclosing + [typeName])
    }
  }

  func relationship(_ element: XMLElementNode, entity: String) throws -> RelationshipDocument {
    let name = try name(of: element, entity: entity)
    let isToMany = element.flag("toMany")
    var relationship = RelationshipDocument(
      name: name, destinationEntityName: element["destinationEntity"], inverseName: element["inverseName"],
      isToMany: isToMany, isOptional: element.flag("optional"))
    if let count = try integer("maxCount", of: element, entity: entity, property: name) {
      relationship.maxCount = count
    }
    relationship.minCount = try integer("minCount", of: element, entity: entity, property: name) ?? 0
    relationship.isTransient = element.flag("transient")
    relationship.isOrdered = element.flag("ordered")
    let rule = element["deletionRule"] ?? "Nullify"
    guard let deleteRule = Self.deleteRules[rule] else {
      throw ModelFileError(
        .unreadableValue, found: "The deletion rule \"\(rule)\" is unknown.",
        advice: "Known rules are \(Self.deleteRules.keys.sorted().joined(separator: ", ")).", file: file,
        line: element.line, entity: entity, property: name)
    }
    relationship.deleteRule = deleteRule
    relationship.isIndexedBySpotlight = element.flag("spotlightIndexingEnabled")
    relationship.renamingIdentifier = renamingIdentifier(of: element)
    relationship.versionHashModifier = element["versionHashModifier"]
    relationship.userInfo = userInfo(of: element)
    return relationship
  }

  func fetchedProperty(_ element: XMLElementNode, entity: String) throws -> FetchedPropertyDocument {
    let name = try name(of: element, entity: entity)
    let request = try element.children("fetchRequest").first.map {
      try fetchRequest($0, entity: entity, property: name)
    }
    var property = FetchedPropertyDocument(name: name, request: request, isOptional: element.flag("optional"))
    property.renamingIdentifier = renamingIdentifier(of: element)
    property.versionHashModifier = element["versionHashModifier"]
    property.userInfo = userInfo(of: element)
    return property
  }
}

/// Counts attributes: composite types that contain others several times could stand for more than there is memory.
final class AttributeCount {
  static let most = 300_000
  /// As deep as compiled models may nest them.
  static let deepest = 15

  var value = 0
}
