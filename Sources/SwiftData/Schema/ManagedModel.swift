// OpenCoreData
// SPDX-License-Identifier: Apache-2.0

import CoreData
import Foundation

/// Makes the Core Data model of a schema, with the version hashes that Apple's SwiftData gives it.
struct ManagedModel {
  private let schema: Schema
  private var entities: [String: NSEntityDescription] = [:]

  init(_ schema: Schema) { self.schema = schema }

  /// Returns the model.
  ///
  /// - Parameter configurations: the names of configurations beside `default`.
  /// - Throws: the problem that was found when the schema was built, and a default value that cannot be encoded.
  mutating func make(configurations: [String] = []) throws -> NSManagedObjectModel {
    if let issue = schema.issue { throw issue }
    for entity in schema.entities {
      let description = NSEntityDescription()
      description.name = entity.name
      description.renamingIdentifier = entity.name
      entities[entity.name] = description
    }
    for entity in schema.entities {
      try entities[entity.name]?.properties = properties(of: entity)
    }
    for entity in schema.entities {
      guard let description = entities[entity.name] else { continue }
      connect(entity, description)
      description.subentities = entity.subentities.compactMap { entities[$0.name] }.sorted {
        ($0.name ?? "") < ($1.name ?? "")
      }
    }
    let model = NSManagedObjectModel()
    model.entities = schema.entities.compactMap { entities[$0.name] }
    for entity in schema.entities { addIndexes(of: entity) }
    model.versionIdentifiers = [schema.version.description]
    for configuration in ["default"] + configurations where configuration != "PF_DEFAULT_CONFIGURATION_NAME" {
      model.setEntities(model.entities, forConfigurationName: configuration)
    }
    return model
  }

  private func properties(of entity: Schema.Entity) throws -> [NSPropertyDescription] {
    let attributes = try entity.attributes.map { try self.attribute($0, of: entity) }
    let relationships = entity.relationships.map { relationship -> NSPropertyDescription in
      let description = NSRelationshipDescription()
      description.name = relationship.name
      description.renamingIdentifier = relationship.originalName
      description.isOptional = relationship.isOptional
      description.versionHashModifier = relationship.hashModifier
      description.destinationEntity = entities[relationship.destination]
      description.deleteRule = relationship.deleteRule.rule
      if relationship.isToOneRelationship {
        description.maxCount = 1
      } else {
        description.minCount = relationship.minimumModelCount ?? 0
        description.maxCount = relationship.maximumModelCount ?? 0
      }
      return description
    }
    return (attributes + relationships).sorted { $0.name < $1.name }
  }

  private func attribute(_ attribute: Schema.Attribute, of entity: Schema.Entity) throws -> NSAttributeDescription {
    let shape: ValueShape
    do {
      shape = try attribute.shape.shape.get()
    } catch {
      throw SchemaIssue(entity.name, attribute.name, error.sentence)
    }
    let description = Self.description(shape, attribute.name, isOptional: attribute.isOptional)
    description.renamingIdentifier = attribute.originalName
    description.isTransient = attribute.isTransient
    description.versionHashModifier = attribute.hashModifier
    for option in attribute.options {
      switch option {
      case .externalStorage: description.allowsExternalBinaryDataStorage = true
      case .preserveValueOnDeletion: description.preservesValueInHistoryOnDeletion = true
      case .spotlight: description.isIndexedBySpotlight = true
      case .allowsCloudEncryption: description.allowsCloudEncryption = true
      default: break
      }
    }
    do {
      description.defaultValue = try attribute.storedDefault()
    } catch {
      throw SchemaIssue(entity.name, attribute.name, "has an initial value that cannot be stored: \(error).")
    }
    if let values = description.defaultValue as? NSDictionary {
      Self.setDefaults(values, of: description)
    }
    return description
  }

  /// Gives the elements of a composite the parts of its default value, which fill their columns in a migration.
  private static func setDefaults(_ values: NSDictionary, of description: NSAttributeDescription) {
    for element in (description as? NSCompositeAttributeDescription)?.elements ?? [] {
      guard let value = values[element.name], !(value is NSNull) else { continue }
      element.defaultValue = value
      if let parts = value as? NSDictionary { setDefaults(parts, of: element) }
    }
  }

