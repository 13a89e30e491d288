// OpenCoreData
// SPDX-License-Identifier: Apache-2.0

import CoreDataMigration
import CoreDataModelFiles
import Foundation

/// The versions of a model, in order. Each is read when it is first needed.
package struct ModelVersions {
  package let currentName: String?
  /// The file of the versions, for error messages; nil for a model created in code.
  let url: URL?
  /// The reason why the other versions in the directory of a single version cannot be read; nil if they can.
  private(set) var problemOfOthers: (url: URL, error: any Error)?
  private let cache: VersionCache
  /// The mappings inferred between the versions, shared by all paths.
  private let inferred = InferredMappings()

  /// Finds all versions of a model. Given a single version in a version bundle, it finds the others too.
  ///
  /// - Throws: the errors of `NSManagedObjectModel.load(contentsOf:version:)`.
  package init(contentsOf url: URL) throws {
    let siblings = Self.siblings(of: url)
    if let found = try? siblings?.get() {
      // A failure is recorded below.
      self = found
      return
    }
    try self.init(only: NSManagedObjectModel.bundle(at: url))
    if let folder = Self.folder(of: url), case .failure(let error)? = siblings { problemOfOthers = (folder, error) }
  }

  /// Returns the version bundle that contains a single version; nil if there is none.
  private static func folder(of url: URL) -> URL? {
    let folder = url.deletingLastPathComponent()
    guard ["mom", "omo", "xcdatamodel"].contains(url.pathExtension),
      ["momd", "xcdatamodeld"].contains(folder.pathExtension)
    else { return nil }
    return folder
  }

  /// Returns the versions in the bundle of a single version, with that version as the current one; nil if there is no
  /// bundle, or if the version cannot be read there.
  private static func siblings(of url: URL) -> Result<ModelVersions, any Error>? {
    guard let folder = folder(of: url) else { return nil }
    let name = url.deletingPathExtension().lastPathComponent
    let found = Result { try ModelVersions(only: ModelBundle(contentsOf: folder, current: name)) }
    if case .success(let versions) = found, !versions.has(name) { return nil }
    return found
  }

  /// Reads the versions of a bundle. Given a single version in a version bundle, it finds the others too.
  ///
  /// - Throws: as `NSManagedObjectModel.load(contentsOf:version:)`, for an inconsistent model.
  package init(_ bundle: ModelBundle) throws {
    guard bundle.names.count == 1, Self.folder(of: bundle.url) != nil else {
      try self.init(only: bundle)
      return
    }
    try self.init(contentsOf: bundle.url)
  }

  /// Reads exactly the versions of a bundle.
  ///
  /// - Throws: as `init(_:)`.
  package init(only bundle: ModelBundle) throws {
    if bundle.names.count == 1, let only = bundle.versions.first {
      do {
        try only.document.validate()
      } catch let error as ModelFileError {
        throw ModelErrors.cannotRead(error)
      }
    }
    self.init(
      cache: VersionCache(bundle), currentName: bundle.currentVersionName, url: bundle.url)
  }

  /// Creates a list of the given versions, in order.
  ///
  /// - Parameter current: the name of the current version; nil if none is marked.
  package init(_ versions: [ModelVersion], current: String? = nil) {
    self.init(cache: VersionCache(versions), currentName: current, url: nil)
  }

  private init(cache: VersionCache, currentName: String?, url: URL?) {
    self.cache = cache
    self.currentName = currentName
    self.url = url
  }

  /// A sentence about other versions that cannot be read; nil if all can.
  var noteOnOthers: String? {
    problemOfOthers.map { folder, error in
      let reason = (error as? ModelFileError)?.found ?? error.localizedDescription
      return "The versions in '\(folder.path)' cannot be read. \(reason)"
    }
  }

  /// The names of all versions in order, including unreadable ones.
  package var names: [String] { cache.names }

  /// Returns the first unreadable version between two others, and the reason; nil if all are readable.
  func unreadable(between source: String, and destination: String) -> (name: String, error: ModelFileError)? {
    cache.unreadable(between: source, and: destination)
  }

  /// All readable versions.
  package var versions: [ModelVersion] { cache.versions(at: Array(names.indices)) }

  /// Returns the versions from one to another, both included; all versions if one of the two is unknown.
  func versions(between first: ModelVersion, and second: ModelVersion) -> [ModelVersion] {
    let ends = [first, second].compactMap { end in
      names.firstIndex(of: end.name).flatMap { cache.version(at: $0)?.hashes == end.hashes ? $0 : nil }
    }
    guard ends.count == 2, let least = ends.min(), let greatest = ends.max() else { return versions }
    return cache.versions(at: Array(least...greatest))
  }

  /// Returns, for each of some versions, whether its path to the last of them goes through all in between, if no
  /// mapping model is known.
  ///
  /// - Parameter versions: the versions in order; no two have the same hashes.
  package func plainPaths(_ versions: [ModelVersion]) -> [Bool] {
    PlainPaths(versions, sharing: inferred).arePlain
  }

  /// Returns the inferred mappings between some versions, each computed once for all paths.
  package func inferredSteps(_ versions: [ModelVersion]) -> InferredSteps {
    InferredSteps(versions, sharing: inferred)
  }

  /// Returns whether there is a readable version with a name.
  private func has(_ name: String) -> Bool { names.firstIndex(of: name).flatMap { cache.version(at: $0) } != nil }

  /// Finds the versions in the file that a model was read from.
  ///
  /// - Throws: as `init(contentsOf:)`.
  init(around model: NSManagedObjectModel) throws {
    guard let url = model.origins.first, model.origins.count == 1 else {
      let version = ModelVersion(name: ModelVersions.name(of: model), model: model)
      self.init(cache: VersionCache([version]), currentName: version.name, url: nil)
      return
    }
    try self.init(contentsOf: url)
  }

  /// Returns the version with a name; the current one for nil.
  ///
  /// - Throws: 134060 if there is none.
  package func version(named name: String?) throws -> ModelVersion {
    let wanted = name ?? currentName
    if let wanted, let position = names.firstIndex(of: wanted), let version = cache.version(at: position) {
      return version
    }
    let all = versions
    guard wanted == nil, let last = all.last else {
      throw ModelErrors.unknownVersion(name ?? "", known: all.map(\.name), url: url)
    }
    return last
  }

  /// Returns the version with the hashes of a model.
  func version(like model: NSManagedObjectModel) -> ModelVersion? {
    let hashes = model.entityVersionHashesByName
    return versions(fitting: hashes) { $0.hashes == hashes }.first
  }

  /// Returns the version that a store was written with.
  ///
  /// Among versions with equal hashes, returns the one whose identifier the store records, otherwise the first.
  func version(fitting metadata: [String: Any], configuration: String?) -> ModelVersion? {
    let identifiers = (metadata[NSStoreModelVersionIdentifiersKey] as? [Any] ?? []).compactMap { $0 as? String }
    let fitting = versions(
      fitting: metadata[NSStoreModelVersionHashesKey] as? [String: Data] ?? [:], identifiers: identifiers
    ) { $0.wrote(metadata, configuration: configuration) }
    return fitting.first { $0.isNamed(by: identifiers) } ?? fitting.first
  }

  /// Returns the versions that have the hashes of a store and satisfy a condition, in order. Reads few others.
  ///
  /// Versions with equal hashes are found if they are neighbours. All of them are found in a bundle of few versions, in
  /// a compiled bundle, and if the store records identifiers of which none names a version found so far.
  package func versions(
    fitting stored: [String: Data], identifiers: [String] = [], where fits: @escaping (ModelVersion) -> Bool
  ) -> [ModelVersion] {
    let current = names.firstIndex { $0 == currentName }
    let found = VersionSearch(cache: cache, current: current, stored: stored, fits: fits).run()
      .compactMap { cache.version(at: $0) }
    guard !found.isEmpty, identifiers.contains(where: { !$0.isEmpty }),
      !found.contains(where: { $0.isNamed(by: identifiers) })
    else { return found }
    return versions.filter(fits)
  }

  /// Returns the configuration of a version that matches a store; nil for a store with all entities.
  func configuration(fitting metadata: [String: Any]) -> String? {
    guard version(fitting: metadata, configuration: nil) == nil else { return nil }
    for version in versions {
      if let found = version.document.configurations.first(where: {
        version.wrote(metadata, configuration: $0.name)
      }) {
        return found.name
      }
    }
    return nil
  }

  /// The name of a model without a file and without version identifiers.
  static let unnamed = "the app's model"

  /// Returns a name for a model without a file: its version identifiers.
  static func name(of model: NSManagedObjectModel) -> String {
    let identifiers = model.versionIdentifiers.compactMap { $0.base as? String }.filter { !$0.isEmpty }.sorted()
    return identifiers.isEmpty ? unnamed : identifiers.joined(separator: ", ")
  }
}

