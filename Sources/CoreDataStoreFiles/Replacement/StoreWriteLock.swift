// OpenCoreData
// SPDX-License-Identifier: Apache-2.0

import CoreDataFileSystem
import CoreDataSQLite
import Foundation

/// A store that nobody else can write, by SQLite's own lock, for as long as a new one is made from it.
///
/// Others may read meanwhile. At the end the store is taken for this process alone, and its log is folded into it.
package final class StoreWriteLock {
  package let url: URL
  package let connection: SQLiteConnection
  /// How the store keeps the way back from unfinished transactions.
  package let journalMode: SQLiteJournalMode
  private let version: SQLiteValue?
  private let timeout: TimeInterval

  /// What came in the way while a new store was made.
  package enum Intrusion: Error {
    /// Somebody has written to the store.
    case changed
    /// The file has been moved away, or another has taken its place.
    case moved
    /// Somebody has the store open.
    case inUse
  }

  /// Takes the lock.
  ///
  /// - Throws: what opening the store throws; `SQLiteError` (`isBusy`) when another writes to it for longer than `timeout`.
  package init(_ connection: SQLiteConnection, url: URL, timeout: TimeInterval) throws {
    self.url = url
    self.connection = connection
    self.timeout = timeout
    journalMode = try connection.journalMode()
    try connection.begin(.immediate)
    version = try connection.pragma("data_version")
  }

  /// Takes the store for this process alone: its log is folded into it, and nobody can open it until `letGo()`.
  ///
  /// A log that stays behind would be taken for that of the file which comes next. So the store leaves the mode of
  /// write-ahead logs, which SQLite allows only to the last one who has it open, and nothing may lie beside it then.
  ///
  /// In the mode of rollback journals SQLite does not tell what was written to a log before. So the store is taken, and
  /// looked at, while it still has its log; and nobody gets in between that and the other mode.
  ///
  /// - Throws: `Intrusion`; `SQLiteError`.
  package func takeAlone() throws {
    if try connection.hasMoved() { throw Intrusion.moved }
    try connection.rollback()
    let end = Date().addingTimeInterval(timeout)
    if journalMode == .wal {
      try connection.setPragma("locking_mode", to: "EXCLUSIVE")
      try waiting(until: end) { try connection.begin(.immediate) }
      guard try connection.pragma("data_version") == version else { throw Intrusion.changed }
      try connection.rollback()
      // The lock itself is kept until the store is used next, which is when it leaves the mode.
      try connection.setPragma("locking_mode", to: "NORMAL")
    }
    try waiting(until: end) {
      try connection.setJournalMode(.delete)
      try connection.begin(.exclusive)
    }
    guard try connection.pragma("data_version") == version else { throw Intrusion.changed }
    if try connection.hasMoved() { throw Intrusion.moved }
    // Another one has put the mode back before this one had the lock.
    if StoreLocation(url).companions.contains(where: FileCalls.exists) { throw Intrusion.inUse }
  }

  /// Tries until nobody is in the way.
  private func waiting(until end: Date, _ body: () throws -> Void) throws {
    while true {
      do {
        return try body()
      } catch let error as SQLiteError where error.isBusy {
        guard Date() < end else { throw Intrusion.inUse }
        usleep(20_000)
      }
    }
  }

  /// Lets others have the store again; as it was.
  package func giveBack() {
    // Either mode is good, and the next who opens the store sets the one that it likes best.
    try? connection.rollback()
    // A log is shared with others only where the locks are.
    _ = try? connection.setPragma("locking_mode", to: "NORMAL")
    try? connection.setJournalMode(journalMode)
    letGo()
  }

  /// Closes the connection.
  package func letGo() {
    // Nothing was written through it, so nothing can be lost.
    try? connection.close()
  }

  /// Has SQLite remove the journal that it leaves when it is stopped while it leaves the mode of write-ahead logs.
  ///
  /// Such a journal is empty or has been rolled back, and harms nobody; a store in that mode would keep it for ever, though.
  package static func removeIdleJournal(of place: StoreLocation) {
    guard FileCalls.exists(StoreLocation.url(place.file, "-journal")) else { return }
    // Where somebody has the store open this is impossible, and there is no need for it.
    guard let connection = try? SQLiteConnection(url: place.file, mode: .readWrite, busyTimeout: 0) else { return }
    if (try? connection.journalMode()) == .wal {
      try? connection.setJournalMode(.delete)
      try? connection.setJournalMode(.wal)
    }
    try? connection.close()
  }
}
