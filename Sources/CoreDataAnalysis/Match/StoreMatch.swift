// OpenCoreData
// SPDX-License-Identifier: Apache-2.0

import CoreData
import CoreDataModelFiles
import Foundation

/// Which version of a model wrote a store; where none did, the one that comes nearest, and what separates the two.
public struct StoreMatch: Hashable, Sendable {
  /// One way in which the store differs from the nearest version.
  public struct Difference: Hashable, Sendable {
    /// The entity that differs.
    public let entity: String
    /// Nil where the difference is about the entity as a whole, or the store does not tell more.
    public let property: String?
    /// One word or two: `only in store`, `only in model`, `version hash`, or the aspect that differs, as `type`.
    public let change: String
    /// The difference as a sentence.
    public let sentence: String
  }

  /// The version whose entities have exactly the store's hashes; nil where there is none.
  public let version: String?
  /// The configuration of that version which the store was made with; nil for all entities.
  public let configuration: String?
  /// The matching version, or the one with the fewest differing entities; nil only where the model has no versions.
  public let nearest: String?
  /// What separates the store from the nearest version; empty for a match.
  public let differences: [Difference]

  /// Compares a store with all versions of a model.
  ///
  /// - Parameters:
  ///   - storeHashes: `NSStoreModelVersionHashes` of the store's metadata.
  ///   - storeModel: the model that the store carries, where it carries one; with it differences are told by property.
  ///   - versions: all versions by name.
  ///   - current: the name of the current version, which is preferred where several are equally near.
  public init(
    storeHashes: [String: Data], storeModel: ModelDocument?, versions: [(name: String, document: ModelDocument)],
    current: String? = nil
  ) {
    let known = storeModel.flatMap { VersionHashes($0).entities == storeHashes ? $0 : nil }
    let ordered = versions.filter { $0.name == current } + versions.reversed().filter { $0.name != current }
    var best: (name: String, entities: Int, differences: [VersionDifference])?
    for version in ordered {
      let hashes = VersionHashes(version.document).entities
      if let configuration = Self.configuration(of: version.document, hashes: hashes, matching: storeHashes) {
        self.version = version.name
        self.configuration = configuration.isEmpty ? nil : configuration
        nearest = version.name
        differences = []
        return
      }
      let distance = VersionDifference.between(store: storeHashes, model: hashes)
      let details = known.map { VersionDifference.between(store: $0, model: version.document) } ?? distance
      if best.map({ (distance.count, details.count) < ($0.entities, $0.differences.count) }) ?? true {
        best = (version.name, distance.count, details)
      }
    }
    version = nil
    configuration = nil
    nearest = best?.name
    differences = best?.differences.map(Difference.init) ?? []
  }

  /// The configuration of a model that a store was made with; nil for all entities.
  static func configuration(of document: ModelDocument, matching stored: [String: Data]) -> String? {
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
