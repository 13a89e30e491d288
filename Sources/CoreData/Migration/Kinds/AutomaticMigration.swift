// OpenCoreData
// SPDX-License-Identifier: Apache-2.0

import CoreDataMigration
import Foundation

/// The migration of a store that is opened with `NSMigratePersistentStoresAutomaticallyOption` and does not match its
/// model.
///
/// Follows Core Data's order: finds the store's model, then mapping models. If none leads to the destination, infers
/// the mapping, provided that `NSInferMappingModelAutomaticallyOption` is set.
struct AutomaticMigration {
  let url: URL
  let metadata: [String: Any]
  let destination: NSManagedObjectModel
  let configuration: String?
  let options: StoreOptions
  /// The model carried by the store, for a store that is not a file.
  var carried: NSManagedObjectModel?
  /// Counts the contents of such a store.
  var counted: NearestVersion.Counter?

  /// - Throws: 134110 for a read-only store, and for rows that a mapping model omits; 134130 if no model matches the
  ///   store, or only its own and the store would be reduced; 134140 if no mapping model is found and none may or can
  ///   be inferred, or if one no longer matches; the errors of reading mapping models, and of
  ///   `StoreMigration.run(progress:)`.
  func run() throws {
    if options.isReadOnly { throw Self.readOnly(url) }
    var migration: StoreMigration
    do {
      migration = try self.migration()
    } catch {
      // Another process may have migrated the store since its metadata was read.
      guard try isCurrent() else { throw error }
      return
    }
    // The report is discarded.
    migration.countsAllRows = false
    try migration.run()
  }

  /// 134110: the store is read-only.
  static func readOnly(_ url: URL) -> NSError {
    MigrationErrors.failed(
      url: url, reason: "The store was opened read-only, and has another model version than the one given.",
      suggestion: "Open it without NSReadOnlyPersistentStoreOption once, so that it can be migrated.")
  }

  /// Returns the version of a store that does not carry its model.
  ///
  /// - Throws: 134130 if no model matches the store.
  func sourceVersion() throws -> ModelVersion {
    try SourceVersionFinder(
      known: ModelVersions(around: destination), configuration: configuration, search: sourceSearch()
    ).sourceVersion(of: url, metadata: metadata).version
  }

  /// Returns whether the store has the wanted version by now.
  private func isCurrent() throws -> Bool {
    destination.isConfiguration(
      withName: configuration, compatibleWithStoreMetadata: try SQLiteStore.metadataForPersistentStore(with: url))
  }

  /// Plans the migration.
  ///
  /// - Throws: as `run()`.
  func migration() throws -> StoreMigration {
    let known = try ModelVersions(around: destination)
    let wanted =
      known.version(like: destination)
      ?? ModelVersion(name: ModelVersions.name(of: destination), model: destination)
    let mappings = try options.migrationMappings()
    let rules = MigrationPath.Rules(
      mappings: try mappings ?? .program(), infers: options.infersMapping, isProgressive: options.isProgressive)
    do {
      var migration = try StoreMigration(
        storeAt: url, metadata: metadata, known: known, destination: wanted, configuration: configuration, rules: rules,
        search: try sourceSearch(), busyTimeout: options.timeout ?? StoreOptions.defaultTimeout,
        allowsLoss: options.allowedLosses(), allowsDowngrade: options.allowsDowngrade, carried: carried,
        counted: counted)
      migration.keepsReplacedStore = options.keepsReplacedStore
      migration.defersCleanup = options.defersCleanup
      migration.managerFactory = try options.managerFactory()
      migration.integrityCheck = try options.integrityCheck()
      return migration
    } catch let error as NSError where error.isCocoa(NSInferredMappingModelError) {
      throw MigrationErrors.missingMappingModel(
        url: url, models: .init(known.version(fitting: metadata, configuration: configuration), wanted),
        underlying: error)
    }
  }

  private func sourceSearch() throws -> SourceModelSearch {
    if let files = try options.migrationModels() {
      return SourceModelSearch(files: destination.origins + files.filter { !destination.origins.contains($0) })
    }
    return SourceModelSearch(for: destination, in: .program)
  }
}
