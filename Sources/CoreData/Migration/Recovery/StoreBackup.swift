// OpenCoreData
// SPDX-License-Identifier: Apache-2.0

import CoreDataSQLite
import CoreDataStoreFiles
import Foundation

/// Backups of stores, made before something is done to them. An addition to Apple's interface.
///
/// A backup is a store of its own: a database, `Data~.sqlite` for `Data.sqlite`, which holds what the store's log held,
/// and the files of large values, in `.Data~_SUPPORT`. It is made in a private directory, `.Data~-backup`, and gets its
/// name when it is complete and on the disk. So a backup that has its name is whole, also where the process was killed or
/// the power failed while it was made; the next one clears up what such a process has left.
public enum StoreBackup {
  /// Backs a store up beside itself, or in another directory.
  ///
  /// `Data.sqlite` becomes `Data~.sqlite`, as Core Data names the store that a migration has replaced; `Data~2.sqlite` and
  /// so on where something has that name, which stays as it is. Only those who may read the store may read the backup.
  ///
  /// - Parameters:
  ///   - url: where the store is. Others may use it meanwhile.
  ///   - folder: the directory for the backup, made where there is none; nil for that of the store.
  /// - Returns: where the backup is.
  /// - Throws: 260 where there is no store; 640 when the disk is full; the errors of reading the store and writing the
  ///   backup. No backup is left then.
  public static func make(of url: URL, in folder: URL? = nil) throws -> URL {
    try translating(url) { try BackupDirectory.makeBackup(of: url, in: folder ?? url.deletingLastPathComponent()) }
  }

  /// What processes have left that were killed while they made backups.
  public struct Leftovers: Hashable, Sendable {
    /// Backups that were complete, and have their names now.
    public var completed: [URL] = []
    /// How many were not complete, and have been removed.
    public var removedCount = 0
  }

  /// Clears up what processes have left that were killed while they made backups of a store, as the next backup does.
  ///
  /// - Parameters:
  ///   - url: where the store is.
  ///   - folder: the directory of the backups; nil for that of the store.
  /// - Returns: what was found.
  /// - Throws: 512, 513 and their kin when the file system fails.
  @discardableResult
  public static func clearLeftovers(of url: URL, in folder: URL? = nil) throws -> Leftovers {
    try translating(url) {
      let found = try BackupDirectory.settleAll(of: url, in: folder ?? url.deletingLastPathComponent())
      return Leftovers(completed: found.completed, removedCount: found.removedCount)
    }
  }

  /// Removes a backup, with its files of values.
  ///
  /// - Parameter backup: what `make(of:in:)` has returned.
  /// - Throws: 512, 513 and their kin when the file system fails.
  public static func remove(_ backup: URL) throws {
    try translating(backup) { try BackupDirectory.removeBackup(backup) }
  }

  /// Puts a backup in the place of its store, atomically; the backup stays.
  ///
  /// The store that is there is backed up in turn, under the next free name. Close it first: remove it from coordinators.
  ///
  /// - Parameters:
  ///   - backup: the backup, or any other store.
  ///   - url: where the store is, or was.
  /// - Returns: where the store is kept that was there; nil where there was none.
  /// - Throws: 260 where there is no backup; 259 where it is no store; 134160 where it is damaged; 134080 and its family
  ///   when somebody has the store open; 134110 when it is being migrated; 512, 513, 640 and 642 when the file system fails.
  ///   The store is as it was then.
  @discardableResult
  public static func restore(_ backup: URL, to url: URL) throws -> URL? {
    let usesLog = try translating(backup) {
      try StoreFile.peek(backup).close()
      return try SQLiteFileHeader.read(path: backup.path)?.usesWriteAheadLog ?? true
    }
    return try translating(url) {
      try StoreReplacement.restore(backup, to: url, usesLog: usesLog, timeout: StoreMigration.defaultBusyTimeout)
    }
  }

  private static func translating<Result>(_ url: URL, _ body: () throws -> Result) throws -> Result {
    try SQLiteStoreErrors.translating(url: url, isOpening: false) { try RecoveryErrors.translating(url: url, body) }
  }
}