extension ModelVersion {
  /// Wraps a model.
  package init(name: String, model: NSManagedObjectModel) {
    self.init(name: name, object: model) { (model.document, model.versionHashes) }
  }

  /// Creates the version's model.
  ///
  /// - Throws: as `NSManagedObjectModel.load(contentsOf:version:)`, for indexes that contradict the entity.
  package func model() throws -> NSManagedObjectModel {
    if let made = object as? NSManagedObjectModel { return made }
    let model = try NSManagedObjectModel(document: document)
    if let url { model.wasRead(from: url) }
    // Changes of the model discard its hashes.
    model.setVersionHashes(versionHashes)
    object = model
    return model
  }

  /// Returns whether a store was written with this version's entities of a configuration.
  func wrote(_ metadata: [String: Any], configuration: String?) -> Bool {
    guard let stored = metadata[NSStoreModelVersionHashesKey] as? [String: Data] else { return false }
    guard let configuration else { return hashes == stored }
    // The version must contain all of the store's entities, which alone excludes most versions. A version that cannot
    // become a model has written no store.
    guard stored.allSatisfy({ hashes[$0.key] == $0.value }), let model = try? model() else { return false }
    return model.isConfiguration(withName: configuration, compatibleWithStoreMetadata: metadata)
  }
}
