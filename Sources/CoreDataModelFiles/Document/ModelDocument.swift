// OpenCoreData
// SPDX-License-Identifier: Apache-2.0

import CoreDataPredicates

/// A version of a model as plain values, the common form of all file formats.
public struct ModelDocument: Hashable, Sendable {
  /// The entities in source order. `EntityDocument.parentName` relates them.
  public var entities: [EntityDocument]
  /// The configurations.
  public var configurations: [ConfigurationDocument]
  /// The fetch request templates.
  public var fetchRequestTemplates: [FetchRequestDocument]
  /// The version identifiers. An empty one is kept, because Core Data writes it to stores.
  public var versionIdentifiers: [String]

  /// Creates a document.
  public init(
    entities: [EntityDocument] = [], configurations: [ConfigurationDocument] = [],
    fetchRequestTemplates: [FetchRequestDocument] = [], versionIdentifiers: [String] = []
  ) {
    self.entities = entities
    self.configurations = configurations
    self.fetchRequestTemplates = fetchRequestTemplates
    self.versionIdentifiers = versionIdentifiers
  }
}

/// A configuration: a named subset of a model's entities.
public struct ConfigurationDocument: Hashable, Sendable {
  /// The name.
  public var name: String
  /// The names of its entities.
  public var entityNames: [String]

  /// Creates a configuration.
  public init(name: String, entityNames: [String]) {
    self.name = name
    self.entityNames = entityNames
  }
}

/// A fetch request template, or the request of a fetched property.
public struct FetchRequestDocument: Hashable, Sendable {
  /// The name of the template.
  public var name: String
  /// The name of the fetched entity.
  public var entityName: String
  /// The predicate; nil for all objects.
  public var predicate: PredicateSyntax?
  /// The sort keys.
  public var sortKeys: [SortKeyDocument]
  /// The maximum number of results; 0 for no limit.
  public var fetchLimit: Int
  /// The number of results read at a time; 0 for all.
  public var fetchBatchSize: Int
  /// The raw value of `NSFetchRequestResultType`.
  public var resultType: UInt
  /// Whether objects of subentities are fetched too.
  public var includesSubentities: Bool
  /// Whether values are fetched along with the identifiers.
  public var includesPropertyValues: Bool
  /// Whether results are faults.
  public var returnsObjectsAsFaults: Bool
  /// Whether duplicate results are omitted.
  public var returnsDistinctResults: Bool
  /// Whether unsaved changes are taken into account.
  public var includesPendingChanges: Bool

  /// Creates a request with Core Data's defaults.
  public init(name: String, entityName: String, predicate: PredicateSyntax? = nil) {
    self.name = name
    self.entityName = entityName
    self.predicate = predicate
    sortKeys = []
    fetchLimit = 0
    fetchBatchSize = 0
    resultType = 0
    includesSubentities = true
    includesPropertyValues = true
    returnsObjectsAsFaults = true
    returnsDistinctResults = false
    includesPendingChanges = true
  }
}

/// A sort descriptor of a fetch request template.
public struct SortKeyDocument: Hashable, Sendable {
  /// The key path of the values to compare.
  public var keyPath: String
  /// Whether the order is ascending.
  public var ascending: Bool

  /// Creates a sort key.
  public init(keyPath: String, ascending: Bool) {
    self.keyPath = keyPath
    self.ascending = ascending
  }
}

extension ModelDocument {
  /// Returns the name if the model has a configuration with that name, otherwise nil for all entities.
  package func configuration(_ name: String?) -> String? {
    configurations.contains { $0.name == name } ? name : nil
  }
}

/// Validation of a model, independent of its file format.
extension ModelDocument {
  /// Checks that names are unique, that parents, destinations and inverses exist, and that inheritance has no cycles.
  /// - Throws: `ModelFileError` for the first error found.
  package func validate() throws {
    var names: Set<String> = []
    for entity in entities {
      guard !entity.name.isEmpty else {
        throw ModelFileError(.missingName, found: "An entity has no name.", advice: "Give it one.")
      }
      guard names.insert(entity.name).inserted else {
        throw ModelFileError(
          .duplicateEntity, found: "There are two entities with this name.", advice: "Rename or remove one of them.",
          entity: entity.name)
      }
    }
    let properties = PropertyIndex(self)
    let index = properties.entities
    for entity in entities {
      try validateInheritance(of: entity, index)
    }
    for entity in entities {
      try validateProperties(of: entity, properties)
    }
    for configuration in configurations {
      for name in configuration.entityNames where index[name] == nil {
        throw ModelFileError(
          .missingEntity, found: "The configuration \(configuration.name) lists \(name), which does not exist.",
          advice: "Remove it from the configuration, or add the entity.", entity: name)
      }
    }
    for request in fetchRequestTemplates where index[request.entityName] == nil {
      throw ModelFileError(
        .missingEntity,
        found: "The fetch request \(request.name) fetches \(request.entityName), which does not exist.",
        advice: "Correct the entity's name, or add the entity.", entity: request.entityName)
    }
  }

  private func validateInheritance(of entity: EntityDocument, _ index: EntityIndex) throws {
    guard let parent = index.root(of: entity.name)?.parentName else { return }
    let line = index.lineage(of: entity.name)
    if index[parent] == nil {
      throw ModelFileError(
        .missingParent, found: "The parent entity \(parent) does not exist.",
        advice: "Correct the parent's name, or add the entity.", entity: line.last?.name)
    }
    throw ModelFileError(
      .inheritanceCycle,
      found: "The entity inherits from itself: \((line.map(\.name) + [parent]).joined(separator: " -> ")).",
      advice: "Remove one parent of the cycle.", entity: entity.name)
  }

