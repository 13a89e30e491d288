// OpenCoreData
// SPDX-License-Identifier: Apache-2.0

import CoreDataModelFiles
import Foundation

extension NSManagedObjectModel {
  /// Makes a model of a document.
  ///
  /// Throws `NSCoreDataError` with the entity and property where the document contradicts itself: a missing or circular
  /// superentity, a missing destination or inverse, names that occur twice, an index over an unknown property.
  package convenience init(document: ModelDocument) throws {
    self.init()
    var byName: [String: NSEntityDescription] = [:]
    var list: [NSEntityDescription] = []
    for source in document.entities {
      guard !source.name.isEmpty else { throw ModelError.namelessEntity() }
      let entity = try NSEntityDescription(source)
      guard byName.updateValue(entity, forKey: source.name) == nil else {
        throw ModelError.duplicateEntity(source.name)
      }
      list.append(entity)
    }
    try Self.connectHierarchy(document, byName)
    entities = list
    for source in document.entities {
      for relationship in source.relationships { try Self.connect(relationship, of: source.name, byName) }
    }
    for source in document.entities { try byName[source.name]?.addIndexes(source) }
    for configuration in document.configurations {
      let members = try configuration.entityNames.map { name in
        guard let entity = byName[name] else {
          throw ModelError.unknownConfigurationEntity(name, configuration: configuration.name)
        }
        return entity
      }
      setEntities(members, forConfigurationName: configuration.name)
    }
    for template in document.fetchRequestTemplates { templates[template.name] = template }
    versionIdentifiers = Set(document.versionIdentifiers)
  }

  /// The model as plain values.
  package var document: ModelDocument {
    ModelDocument(
      entities: entities.map(\.document),
      configurations: configurations.map { name in
        let members = configurationMembers[name] ?? []
        return ConfigurationDocument(name: name, entityNames: members.compactMap(\.name))
      },
      fetchRequestTemplates: templates.values.sorted { $0.name < $1.name },
      versionIdentifiers: versionIdentifiers.map { $0.base as? String ?? String(describing: $0.base) }.sorted())
  }

  private static func connectHierarchy(
    _ document: ModelDocument, _ byName: [String: NSEntityDescription]
  ) throws {
    var children: [String: [NSEntityDescription]] = [:]
    let index = EntityIndex(document)
    for source in document.entities {
      guard let parent = source.parentName else { continue }
      guard byName[parent] != nil else { throw ModelError.missingSuperentity(parent, entity: source.name) }
      if index.root(of: source.name)?.parentName != nil {
        throw ModelError.circularHierarchy(index.lineage(of: source.name).map(\.name))
      }
      if let entity = byName[source.name] { children[parent, default: []].append(entity) }
    }
    for (parent, list) in children { byName[parent]?.subentities = list }
  }

  private static func connect(
    _ document: RelationshipDocument, of entityName: String, _ byName: [String: NSEntityDescription]
  ) throws {
    guard let destinationName = document.destinationEntityName else { return }
    guard let destination = byName[destinationName] else {
      throw ModelError.missingDestination(destinationName, relationship: document.name, entity: entityName)
    }
    let relationship = byName[entityName]?.relationshipsByName[document.name]
    relationship?.destinationEntity = destination
    guard let inverseName = document.inverseName else { return }
    guard let inverse = destination.relationshipsByName[inverseName] else {
      throw ModelError.missingInverse(
        inverseName, destination: destinationName, relationship: document.name, entity: entityName)
    }
    relationship?.inverseRelationship = inverse.inheritedFrom as? NSRelationshipDescription ?? inverse
  }
}

extension ModelDocument {
  /// Whether both say the same, in whatever order.
  internal func isEquivalent(to other: ModelDocument) -> Bool {
    sorted == other.sorted
  }

  private var sorted: ModelDocument {
    var copy = self
    copy.entities = entities.map(\.sorted).sorted { $0.name < $1.name }
    copy.configurations = configurations.map { configuration in
      ConfigurationDocument(name: configuration.name, entityNames: configuration.entityNames.sorted())
    }
    copy.configurations.sort { $0.name < $1.name }
    copy.fetchRequestTemplates.sort { $0.name < $1.name }
    copy.versionIdentifiers.sort()
    return copy
  }
}

extension EntityDocument {
  /// The same entity with its properties in the order of their names.
  internal var sorted: EntityDocument {
    var copy = self
    copy.attributes.sort { $0.name < $1.name }
    copy.relationships.sort { $0.name < $1.name }
    copy.fetchedProperties.sort { $0.name < $1.name }
    copy.indexes.sort { $0.name < $1.name }
    return copy
  }
}
