// OpenCoreData
// SPDX-License-Identifier: Apache-2.0

import CoreDataMistakes
import CoreDataModelFiles
import Foundation

/// A model: the entities of a store, with configurations and fetch request templates.
///
/// Editable until a coordinator uses it. Afterwards every setter of the model and its parts, except `userInfo`, traps.
/// A copy can be edited again. The model retains its entities; they do not retain the model.
///
/// While they can be edited, a model and its parts belong to the thread that edits them: editing on one thread while
/// another reads is a programming error, as on Apple's systems. Afterwards they may be used on any thread.
///
/// Differs from Apple: does not conform to `NSCoding` yet.
open class NSManagedObjectModel: NSObject, NSCopying, Sequence, @unchecked Sendable {
  // After `freeze()`, only caches in the model and its parts change. Locks guard them: see `DerivedStateCell`.

  private var members: [NSEntityDescription] = []
  var configurationMembers: [String: [NSEntityDescription]] = [:]
  /// The fetch request templates by name.
  var templates: [String: any StoredRequest] = [:]
  let derivedState = DerivedStateCell<ModelDerivedState>()
  let hashState = DerivedStateCell<ModelHashes>()
  /// The files that the model was read or merged from, which contain its other versions; empty for a model created in
  /// code.
  package var origins: [URL] = []
  private let freezing = NSLock()
  private var isFrozen = false

  /// The developer's names for this version. They are never compared.
  open var versionIdentifiers: Set<AnyHashable> = [] { willSet { willEdit() } }

  /// Localized names, under the keys `Entity/<entity>`, `Property/<property>`, `Property/<property>/Entity/<entity>`
  /// and `ErrorString/<text>`. A model that was read has those of the strings file beside it; see
  /// `localizationDictionary(forModelAt:)`.
  open var localizationDictionary: [String: String]? { willSet { willEdit() } }

  /// Creates a model without entities.
  public required override init() {
    super.init()
  }

  /// All entities. When it is set, sub-entities that are not listed are added.
  ///
  /// Setting it traps if an entity has no name, two have the same name, or one belongs to another model.
  open var entities: [NSEntityDescription] {
    get { members }
    set {
      willEdit()
      take(newValue)
    }
  }

  /// All entities by name.
  open var entitiesByName: [String: NSEntityDescription] { derived.entitiesByName }

  /// Returns an iterator over the entities.
  public func makeIterator() -> IndexingIterator<[NSEntityDescription]> { members.makeIterator() }

  /// Whether the model can be edited: true until a coordinator uses it.
  var isEditable: Bool { freezing.withLock { !isFrozen } }

  /// Makes the model and its parts immutable. Called by every coordinator that uses it.
  func freeze() {
    freezing.withLock {
      guard !isFrozen else { return }
      for entity in members { entity.sealDerivedState() }
      derivedState.seal { ModelDerivedState(of: self) }
      hashState.seal { ModelHashes(of: self) }
      isFrozen = true
    }
  }

  /// Adds sub-entities that are not members yet.
  func adoptDescendants() { take(members) }

  private func take(_ list: [NSEntityDescription]) {
    var seen: Set<ObjectIdentifier> = []
    var complete = list.filter { seen.insert(ObjectIdentifier($0)).inserted }
    var visited: Set<ObjectIdentifier> = []
    for entity in list {
      // Ancestors come before descendants.
      var open = [entity]
      while let next = open.popLast() {
        guard visited.insert(ObjectIdentifier(next)).inserted else { continue }
        if seen.insert(ObjectIdentifier(next)).inserted { complete.append(next) }
        open += next.children.reversed()
      }
    }
    var names: Set<String> = []
    for entity in complete {
      trap(
        unless: entity.owningModel == nil || entity.owningModel === self,
        "Entity '\(entity.name ?? "")' belongs to another model: add a copy of it.")
      guard let name = entity.name, !name.isEmpty else {
        trap("An entity needs a name before it can be part of a model.")
      }
      trap(unless: names.insert(name).inserted, "A model cannot have two entities named '\(name)'.")
    }
    for entity in members where !seen.contains(ObjectIdentifier(entity)) { entity.owningModel = nil }
    members = complete
    for entity in members { entity.owningModel = self }
    for (name, group) in configurationMembers {
      configurationMembers[name] = group.filter { seen.contains(ObjectIdentifier($0)) }
    }
    invalidateDerivedState()
  }

