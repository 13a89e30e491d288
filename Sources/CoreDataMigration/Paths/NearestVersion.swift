// OpenCoreData
// SPDX-License-Identifier: Apache-2.0

import CoreDataModelFiles
import Foundation

/// The version that a store which no version has written is taken to first.
///
/// It is the one to which an inferred step drops the least of what the store holds, and among these the one that has the most
/// properties in common with the store's model.
package struct NearestVersion {
  /// Fills in how much the store holds of each item, and leaves out those of which it holds nothing.
  package typealias Counter = ([DroppedContent]) throws -> [DroppedContent]

  package let model: ModelVersion
  /// The entities that the store has.
  package let entities: Set<String>
  package let counted: Counter

  package init(
    model: ModelVersion, entities: Set<String>, counted: @escaping Counter
  ) {
    self.model = model
    self.entities = entities
    self.counted = counted
  }

  /// - Throws: the errors of counting.
  package func choose(among versions: [ModelVersion]) throws -> ModelVersion? {
    let side = ModelSide(model.document, hashes: model.hashes)
    let own = model.likeness
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
      let distance = own.distance(to: version.likeness)
      if best.map({ (losses, distance) < ($0.losses, $0.distance) }) ?? true {
        best = (version, losses, distance)
      }
    }
    return best?.version
  }
}
