// OpenCoreData
// SPDX-License-Identifier: Apache-2.0

import CoreDataMigration
import CoreDataModelFiles
import Foundation

/// Finds the steps from the version that a store has to the one that it is to have.
struct SourceVersionFinder {
  /// What a version is called that only the store itself knows.
  static let storesOwnName = "the store's own model"

  let known: ModelVersions
  let configuration: String?
  /// Where to look for the version of a store that is none of those known; nil for nowhere.
  var search: SourceModelSearch?

  /// The version of a store, with those beside it where they are not known: one of those known, else one found by a search, or else the model that the store carries.
  ///
  /// - Throws: 134130 when neither fits the store's version hashes.
  func sourceVersion(of url: URL, metadata: [String: Any]) throws -> SourceModelSearch.Found {
    if let version = known.version(fitting: metadata, configuration: configuration) { return (version, []) }
    if let found = search?.version(fitting: metadata, configuration: configuration) { return found }
    if let model = try SQLiteStore.cachedModel(at: url), Self.wrote(model, metadata, configuration) {
      return (ModelVersion(name: SourceVersionFinder.storesOwnName, model: model), [])
    }
    throw missingSourceModel(of: url, metadata: metadata)
  }

  /// Whether a store was written with a model: with all of its entities, or with those of a configuration.
  private static func wrote(
    _ model: NSManagedObjectModel, _ metadata: [String: Any], _ configuration: String?
  ) -> Bool {
    ([nil, configuration] + model.configurations).contains {
      model.isConfiguration(withName: $0, compatibleWithStoreMetadata: metadata)
    }
  }

  /// Whether an entity belongs to the configuration of a version.
  private func membership(_ version: ModelVersion, _ configuration: String?) -> (String) -> Bool {
    guard let names = version.document.configurations.first(where: { $0.name == configuration })?.entityNames else {
      return { _ in true }
    }
    return { names.contains($0) }
  }

  /// 134130
  ///
  /// - Parameter dropped: what the way from the store's own model would drop, where that is why it is not taken.
  func missingSourceModel(of url: URL, metadata: [String: Any], dropped: [DroppedContent] = []) -> NSError {
    let searched = known.versions.map { version in
      let stored = metadata[NSStoreModelVersionHashesKey] as? [String: Data] ?? [:]
      let isMember = membership(version, configuration)
      let count = VersionDifference.between(store: stored, model: version.hashes.filter { isMember($0.key) }).count
      return "\(version.name) (\(count) \(count == 1 ? "entity differs" : "entities differ"))"
    }
    let files = (search?.files ?? []).map { "'\($0.path)'" }
    return MigrationErrors.missingSourceModel(
      url: url, metadata: metadata, searched: searched + files, note: known.noteOnOthers, dropped: dropped)
  }
}
