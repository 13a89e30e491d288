// OpenCoreData
// SPDX-License-Identifier: Apache-2.0

import CoreData
import CoreDataMigration
import CoreDataModelFiles
import Foundation

/// The version of a model that wrote a store; without a match, the nearest version and its differences.
public struct StoreMatch: Hashable, Sendable {
  /// One way in which the store differs from the nearest version.
  public struct Difference: Hashable, Sendable {
    /// The entity that differs.
    public let entity: String
    /// Nil where the difference is about the entity as a whole, or no more is known.
    public let property: String?
    /// One word or two: `only in store`, `only in model`, `version hash`, or the aspect that differs, as `type`.
    public let change: String
    /// The difference as a sentence.
    public let sentence: String
  }

  /// The version whose entities have exactly the store's hashes; nil where there is none. Of several it is the one that the
  /// store's identifier names, else the current one, else the last.
  public let version: String?
  /// All versions whose entities have exactly the store's hashes, in their order.
  public let versions: [String]
  /// Whether the store's identifier, or its hashes alone, leave no doubt that it is that version.
  package let isCertain: Bool
  /// The configuration of that version which the store was made with; nil for all entities.
  public let configuration: String?
  /// The matching version, or the one with the fewest differing entities; nil where no version has an entity in common with
  /// the store.
  public let nearest: String?
  /// Without a match, up to three versions that have entities in common with the store, the nearest first.
  public let nearestVersions: [String]
  /// The differences between the store and the nearest version; empty for a match.
  public let differences: [Difference]

  /// Compares a store with all versions of a model.
  ///
  /// - Parameters:
  ///   - storeHashes: `NSStoreModelVersionHashes` of the store's metadata.
  ///   - storeModel: the model that the store carries, if any, to list differences by property.
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
  /// - Parameters: as of `init(storeHashes:storeModel:versions:identifiers:current:)`.
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

  /// Up to three versions with entities in common, sorted by the number of differing entities, then of properties.
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

  /// The nearest versions in a sentence, without a match.
  package var nearestSentence: String {
    switch nearestVersions.count {
    case 0: "None is near: no version has an entity in common with it."
    case 1: "The nearest is \(nearestVersions[0])."
    default:
      "The nearest are \(nearestVersions.dropLast().joined(separator: ", ")) and \(nearestVersions.last ?? "")."
    }
  }

  /// The version that wrote the store, or all that may have written it because their hashes are equal; nil without a match.
  package var versionText: String? {
    guard let version, !isCertain else { return version }
    let others = versions.filter { $0 != version }
    guard others.count <= 4 else { return "\(version) or one of \(others.count) others" }
    return (others + [version]).joined(separator: " or ")
  }

  /// The other versions with the store's hashes, in a clause; nil where there are none.
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

  /// The configuration of a model that a store was made with; nil for all entities.
  package static func configuration(of document: ModelDocument, matching stored: [String: Data]) -> String? {
    guard !document.configurations.isEmpty else { return nil }
    let found = configuration(of: document, hashes: VersionHashes(document).entities, matching: stored)
    return found.flatMap { $0.isEmpty ? nil : $0 }
  }

  /// The configuration whose entities have the hashes, empty for all entities; nil where there is none.
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
