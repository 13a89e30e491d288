// OpenCoreData
// SPDX-License-Identifier: Apache-2.0

import CoreDataModelFiles
import CoreDataPredicates

/// A property of a source entity whose values a mapping model drops, because no expression in the entity's mappings
/// reads them.
package struct UnreadProperty: Hashable, Sendable {
  /// The entity whose rows contain the values.
  package let entity: String
  /// The entity that declares the property.
  package let owner: String
  package let property: String
  package let isRelationship: Bool
  /// Whether values may be stored in external files.
  package let isExternal: Bool
  /// The destination entities of the mappings.
  package let destinations: [String]
  /// Whether the mapping model drops the values intentionally.
  package let isIntended: Bool
  /// Whether the model allows the loss, in the user info of the property or of its entity.
  package let isAllowed: Bool
  /// The new properties of the destination for which the mappings have no expression.
  package let open: [String]

  /// Whether neither the mapping model nor the model declares that the values are dropped.
  package var isUnintended: Bool { !isIntended && !isAllowed }

  /// The dropped content, for counting it in a store.
  package var content: DroppedContent {
    let places = Set(destinations + [owner]).map { DroppedContent.Place(entity: $0, property: property) }
    return DroppedContent(
      entity: entity, property: property, isRelationship: isRelationship, aliases: Set(places))
  }

  /// The open properties in words, such as `firstName and lastName have no expression`; nil if there are none.
  package var openWords: String? {
    guard let last = open.last else { return nil }
    guard open.count > 1 else { return "\(last) has no expression" }
    return "\(open.dropLast().joined(separator: ", ")) and \(last) have no expression"
  }
}

extension MappingDocument {
  /// Returns the properties whose values the mapping model drops, sorted by entity and name.
  ///
  /// Ignores entities that no mapping carries over or a migration policy handles, derived and transient properties, and
  /// relationships whose inverse is read.
  ///
  /// A mapping model can drop values intentionally in three ways:
  ///
  /// - The user info of the entity mapping lists the property (`EntityMappingDocument.dropsKey`).
  /// - The destination has the same property, with an expression that does not read it, such as `nil`.
  /// - A new property of the destination has the expression `nil`, and every other new property has an expression or a
  ///   default value.
  package func unreadProperties(from source: ModelDocument, to destination: ModelDocument) -> [UnreadProperty] {
    UnreadProperties(self, from: source, to: destination).found
  }
}

extension EntityMappingDocument {
  /// Whether the mapping copies all properties that both entities have.
  package var copiesAll: Bool { kind == .copy && attributeMappings.isEmpty && relationshipMappings.isEmpty }

  /// Whether the mapping has a custom migration policy.
  package var hasPolicy: Bool { !(policyClassName ?? "").isEmpty }

  /// Whether the mapping creates destination objects from source objects.
  package var carriesObjects: Bool {
    kind != .add && kind != .remove && sourceEntityName != nil && destinationEntityName != nil
  }
}

/// The search for unread properties.
private struct UnreadProperties {
  private let mappings: [EntityMappingDocument]
  private let old: EntityIndex
  private let new: EntityIndex
  /// The keys that expressions of any mapping read from objects other than the source object.
  private let furtherKeys: Set<String>
  private(set) var found: [UnreadProperty] = []

  init(_ mapping: MappingDocument, from source: ModelDocument, to destination: ModelDocument) {
    mappings = mapping.entityMappings.filter(\.carriesObjects)
    (old, new) = (EntityIndex(source), EntityIndex(destination))
    furtherKeys = mappings.flatMap { $0.attributeMappings + $0.relationshipMappings }.compactMap(\.valueExpression)
      .reduce(into: []) { $0.formUnion(ExpressionKeys($1).furtherKeys) }
    for entity in source.entities.sorted(by: { $0.name < $1.name }) where !entity.isAbstract { search(entity.name) }
  }

  private mutating func search(_ entity: String) {
    let coveringMappings = coveringMappings(of: entity)
    guard !coveringMappings.isEmpty, !coveringMappings.contains(where: \.hasPolicy) else { return }
    let reads = coveringMappings.map { Reads($0, of: entity, old, new) }
    guard !reads.contains(where: \.isUnknown) else { return }
    for owner in old.lineage(of: entity) {
      for attribute in owner.attributes.sorted(by: { $0.name < $1.name })
      where !attribute.isTransient && attribute.derivation == nil {
        guard !furtherKeys.contains(attribute.name) else { continue }
        add(
          attribute.name, owner, entity, reads, isRelationship: false,
          isExternal: attribute.allowsExternalBinaryDataStorage)
      }
      for relationship in owner.relationships.sorted(by: { $0.name < $1.name }) where !relationship.isTransient {
        guard !furtherKeys.contains(relationship.name), !isKeptByInverse(relationship) else { continue }
        add(relationship.name, owner, entity, reads, isRelationship: true, isExternal: false)
      }
    }
  }