  private static func description(_ shape: ValueShape, _ name: String, isOptional: Bool) -> NSAttributeDescription {
    let description: NSAttributeDescription
    if case .composite(let elements) = shape {
      let composite = NSCompositeAttributeDescription()
      composite.elements = elements.map { element in
        Self.description(
          element.shape, element.name.isEmpty ? name : element.name, isOptional: isOptional || element.isOptional)
      }
      description = composite
    } else {
      description = NSAttributeDescription()
      description.attributeType = shape.attributeType
    }
    switch shape {
    case .array:
      description.valueTransformerName = NSValueTransformerName.secureUnarchiveFromDataTransformerName.rawValue
    case .transformable(let transformer, let className):
      description.valueTransformerName = transformer
      description.attributeValueClassName = className
    default: break
    }
    description.name = name
    description.renamingIdentifier = name
    description.isOptional = isOptional
    return description
  }

  private func connect(_ entity: Schema.Entity, _ description: NSEntityDescription) {
    for relationship in entity.relationships {
      guard let inverse = relationship.inverseName, let destination = entities[relationship.destination] else {
        continue
      }
      description.relationshipsByName[relationship.name]?.inverseRelationship =
        destination.relationshipsByName[inverse]
    }
    description.uniquenessConstraints = entity.uniquenessConstraints
  }

  /// Adds the indexes by the names that SwiftData gives them.
  private func addIndexes(of entity: Schema.Entity) {
    guard let description = entities[entity.name], !entity.indexes.isEmpty else { return }
    // Apple's models have this flag too. Without it, Core Data would add an index by the name of the attribute.
    for index in entity.indexes where !index.isRTree && index.names.count == 1 {
      (description.attributesByName[index.names[0]] as (any IndexFlagged)?)?.isIndexed = true
    }
    description.indexes = entity.indexes.map { index in
      let type: NSFetchIndexElementType = index.isRTree ? .rTree : .binary
      return NSFetchIndexDescription(
        name: "SwiftDataIndexOn\(index.isRTree ? "RTree" : "Binary")" + index.names.joined(),
        elements: index.names.compactMap { name in
          description.propertiesByName[name].map {
            NSFetchIndexElementDescription(property: $0, collationType: type)
          }
        })
    }
  }
}

/// Gives access to a property that is deprecated because programs declare indexes instead.
private protocol IndexFlagged: AnyObject {
  var isIndexed: Bool { get set }
}

extension NSAttributeDescription: IndexFlagged {}

extension Schema.Relationship.DeleteRule {
  fileprivate var rule: NSDeleteRule {
    switch self {
    case .noAction: .noActionDeleteRule
    case .nullify: .nullifyDeleteRule
    case .cascade: .cascadeDeleteRule
    case .deny: .denyDeleteRule
    }
  }
}

extension Schema.Attribute {
  /// Returns the default value in the form that Core Data has for it.
  fileprivate func storedDefault() throws -> Any? {
    guard let defaultValue else { return nil }
    if let plain = defaultValue as? any PlainStorable { return plain.stored }
    if isTransformable { return defaultValue }
    guard let encodable = defaultValue as? any Encodable else { return nil }
    return try ValueCoding(try shape.shape.get(), property: name).encode(encodable)
  }
}

extension NSManagedObjectModel {
  /// Returns the Core Data model of a schema.
  ///
  /// - Parameters:
  ///   - schema: the schema.
  ///   - other: a model whose entities are added.
  /// - Returns: nil if the schema contains a type that cannot be stored; making a container says which.
  public static func makeManagedObjectModel(
    for schema: Schema, mergedWith other: NSManagedObjectModel? = nil
  ) -> NSManagedObjectModel? {
    var managed = ManagedModel(schema)
    // The signature is Apple's, which has no error.
    guard let model = try? managed.make() else { return nil }
    guard let other else { return model }
    return NSManagedObjectModel(byMerging: [model, other])
  }

  /// Returns the Core Data model of model types.
  public static func makeManagedObjectModel(
    for types: [any PersistentModel.Type], mergedWith other: NSManagedObjectModel? = nil
  ) -> NSManagedObjectModel? {
    makeManagedObjectModel(for: Schema(types), mergedWith: other)
  }

  /// Returns the Core Data model of model types.
  public static func makeManagedObjectModel(
    for types: any PersistentModel.Type..., mergedWith other: NSManagedObjectModel? = nil
  ) -> NSManagedObjectModel? {
    makeManagedObjectModel(for: Schema(types), mergedWith: other)
  }
}
