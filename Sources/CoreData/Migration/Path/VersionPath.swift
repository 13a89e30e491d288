// OpenCoreData
// SPDX-License-Identifier: Apache-2.0

import CoreDataModelFiles
import Foundation

/// Finds the steps from the version that a store has to the one that it is to have.
struct VersionPath {
  /// What a version is called that only the store itself knows.
  static let storesOwnName = "the store's own model"

  let known: ModelVersions
  let configuration: String?
  /// Where to look for the version of a store that is none of those known; nil for nowhere.
  var search: SourceModelSearch?

  /// The version of a store: one of those known, else one found by a search, or else the model that the store carries.
  ///
  /// - Throws: 134130 when neither fits the store's version hashes.
  func sourceVersion(of url: URL, metadata: [String: Any]) throws -> ModelVersions.Version {
    if let version = known.version(fitting: metadata, configuration: configuration) { return version }
    if let version = search?.version(fitting: metadata, configuration: configuration) { return version }
    if let model = try SQLiteStore.cachedModel(at: url),
      model.isConfiguration(withName: nil, compatibleWithStoreMetadata: metadata)
    {
      return ModelVersions.Version(name: VersionPath.storesOwnName, model: model)
    }
    let searched = known.versions.map { version in
      let count = StoreCompatibility.differences(
        metadata: metadata, model: version.model, configuration: configuration, storeModel: nil
      ).count
      return "\(version.name) (\(count) \(count == 1 ? "entity differs" : "entities differ"))"
    }
    let files = (search?.files ?? []).map { "'\($0.path)'" }
    throw MigrationErrors.missingSourceModel(url: url, metadata: metadata, searched: searched + files)
  }
}
