// OpenCoreData
// SPDX-License-Identifier: Apache-2.0

import CoreDataMigration
import CoreDataStoreFiles
import Foundation

/// The way in which a planned migration would be executed in a database server.
package struct ServerMigrationPlan {
  /// The statements, if all steps run inside the server.
  package private(set) var statements: [ServerStatement] = []
  /// The reason why the rows are copied to a SQLite store, migrated there and written back; nil if they are not.
  package private(set) var reason: String?
  /// Whether the server is a standby, or allows only reads, so that it rejects the migration.
  package let isRefused: Bool

  /// - Parameter migration: the migration of a copy of the store.
  /// - Throws: the errors of the server.
  package init(_ migration: StoreMigration, of url: URL, _ kind: any ServerStore.Type) throws {
    guard let last = migration.steps.last?.destinationModel else {
      isRefused = false
      return
    }
    isRefused = try kind.isReadOnly(at: url)
    guard migration.steps.allSatisfy(\.isInPlace) else {
      reason = "a mapping model needs the objects"
      return
    }
    do {
      statements = try kind.migrationStatements(
        at: url, through: migration.steps.map(\.sourceModel) + [last], configuration: migration.configuration)
    } catch let obstacle as ServerStepObstacle {
      reason = obstacle.reason
    }
  }
}

/// Reports whether opening the store migrated it, or whether another process had done so.
package final class ServerMigrationWitness {
  /// The key of the option whose value is a witness.
  package static let option = "OpenCoreDataServerMigrationWitness"

  package fileprivate(set) var didMigrate = false

  package init() {}
}

/// The migration of a store in a database server that is opened with `NSMigratePersistentStoresAutomaticallyOption` and
/// does not match its model.
///
/// It is one transaction of the server. Inferred steps run there as SQL statements if possible. Otherwise the rows are
/// copied to a SQLite store (`ServerCopy`), which can be migrated in any way, and written back.
struct ServerStoreMigration {
  let kind: any ServerStore.Type
  let url: URL
  let destination: NSManagedObjectModel
  let configuration: String?
  let options: [AnyHashable: Any]
  /// Opens the store for the handlers of stages.
  let stageContainer: any StageContainer.Type

  /// - Throws: the errors of `AutomaticMigration.run()` and `StagedMigration.run()`; those of the server. On an error,
  ///   the store is unchanged.
  func run() throws {
    if StoreOptions(options).isReadOnly { throw AutomaticMigration.readOnly(url) }
    let work = try kind.beginMigration(of: url, options: options)
    do {
      let metadata = try work.metadata()
      try CopyProgress.check(metadata, url: url)
      // Another process may have migrated the store while this one was waiting.
      let isNeeded = !isCurrent(metadata)
      if isNeeded { try migrate(work, metadata) }
      try work.commit()
      if isNeeded { (options[ServerMigrationWitness.option] as? ServerMigrationWitness)?.didMigrate = true }
    } catch {
      work.rollBack()
      throw error
    }
  }

  /// Returns whether a store has the wanted version, and no stage of its migration is unfinished.
  func isCurrent(_ metadata: [String: Any]) -> Bool {
    let settings = StoreOptions(options)
    if let manager = settings.stagedMigration, StagedMigration.isPending(metadata, in: manager) { return false }
    return destination.isConfiguration(withName: configuration, compatibleWithStoreMetadata: metadata)
  }

  private func migrate(_ work: any ServerMigration, _ metadata: [String: Any]) throws {
    let model = try sourceModel(work, metadata)
    let planned = try StoreOptions(options).stagedMigration == nil ? plan(model, metadata, work) : nil
    if let planned, try migrateInside(planned, work) { return }
    let copy = try ServerCopy(of: url, metadata: metadata, model, configuration: configuration)
    defer { copy.remove() }
    let settings = StoreOptions(options)
    try copy.fill { try work.source(model, configuration: configuration, coordinator: $0) }
    if let manager = settings.stagedMigration {
      try copy.naming {
        try StagedMigration(
          manager: manager, url: copy.url, metadata: SQLiteStore.metadataForPersistentStore(with: copy.url),
          destination: destination, configuration: configuration, options: settings, stageContainer: stageContainer,
          isCopy: true
        ).run()
      }
    } else if let planned {
      var migration = StoreMigration(planned, at: copy.url)
      migration.countsAllRows = false
      migration.keepsReplacedStore = false
      try copy.naming { _ = try migration.run() }
    }
    try copy.writeBack(destination, configuration: configuration) { coordinator, metadata in
      try work.destination(
        destination, configuration: configuration, coordinator: coordinator, metadata: metadata)
    }
  }

  private var planningOptions: StoreOptions {
    var options = options
    // There is no file whose cleanup could be deferred, or that could be kept.
    options[NSPersistentStoreDeferredLightweightMigrationOptionKey] = nil
    return StoreOptions(options)
  }

  /// Plans the migration. Whether a store written by an unknown version would lose content depends on its rows, which
  /// are counted in the server.
  private func plan(
    _ model: NSManagedObjectModel, _ metadata: [String: Any], _ work: any ServerMigration
  ) throws -> StoreMigration {
    try AutomaticMigration(
      url: url.withoutPassword, metadata: metadata, destination: destination, configuration: configuration,
      options: planningOptions, carried: model,
      counted: { try $0.isEmpty ? [] : work.counted($0, in: model, configuration: configuration) }
    ).migration()
  }

  /// Migrates with statements alone, if all steps of a plan can be expressed in SQL.
  private func migrateInside(_ planned: StoreMigration, _ work: any ServerMigration) throws -> Bool {
    guard planned.steps.allSatisfy(\.isInPlace) else { return false }
    return try work.migrate(
      through: planned.steps.map(\.sourceModel) + [destination], configuration: configuration)
  }

  /// Returns the model that the store was written with: the one that it carries, one named by a stage, or one found as
  /// for SQLite stores.
  ///
  /// - Throws: 134130 if there is none.
  private func sourceModel(_ work: any ServerMigration, _ metadata: [String: Any]) throws -> NSManagedObjectModel {
    func wrote(_ model: NSManagedObjectModel) -> Bool {
      model.isConfiguration(withName: configuration, compatibleWithStoreMetadata: metadata)
    }
    do {
      if let model = try work.carriedModel(), wrote(model) { return model }
    } catch let error as NSError where error.isCocoa(CocoaError.Code.fileReadCorruptFile.rawValue) {
      // A damaged model counts as missing. One of the known versions may have written the store.
    }
    for case let stage as NSCustomMigrationStage in StoreOptions(options).stagedMigration?.stages ?? [] {
      for reference in [stage.currentModel, stage.nextModel] {
        let model = try reference.resolve()
        if wrote(model) { return model }
      }
    }
    return try AutomaticMigration(
      url: url, metadata: metadata, destination: destination, configuration: configuration,
      options: StoreOptions(options)
    ).sourceVersion().model()
  }
}
