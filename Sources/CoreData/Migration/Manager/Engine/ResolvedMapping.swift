// OpenCoreData
// SPDX-License-Identifier: Apache-2.0

import CoreDataPredicates
import Foundation

/// An entity mapping resolved against both models: its entities, its policy, its source objects, and the kind of each
/// property's expression.
final class ResolvedMapping {
  let mapping: NSEntityMapping
  let name: String
  /// The position in the mapping model, which determines the order in all passes.
  let position: Int
  let sourceEntity: NSEntityDescription?
  let destinationEntity: NSEntityDescription?
  let policy: NSEntityMigrationPolicy
  /// Whether the mapping model is inferred.
  let isInferred: Bool
  let sources: Sources
  let attributes: [ResolvedAttribute]
  let relationships: [ResolvedRelationship]
  /// The numbers of the entities in their stores.
  let sourceNumber: Int32?
  let destinationNumber: Int32?
  /// The position of the mapping's association table; nil if it has none.
  var table: Int?
  /// The difference between a destination's key and its source's key; nil if keys are assigned one by one.
  var offset: Int64?
  /// The range of keys in the source's table; nil if keys are assigned one by one.
  var sourceKeys: ClosedRange<Int64>?
  /// The maximum number of source objects of the mapping, for its progress.
  var sourceCount: Int { sourceKeys.map { Int(clamping: KeyArithmetic.distance($0)) } ?? 0 }
  /// The executors that ran the mapping, and the reason why SQL did not.
  var execution = Execution()

  struct Execution {
    var madeRowsInSQL = false
    var setRelationshipsInSQL = false
    /// The reason why SQL did not run the whole mapping: a predicate whose subject is the mapping.
    var obstacle: String?
    /// The SQL error after which objects ran the mapping.
    var failure: (any Error)?
  }

  /// The origin of the source objects.
  enum Sources {
    /// None: an added or removed entity.
    case none
    /// All objects of the source entity, excluding its sub-entities.
    case all
    /// The results of a fetch request.
    case request(ExpressionSyntax, context: ExpressionSyntax)
    /// The elements of a collection.
    case collection(ExpressionSyntax)
  }

  init(
    mapping: NSEntityMapping, position: Int, sourceEntity: NSEntityDescription?,
    destinationEntity: NSEntityDescription?,
    numbers: (source: Int?, destination: Int?), policy: NSEntityMigrationPolicy, isInferred: Bool,
    sources: Sources, attributes: [ResolvedAttribute], relationships: [ResolvedRelationship]
  ) {
    self.mapping = mapping
    self.position = position
    name = mapping.name ?? ""
    self.sourceEntity = sourceEntity
    self.destinationEntity = destinationEntity
    sourceNumber = numbers.source.map { Int32($0) }
    destinationNumber = numbers.destination.map { Int32($0) }
    self.policy = policy
    self.isInferred = isInferred
    self.sources = sources
    self.attributes = attributes
    self.relationships = relationships
  }

  /// Whether a relationship without an inverse has this destination entity as its destination.
  private(set) lazy var isTargetWithoutInverse =
    destinationEntity.map { destination in
      destination.managedObjectModel.entities.contains { entity in
        entity.relationshipsByName.values.contains { relationship in
          relationship.inverseRelationship == nil
            && relationship.destinationEntity.map { destination.isKindOf(entity: $0) } ?? false
        }
      }
    } ?? true

  /// Whether the mapping has no custom policy class.
  var isPlain: Bool { type(of: policy) == NSEntityMigrationPolicy.self }

  /// The location in the mapping model, for errors.
  var subject: MappingErrors.Subject {
    MappingErrors.Subject(mapping: name, entity: mapping.destinationEntityName ?? mapping.sourceEntityName)
  }

  func subject(_ property: String, _ expression: ExpressionSyntax?) -> MappingErrors.Subject {
    var subject = subject
    subject.property = property
    subject.expression = expression.map { PredicatePrinter().format($0) }
    return subject
  }
}

/// The source of an attribute's value. A class, because it is read for every object, and copying a structure would
/// retain all its parts.
final class ResolvedAttribute {
  enum Value {
    /// The value of a source attribute, copied from its slot.
    case copy(position: Int)
    /// The value of a source attribute, converted.
    case convert(position: Int)
    /// The value of a composite source attribute, element by element.
    case elements(position: Int, CompositePairs)
    case constant(Slot)
    case expression
  }

  let name: String
  let position: Int
  let attribute: NSAttributeDescription
  let value: Value
  let syntax: ExpressionSyntax
  let mapping: NSPropertyMapping
  /// Whether the default value is kept if the source has no value.
  let keepsDefault: Bool

  init(
    name: String, position: Int, attribute: NSAttributeDescription, value: Value, syntax: ExpressionSyntax,
    mapping: NSPropertyMapping, keepsDefault: Bool
  ) {
    self.name = name
    self.position = position
    self.attribute = attribute
    self.value = value
    self.syntax = syntax
    self.mapping = mapping
    self.keepsDefault = keepsDefault
  }
}

/// The source of a relationship's objects.
struct ResolvedRelationship {
  enum Value {
    /// The destinations of some source objects by the named mapping.
    case mapping(name: String, of: Sources)
    /// The destinations of some source objects by any mapping.
    case anyMapping(of: Sources)
    case expression
  }

  enum Sources {
    case itself
    case relationship(String)
  }

  /// The source objects that the expression refers to; nil if finding them requires objects.
  var sources: Sources? {
    switch value {
    case .mapping(_, let sources), .anyMapping(let sources): sources
    case .expression: nil
    }
  }

  let name: String
  let position: Int
  let relationship: NSRelationshipDescription
  let value: Value
  let syntax: ExpressionSyntax
  let mapping: NSPropertyMapping
}
