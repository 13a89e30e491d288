// OpenCoreData
// SPDX-License-Identifier: Apache-2.0

import CoreDataModelFiles
import Foundation

/// The versions of a model that a migration can go through, in order.
package struct ModelVersions {
  package struct Version {
    package let name: String
    package let model: NSManagedObjectModel
  }

  package let versions: [Version]
  package let currentName: String?
  /// Where the versions were found, for error messages; nil for a model that was built in code.
  let url: URL?

  /// Reads all versions of a model.
  ///
  /// - Throws: the errors of `NSManagedObjectModel.load(contentsOf:version:)`.
  package init(contentsOf url: URL) throws {
    let found = try NSManagedObjectModel.versions(contentsOf: url)
    self.init(
      versions: found.map { Version(name: $0.name, model: $0.model) },
      currentName: try NSManagedObjectModel.currentVersionName(contentsOf: url), url: url)
  }

  /// Versions that have been read, in order.
  ///
  /// - Throws: as `NSManagedObjectModel.load(contentsOf:version:)`, for a model that contradicts itself.
  package init(_ documents: [(name: String, document: ModelDocument)], currentName: String?, url: URL) throws {
    self.init(
      versions: try documents.map { Version(name: $0.name, model: try NSManagedObjectModel(document: $0.document)) },
      currentName: currentName, url: url)
  }

  /// Versions that are at hand, in order.
  init(_ versions: [Version]) {
    self.init(versions: versions, currentName: nil, url: nil)
  }

  private init(versions: [Version], currentName: String?, url: URL?) {
    self.versions = versions
    self.currentName = currentName
    self.url = url
  }

  /// A model alone, together with the versions beside it in the file that it was read from.
  ///
  /// - Throws: as `init(contentsOf:)`.
  init(around model: NSManagedObjectModel) throws {
    guard let url = model.origins.first, model.origins.count == 1 else {
      let version = Version(name: ModelVersions.name(of: model), model: model)
      self.init(versions: [version], currentName: version.name, url: nil)
      return
    }
    try self.init(contentsOf: url)
  }

  /// The version of that name; the current one for nil.
  ///
  /// - Throws: 134060 when there is none.
  func version(named name: String?) throws -> Version {
    guard let wanted = name ?? currentName ?? versions.last?.name,
      let version = versions.first(where: { $0.name == wanted })
    else {
      throw ModelErrors.unknownVersion(name ?? "", known: versions.map(\.name), url: url)
    }
    return version
  }

  /// The version whose hashes are those of a model.
  func version(like model: NSManagedObjectModel) -> Version? {
    versions.first { $0.model.entityVersionHashesByName == model.entityVersionHashesByName }
  }

  /// The version that a store was written with.
  func version(fitting metadata: [String: Any], configuration: String?) -> Version? {
    versions.first { $0.model.isConfiguration(withName: configuration, compatibleWithStoreMetadata: metadata) }
  }

  /// The configuration that a store was made with, where one of the versions has it; nil for all entities.
  func configuration(fitting metadata: [String: Any]) -> String? {
    guard version(fitting: metadata, configuration: nil) == nil else { return nil }
    for version in versions {
      if let name = version.model.configurations.first(where: {
        version.model.isConfiguration(withName: $0, compatibleWithStoreMetadata: metadata)
      }) {
        return name
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
