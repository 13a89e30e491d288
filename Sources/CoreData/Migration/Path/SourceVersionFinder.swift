// OpenCoreData
// SPDX-License-Identifier: Apache-2.0

import CoreDataMigration
import CoreDataModelFiles
import Foundation

/// Finds the version that a store was written with.
struct SourceVersionFinder {
  /// The name used for a version that only the store itself carries.
  static let storesOwnName = "the store's own model"

  let known: ModelVersions
  let configuration: String?
  /// The search for an unknown version; nil to skip it.
  var search: SourceModelSearch?
  /// Returns the model that a store carries, or nil.
  var carried: (URL) throws -> NSManagedObjectModel? = SourceVersionFinder.carriedByFile

  /// Returns the model that a SQLite store carries, or nil.
  static func carriedByFile(_ url: URL) throws -> NSManagedObjectModel? { try SQLiteStore.carriedModel(at: url) }

  /// Returns the version of a store: a known version; or one found by the search, with the other versions in its file;
  /// or the model that the store carries.
  ///
  /// - Throws: 134130 if none of them has the store's version hashes.
  func sourceVersion(of url: URL, metadata: [String: Any]) throws -> SourceModelSearch.Found {
    if let version = known.version(fitting: metadata, configuration: configuration) { return (version, []) }
    if let found = search?.version(fitting: metadata, configuration: configuration) { return found }
    if let model = try carried(url), !model.configurationNames(fitting: metadata).isEmpty {
      return (ModelVersion(name: SourceVersionFinder.storesOwnName, model: model), [])
    }
    throw missingSourceModel(of: url, metadata: metadata)
  }

  /// Returns a closure that returns whether an entity belongs to the configuration of a version.
  private func membership(_ version: ModelVersion, _ configuration: String?) -> (String) -> Bool {
    guard let names = version.document.configurations.first(where: { $0.name == configuration })?.entityNames else {
      return { _ in true }
    }
    return { names.contains($0) }
  }

  /// 134130: no model matches the store.
  ///
  /// - Parameter reduction: what a path from the store's own model would remove from the store; nil if that is not the
  ///   reason.
  func missingSourceModel(
    of url: URL, metadata: [String: Any], reduction: MigrationErrors.Reduction? = nil
  ) -> NSError {
    let compared = known.versions.map { version in
      let stored = metadata[NSStoreModelVersionHashesKey] as? [String: Data] ?? [:]
      let isMember = membership(version, configuration)
      let differences = VersionDifference.between(store: stored, model: version.hashes.filter { isMember($0.key) })
      return (name: version.name, differences: differences)
    }
    let searched = compared.map { name, differences in
      "\(name) (\(differences.count) \(differences.count == 1 ? "entity differs" : "entities differ"))"
    }
    let files = (search?.files ?? []).map { "'\($0.path)'" }
    // Of several equally near versions, the newest.
    let nearest = compared.reversed().min { $0.differences.count < $1.differences.count }
    return MigrationErrors.missingSourceModel(
      url: url, metadata: metadata, searched: searched + files, nearest: reduction == nil ? nearest : nil,
      note: known.noteOnOthers, reduction: reduction)
  }
}

/// Searches other model files for the version of a store.
///
/// Single versions come first, then merged versions of several models: a program that merges its models at run time has
/// stores that no single file matches.
struct SourceModelSearch {
  /// The model files, in search order.
  let files: [URL]

  init(files: [URL]) {
    self.files = files
  }

  /// Creates a search of the files that a model was created from, then of other locations.
  init(for destination: NSManagedObjectModel, in places: ModelSearch) {
    var files = destination.origins
    // If a directory cannot be listed, the store may still carry its model.
    for url in (try? places.models()) ?? []
    where !files.contains(where: { $0.standardizedFileURL == url.standardizedFileURL }) {
      files.append(url)
    }
    self.files = files
  }

  /// A store's version, and all versions in the same file, in order.
  typealias Found = (version: ModelVersion, siblings: [ModelVersion])

  /// Returns the version that a store was written with.
  func version(fitting metadata: [String: Any], configuration: String?) -> Found? {
    let list = ModelVersionList(files)
    func fits(_ model: NSManagedObjectModel) -> Bool {
      model.isConfiguration(withName: nil, compatibleWithStoreMetadata: metadata)
        || model.isConfiguration(withName: configuration, compatibleWithStoreMetadata: metadata)
    }
    if let version = list.versions.first(where: { fits($0.model) }) {
      let siblings = list.versions.filter { $0.fileName == version.fileName }
      return (
        ModelVersion(name: version.location, model: version.model),
        siblings.map { ModelVersion(name: $0.location, model: $0.model) }
      )
    }
    let choice = ModelMerge.choice(
      among: list.models, for: metadata[NSStoreModelVersionHashesKey] as? [String: Data] ?? [:])
    guard choice.missing.isEmpty,
      let merged = NSManagedObjectModel(byMerging: choice.models, forStoreMetadata: metadata), fits(merged)
    else { return nil }
    let names = choice.models.compactMap { model in list.versions.first { $0.model === model }?.location }
    return (ModelVersion(name: names.joined(separator: " + "), model: merged), [])
  }
}