  func willEdit(_ member: String = #function) {
    trap(
      unless: isEditable, "'\(member)' cannot be changed, since a coordinator uses the model. Edit a copy of it.")
    invalidateDerivedState()
  }

  func invalidateDerivedState() {
    derivedState.drop()
    hashState.drop()
  }

  var derived: ModelDerivedState { derivedState.value { ModelDerivedState(of: self) } }

  /// Returns whether another model has equal content.
  open override func isEqual(_ object: Any?) -> Bool {
    guard let other = object as? NSManagedObjectModel else { return false }
    return self === other
      || (Set(entitiesByName.keys) == Set(other.entitiesByName.keys) && document.isEquivalent(to: other.document))
  }

  open override var hash: Int { Set(entitiesByName.keys).hashValue }

  open override var description: String {
    "(\(type(of: self)) {\(members.compactMap(\.name).joined(separator: ", "))})"
  }
}

/// State derived from a model. Recomputed after an edit.
final class ModelDerivedState: Sendable {
  let entitiesByName: [String: NSEntityDescription]

  init(of model: NSManagedObjectModel) {
    entitiesByName = Dictionary(uniqueKeysWithValues: model.entities.map { ($0.name ?? "", $0) })
  }
}

extension NSManagedObjectModel {
  /// Core Data's name for the configuration of all entities.
  static let defaultConfigurationName = "PF_DEFAULT_CONFIGURATION_NAME"

  /// The names of all configurations, sorted.
  public var configurations: [String] { configurationMembers.keys.sorted() }

  /// Returns the entities of a configuration: all entities for nil, and nil for an unknown name.
  public func entities(forConfigurationName configuration: String?) -> [NSEntityDescription]? {
    guard let configuration, configuration != Self.defaultConfigurationName else { return entities }
    return configurationMembers[configuration]
  }

  /// Sets the entities of a new or existing configuration. Traps for an entity that does not belong to the model.
  public func setEntities(_ entities: [NSEntityDescription], forConfigurationName configuration: String) {
    willEdit("setEntities(_:forConfigurationName:)")
    for entity in entities {
      trap(
        unless: entity.owningModel === self,
        "Entity '\(entity.name ?? "")' cannot be in configuration '\(configuration)': it is not in the model.")
    }
    configurationMembers[configuration] = entities
  }

  /// Returns an editable copy, with copies of all entities.
  public func copy(with zone: NSZone? = nil) -> Any {
    let copy = type(of: self).init()
    copy.take(copiesOf: entities)
    for (name, members) in configurationMembers {
      copy.configurationMembers[name] = members.compactMap { copy.entitiesByName[$0.name ?? ""] }
    }
    copy.templates = templates
    copy.versionIdentifiers = versionIdentifiers
    copy.localizationDictionary = localizationDictionary
    copy.origins = origins
    return copy
  }

  /// Adds copies of entities, with their hierarchy and relationships.
  ///
  /// - Parameters:
  ///   - originals: the entities, which have different names.
  ///   - duplicates: entities of other models, each equal to an original and replaced with its copy.
  func take(copiesOf originals: [NSEntityDescription], standingFor duplicates: [NSEntityDescription] = []) {
    var twins = EntityTwins()
    for original in originals { twins.add(original.copy(properties: original.ownProperties), of: original) }
    for duplicate in duplicates { twins.add(duplicate) }
    for original in originals + duplicates {
      guard let twin = twins[original] else { continue }
      let children = original.children.compactMap { twins[$0] }
      twin.subentities += children.filter { child in !twin.subentities.contains { $0 === child } }
    }
    let copies = originals.compactMap { twins[$0] }
    for copy in copies { copy.redirectRelationships(to: twins) }
    entities += copies
  }

