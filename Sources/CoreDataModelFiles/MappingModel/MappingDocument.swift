// OpenCoreData
// SPDX-License-Identifier: Apache-2.0

import CoreDataPredicates
import Foundation

/// A mapping model as plain values: what every file format of mapping models is read into and written from.
public struct MappingDocument: Hashable, Sendable {
  /// The mappings in the order of processing.
  public var entityMappings: [EntityMappingDocument]
  /// The name of the source version, where the file says it.
  public var sourceVersionName: String?
  /// The name of the destination version, where the file says it.
  public var destinationVersionName: String?

  /// Whether the file holds no copies of its versions, so that hashes are missing, and what goes by properties of the source
  /// entities; reading it again together with the versions mends that.
  package var lacksModels = false

  /// Makes a document.
  public init(
    entityMappings: [EntityMappingDocument] = [], sourceVersionName: String? = nil,
    destinationVersionName: String? = nil
  ) {
    self.entityMappings = entityMappings
    self.sourceVersionName = sourceVersionName
    self.destinationVersionName = destinationVersionName
  }
}

/// What happens to the objects of an entity; the raw values are those of `NSEntityMappingType`.
public enum EntityMappingKind: UInt, Hashable, Sendable {
  case undefined = 0
  case custom = 1
  case add = 2
  case remove = 3
  case copy = 4
  case transform = 5
}

/// How objects of a source entity become objects of a destination entity.
public struct EntityMappingDocument: Hashable, Sendable {
  /// The name by which expressions refer to the mapping.
  public var name: String
  /// What happens to the objects.
  public var kind: EntityMappingKind
  /// The source entity; nil for an added one.
  public var sourceEntityName: String?
  /// The version hash that the source entity must have.
  public var sourceEntityVersionHash: Data?
  /// The destination entity; nil for a removed one.
  public var destinationEntityName: String?
  /// The version hash that the destination entity must have.
  public var destinationEntityVersionHash: Data?
  /// The class of the migration policy.
  public var policyClassName: String?
  /// What gives the source objects.
  public var sourceExpression: ExpressionSyntax?
  /// How attributes get their values, in the order of processing.
  public var attributeMappings: [PropertyMappingDocument]
  /// How relationships get their objects, in the order of processing.
  public var relationshipMappings: [PropertyMappingDocument]
  /// The developer's own notes.
  public var userInfo: [String: PlainValue]

  /// Makes a mapping without property mappings.
  public init(name: String, kind: EntityMappingKind, sourceEntityName: String?, destinationEntityName: String?) {
    self.name = name
    self.kind = kind
    self.sourceEntityName = sourceEntityName
    self.destinationEntityName = destinationEntityName
    attributeMappings = []
    relationshipMappings = []
    userInfo = [:]
  }

  /// The filter predicate of the mapping editor, as a text; nil where all objects of the source entity are mapped, or
  /// the source expression is not of the editor's making.
  public var filter: String? {
    guard case .fetch(.function(_, MappingExpressions.requestSelector, let arguments), _, _)? = sourceExpression,
      arguments.count == 2, case .constant(.string(let text)) = arguments[1], text != MappingExpressions.noFilter
    else { return nil }
    return text
  }
}

/// How one property of a destination entity gets its value.
public struct PropertyMappingDocument: Hashable, Sendable {
  /// The property of the destination entity.
  public var name: String
  /// What gives the value; nil where the property keeps its default value.
  public var valueExpression: ExpressionSyntax?
  /// The developer's own notes.
  public var userInfo: [String: PlainValue]

  /// Makes a mapping.
  public init(name: String, valueExpression: ExpressionSyntax?, userInfo: [String: PlainValue] = [:]) {
    self.name = name
    self.valueExpression = valueExpression
    self.userInfo = userInfo
  }
}

extension MappingDocument {
  /// Gives every entity mapping the hashes of the entities that it names; those of entities that are not there stay.
  ///
  /// The hashes inside a mapping model grow stale whenever a model is changed after the mapping was drawn.
  package mutating func takeHashes(source: [String: Data], destination: [String: Data]) {
    for position in entityMappings.indices {
      if let hash = entityMappings[position].sourceEntityName.flatMap({ source[$0] }) {
        entityMappings[position].sourceEntityVersionHash = hash
      }
      if let hash = entityMappings[position].destinationEntityName.flatMap({ destination[$0] }) {
        entityMappings[position].destinationEntityVersionHash = hash
      }
    }
  }
}
