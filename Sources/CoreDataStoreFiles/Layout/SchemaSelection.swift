// OpenCoreData
// SPDX-License-Identifier: Apache-2.0

import CoreDataModelFiles

/// The entities of a model that one store holds, checked for what the layout relies on.
package struct SchemaSelection {
  package let index: EntityIndex
  /// The entities held, in the document's order. Ancestors belong to it even where a configuration leaves them out,
  /// since their properties and tables are those of their sub-entities.
  package let entities: [EntityDocument]
  private let names: Set<String>

  /// - Parameter stored: the entities that an existing store has. Those below an entity of the configuration belong to it
  ///   too: their rows stand in the same table.
  package init(document: ModelDocument, configuration: String?, stored: Set<String> = []) throws {
    // Sources may repeat in a sub-entity what it inherits. The model that a store carries does not tell the difference, so
    // that the layout must not depend on it.
    var document = document
    document.removeRepeatedProperties()
    index = EntityIndex(document)
    for entity in document.entities {
      try Self.checkLineage(of: entity, in: index)
    }
    guard let configuration else {
      entities = document.entities
      names = Set(document.entities.map(\.name))
      return
    }
    guard let chosen = document.configurations.first(where: { $0.name == configuration }) else {
      throw SchemaProblem.unknownConfiguration(configuration, known: document.configurations.map(\.name))
    }
    var names: Set<String> = []
    for name in chosen.entityNames {
      guard index[name] != nil else { throw SchemaProblem.unknownEntity(name, configuration: configuration) }
      names.formUnion(index.lineage(of: name).map(\.name))
    }
    for name in stored where !Set(index.lineage(of: name).map(\.name)).isDisjoint(with: chosen.entityNames) {
      names.formUnion(index.lineage(of: name).map(\.name))
    }
    self.names = names
    entities = document.entities.filter { names.contains($0.name) }
  }

  private static func checkLineage(of entity: EntityDocument, in index: EntityIndex) throws {
    let line = index.lineage(of: entity.name)
    guard let top = line.last, let parent = top.parentName else { return }
    if index[parent] == nil { throw SchemaProblem.missingParent(entity: top.name, parent: parent) }
    throw SchemaProblem.inheritanceCycle(entity: entity.name)
  }

  package func contains(_ name: String) -> Bool { names.contains(name) }

  package func subentities(of name: String) -> [EntityDocument] {
    index.subentities(of: name).filter { names.contains($0.name) }
  }

  /// Numbers as Core Data gives them to a new store: from 1, parents before children, siblings sorted without case.
  package func freshNumbers() -> [String: Int] {
    var numbers: [String: Int] = [:]
    func number(_ siblings: [EntityDocument]) {
      let ordered = siblings.sorted {
        let (left, right) = ($0.name.lowercased(), $1.name.lowercased())
        return left == right ? $0.name < $1.name : left < right
      }
      for entity in ordered {
        numbers[entity.name] = numbers.count + 1
        number(subentities(of: entity.name))
      }
    }
    number(entities.filter { $0.parentName == nil })
    return numbers
  }

  /// A relationship and the entity that declares it, found from any entity that has it.
  package func relationship(_ name: String, of entity: String) -> DeclaredRelationship? {
    for ancestor in index.lineage(of: entity) {
      if let relationship = ancestor.relationships.first(where: { $0.name == name }) {
        return DeclaredRelationship(entity: ancestor.name, document: relationship)
      }
    }
    return nil
  }

  /// The inverse of a relationship, where it has one that is stored.
  package func inverse(of relationship: DeclaredRelationship) -> DeclaredRelationship? {
    guard let destination = relationship.document.destinationEntityName,
      let name = relationship.document.inverseName,
      let inverse = self.relationship(name, of: destination), !inverse.document.isTransient
    else { return nil }
    return inverse
  }

  /// The relationships of an entity itself that a store can hold: not transient, and with a destination in the store.
  package func storedRelationships(of entity: EntityDocument) throws -> [DeclaredRelationship] {
    try entity.relationships.filter { !$0.isTransient }.sorted { $0.name < $1.name }.compactMap { relationship in
      let destination = relationship.destinationEntityName
      guard let destination, index[destination] != nil else {
        throw SchemaProblem.missingDestination(
          entity: entity.name, relationship: relationship.name, destination: destination)
      }
      return contains(destination) ? DeclaredRelationship(entity: entity.name, document: relationship) : nil
    }
  }
}

extension SchemaProblem {
  package static func inverseOfAnother(_ relationship: DeclaredRelationship) -> SchemaProblem {
    .inverseOfAnother(
      entity: relationship.entity, relationship: relationship.name,
      inverse: [relationship.document.destinationEntityName, relationship.document.inverseName].compactMap { $0 }
        .joined(separator: "."))
  }
}

/// A relationship together with the entity that declares it.
package struct DeclaredRelationship: Hashable {
  package let entity: String
  package let document: RelationshipDocument

  package init(
    entity: String, document: RelationshipDocument
  ) {
    self.entity = entity
    self.document = document
  }

  package var name: String { document.name }

  package static func == (left: DeclaredRelationship, right: DeclaredRelationship) -> Bool {
    left.entity == right.entity && left.name == right.name
  }

  package func hash(into hasher: inout Hasher) {
    hasher.combine(entity)
    hasher.combine(name)
  }
}
