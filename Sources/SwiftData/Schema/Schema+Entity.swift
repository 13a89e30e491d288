// OpenCoreData
// SPDX-License-Identifier: Apache-2.0

import Foundation

extension Schema {
  /// An entity: the description of the models of one class.
  public final class Entity: Codable, Hashable, @unchecked Sendable {
    // Changed only while a schema is built.

    /// The name.
    public var name: String
    /// The entity's own attributes.
    public internal(set) var attributes: Set<Attribute> = []
    /// The entity's own relationships.
    public internal(set) var relationships: Set<Relationship> = []
    /// The groups of properties whose combined values are unique.
    public internal(set) var uniquenessConstraints: [[String]] = []
    /// The groups of properties with a binary index.
    public var indices: [[String]] { indexes.filter { !$0.isRTree }.map(\.names) }
    /// The entities of the subclasses.
    public internal(set) var subentities: Set<Entity> = []
    /// The entity of the superclass.
    public internal(set) weak var superentity: Entity?
    /// The class of the models; nil in a schema that was loaded or made from entities.
    var type: (any PersistentModel.Type)?
    var indexes: [Index] = []

    struct Index: Codable, Hashable {
      var isRTree: Bool
      var names: [String]
    }

    /// Creates an entity.
    public init(_ name: String) { self.name = name }

    /// Creates an entity with properties.
    public convenience init(_ name: String, properties: any SchemaProperty...) {
      self.init(name)
      add(properties)
    }

    /// Creates an entity with subentities and properties.
    public convenience init(_ name: String, subentities: Entity..., properties: any SchemaProperty...) {
      self.init(name)
      add(properties)
      self.subentities = Set(subentities)
      for entity in subentities { entity.superentity = self }
    }

    func add(_ properties: [any SchemaProperty]) {
      for property in properties {
        switch property {
        case let attribute as Attribute: attributes.insert(attribute)
        case let relationship as Relationship: relationships.insert(relationship)
        default: break
        }
        if property.isUnique, !property.name.isEmpty { uniquenessConstraints.append([property.name]) }
      }
    }

    /// The name of the superclass's entity.
    public var superentityName: String? { superentity?.name }
    /// The entity's own attributes by name.
    public var attributesByName: [String: Attribute] { Self.byName(attributes, \.name) }
    /// The entity's own relationships by name.
    public var relationshipsByName: [String: Relationship] { Self.byName(relationships, \.name) }
    /// The entity's own properties, and those of its superclasses.
    public var properties: [any SchemaProperty] { inheritedProperties + storedProperties }
    /// The entity's own properties, in the order of their names.
    public var storedProperties: [any SchemaProperty] {
      (Array(attributes) as [any SchemaProperty] + Array(relationships)).sorted { $0.name < $1.name }
    }
    /// The entity's own properties by name.
    public var storedPropertiesByName: [String: any SchemaProperty] { Self.byName(storedProperties, \.name) }
    /// The properties of the superclasses.
    public var inheritedProperties: [any SchemaProperty] { superentity?.properties ?? [] }
    /// The properties of the superclasses by name.
    public var inheritedPropertiesByName: [String: any SchemaProperty] { Self.byName(inheritedProperties, \.name) }

    private static func byName<Property>(
      _ properties: some Sequence<Property>, _ name: (Property) -> String
    ) -> [String: Property] {
      Dictionary(properties.map { (name($0), $0) }, uniquingKeysWith: { first, _ in first })
    }

    /// Returns whether both have equal contents.
    public static func == (left: Entity, right: Entity) -> Bool {
      left === right
        || (left.name == right.name && left.superentityName == right.superentityName
          && left.attributesByName == right.attributesByName && left.relationshipsByName == right.relationshipsByName
          && Set(left.uniquenessConstraints) == Set(right.uniquenessConstraints)
          && Set(left.indexes) == Set(right.indexes))
    }

    /// Hashes the name.
    public func hash(into hasher: inout Hasher) { hasher.combine(name) }

    private enum CodingKeys: CodingKey {
      case name, attributes, relationships, uniquenessConstraints, indexes, subentities
    }

    /// Decodes what `encode(to:)` wrote.
    public init(from decoder: any Decoder) throws {
      let container = try decoder.container(keyedBy: CodingKeys.self)
      name = try container.decode(String.self, forKey: .name)
      attributes = Set(try container.decodeIfPresent([Attribute].self, forKey: .attributes) ?? [])
      relationships = Set(try container.decodeIfPresent([Relationship].self, forKey: .relationships) ?? [])
      uniquenessConstraints = try container.decodeIfPresent([[String]].self, forKey: .uniquenessConstraints) ?? []
      indexes = try container.decodeIfPresent([Index].self, forKey: .indexes) ?? []
      subentities = Set(try container.decodeIfPresent([Entity].self, forKey: .subentities) ?? [])
      for entity in subentities { entity.superentity = self }
    }

    /// Encodes properties in the order of their names, so that equal schemas give equal files.
    public func encode(to encoder: any Encoder) throws {
      var container = encoder.container(keyedBy: CodingKeys.self)
      try container.encode(name, forKey: .name)
      try container.encode(attributes.sorted { $0.name < $1.name }, forKey: .attributes)
      try container.encode(relationships.sorted { $0.name < $1.name }, forKey: .relationships)
      if !uniquenessConstraints.isEmpty { try container.encode(uniquenessConstraints, forKey: .uniquenessConstraints) }
      if !indexes.isEmpty { try container.encode(indexes, forKey: .indexes) }
      if !subentities.isEmpty { try container.encode(subentities.sorted { $0.name < $1.name }, forKey: .subentities) }
    }
  }
}

extension Schema.Entity: CustomDebugStringConvertible {
  /// The entity, and a line for each property.
  public var debugDescription: String {
    let head = superentityName.map { "\(name): \($0)" } ?? name
    let lines = storedProperties.map { property in
      let mark = property.isOptional ? "?" : ""
      guard let relationship = property as? Schema.Relationship else { return "  \(property.name)\(mark)" }
      let arrow = relationship.isToOneRelationship ? "->" : "->>"
      let inverse = relationship.inverseName.map { " (inverse \($0))" } ?? " (no inverse)"
      return "  \(property.name)\(mark) \(arrow) \(relationship.destination)\(inverse)"
    }
    return ([head] + lines).joined(separator: "\n")
  }
}
