// OpenCoreData
// SPDX-License-Identifier: Apache-2.0

import CoreDataModelFiles
import CoreDataPredicates
import Foundation

/// A difference between the model of a store and the model to open it with, in what goes into version hashes.
package struct VersionDifference: Hashable, Sendable {
  package enum Change: Hashable, Sendable {
    /// The store has the entity or property, but the model does not.
    case missingInModel
    /// The model has the entity or property, but the store does not.
    case missingInStore
    /// The version hashes of the entity differ, and nothing more is known. The values are their first hexadecimal
    /// digits.
    case hash(store: String, model: String)
    /// An aspect, such as `type`, and its values in the store and in the model.
    case aspect(String, store: String, model: String)
  }

  package var entity: String
  /// The name of the property; nil if the difference concerns the entity as a whole.
  package var property: String?
  package var change: Change

  package init(entity: String, property: String? = nil, _ change: Change) {
    self.entity = entity
    self.property = property
    self.change = change
  }

  package var sentence: String {
    let subject = property.map { "The property '\($0)' of entity '\(entity)'" } ?? "Entity '\(entity)'"
    switch change {
    case .missingInModel: return "\(subject) is in the store, but not in the model."
    case .missingInStore: return "\(subject) is in the model, but not in the store."
    case .hash(let store, let model):
      return
        "\(subject) is not the same: its version hash begins with \(store) in the store, with \(model) in the model."
    case .aspect(let name, let store, let model):
      return "\(subject): \(name) is \(store) in the store, \(model) in the model."
    }
  }

  /// Returns sentences that describe the first differences, by entity and property, and name the entities of the
  /// others.
  package static func text(_ differences: [VersionDifference], limit: Int) -> String {
    let rest = differences.dropFirst(limit)
    var sentences = differences.prefix(limit).map(\.sentence)
    if !rest.isEmpty {
      let entities = Set(rest.map(\.entity)).sorted()
      let names = entities.prefix(6).map { "'\($0)'" }.joined(separator: ", ")
      let more = entities.count > 6 ? " and \(entities.count - 6) more" : ""
      sentences.append(
        "There \(rest.count == 1 ? "is one more difference" : "are \(rest.count) more differences"), in the "
          + "\(entities.count == 1 ? "entity" : "entities") \(names)\(more).")
    }
    return sentences.joined(separator: " ")
  }

  /// Compares entity hashes and, if both models are known, also the properties of entities with different hashes. An
  /// entity that differs only in its ancestors is reported by its hash.
  ///
  /// - Parameters:
  ///   - store: The entity hashes of the store.
  ///   - model: The entity hashes of the model to open the store with.
  /// - Returns: The differences, sorted by entity name.
  package static func between(
    store: [String: Data], model: [String: Data], documents: (store: ModelDocument, model: ModelDocument)? = nil
  ) -> [VersionDifference] {
    let indexes = documents.map { (store: EntityIndex($0.store), model: EntityIndex($0.model)) }
    return ContentDifference.between(ContentTree(store), ContentTree(model)).flatMap { difference in
      let entity = difference.path[0]
      guard difference.first != nil else { return [VersionDifference(entity: entity, .missingInStore)] }
      guard difference.second != nil else { return [VersionDifference(entity: entity, .missingInModel)] }
      let hash = Change.hash(store: start(of: store[entity]), model: start(of: model[entity]))
      guard let old = indexes?.store[entity], let new = indexes?.model[entity] else {
        return [VersionDifference(entity: entity, hash)]
      }
      let details = ContentDifference.between(ContentTree(hashedIn: old), ContentTree(hashedIn: new))
        .map { VersionDifference(entity: entity, $0) }
      return details.isEmpty ? [VersionDifference(entity: entity, hash)] : details
    }
  }

  private static func start(of hash: Data?) -> String {
    (hash ?? Data()).prefix(4).map { ($0 < 16 ? "0" : "") + String($0, radix: 16) }.joined()
  }

  /// Compares two models.
  package static func between(store: ModelDocument, model: ModelDocument) -> [VersionDifference] {
    between(store: VersionHashes(store).entities, model: VersionHashes(model).entities, documents: (store, model))
  }

  private init(entity: String, _ difference: ContentDifference) {
    let property = difference.path[0].isEmpty ? nil : difference.path[0]
    switch (difference.path.dropFirst().first, difference.first, difference.second) {
    case (let aspect?, let store, let model):
      self.init(entity: entity, property: property, .aspect(aspect, store: store ?? "none", model: model ?? "none"))
    case (nil, nil, _): self.init(entity: entity, property: property, .missingInStore)
    default: self.init(entity: entity, property: property, .missingInModel)
    }
  }
}

extension ContentTree {
  /// Creates a tree of the version hashes of entities.
  fileprivate init(_ hashes: [String: Data]) {
    self = .names(hashes.mapValues { .value($0.base64EncodedString()) })
  }
}

