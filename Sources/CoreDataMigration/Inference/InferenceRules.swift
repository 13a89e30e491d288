// OpenCoreData
// SPDX-License-Identifier: Apache-2.0

import CoreDataModelFiles

/// The changes of attributes for which a mapping can be inferred.
package enum AttributeRules {
  /// What is wrong with an attribute that is in both versions.
  package static func obstacle(
    from source: AttributeDocument, to destination: AttributeDocument, entity: String
  ) -> InferenceObstacle? {
    guard source.kind == destination.kind || (source.kind.isNumeric && destination.kind.isNumeric) else {
      return InferenceObstacle(
        "Source and destination attribute types are incompatible: '\(destination.name)' of entity '\(entity)' is "
          + "\(source.kind.title) in the source, \(destination.kind.title) in the destination.",
        advice:
          "Write a mapping model that converts the values. If they may be dropped, give the attribute another renaming "
          + "identifier.", entity: entity, property: destination.name)
    }
    guard destination.kind == .composite else { return nil }
    let elements = Pairing(source.elements, destination.elements, name: \.name, declared: \.renamingIdentifier)
    return elements.matched.lazy.compactMap { obstacle(from: $0.source, to: $0.destination, entity: entity) }.first
      ?? elements.added.lazy.compactMap { obstacle(addingElement: $0, entity: entity) }.first
  }

  /// What is wrong with an attribute that is new in an entity which may have objects.
  ///
  /// Whether the store has objects without a required value is checked by the migration.
  package static func obstacle(adding attribute: AttributeDocument, entity: String) -> InferenceObstacle? {
    guard attribute.kind == .composite, !attribute.isOptional else { return nil }
    return attribute.elements.lazy.compactMap { obstacle(addingElement: $0, entity: entity) }.first
  }

  /// Whether a new attribute leaves existing objects without a required value.
  package static func needsValue(_ attribute: AttributeDocument) -> Bool {
    attribute.kind != .composite && !attribute.isOptional && attribute.defaultValue == nil
      && attribute.derivation == nil
  }

  private static func obstacle(addingElement attribute: AttributeDocument, entity: String) -> InferenceObstacle? {
    guard needsValue(attribute) else { return obstacle(adding: attribute, entity: entity) }
    return InferenceObstacle(
      "The attribute '\(attribute.name)' of entity '\(entity)' is new and required, but has no default value for the "
        + "objects that exist.",
      advice: "Give it a default value, or make it optional.", entity: entity, property: attribute.name)
  }
}

/// The changes of relationships for which a mapping can be inferred.
package struct RelationshipRules {
  package let inference: MappingInference

  /// What is wrong with a relationship that is in both versions.
  package func obstacle(
    from source: RelationshipDocument, to destination: RelationshipDocument, entity: String
  ) -> InferenceObstacle? {
    if source.isToMany, !destination.isToMany {
      return InferenceObstacle(
        "The relationship '\(destination.name)' of entity '\(entity)' is to-many in the source and to-one in the "
          + "destination; there is no telling which object to keep.",
        advice: adviceForOne(of: source, destination), entity: entity, property: destination.name)
    }
    // A to-many relationship may be empty until its object is validated the next time.
    guard !destination.isOptional, !destination.isToMany, !leadsToSame(source, destination, orBelow: false) else {
      return nil
    }
    let old = source.destinationEntityName ?? ""
    let new = destination.destinationEntityName ?? ""
    return InferenceObstacle(
      "The required relationship '\(destination.name)' of entity '\(entity)' leads to '\(old)' in the source and to '\(new)' in "
        + "the destination; the objects that exist have nothing to put there.",
      advice: "Make it optional, or give '\(new)' the renaming identifier of '\(old)' if it is the same entity.",
      entity: entity, property: destination.name)
  }

  /// Where the inverse is kept, a new relationship is filled from it.
  private func adviceForOne(of source: RelationshipDocument, _ destination: RelationshipDocument) -> String {
    let old = inference.source.relationships(of: source.destinationEntityName ?? "")
      .first { $0.name == source.inverseName }
    let new = inference.destination.relationships(of: destination.destinationEntityName ?? "")
      .first { $0.name == destination.inverseName }
    guard let old, let new, new.isToMany, destination.isOptional,
      (old.renamingIdentifier ?? old.name) == (new.renamingIdentifier ?? new.name)
    else {
      return "Write a mapping model that chooses one, or give the relationship another renaming identifier to drop its "
        + "objects."
    }
    return
      "Write a mapping model that chooses one. Where no object has several, give the relationship another renaming "
      + "identifier: its objects are then those that its inverse '\(new.name)' knows."
  }

  /// Whether the relationship has a different destination entity, so that its links cannot be kept.
  ///
  /// The destination may become an ancestor or a sub-entity of what it was: then links to objects of that kind are kept.
  package func isRedirected(from source: RelationshipDocument, to destination: RelationshipDocument) -> Bool {
    !leadsToSame(source, destination, orBelow: true)
  }

  private func leadsToSame(_ source: RelationshipDocument, _ destination: RelationshipDocument, orBelow: Bool) -> Bool {
    guard let old = source.destinationEntityName, let new = destination.destinationEntityName else { return true }
    guard let successor = inference.destinationNames[old] else { return false }
    let index = inference.destination.index
    return index.lineage(of: successor).contains { $0.name == new }
      || (orBelow && index.lineage(of: new).contains { $0.name == successor })
  }

  /// What is wrong with a relationship that is new in an entity which may have objects.
  package func obstacle(adding relationship: RelationshipDocument, entity: String) -> InferenceObstacle? {
    guard !relationship.isOptional, !relationship.isToMany else { return nil }
    return InferenceObstacle(
      "The relationship '\(relationship.name)' of entity '\(entity)' is new and required, but the objects that exist have "
        + "nothing to put there.",
      advice: "Make it optional.", entity: entity, property: relationship.name)
  }
}