  /// The key of the entity hashes in a store's metadata.
  static let hashesMetadataKey = "NSStoreModelVersionHashes"

  /// The version hashes of all entities by name, 32 bytes each, as in a store's metadata under
  /// `NSStoreModelVersionHashesKey`.
  public var entityVersionHashesByName: [String: Data] { versionHashes.entities }

  /// The checksum of all entity hashes: the SHA-256 of the hashes, sorted by the entities' names, in base64.
  public var versionChecksum: String { versionHashes.checksum }

  /// Returns whether a store with the given metadata can be opened with the entities of a configuration.
  ///
  /// Compares the version hashes of entities. Any difference makes the result false, including missing and additional
  /// entities, metadata without hashes, and an unknown configuration.
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

  /// Returns the configurations with which a store with the given metadata can be opened: nil, for all entities, before
  /// the names of others.
  package func configurationNames(fitting metadata: [String: Any]) -> [String?] {
    let names: [String?] = [nil] + configurations
    return names.filter { isConfiguration(withName: $0, compatibleWithStoreMetadata: metadata) }
  }

  /// Returns the entities in a store of a configuration: the configuration's own, and their ancestors and descendants,
  /// which the store keeps in the same tables. Nil for an unknown configuration.
  func entityNames(forConfigurationName configuration: String?, in stored: [String: Data]) -> Set<String>? {
    guard let members = entities(forConfigurationName: configuration) else { return nil }
    let own = Set(members.map(ObjectIdentifier.init))
    let above = Set(members.lazy.flatMap(\.lineage).map(ObjectIdentifier.init))
    let related = entities.filter { entity in
      stored[entity.name ?? ""] != nil
        && (above.contains(ObjectIdentifier(entity))
          || entity.lineage.contains { own.contains(ObjectIdentifier($0)) })
    }
    return Set((members + related).compactMap(\.name))
  }

  var versionHashes: VersionHashes { hashState.value { ModelHashes(of: self) }.hashes }

  /// Sets the hashes, which have already been computed from the model's document.
  func setVersionHashes(_ hashes: VersionHashes) { _ = hashState.value { ModelHashes(hashes) } }
}

/// The copies of entities, by the original, by its equals in other models, or by name.
struct EntityTwins {
  private var byOriginal: [ObjectIdentifier: NSEntityDescription] = [:]
  private var byName: [String: NSEntityDescription] = [:]

  mutating func add(_ twin: NSEntityDescription, of original: NSEntityDescription) {
    byOriginal[ObjectIdentifier(original)] = twin
    byName[twin.name ?? ""] = twin
  }

  /// Adds an entity that is replaced with the copy of another one with the same name.
  mutating func add(_ duplicate: NSEntityDescription) {
    byOriginal[ObjectIdentifier(duplicate)] = byName[duplicate.name ?? ""]
  }

  subscript(entity: NSEntityDescription) -> NSEntityDescription? {
    byOriginal[ObjectIdentifier(entity)] ?? byName[entity.name ?? ""]
  }
}

extension NSEntityDescription {
  /// Redirects relationships from originals to their copies.
  func redirectRelationships(to twins: EntityTwins) {
    for case let relationship as NSRelationshipDescription in ownProperties {
      let inverse = relationship.inverseRelationship
      if let destination = relationship.destinationEntity, let twin = twins[destination] {
        relationship.destinationEntity = twin
      }
      if let inverse, let owner = inverse.owningEntity, let twin = twins[owner] {
        relationship.inverseRelationship = twin.relationshipsByName[inverse.name]
      }
    }
  }

  /// The version hash of the entity, 32 bytes. Depends on its name, superentity, persistent properties, uniqueness
  /// constraints, and `isAbstract`.
  public var versionHash: Data {
    let name = name ?? ""
    if let hash = owningModel?.versionHashes.entities[name] { return hash }
    let hashes = VersionHashes(ModelDocument(entities: lineage.map(\.document)))
    return hashes.entities[name] ?? Data()
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

extension NSPropertyDescription {
  /// The hash of the property, from the model; computed if there is no model.
  final var computedVersionHash: Data {
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