  private mutating func add(
    _ name: String, _ owner: EntityDocument, _ entity: String, _ reads: [Reads], isRelationship: Bool, isExternal: Bool
  ) {
    guard !reads.contains(where: { $0.keys.contains(name) }) else { return }
    let code = isRelationship ? "DS103" : isExternal ? "DS107" : "DS102"
    let owners: [EntityDocument] = [owner, new[owner.name]].compactMap { $0 }
    let places: [[String: PlainValue]?] = owners.map(\.userInfo) + owners.map { $0.propertyUserInfo(name) }
    found.append(
      UnreadProperty(
        entity: entity, owner: owner.name, property: name, isRelationship: isRelationship, isExternal: isExternal,
        destinations: reads.map(\.destination),
        isIntended: reads.contains { $0.isIntended(name, isRelationship) },
        isAllowed: places.contains { ModelAllowance.reason(for: code, in: $0) != nil },
        open: Set(reads.flatMap { $0.open(isRelationship) }).sorted()))
  }

  /// Returns the mappings that create objects from rows of exactly this entity.
  private func coveringMappings(of entity: String) -> [EntityMappingDocument] {
    mappings.filter { mapping in
      if mapping.sourceEntityName == entity { return true }
      guard case .fetch(let request, _, _)? = mapping.sourceExpression else { return false }
      if case .function(_, MappingExpressions.requestSelector, let arguments) = request {
        return arguments.first == .constant(.string(entity))
      }
      // Any other request may include sub-entities.
      return old.lineage(of: entity).contains { $0.name == mapping.sourceEntityName }
    }
  }

  /// Returns whether the links of a relationship may be kept because mappings of its destination read the inverse.
  private func isKeptByInverse(_ relationship: RelationshipDocument) -> Bool {
    guard let inverse = relationship.inverseName, let destination = relationship.destinationEntityName else {
      return false
    }
    return family(of: destination).contains { entity in
      coveringMappings(of: entity).contains { mapping in
        let reads = Reads(mapping, of: entity, old, new)
        return mapping.hasPolicy || reads.isUnknown || reads.keys.contains(inverse)
      }
    }
  }

  private func family(of entity: String) -> [String] {
    [entity] + old.subentities(of: entity).flatMap { family(of: $0.name) }
  }
}

/// The properties that one entity mapping reads from the rows of one entity.
private struct Reads {
  let destination: String
  /// The source properties that the mapping reads.
  private(set) var keys: Set<String> = []
  /// Whether an expression passes on the source object, so that any property may be read.
  private(set) var isUnknown = false
  private let dropped: Set<String>
  /// The destination properties by source property.
  private let successors: [String: String]
  /// The destination properties with an expression, and whether it is `nil`.
  private var given: [String: Bool] = [:]
  /// The new stored properties of the destination, and whether they have a default value.
  private var added: (attributes: [String: Bool], relationships: [String: Bool]) = ([:], [:])

  init(_ mapping: EntityMappingDocument, of entity: String, _ old: EntityIndex, _ new: EntityIndex) {
    destination = mapping.destinationEntityName ?? ""
    dropped = Set(mapping.intentionallyDropped)
    let (left, right) = (old.lineage(of: entity), new.lineage(of: destination))
    let attributes = Pairing(
      left.flatMap(\.attributes), right.flatMap(\.attributes).filter { !$0.isTransient }, name: \.name,
      declared: \.renamingIdentifier)
    let relationships = Pairing(
      left.flatMap(\.relationships), right.flatMap(\.relationships).filter { !$0.isTransient }, name: \.name,
      declared: \.renamingIdentifier)
    let pairs =
      attributes.matched.map { ($0.source.name, $0.destination.name) }
      + relationships.matched.map { ($0.source.name, $0.destination.name) }
    successors = Dictionary(pairs) { first, _ in first }
    for attribute in attributes.added where attribute.derivation == nil {
      added.attributes[attribute.name] = attribute.defaultValue != nil
    }
    // Derived attributes are computed and need no expression.
    for attribute in right.flatMap(\.attributes) where attribute.derivation != nil { given[attribute.name] = false }
    for relationship in relationships.added { added.relationships[relationship.name] = false }
    if mapping.copiesAll {
      keys = Set(pairs.filter { $0.0 == $0.1 }.map(\.0))
      return
    }
    for property in mapping.attributeMappings + mapping.relationshipMappings {
      guard let expression = property.valueExpression else { continue }
      given[property.name] = expression == .constant(.null)
      let found = ExpressionKeys(expression)
      keys.formUnion(found.sourceKeys.union(found.sourceRelationships))
      isUnknown = isUnknown || found.usesSource
    }
  }

  private func newProperties(_ isRelationship: Bool) -> [String: Bool] {
    isRelationship ? added.relationships : added.attributes
  }

  /// Returns the new properties without an expression.
  func open(_ isRelationship: Bool) -> [String] { newProperties(isRelationship).keys.filter { given[$0] == nil } }

  /// Returns whether the mapping intentionally drops the values of a property that it does not read.
  func isIntended(_ name: String, _ isRelationship: Bool) -> Bool {
    if dropped.contains(name) { return true }
    if let successor = successors[name] { return given[successor] != nil }
    let new = newProperties(isRelationship)
    return new.contains { given[$0.key] == true } && new.allSatisfy { given[$0.key] != nil || $0.value }
  }
}
