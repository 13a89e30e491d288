// OpenCoreData
// SPDX-License-Identifier: Apache-2.0

/// Something that keeps a mapping model from being inferred.
package struct InferenceObstacle: Hashable, Sendable {
  /// What was found, as a sentence.
  package var reason: String
  /// What to do, as a sentence.
  package var advice: String
  package var entity: String?
  package var property: String?

  /// Describes an obstacle.
  package init(_ reason: String, advice: String, entity: String? = nil, property: String? = nil) {
    self.reason = reason
    self.advice = advice
    self.entity = entity
    self.property = property
  }
}

/// Everything that keeps a mapping model from being inferred; never empty.
package struct InferenceFailure: Error, Hashable, Sendable {
  package var obstacles: [InferenceObstacle]

  package init(
    obstacles: [InferenceObstacle]
  ) {
    self.obstacles = obstacles
  }
}
