// OpenCoreData
// SPDX-License-Identifier: Apache-2.0

import CoreDataModelFiles
import Foundation

extension NSManagedObjectModel {
  /// The key of the entity hashes in a store's metadata.
  static let hashesMetadataKey = "NSStoreModelVersionHashes"

  /// The version hashes of all entities by name, 32 bytes each, as in a store's metadata under
  /// `NSStoreModelVersionHashesKey`.
  public var entityVersionHashesByName: [String: Data] { versionHashes.entities }

  /// The checksum of all entity hashes: the SHA-256 of the hashes in the order of the entities' names, in base64.
  public var versionChecksum: String { versionHashes.checksum }

  /// Returns whether a store with the given metadata can be opened with the entities of a configuration.
  ///
  /// Compares the version hashes of entities. Any difference makes the result false, missing and additional entities
  /// included. So do metadata without hashes, and an unknown configuration.
  ///
  /// - Parameters:
  ///   - configuration: the name of a configuration; nil for all entities.
  ///   - metadata: a store's metadata.
  public func isConfiguration(
    withName configuration: String?, compatibleWithStoreMetadata metadata: [String: Any]
  ) -> Bool {
    guard let stored = metadata[Self.hashesMetadataKey] as? [String: Data],
      let names = entityNames(forConfigurationName: configuration, in: stored)
    else { return false }
    return entityVersionHashesByName.filter { names.contains($0.key) } == stored
  }

  /// Returns the entities in a store of a configuration: the configuration's own, and the ancestors and descendants
  /// that the store has in the same tables. Nil for an unknown configuration.
  func entityNames(forConfigurationName configuration: String?, in stored: [String: Data]) -> Set<String>? {
    guard let members = entities(forConfigurationName: configuration) else { return nil }
    let related = entities.filter { entity in
      stored[entity.name ?? ""] != nil
        && members.contains { $0.isKindOf(entity: entity) || entity.isKindOf(entity: $0) }
    }
    return Set((members + related).compactMap(\.name))
  }

  var versionHashes: VersionHashes {
    hashState.value { ModelHashes(of: self) }.hashes
  }

  /// Sets the hashes, which have been computed from the model's document.
  func takeVersionHashes(_ hashes: VersionHashes) {
    _ = hashState.value { ModelHashes(hashes) }
  }
}

/// The version hashes of a model. Recomputed after an edit.
final class ModelHashes: Sendable {
  let hashes: VersionHashes

  init(_ hashes: VersionHashes) {
    self.hashes = hashes
  }

  init(of model: NSManagedObjectModel) {
    hashes = VersionHashes(model.document)
  }
}

extension NSEntityDescription {
  /// The version hash of the entity, 32 bytes: of its name, superentity, persistent properties, uniqueness constraints,
  /// and `isAbstract`.
  public var versionHash: Data {
    let name = name ?? ""
    if let hash = owningModel?.versionHashes.entities[name] { return hash }
    let hashes = VersionHashes(ModelDocument(entities: lineage.map(\.document)))
    return hashes.entities[name] ?? Data()
  }
}

extension NSPropertyDescription {
  /// The version hash of the property, 32 bytes: of its name, type, and other members that affect how it is stored.
  public var versionHash: Data {
    let original = inheritedFrom ?? self
    if let entity = original.owningEntity, let name = entity.name,
      let hash = entity.owningModel?.versionHashes.property(original.name, of: name)
    {
      return hash
    }
    var document = EntityDocument(name: original.owningEntity?.name ?? "")
    switch original {
    case let attribute as NSAttributeDescription: document.attributes = [attribute.document]
    case let relationship as NSRelationshipDescription: document.relationships = [relationship.document]
    case let fetched as NSFetchedPropertyDescription: document.fetchedProperties = [fetched.document]
    default: document.attributes = [AttributeDocument(name: original.name, kind: .undefined)]
    }
    let hashes = VersionHashes(ModelDocument(entities: [document]))
    return hashes.property(original.name, of: document.name) ?? Data()
  }
}
