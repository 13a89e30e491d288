// OpenCoreData
// SPDX-License-Identifier: Apache-2.0

import CoreData
import CoreDataModelFiles

/// The changes from one version of a model to another, in a stable order.
///
/// Entities and properties are paired by renaming identifier, otherwise by name.
public struct ModelDifference: Hashable, Sendable {
  /// The changes by entity, beginning with those of the entity itself, then by property. Changes outside entities come
  /// last.
  public let changes: [ModelChange]

  /// Compares two versions.
  public init(from old: ModelDocument, to new: ModelDocument) {
    changes = ModelComparison(from: old, to: new).changes()
  }

  /// Compares two versions.
  public init(from old: NSManagedObjectModel, to new: NSManagedObjectModel) {
    self.init(from: old.document, to: new.document)
  }

  /// Whether nothing changed.
  public var isEmpty: Bool { changes.isEmpty }

  /// Whether version hashes change, which means that stores of the old version need a migration.
  public var changesVersionHashes: Bool { changes.contains(where: \.changesVersionHash) }

  /// The kind of migration that all changes together require.
  public var migration: MigrationDemand { changes.map(\.migration).max() ?? .none }

  /// The names of the changed entities in order; nil stands for changes outside entities.
  public var entities: [String?] {
    var names: [String?] = []
    for change in changes where names.last != .some(change.entity) { names.append(change.entity) }
    return names
  }

  /// Returns the changes of an entity.
  public func changes(of entity: String?) -> [ModelChange] {
    changes.filter { $0.entity == entity }
  }
}

/// The kind of migration that a change requires, from the least to the most work.
public enum MigrationDemand: String, Hashable, Sendable, Comparable, CaseIterable {
  /// Stores can be opened as they are: version hashes stay the same.
  case none
  /// A mapping can be inferred.
  case inferred
  /// No mapping can be inferred: a mapping model or a custom stage is needed.
  case custom

  /// Orders demands from the least work to the most.
  public static func < (left: MigrationDemand, right: MigrationDemand) -> Bool {
    left.rank < right.rank
  }

  private var rank: Int {
    switch self {
    case .none: 0
    case .inferred: 1
    case .custom: 2
    }
  }
}

/// One difference between two versions of a model.
public struct ModelChange: Hashable, Sendable {
  /// The part of a model that a change is about.
  public enum Subject: String, Hashable, Sendable {
    case entity
    case attribute
    case relationship
    case fetchedProperty = "fetched property"
    case fetchIndex = "index"
    case configuration
    case fetchRequest = "fetch request"
  }

  /// The kind of change.
  public enum Kind: Hashable, Sendable {
    /// The part is new. The text describes it, such as `String, optional`.
    case added(String)
    /// The part no longer exists.
    case removed
    /// The part is renamed, according to its renaming identifier.
    case renamed(from: String)
    /// A property is declared by another entity of the hierarchy, and its values stay.
    case moved(from: String, to: String)
    /// An aspect of the part has changed.
    case changed(ModelAspect, from: String, to: String)
  }

  /// The entity's name in the new version, or in the old version if it was removed; nil for changes outside entities.
  public let entity: String?
  /// The name of the property, index, configuration or fetch request; nil for a change of the entity itself.
  public let property: String?
  /// The part of the model that changed.
  public let subject: Subject
  /// The kind of change.
  public let kind: Kind
  /// Whether the entity's version hash changes, so that stores of the old version cannot be opened without a migration.
  public let changesVersionHash: Bool
  /// The kind of migration that the change requires.
  public internal(set) var migration: MigrationDemand
  /// The entity's name in the old version; nil if the entity is new.
  public let sourceEntity: String?
  /// The property's name in the old version; nil if the property is new, or for a change of the entity itself.
  public let sourceProperty: String?

  /// The change as a sentence.
  public var sentence: String {
    let name = [entity, property].compactMap { $0 }.joined(separator: ".")
    let thing = "The \(subject.rawValue) \(name)"
    switch kind {
    case .added(let description):
      return description.isEmpty ? "\(thing) is new." : "\(thing) is new: \(description)."
    case .removed: return "\(thing) is removed."
    case .renamed(let old): return "\(thing) was called \(old); its renaming identifier says so."
    case .moved(let old, let new): return "\(thing) has moved from \(old) to \(new)."
    case .changed(let aspect, let old, let new):
      return "\(thing): \(aspect.rawValue) was \(old), is \(new)."
    }
  }

  /// The kind of change as one word: `added`, `removed`, `renamed`, `moved`, or the aspect that changed.
  public var word: String {
    switch kind {
    case .added: "added"
    case .removed: "removed"
    case .renamed: "renamed"
    case .moved: "moved"
    case .changed(let aspect, _, _): aspect.rawValue
    }
  }

  /// The old value; nil if there was none.
  public var oldValue: String? {
    switch kind {
    case .added, .removed: nil
    case .renamed(let old), .moved(let old, _), .changed(_, let old, _): old
    }
  }

  /// The new value; nil if it was removed.
  public var newValue: String? {
    switch kind {
    case .removed: nil
    case .added(let description): description
    case .renamed: property ?? entity
    case .moved(_, let new), .changed(_, _, let new): new
    }
  }
}

/// The aspects of entities and properties. The raw values are stable, and can be read by people and programs.
public enum ModelAspect: String, Hashable, Sendable, CaseIterable {
  case parent
  case abstract
  case className = "class"
  case uniqueness
  case compoundIndexes = "compound indexes"
  case type
  case optional
  case transient
  case defaultValue = "default"
  case minimum
  case maximum
  case minimumLength = "minimum length"
  case maximumLength = "maximum length"
  case pattern = "regular expression"
  case validation
  case derivation
  case elements
  case valueClass = "value class"
  case transformer = "value transformer"
  case externalStorage = "external storage"
  case historyTombstone = "preserved after deletion"
  case cloudEncryption = "encrypted in the cloud"
  case indexed
  case spotlight
  case destination
  case inverse
  case toMany = "to-many"
  case minimumCount = "minimum count"
  case maximumCount = "maximum count"
  case ordered
  case deleteRule = "delete rule"
  case request
  case members
  case definition
  case renamingIdentifier = "renaming identifier"
  case versionHashModifier = "hash modifier"
  case userInfo = "user info"
}
