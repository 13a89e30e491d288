// OpenCoreData
// SPDX-License-Identifier: Apache-2.0

import CoreDataMigration
import CoreDataStoreFiles
import Foundation

/// The migration of a SQLite store by the stages of its options.
struct StagedMigration: OpeningMigration {
  private let opening: StoreOpening
  private let manager: NSStagedMigrationManager
  /// The metadata of the store. Those of when the lock was taken, while the migration runs.
  private var metadata: [String: Any]

  private var url: URL { opening.url }
  private var destination: NSManagedObjectModel { opening.model }
  private var configuration: String? { opening.configuration }
  private var options: StoreOptions { opening.settings }

  /// Creates the migration of a store that is opened with stages; nil for one without.
  init?(opening: StoreOpening, metadata: [String: Any]) {
    guard let manager = opening.settings.stagedMigration else { return nil }
    self.opening = opening
    self.manager = manager
    self.metadata = metadata
  }

  private enum Work {
    case lightweight([NSMigrationStage], MigrationPath)
    case custom(NSCustomMigrationStage, MigrationPath)
    case handler(NSCustomMigrationStage)
  }

  /// Returns whether a stage of a manager is unfinished in a store.
  static func isPending(_ metadata: [String: Any], in manager: NSStagedMigrationManager) -> Bool {
    manager.stages.contains { stage in
      (stage as? NSCustomMigrationStage).map { StageRecord.isPending($0, in: metadata) } ?? false
    }
  }

  /// - Throws: 134110 for a handler that threw, and for stages that do not lead to the model; 134140 for a step that
  ///   cannot be inferred; 134504 for a version that belongs to no stage, or whose model is not found; 134505; 134506;
  ///   134090 if another process runs a stage for longer than the timeout; the errors of `StoreMigration.run(progress:)`.
  func run() throws {
    let lock = try ErrorTranslation.translating(url: url, during: .use) {
      try StageLock(url, timeout: timeout)
    }
    try lock.hold {
      // Another process may have gone through the stages while this one was waiting.
      var migration = self
      migration.metadata = try SQLiteStore.metadataForPersistentStore(with: url)
      if !opening.fits(migration.metadata) { try migration.runStages(lock.run) }
    }
  }

  /// - Parameter run: identifies this run in the records of stages.
  private func runStages(_ run: String) throws {
    try checkMetadata()
    let order = StageOrder(manager.stages)
    let models = try StageModels(
      of: order, destination: destination, files: try options.migrationModels() ?? ModelSearch.program.models(),
      url: url,
      metadata: metadata, configuration: configuration)
    for work in try plan(order, models) {
      switch work {
      case .lightweight(let stages, let path): try migrate(along: path, stages, record: nil)
      case .custom(let stage, let path):
        try runCustom(stage, StageRecord(stage, run: run), along: path)
      case .handler(let stage):
        // Connections that were opened since the last run have to notice that the code runs again.
        try write(StageRecord(stage, run: run).afterStep) { StageRecord.isPending(stage, in: $0) }
        try finish(stage)
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
          "The store's version hashes use hash version \(version), but the checksums of stages use version 3."
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
    if let custom = order.customs.first(where: { $0.end == start && StageRecord.isPending($0.stage, in: metadata) }) {
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
        suggestion: "Staged migration uses inferred mappings: set NSInferMappingModelAutomaticallyOption.")
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
          "Add a version in between that makes the change in parts that can be inferred, with a custom stage.",
        underlying: error)
    }
  }

  // MARK: Carrying out

  /// Runs the step of a stage between its handlers.
  ///
  /// From before the `willMigrateHandler` to the end, programs that have had the store open can neither read nor save: a
  /// row that they saved after that handler would go through the step without it.
  private func runCustom(
    _ stage: NSCustomMigrationStage, _ record: StageRecord, along path: MigrationPath
  ) throws {
    let recordOfStep = stage.didMigrateHandler == nil ? nil : record.afterStep
    if let handler = stage.willMigrateHandler {
      try write(record.beforeStep) { begins(path, $0) }
      do {
        try handle(handler, "willMigrateHandler", of: stage, stage.currentModel)
        try migrate(along: path, [stage], record: recordOfStep)
      } catch {
        // All of it runs again, unless the step was committed. A record that stays keeps nobody from the store, since
        // nobody has the lock.
        try? write(nil) { !StageRecord.isPending(stage, in: $0) }
        throw error
      }
    } else {
      try migrate(along: path, [stage], record: recordOfStep)
    }
    try finish(stage)
  }

  /// Returns whether a store with the given metadata has the version that a path begins with.
  private func begins(_ path: MigrationPath, _ metadata: [String: Any]) -> Bool {
    guard let model = path.steps.first?.sourceModel else { return true }
    return model.isConfiguration(withName: configuration, compatibleWithStoreMetadata: metadata)
  }

  private func migrate(along path: MigrationPath, _ stages: [NSMigrationStage], record: [String: String]?) throws {
    let metadata = try SQLiteStore.metadataForPersistentStore(with: url)
    guard begins(path, metadata) else { throw outdated() }
    var migration = StoreMigration(
      storeAt: url, metadata: metadata, path: path, configuration: configuration, busyTimeout: timeout)
    migration.defersCleanup = options.defersCleanup
    if let record { migration.addedMetadata = [StageRecord.key: record] }
    if options.tracksHistory {
      migration.historyMarks = stages.compactMap(\.historyLabel)
        .map { HistoryOrigin(ofProgramWithContextName: $0) }
    }
    try migration.run()
  }

  /// Runs the `didMigrateHandler` of a stage, and then removes the record of the unfinished stage from the store.
  private func finish(_ stage: NSCustomMigrationStage) throws {
    try handle(stage.didMigrateHandler, "didMigrateHandler", of: stage, stage.nextModel)
    guard try SQLiteStore.metadataForPersistentStore(with: url)[StageRecord.key] != nil else { return }
    try write(nil)
  }

  private var timeout: TimeInterval { options.timeout ?? StoreOptions.defaultTimeout }

  /// Writes the record of a stage, or removes it, if the store is as it is expected.
  private func write(_ record: [String: String]?, if isExpected: ([String: Any]) -> Bool = { _ in true }) throws {
    try StageRecord.write(record, at: url, timeout: timeout) { metadata in
      guard isExpected(metadata) else { throw outdated() }
    }
  }

  /// Another program, which knows nothing of the lock, has migrated the store.
  private func outdated() -> NSError {
    MigrationErrors.outdatedPlan(
      url: url, reason: "Another program has migrated the store while it went through its stages.",
      suggestion: "Open it again.")
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
        state: opening.isCopy
          ? "The store is unchanged." : "The store is of the version \(reference.versionChecksum), and complete.",
        underlying: error)
    }
    try close(container)
  }

  private func openContainer(with model: NSManagedObjectModel) throws -> any StageContainer {
    try opening.stageContainer.opened(url, model, configuration: configuration, options: options.forHandlers)
  }

  private func close(_ container: any StageContainer) throws {
    let coordinator = container.persistentStoreCoordinator
    for store in coordinator.persistentStores { try coordinator.remove(store) }
  }
}
