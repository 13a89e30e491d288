// OpenCoreData
// SPDX-License-Identifier: Apache-2.0

import CoreDataMigration
import CoreDataModelFiles
import CoreDataStoreFiles
import Foundation

/// Takes one store from stage to stage.
struct StagedMigration {
  /// The metadata key of a stage whose step is made, and whose `didMigrateHandler` has not come to its end: the checksums
  /// that the stage begins and ends with.
  static let pendingKey = StoreMetadata.Key.pendingStage

  let manager: NSStagedMigrationManager
  let url: URL
  let metadata: [String: Any]
  let destination: NSManagedObjectModel
  let configuration: String?
  let options: StoreOptions

  private enum Work {
    case lightweight(MigrationPath)
    case custom(NSCustomMigrationStage, MigrationPath)
    case handler(NSCustomMigrationStage)
  }

  /// Whether a stage of a manager was not brought to its end on a store.
  static func isPending(_ metadata: [String: Any], in manager: NSStagedMigrationManager) -> Bool {
    guard let pending = metadata[pendingKey] as? String else { return false }
    return manager.stages.contains { ($0 as? NSCustomMigrationStage).map(mark) == pending }
  }

  /// - Throws: 134110 for a handler that has failed, and for stages that do not lead to the model; 134140 for a step that
  ///   cannot be inferred; 134504 for a version that is of no stage, or whose model is not found; 134505; 134506; the errors
  ///   of `StoreMigration.run(progress:)`.
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
      case .lightweight(let path): try migrate(along: path, mark: nil)
      case .custom(let stage, let path):
        try handle(stage.willMigrateHandler, "willMigrateHandler", of: stage, stage.currentModel)
        try migrate(along: path, mark: stage.didMigrateHandler == nil ? nil : Self.mark(stage))
        try finish(stage)
      case .handler(let stage): try finish(stage)
      }
    }
  }

  /// Checksums are made of hashes; those of other versions of hashing cannot be compared.
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
        url: url, metadata: metadata, checksum: models.storeChecksum, known: order.checksums)
    }
    guard let end = order.checksums.firstIndex(of: destination.versionChecksum) else {
      throw MigrationErrors.stagesEndElsewhere(
        url: url, destination: destination.versionChecksum, known: order.checksums)
    }
    guard start <= end else {
      throw MigrationErrors.backwardStages(
        url: url, source: order.checksums[start], destination: order.checksums[end])
    }
    var works: [Work] = []
    // A stage that was interrupted after its step is brought to its end first.
    if let mark = metadata[Self.pendingKey] as? String,
      let custom = order.customs.first(where: { $0.end == start && Self.mark($0.stage) == mark })
    {
      works.append(.handler(custom.stage))
    }
    var position = start
    for custom in order.customs where custom.start >= start && custom.end <= end {
      if position != custom.start {
        works.append(.lightweight(try path(from: position, to: custom.start, order, models)))
      }
      works.append(.custom(custom.stage, try path(from: custom.start, to: custom.end, order, models)))
      position = custom.end
    }
    if position != end { works.append(.lightweight(try path(from: position, to: end, order, models))) }
    return works
  }

  /// The way between two versions of stages: in one go where that can be inferred, else from each to the next.
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
    } catch let error as NSError where error.code == NSInferredMappingModelError && end - start > 1 {
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
    } catch let error as NSError where error.code == NSInferredMappingModelError {
      throw MigrationErrors.missingMappingModel(
        url: url, models: .init(source, destination),
        suggestion:
          "Put a version in between that makes the change in parts which can be inferred, with a custom stage.",
        underlying: error)
    }
  }

  // MARK: Carrying out

  private static func mark(_ stage: NSCustomMigrationStage) -> String { stage.checksums.joined(separator: " ") }

  private func migrate(along path: MigrationPath, mark: String?) throws {
    var migration = StoreMigration(
      storeAt: url, metadata: try SQLiteStore.metadataForPersistentStore(with: url), path: path,
      configuration: configuration, busyTimeout: options.timeout ?? StoreMigration.defaultBusyTimeout)
    migration.defersCleanup = options.defersCleanup
    if let mark { migration.addedMetadata = [Self.pendingKey: mark] }
    try migration.run()
  }

  /// Runs the `didMigrateHandler` of a stage, and takes the mark from the store that the stage is not at its end.
  private func finish(_ stage: NSCustomMigrationStage) throws {
    try handle(stage.didMigrateHandler, "didMigrateHandler", of: stage, stage.nextModel)
    guard try SQLiteStore.metadataForPersistentStore(with: url)[Self.pendingKey] != nil else { return }
    try SQLiteStoreErrors.translating(url: url, isOpening: false) {
      let file = try StoreFile.open(
        url, isReadOnly: false, timeout: options.timeout ?? StoreMigration.defaultBusyTimeout)
      defer {
        // The transaction has been committed or not; closing changes neither.
        try? file.close()
      }
      try file.connection.transaction(.immediate) {
        var metadata = try file.metadata()
        metadata[Self.pendingKey] = nil
        try file.setMetadata(metadata)
      }
    }
  }

  /// Runs a handler while the manager's container has the store open with a model.
  private func handle(
    _ handler: NSCustomMigrationStage.Handler?, _ name: String, of stage: NSCustomMigrationStage,
    _ reference: NSManagedObjectModelReference
  ) throws {
    guard let handler else { return }
    let container = try openContainer(with: reference.resolve())
    manager.container = container
    defer { manager.container = nil }
    do {
      try handler(manager, stage)
    } catch {
      try close(container)
      throw MigrationErrors.stageHandler(
        url: url, handler: name, stage: stage.title,
        state: "The store is of the version \(reference.versionChecksum), and whole.", underlying: error)
    }
    try close(container)
  }

  private func openContainer(with model: NSManagedObjectModel) throws -> NSPersistentContainer {
    let container = NSPersistentContainer(
      name: url.deletingPathExtension().lastPathComponent, managedObjectModel: model)
    let description = NSPersistentStoreDescription(url: url)
    description.configuration = configuration
    for (key, value) in options.forHandlers { description.setOption(value, forKey: key) }
    description.shouldMigrateStoreAutomatically = false
    description.shouldInferMappingModelAutomatically = false
    container.persistentStoreDescriptions = [description]
    var failure: (any Error)?
    container.loadPersistentStores { failure = failure ?? $1 }
    if let failure { throw failure }
    return container
  }

  private func close(_ container: NSPersistentContainer) throws {
    let coordinator = container.persistentStoreCoordinator
    for store in coordinator.persistentStores { try coordinator.remove(store) }
  }
}
