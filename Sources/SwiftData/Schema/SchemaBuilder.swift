// OpenCoreData
// SPDX-License-Identifier: Apache-2.0

import Foundation

/// Builds the entities of a schema from model types.
struct SchemaBuilder {
  private var entities: [ObjectIdentifier: Schema.Entity] = [:]
  private var order: [Schema.Entity] = []
  private var issues: [SchemaIssue] = []

  /// Adds types, their superclasses, and the types that their relationships reach.
  mutating func add(_ types: [any PersistentModel.Type]) {
    var pending = types
    while let type = pending.popLast() {
      guard entities[ObjectIdentifier(type)] == nil else { continue }
      let entity = Schema.Entity(String(describing: type))
      entity.type = type
      entities[ObjectIdentifier(type)] = entity
      order.append(entity)
      let properties = type.schemaMetadata
      for property in properties { add(property, to: entity) }
      for property in properties {
        (property.metadata as? any PropertyGroups).map { add($0, of: type, to: entity) }
      }
      pending += entity.relationships.compactMap(\.destinationType)
      pending += ModelLayout.classes(of: type).dropLast().suffix(1)
    }
  }

  private mutating func report(_ issue: SchemaIssue) { issues.append(issue) }

  private mutating func add(_ property: Schema.PropertyMetadata, to entity: Schema.Entity) {
    if property.metadata is any PropertyGroups { return }
    let type = Swift.type(of: property.keypath).valueType
    if let destination = PropertySlot.destination(of: type) {
      addRelationship(property, type, to: destination.type, to: entity)
    } else {
      addAttribute(property, type, to: entity)
    }
  }

  private mutating func addRelationship(
    _ property: Schema.PropertyMetadata, _ type: Any.Type, to destination: any PersistentModel.Type,
    to entity: Schema.Entity
  ) {
    if property.metadata is Schema.Attribute {
      return report(
        .init(
          entity.name, property.name,
          "is a relationship to \(destination), but has the annotation @Attribute. Write @Relationship instead."))
    }
    // An annotation may be one object for several schemas.
    let given = property.metadata as? Schema.Relationship
    let relationship = Schema.Relationship(
      deleteRule: given?.deleteRule ?? .nullify, minimumModelCount: given?.minimumModelCount,
      maximumModelCount: given?.maximumModelCount, originalName: given?.originalName, inverse: given?.inverseKeyPath,
      hashModifier: given?.hashModifier)
    relationship.options = given?.options ?? []
    relationship.name = property.name
    if relationship.originalName.isEmpty { relationship.originalName = property.name }
    relationship.valueType = type
    relationship.keypath = property.keypath
    relationship.destination = String(describing: destination)
    relationship.destinationType = destination
    relationship.isAnnotated = given != nil
    if property.defaultValue != nil, !(property.defaultValue is any EmptyOrNone) {
      report(
        .init(
          entity.name, property.name,
          "has a model as its initial value. A new row of an old store cannot refer to it: set it in init, and make the "
            + "relationship optional if the entity is in a store already."))
    }
    entity.relationships.insert(relationship)
    if relationship.isUnique { entity.uniquenessConstraints.append([property.name]) }
  }

  private mutating func addAttribute(
    _ property: Schema.PropertyMetadata, _ type: Any.Type, to entity: Schema.Entity
  ) {
    if property.metadata is Schema.Relationship {
      return report(
        .init(
          entity.name, property.name,
          "has the annotation @Relationship, but \(type) is neither a model class nor an array of one."))
    }
    let given = property.metadata as? Schema.Attribute
    let options = given?.options ?? []
    let original = given?.originalName ?? ""
    let shape = options.shape(of: type)
    if case .failure(let error) = shape.shape { report(.init(entity.name, property.name, error.sentence)) }
    var kind = Schema.Attribute.self
    if case .success(.composite) = shape.shape { kind = Schema.CompositeAttribute.self }
    let attribute = kind.init(
      name: property.name, originalName: original.isEmpty ? property.name : original, options: options, valueType: type,
      defaultValue: property.defaultValue.flatMap { ($0 as? any OptionalValue).map { $0.someValue } ?? $0 },
      hashModifier: given?.hashModifier)
    entity.attributes.insert(attribute)
    if attribute.isUnique { entity.uniquenessConstraints.append([property.name]) }
  }

  private mutating func add(
    _ groups: any PropertyGroups, of type: any PersistentModel.Type, to entity: Schema.Entity
  ) {
    func names(_ keyPaths: [AnyKeyPath]) -> [String]? {
      var names: [String] = []
      for keyPath in keyPaths {
        guard let name = entity.ownNames[keyPath] ?? ModelLayout.inheritedName(of: keyPath, in: type) else {
          report(.init(entity.name, "", "has a constraint or an index over \(keyPath.words), which is not stored."))
          return nil
        }
        names.append(name)
      }
      return names
    }
    for group in groups.uniqueGroups {
      guard let names = names(group), !entity.uniquenessConstraints.contains(names) else { continue }
      entity.uniquenessConstraints.append(names)
    }
    for group in groups.indexGroups {
      if let names = names(group.keyPaths) { entity.indexes.append(.init(isRTree: group.isRTree, names: names)) }
    }
  }

  /// Connects the entities, and returns them.
  mutating func build() -> (entities: [Schema.Entity], issue: (any Error)?) {
    for entity in order {
      guard let type = entity.type, let parent = ModelLayout.classes(of: type).dropLast().last else { continue }
      entity.superentity = entities[ObjectIdentifier(parent)]
      entity.superentity?.subentities.insert(entity)
    }
    for (position, entity) in order.enumerated() {
      if let other = order[..<position].first(where: { $0.name == entity.name }) {
        report(
          .init(
            entity.name, "",
            "is the name of two classes, \(other.typeName) and \(entity.typeName). A relationship of one version may "
              + "lead to a class of another: refer to the classes of the same version."))
      }
    }
    var inverses = InverseRelationships(entities)
    inverses.settle(order)
    if let found = inverses.issue { report(found) }
    var issue = issues.first
    issue?.others = Array(issues.dropFirst())
    return (order, issue)
  }
}

extension Schema.Entity {
  var typeName: String { type.map { String(reflecting: $0) } ?? name }

  /// The names of the entity's own properties by their key paths.
  fileprivate var ownNames: [AnyKeyPath: String] {
    guard let type else { return [:] }
    return Dictionary(type.schemaMetadata.map { ($0.keypath, $0.name) }, uniquingKeysWith: { first, _ in first })
  }
}

extension ModelLayout {
  fileprivate static func inheritedName(of keyPath: AnyKeyPath, in type: any PersistentModel.Type) -> String? {
    of(type).slot(for: keyPath)?.name
  }
}

extension UnstorableType {
  var sentence: String {
    if path.isEmpty { return "cannot be stored: its type is \(typeName), which \(reason)." }
    let part = partTypeName.map { "the type \($0), which" } ?? "a type that"
    let name = path.joined(separator: ".")
    return "cannot be stored: its type is \(typeName), whose part '\(name)' is of \(part) \(reason)."
  }
}

/// A collection without elements, or no value: what a relationship may have as its initial value.
private protocol EmptyOrNone {}
extension Array: EmptyOrNone {}
extension Optional: EmptyOrNone {}
