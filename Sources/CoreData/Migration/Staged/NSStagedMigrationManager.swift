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

/// Runs the stages of a staged migration on one store.
struct StagedMigration {
  /// The metadata key of an unfinished stage, whose step is finished and whose `didMigrateHandler` is not. The value
  /// has the checksums of the stage's two versions.
  static let pendingKey = StoreMetadata.Key.pendingStage

  let manager: NSStagedMigrationManager
  let url: URL
  let metadata: [String: Any]
  let destination: NSManagedObjectModel
  let configuration: String?
  let options: StoreOptions
  /// Opens the store for the handlers.
  let stageContainer: any StageContainer.Type
  /// Whether the store is a copy that replaces the program's store at the end.
  var isCopy = false

  private enum Work {
    case lightweight([NSMigrationStage], MigrationPath)
    case custom(NSCustomMigrationStage, MigrationPath)
    case handler(NSCustomMigrationStage)
  }

  /// Returns whether a stage of a manager is unfinished in a store.
  static func isPending(_ metadata: [String: Any], in manager: NSStagedMigrationManager) -> Bool {
    guard let pending = metadata[pendingKey] as? String else { return false }
    return manager.stages.contains { ($0 as? NSCustomMigrationStage).map(mark) == pending }
  }

  /// - Throws: 134110 for a handler that threw, and for stages that do not lead to the model; 134140 for a step that
  ///   cannot be inferred; 134504 for a version that belongs to no stage, or whose model is not found; 134505; 134506;
  ///   the errors of `StoreMigration.run(progress:)`.
  func run() throws {
    if options.isReadOnly {
      throw MigrationErrors.failed(
        url: url, reason: "The store was opened read-only, and has stages of a migration to go through.",
        suggestion: "Open it without NSReadOnlyPersistentStoreOption once, so that it can be migrated.")
    }
    try checkMetadata()
    let order = StageOrder(manager.stages)
    let models = try StageModels(
      of: order, destination: destination, files: try options.migrationModels() ?? ModelSearch.program.models(),
      url: url,
      metadata: metadata, configuration: configuration)
    for work in try plan(order, models) {
      switch work {
      case .lightweight(let stages, let path): try migrate(along: path, stages, mark: nil)
      case .custom(let stage, let path):
        try handle(stage.willMigrateHandler, "willMigrateHandler", of: stage, stage.currentModel)
        let handler = stage.didMigrateHandler
        try migrate(along: path, [stage], mark: handler == nil ? nil : Self.mark(stage))
        try finish(stage, handler)
      case .handler(let stage): try finish(stage, stage.didMigrateHandler)
      }
    }
  }

  /// Checksums are computed from hashes, which can be compared only within one hash version.
  private func checkMetadata() throws {
    if metadata[NSStoreModelVersionHashesKey] as? [String: Data] == nil {
      throw MigrationErrors.stagedFrameworkMismatch(
        url: url, metadata: metadata, reason: "The store's metadata have no version hashes.")
    }
    if let version = metadata[StoreMetadata.Key.hashesVersion] as? Int, version != 3 {
      throw MigrationErrors.stagedFrameworkMismatch(
        url: url, metadata: metadata,
        reason:
          "The store's version hashes are of hash version \(version), and the checksums of stages are made of version 3."
      )
    }
  }

  // MARK: The plan

  private func plan(_ order: StageOrder, _ models: StageModels) throws -> [Work] {
    guard let start = try order.checksums.indices.first(where: { try models.isOfStore(order.checksums[$0]) }) else {
      throw MigrationErrors.unknownStage(
        url: url, metadata: metadata, version: models.label(models.storeChecksum),
        known: order.checksums.map(models.label))
    }
    guard let end = order.checksums.firstIndex(of: destination.versionChecksum) else {
      throw MigrationErrors.stagesEndElsewhere(
        url: url, destination: models.label(destination.versionChecksum), known: order.checksums.map(models.label))
    }
    guard start <= end else {
      throw MigrationErrors.backwardStages(
        url: url, source: models.label(order.checksums[start]), destination: models.label(order.checksums[end]))
    }
    var works: [Work] = []
    // A stage that was interrupted after its step is finished first.
    if let mark = metadata[Self.pendingKey] as? String,
      let custom = order.customs.first(where: { $0.end == start && Self.mark($0.stage) == mark })
    {
      works.append(.handler(custom.stage))
    }
    var position = start
    for custom in order.customs where custom.start >= start && custom.end <= end {
      if position != custom.start {
        works.append(try lightweight(from: position, to: custom.start, order, models))
      }
      works.append(.custom(custom.stage, try path(from: custom.start, to: custom.end, order, models)))
      position = custom.end
    }
    if position != end { works.append(try lightweight(from: position, to: end, order, models)) }
    return works
  }

  private func lightweight(
    from start: Int, to end: Int, _ order: StageOrder, _ models: StageModels
  ) throws -> Work {
    .lightweight(order.lightweightStages(from: start, to: end), try path(from: start, to: end, order, models))
  }

