// OpenCoreData
// SPDX-License-Identifier: Apache-2.0

import CoreDataFileSystem
import CoreDataSQLite
import CoreDataStoreFiles
import Foundation

/// Makes a new store beside another, and puts it in that one's place: the way of every work on a store as a whole.
struct StoreReplacement {
  /// The place of the store that is replaced.
  let place: StorePlace
  let journal: WorkJournal
  /// How long to wait for other users of the store, in seconds.
  let timeout: TimeInterval
  /// Whether a file that SQLite cannot open may be replaced.
  var replacesDamaged = false
  /// Whether a file that somebody has open may be replaced.
  var ignoresLocks = false

  /// The store that is to take the place, complete and closed, as `StorePlace.newStore`.
  struct Draft {
    /// The files of values that its rows name.
    var external: Set<String> = []
  }

  /// Does it.
  ///
  /// - Parameters:
  ///   - keptAt: where the replaced store is to stay; nil where it is not to.
  ///   - make: makes the new store; gets the store that is there, which nobody else can write, and nil where there is none.
  /// - Throws: what `make` throws; `RegularFile.Problem`, `MigrationLock.Held`,
  ///   `WorkDirectory.Refusal`, `StoreHold.Intrusion`, `FileFailure`, `SQLiteError`,
  ///   `WorkJournal.Unreadable`. The store is as it was then, and nothing is left beside it.
  func run(keptAt: URL?, make: (StoreHold?) throws -> Draft) throws -> StoreExchange.Outcome {
    try place.checkFile()
    try checkLink()
    let lock = try UnfinishedWork.takeSettled(place, timeout: timeout)
    var hold: StoreHold?
    let draft: Draft
    do {
      try journal.write(lock.work)
      hold = try makeHold()
      draft = try make(hold)
    } catch {
      hold?.giveBack()
      // What cannot be removed now is removed by the next who opens the store; why the work failed is what matters.
      try? UnfinishedWork(lock: lock, journal: journal).undo()
      throw error
    }
    return try StoreExchange(lock: lock, hold: hold, journal: journal)
      .carryOut(external: draft.external, keptAt: keptAt)
  }

  /// What a symbolic link leads to may be any file of its reader: it is replaced only where it is a database.
  private func checkLink() throws {
    guard FileCalls.isSymbolicLink(place.url), FileCalls.exists(place.file), try isNoDatabase() else { return }
    throw StoreErrors.notAStore(
      url: place.url, reason: "'\(place.url.path)' is a symbolic link to a file that is no store; nothing was changed.")
  }

  private func makeHold() throws -> StoreHold? {
    guard !ignoresLocks, FileCalls.exists(place.file) else { return nil }
    // Of a file without a byte, and without a log, nobody can have rows.
    if FileCalls.size(place.file) == 0, !place.companions.contains(where: FileCalls.exists) { return nil }
    guard FileManager.default.isWritableFile(atPath: place.file.path) else {
      throw StoreErrors.readOnly(url: place.url)
    }
    if replacesDamaged, !DatabaseCompanions.hasJournal(place.file.path), try isNoDatabase() { return nil }
    let connection = try SQLiteConnection(url: place.file, mode: .readWrite, busyTimeout: timeout)
    do {
      if connection.isReadOnly { throw StoreErrors.readOnly(url: place.url) }
      return try StoreHold(connection, url: place.file, timeout: timeout)
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

  /// Makes the new store as a copy of one that nobody changes, its log included.
  ///
  /// The files of values are not copied where a further name will do.
  static func copy(_ source: URL, to destination: URL) throws {
    // Not by the connection of a hold: SQLite copies nothing from one that may write at this moment.
    try StoreFiles.copy(from: source, to: destination, values: .linked)
  }
}
