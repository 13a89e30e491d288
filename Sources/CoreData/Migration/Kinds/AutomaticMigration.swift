// OpenCoreData
// SPDX-License-Identifier: Apache-2.0

import CoreDataMigration
import Foundation

/// The migration of a SQLite store by mapping models and inferred mappings.
///
/// Follows Core Data's order: finds the store's model, then mapping models. If none leads to the destination, infers
/// the mapping, provided that `NSInferMappingModelAutomaticallyOption` is set.
struct AutomaticMigration: OpeningMigration {
  let opening: StoreOpening
  let metadata: [String: Any]
  /// Returns the model that a store carries.
  var carried: (URL) throws -> NSManagedObjectModel? = SourceVersionFinder.carriedByFile
  /// Counts the contents of a store that is not a file.
  var counted: NearestVersion.Counter?

  private var destination: NSManagedObjectModel { opening.model }
  private var configuration: String? { opening.configuration }
  private var options: StoreOptions { opening.settings }

  /// - Throws: 134110 for rows that a mapping model omits; 134130 if no model matches the store, or only its own and the
  ///   store would be reduced; 134140 if no mapping model is found and none may or can be inferred, or if one no longer
  ///   matches; the errors of reading mapping models, and of `StoreMigration.run(progress:)`.
  func run() throws { _ = try migrate() }

  /// Plans and runs the migration.
  ///
  /// - Returns: the plan.
  /// - Throws: as `run()`.
  func migrate() throws -> StoreMigration {
    var migration = try plan()
    // The report is discarded.
    migration.countsAllRows = false
    try migration.run()
    return migration
  }

  /// Returns the version of a store that does not carry its model.
  ///
  /// - Throws: 134130 if no model matches the store.
  func sourceVersion() throws -> ModelVersion {
    try SourceVersionFinder(
      known: ModelVersions(around: destination), configuration: configuration, search: sourceSearch(), carried: carried
    ).sourceVersion(of: opening.url, metadata: metadata).version
  }

  /// Plans the migration.
  ///
  /// - Throws: as `run()`.
  func plan() throws -> StoreMigration {
    let known = try ModelVersions(around: destination)
    let wanted =
      known.version(like: destination)
      ?? ModelVersion(name: ModelVersions.name(of: destination), model: destination)
    let mappings = try options.migrationMappings()
    let rules = MigrationPath.Rules(
      mappings: try mappings ?? .program(), infers: options.infersMapping, isProgressive: options.isProgressive)
    let url = opening.url.withoutPassword
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
