// OpenCoreData
// SPDX-License-Identifier: Apache-2.0

import CoreDataModelFiles

/// What a store must hold after several inferred steps.
struct PathReference {
  /// The versions of each step.
  let steps: [(old: ModelDocument, new: ModelDocument)]

  /// The outcome of a migration that has not failed.
  func outcome(before: StoreImage, after: StoreImage) -> MigrationRehearsal.Outcome {
    var expected = before
    for (position, step) in steps.enumerated() {
      let reference = MigrationReference(from: step.old, to: step.new)
      // Where hierarchies are joined, the keys follow from the result alone.
      let distances = position == steps.count - 1 ? reference.distances(from: expected, to: after) : [:]
      expected = reference.expected(after: expected.moved(distances, in: step.old)).image
    }
    let differences = after.differences(from: expected)
    return differences.isEmpty ? .same : .failed(differences)
  }

  /// What the store holds after the steps, but for the keys of joined hierarchies.
  func image(after before: StoreImage) -> StoreImage {
    steps.reduce(before) { MigrationReference(from: $1.old, to: $1.new).expected(after: $0).image }
  }

  /// The outcome of a migration that has failed: it is right if the rows do not allow the migration.
  func refusal(_ reason: String, _ before: StoreImage) -> MigrationRehearsal.Outcome {
    obstacles(before).isEmpty ? .failed([reason]) : .refused(reason)
  }

  /// Why the rows do not allow the migration; empty where they do.
  private func obstacles(_ before: StoreImage) -> [MigrationReference.Obstacle] {
    var image = before
    for step in steps {
      let (next, obstacles) = MigrationReference(from: step.old, to: step.new).expected(after: image)
      guard obstacles.isEmpty else { return obstacles }
      image = next
    }
    return []
  }
}
