// OpenCoreData
// SPDX-License-Identifier: Apache-2.0

import CoreDataMigration
import CoreDataModelFiles
import Foundation

/// The versions of a model that a migration can go through, in order. Each is read when it is first asked for.
package struct ModelVersions {
  package let currentName: String?
  /// Where the versions were found, for error messages; nil for a model that was built in code.
  let url: URL?
  /// Why the versions beside a single one cannot be read, where that is so.
  private(set) var problemOfOthers: (url: URL, error: any Error)?
  private let shelf: VersionShelf

  /// Finds all versions of a model. Of a single version in a folder of versions the others are found too.
  ///
  /// - Throws: the errors of `NSManagedObjectModel.load(contentsOf:version:)`.
  package init(contentsOf url: URL) throws {
    let siblings = Self.siblings(of: url)
    if let found = try? siblings?.get() {
      // Below it is said why they cannot be read.
      self = found
      return
    }
    try self.init(only: NSManagedObjectModel.bundle(at: url))
    if let folder = Self.folder(of: url), case .failure(let error)? = siblings { problemOfOthers = (folder, error) }
  }

  /// The folder of versions that a single version is in; nil where it is in none.
  private static func folder(of url: URL) -> URL? {
    let folder = url.deletingLastPathComponent()
    guard ["mom", "omo", "xcdatamodel"].contains(url.pathExtension),
      ["momd", "xcdatamodeld"].contains(folder.pathExtension)
    else { return nil }
    return folder
  }

  /// The versions in the folder that a single version is in, which is the current one then; nil where it is in none, or
  /// cannot be read there.
  private static func siblings(of url: URL) -> Result<ModelVersions, any Error>? {
    guard let folder = folder(of: url) else { return nil }
    let name = url.deletingPathExtension().lastPathComponent
    let found = Result { try ModelVersions(only: ModelBundle(contentsOf: folder, current: name)) }
    if case .success(let versions) = found, !versions.has(name) { return nil }
    return found
  }

  /// The versions of a bundle; of a single version in a folder of versions the others are found too.
  ///
  /// - Throws: as `NSManagedObjectModel.load(contentsOf:version:)`, for a model that contradicts itself.
  package init(_ bundle: ModelBundle) throws {
    guard bundle.names.count == 1, Self.folder(of: bundle.url) != nil else {
      try self.init(only: bundle)
      return
    }
    try self.init(contentsOf: bundle.url)
  }

  /// The versions of a bundle, and no others.
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
      shelf: VersionShelf(bundle), currentName: bundle.currentVersionName, url: bundle.url)
  }

  /// Versions that are at hand, in order.
  package init(_ versions: [ModelVersion]) {
    self.init(shelf: VersionShelf(versions), currentName: nil, url: nil)
  }

  private init(shelf: VersionShelf, currentName: String?, url: URL?) {
    self.shelf = shelf
    self.currentName = currentName
    self.url = url
  }

  /// What to know where the versions beside a single one cannot be read, in a sentence.
  var noteOnOthers: String? {
    problemOfOthers.map { folder, error in
      let reason = (error as? ModelFileError)?.found ?? error.localizedDescription
      return "The versions in '\(folder.path)' cannot be read. \(reason)"
    }
  }

  /// The names of all versions in their order, of those too that cannot be read.
  package var names: [String] { shelf.names }

  /// All versions that can be read.
  package var versions: [ModelVersion] { shelf.versions(at: Array(names.indices)) }

  /// The versions from one to another, both of them included; all of them where one of the two is not known.
  func versions(between first: ModelVersion, and second: ModelVersion) -> [ModelVersion] {
    let ends = [first, second].compactMap { end in
      names.firstIndex(of: end.name).flatMap { shelf.version(at: $0)?.hashes == end.hashes ? $0 : nil }
    }
    guard ends.count == 2, let least = ends.min(), let greatest = ends.max() else { return versions }
    return shelf.versions(at: Array(least...greatest))
  }

  /// Whether there is a version of a name that can be read.
  private func has(_ name: String) -> Bool { names.firstIndex(of: name).flatMap { shelf.version(at: $0) } != nil }

  /// A model alone, together with the versions beside it in the file that it was read from.
  ///
  /// - Throws: as `init(contentsOf:)`.
  init(around model: NSManagedObjectModel) throws {
    guard let url = model.origins.first, model.origins.count == 1 else {
      let version = ModelVersion(name: ModelVersions.name(of: model), model: model)
      self.init(shelf: VersionShelf([version]), currentName: version.name, url: nil)
      return
    }
    try self.init(contentsOf: url)
  }

  /// The version of that name; the current one for nil.
  ///
  /// - Throws: 134060 when there is none.
  func version(named name: String?) throws -> ModelVersion {
    let wanted = name ?? currentName
    if let wanted, let position = names.firstIndex(of: wanted), let version = shelf.version(at: position) {
      return version
    }
    let all = versions
    guard wanted == nil, let last = all.last else {
      throw ModelErrors.unknownVersion(name ?? "", known: all.map(\.name), url: url)
    }
    return last
  }

  /// The version whose hashes are those of a model.
  func version(like model: NSManagedObjectModel) -> ModelVersion? {
    let hashes = model.entityVersionHashesByName
    return versions(fitting: hashes) { $0.hashes == hashes }.first
  }

  /// The version that a store was written with.
  ///
  /// Of several with equal hashes it is the one whose identifier the store has, else the first.
  func version(fitting metadata: [String: Any], configuration: String?) -> ModelVersion? {
    let identifiers = (metadata[NSStoreModelVersionIdentifiersKey] as? [Any] ?? []).compactMap { $0 as? String }
    let fitting = versions(
      fitting: metadata[NSStoreModelVersionHashesKey] as? [String: Data] ?? [:], identifiers: identifiers
    ) { $0.wrote(metadata, configuration: configuration) }
    return fitting.first { $0.isNamed(by: identifiers) } ?? fitting.first
  }

  /// The versions that have the hashes of a store, in their order, and of which a condition holds. Few others are read.
  ///
  /// Of versions with equal hashes those are found that stand beside one another; all of them in a bundle of few versions, in
  /// a compiled one, and where the store has identifiers and none of these names a version that was found.
  package func versions(
    fitting stored: [String: Data], identifiers: [String] = [], where fits: @escaping (ModelVersion) -> Bool
  ) -> [ModelVersion] {
    let current = names.firstIndex { $0 == currentName }
    let found = VersionSearch(shelf: shelf, current: current, stored: stored, fits: fits).run()
      .compactMap { shelf.version(at: $0) }
    guard !found.isEmpty, identifiers.contains(where: { !$0.isEmpty }),
      !found.contains(where: { $0.isNamed(by: identifiers) })
    else { return found }
    return versions.filter(fits)
  }

  /// The configuration that a store was made with, where one of the versions has it; nil for all entities.
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

  /// A name for a model that has none of its own: the developer's identifier for the version.
  static func name(of model: NSManagedObjectModel) -> String {
    let identifiers = model.versionIdentifiers.compactMap { $0.base as? String }.filter { !$0.isEmpty }.sorted()
    return identifiers.isEmpty ? "the app's model" : identifiers.joined(separator: ", ")
  }
}
