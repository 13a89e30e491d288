// OpenCoreData
// SPDX-License-Identifier: Apache-2.0

import CoreDataModelFiles

/// A model with lookups of entities' properties, including inherited ones and without transient ones.
package struct ModelShape {
  package struct Place {
    package let entity: String
    package let relationship: RelationshipDocument

    package init(entity: String, relationship: RelationshipDocument) {
      self.entity = entity
      self.relationship = relationship
    }
  }

  package let document: ModelDocument
  private let index: EntityIndex
  /// The results of earlier lookups, by entity.
  private let found = Found()

  private final class Found {
    var attributes: [String: [String: AttributeDocument]] = [:]
    var relationships: [String: [String: Place]] = [:]
  }

  package init(_ document: ModelDocument) {
    self.document = document
    index = EntityIndex(document)
  }

  package subscript(name: String) -> EntityDocument? { index[name] }

  package func attributes(of entity: String) -> [String: AttributeDocument] {
    if let known = found.attributes[entity] { return known }
    let result = Dictionary(
      index.lineage(of: entity).flatMap(\.attributes).filter { !$0.isTransient }.map { ($0.name, $0) },
      uniquingKeysWith: { first, _ in first })
    found.attributes[entity] = result
    return result
  }

  package func relationships(of entity: String) -> [String: Place] {
    if let known = found.relationships[entity] { return known }
    let result = Dictionary(
      index.lineage(of: entity).flatMap { declaring in
        declaring.relationships.filter { !$0.isTransient }
          .map { ($0.name, Place(entity: declaring.name, relationship: $0)) }
      }, uniquingKeysWith: { first, _ in first })
    found.relationships[entity] = result
    return result
  }

  package func isKind(_ entity: String, of other: String) -> Bool {
    index.isKind(entity, of: other)
  }

  package func root(of entity: String) -> String { index.root(of: entity)?.name ?? entity }
}
