// OpenCoreData
// SPDX-License-Identifier: Apache-2.0

import CoreDataModelFiles
import Foundation

extension NSManagedObjectModel {
  /// The key of the entity hashes in a store's metadata.
  internal static let hashesMetadataKey = "NSStoreModelVersionHashes"

  /// The version hash of every entity, 32 bytes each, by entity name: what a store's metadata holds under
  /// `NSStoreModelVersionHashesKey`.
  public var entityVersionHashesByName: [String: Data] { versionHashes.entities }

  /// One text for all entity hashes: base64 of the SHA-256 of the hashes in the order of the entities' names.
  public var versionChecksum: String { versionHashes.checksum }

  /// Whether a store with the given metadata can be opened with the entities of a configuration.
  ///
  /// Only hashes of entities are compared; every difference counts, missing and additional entities too. False where the
  /// metadata holds no hashes, and for a configuration that the model does not have.
  /// - Parameter configuration: nil for all entities.
  public func isConfiguration(
    withName configuration: String?, compatibleWithStoreMetadata metadata: [String: Any]
  ) -> Bool {
    guard let stored = metadata[Self.hashesMetadataKey] as? [String: Data],
      let names = entityNames(forConfigurationName: configuration, in: stored)
    else { return false }
    return entityVersionHashesByName.filter { names.contains($0.key) } == stored
  }

  /// The entities that a store of a configuration has: the configuration's own, and those above and below them that a store
  /// with these hashes has in the same tables. Nil for a name that the model does not know.
  internal func entityNames(forConfigurationName configuration: String?, in stored: [String: Data]) -> Set<String>? {
    guard let members = entities(forConfigurationName: configuration) else { return nil }
    let related = entities.filter { entity in
      stored[entity.name ?? ""] != nil
        && members.contains { $0.isKindOf(entity: entity) || entity.isKindOf(entity: $0) }
    }
    return Set((members + related).compactMap(\.name))
  }

  internal var versionHashes: VersionHashes {
    hashState.value { ModelHashes(of: self) }.hashes
  }

  /// Takes hashes that have been worked out of the document that the model was made of.
  internal func takeVersionHashes(_ hashes: VersionHashes) {
    _ = hashState.value { ModelHashes(hashes) }
  }
}

/// The version hashes of a model, worked out once after each edit.
internal final class ModelHashes: Sendable {
  let hashes: VersionHashes

  init(_ hashes: VersionHashes) {
    self.hashes = hashes
  }

  init(of model: NSManagedObjectModel) {
    hashes = VersionHashes(model.document)
  }
}

extension NSEntityDescription {
  /// The hash that tells versions of the entity apart, 32 bytes: of its name, superentity, persistent properties,
  /// uniqueness constraints, and `isAbstract`.
  public var versionHash: Data {
    let name = name ?? ""
    if let hash = owningModel?.versionHashes.entities[name] { return hash }
    let hashes = VersionHashes(ModelDocument(entities: lineage.map(\.document)))
    return hashes.entities[name] ?? Data()
  }
}

extension NSPropertyDescription {
  /// The hash that tells versions of the property apart, 32 bytes: of its name, type, and what else is stored otherwise
  /// when it changes.
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
