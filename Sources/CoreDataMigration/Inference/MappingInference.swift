// OpenCoreData
// SPDX-License-Identifier: Apache-2.0

import CoreDataModelFiles
import Foundation

/// Infers which entities and properties correspond in two model versions, or determines why that is impossible.
package struct MappingInference {
  package let source: ModelSide
  package let destination: ModelSide
  private var obstacles: [InferenceObstacle] = []
  /// The source names of matched entities by destination name. `destinationNames` is the inverse.
  package private(set) var sourceNames: [String: String] = [:]
  package private(set) var destinationNames: [String: String] = [:]
  /// The properties already reported as obstacles, by declaring entity and name, so that sub-entities do not repeat
  /// them.
  private var complaints: Set<[String]> = []

  package init(source: ModelSide, destination: ModelSide) {
    self.source = source
    self.destination = destination
  }

  /// Infers the mapping.
  ///
  /// - Throws: `InferenceFailure` with all obstacles.
  package func run() throws -> InferredMapping {
    var work = self
    let result = work.infer()
    guard work.obstacles.isEmpty else { throw InferenceFailure(obstacles: work.obstacles) }
    return result
  }

  private mutating func infer() -> InferredMapping {
    let entities = Pairing(
      source.document.entities, destination.document.entities, name: \.name, declared: \.renamingIdentifier)
    for (identifier, names) in entities.ambiguous {
      obstacles.append(
        InferenceObstacle(
          "The renaming identifier '\(identifier)' is shared by the entities \(Self.list(names)).",
          advice: "Give each entity of the destination model a renaming identifier of its own.", entity: names.first))
    }
    for (old, new) in entities.matched {
      sourceNames[new.name] = old.name
      destinationNames[old.name] = new.name
    }
    // Process ancestors first, so that an obstacle for an inherited property names the entity that declares it.
    let pairs = entities.matched.map { (depth: destination.depth(of: $0.destination.name), pair: $0) }.sorted {
      ($0.depth, $0.pair.destination.name) < ($1.depth, $1.pair.destination.name)
    }
    var matched: [InferredMapping.EntityMatch] = []
    for (old, new) in pairs.map(\.pair) {
      checkHierarchy(old.name, new.name)
      matched.append(match(old.name, new.name))
    }
    matched.sort { $0.destination < $1.destination }
    return InferredMapping(matched: matched, added: entities.added.map(\.name), removed: entities.removed.map(\.name))
  }

  private mutating func match(_ old: String, _ new: String) -> InferredMapping.EntityMatch {
    var match = InferredMapping.EntityMatch(
      source: old, destination: new, isUnchanged: source.hashes[old] == destination.hashes[new])
    let attributes = Pairing(
      source.attributes(of: old), destination.attributes(of: new), name: \.name, declared: \.renamingIdentifier)
    complain(ofAmbiguous: attributes.ambiguous, entity: new)
    for (left, right) in attributes.matched {
      complain(AttributeRules.obstacle(from: left, to: right, entity: new), entity: new, property: right.name)
    }
    for attribute in attributes.added {
      complain(AttributeRules.obstacle(adding: attribute, entity: new), entity: new, property: attribute.name)
    }
    match.attributes = attributes.matched.map { .init(source: $0.source.name, destination: $0.destination.name) }
    match.addedAttributes = attributes.added.map(\.name)
    if destination.index[new]?.isAbstract != true {
      match.attributesWithoutValue = attributes.added.filter(AttributeRules.needsValue).map(\.name)
    }
    match.removedAttributes = attributes.removed.map(\.name)

    let relationships = Pairing(
      source.relationships(of: old), destination.relationships(of: new), name: \.name, declared: \.renamingIdentifier)
    complain(ofAmbiguous: relationships.ambiguous, entity: new)
    let rules = RelationshipRules(inference: self)
    for (left, right) in relationships.matched {
      complain(rules.obstacle(from: left, to: right, entity: new), entity: new, property: right.name)
    }
    for relationship in relationships.added {
      complain(rules.obstacle(adding: relationship, entity: new), entity: new, property: relationship.name)
    }
    let redirected = relationships.matched.filter { rules.isRedirected(from: $0.source, to: $0.destination) }
    let kept = relationships.matched.filter { !rules.isRedirected(from: $0.source, to: $0.destination) }
    match.relationships = kept.map { .init(source: $0.source.name, destination: $0.destination.name) }
    match.redirectedRelationships = redirected.map { .init(source: $0.source.name, destination: $0.destination.name) }
    match.addedRelationships = (relationships.added + redirected.map(\.destination)).map(\.name).sorted()
    match.removedRelationships = (relationships.removed + redirected.map(\.source)).map(\.name).sorted()
    return match
  }

  /// Checks that an entity does not join a hierarchy that existed without it. It may get a new parent or leave its
  /// hierarchy.
  private mutating func checkHierarchy(_ old: String, _ new: String) {
    let ancestors = destination.index.lineageNames(of: new).dropFirst()
    guard let ancestor = ancestors.first(where: { sourceNames[$0] != nil }),
      let ancestorSource = sourceNames[ancestor],
      source.index.root(of: old)?.name != source.index.root(of: ancestorSource)?.name
    else { return }
    obstacles.append(
      InferenceObstacle(
        "Entity '\(new)' inherits from '\(ancestor)' in the destination, but their hierarchies were separate in the "
          + "source; existing hierarchies cannot be merged.",
        advice: "Write a mapping model, give both a new common parent instead, or keep the hierarchies apart.",
        entity: new))
  }

  private mutating func complain(ofAmbiguous found: [(identifier: String, names: [String])], entity: String) {
    for (identifier, names) in found {
      let obstacle = InferenceObstacle(
        "The renaming identifier '\(identifier)' is shared by the properties \(Self.list(names)) of entity '\(entity)'.",
        advice: "Give each property of the destination entity a renaming identifier of its own.", entity: entity,
        property: names.first)
      complain(obstacle, entity: entity, property: names.first ?? "")
    }
  }

  private mutating func complain(_ obstacle: InferenceObstacle?, entity: String, property: String) {
    guard let obstacle else { return }
    let declaring = destination.entity(declaring: property, for: entity)
    guard complaints.insert([declaring, property]).inserted else { return }
    obstacles.append(obstacle)
  }

  private static func list(_ names: [String]) -> String {
    names.map { "'\($0)'" }.joined(separator: ", ")
  }
}

