// OpenCoreData
// SPDX-License-Identifier: Apache-2.0

import CoreDataFileSystem
import CoreDataMigration
import CoreDataSQLite
import CoreDataStoreFiles
import Foundation

extension StoreMigration {
  /// Carries the migration out.
  ///
  /// Where all steps are in place, everything happens in one transaction of the store's own file. Otherwise a new store is
  /// made beside it, verified, and put in its place in one moment, files of large values included. When the migration fails,
  /// is cancelled, or the process is killed, the store is as it was.
  ///
  /// Where several processes migrate one store, one of them does it; the others wait, and find that it is done.
  ///
  /// - Parameter progress: told how far the migration is; whatever it throws cancels the migration.
  /// - Returns: what was done; nothing when the store has the wanted version already.
  /// - Throws: 259 when the pages of the store contradict each other; 134110 for a change that cannot be made, for required values that are missing, and when another process
  ///   migrates the store; 134111 for values that are not unique; 134120 when it was cancelled; 134160 when what was made is
  ///   not whole; 134080 and its family when SQLite fails; 512, 513, 640 and 642 when the file system fails.
  @discardableResult
  public func run(progress: (MigrationProgress) throws -> Void = { _ in }) throws -> MigrationReport {
    guard isNeeded else { return MigrationReport(rows: [:], statements: []) }
    do {
      return try runPlanned(progress)
    } catch let error as NSError
      where error.domain == NSCocoaErrorDomain
      && [NSMigrationError, NSPersistentStoreTimeoutError].contains(error.code)
    {
      // Whether others have done it meanwhile is looked at only to explain the failure, which is told otherwise.
      guard (try? hasWantedVersion()) == true else { throw error }
      var report = MigrationReport(rows: [:], statements: [])
      report.wasDoneByOthers = true
      return report
    }
  }

  /// Whether the store has the wanted version now, and all that comes with the last step.
  private func hasWantedVersion() throws -> Bool {
    guard let destination = steps.last?.destinationModel, addedMetadata.isEmpty else { return false }
    return destination.isConfiguration(
      withName: configuration, compatibleWithStoreMetadata: try SQLiteStore.metadataForPersistentStore(with: storeURL))
  }

  private func runPlanned(_ progress: (MigrationProgress) throws -> Void) throws -> MigrationReport {
    try translating {
      try StoreLocation(storeURL).checkFile()
      // SQLite makes files beside a store also where it finds then that it may not write.
      guard !FileCalls.exists(storeURL) || FileManager.default.isWritableFile(atPath: storeURL.path) else {
        throw StoreErrors.readOnly(url: storeURL)
      }
      if steps.allSatisfy(\.isInPlace) {
        try StoreFiles.bringBackValues(of: storeURL)
        return try runInPlace(progress)
      }
      try StoreFiles.bringBackValues(of: storeURL)
      let keptAt =
        keepsReplacedStore
        ? BackupName.free(for: StoreLocation(storeURL).file, in: StoreLocation(storeURL).folder) : nil
      return try MigrationByCopy(self).run(keptAt: keptAt, progress: progress)
    }
  }

  private func runInPlace(_ progress: (MigrationProgress) throws -> Void) throws -> MigrationReport {
    let lock = dropsFiles ? try InterruptedWork.takeSettled(StoreLocation(storeURL), timeout: busyTimeout) : nil
    let settled =
      try lock.map(\.settled)
      ?? SQLiteStoreErrors.translating(url: storeURL, isOpening: true) {
        try InterruptedWork.settle(beforeOpening: storeURL)
      }
    do {
      var report = try runInPlace(lock, progress)
      report.recoveryOutcome = settled.map(StoreRecovery.Outcome.init)
      // The journal stays as long as files do.
      guard report.leftover == nil else { return report }
      do {
        try lock?.removeWorkFolder()
      } catch {
        report.leftover = error
      }
      return report
    } catch {
      // Whoever opens the store next removes it; why the migration failed is what matters.
      try? lock?.removeWorkFolder()
      throw error
    }
  }

  /// Whether files of values may not be needed any more after the migration.
  private var dropsFiles: Bool {
    steps.contains { step in
      step.sourceModel.entities.contains {
        $0.attributesByName.values.contains(where: \.allowsExternalBinaryDataStorage)
      }
    }
  }

