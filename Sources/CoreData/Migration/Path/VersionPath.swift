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

  /// The steps through the versions in between; in one go where the versions in between do not lead there.
  ///
  /// - Throws: 134190 of the step that cannot be inferred.
  func steps(
    from source: ModelVersions.Version, to destination: ModelVersions.Version
  ) throws -> [StoreMigration.Step] {
    if hashes(of: source) == hashes(of: destination) { return [] }
    let path = versions(from: source, to: destination)
    do {
      return try steps(along: path)
    } catch let failure as NSError where path.count > 2 {
      do {
        return try steps(along: [source, destination])
      } catch {
        // The step between neighbours is the one that a person can mend; what failed directly is beside the point.
        throw failure
      }
    }
  }

  private func versions(
    from source: ModelVersions.Version, to destination: ModelVersions.Version
  ) -> [ModelVersions.Version] {
    let names = known.versions.map(\.name)
    guard let start = names.firstIndex(of: source.name), let end = names.firstIndex(of: destination.name) else {
      return [source, destination]
    }
    let between = start < end ? Array(known.versions[start...end]) : known.versions[end...start].reversed()
    // Versions with equal hashes are one version with several names.
    var path = [source]
    for version in between.dropFirst() where hashes(of: version) != hashes(of: path[path.count - 1]) {
      path.append(version)
    }
    if path[path.count - 1].name != destination.name { path[path.count - 1] = destination }
    return withoutDetours(path)
  }

  private func steps(along path: [ModelVersions.Version]) throws -> [StoreMigration.Step] {
    try zip(path, path.dropFirst()).map { source, destination in
      let mapping = try NSMappingModel.inferredMappingModel(
        forSourceModel: source.model, destinationModel: destination.model)
      return StoreMigration.Step(
        source: source.name, destination: destination.name, kind: .inferred,
        sourceModel: source.model, destinationModel: destination.model, mappingModel: mapping,
        mappingURL: nil)
    }
  }

  private func hashes(of version: ModelVersions.Version) -> [String: Data] {
    version.model.entityVersionHashesByName
  }
}
