// OpenCoreData
// SPDX-License-Identifier: Apache-2.0

import CoreDataMigration
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
    let own = ModelVersion(name: "", model: model).likeness
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