  private func runInPlace(
    _ lock: MigrationLock?, _ progress: (MigrationProgress) throws -> Void
  ) throws -> MigrationReport {
    let file = try StoreFile.open(storeURL, isReadOnly: false, timeout: busyTimeout)
    if file.isReadOnly { throw StoreErrors.readOnly(url: storeURL) }
    do {
      let report = try InPlaceMigration(migration: self, file: file).run(lock: lock, progress: progress)
      try file.close()
      return report
    } catch {
      // The transaction has been rolled back; the first error is the one to tell, whatever closing says.
      try? file.close()
      throw error
    }
  }

  /// The store may have been migrated by someone else since the plan was made.
  func checkMetadata(of file: StoreFile) throws {
    let now = try file.metadata()
    let planned = metadata[NSStoreModelVersionHashesKey] as? [String: Data]
    // Another file may have taken the store's name since it was opened.
    guard try !file.connection.hasMoved(), now[NSStoreModelVersionHashesKey] as? [String: Data] == planned else {
      throw InPlaceProblem(
        kind: .outdatedPlan,
        reason: "The store has been changed to another model version since the migration was planned.",
        suggestion: "Plan the migration again.")
    }
  }

  /// Looks once more whether the store holds what the migration would drop and may not: it may have been written to since.
  ///
  /// - Throws: 134110; 134130 for a store that no known version has written.
  func checkDropped(in file: StoreFile) throws {
    let watched = allowsLoss.refused(droppable)
    guard !watched.isEmpty, let model = steps.first?.sourceModel else { return }
    let document = model.document
    let schema = try file.schema(for: document, configuration: document.configuration(configuration))
    let dropped = try StoreContents(file.connection, schema: schema).counted(watched)
    guard dropped.isEmpty else {
      guard source == SourceVersionFinder.storesOwnName else {
        throw MigrationErrors.unplannedLoss(url: storeURL, dropped: dropped)
      }
      throw MigrationErrors.missingSourceModel(url: storeURL, metadata: metadata, searched: [], dropped: dropped)
    }
  }

  /// The SQL that `run(progress:)` would carry out, without carrying it out.
  ///
  /// Later steps are worked out over the tables as earlier steps leave them, so the migration is rehearsed on a copy in a
  /// private directory, beside the store or in the temporary directory, which is removed again.
  ///
  /// - Throws: as `run(progress:)`.
  public func statements() throws -> [String] {
    guard isNeeded else { return [] }
    let directory = try translating { try CopyDirectory.make(for: storeURL) }
    defer {
      // It stays private, and is removed by the next who makes a copy.
      try? directory.remove()
    }
    let copy = directory.url.appendingPathComponent(storeURL.lastPathComponent)
    try translating { try StoreFiles.copy(from: storeURL, to: copy, values: .linked) }
    var rehearsal = StoreMigration(self, at: copy)
    rehearsal.keepsReplacedStore = false
    return try rehearsal.run().statements
  }

  func translating<Result>(_ body: () throws -> Result) throws -> Result {
    do {
      return try SQLiteStoreErrors.translating(url: storeURL, isOpening: false) {
        try RecoveryErrors.translating(url: storeURL, body)
      }
    } catch let problem as InPlaceProblem {
      throw problem.error(url: storeURL)
    }
  }

  /// The same migration of another file.
  package init(_ other: StoreMigration, at url: URL) {
    self.init(other, steps: other.steps, of: url, metadata: other.metadata)
  }

  /// Some steps of a migration, of another file.
  init(_ other: StoreMigration, steps: [Step], of url: URL, metadata: [String: Any]) {
    storeURL = url
    self.metadata = metadata
    source = other.source
    destination = other.destination
    explanation = other.explanation
    self.steps = steps
    allowsLoss = other.allowsLoss
    droppable = other.droppable
    configuration = other.configuration
    busyTimeout = other.busyTimeout
    keepsReplacedStore = other.keepsReplacedStore
    defersCleanup = other.defersCleanup
    managerFactory = other.managerFactory
    integrityCheck = other.integrityCheck
    addedMetadata = other.addedMetadata
  }
}
