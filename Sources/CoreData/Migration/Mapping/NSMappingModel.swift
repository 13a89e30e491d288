// OpenCoreData
// SPDX-License-Identifier: Apache-2.0

import CoreDataMigration
import CoreDataModelFiles
import CoreDataPredicates
import Foundation

/// The mapping of one version of a model to another.
open class NSMappingModel: NSObject {
  private var mappings: [NSEntityMapping] = []

  /// The inferred mapping behind this model; nil for one that was not inferred.
  internal var inferred: InferredMapping?

  /// Makes an empty mapping model.
  public override init() {
    super.init()
  }

  /// The entity mappings, in processing order. Setting nil empties the list.
  open var entityMappings: [NSEntityMapping]! {
    get { mappings }
    set {
      mappings = newValue ?? []
      inferred = nil
    }
  }

  /// The entity mappings by name.
  open var entityMappingsByName: [String: NSEntityMapping] {
    Dictionary(mappings.map { ($0.name ?? "", $0) }) { first, _ in first }
  }

  open override var description: String {
    "(\(type(of: self)) {\(mappings.map { $0.name ?? "" }.joined(separator: ", "))})"
  }
}

extension NSMappingModel {
  /// Makes a mapping model from plain values.
  internal convenience init(document: MappingDocument) {
    self.init()
    entityMappings = document.entityMappings.map(NSEntityMapping.init)
  }

  /// The mapping model as plain values, which can be written to a file.
  package var document: MappingDocument {
    MappingDocument(entityMappings: entityMappings.map(\.document))
  }
}

extension NSEntityMapping {
  internal convenience init(_ document: EntityMappingDocument) {
    self.init()
    name = document.name
    mappingType = NSEntityMappingType(rawValue: document.kind.rawValue) ?? .undefinedEntityMappingType
    sourceEntityName = document.sourceEntityName
    sourceEntityVersionHash = document.sourceEntityVersionHash
    destinationEntityName = document.destinationEntityName
    destinationEntityVersionHash = document.destinationEntityVersionHash
    entityMigrationPolicyClassName = document.policyClassName
    sourceSyntax = document.sourceExpression
    attributeMappings = document.attributeMappings.map(NSPropertyMapping.init)
    relationshipMappings = document.relationshipMappings.map(NSPropertyMapping.init)
    userInfo = PlainValue.foundationUserInfo(document.userInfo)
  }

  internal var document: EntityMappingDocument {
    var document = EntityMappingDocument(
      name: name ?? "", kind: EntityMappingKind(rawValue: mappingType.rawValue) ?? .undefined,
      sourceEntityName: sourceEntityName, destinationEntityName: destinationEntityName)
    document.sourceEntityVersionHash = sourceEntityVersionHash
    document.destinationEntityVersionHash = destinationEntityVersionHash
    document.policyClassName = entityMigrationPolicyClassName
    document.sourceExpression = sourceSyntax
    document.attributeMappings = (attributeMappings ?? []).map(\.document)
    document.relationshipMappings = (relationshipMappings ?? []).map(\.document)
    document.userInfo = PlainValue.userInfo(userInfo)
    return document
  }
}

extension NSPropertyMapping {
  internal convenience init(_ document: PropertyMappingDocument) {
    self.init()
    name = document.name
    valueSyntax = document.valueExpression
    userInfo = PlainValue.foundationUserInfo(document.userInfo)
  }

  internal var document: PropertyMappingDocument {
    PropertyMappingDocument(
      name: name ?? "", valueExpression: valueSyntax, userInfo: PlainValue.userInfo(userInfo))
  }
}
