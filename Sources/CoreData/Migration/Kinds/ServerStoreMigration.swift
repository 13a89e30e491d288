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

  /// - Parameter migration: the migration of a copy of the store.
  /// - Throws: the errors of the server.
  package init(_ migration: StoreMigration, of url: URL, _ kind: any ServerStore.Type) throws {
    guard let last = migration.steps.last?.destinationModel else { return }
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

  /// - Throws: the errors of `AutomaticMigration.run()` and `StagedMigration.run()`; those of the server. The store is
  ///   unchanged then.
  func run() throws {
    if StoreOptions(options).isReadOnly { throw AutomaticMigration.readOnly(url) }
    let work = try kind.beginMigration(of: url, options: options)
    do {
      let metadata = try work.metadata()
      try CopyProgress.check(metadata, url: url)
      // Another process may have migrated the store while this one waited.
      if !isCurrent(metadata) { try migrate(work, metadata) }
      try work.commit()
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
    if let models = try modelsInPlace(model, metadata), try work.migrate(through: models, configuration: configuration)
    {
      return
    }
    let copy = try ServerCopy(of: url, metadata: metadata, model, configuration: configuration)
    defer { copy.remove() }
    let settings = StoreOptions(options)
    var isFilled = false
    func fill() throws {
      if isFilled { return }
      try copy.fill { try work.source(model, configuration: configuration, coordinator: $0) }
      isFilled = true
    }
    if let manager = settings.stagedMigration {
      try fill()
      try copy.naming {
        try StagedMigration(
          manager: manager, url: copy.url, metadata: SQLiteStore.metadataForPersistentStore(with: copy.url),
          destination: destination, configuration: configuration, options: settings, isCopy: true
        ).run()
      }
    } else {
      let planned = try copy.naming { try plan(copy, fill) }
      let isInPlace = planned.steps.allSatisfy(\.isInPlace)
      if isInPlace,
        try work.migrate(
          through: planned.steps.map(\.sourceModel) + [destination], configuration: configuration)
      {
        return
      }
      try fill()
      try copy.naming { _ = try planned.run() }
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

  /// Returns the models of a path that needs no copy: all of its steps are in place, and what the store holds does not matter.
  private func modelsInPlace(
    _ model: NSManagedObjectModel, _ metadata: [String: Any]
  ) throws -> [NSManagedObjectModel]? {
    let settings = planningOptions
    if settings.stagedMigration != nil { return nil }
    let planned = try AutomaticMigration(
      url: url.withoutPassword, metadata: metadata, destination: destination, configuration: configuration,
      options: settings, carried: model
    ).migration()
    guard planned.steps.allSatisfy(\.isInPlace), !planned.beginsWithOwnModel || planned.droppable.isEmpty
    else { return nil }
    return planned.steps.map(\.sourceModel) + [destination]
  }

  /// Plans the migration of the copy. Its rows are needed if the plan depends on what the store holds.
  private func plan(_ copy: ServerCopy, _ fill: () throws -> Void) throws -> StoreMigration {
    func planned() throws -> StoreMigration {
      var migration = try AutomaticMigration(
        url: copy.url, metadata: SQLiteStore.metadataForPersistentStore(with: copy.url), destination: destination,
        configuration: configuration, options: planningOptions
      ).migration()
      migration.countsAllRows = false
      migration.keepsReplacedStore = false
      return migration
    }
    let first = try planned()
    // A store that no known version has written must lose nothing, which depends on its rows.
    guard first.beginsWithOwnModel, !first.droppable.isEmpty else { return first }
    try fill()
    return try planned()
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
    } catch let error as NSError where error.code == CocoaError.Code.fileReadCorruptFile.rawValue {
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