/// One of the two versions, with inheritance resolved.
package struct ModelSide {
  package let document: ModelDocument
  package let index: EntityIndex
  package let hashes: [String: Data]

  package init(_ document: ModelDocument, hashes: [String: Data]) {
    self.document = document
    self.hashes = hashes
    index = EntityIndex(document)
  }

  /// Returns the persistent attributes, including inherited ones. An entity's own declarations precede inherited ones.
  package func attributes(of name: String) -> [AttributeDocument] {
    unique(index.lineage(of: name).flatMap(\.attributes), name: \.name).filter { !$0.isTransient }
  }

  /// Returns the persistent relationships, including inherited ones.
  package func relationships(of name: String) -> [RelationshipDocument] {
    unique(index.lineage(of: name).flatMap(\.relationships), name: \.name).filter { !$0.isTransient }
  }

  package func depth(of name: String) -> Int {
    index.lineageNames(of: name).count
  }

  /// Returns the name of the entity that declares a property which the entity `name` declares or inherits.
  package func entity(declaring property: String, for name: String) -> String {
    let owner = index.lineage(of: name).first { $0.propertyNames.contains(property) }
    return owner?.name ?? name
  }

  private func unique<Element>(_ list: [Element], name: (Element) -> String) -> [Element] {
    var seen: Set<String> = []
    return list.filter { seen.insert(name($0)).inserted }
  }
}

/// The rules for attribute changes for which a mapping can be inferred.
package enum AttributeRules {
  /// Returns the obstacle in an attribute that exists in both versions, or nil if there is none.
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

  /// Returns the obstacle in an attribute added to an entity that may have objects, or nil if there is none.
  ///
  /// The migration checks whether the store has objects without a required value.
  package static func obstacle(adding attribute: AttributeDocument, entity: String) -> InferenceObstacle? {
    guard attribute.kind == .composite, !attribute.isOptional else { return nil }
    return attribute.elements.lazy.compactMap { obstacle(addingElement: $0, entity: entity) }.first
  }

  /// Returns whether an added attribute leaves existing objects without a required value.
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

/// The rules for relationship changes for which a mapping can be inferred.
package struct RelationshipRules {
  package let inference: MappingInference

  /// Returns the obstacle in a relationship that exists in both versions, or nil if there is none.
  package func obstacle(
    from source: RelationshipDocument, to destination: RelationshipDocument, entity: String
  ) -> InferenceObstacle? {
    if source.isToMany, !destination.isToMany {
      return InferenceObstacle(
        "The relationship '\(destination.name)' of entity '\(entity)' is to-many in the source and to-one in the "
          + "destination; there is no telling which object to keep.",
        advice: adviceForOne(of: source, destination), entity: entity, property: destination.name)
    }
    // A to-many relationship may be empty until its object is next validated.
    guard !destination.isOptional, !destination.isToMany, !leadsToSame(source, destination, orBelow: false) else {
      return nil
    }
    let old = source.destinationEntityName ?? ""
    let new = destination.destinationEntityName ?? ""
    return InferenceObstacle(
      "The required relationship '\(destination.name)' of entity '\(entity)' leads to '\(old)' in the source and to '\(new)' in "
        + "the destination; existing objects have no value for it.",
      advice: "Make it optional, or give '\(new)' the renaming identifier of '\(old)' if it is the same entity.",
      entity: entity, property: destination.name)
  }

  /// Returns the advice for a relationship that becomes to-one. If the inverse is kept, a new relationship is filled
  /// from it.
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

  /// Returns whether the relationship has a different destination entity, so that its links cannot be kept.
  ///
  /// If the new destination is an ancestor or a sub-entity of the old one, links to objects of that entity are kept.
  package func isRedirected(from source: RelationshipDocument, to destination: RelationshipDocument) -> Bool {
    !leadsToSame(source, destination, orBelow: true)
  }

  private func leadsToSame(_ source: RelationshipDocument, _ destination: RelationshipDocument, orBelow: Bool) -> Bool {
    guard let old = source.destinationEntityName, let new = destination.destinationEntityName else { return true }
    guard let successor = inference.destinationNames[old] else { return false }
    let index = inference.destination.index
    return index.isKind(successor, of: new) || (orBelow && index.isKind(new, of: successor))
  }

  /// Returns the obstacle in a relationship added to an entity that may have objects, or nil if there is none.
  package func obstacle(adding relationship: RelationshipDocument, entity: String) -> InferenceObstacle? {
    guard !relationship.isOptional, !relationship.isToMany else { return nil }
    return InferenceObstacle(
      "The relationship '\(relationship.name)' of entity '\(entity)' is new and required, but existing objects have "
        + "no value for it.",
      advice: "Make it optional.", entity: entity, property: relationship.name)
  }
}
