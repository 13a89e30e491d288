// OpenCoreData
// SPDX-License-Identifier: Apache-2.0

import CoreDataMigration
import CoreDataStoreFiles
import Foundation

/// The migration of an XML or binary store that is opened with `NSMigratePersistentStoresAutomaticallyOption` and does
/// not match its model. Works like that of a SQLite store, on a `WorkingCopy`.
struct FileStoreMigration {
  let kind: FileStore.Type
  let url: URL
  let metadata: [String: Any]
  let destination: NSManagedObjectModel
  let configuration: String?
  let options: [AnyHashable: Any]
  /// Opens the store for the handlers of stages.
  let stageContainer: any StageContainer.Type

  /// - Throws: the errors of `AutomaticMigration.run()` and `StagedMigration.run()`; 134070 if another program has
  ///   changed the store. On an error, the store is unchanged.
  func run() throws {
    let settings = StoreOptions(options)
    if settings.isReadOnly { throw AutomaticMigration.readOnly(url) }
    do {
      try migrate(settings)
    } catch {
      // Another process may have migrated the store since its metadata was read.
      guard try isCurrent() else { throw error }
    }
  }

  private func isCurrent() throws -> Bool {
    destination.isConfiguration(
      withName: configuration, compatibleWithStoreMetadata: try kind.metadataForPersistentStore(with: url))
  }

  private func migrate(_ settings: StoreOptions) throws {
    let model = try sourceModel(settings)
    let copy = try WorkingCopy(of: url, kind, model, configuration: configuration)
    defer { copy.remove() }
    let usesMappings = try copy.naming { try migrate(copy.url) }
    let kept = usesMappings && settings.keepsReplacedStore ? try copy.keepOriginal() : nil
    do {
      _ = try copy.replaceOriginal(model: destination, configuration: configuration)
    } catch {
      // The caller needs the reason why the store was not replaced. A leftover file is only a copy of the store.
      if let kept { try? FileManager.default.removeItem(at: kept) }
      throw error
    }
  }

  /// Migrates the copy.
  ///
  /// - Returns: whether a mapping model was used.
  private func migrate(_ copy: URL) throws -> Bool {
    var options = options
    // A file that is written as a whole has no cleanup to defer.
    options[NSPersistentStoreDeferredLightweightMigrationOptionKey] = nil
    let settings = StoreOptions(options)
    let metadata = try SQLiteStore.metadataForPersistentStore(with: copy)
    if let manager = settings.stagedMigration {
      try StagedMigration(
        manager: manager, url: copy, metadata: metadata, destination: destination, configuration: configuration,
        options: settings, stageContainer: stageContainer, isCopy: true
      ).run()
      return false
    }
    var migration = try AutomaticMigration(
      url: copy, metadata: metadata, destination: destination, configuration: configuration, options: settings
    ).migration()
    // The report is discarded, and so is the copy.
    migration.countsAllRows = false
    migration.keepsReplacedStore = false
    try migration.run()
    return !migration.steps.allSatisfy(\.isInPlace)
  }

  /// Returns the model that the store was written with: one named by a stage, or one found as for SQLite stores.
  ///
  /// - Throws: 134130 if there is none.
  private func sourceModel(_ settings: StoreOptions) throws -> NSManagedObjectModel {
    for case let stage as NSCustomMigrationStage in settings.stagedMigration?.stages ?? [] {
      for reference in [stage.currentModel, stage.nextModel] {
        let model = try reference.resolve()
        if model.isConfiguration(withName: configuration, compatibleWithStoreMetadata: metadata) { return model }
      }
    }
    return try AutomaticMigration(
      url: url, metadata: metadata, destination: destination, configuration: configuration, options: settings
    ).sourceVersion().model()
  }
}
