// OpenCoreData
// SPDX-License-Identifier: Apache-2.0

import CoreDataMigration
import CoreDataModelFiles
import Foundation

/// Finds the models of stages: among those that the stages refer to, the versions beside the destination model, the other
/// models of the program, and the one that the store carries.
final class StageModels {
  private let url: URL
  private let metadata: [String: Any]
  private let configuration: String?
  private let references: [String: NSManagedObjectModelReference]
  private let versions: [ModelVersion]
  private let files: [URL]
  private var found: [String: ModelVersion?] = [:]
  private lazy var others = ModelVersionList(files).versions
  private lazy var own = Result { try SQLiteStore.cachedModel(at: url) }

  /// - Throws: the errors of reading the versions beside the destination model.
  init(
    of order: StageOrder, destination: NSManagedObjectModel, files: [URL], url: URL, metadata: [String: Any],
    configuration: String?
  ) throws {
    self.url = url
    self.metadata = metadata
    self.configuration = configuration
    self.files = files
    let all = order.customs.flatMap { [$0.stage.currentModel, $0.stage.nextModel] }
    references = Dictionary(all.map { ($0.versionChecksum, $0) }) { first, _ in first }
    let known = try ModelVersions(around: destination)
    let wanted =
      known.version(like: destination)
      ?? ModelVersion(name: ModelVersions.name(of: destination), model: destination)
    versions = [ModelVersion(name: wanted.name, model: destination)] + known.versions
  }

  /// The model with a checksum; nil where it is nowhere.
  ///
  /// - Throws: 134504 for a reference that cannot be resolved; the errors of the model that the store carries.
  func version(_ checksum: String) throws -> ModelVersion? {
    if let known = found[checksum] { return known }
    let version = try search(checksum)
    found[checksum] = .some(version)
    return version
  }

  private func search(_ checksum: String) throws -> ModelVersion? {
    let beside = versions.first { $0.versionHashes.checksum == checksum }
    if let reference = references[checksum] {
      let model = try reference.resolve()
      return ModelVersion(name: beside?.name ?? ModelVersions.name(of: model), model: model)
    }
    if let beside { return beside }
    if let other = others.first(where: { $0.model.versionChecksum == checksum }) {
      return ModelVersion(name: other.place, model: other.model)
    }
    if let model = try own.get(), model.versionChecksum == checksum {
      return ModelVersion(name: SourceVersionFinder.storesOwnName, model: model)
    }
    return nil
  }

  /// Whether the store is of the version with a checksum.
  ///
  /// - Throws: as `version(_:)`.
  func isOfStore(_ checksum: String) throws -> Bool {
    if checksum == storeChecksum { return true }
    // The checksum of a store with some of the entities is that of these entities, and not the model's.
    guard configuration != nil, let model = try version(checksum)?.model() else { return false }
    return model.isConfiguration(withName: configuration, compatibleWithStoreMetadata: metadata)
  }

  /// The checksum of the store's entities.
  var storeChecksum: String {
    VersionHashes.checksum(of: metadata[NSStoreModelVersionHashesKey] as? [String: Data] ?? [:])
  }
}
