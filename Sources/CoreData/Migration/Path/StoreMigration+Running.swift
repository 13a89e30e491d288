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
    do {
      let connection = try SQLiteConnection(url: storeURL, mode: .readWrite, busyTimeout: busyTimeout)
      do {
        let report = try InPlaceMigration(migration: self, connection: connection).run(progress: progress)
        try connection.close()
        return report
      } catch {
        // The transaction has been rolled back; the first error is the one to tell, whatever closing says.
        try? connection.close()
        throw error
      }
    } catch let error as SQLiteError {
      throw SQLiteErrors.error(error, url: storeURL)
    } catch let problem as InPlaceProblem {
      throw problem.error(url: storeURL)
    } catch let problem as SchemaProblem {
      throw MigrationErrors.failed(
        url: storeURL, reason: problem.description,
        suggestion: "Check that the store was written with the model that its metadata tell of.")
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
    do {
      try StoreFiles.copy(from: storeURL, to: copy)
    } catch let error as SQLiteError {
      throw SQLiteErrors.error(error, url: storeURL)
    }
    return try StoreMigration(self, at: copy).run().statements
  }

  /// The same migration of another file.
  private init(_ other: StoreMigration, at url: URL) {
    storeURL = url
    metadata = other.metadata
    source = other.source
    destination = other.destination
    steps = other.steps
    configuration = other.configuration
    busyTimeout = other.busyTimeout
  }
}