/// A difference between two trees of named values.
package struct ContentDifference: Hashable, Sendable {
  /// The names on the path to the value, such as `attributes`, `text`, `isOptional`.
  package let path: [String]
  /// The value in the first tree; nil if it has none.
  package let first: String?
  /// The value in the second tree; nil if it has none.
  package let second: String?

  package var text: String {
    "\(path.joined(separator: ".")) is \(first ?? "absent") in one, \(second ?? "absent") in the other"
  }

  /// Returns all differences, sorted by name.
  package static func between(_ first: ContentTree, _ second: ContentTree) -> [ContentDifference] {
    between(first, second, at: [])
  }

  private static func between(_ first: ContentTree, _ second: ContentTree, at path: [String]) -> [ContentDifference] {
    guard case .names(let left) = first, case .names(let right) = second else {
      return first == second ? [] : [ContentDifference(path: path, first: first.text, second: second.text)]
    }
    return Set(left.keys).union(right.keys).sorted().flatMap { name -> [ContentDifference] in
      let inner = path + [name]
      guard let one = left[name], let other = right[name] else {
        return [ContentDifference(path: inner, first: left[name]?.text, second: right[name]?.text)]
      }
      return between(one, other, at: inner)
    }
  }
}

/// A tree of named values: the contents of a model at a chosen level of detail, for comparison.
package indirect enum ContentTree: Hashable {
  case value(String)
  case names([String: ContentTree])

  fileprivate var text: String {
    switch self {
    case .value(let text): text
    case .names: "present"
    }
  }

  // MARK: Everything

  /// Creates a tree of everything in a document, down to single values. Named elements of lists are identified by name,
  /// regardless of their order.
  package init(everythingIn value: Any) {
    let mirror = Mirror(reflecting: value)
    let children: [(String, Any)]
    switch mirror.displayStyle {
    case .struct: children = mirror.children.compactMap { child in child.label.map { ($0, child.value) } }
    case .collection:
      children = mirror.children.compactMap { child in Self.name(of: child.value).map { ($0, child.value) } }
    default: children = []
    }
    let names = Dictionary(children) { first, _ in first }
    let isComplete = mirror.displayStyle == .collection ? names.count == mirror.children.count : !names.isEmpty
    self = isComplete ? .names(names.mapValues(ContentTree.init(everythingIn:))) : .value(Self.text(value))
  }

  private static func name(of value: Any) -> String? {
    Mirror(reflecting: value).children.first { $0.label == "name" }?.value as? String
  }

  private static func text(_ value: Any) -> String {
    let mirror = Mirror(reflecting: value)
    if mirror.displayStyle == .optional { return mirror.children.first.map { text($0.value) } ?? "none" }
    if mirror.displayStyle == .dictionary {
      // The order of equal dictionaries can differ.
      let pairs = mirror.children.map { pair in Mirror(reflecting: pair.value).children.map { text($0.value) } }
      return "[" + pairs.map { $0.joined(separator: ": ") }.sorted().joined(separator: ", ") + "]"
    }
    return String(describing: value)
  }

  // MARK: What goes into version hashes

  /// Creates a tree of what goes into the version hash of an entity: its own aspects under the empty name, and those of
  /// every persistent property under the property's name.
  package init(hashedIn entity: EntityDocument) {
    let constraints = entity.uniquenessConstraints.map { $0.joined(separator: ", ") }.sorted()
    var parts = [
      "": Self.aspects([
        "isAbstract": "\(entity.isAbstract)", "superentity": entity.parentName,
        "versionHashModifier": entity.versionHashModifier,
        "uniquenessConstraints": constraints.isEmpty ? nil : constraints.joined(separator: "; "),
      ])
    ]
    for attribute in entity.attributes where !attribute.isTransient {
      parts[attribute.name] = Self.aspects(Self.hashedAspects(of: attribute))
    }
    for relationship in entity.relationships where !relationship.isTransient {
      parts[relationship.name] = Self.aspects([
        "type": "Relationship", "isOptional": "\(relationship.isOptional)",
        "destination": relationship.destinationEntityName, "inverse": relationship.inverseName,
        "minCount": "\(relationship.minCount)",
        "maxCount": relationship.maxCount == 0 ? "unlimited" : "\(relationship.maxCount)",
        "isOrdered": "\(relationship.isOrdered)", "versionHashModifier": relationship.versionHashModifier,
      ])
    }
    self = .names(parts)
  }

  private static func aspects(_ aspects: [String: String?]) -> ContentTree {
    .names(aspects.compactMapValues { $0.map(ContentTree.value) })
  }

  private static func hashedAspects(of attribute: AttributeDocument) -> [String: String?] {
    if let derivation = attribute.derivation { return ["derivation": PredicatePrinter.derivationFormat(derivation)] }
    var aspects: [String: String?] = ["type": attribute.kind.title]
    if attribute.kind == .composite {
      for element in attribute.elements {
        for (name, value) in hashedAspects(of: element) { aspects["\(element.name).\(name)"] = value }
      }
      return aspects
    }
    let isFlagged = attribute.allowsExternalBinaryDataStorage || attribute.preservesValueInHistoryOnDeletion
    aspects["isOptional"] = "\(attribute.isOptional)"
    aspects["versionHashModifier"] = attribute.versionHashModifier
    aspects["external storage or preservation in history"] = "\(isFlagged)"
    return aspects
  }
}
