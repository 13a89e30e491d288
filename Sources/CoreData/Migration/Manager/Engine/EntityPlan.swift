// OpenCoreData
// SPDX-License-Identifier: Apache-2.0

import CoreDataPredicates
import Foundation

/// One entity mapping, made ready: checked against the models, with its policy and with expressions as far as possible
/// turned into positions.
final class EntityPlan {
  let mapping: NSEntityMapping
  let name: String
  let sourceEntity: NSEntityDescription?
  let destinationEntity: NSEntityDescription?
  let policy: NSEntityMigrationPolicy
  let sources: SourceObjects
  let attributes: [AttributePlan]
  let relationships: [RelationshipPlan]
  /// The numbers of the entities in their stores.
  let sourceNumber: Int32?
  let destinationNumber: Int32?
  /// Where the mapping's associations are; nil for a mapping that has none.
  var table: Int?
  /// What is added to a source's key to get its destination's; nil where keys are given out one by one.
  var offset: Int64?
  /// All keys of the source's table; nil where keys are given out one by one.
  var sourceKeys: ClosedRange<Int64>?

  /// Where source objects come from.
  enum SourceObjects {
    /// There are none: an added or removed entity.
    case none
    /// All objects of the source entity, without those of sub-entities.
    case all
    /// What a fetch request finds.
    case request(ExpressionSyntax, context: ExpressionSyntax)
    /// A collection.
    case collection(ExpressionSyntax)
  }

  init(
    mapping: NSEntityMapping, sourceEntity: NSEntityDescription?, destinationEntity: NSEntityDescription?,
    numbers: (source: Int?, destination: Int?), policy: NSEntityMigrationPolicy, sources: SourceObjects,
    attributes: [AttributePlan], relationships: [RelationshipPlan]
  ) {
    self.mapping = mapping
    name = mapping.name ?? ""
    self.sourceEntity = sourceEntity
    self.destinationEntity = destinationEntity
    sourceNumber = numbers.source.map { Int32($0) }
    destinationNumber = numbers.destination.map { Int32($0) }
    self.policy = policy
    self.sources = sources
    self.attributes = attributes
    self.relationships = relationships
  }

  /// Whether a relationship without inverse leads to objects of the destination entity.
  private(set) lazy var isTargetWithoutInverse =
    destinationEntity.map { destination in
      destination.managedObjectModel.entities.contains { entity in
        entity.relationshipsByName.values.contains { relationship in
          relationship.inverseRelationship == nil
            && relationship.destinationEntity.map { destination.isKindOf(entity: $0) } ?? false
        }
      }
    } ?? true

  /// Whether nobody but the framework has a say in this mapping.
  var isPlain: Bool { type(of: policy) == NSEntityMigrationPolicy.self }

  /// Whether each relationship is a key in the row, taken from a key in the source's row, which nothing but the row itself
  /// has to know of.
  private(set) lazy var hasPlainRelationships = relationships.allSatisfy { relationship in
    guard case .mapping(_, .relationship(let name)) = relationship.value,
      let origin = sourceEntity?.relationshipsByName[name], !origin.isToMany,
      let inverse = relationship.relationship.inverseRelationship
    else { return false }
    return !relationship.relationship.isToMany && inverse.isToMany && !inverse.isOrdered
  }

  /// Where in the mapping model this is, for errors.
  var place: MappingErrors.Place {
    MappingErrors.Place(mapping: name, entity: mapping.destinationEntityName ?? mapping.sourceEntityName)
  }

  func place(_ property: String, _ expression: ExpressionSyntax?) -> MappingErrors.Place {
    var place = place
    place.property = property
    place.expression = expression.map { PredicatePrinter().format($0) }
    return place
  }
}

/// How one attribute gets its value.
final class AttributePlan {
  enum Value {
    /// The value of a source attribute as it stands in its slot.
    case copy(position: Int)
    /// The value of a source attribute, converted.
    case convert(position: Int)
    case constant(Slot)
    case expression
  }

  let name: String
  let position: Int
  let attribute: NSAttributeDescription
  let value: Value
  let syntax: ExpressionSyntax
  let mapping: NSPropertyMapping
  /// Whether a missing value leaves the default value standing.
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

/// How one relationship gets its objects.
final class RelationshipPlan {
  enum Value {
    /// What certain mappings have made of some source objects.
    case mapping(name: String, of: Sources)
    /// What any mapping has made of some source objects.
    case anyMapping(of: Sources)
    case expression
  }

  enum Sources {
    case itself
    case relationship(String)
  }

  let name: String
  let position: Int
  let relationship: NSRelationshipDescription
  let value: Value
  let syntax: ExpressionSyntax
  let mapping: NSPropertyMapping

  init(
    name: String, position: Int, relationship: NSRelationshipDescription, value: Value, syntax: ExpressionSyntax,
    mapping: NSPropertyMapping
  ) {
    self.name = name
    self.position = position
    self.relationship = relationship
    self.value = value
    self.syntax = syntax
    self.mapping = mapping
  }
}
