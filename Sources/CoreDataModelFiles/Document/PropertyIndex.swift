// OpenCoreData
// SPDX-License-Identifier: Apache-2.0

/// Looks up attributes and relationships of entities by name, including inherited ones, in constant time.
package struct PropertyIndex: Sendable {
  /// The entities of the document.
  package let entities: EntityIndex
  private let document: ModelDocument
  private let attributes: Declarations
  private let relationships: Declarations

  /// Indexes the properties of a document.
  package init(_ document: ModelDocument) {
    self.document = document
    entities = EntityIndex(document)
    attributes = Declarations(document.entities.map { $0.attributes.map(\.name) })
    relationships = Declarations(document.entities.map { $0.relationships.map(\.name) })
  }

  /// Returns the attribute of an entity, from the nearest of its ancestors that declares it.
  package func attribute(_ name: String, of entity: String) -> AttributeDocument? {
    attributes.nearest(name, to: entity, entities).map { document.entities[$0.entity].attributes[$0.property] }
  }

  /// Returns the relationship of an entity, with the name of the nearest of its ancestors that declares it.
  package func relationship(
    _ name: String, of entity: String
  ) -> (entity: String, relationship: RelationshipDocument)? {
    relationships.nearest(name, to: entity, entities).map { place in
      let owner = document.entities[place.entity]
      return (owner.name, owner.relationships[place.property])
    }
  }

  /// The entities that declare properties of one kind.
  private struct Declarations: Sendable {
    struct Place: Sendable {
      let entity: Int
      let property: Int
    }

    private struct Key: Hashable, Sendable {
      let entity: Int
      let name: String
    }

    /// The number of entities declaring a name up to which they are compared one by one.
    private static let few = 4

    private var entities: [String: [Int]] = [:]
    private var properties: [Key: Int] = [:]

    init(_ names: [[String]]) {
      for (entity, names) in names.enumerated() {
        for (property, name) in names.enumerated() {
          // If two properties have the same name, the first one is used.
          guard properties[Key(entity: entity, name: name)] == nil else { continue }
          properties[Key(entity: entity, name: name)] = property
          entities[name, default: []].append(entity)
        }
      }
    }

    func nearest(_ name: String, to entity: String, _ index: EntityIndex) -> Place? {
      guard let declaring = entities[name], let position = index.position(of: entity) else { return nil }
      let found: Int?
      if declaring.count <= Self.few {
        let ancestors = declaring.filter { index.isKind(position, of: $0) }
        found = ancestors.first { own in ancestors.allSatisfy { index.isKind(own, of: $0) } }
      } else {
        found = index.linePositions(of: entity).first { properties[Key(entity: $0, name: name)] != nil }
      }
      return found.flatMap { found in
        properties[Key(entity: found, name: name)].map { Place(entity: found, property: $0) }
      }
    }
  }
}