  /// Returns the path between two versions: one step if that can be inferred, otherwise one from each version to the
  /// next.
  private func path(from start: Int, to end: Int, _ order: StageOrder, _ models: StageModels) throws -> MigrationPath {
    func required(_ position: Int) throws -> ModelVersion {
      guard let version = try models.version(order.checksums[position]) else {
        throw MigrationErrors.missingStageModel(url: url, checksum: order.checksums[position])
      }
      return version
    }
    let (source, destination) = (try required(start), try required(end))
    guard options.infersMapping else {
      throw MigrationErrors.missingMappingModel(
        url: url, models: .init(source, destination),
        suggestion: "Staged migration goes by inferred mappings: set NSInferMappingModelAutomaticallyOption.")
    }
    do {
      return try MigrationPath(
        known: ModelVersions([source, destination]), from: source, to: destination,
        rules: MigrationPath.Rules(isProgressive: false), storeURL: url)
    } catch let error as NSError where error.isCocoa(NSInferredMappingModelError) && end - start > 1 {
      let between = try (start + 1..<end).map(required)
      return try inferring(source, destination) {
        try MigrationPath(
          known: ModelVersions([source] + between + [destination]), from: source, to: destination, rules: .init(),
          storeURL: url)
      }
    } catch {
      return try inferring(source, destination) { throw error }
    }
  }

  private func inferring(
    _ source: ModelVersion, _ destination: ModelVersion, _ body: () throws -> MigrationPath
  ) throws -> MigrationPath {
    do {
      return try body()
    } catch let error as NSError where error.isCocoa(NSInferredMappingModelError) {
      throw MigrationErrors.missingMappingModel(
        url: url, models: .init(source, destination),
        suggestion:
          "Put a version in between that makes the change in parts which can be inferred, with a custom stage.",
        underlying: error)
    }
  }

  // MARK: Carrying out

  private static func mark(_ stage: NSCustomMigrationStage) -> String { stage.checksums.joined(separator: " ") }

  private func migrate(along path: MigrationPath, _ stages: [NSMigrationStage], mark: String?) throws {
    var migration = StoreMigration(
      storeAt: url, metadata: try SQLiteStore.metadataForPersistentStore(with: url), path: path,
      configuration: configuration, busyTimeout: options.timeout ?? StoreOptions.defaultTimeout)
    migration.defersCleanup = options.defersCleanup
    if let mark { migration.addedMetadata = [Self.pendingKey: mark] }
    if options.tracksHistory {
      migration.historyMarks = stages.compactMap(\.historyLabel)
        .map { HistoryOrigin(ofProgramWithContextName: $0) }
    }
    try migration.run()
  }

  /// Runs the `didMigrateHandler` of a stage, and then removes the mark of the unfinished stage from the store.
  private func finish(_ stage: NSCustomMigrationStage, _ handler: NSCustomMigrationStage.Handler?) throws {
    try handle(handler, "didMigrateHandler", of: stage, stage.nextModel)
    guard try SQLiteStore.metadataForPersistentStore(with: url)[Self.pendingKey] != nil else { return }
    try SQLiteStoreErrors.translating(url: url, isOpening: false) {
      let file = try StoreFile.open(
        url, isReadOnly: false, timeout: options.timeout ?? StoreOptions.defaultTimeout)
      defer {
        // Closing does not affect whether the transaction was committed.
        try? file.close()
      }
      try file.connection.transaction(.immediate) {
        var metadata = try file.metadata()
        metadata[Self.pendingKey] = nil
        try file.setMetadata(metadata)
      }
    }
  }

  /// Runs a handler with the store open in the manager's container.
  private func handle(
    _ handler: NSCustomMigrationStage.Handler?, _ name: String, of stage: NSCustomMigrationStage,
    _ reference: NSManagedObjectModelReference
  ) throws {
    guard let handler else { return }
    let container = try openContainer(with: reference.resolve())
    container.persistentStoreCoordinator.migrationStageLabel = stage.historyLabel
    manager.stageContainer.value = container
    defer { manager.stageContainer.value = nil }
    do {
      try handler(manager, stage)
    } catch {
      try close(container)
      throw MigrationErrors.stageHandler(
        url: url, handler: name, stage: stage.title,
        state: isCopy
          ? "The store is unchanged." : "The store is of the version \(reference.versionChecksum), and whole.",
        underlying: error)
    }
    try close(container)
  }

  private func openContainer(with model: NSManagedObjectModel) throws -> any StageContainer {
    try stageContainer.opened(url, model, configuration: configuration, options: options.forHandlers)
  }

  private func close(_ container: any StageContainer) throws {
    let coordinator = container.persistentStoreCoordinator
    for store in coordinator.persistentStores { try coordinator.remove(store) }
  }
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
      return ModelVersion(name: other.place, model: other.model)
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
