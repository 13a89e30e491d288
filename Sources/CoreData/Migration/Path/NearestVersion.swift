// OpenCoreData
// SPDX-License-Identifier: Apache-2.0

import CoreDataModelFiles
import Foundation

/// The version that a store which no version has written is taken to first.
///
/// It is the one to which an inferred step drops the least of what the store holds, and among these the one that has the most
/// properties in common with the store's model.
struct NearestVersion {
  /// Fills in how much the store holds of each item, and leaves out those of which it holds nothing.
  typealias Counter = ([DroppedContent]) throws -> [DroppedContent]

  let model: NSManagedObjectModel
  /// The entities that the store has.
  let entities: Set<String>
  let counted: Counter

  /// - Throws: the errors of counting.
  func choose(among versions: [ModelVersion]) throws -> ModelVersion? {
    let side = ModelSide(model.document, hashes: model.entityVersionHashesByName)
    let own = ModelLikeness(ModelVersion(name: "", model: model))
    var best: (version: ModelVersion, losses: Int, distance: Int)?
    for version in versions {
      let other = ModelSide(version.document, hashes: version.hashes)
      let losses: Int
      do {
        let mapping = try MappingInference(source: side, destination: other).run()
        losses = try counted(
          DroppedContent.dropped(by: [.init(source: model.document, mapping: mapping)], of: entities)
        ).count
      } catch is InferenceFailure {
        // A version that cannot be reached is only better than none.
        losses = Int.max
      }
      let distance = own.distance(to: ModelLikeness(version))
      if best.map({ (losses, distance) < ($0.losses, $0.distance) }) ?? true {
        best = (version, losses, distance)
      }
    }
    return best?.version
  }
}

/// How much two models have in common, to the hashes of their properties.
struct ModelLikeness {
  private let parts: Set<Part>

  private struct Part: Hashable {
    let entity: String
    let property: String?
    let hash: Data?
  }

  init(_ version: ModelVersion) {
    let hashes = version.versionHashes
    parts = version.document.entities.reduce(into: []) { parts, entity in
      parts.insert(Part(entity: entity.name, property: nil, hash: hashes.entities[entity.name]))
      for name in entity.attributes.map(\.name) + entity.relationships.map(\.name) {
        parts.insert(Part(entity: entity.name, property: name, hash: hashes.property(name, of: entity.name)))
      }
    }
  }

  /// How many entities and properties only one of the two models has.
  func distance(to other: ModelLikeness) -> Int { parts.symmetricDifference(other.parts).count }
}
