// OpenCoreData
// SPDX-License-Identifier: Apache-2.0

import CoreDataModelFiles
import Foundation

/// The versions of a path search in order, including its two ends.
///
/// Versions with equal hashes are one version with several names. An end that is not a known version is placed beside the
/// version most similar to it: before it as the source, after it as the destination.
package struct VersionOrder {
  package private(set) var versions: [ModelVersion] = []
  package private(set) var source = 0
  package private(set) var destination = 0
  /// The positions of versions by name.
  package private(set) var names: [String: Int] = [:]

  /// - Parameter nearest: the version after an unknown source; nil for the most similar one.
  package init(
    known: [ModelVersion], source: ModelVersion, destination: ModelVersion,
    nearest: ModelVersion? = nil
  ) {
    var aliases: [[String]] = []
    var positions: [[String: Data]: Int] = [:]
    for version in known {
      if let position = positions[version.hashes] {
        aliases[position].append(version.name)
      } else {
        positions[version.hashes] = versions.count
        versions.append(version)
        aliases.append([version.name])
      }
    }
    func insert(_ end: ModelVersion, beside nearest: ModelVersion?, after: Bool) {
      guard !versions.contains(where: { Self.hashes($0) == Self.hashes(end) }) else { return }
      let chosen = nearest.flatMap { near in versions.firstIndex { Self.hashes($0) == Self.hashes(near) } }
      let position = (chosen ?? mostSimilar(to: end, last: after)).map { $0 + (after ? 1 : 0) } ?? versions.count
      versions.insert(end, at: position)
      aliases.insert([end.name], at: position)
    }
    insert(source, beside: nearest, after: false)
    insert(destination, beside: nil, after: true)
    for (position, version) in versions.enumerated() {
      // The ends keep the caller's names.
      if Self.hashes(version) == Self.hashes(source) { (self.source, versions[position]) = (position, source) }
      if Self.hashes(version) == Self.hashes(destination) {
        (self.destination, versions[position]) = (position, destination)
      }
      for name in aliases[position] { names[name] = position }
    }
  }

  private static func hashes(_ version: ModelVersion) -> [String: Data] {
    version.hashes
  }

  /// The position of the version most similar to another.
  private func mostSimilar(to end: ModelVersion, last: Bool) -> Int? {
    let own = end.likeness
    let distances = versions.map { own.distance(to: $0.likeness) }
    guard let least = distances.min() else { return nil }
    return last ? distances.lastIndex(of: least) : distances.firstIndex(of: least)
  }
}

/// The first version on the path of a store that no known version has written.
///
/// It is the version where an inferred step drops the least of the store's content; among equals, the one most similar to the
/// store's model.
package struct NearestVersion {
  /// Counts how much of each item the store has, and omits those it does not have.
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
        // An unreachable version is only better than none.
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
