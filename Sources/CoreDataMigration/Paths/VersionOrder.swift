// OpenCoreData
// SPDX-License-Identifier: Apache-2.0

import Foundation

/// The versions that a way may lead over, in their order, each once, with its two ends among them.
///
/// Versions with equal hashes are one version with several names. An end that is none of the versions known has its place
/// beside the version that it has the most in common with: before it as the source, after it as the destination.
package struct VersionOrder {
  package private(set) var versions: [ModelVersion] = []
  package private(set) var source = 0
  package private(set) var destination = 0
  /// The positions of versions by name.
  package private(set) var names: [String: Int] = [:]

  /// - Parameter nearest: the version before which an unknown source has its place; nil for the most similar one.
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
      // The ends go by the names that the caller has for them.
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

  /// The position of the version that has the most in common with a model.
  private func mostSimilar(to end: ModelVersion, last: Bool) -> Int? {
    let own = end.likeness
    let distances = versions.map { own.distance(to: $0.likeness) }
    guard let least = distances.min() else { return nil }
    return last ? distances.lastIndex(of: least) : distances.firstIndex(of: least)
  }
}
