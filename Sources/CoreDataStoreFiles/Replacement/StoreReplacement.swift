// OpenCoreData
// SPDX-License-Identifier: Apache-2.0

import CoreDataFileSystem
import CoreDataSQLite
import Foundation

/// Makes a new store beside another, and puts it in that one's place: the way in which every change of a store as a whole
/// is made.
package struct StoreReplacement {
  /// Why a store is not replaced. Nothing was changed.
  package enum Refusal: Error {
    /// The path is a symbolic link to a file that is no database, and may be any file of the user.
    case linkToOtherFile
    case readOnly
    /// The other path is in the work directory, or among the files of values.
    case ownDirectory(path: String)
    /// The backup to be restored is the store itself.
    case sameStore(backup: String)
  }

  /// The place of the store that is replaced.
  package let place: StoreLocation
  package let journal: WorkJournal
  /// How long to wait for other users of the store, in seconds.
  package let timeout: TimeInterval
  /// Whether a file that SQLite cannot open may be replaced.
  package var replacesDamaged: Bool
  /// Whether a file that somebody has open may be replaced.
  package var ignoresLocks: Bool

  /// The new store, complete and closed, at `StoreLocation.newStore`.
  package struct Draft {
    /// The files of values that its rows name.
    package var external: Set<String>

    package init(external: Set<String> = []) { self.external = external }
  }

  package init(
    place: StoreLocation, journal: WorkJournal, timeout: TimeInterval, replacesDamaged: Bool = false,
    ignoresLocks: Bool = false
  ) {
    self.place = place
    self.journal = journal
    self.timeout = timeout
    self.replacesDamaged = replacesDamaged
    self.ignoresLocks = ignoresLocks
  }

  /// Makes the new store and exchanges it for the old one.
  ///
  /// - Parameters:
  ///   - keptAt: where the replaced store stays; nil to remove it.
  ///   - make: makes the new store. Its parameter is the present store, which nobody else can write meanwhile; nil where
  ///     there is none.
  /// - Throws: what `make` throws; `Refusal`, `RegularFile.Problem`, `MigrationLock.Held`, `WorkDirectory.Refusal`,
  ///   `StoreWriteLock.Intrusion`, `FileFailure`, `SQLiteError`, `WorkJournal.Unreadable`. The store is as it was then, and
  ///   nothing is left beside it.
  package func run(keptAt: URL?, make: (StoreWriteLock?) throws -> Draft) throws -> StoreExchange.Outcome {
    try place.checkFile()
    try checkLink()
    let lock = try InterruptedWork.takeSettled(place, timeout: timeout)
    var hold: StoreWriteLock?
    let draft: Draft
    do {
      try journal.write(lock.work)
      hold = try makeHold()
      draft = try make(hold)
    } catch {
      hold?.giveBack()
      // What cannot be removed now is removed by the next process to open the store; why the work failed is what matters.
      try? InterruptedWork(lock: lock, journal: journal).undo()
      throw error
    }
    return try StoreExchange(lock: lock, hold: hold, journal: journal)
      .carryOut(external: draft.external, keptAt: keptAt)
  }

  /// The target of a symbolic link may be any file of the user: it is replaced only where it is a database.
  private func checkLink() throws {
    guard FileCalls.isSymbolicLink(place.url), FileCalls.exists(place.file), try isNoDatabase() else { return }
    throw Refusal.linkToOtherFile
  }

  private func makeHold() throws -> StoreWriteLock? {
    guard !ignoresLocks, FileCalls.exists(place.file) else { return nil }
    // Of a file without a byte, and without a log, nobody can have rows.
    if FileCalls.size(place.file) == 0, !place.companions.contains(where: FileCalls.exists) { return nil }
    guard FileManager.default.isWritableFile(atPath: place.file.path) else {
      throw Refusal.readOnly
    }
    if replacesDamaged, !DatabaseCompanions.hasJournal(place.file.path), try isNoDatabase() { return nil }
    let connection = try SQLiteConnection(url: place.file, mode: .readWrite, busyTimeout: timeout)
    do {
      if connection.isReadOnly { throw Refusal.readOnly }
      return try StoreWriteLock(connection, url: place.file, timeout: timeout)
    } catch {
      // Why the store cannot be had is the error to be told.
      try? connection.close()
      if replacesDamaged, let failure = error as? SQLiteError, failure.isNotADatabase || failure.isCorrupt {
        return nil
      }
      throw error
    }
  }

  /// Whether the file does not even begin like a database. SQLite would take away the log beside such a file.
  private func isNoDatabase() throws -> Bool {
    do {
      _ = try SQLiteFileHeader.read(path: place.file.path)
      return false
    } catch let failure as SQLiteError where failure.isNotADatabase {
      return true
    }
  }

  /// Makes the new store as a copy of another, its log included, with hard links to its files of values.
  package static func copy(_ source: URL, to destination: URL) throws {
    // Not by the connection of a hold: SQLite copies nothing from a connection that may write.
    try StoreFiles.copy(from: source, to: destination, values: .linked)
  }

  // MARK: Restoring

  /// Puts a copy of a backup in the place of a store, which is backed up in turn.
  ///
  /// - Parameters:
  ///   - backup: the backup, or any other store.
  ///   - url: where the store is, or was.
  ///   - usesLog: whether the new store gets a write-ahead log.
  /// - Returns: where the store is kept that was there; nil where there was none.
  /// - Throws: as `run(keptAt:make:)`; `StoreVerification.Problem`.
  package static func restore(_ backup: URL, to url: URL, usesLog: Bool, timeout: TimeInterval) throws -> URL? {
    let place = StoreLocation(url)
    if place.holds(backup) { throw Refusal.ownDirectory(path: backup.path) }
    if FileCalls.exists(place.file), FileCalls.identity(place.file) == FileCalls.identity(StoreLocation(backup).file) {
      throw Refusal.sameStore(backup: backup.lastPathComponent)
    }
    let keptAt =
      FileCalls.exists(place.file) && FileCalls.size(place.file) > 0
      ? BackupName.free(for: place.file, in: place.folder) : nil
    return try StoreReplacement(
      place: place, journal: WorkJournal(purpose: .restoring), timeout: timeout, replacesDamaged: true
    ).run(keptAt: keptAt) { _ in
      try copy(backup, to: place.newStore)
      var verification = StoreVerification(url: place.newStore)
      // What the backup lacks was missing from the store when it was made, or has been lost since: the rows count.
      verification.requiresExternalData = false
      let found = try verification.carryOut(leaving: usesLog ? .wal : .delete)
      let present = try [place.newStore, place.file].flatMap {
        try FileCalls.names(in: StoreLocation.externalData(of: $0))
      }
      return .init(external: found.external.intersection(present))
    }.kept
  }
}
