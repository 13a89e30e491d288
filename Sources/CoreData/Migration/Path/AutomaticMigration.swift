// OpenCoreData
// SPDX-License-Identifier: Apache-2.0

import Foundation

/// What opening a store with `NSMigratePersistentStoresAutomaticallyOption` does when store and model differ.
struct AutomaticMigration {
  let url: URL
  let metadata: [String: Any]
  let destination: NSManagedObjectModel
  let configuration: String?
  let options: StoreOptions

  /// - Throws: 134130 when no model fits the store; 134140 when no mapping may be or can be inferred; the errors of
  ///   `StoreMigration.run(progress:)`.
  func run() throws {
    if options.isReadOnly {
      throw MigrationErrors.failed(
        url: url, reason: "The store was opened read-only, and has another model version than the one given.",
        suggestion: "Open it without NSReadOnlyPersistentStoreOption once, so that it can be migrated.")
    }
    let known = try ModelVersions(around: destination)
    let wanted =
      known.version(like: destination)
      ?? ModelVersions.Version(name: ModelVersions.name(of: destination), model: destination)
    guard options.infersMapping else {
      throw MigrationErrors.missingMappingModel(
        url: url, source: known.version(fitting: metadata, configuration: configuration)?.name,
        destination: wanted.name)
    }
    let migration: StoreMigration
    do {
      migration = try StoreMigration(
        storeAt: url, metadata: metadata, known: known, destination: wanted, configuration: configuration,
        search: SourceModelSearch(for: destination, in: .program),
        busyTimeout: options.timeout ?? StoreMigration.defaultBusyTimeout)
    } catch let error as NSError where error.code == NSInferredMappingModelError {
      throw MigrationErrors.missingMappingModel(
        url: url, source: known.version(fitting: metadata, configuration: configuration)?.name,
        destination: wanted.name, underlying: error)
    }
    try migration.run()
  }
}
