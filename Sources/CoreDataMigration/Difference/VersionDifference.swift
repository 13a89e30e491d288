// OpenCoreData
// SPDX-License-Identifier: Apache-2.0

import CoreDataModelFiles
import Foundation

/// One way in which the model of a store differs from the model it is to be opened with, in what goes into version hashes.
package struct VersionDifference: Hashable, Sendable {
  package enum Change: Hashable, Sendable {
    /// The store has the entity or property, the model has not.
    case missingInModel
    /// The model has the entity or property, the store has not.
    case missingInStore
    /// The version hashes of the entity differ, and no more is known.
    case hash
    /// An aspect, such as `type`, and its values in the store and in the model.
    case aspect(String, store: String, model: String)
  }

  package var entity: String
  /// Nil where the difference is about the entity as a whole.
  package var property: String?
  package var change: Change

  package init(entity: String, property: String? = nil, _ change: Change) {
    self.entity = entity
    self.property = property
    self.change = change
  }

  /// The difference as a sentence.
  package var sentence: String {
    let subject = property.map { "The property '\($0)' of entity '\(entity)'" } ?? "Entity '\(entity)'"
    switch change {
    case .missingInModel: return "\(subject) is in the store, but not in the model."
    case .missingInStore: return "\(subject) is in the model, but not in the store."
    case .hash: return "\(subject) is not the same in the store and in the model: the version hashes differ."
    case .aspect(let name, let store, let model):
      return "\(subject): \(name) is \(store) in the store, \(model) in the model."
    }
  }

  /// Compares entity hashes, and where both models are known also the properties of entities whose hashes differ. An entity
  /// that differs only in its ancestors is reported by its hash.
  ///
  /// - Parameters:
  ///   - store: the entity hashes of the store.
  ///   - model: the entity hashes of the model that the store is to be opened with.
  /// - Returns: the differences in the order of the entities' names.
  package static func between(
    store: [String: Data], model: [String: Data], documents: (store: ModelDocument, model: ModelDocument)? = nil
  ) -> [VersionDifference] {
    let indexes = documents.map { (store: EntityIndex($0.store), model: EntityIndex($0.model)) }
    return ContentDifference.between(ContentTree(store), ContentTree(model)).flatMap { difference in
      let entity = difference.path[0]
      guard difference.first != nil else { return [VersionDifference(entity: entity, .missingInStore)] }
      guard difference.second != nil else { return [VersionDifference(entity: entity, .missingInModel)] }
      guard let old = indexes?.store[entity], let new = indexes?.model[entity] else {
        return [VersionDifference(entity: entity, .hash)]
      }
      let details = ContentDifference.between(ContentTree(hashedIn: old), ContentTree(hashedIn: new))
        .map { VersionDifference(entity: entity, $0) }
      return details.isEmpty ? [VersionDifference(entity: entity, .hash)] : details
    }
  }

  /// Compares two models.
  package static func between(store: ModelDocument, model: ModelDocument) -> [VersionDifference] {
    between(
      store: VersionHashes(store).entities, model: VersionHashes(model).entities, documents: (store, model))
  }

  private init(entity: String, _ difference: ContentDifference) {
    let property = difference.path[0].isEmpty ? nil : difference.path[0]
    switch (difference.path.dropFirst().first, difference.first, difference.second) {
    case (let aspect?, let store, let model):
      self.init(
        entity: entity, property: property, .aspect(aspect, store: store ?? "none", model: model ?? "none"))
    case (nil, nil, _): self.init(entity: entity, property: property, .missingInStore)
    default: self.init(entity: entity, property: property, .missingInModel)
    }
  }
}

extension ContentTree {
  /// Only the version hashes of entities.
  fileprivate init(_ hashes: [String: Data]) {
    self = .names(hashes.mapValues { .value($0.base64EncodedString()) })
  }
}
