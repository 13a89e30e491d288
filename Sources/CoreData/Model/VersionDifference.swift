// OpenCoreData
// SPDX-License-Identifier: Apache-2.0

import Foundation

/// One way in which the model of a store differs from the model it is to be opened with.
package struct VersionDifference: Hashable, Sendable {
  /// What differs.
  package enum Change: Hashable, Sendable {
    /// The store has the entity or property, the model has not.
    case missingInModel
    /// The model has the entity or property, the store has not.
    case missingInStore
    /// The version hashes of the entity differ, and no more is known.
    case hash
    /// An aspect, such as `type`, and what it is on either side.
    case aspect(String, store: String, model: String)
  }

  package var entity: String
  /// Nil where the difference is about the entity as a whole.
  package var property: String?
  package var change: Change

  /// Makes a difference.
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

  /// The differences that entity hashes alone show, in the order of the entities' names.
  package static func between(store: [String: Data], model: [String: Data]) -> [VersionDifference] {
    Set(store.keys).union(model.keys).sorted().compactMap { name in
      switch (store[name], model[name]) {
      case (.some, nil): return VersionDifference(entity: name, .missingInModel)
      case (nil, .some): return VersionDifference(entity: name, .missingInStore)
      case (let stored, let wanted): return stored == wanted ? nil : VersionDifference(entity: name, .hash)
      }
    }
  }
}
