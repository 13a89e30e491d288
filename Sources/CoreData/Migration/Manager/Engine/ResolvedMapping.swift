// OpenCoreData
// SPDX-License-Identifier: Apache-2.0

import CoreDataPredicates
import Foundation

/// An entity mapping resolved against both models: its entities and their numbers, its policy, where its source objects come
/// from, and what kind of expression each property has.
final class ResolvedMapping {
  let mapping: NSEntityMapping
  let name: String
  /// The place in the mapping model, which is the order of all passes.
  let position: Int
  let sourceEntity: NSEntityDescription?
  let destinationEntity: NSEntityDescription?
  let policy: NSEntityMigrationPolicy
  let sources: Sources
  let attributes: [ResolvedAttribute]
  let relationships: [ResolvedRelationship]
  /// The numbers of the entities in their stores.
  let sourceNumber: Int32?
  let destinationNumber: Int32?
  /// Where the mapping's associations are; nil for a mapping that has none.
  var table: Int?
  /// What is added to a source's key to get its destination's; nil where keys are given out one by one.
  var offset: Int64?
  /// All keys of the source's table; nil where keys are given out one by one.
  var sourceKeys: ClosedRange<Int64>?
  /// Who has carried the mapping out, and why SQL has not.
  var execution = Execution()

  struct Execution {
    /// Whether SQL has made the rows, and set their relationships.
    var madeRowsInSQL = false
    var setRelationshipsInSQL = false
    /// Why SQL did not carry out all of the mapping: a predicate of which the mapping is the subject.
    var obstacle: String?
    /// What SQL failed with, after which objects have carried the mapping out.
    var failure: (any Error)?
  }

  /// Where source objects come from.
  enum Sources {
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
    mapping: NSEntityMapping, position: Int, sourceEntity: NSEntityDescription?,
    destinationEntity: NSEntityDescription?,
    numbers: (source: Int?, destination: Int?), policy: NSEntityMigrationPolicy, sources: Sources,
    attributes: [ResolvedAttribute], relationships: [ResolvedRelationship]
  ) {
    self.mapping = mapping
    self.position = position
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

/// How one attribute gets its value. A class, since it is asked for every object, and a copy of a structure would retain all
/// its parts.
final class ResolvedAttribute {
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
struct ResolvedRelationship {
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

  /// The source objects that the expression asks for; nil where that takes objects.
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
