// OpenCoreData
// SPDX-License-Identifier: Apache-2.0

import CoreDataModelFiles

/// The expected content of a store after several inferred steps.
struct PathReference {
  /// The versions of each step.
  let steps: [(old: ModelDocument, new: ModelDocument)]

  /// Returns the outcome of a migration that did not throw.
  func outcome(before: StoreImage, after: StoreImage) -> MigrationRehearsal.Outcome {
    var expected = before
    for (position, step) in steps.enumerated() {
      let reference = MigrationReference(from: step.old, to: step.new)
      // If hierarchies are merged, the keys can only be taken from the result.
      let distances = position == steps.count - 1 ? reference.distances(from: expected, to: after) : [:]
      expected = reference.expected(after: expected.moved(distances, in: step.old)).image
    }
    let differences = after.differences(from: expected)
    return differences.isEmpty ? .same : .failed(differences)
  }

  /// Returns the expected content of the store after the steps, except for the keys of merged hierarchies.
  func image(after before: StoreImage) -> StoreImage {
    steps.reduce(before) { MigrationReference(from: $1.old, to: $1.new).expected(after: $0).image }
  }

  /// Returns the outcome of a migration that threw: a correct refusal if the rows do not allow the migration.
  func refusal(_ reason: String, _ before: StoreImage) -> MigrationRehearsal.Outcome {
    obstacles(before).isEmpty ? .failed([reason]) : .refused(reason)
  }

  /// Returns the reasons the rows do not allow the migration; empty if they do.
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
