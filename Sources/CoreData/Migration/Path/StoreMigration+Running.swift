// OpenCoreData
// SPDX-License-Identifier: Apache-2.0

import CoreDataSQLite
import Foundation

extension StoreMigration {
  /// Carries the migration out.
  ///
  /// Everything happens in one transaction of the store's own file: when it fails, is cancelled, or the process is killed,
  /// the store is as it was.
  ///
  /// - Parameter progress: told how far the migration is; whatever it throws cancels the migration.
  /// - Returns: what was done; nothing when the store has the wanted version already.
  /// - Throws: 134110 for a change that cannot be made, or for required values that are missing; 134111 for values that are
  ///   not unique; 134120 when it was cancelled; 134080 and its family when SQLite fails.
  @discardableResult
  public func run(progress: (MigrationProgress) throws -> Void = { _ in }) throws -> MigrationReport {
    guard isNeeded else { return MigrationReport(rows: [:], statements: []) }
    return try translating {
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
    return try StoreMigration(self, at: copy).run().statements
  }

  private func translating<Result>(_ body: () throws -> Result) throws -> Result {
    do {
      return try SQLiteStoreErrors.translating(url: storeURL, isOpening: false, body)
    } catch let problem as InPlaceProblem {
      throw problem.error(url: storeURL)
    }
  }

  /// The same migration of another file.
  private init(_ other: StoreMigration, at url: URL) {
    storeURL = url
    metadata = other.metadata
    source = other.source
    destination = other.destination
    steps = other.steps
    explanation = other.explanation
    configuration = other.configuration
    busyTimeout = other.busyTimeout
    keepsReplacedStore = other.keepsReplacedStore
    defersCleanup = other.defersCleanup
    addedMetadata = other.addedMetadata
  }
}
