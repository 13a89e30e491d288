// OpenCoreData
// SPDX-License-Identifier: Apache-2.0

import CoreDataModelFiles
import CoreDataPredicates
import Foundation

/// The correspondence between the entities and properties of two model versions, used to create inferred mapping models
/// and to plan in-place migrations.
///
/// Lists of properties contain only persistent attributes and relationships, including inherited ones, sorted by name.
package struct InferredMapping: Hashable, Sendable {
  /// A property in both versions.
  package struct PropertyMatch: Hashable, Sendable {
    package var source: String
    package var destination: String
  }

  /// An entity in both versions.
  package struct EntityMatch: Hashable, Sendable {
    package var source: String
    package var destination: String
    /// Whether the version hashes are equal.
    package var isUnchanged: Bool
    package var attributes: [PropertyMatch] = []
    package var relationships: [PropertyMatch] = []
    /// The names of added attributes in the destination.
    package var addedAttributes: [String] = []
    package var addedRelationships: [String] = []
    /// Added attributes that are required and have no default value: the migration fails if the entity has objects.
    package var attributesWithoutValue: [String] = []
    /// The names of removed attributes in the source.
    package var removedAttributes: [String] = []
    package var removedRelationships: [String] = []
    /// Relationships with a different destination entity, whose links are dropped. They are also listed as removed and
    /// added; this list lets findings name them.
    package var redirectedRelationships: [PropertyMatch] = []
  }

  /// The matched entities, sorted by destination name.
  package var matched: [EntityMatch]
  /// The names of added destination entities, sorted.
  package var added: [String]
  /// The names of removed source entities, sorted.
  package var removed: [String]

  /// Infers the mapping between two versions.
  ///
  /// - Throws: `InferenceFailure` with all obstacles.
  package init(source: ModelDocument, destination: ModelDocument) throws {
    let old = ModelSide(source, hashes: VersionHashes(source).entities)
    let new = ModelSide(destination, hashes: VersionHashes(destination).entities)
    self = try MappingInference(source: old, destination: new).run()
  }

  package init(matched: [EntityMatch], added: [String], removed: [String]) {
    self.matched = matched
    self.added = added
    self.removed = removed
  }

  /// The first added attribute that would leave existing objects without a required value.
  package var attributeWithoutValue: (entity: String, attribute: String)? {
    for match in matched {
      if let attribute = match.attributesWithoutValue.first { return (match.destination, attribute) }
    }
    return nil
  }

  package func match(ofSource name: String) -> EntityMatch? {
    matched.first { $0.source == name }
  }
}

extension MappingDocument {
  /// Returns a mapping model as a starting point, like the one that Xcode creates between two versions: it maps every
  /// destination entity that is not abstract, with all its properties.
  ///
  /// Entities and properties are paired as in inference, by renaming identifiers and names, whereas Xcode uses names
  /// only. Removed entities get no mapping.
  package static func drawn(from source: ModelDocument, to destination: ModelDocument) -> MappingDocument {
    let (oldIndex, newIndex) = (EntityIndex(source), EntityIndex(destination))
    let (oldHashes, newHashes) = (VersionHashes(source).entities, VersionHashes(destination).entities)
    let entities = Pairing(source.entities, destination.entities, name: \.name, declared: \.renamingIdentifier)
    let old = Dictionary(entities.matched.map { ($0.destination.name, $0.source.name) }) { first, _ in first }
    var mappings: [EntityMappingDocument] = []
    for entity in destination.entities.sorted(by: { $0.name < $1.name }) where !entity.isAbstract {
      let before = old[entity.name]
      var mapping = EntityMappingDocument(
        name: before.map { "\($0)To\(entity.name)" } ?? entity.name,
        kind: before == nil ? .add : before == entity.name ? .copy : .transform, sourceEntityName: before,
        destinationEntityName: entity.name)
      mapping.sourceEntityVersionHash = before.flatMap { oldHashes[$0] }
      mapping.destinationEntityVersionHash = newHashes[entity.name]
      mapping.sourceExpression = before.map { MappingExpressions.sourceObjects(entity: $0) }
      let (left, right) = (before.map { oldIndex.lineage(of: $0) } ?? [], newIndex.lineage(of: entity.name))
      let attributes = Pairing(
        left.flatMap(\.attributes).filter { !$0.isTransient }, right.flatMap(\.attributes).filter { !$0.isTransient },
        name: \.name, declared: \.renamingIdentifier)
      let values = Dictionary(attributes.matched.map { ($0.destination.name, $0.source.name) }) { first, _ in first }
      // Derived attributes are computed.
      mapping.attributeMappings = right.flatMap(\.attributes).filter { !$0.isTransient && $0.derivation == nil }
        .map(\.name).sorted().map {
          PropertyMappingDocument(name: $0, valueExpression: values[$0].map { MappingExpressions.sourceValue($0) })
        }
      let relationships = Pairing(
        left.flatMap(\.relationships).filter { !$0.isTransient },
        right.flatMap(\.relationships).filter { !$0.isTransient },
        name: \.name, declared: \.renamingIdentifier)
      let links = Dictionary(relationships.matched.map { ($0.destination.name, $0.source.name) }) { first, _ in first }
      mapping.relationshipMappings = right.flatMap(\.relationships).filter { !$0.isTransient }.map(\.name).sorted().map
      {
        PropertyMappingDocument(
          name: $0, valueExpression: links[$0].map { MappingExpressions.destinationObjects(relationship: $0) })
      }
      mappings.append(mapping)
    }
    return MappingDocument(entityMappings: mappings)
  }
}

/// A reason why a mapping model cannot be inferred.
package struct InferenceObstacle: Hashable, Sendable {
  /// A sentence that says what was found.
  package var reason: String
  /// A sentence that says what to do.
  package var advice: String
  package var entity: String?
  package var property: String?

  package init(_ reason: String, advice: String, entity: String? = nil, property: String? = nil) {
    self.reason = reason
    self.advice = advice
    self.entity = entity
    self.property = property
  }
}

/// All reasons why a mapping model cannot be inferred; never empty.
package struct InferenceFailure: Error, Hashable, Sendable {
  package var obstacles: [InferenceObstacle]
}
