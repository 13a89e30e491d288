// OpenCoreData
// SPDX-License-Identifier: Apache-2.0

import Foundation

/// Compares models down to the hashes of their entities and properties.
package struct ModelLikeness {
  /// An entity or a property with its hash.
  struct Part: Hashable {
    let entity: String
    let property: String?
    let hash: Data?
  }

  let parts: Set<Part>

  /// Collects the parts of a model.
  package init(_ document: ModelDocument, _ hashes: VersionHashes) {
    parts = document.entities.reduce(into: []) { parts, entity in
      parts.insert(Part(entity: entity.name, property: nil, hash: hashes.entities[entity.name]))
      for name in entity.attributes.map(\.name) + entity.relationships.map(\.name) {
        parts.insert(Part(entity: entity.name, property: name, hash: hashes.property(name, of: entity.name)))
      }
    }
  }

  /// Returns the number of entities and properties that only one of the two models has.
  package func distance(to other: ModelLikeness) -> Int { parts.symmetricDifference(other.parts).count }
}
