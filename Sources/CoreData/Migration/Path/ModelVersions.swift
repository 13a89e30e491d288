// OpenCoreData
// SPDX-License-Identifier: Apache-2.0

import CoreDataModelFiles
import Foundation

/// The versions of a model that a migration can go through, in order.
package struct ModelVersions {
  package let versions: [ModelVersion]
  package let currentName: String?
  /// Where the versions were found, for error messages; nil for a model that was built in code.
  let url: URL?

  /// Reads all versions of a model. Of a single version in a folder of versions the others are read too.
  ///
  /// - Throws: the errors of `NSManagedObjectModel.load(contentsOf:version:)`.
  package init(contentsOf url: URL) throws {
    if let siblings = ModelVersions(around: url) {
      self = siblings
      return
    }
    try self.init(bundleAt: url, currentName: nil)
  }

  /// The versions in the folder that a single version is in, which is the current one then; nil where it is in none.
  private init?(around url: URL) {
    let folder = url.deletingLastPathComponent()
    let name = url.deletingPathExtension().lastPathComponent
    guard ["mom", "omo", "xcdatamodel"].contains(url.pathExtension),
      ["momd", "xcdatamodeld"].contains(folder.pathExtension),
      // A version beside it that cannot be read does not keep the one that was named from being used.
      let found = try? ModelVersions(bundleAt: folder, currentName: name),
      found.versions.contains(where: { $0.name == name })
    else { return nil }
    self = found
  }

  private init(bundleAt url: URL, currentName: String?) throws {
    let bundle = try NSManagedObjectModel.bundle(at: url)
    try self.init(reading: bundle.versions, currentName: currentName ?? bundle.currentVersionName, url: url)
  }

  /// Versions that have been read, in order; of a single version in a folder of versions the others are read too.
  ///
  /// - Throws: as `NSManagedObjectModel.load(contentsOf:version:)`, for a model that contradicts itself.
  package init(_ documents: [(name: String, document: ModelDocument)], currentName: String?, url: URL) throws {
    if documents.count == 1, let siblings = ModelVersions(around: url) {
      self = siblings
      return
    }
    try self.init(reading: documents, currentName: currentName, url: url)
  }

  private init(
    reading documents: [(name: String, document: ModelDocument)], currentName: String?, url: URL
  ) throws {
    let readings = documents.concurrentMap { version in
      Result {
        try version.document.validate()
        return VersionHashes(version.document)
      }
    }
    // A version that contradicts itself is left out where there are others.
    let usable = zip(documents, readings).compactMap { version, reading in
      // Why one cannot be used is told where none can.
      (try? reading.get()).map {
        ModelVersion(name: version.name, document: version.document, versionHashes: $0, url: url)
      }
    }
    if usable.isEmpty, case .failure(let error as ModelFileError)? = readings.first {
      throw ModelErrors.cannotRead(error)
    }
    self.init(versions: usable, currentName: currentName, url: url)
  }

  /// Versions that are at hand, in order.
  init(_ versions: [ModelVersion]) {
    self.init(versions: versions, currentName: nil, url: nil)
  }

  private init(versions: [ModelVersion], currentName: String?, url: URL?) {
    self.versions = versions
    self.currentName = currentName
    self.url = url
  }

  /// A model alone, together with the versions beside it in the file that it was read from.
  ///
  /// - Throws: as `init(contentsOf:)`.
  init(around model: NSManagedObjectModel) throws {
    guard let url = model.origins.first, model.origins.count == 1 else {
      let version = ModelVersion(name: ModelVersions.name(of: model), model: model)
      self.init(versions: [version], currentName: version.name, url: nil)
      return
    }
    try self.init(contentsOf: url)
  }

  /// The version of that name; the current one for nil.
  ///
  /// - Throws: 134060 when there is none.
  func version(named name: String?) throws -> ModelVersion {
    guard let wanted = name ?? currentName ?? versions.last?.name,
      let version = versions.first(where: { $0.name == wanted })
    else {
      throw ModelErrors.unknownVersion(name ?? "", known: versions.map(\.name), url: url)
    }
    return version
  }

  /// The version whose hashes are those of a model.
  func version(like model: NSManagedObjectModel) -> ModelVersion? {
    versions.first { $0.hashes == model.entityVersionHashesByName }
  }

  /// The version that a store was written with.
  ///
  /// Of several with equal hashes it is the one whose identifier the store has, else the first.
  func version(fitting metadata: [String: Any], configuration: String?) -> ModelVersion? {
    let fitting = versions.filter { $0.wrote(metadata, configuration: configuration) }
    guard fitting.count > 1 else { return fitting.first }
    let identifiers = Set(
      (metadata[NSStoreModelVersionIdentifiersKey] as? [Any] ?? []).compactMap { $0 as? String }.filter { !$0.isEmpty })
    return fitting.first { version in
      identifiers.contains(version.name) || !identifiers.isDisjoint(with: version.document.versionIdentifiers)
    } ?? fitting.first
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
