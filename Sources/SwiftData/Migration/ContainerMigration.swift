// OpenCoreData
// SPDX-License-Identifier: Apache-2.0

import CoreData
import Foundation

/// The migration of a configuration's SQLite store when a container opens it.
struct ContainerMigration {
  let configuration: ModelConfiguration
  let schema: Schema
  let model: NSManagedObjectModel
  let stages: PlannedStages?

  var url: URL { configuration.url }
  var options: MigrationOptions { configuration.migration }
  /// The name of the model's configuration; nil for all entities.
  var part: String? { configuration.schema == nil ? nil : configuration.name }
  /// Whether the store is a file. A store in a server is migrated by Core Data as one transaction of the server.
  var isOfFile: Bool { url.isFileURL && !configuration.isStoredInMemoryOnly }

  /// The number of times to begin again because another process migrates the store.
  private static let maximumAttempts = 3

  /// Migrates the store if necessary, and opens it.
  ///
  /// - Parameter open: opens the store, without migrating it if it is a file.
  func run(_ open: () throws -> Void) throws {
    guard isOfFile else {
      try checkVersionInServer()
      return try open()
    }
    for attempt in 1... {
      do {
        try migrateIfNeeded()
        return try open()
      } catch let error as NSError
        where error.domain == NSCocoaErrorDomain && error.code == NSPersistentStoreIncompatibleVersionHashError
        && attempt < Self.maximumAttempts
      {
        // Another process has migrated the store since it was examined.
        continue
      }
    }
  }

  /// Throws if a store in a server has a version that is none of the plan, with more words than Core Data has.
  private func checkVersionInServer() throws {
    guard let stages, !url.isFileURL, !configuration.isStoredInMemoryOnly,
      // Where there is no store, or no server, opening it says so.
      let metadata = try? NSPersistentStoreCoordinator.metadataForPersistentStore(type: .sqlite, at: url),
      !fits(metadata), stages.position(of: metadata, part) == nil
    else { return }
    throw UnknownVersion(self, stages).error(metadata)
  }

  /// Reads the store's metadata; nil if there is no store yet.
  func metadata() throws -> [String: Any]? {
    guard FileManager.default.fileExists(atPath: url.path) else { return nil }
    // An empty file becomes a store when it is opened.
    if try FileManager.default.attributesOfItem(atPath: url.path)[.size] as? NSNumber == 0 { return nil }
    return try NSPersistentStoreCoordinator.metadataForPersistentStore(type: .sqlite, at: url)
  }

  private func fits(_ metadata: [String: Any]) -> Bool {
    model.isConfiguration(withName: part, compatibleWithStoreMetadata: metadata) && StageMark(metadata) == nil
  }

  private func migrateIfNeeded() throws {
    guard let found = try metadata() else { return }
    guard !fits(found) else { return removeLeftover() }
    guard configuration.allowsSave else { throw readOnly(found) }
    let lock = try StageLock(url, timeout: options.timeout)
    try withExtendedLifetime(lock) {
      // Another process may have migrated the store while this one was waiting.
      guard let metadata = try metadata(), !fits(metadata) else { return }
      if let stages {
        try PlannedMigration(self, stages).run(metadata)
      } else {
        try InferredMigration(self).run(metadata)
      }
      // A process that was killed after the last write of a stage, and before others, has left it.
      SourceCopy(of: url).discard()
    }
  }

  /// Removes the files that a process has left which was killed when it had finished the last stage.
  private func removeLeftover() {
    let copy = SourceCopy(of: url)
    // A process that has the lock removes the copy itself.
    guard configuration.allowsSave, copy.exists || StageLock.exists(url), let lock = try? StageLock(url, timeout: 0)
    else { return }
    withExtendedLifetime(lock) {
      // Where the store cannot be read, opening it reports the reason.
      if let metadata = try? metadata(), fits(metadata) { copy.discard() }
    }
  }

  private func readOnly(_ metadata: [String: Any]) -> SwiftDataError {
    SwiftDataError(
      .loadIssueModelContainer,
      "The store \(url.path) has to be migrated, but the configuration '\(configuration.name)' does not allow saving "
        + "(\(SchemaWords.version(metadata))). Open it with allowsSave: true once.")
  }

  // MARK: Options

  /// Sets how Core Data migrates the store of a description. That of a file has been migrated when it is opened.
  func setOptions(of description: NSPersistentStoreDescription) throws {
    guard !url.isFileURL else {
      description.shouldMigrateStoreAutomatically = false
      return
    }
    if options.backup != .none {
      throw SwiftDataError(
        .loadIssueModelContainer,
        "The store of the configuration '\(configuration.name)' is in a server, which has backups of its own: leave "
          + "MigrationOptions.backup unset.")
    }
    if let stages {
      description.setOption(stages.manager(), forKey: NSPersistentStoreStagedMigrationManagerOptionKey)
    }
    description.allowsDowngrade = true
    description.setOption(NSNumber(value: options.allowedLosses == .all), forKey: MigrationOption.allowsLoss)
  }

  /// Copies the store if the options say so.
  ///
  /// - Returns: the location of the copy.
  func backUp(_ report: () throws -> Void) throws -> URL? {
    let directory: URL?
    switch options.backup {
    case .none: return nil
    case .besideStore: directory = nil
    case .directory(let url): directory = url
    }
    try report()
    do {
      return try StoreBackup.make(of: url, in: directory)
    } catch {
      throw SwiftDataError(
        .loadIssueModelContainer,
        "The store \(url.path) was not migrated, because its backup could not be made. It is unchanged.", cause: error)
    }
  }

  /// Calls the program's progress function.
  func report(_ progress: SchemaMigrationProgress) throws {
    do {
      try options.progress?(progress)
    } catch {
      throw Cancellation(cause: error)
    }
  }

  /// The error that a progress function has thrown to cancel the migration.
  struct Cancellation: Error { let cause: any Error }

  func cancelled(_ cause: any Error, _ state: String) -> SwiftDataError {
    SwiftDataError(
      .loadIssueModelContainer,
      "The migration of the store \(url.path) was cancelled. \(state) Opening it again continues.",
      cause: NSError(
        domain: NSCocoaErrorDomain, code: NSMigrationCancelledError,
        userInfo: [
          NSLocalizedDescriptionKey: "The persistent store migration was cancelled.", NSUnderlyingErrorKey: cause,
        ]))
  }
}

extension Error {
  /// Whether it says that a migration was cancelled.
  var isCancellation: Bool {
    if self is ContainerMigration.Cancellation { return true }
    let error = self as NSError
    return error.domain == NSCocoaErrorDomain && error.code == NSMigrationCancelledError
  }
}
