// OpenCoreData
// SPDX-License-Identifier: Apache-2.0

import CoreDataModelFiles
import Foundation

/// A model: the entities of a store, and the requests and configurations that go with them.
///
/// Editable until a coordinator uses it; afterwards every setter of the model and of all that belongs to it traps. A copy
/// can be edited again. The model holds its entities; they do not hold the model.
///
/// Differs from Apple: `NSCoding` is not there yet.
open class NSManagedObjectModel: NSObject, NSCopying, Sequence, @unchecked Sendable {
  private var members: [NSEntityDescription] = []
  internal var configurationMembers: [String: [NSEntityDescription]] = [:]
  internal var templates: [String: StoredRequest] = [:]
  internal let derivedState = DerivedStateCell<ModelDerivedState>()
  internal let hashState = DerivedStateCell<ModelHashes>()
  /// The files that the model was read or merged from, in which its other versions are; none for a model built in code.
  internal var origins: [URL] = []
  private let freezing = NSLock()
  private var isFrozen = false

  /// The developer's own names for this version. Informational; never compared.
  open var versionIdentifiers: Set<AnyHashable> = [] { willSet { willEdit() } }

  /// Localized names, by `Entity/<entity>`, `Property/<property>`, `Property/<property>/Entity/<entity>` and
  /// `ErrorString/<text>`. A model that was read has what lies in the files of strings beside it; see
  /// `localizationDictionary(forModelAt:)`.
  open var localizationDictionary: [String: String]? { willSet { willEdit() } }

  /// Makes a model without entities.
  public required override init() {
    super.init()
  }

  /// All entities; sub-entities of listed ones are added of themselves.
  ///
  /// Setting traps when an entity has no name, two have the same, or one belongs to another model.
  open var entities: [NSEntityDescription] {
    get { members }
    set {
      willEdit()
      take(newValue)
    }
  }

  /// All entities by name.
  open var entitiesByName: [String: NSEntityDescription] { derived.entitiesByName }

  /// Enumerates the entities.
  public func makeIterator() -> IndexingIterator<[NSEntityDescription]> {
    members.makeIterator()
  }

  /// Whether the model can still be edited: true until a coordinator uses it.
  internal var isEditable: Bool {
    freezing.withLock { !isFrozen }
  }

  /// Ends the editing of the model and of all that belongs to it; called by the first coordinator that uses it.
  internal func freeze() {
    freezing.withLock {
      guard !isFrozen else { return }
      for entity in members { entity.sealDerivedState() }
      derivedState.seal { ModelDerivedState(of: self) }
      hashState.seal { ModelHashes(of: self) }
      isFrozen = true
    }
  }

  /// Adds the sub-entities of members that are not members yet.
  internal func adoptDescendants() {
    take(members)
  }

  private func take(_ list: [NSEntityDescription]) {
    var complete: [NSEntityDescription] = []
    var seen: Set<ObjectIdentifier> = []
    for entity in list + list.flatMap(\.family) where seen.insert(ObjectIdentifier(entity)).inserted {
      complete.append(entity)
    }
    var names: Set<String> = []
    for entity in complete {
      precondition(
        entity.owningModel == nil || entity.owningModel === self,
        "Entity '\(entity.name ?? "")' belongs to another model: add a copy of it.")
      guard let name = entity.name, !name.isEmpty else {
        preconditionFailure("An entity needs a name before it can be part of a model.")
      }
      precondition(names.insert(name).inserted, "A model cannot have two entities named '\(name)'.")
    }
    for entity in members where !seen.contains(ObjectIdentifier(entity)) { entity.owningModel = nil }
    members = complete
    for entity in members { entity.owningModel = self }
    for (name, group) in configurationMembers {
      configurationMembers[name] = group.filter { seen.contains(ObjectIdentifier($0)) }
    }
    invalidateDerivedState()
  }

  internal func willEdit(_ member: String = #function) {
    precondition(
      isEditable, "'\(member)' cannot be changed, since a coordinator uses the model. Edit a copy of it.")
    invalidateDerivedState()
  }

  /// Drops everything that was derived from the content of the model.
  internal func invalidateDerivedState() {
    derivedState.drop()
    hashState.drop()
  }

  internal var derived: ModelDerivedState {
    derivedState.value { ModelDerivedState(of: self) }
  }

  /// Equal when of the same content.
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

/// What follows from a model's content, worked out once after each edit.
internal final class ModelDerivedState: Sendable {
  let entitiesByName: [String: NSEntityDescription]

  init(of model: NSManagedObjectModel) {
    entitiesByName = Dictionary(uniqueKeysWithValues: model.entities.map { ($0.name ?? "", $0) })
  }
}
