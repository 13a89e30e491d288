// OpenCoreData
// SPDX-License-Identifier: Apache-2.0

import Foundation

/// The versions that a way may lead over, in their order, each once, with its two ends among them.
///
/// Versions with equal hashes are one version with several names. An end that is none of the versions known, such as the
/// model that a store carries, has its place beside the version that it shares the most entities with: before it as the
/// source, after it as the destination.
struct VersionOrder {
  private(set) var versions: [ModelVersions.Version] = []
  private(set) var source = 0
  private(set) var destination = 0
  /// The positions of versions by name.
  private(set) var names: [String: Int] = [:]

  init(known: [ModelVersions.Version], source: ModelVersions.Version, destination: ModelVersions.Version) {
    var aliases: [[String]] = []
    for version in known {
      if let position = versions.firstIndex(where: { Self.hashes($0) == Self.hashes(version) }) {
        aliases[position].append(version.name)
      } else {
        versions.append(version)
        aliases.append([version.name])
      }
    }
    func insert(_ end: ModelVersions.Version, after: Bool) {
      guard !versions.contains(where: { Self.hashes($0) == Self.hashes(end) }) else { return }
      let likeness = versions.map { Self.likeness($0, end) }
      let nearest = after ? likeness.lastIndex(of: likeness.max() ?? 0) : likeness.firstIndex(of: likeness.max() ?? 0)
      let position = nearest.map { $0 + (after ? 1 : 0) } ?? versions.count
      versions.insert(end, at: position)
      aliases.insert([end.name], at: position)
    }
    insert(source, after: false)
    insert(destination, after: true)
    for (position, version) in versions.enumerated() {
      // The ends go by the names that the caller has for them.
      if Self.hashes(version) == Self.hashes(source) { (self.source, versions[position]) = (position, source) }
      if Self.hashes(version) == Self.hashes(destination) {
        (self.destination, versions[position]) = (position, destination)
      }
      for name in aliases[position] { names[name] = position }
    }
  }

  private static func hashes(_ version: ModelVersions.Version) -> [String: Data] {
    version.model.entityVersionHashesByName
  }

  /// How many entities two versions have in common, to the hash.
  private static func likeness(_ one: ModelVersions.Version, _ other: ModelVersions.Version) -> Int {
    hashes(one).count { hashes(other)[$0.key] == $0.value }
  }
}