  private func validateProperties(of entity: EntityDocument, _ index: PropertyIndex) throws {
    var names: Set<String> = []
    for name in entity.propertyNames where !names.insert(name).inserted {
      throw ModelFileError(
        .duplicateProperty, found: "There are two properties with this name.", advice: "Rename or remove one of them.",
        entity: entity.name, property: name)
    }
    for attribute in entity.attributes { try validateElements(of: attribute, path: attribute.name, entity) }
    for relationship in entity.relationships {
      try validate(relationship, of: entity, index)
    }
    guard !entity.uniquenessConstraints.isEmpty else { return }
    let line = index.entities.lineage(of: entity.name)
    for constraint in entity.uniquenessConstraints {
      for name in constraint where !hasProperty(name, line) {
        throw ModelFileError(
          .missingProperty, found: "A uniqueness constraint names \(name), which is not a property of the entity.",
          advice: "Correct the constraint, or add the property.", entity: entity.name, property: name)
      }
    }
  }

  /// Whether an entity has a property with a name, or an element of a composite attribute with a dotted path.
  private func hasProperty(_ path: String, _ line: [EntityDocument]) -> Bool {
    let names = path.split(separator: ".", omittingEmptySubsequences: false).map(String.init)
    if names.count == 1 { return line.contains { $0.propertyNames.contains(path) } }
    var elements = line.flatMap(\.attributes)
    for name in names {
      guard let found = elements.first(where: { $0.name == name }) else { return false }
      elements = found.elements
    }
    return true
  }

  private func validateElements(of attribute: AttributeDocument, path: String, _ entity: EntityDocument) throws {
    var names: Set<String> = []
    for element in attribute.elements {
      let path = "\(path).\(element.name)"
      guard names.insert(element.name).inserted else {
        throw ModelFileError(
          .duplicateProperty, found: "There are two elements with this name.", advice: "Rename or remove one of them.",
          entity: entity.name, property: path)
      }
      try validateElements(of: element, path: path, entity)
    }
  }

  private func validate(_ relationship: RelationshipDocument, of entity: EntityDocument, _ index: PropertyIndex) throws
  {
    guard let destination = relationship.destinationEntityName else {
      throw ModelFileError(
        .missingDestination, found: "The relationship has no destination entity.", advice: "Choose one.",
        entity: entity.name, property: relationship.name)
    }
    guard index.entities[destination] != nil else {
      throw ModelFileError(
        .missingDestination, found: "The destination entity \(destination) does not exist.",
        advice: "Correct the destination's name, or add the entity.", entity: entity.name,
        property: relationship.name)
    }
    guard let inverse = relationship.inverseName else { return }
    guard index.relationship(inverse, of: destination) != nil else {
      throw ModelFileError(
        .missingInverse, found: "The inverse \(destination).\(inverse) does not exist.",
        advice: "Correct the inverse's name, or add the relationship.", entity: entity.name,
        property: relationship.name)
    }
  }
}

extension EntityDocument {
  /// The names of all properties declared by the entity.
  package var propertyNames: [String] {
    attributes.map(\.name) + relationships.map(\.name) + fetchedProperties.map(\.name)
  }
}

/// Removal of inherited properties that are declared again, as model caches do and sources may do.
extension ModelDocument {
  /// Removes the properties that an entity inherits in the same form.
  ///
  /// A property that differs from the inherited one stays, because it overrides it.
  package mutating func removeRepeatedProperties() {
    guard entities.contains(where: { $0.parentName != nil }) else { return }
    let index = EntityIndex(self)
    let attributes = DeclaredProperties<AttributeDocument>(entities, { $0.attributes }, name: { $0.name })
    let relationships = DeclaredProperties<RelationshipDocument>(entities, { $0.relationships }, name: { $0.name })
    let fetched = DeclaredProperties<FetchedPropertyDocument>(entities, { $0.fetchedProperties }, name: { $0.name })
    entities = entities.map { entity in
      guard entity.parentName != nil else { return entity }
      let ancestors = index.lineageNames(of: entity.name).dropFirst()
      guard !ancestors.isEmpty else { return entity }
      var entity = entity
      entity.attributes.removeAll { own in
        attributes.nearest(own.name, in: ancestors).map {
          // Indexes belong to the entity that declares them, and are not repeated.
          var (left, right) = (own, $0)
          left.isIndexed = false
          right.isIndexed = false
          return left == right
        } ?? false
      }
      entity.relationships.removeAll { relationships.nearest($0.name, in: ancestors) == $0 }
      entity.fetchedProperties.removeAll { fetched.nearest($0.name, in: ancestors) == $0 }
      return entity
    }
  }
}

/// The properties of one kind by name and by the entity that declares them.
private struct DeclaredProperties<Property> {
  /// The first property of each entity, for names declared by several entities.
  private var declarations: [String: [String: Property]] = [:]

  init(_ entities: [EntityDocument], _ properties: (EntityDocument) -> [Property], name: (Property) -> String) {
    for entity in entities {
      for property in properties(entity) where declarations[name(property)]?[entity.name] == nil {
        declarations[name(property), default: [:]][entity.name] = property
      }
    }
    declarations = declarations.filter { $0.value.count > 1 }
  }

  /// Returns the property of this name in the first of these entities that declares it.
  func nearest(_ name: String, in entities: ArraySlice<String>) -> Property? {
    guard let declared = declarations[name] else { return nil }
    return entities.lazy.compactMap { declared[$0] }.first
  }
}
