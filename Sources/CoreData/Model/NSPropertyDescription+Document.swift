// OpenCoreData
// SPDX-License-Identifier: Apache-2.0

import CoreDataModelFiles
import CoreDataPredicates
import Foundation

extension NSAttributeDescription {
  /// A description with the content of a document.
  internal static func make(from document: AttributeDocument) -> NSAttributeDescription {
    let attribute: NSAttributeDescription
    if let derivation = document.derivation {
      let derived = NSDerivedAttributeDescription()
      derived.derivation = derivation
      attribute = derived
    } else if document.kind == .composite {
      let composite = NSCompositeAttributeDescription()
      composite.compositeName = document.compositeName
      composite.elements = document.elements.map(make)
      attribute = composite
    } else {
      attribute = NSAttributeDescription()
    }
    attribute.name = document.name
    attribute.attributeType = NSAttributeType(document.kind)
    attribute.isOptional = document.isOptional
    attribute.isTransient = document.isTransient
    attribute.setDefault(document.defaultValue)
    attribute.declaredValueClassName = document.valueClassName
    attribute.valueTransformerName = document.valueTransformerName
    attribute.allowsExternalBinaryDataStorage = document.allowsExternalBinaryDataStorage
    attribute.preservesValueInHistoryOnDeletion = document.preservesValueInHistoryOnDeletion
    attribute.allowsCloudEncryption = document.allowsCloudEncryption
    attribute.hasIndexFlag = document.isIndexed
    attribute.isIndexedBySpotlight = document.isIndexedBySpotlight
    attribute.usesScalarValueType = document.usesScalarValueType
    attribute.declaredRenamingIdentifier = document.renamingIdentifier
    attribute.versionHashModifier = document.versionHashModifier
    attribute.userInfo = PlainValue.foundationUserInfo(document.userInfo)
    attribute.validations = document.validations
    return attribute
  }

  internal var document: AttributeDocument {
    var document = AttributeDocument(name: name, kind: attributeType.kind, isOptional: isOptional)
    document.isTransient = isTransient
    document.defaultValue =
      archivedDefault.map { .object(OpaqueObject($0)) }
      ?? defaultValue.map { PlainValue($0, kind: attributeType.kind) }
    document.valueClassName = declaredValueClassName
    document.valueTransformerName = valueTransformerName
    document.allowsExternalBinaryDataStorage = allowsExternalBinaryDataStorage
    document.preservesValueInHistoryOnDeletion = preservesValueInHistoryOnDeletion
    document.allowsCloudEncryption = allowsCloudEncryption
    document.isIndexed = hasIndexFlag
    document.isIndexedBySpotlight = isIndexedBySpotlight
    document.usesScalarValueType = usesScalarValueType
    document.renamingIdentifier = declaredRenamingIdentifier
    document.versionHashModifier = versionHashModifier
    document.userInfo = PlainValue.userInfo(userInfo)
    document.validations = validations
    document.derivation = (self as? NSDerivedAttributeDescription)?.derivation
    if let composite = self as? NSCompositeAttributeDescription {
      document.compositeName = composite.compositeName
      document.elements = composite.elements.map(\.document)
    }
    return document
  }
}

extension NSRelationshipDescription {
  /// A description with the content of a document, without destination and inverse.
  internal static func make(from document: RelationshipDocument) -> NSRelationshipDescription {
    let relationship = NSRelationshipDescription()
    relationship.name = document.name
    relationship.isOptional = document.isOptional
    relationship.isTransient = document.isTransient
    relationship.maxCount = document.maxCount
    relationship.minCount = document.minCount
    relationship.isOrdered = document.isOrdered
    relationship.deleteRule = NSDeleteRule(rawValue: document.deleteRule.rawValue) ?? .nullifyDeleteRule
    relationship.isIndexedBySpotlight = document.isIndexedBySpotlight
    relationship.declaredRenamingIdentifier = document.renamingIdentifier
    relationship.versionHashModifier = document.versionHashModifier
    relationship.userInfo = PlainValue.foundationUserInfo(document.userInfo)
    relationship.validations = document.validations
    return relationship
  }

  internal var document: RelationshipDocument {
    var document = RelationshipDocument(
      name: name, destinationEntityName: destinationEntity?.name, inverseName: inverseRelationship?.name)
    document.isOptional = isOptional
    document.isTransient = isTransient
    document.maxCount = maxCount
    document.minCount = minCount
    document.isOrdered = isOrdered
    document.deleteRule = DeleteRuleKind(rawValue: deleteRule.rawValue) ?? .nullify
    document.isIndexedBySpotlight = isIndexedBySpotlight
    document.renamingIdentifier = declaredRenamingIdentifier
    document.versionHashModifier = versionHashModifier
    document.userInfo = PlainValue.userInfo(userInfo)
    document.validations = validations
    return document
  }
}

extension NSFetchedPropertyDescription {
  /// A description with the content of a document.
  internal static func make(from document: FetchedPropertyDocument) -> NSFetchedPropertyDescription {
    let property = NSFetchedPropertyDescription()
    property.name = document.name
    property.isOptional = document.isOptional
    property.isTransient = true
    property.request = document.request.map { StoredRequest($0) }
    property.declaredRenamingIdentifier = document.renamingIdentifier
    property.versionHashModifier = document.versionHashModifier
    property.userInfo = PlainValue.foundationUserInfo(document.userInfo)
    return property
  }

  internal var document: FetchedPropertyDocument {
    var document = FetchedPropertyDocument(name: name, request: request?.document, isOptional: isOptional)
    document.renamingIdentifier = declaredRenamingIdentifier
    document.versionHashModifier = versionHashModifier
    document.userInfo = PlainValue.userInfo(userInfo)
    return document
  }
}
