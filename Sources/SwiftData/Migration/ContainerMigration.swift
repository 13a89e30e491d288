// OpenCoreData
// SPDX-License-Identifier: Apache-2.0

import CoreData
import CoreDataFileSystem
import CoreDataStoreFiles
import Foundation

/// The migration of a configuration's store when a container opens it: a SQLite store, or a copy of one in a server.
struct ContainerMigration {
  let configuration: ModelConfiguration
  let schema: Schema
  let model: NSManagedObjectModel
  let stages: PlannedStages?
  /// The copy of a store in a server, on which its stages run. It is written back as a whole, or not at all.
  private var copy: ServerCopy?

  init(
    configuration: ModelConfiguration, schema: Schema, model: NSManagedObjectModel, stages: PlannedStages?
  ) {
    (self.configuration, self.schema, self.model, self.stages) = (configuration, schema, model, stages)
  }

  /// The location of the SQLite store.
  var url: URL { copy?.url ?? configuration.url }
  /// The location of the configuration's store, for messages.
  var place: String { configuration.url.locationText }
  /// Whether an error leaves the store as it was before the first stage.
  var isCopy: Bool { copy != nil }
  var options: MigrationOptions { configuration.migration }
  /// The name of the model's configuration; nil for all entities.
  var part: String? { configuration.schema == nil ? nil : configuration.part }
  /// Whether the store is a file. A store in a server is migrated while Core Data opens it, in one transaction.
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
    // Opening it for writing would leave files beside it that cannot be written either.
    guard FileManager.default.isWritableFile(atPath: url.path) else { throw unwritable(found) }
    let lock = try takeLock()
    try lock.hold {
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

  private func takeLock() throws -> StageLock {
    do {
      return try StageLock(url, timeout: options.timeout)
    } catch is StageLock.Held {
      throw SwiftDataError(
        .loadIssueModelContainer,
        "Another process has been migrating the store \(place) for \(Int(options.timeout)) seconds. Open it again later, "
          + "or set a longer MigrationOptions.timeout.")
    } catch let failure as FileFailure {
      throw SwiftDataError(
        .loadIssueModelContainer,
        "The store \(place) has to be migrated, but the lock file \(failure.path) cannot be created: "
          + "\(String(cString: strerror(failure.number))). Make the directory writable.")
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
      "The store \(place) has to be migrated, but the configuration '\(configuration.name)' does not allow saving "
        + "(\(SchemaWords.version(metadata))). Open it with allowsSave: true once.")
  }

  private func unwritable(_ metadata: [String: Any]) -> SwiftDataError {
    SwiftDataError(
      .loadIssueModelContainer,
      "The store \(place) has to be migrated, but this program may not write the file (\(SchemaWords.version(metadata))). "
        + "Change the permissions of the file. It is unchanged.")
  }

  // MARK: Options

  /// Sets how Core Data migrates the store of a description. That of a file has been migrated when it is opened.
  func setOptions(of description: NSPersistentStoreDescription) throws {
    guard !url.isFileURL else {
      description.shouldMigrateStoreAutomatically = false
      return
    }
    try checkBackupInServer()
    if let stages {
      let migration = CopyMigration(from: stages.versions.map(\.model)) { try self.run(stages, on: $0) }
      description.setOption(migration, forKey: CopyMigration.option)
    }
    description.allowsDowngrade = true
    description.setOption(NSNumber(value: options.allowedLosses == .all), forKey: MigrationOption.allowsLoss)
  }

  private func checkBackupInServer() throws {
    switch options.backup {
    case .none: return
    case .directory where stages != nil: return
    case .besideStore, .directory:
      throw SwiftDataError(
        .loadIssueModelContainer,
        "The store of the configuration '\(configuration.name)' is in a server, which has backups of its own: leave "
          + "MigrationOptions.backup unset. With a migration plan, .directory(URL) keeps a copy as a SQLite store.")
    }
  }

  /// Runs the stages for a store in a server.
  private func run(_ stages: PlannedStages, on copy: ServerCopy) throws {
    var opening = self
    opening.copy = copy
    guard let metadata = try opening.metadata() else { return }
    try PlannedMigration(opening, stages).run(metadata)
  }

  /// Returns an error with the location of the store in a server in place of that of its copy.
  func named(_ error: any Error) -> any Error { copy?.named(error) ?? error }

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
        "The store \(place) was not migrated, because its backup could not be made. It is unchanged.",
        cause: named(error))
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
      "The migration of the store \(place) was cancelled. \(state) Opening it again continues.",
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
