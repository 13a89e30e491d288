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
    do {
      try document.validate()
    } catch let error as ModelFileError {
      throw ModelErrors.cannotRead(error)
    }
    self.init()
    let list = document.entities.map { NSEntityDescription($0) }
    let byName = Dictionary(uniqueKeysWithValues: zip(document.entities.map(\.name), list))
    let index = EntityIndex(document)
    for (source, entity) in zip(document.entities, list) {
      entity.subentities = index.subentities(of: source.name).compactMap { byName[$0.name] }
    }
    entities = list
    for source in document.entities {
      for relationship in source.relationships { Self.connect(relationship, of: source.name, byName) }
    }
    for (source, entity) in zip(document.entities, list) { try entity.addIndexes(source) }
    for configuration in document.configurations {
      setEntities(configuration.entityNames.compactMap { byName[$0] }, forConfigurationName: configuration.name)
    }
    for template in document.fetchRequestTemplates { templates[template.name] = StoredRequest(template) }
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
      fetchRequestTemplates: templates.values.map(\.document).sorted { $0.name < $1.name },
      versionIdentifiers: versionIdentifiers.map { $0.base as? String ?? String(describing: $0.base) }.sorted())
  }

  private static func connect(
    _ document: RelationshipDocument, of entityName: String, _ byName: [String: NSEntityDescription]
  ) {
    let relationship = byName[entityName]?.relationshipsByName[document.name]
    let destination = document.destinationEntityName.flatMap { byName[$0] }
    let inverse = document.inverseName.flatMap { destination?.relationshipsByName[$0] }
    relationship?.destinationEntity = destination
    relationship?.inverseRelationship = inverse?.inheritedFrom as? NSRelationshipDescription ?? inverse
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
