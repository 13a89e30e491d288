// OpenCoreData
// SPDX-License-Identifier: Apache-2.0

import CoreDataFileSystem
import CoreDataSQLite
import Foundation

/// Blocks other writers of a store while a new one is made from it, with SQLite's own lock.
///
/// Others may read meanwhile. At the end the store is locked exclusively, and its log is checkpointed.
package final class StoreWriteLock {
  package let url: URL
  package let connection: SQLiteConnection
  private let journalMode: SQLiteJournalMode
  /// Whether the file is empty, as that of a destroyed store. A write transaction would create a journal beside it; if
  /// the process ended then, that journal would empty the file that takes its place. So this connection keeps its
  /// journal in memory.
  private let isEmpty: Bool
  private let version: SQLiteValue?
  private let timeout: TimeInterval

  /// The reason a new store cannot replace this one.
  package enum Intrusion: Error {
    /// Another connection has written to the store.
    case changed
    /// The file has been moved away or replaced.
    case moved
    /// Another connection has the store open.
    case inUse
  }

  /// Takes the lock.
  ///
  /// - Throws: the errors of opening the store; `SQLiteError` (`isBusy`) if another connection writes to it for longer
  ///   than `timeout`, in seconds.
  package init(_ connection: SQLiteConnection, url: URL, timeout: TimeInterval) throws {
    self.url = url
    self.connection = connection
    self.timeout = timeout
    journalMode = try connection.journalMode()
    isEmpty = FileCalls.size(url) == 0
    if isEmpty { try connection.setJournalMode(.memory) }
    try connection.begin(.immediate)
    // Another process has created a store in it before this one got the lock.
    if isEmpty, FileCalls.size(url) != 0 { throw Intrusion.changed }
    version = try connection.pragma("data_version")
  }

  /// The journal mode of the store that replaces this one.
  package var modeOfReplacement: SQLiteJournalMode { isEmpty ? .wal : journalMode }

  /// Locks the store exclusively and checkpoints its log. No other connection can open it until `close()`.
  ///
  /// SQLite would apply a remaining log to the file that takes the store's place. So the store leaves WAL mode, which
  /// SQLite allows only to the last connection, and no log or journal with content may be beside it then. Empty ones
  /// may, as beside a destroyed store: outside of WAL mode, an exclusive lock means that no connection uses them.
  ///
  /// In rollback mode, SQLite does not report whether a log was written to before. So the store is locked and compared
  /// while it still has its log, and stays locked until it has left WAL mode.
  ///
  /// - Throws: `Intrusion`; `SQLiteError`.
  package func upgradeToExclusive() throws {
    if try connection.hasMoved() { throw Intrusion.moved }
    try connection.rollback()
    let end = Date().addingTimeInterval(timeout)
    if journalMode == .wal {
      try connection.setPragma("locking_mode", to: "EXCLUSIVE")
      try waiting(until: end) { try connection.begin(.immediate) }
      guard try connection.pragma("data_version") == version else { throw Intrusion.changed }
      try connection.rollback()
      // The lock is kept until the next access to the store, which is the one that leaves WAL mode.
      try connection.setPragma("locking_mode", to: "NORMAL")
    }
    try waiting(until: end) {
      try connection.setJournalMode(isEmpty ? .memory : .delete)
      try connection.begin(.exclusive)
    }
    guard try connection.pragma("data_version") == version else { throw Intrusion.changed }
    if try connection.hasMoved() { throw Intrusion.moved }
    // If another connection restored WAL mode before this one got the lock, the lock excludes only writers.
    if try connection.journalMode() == .wal || !DatabaseCompanions.areIdle(url.path) { throw Intrusion.inUse }
  }

  /// Repeats a body while the store is busy, until the timeout.
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

  /// Releases the store unchanged.
  package func release() {
    // A store can be opened in either mode, and the next connection sets the mode that it prefers.
    try? connection.rollback()
    // Other processes can use a log only without an exclusive lock.
    _ = try? connection.setPragma("locking_mode", to: "NORMAL")
    try? connection.setJournalMode(journalMode)
    close()
  }

  /// Closes the connection.
  package func close() {
    // Nothing was written through the connection, so nothing can be lost.
    try? connection.close()
  }

  /// Lets SQLite remove the journal left by an interruption while the store was leaving WAL mode.
  ///
  /// Such a journal is empty or has been rolled back, and is harmless; but a store in WAL mode would keep it forever.
  package static func removeIdleJournal(of location: StoreLocation) {
    guard FileCalls.exists(StoreLocation.url(location.file, "-journal")) else { return }
    // This fails if another connection has the store open; removal is not needed then.
    guard let connection = try? SQLiteConnection(url: location.file, mode: .readWrite, busyTimeout: 0) else { return }
    if (try? connection.journalMode()) == .wal {
      try? connection.setJournalMode(.delete)
      try? connection.setJournalMode(.wal)
    }
    try? connection.close()
  }
}
