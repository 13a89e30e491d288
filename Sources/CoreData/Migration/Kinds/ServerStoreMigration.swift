// OpenCoreData
// SPDX-License-Identifier: Apache-2.0

import CoreDataMigration
import CoreDataStoreFiles
import Foundation

/// How a planned migration would be carried out in a database server.
package struct ServerMigrationPlan {
  /// The statements, if all steps are carried out inside the server.
  package private(set) var statements: [ServerStatement] = []
  /// Why the rows are copied into a SQLite store, migrated there and written back; nil if they are not.
  package private(set) var reason: String?
  /// Whether the server is a standby, or lets only read, so that it refuses the migration.
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

/// Tells who opens a store in a server whether opening it has migrated it, or another process had done so.
package final class ServerMigrationWitness {
  /// The key of the option whose value is a witness.
  package static let option = "OpenCoreDataServerMigrationWitness"

  package fileprivate(set) var didMigrate = false

  package init() {}
}

/// The migration of a store in a database server that is opened with `NSMigratePersistentStoresAutomaticallyOption` and does
/// not fit its model.
///
/// It is one transaction of the server. Inferred steps are carried out there by statements, if they can be. Otherwise the
/// rows are copied into a SQLite store (`ServerCopy`), which is migrated in any way that a file can be, and written back.
struct ServerStoreMigration {
  let kind: any ServerStore.Type
  let url: URL
  let destination: NSManagedObjectModel
  let configuration: String?
  let options: [AnyHashable: Any]
  /// What opens the store for the handlers of stages.
  let stageContainer: any StageContainer.Type

  /// - Throws: the errors of `AutomaticMigration.run()` and `StagedMigration.run()`; those of the server. The store is
  ///   unchanged then.
  func run() throws {
    if StoreOptions(options).isReadOnly { throw AutomaticMigration.readOnly(url) }
    let work = try kind.beginMigration(of: url, options: options)
    do {
      let metadata = try work.metadata()
      try CopyProgress.check(metadata, url: url)
      // Another process may have migrated the store while this one waited.
      let isNeeded = !isCurrent(metadata)
      if isNeeded { try migrate(work, metadata) }
      try work.commit()
      if isNeeded { (options[ServerMigrationWitness.option] as? ServerMigrationWitness)?.didMigrate = true }
    } catch {
      work.rollBack()
      throw error
    }
  }

  /// Whether a store has the wanted version, and no stage of its migration is unfinished.
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

  /// Plans the migration. Whether a store that no known version has written would lose anything depends on its rows, which are
  /// counted in the server.
  private func plan(
    _ model: NSManagedObjectModel, _ metadata: [String: Any], _ work: any ServerMigration
  ) throws -> StoreMigration {
    try AutomaticMigration(
      url: url.withoutPassword, metadata: metadata, destination: destination, configuration: configuration,
      options: planningOptions, carried: model,
      counted: { try $0.isEmpty ? [] : work.counted($0, in: model, configuration: configuration) }
    ).migration()
  }

  /// Migrates by statements alone, if all steps of a plan can be expressed so.
  private func migrateInside(_ planned: StoreMigration, _ work: any ServerMigration) throws -> Bool {
    guard planned.steps.allSatisfy(\.isInPlace) else { return false }
    return try work.migrate(
      through: planned.steps.map(\.sourceModel) + [destination], configuration: configuration)
  }

  /// Returns the model that the store was written with: the one that it carries, one that a stage names, or one that is found
  /// as for SQLite stores.
  ///
  /// - Throws: 134130 if there is none.
  private func sourceModel(_ work: any ServerMigration, _ metadata: [String: Any]) throws -> NSManagedObjectModel {
    func wrote(_ model: NSManagedObjectModel) -> Bool {
      model.isConfiguration(withName: configuration, compatibleWithStoreMetadata: metadata)
    }
    do {
      if let model = try work.carriedModel(), wrote(model) { return model }
    } catch let error as NSError where error.isCocoa(CocoaError.Code.fileReadCorruptFile.rawValue) {
      // A damaged model is like none: the versions that are known may have written the store.
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
