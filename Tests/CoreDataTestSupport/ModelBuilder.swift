// OpenCoreData
// SPDX-License-Identifier: Apache-2.0

import CoreData
import Foundation

/// Makes models in code, with few words.
public struct ModelBuilder {
  private var entities: [String: NSEntityDescription] = [:]
  private var order: [String] = []

  /// Makes a builder without entities.
  public init() {}

  /// Adds an entity.
  @discardableResult
  public mutating func entity(
    _ name: String, parent: String? = nil, isAbstract: Bool = false, renamedFrom: String? = nil,
    _ attributes: [NSAttributeDescription] = []
  ) -> NSEntityDescription {
    let entity = NSEntityDescription()
    entity.name = name
    entity.isAbstract = isAbstract
    if let renamedFrom { entity.renamingIdentifier = renamedFrom }
    entity.properties = attributes
    entities[name] = entity
    order.append(name)
    if let parent, let superentity = entities[parent] { superentity.subentities.append(entity) }
    return entity
  }

  /// Adds a relationship and its inverse.
  public mutating func relate(_ one: RelationshipEnd, _ other: RelationshipEnd) {
    guard let a = entities[one.entity], let b = entities[other.entity] else {
      preconditionFailure("Add the entities \(one.entity) and \(other.entity) before relating them.")
    }
    let forward = one.description(to: b)
    guard one.entity != other.entity || one.name != other.name else {
      forward.inverseRelationship = forward
      a.properties.append(forward)
      return
    }
    let backward = other.description(to: a)
    forward.inverseRelationship = backward
    backward.inverseRelationship = forward
    a.properties.append(forward)
    b.properties.append(backward)
  }

  /// Adds a relationship without inverse.
  public mutating func point(_ end: RelationshipEnd, to destination: String) {
    guard let a = entities[end.entity], let b = entities[destination] else {
      preconditionFailure("Add the entities \(end.entity) and \(destination) before relating them.")
    }
    a.properties.append(end.description(to: b))
  }

  /// The model.
  public func model() -> NSManagedObjectModel {
    let model = NSManagedObjectModel()
    model.entities = order.compactMap { entities[$0] }
    return model
  }
}

/// One end of a relationship.
public struct RelationshipEnd {
  let entity: String
  let name: String
  let isToMany: Bool
  let isOrdered: Bool
  let rule: NSDeleteRule
  let renamedFrom: String?
  let isOptional: Bool

  /// Describes an end.
  public init(
    _ entity: String, _ name: String, toMany: Bool = false, ordered: Bool = false,
    rule: NSDeleteRule = .nullifyDeleteRule,
    renamedFrom: String? = nil, optional: Bool = true
  ) {
    self.entity = entity
    self.name = name
    isToMany = toMany
    isOrdered = ordered
    self.rule = rule
    self.renamedFrom = renamedFrom
    isOptional = optional
  }

  func description(to destination: NSEntityDescription) -> NSRelationshipDescription {
    let relationship = NSRelationshipDescription()
    relationship.name = name
    relationship.destinationEntity = destination
    relationship.maxCount = isToMany ? 0 : 1
    relationship.isOrdered = isOrdered
    relationship.deleteRule = rule
    relationship.isOptional = isOptional
    if let renamedFrom { relationship.renamingIdentifier = renamedFrom }
    return relationship
  }
}

extension NSAttributeDescription {
  /// An attribute in few words.
  public static func make(
    _ name: String, _ type: NSAttributeType, optional: Bool = true, default value: Any? = nil,
    renamedFrom: String? = nil, external: Bool = false, transient: Bool = false
  ) -> NSAttributeDescription {
    let attribute = NSAttributeDescription()
    attribute.name = name
    attribute.attributeType = type
    attribute.isOptional = optional
    attribute.defaultValue = value
    attribute.allowsExternalBinaryDataStorage = external
    attribute.isTransient = transient
    if let renamedFrom { attribute.renamingIdentifier = renamedFrom }
    return attribute
  }

  /// An optional derived attribute.
  public static func derived(_ name: String, _ type: NSAttributeType, _ format: String) -> NSAttributeDescription {
    let attribute = NSDerivedAttributeDescription()
    attribute.name = name
    attribute.attributeType = type
    attribute.isOptional = true
    attribute.derivationExpression = CoreData.NSExpression(format: format)
    return attribute
  }
}
