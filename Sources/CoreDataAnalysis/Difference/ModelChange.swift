// OpenCoreData
// SPDX-License-Identifier: Apache-2.0

/// The kind of migration that a change asks for, from the least to the most.
public enum MigrationDemand: String, Hashable, Sendable, Comparable, CaseIterable {
  /// Stores can be opened as they are: version hashes stay the same.
  case none
  /// A mapping can be inferred.
  case inferred
  /// Nothing can be inferred: a mapping model or a custom stage must say what becomes of the data.
  case custom

  /// From the least work to the most.
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

/// One thing that is not the same in two versions of a model.
public struct ModelChange: Hashable, Sendable {
  /// What part of a model a change is about.
  public enum Subject: String, Hashable, Sendable {
    case entity
    case attribute
    case relationship
    case fetchedProperty = "fetched property"
    case fetchIndex = "index"
    case configuration
    case fetchRequest = "fetch request"
  }

  /// What happened to it.
  public enum Kind: Hashable, Sendable {
    /// It is new; the text says what it is, as `String, optional`.
    case added(String)
    /// It is gone.
    case removed
    /// It has another name, by its renaming identifier.
    case renamed(from: String)
    /// A property is declared by another entity of the hierarchy, and its values stay.
    case moved(from: String, to: String)
    /// An aspect of it has another value.
    case changed(ModelAspect, from: String, to: String)
  }

  /// The entity, by its name in the new version, or in the old one where it was removed; nil for what belongs to none.
  public let entity: String?
  /// The property, index, configuration or fetch request; nil where the change is about the entity itself.
  public let property: String?
  /// What part of the model it is about.
  public let subject: Subject
  /// What happened.
  public let kind: Kind
  /// Whether the version hash of the entity changes, so that stores of the old version are refused.
  public let changesVersionHash: Bool
  /// The kind of migration that the change asks for.
  public internal(set) var migration: MigrationDemand
  /// The entity's name in the old version; nil where it is new.
  public let sourceEntity: String?
  /// The property's name in the old version; nil where it is new, or where the change is about the entity itself.
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

  /// One word for the kind of change: `added`, `removed`, `renamed`, `moved`, or the aspect that changed.
  public var word: String {
    switch kind {
    case .added: "added"
    case .removed: "removed"
    case .renamed: "renamed"
    case .moved: "moved"
    case .changed(let aspect, _, _): aspect.rawValue
    }
  }

  /// What it was; nil for what is new.
  public var oldValue: String? {
    switch kind {
    case .added, .removed: nil
    case .renamed(let old), .moved(let old, _), .changed(_, let old, _): old
    }
  }

  /// What it is now; nil for what is removed.
  public var newValue: String? {
    switch kind {
    case .removed: nil
    case .added(let description): description
    case .renamed: property ?? entity
    case .moved(_, let new), .changed(_, _, let new): new
    }
  }
}

/// What of an entity or property can change; the raw values are words for people and programs.
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
