// OpenCoreData
// SPDX-License-Identifier: Apache-2.0

import CoreDataMigration
import CoreDataStoreFiles
import Foundation

/// The migration of a SQLite store by the stages of its options.
struct StagedMigration: OpeningMigration {
  /// The metadata key of a custom stage that is not finished. The value is a dictionary: before the step with
  /// `StageKey.run`, afterwards with `StageKey.versions`.
  static let pendingKey = StoreMetadata.Key.pendingStage

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
    guard let pending = pendingVersions(metadata) else { return false }
    return manager.stages.contains { ($0 as? NSCustomMigrationStage).map(versions) == pending }
  }

  /// Returns the versions of a stage whose step is finished and whose `didMigrateHandler` is not; nil if there is none.
  private static func pendingVersions(_ metadata: [String: Any]) -> String? {
    (metadata[pendingKey] as? [String: Any])?[StoreMetadata.StageKey.versions] as? String
  }

  /// - Throws: 134110 for a handler that threw, and for stages that do not lead to the model; 134140 for a step that
  ///   cannot be inferred; 134504 for a version that belongs to no stage, or whose model is not found; 134505; 134506;
  ///   134090 if another process runs a stage for longer than the timeout; the errors of `StoreMigration.run(progress:)`.
  func run() throws {
    let lock = try ErrorTranslation.translating(url: url, during: .use) {
      try StageLock(url, timeout: options.timeout ?? StoreOptions.defaultTimeout)
    }
    try withExtendedLifetime(lock) {
      // Another process may have gone through the stages while this one was waiting.
      var migration = self
      migration.metadata = try SQLiteStore.metadataForPersistentStore(with: url)
      if !opening.fits(migration.metadata) { try migration.runLocked() }
    }
  }

  private func runLocked() throws {
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
        let handler = stage.didMigrateHandler
        try prepare(stage) {
          try migrate(
            along: path, [stage], record: handler == nil ? nil : [StoreMetadata.StageKey.versions: Self.versions(stage)]
          )
        }
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
    if let pending = Self.pendingVersions(metadata),
      let custom = order.customs.first(where: { $0.end == start && Self.versions($0.stage) == pending })
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

  private static func versions(_ stage: NSCustomMigrationStage) -> String { stage.checksums.joined(separator: " ") }

  private static func name(_ stage: NSCustomMigrationStage) -> String {
    stage.historyLabel ?? stage.checksums.joined(separator: " to ")
  }

  /// Runs the `willMigrateHandler` of a stage, and then its step.
  ///
  /// From before the one to the end of the other, programs that have had the store open can neither read nor save: a row
  /// that they saved after the handler would go through the step without it.
  private func prepare(_ stage: NSCustomMigrationStage, step: () throws -> Void) throws {
    guard let handler = stage.willMigrateHandler else { return try step() }
    try record([StoreMetadata.StageKey.name: Self.name(stage), StoreMetadata.StageKey.run: UUID().uuidString])
    do {
      try handle(handler, "willMigrateHandler", of: stage, stage.currentModel)
      // Removes the record with the commit that gives the store its new version.
      try step()
    } catch {
      // The handler runs again. Until then, others can use the store; if this fails, after they have opened it again.
      try? record(nil)
      throw error
    }
  }

  private func migrate(along path: MigrationPath, _ stages: [NSMigrationStage], record: [String: String]?) throws {
    var migration = StoreMigration(
      storeAt: url, metadata: try SQLiteStore.metadataForPersistentStore(with: url), path: path,
      configuration: configuration, busyTimeout: options.timeout ?? StoreOptions.defaultTimeout)
    migration.defersCleanup = options.defersCleanup
    if let record { migration.addedMetadata = [Self.pendingKey: record] }
    if options.tracksHistory {
      migration.historyMarks = stages.compactMap(\.historyLabel)
        .map { HistoryOrigin(ofProgramWithContextName: $0) }
    }
    try migration.run()
  }

  /// Runs the `didMigrateHandler` of a stage, and then removes the record of the unfinished stage from the store.
  private func finish(_ stage: NSCustomMigrationStage, _ handler: NSCustomMigrationStage.Handler?) throws {
    try handle(handler, "didMigrateHandler", of: stage, stage.nextModel)
    guard try SQLiteStore.metadataForPersistentStore(with: url)[Self.pendingKey] != nil else { return }
    try record(nil)
  }

  /// Writes the record of an unfinished stage, or removes it.
  private func record(_ record: [String: String]?) throws {
    try ErrorTranslation.translating(url: url, during: .use) {
      let file = try StoreFile.open(
        url, isReadOnly: false, timeout: options.timeout ?? StoreOptions.defaultTimeout)
      defer {
        // Closing does not affect whether the transaction was committed.
        try? file.close()
      }
      try file.connection.transaction(.immediate) {
        var metadata = try file.metadata()
        metadata[Self.pendingKey] = record
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
