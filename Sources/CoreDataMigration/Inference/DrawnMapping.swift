// OpenCoreData
// SPDX-License-Identifier: Apache-2.0

import CoreDataModelFiles
import CoreDataPredicates

extension MappingDocument {
  /// The mapping model that Xcode draws between two versions as a beginning: a mapping for every entity of the destination
  /// that objects can be of, with all its properties.
  ///
  /// Entities and properties are paired as inference pairs them, by renaming identifiers and names; Xcode goes by names
  /// alone. Entities that are gone get no mapping: their objects are not taken along before somebody says how.
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
      // What is derived is computed.
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
