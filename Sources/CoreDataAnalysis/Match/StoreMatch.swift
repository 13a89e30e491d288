// OpenCoreData
// SPDX-License-Identifier: Apache-2.0

import CoreData
import CoreDataMigration
import CoreDataModelFiles
import Foundation

/// The version of a model that wrote a store; if none matches, the nearest version and its differences.
public struct StoreMatch: Hashable, Sendable {
  /// One way in which the store differs from the nearest version.
  public struct Difference: Hashable, Sendable {
    /// The entity that differs.
    public let entity: String
    /// The property; nil if the difference is about the whole entity, or its details are unknown.
    public let property: String?
    /// The difference in one or two words: `only in store`, `only in model`, `version hash`, or the differing aspect,
    /// such as `type`.
    public let change: String
    /// The difference as a sentence.
    public let sentence: String
  }

  /// The version whose entities have exactly the store's hashes; nil if there is none. If there are several, it is the
  /// one named by the store's identifier, otherwise the current one, otherwise the last.
  public let version: String?
  /// All versions whose entities have exactly the store's hashes, in their order.
  public let versions: [String]
  /// Whether the version is certain because of the store's identifier, or because only one version has its hashes.
  package let isCertain: Bool
  /// The configuration of that version with which the store was created; nil for all entities.
  public let configuration: String?
  /// The matching version, or the one with the fewest differing entities; nil if no version has an entity in common
  /// with the store.
  public let nearest: String?
  /// Without a match, up to three versions that have entities in common with the store, the nearest first.
  public let nearestVersions: [String]
  /// The differences between the store and the nearest version; empty for a match.
  public let differences: [Difference]

  /// Compares a store with all versions of a model.
  ///
  /// - Parameters:
  ///   - storeHashes: `NSStoreModelVersionHashes` of the store's metadata.
  ///   - storeModel: the model cached in the store, if any, for listing differences by property.
  ///   - versions: all versions by name.
  ///   - identifiers: the store's version identifiers, which distinguish versions with equal hashes.
  ///   - current: the name of the current version, which is preferred if several are equally near.
  public init(
    storeHashes: [String: Data], storeModel: ModelDocument?, versions: [(name: String, document: ModelDocument)],
    identifiers: [String] = [], current: String? = nil
  ) {
    let named = versions.concurrentMap { version in
      (name: version.name, document: version.document, hashes: VersionHashes(version.document))
    }
    let known = ModelVersions(
      named.map { ModelVersion(name: $0.name, document: $0.document, versionHashes: $0.hashes) })
    self.init(
      storeHashes: storeHashes, storeModel: storeModel, known: known, identifiers: identifiers, current: current)
  }

  /// Compares a store with the versions of a model, reading only as many as are needed to find the match.
  ///
  /// - Parameters: see `init(storeHashes:storeModel:versions:identifiers:current:)`.
  package init(
    storeHashes: [String: Data], storeModel: ModelDocument?, known: ModelVersions, identifiers: [String] = [],
    current: String? = nil
  ) {
    func ordered(_ versions: [ModelVersion]) -> [ModelVersion] {
      versions.filter { $0.name == current } + versions.reversed().filter { $0.name != current }
    }
    let matching = known.versions(fitting: storeHashes, identifiers: identifiers) {
      Self.configuration(of: $0.document, hashes: $0.hashes, matching: storeHashes) != nil
    }
    guard let chosen = ordered(matching).first(where: { $0.isNamed(by: identifiers) }) ?? ordered(matching).first else {
      let near = Self.nearest(to: storeHashes, storeModel, ordered(known.versions))
      versions = []
      version = nil
      isCertain = false
      configuration = nil
      nearest = near.first?.name
      nearestVersions = near.map(\.name)
      differences = near.first?.differences.map(Difference.init) ?? []
      return
    }
    versions = matching.map(\.name)
    version = chosen.name
    isCertain = matching.count == 1 || chosen.isNamed(by: identifiers)
    let name = Self.configuration(of: chosen.document, hashes: chosen.hashes, matching: storeHashes) ?? ""
    configuration = name.isEmpty ? nil : name
    nearest = version
    nearestVersions = []
    differences = []
  }

  /// Returns up to three versions with entities in common, sorted by the number of differing entities, then of
  /// properties.
  private static func nearest(
    to stored: [String: Data], _ storeModel: ModelDocument?,
    _ versions: [ModelVersion]
  ) -> [(name: String, differences: [VersionDifference])] {
    let known = storeModel.flatMap { VersionHashes($0).entities == stored ? $0 : nil }
    let counted = versions.enumerated().filter { _, version in version.hashes.keys.contains { stored[$0] != nil } }
      .map { position, version in
        (
          position, version, count: VersionDifference.between(store: stored, model: version.hashes).count,
          version.hashes
        )
      }
    // Properties are compared only for the nearest versions.
    let limit = counted.map(\.count).sorted().prefix(3).last ?? 0
    let detailed = counted.filter { $0.count <= limit }.map { position, version, count, hashes in
      let differences = VersionDifference.between(
        store: stored, model: hashes, documents: known.map { ($0, version.document) })
      return (position: position, name: version.name, count: count, differences: differences)
    }
    return detailed.sorted {
      ($0.count, $0.differences.count, $0.position) < ($1.count, $1.differences.count, $1.position)
    }
    .prefix(3).map { ($0.name, $0.differences) }
  }

  /// A sentence about the nearest versions, for a store without a match.
  package var nearestSentence: String {
    switch nearestVersions.count {
    case 0: "None is near: no version has an entity in common with it."
    case 1: "The nearest is \(nearestVersions[0])."
    default:
      "The nearest are \(nearestVersions.dropLast().joined(separator: ", ")) and \(nearestVersions.last ?? "")."
    }
  }

  /// The version that wrote the store, or all versions that may have written it because their hashes are equal; nil
  /// without a match.
  package var versionText: String? {
    guard let version, !isCertain else { return version }
    let others = versions.filter { $0 != version }
    guard others.count <= 4 else { return "\(version) or one of \(others.count) others" }
    return (others + [version]).joined(separator: " or ")
  }

  /// A clause about other versions with the store's hashes; nil if there are none.
  package var equalVersions: String? {
    let others = versions.filter { $0 != version }
    guard let last = others.last else { return nil }
    let shown =
      others.count > 4
      ? "\(others.count) other versions"
      : others.count == 1
        ? last : "\(others.dropLast().joined(separator: ", ")) and \(last)"
    return "\(shown) \(others.count == 1 ? "has" : "have") the same version hashes"
  }

  /// Returns the configuration of a model with which a store was created; nil for all entities.
  package static func configuration(of document: ModelDocument, matching stored: [String: Data]) -> String? {
    guard !document.configurations.isEmpty else { return nil }
    let found = configuration(of: document, hashes: VersionHashes(document).entities, matching: stored)
    return found.flatMap { $0.isEmpty ? nil : $0 }
  }

  /// Returns the configuration whose entities have the hashes, empty for all entities; nil if there is none.
  private static func configuration(
    of document: ModelDocument, hashes: [String: Data], matching stored: [String: Data]
  ) -> String? {
    if hashes == stored { return "" }
    return document.configurations.first { configuration in
      hashes.filter { configuration.entityNames.contains($0.key) } == stored
    }?.name
  }
}

extension StoreMatch.Difference {
  init(_ difference: VersionDifference) {
    entity = difference.entity
    property = difference.property
    sentence = difference.sentence
    switch difference.change {
    case .missingInModel: change = "only in store"
    case .missingInStore: change = "only in model"
    case .hash: change = "version hash"
    case .aspect(let name, _, _): change = name
    }
  }
}
