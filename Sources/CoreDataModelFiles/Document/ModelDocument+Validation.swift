// OpenCoreData
// SPDX-License-Identifier: Apache-2.0

/// What must hold between the parts of a model, whatever file it came from.
extension ModelDocument {
  /// Checks that names are unique, parents, destinations and inverses exist, and no entity inherits from itself.
  /// - Throws: `ModelFileError` for the first thing that is wrong.
  package func validate() throws {
    var names: Set<String> = []
    for entity in entities {
      guard !entity.name.isEmpty else {
        throw ModelFileError(.missingName, found: "An entity has no name.", advice: "Give it one.")
      }
      guard names.insert(entity.name).inserted else {
        throw ModelFileError(
          .duplicateEntity, found: "There are two entities of this name.", advice: "Rename or remove one of them.",
          entity: entity.name)
      }
    }
    let index = EntityIndex(self)
    for entity in entities {
      try validateInheritance(of: entity, index)
    }
    for entity in entities {
      try validateProperties(of: entity, index)
    }
    for configuration in configurations {
      for name in configuration.entityNames where index[name] == nil {
        throw ModelFileError(
          .missingEntity, found: "The configuration \(configuration.name) lists \(name), which the model lacks.",
          advice: "Remove it from the configuration, or add the entity.", entity: name)
      }
    }
    for request in fetchRequestTemplates where index[request.entityName] == nil {
      throw ModelFileError(
        .missingEntity,
        found: "The fetch request \(request.name) asks for \(request.entityName), which the model lacks.",
        advice: "Correct the entity's name, or add the entity.", entity: request.entityName)
    }
  }

  private func validateInheritance(of entity: EntityDocument, _ index: EntityIndex) throws {
    let line = index.lineage(of: entity.name)
    guard let parent = line.last?.parentName else { return }
    if index[parent] == nil {
      throw ModelFileError(
        .missingParent, found: "The parent entity \(parent) does not exist.",
        advice: "Correct the parent's name, or add the entity.", entity: line.last?.name)
    }
    throw ModelFileError(
      .inheritanceCycle,
      found: "The entity inherits from itself: \((line.map(\.name) + [parent]).joined(separator: " -> ")).",
      advice: "Remove one parent of the ring.", entity: entity.name)
  }

  private func validateProperties(of entity: EntityDocument, _ index: EntityIndex) throws {
    var names: Set<String> = []
    for name in entity.propertyNames where !names.insert(name).inserted {
      throw ModelFileError(
        .duplicateProperty, found: "There are two properties of this name.", advice: "Rename or remove one of them.",
        entity: entity.name, property: name)
    }
    for relationship in entity.relationships {
      try validate(relationship, of: entity, index)
    }
    let line = index.lineage(of: entity.name)
    let known = Set(line.flatMap(\.propertyNames))
    for constraint in entity.uniquenessConstraints {
      // A constraint may reach into a composite attribute: only its first key is a property of the entity.
      for name in constraint where !known.contains(String(name.prefix { $0 != "." })) {
        throw ModelFileError(
          .missingProperty, found: "A uniqueness constraint names \(name), which is no property of the entity.",
          advice: "Correct the constraint, or add the property.", entity: entity.name, property: name)
      }
    }
  }

  private func validate(
    _ relationship: RelationshipDocument, of entity: EntityDocument, _ index: EntityIndex
  ) throws {
    guard let destination = relationship.destinationEntityName else {
      throw ModelFileError(
        .missingDestination, found: "The relationship has no destination entity.", advice: "Choose one.",
        entity: entity.name, property: relationship.name)
    }
    guard index[destination] != nil else {
      throw ModelFileError(
        .missingDestination, found: "The destination entity \(destination) does not exist.",
        advice: "Correct the destination's name, or add the entity.", entity: entity.name,
        property: relationship.name)
    }
    guard let inverse = relationship.inverseName else { return }
    let candidates = index.lineage(of: destination).flatMap(\.relationships)
    guard candidates.contains(where: { $0.name == inverse }) else {
      throw ModelFileError(
        .missingInverse, found: "The inverse \(destination).\(inverse) does not exist.",
        advice: "Correct the inverse's name, or add the relationship.", entity: entity.name,
        property: relationship.name)
    }
  }
}

extension EntityDocument {
  /// The names of all properties that the entity itself declares.
  package var propertyNames: [String] {
    attributes.map(\.name) + relationships.map(\.name) + fetchedProperties.map(\.name)
  }
}
