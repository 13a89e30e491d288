// OpenCoreData
// SPDX-License-Identifier: Apache-2.0

import CoreDataModelFiles
import CoreDataPredicates
import Foundation

extension NSEntityDescription {
  /// The entity as plain values, with its own properties only.
  package var document: EntityDocument {
    var document = EntityDocument(
      name: name ?? "", parentName: parent?.name, isAbstract: isAbstract, className: declaredClassName)
    document.renamingIdentifier = declaredRenamingIdentifier
    document.versionHashModifier = versionHashModifier
    document.userInfo = PlainValue.userInfo(userInfo)
    document.attributes = ownProperties.compactMap { ($0 as? NSAttributeDescription)?.document }
    document.relationships = ownProperties.compactMap { ($0 as? NSRelationshipDescription)?.document }
    document.fetchedProperties = ownProperties.compactMap { ($0 as? NSFetchedPropertyDescription)?.document }
    document.indexes = ownIndexes.map(\.document)
    document.compoundIndexes = Self.names(in: ownCompoundIndexes)
    document.uniquenessConstraints = Self.names(in: uniquenessConstraints)
    return document
  }

  /// Makes an entity of a document, without hierarchy, relationships' ends and indexes, which need the whole model.
  internal convenience init(_ document: EntityDocument) {
    self.init()
    name = document.name
    isAbstract = document.isAbstract
    declaredClassName = document.className
    declaredRenamingIdentifier = document.renamingIdentifier
    versionHashModifier = document.versionHashModifier
    userInfo = PlainValue.foundationUserInfo(document.userInfo)
    var list: [NSPropertyDescription] = document.attributes.map(NSAttributeDescription.make)
    list += document.relationships.map(NSRelationshipDescription.make)
    list += document.fetchedProperties.map(NSFetchedPropertyDescription.make)
    properties = list
    uniquenessConstraints = document.uniquenessConstraints
    ownCompoundIndexes = document.compoundIndexes
  }

  /// Adds the indexes of the document, whose elements name properties.
  internal func addIndexes(_ document: EntityDocument) throws {
    indexes = try document.indexes.map { index in
      guard Set(index.elements.map(\.isRTree)).count < 2 else {
        throw ModelErrors.mixedIndex(index.name, entity: document.name)
      }
      let elements = try index.elements.map { try indexElement($0, index: index.name) }
      let description = NSFetchIndexDescription(name: index.name, elements: elements)
      description.partialIndexSyntax = index.partialIndexPredicate
      return description
    }
  }

  private func indexElement(
    _ document: FetchIndexElementDocument, index: String
  ) throws -> NSFetchIndexElementDescription {
    let property: NSPropertyDescription
    if let syntax = document.expression {
      let expression = NSExpressionDescription()
      expression.name = document.propertyName
      expression.syntax = syntax
      property = expression
    } else if let known = propertiesByName[document.propertyName] {
      property = known
    } else {
      throw ModelErrors.unknownIndexProperty(document.propertyName, index: index, entity: name ?? "")
    }
    let element = NSFetchIndexElementDescription(
      property: property, collationType: document.isRTree ? .rTree : .binary)
    element.isAscending = document.isAscending
    return element
  }
}
