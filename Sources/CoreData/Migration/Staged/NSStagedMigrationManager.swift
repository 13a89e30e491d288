// OpenCoreData
// SPDX-License-Identifier: Apache-2.0

import CoreDataMigration
import CoreDataMistakes
import CoreDataModelFiles
import CoreDataStoreFiles
import Foundation

/// Migrates a store in stages when it is opened: the value of `NSPersistentStoreStagedMigrationManagerOptionKey`.
///
/// The stages put all versions in one order. A migration begins at the first stage that contains the store's version,
/// and ends at the version that the store is opened with. Models, the order of the stages, and whether each step can be
/// inferred are checked before anything changes. Each finished stage is permanent: after a failure or an interruption,
/// the next migration continues from there.
///
/// Mapping models are not used.
open class NSStagedMigrationManager: NSObject, @unchecked Sendable {
  /// The stages, in the order of the versions.
  public let stages: [NSMigrationStage]
  /// Holds the open store while a handler runs.
  let stageContainer = Guarded<(any StageContainer)?>(nil)

  /// Creates a manager.
  ///
  /// Traps if two stages have the same version, except that a custom stage may begin where the previous one ends.
  ///
  /// - Parameter stages: the stages, in the order of the versions.
  public init(_ stages: [NSMigrationStage]) {
    self.stages = stages
    super.init()
    let repeated = StageOrder(stages).repeated
    trap(
      unless: repeated.isEmpty,
      "NSStagedMigrationManager: Duplicate version checksums across stages detected: \(repeated.joined(separator: ", ")). "
        + "Give each version one stage. \(MigrationErrors.stageHelp)")
  }
}

/// An object that opens a store for the handlers of a stage, and holds it for them. Programs access it as the manager's
/// `container`.
protocol StageContainer: AnyObject, Sendable {
  var persistentStoreCoordinator: NSPersistentStoreCoordinator { get }

  /// Returns a container with an open store, without migrating it.
  static func opened(
    _ url: URL, _ model: NSManagedObjectModel, configuration: String?, options: [String: NSObject]
  ) throws -> any StageContainer
}

/// The versions of all stages as one sequence.
struct StageOrder {
  /// A custom stage, with the positions of its two versions.
  struct Custom {
    let stage: NSCustomMigrationStage
    let start: Int
    let end: Int
  }

  /// Version checksums, in order.
  private(set) var checksums: [String] = []
  private(set) var customs: [Custom] = []
  private var lightweights: [(stage: NSLightweightMigrationStage, positions: Range<Int>)] = []
  /// Checksums that occur in several stages.
  private(set) var repeated: [String] = []

  init(_ stages: [NSMigrationStage]) {
    var seen: Set<String> = []
    var isAfterCustom = false
    for stage in stages {
      let custom = stage as? NSCustomMigrationStage
      var own = stage.checksums
      if isAfterCustom, custom != nil, own.first == checksums.last { own.removeFirst() }
      repeated += Set(own).intersection(seen).sorted()
      seen.formUnion(own)
      checksums += own
      if let lightweight = stage as? NSLightweightMigrationStage {
        lightweights.append((lightweight, checksums.count - own.count..<checksums.count))
      }
      if let custom {
        let end = checksums.count - 1
        customs.append(Custom(stage: custom, start: end - 1, end: end))
      }
      isAfterCustom = custom != nil
    }
  }

  /// Returns the lightweight stages that lead from one version to another: those that contain a version after the
  /// first, or else the one that it belongs to.
  func lightweightStages(from start: Int, to end: Int) -> [NSLightweightMigrationStage] {
    let passed = lightweights.filter { $0.positions.overlaps(start + 1..<end + 1) }
    return (passed.isEmpty ? lightweights.filter { $0.positions.contains(start) } : passed).map(\.stage)
  }
}

/// Finds the models of stages: in the stages' references, among the versions beside the destination model, in the
/// program's other models, and in the store.
final class StageModels {
  private let url: URL
  private let metadata: [String: Any]
  private let configuration: String?
  private let references: [String: NSManagedObjectModelReference]
  private let versions: [ModelVersion]
  private let files: [URL]
  private var found: [String: ModelVersion?] = [:]
  private lazy var others = ModelVersionList(files).versions
  private lazy var own = Result { try SQLiteStore.carriedModel(at: url) }

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

  /// Returns the version with a checksum; nil if there is none.
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
      return ModelVersion(name: other.location, model: other.model)
    }
    if let model = try own.get(), model.versionChecksum == checksum {
      return ModelVersion(name: SourceVersionFinder.storesOwnName, model: model)
    }
    return nil
  }

  /// Returns the name and the checksum of a version, for errors; only the checksum if no model has it.
  func label(_ checksum: String) -> String {
    // An unreadable model has no name here. The error about the stages is the one to report.
    guard let version = try? version(checksum) else { return checksum }
    let isNamed = ![ModelVersions.unnamed, SourceVersionFinder.storesOwnName].contains(version.name)
    return "\(isNamed ? "'\(version.name)'" : version.name) (\(checksum))"
  }

  /// Returns whether the store has the version with a checksum.
  ///
  /// - Throws: as `version(_:)`.
  func isOfStore(_ checksum: String) throws -> Bool {
    if checksum == storeChecksum { return true }
    // A store with one configuration's entities has their checksum, not that of the model.
    guard configuration != nil, let model = try version(checksum)?.model() else { return false }
    return model.isConfiguration(withName: configuration, compatibleWithStoreMetadata: metadata)
  }

  /// The checksum of the store's entities.
  var storeChecksum: String {
    VersionHashes.checksum(of: metadata[NSStoreModelVersionHashesKey] as? [String: Data] ?? [:])
  }
}

extension StoreOptions {
  package var stagedMigration: NSStagedMigrationManager? {
    self[NSPersistentStoreStagedMigrationManagerOptionKey] as? NSStagedMigrationManager
  }
}
