// OpenCoreData
// SPDX-License-Identifier: Apache-2.0

import CoreDataFileSystem
import CoreDataSQLite
import Foundation

extension StoreMigration {
  /// Carries the migration out.
  ///
  /// Where all steps are in place, everything happens in one transaction of the store's own file. Otherwise a new store is
  /// made beside it, verified, and put in its place in one moment, files of large values included. When the migration fails,
  /// is cancelled, or the process is killed, the store is as it was.
  ///
  /// - Parameter progress: told how far the migration is; whatever it throws cancels the migration.
  /// - Returns: what was done; nothing when the store has the wanted version already.
  /// - Throws: 259 when the pages of the store contradict each other; 134110 for a change that cannot be made, for required values that are missing, and when another process
  ///   migrates the store; 134111 for values that are not unique; 134120 when it was cancelled; 134160 when what was made is
  ///   not whole; 134080 and its family when SQLite fails; 512, 513, 640 and 642 when the file system fails.
  @discardableResult
  public func run(progress: (MigrationProgress) throws -> Void = { _ in }) throws -> MigrationReport {
    guard isNeeded else { return MigrationReport(rows: [:], statements: []) }
    return try translating {
      // SQLite makes files beside a store also where it finds then that it may not write.
      guard !FileCalls.exists(storeURL) || FileManager.default.isWritableFile(atPath: storeURL.path) else {
        throw StoreErrors.readOnly(url: storeURL)
      }
      if steps.allSatisfy(\.isInPlace) {
        try UnfinishedWork.settle(beforeOpening: storeURL)
        return try runInPlace(progress)
      }
      let keptAt =
        keepsReplacedStore ? StoreBackup.freeName(for: storeURL, in: StorePlace(storeURL).folder) : nil
      return try MigrationByCopy(self).run(keptAt: keptAt, progress: progress)
    }
  }

  private func runInPlace(_ progress: (MigrationProgress) throws -> Void) throws -> MigrationReport {
    let file = try StoreFile.open(storeURL, isReadOnly: false, timeout: busyTimeout)
    if file.isReadOnly { throw StoreErrors.readOnly(url: storeURL) }
    do {
      let report = try InPlaceMigration(migration: self, file: file).run(progress: progress)
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
    guard now[NSStoreModelVersionHashesKey] as? [String: Data] == planned else {
      throw InPlaceProblem(
        reason: "The store has been changed to another model version since the migration was planned.",
        suggestion: "Plan the migration again.")
    }
  }

  /// The SQL that `run(progress:)` would carry out, without carrying it out.
  ///
  /// Later steps are worked out over the tables as earlier steps leave them, so the migration is rehearsed on a copy in the
  /// temporary folder, which is removed again.
  ///
  /// - Throws: as `run(progress:)`.
  public func statements() throws -> [String] {
    guard isNeeded else { return [] }
    let copy = FileManager.default.temporaryDirectory.appendingPathComponent("\(UUID().uuidString).sqlite")
    defer { StoreFiles.removeIfPresent(at: copy) }
    try translating { try StoreFiles.copy(from: storeURL, to: copy) }
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
  private init(_ other: StoreMigration, at url: URL) {
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
    configuration = other.configuration
    busyTimeout = other.busyTimeout
    keepsReplacedStore = other.keepsReplacedStore
    defersCleanup = other.defersCleanup
    managerFactory = other.managerFactory
    integrityCheck = other.integrityCheck
    addedMetadata = other.addedMetadata
  }
}
