// OpenCoreData
// SPDX-License-Identifier: Apache-2.0

import CoreDataFileSystem
import CoreDataMigration
import CoreDataModelFiles
import CoreDataSQLite
import CoreDataStoreFiles
import CoreDataTracing
import Foundation

extension StoreMigration {
  /// Runs the migration.
  ///
  /// If all steps are in place, they run in one transaction of the store's own file. Otherwise a new store is created
  /// beside it, verified, and replaces it atomically, including files of large values. If the migration fails or is
  /// cancelled, or the process is killed, the store is unchanged.
  ///
  /// If several processes migrate the same store, one of them does the work. The others wait, and then find the store
  /// migrated.
  ///
  /// - Parameter progress: called with the progress of the migration. Any error it throws cancels the migration.
  /// - Returns: the report, which is empty if the store already has the wanted version.
  /// - Throws: 259 for a corrupt store; 134110 for a change that cannot be made, for missing values of required
  ///   attributes, and if another process is migrating the store; 134111 for duplicate values under a uniqueness
  ///   constraint; 134120 if it was cancelled; 134160 if the new store fails verification; 134090 if another process
  ///   keeps the store locked; 134080 and 134180 for other errors of SQLite; 512, 513, 640 and 642 for errors of the
  ///   file system.
  @discardableResult
  public func run(progress: (MigrationProgress) throws -> Void = { _ in }) throws -> MigrationReport {
    guard isNeeded else { return MigrationReport(rows: [:], statements: []) }
    do {
      return try ErrorLocation.naming(storeURL) {
        try StatementTracing.reporting(.migration) { try runPlanned(progress) }
      }
    } catch let error as NSError
      where error.domain == NSCocoaErrorDomain
      && [NSMigrationError, NSPersistentStoreTimeoutError].contains(error.code)
    {
      // This check only looks for another explanation. If it fails, the original error is reported.
      guard (try? hasWantedVersion()) == true else { throw error }
      var report = MigrationReport(rows: [:], statements: [])
      report.wasDoneByOthers = true
      return report
    }
  }

  /// Returns whether the store now has the wanted version, with all metadata of the last step.
  private func hasWantedVersion() throws -> Bool {
    guard let destination = steps.last?.destinationModel, addedMetadata.isEmpty else { return false }
    return destination.isConfiguration(
      withName: configuration, compatibleWithStoreMetadata: try SQLiteStore.metadataForPersistentStore(with: storeURL))
  }

  private func runPlanned(_ progress: (MigrationProgress) throws -> Void) throws -> MigrationReport {
    try ErrorTranslation.translating(url: storeURL, during: .use) {
      try StoreLocation(storeURL).checkFile()
      // SQLite would create files next to the store even if it then finds that it may not write.
      guard !FileCalls.exists(storeURL) || FileManager.default.isWritableFile(atPath: storeURL.path) else {
        throw StoreErrors.readOnly(url: storeURL)
      }
      try StoreFiles.relinkExternalData(of: storeURL)
      if steps.allSatisfy(\.isInPlace) { return try runInPlace(progress) }
      let keptAt =
        keepsReplacedStore
        ? BackupName.free(for: StoreLocation(storeURL).file, in: StoreLocation(storeURL).folder) : nil
      return try MigrationByCopy(self).run(keptAt: keptAt, progress: progress)
    }
  }

  private func runInPlace(_ progress: (MigrationProgress) throws -> Void) throws -> MigrationReport {
    let lock = dropsFiles ? try InterruptedWork.acquireSettled(StoreLocation(storeURL), timeout: busyTimeout) : nil
    let settled = try lock.map(\.settled) ?? StoreRecovery.settle(beforeOpening: storeURL)
    do {
      var report = try runInPlace(lock, progress)
      report.recoveryOutcome = settled.map(StoreRecovery.Outcome.init)
      // The journal stays as long as there are files to remove.
      guard report.leftover == nil else { return report }
      do {
        try lock?.removeWorkFolder()
      } catch {
        report.leftover = error
      }
      return report
    } catch {
      // The next process to open the store removes the directory. Report the failure of the migration.
      try? lock?.removeWorkFolder()
      throw error
    }
  }

  /// Whether the migration may make files of large values obsolete.
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
      // The transaction was rolled back. Report the first error, even if closing fails too.
      try? file.close()
      throw error
    }
  }

  /// Returns the SQL that `run(progress:)` would execute, without executing it.
  ///
  /// The statements of later steps depend on the tables that earlier steps leave. So the migration is rehearsed on a
  /// copy in a private directory, beside the store or in the temporary directory, which is removed afterwards.
  ///
  /// - Throws: the errors of `run(progress:)`.
  public func statements() throws -> [String] {
    guard isNeeded else { return [] }
    let directory = try ErrorTranslation.translating(url: storeURL, during: .use) {
      try CopyDirectory.make(for: storeURL)
    }
    defer {
      // If this fails, the directory remains private, and the next copy removes it.
      try? directory.remove()
    }
    let copy = directory.url.appendingPathComponent(storeURL.lastPathComponent)
    try ErrorTranslation.translating(url: storeURL, during: .use) {
      try StoreFiles.copy(from: storeURL, to: copy, values: .linked)
    }
    var rehearsal = StoreMigration(self, at: copy)
    rehearsal.keepsReplacedStore = false
    return try rehearsal.run().statements
  }
}
