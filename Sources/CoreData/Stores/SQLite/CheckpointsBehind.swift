// OpenCoreData
// SPDX-License-Identifier: Apache-2.0

import CoreDataFileSystem
import CoreDataSQLite
import Foundation

/// Copies the pages of a store's write-ahead log into its database, on a thread and a connection of its own, so that saves do
/// not wait for it.
///
/// SQLite does this at the end of the commit after which the log has a thousand pages. A commit is durable without it.
final class CheckpointsBehind: Sendable {
  /// From how many new pages on the log is copied. SQLite has the same number.
  private static let threshold = 1_000
  /// From how many pages on a save waits until the log has been copied, so that a log cannot grow for ever.
  private static let limit = 16_000

  private struct State {
    /// How long the log was when it was last copied.
    var copied = 0
    var isCopying = false
    var work: ParallelWork<Void>?
  }

  /// Opens a connection; nil if the store's file is gone.
  private let open: @Sendable () throws -> SQLiteConnection?
  private let state = Guarded(State())

  init(_ open: @escaping @Sendable () throws -> SQLiteConnection?) {
    self.open = open
  }

  /// Notes a commit.
  ///
  /// - Parameter pages: how long the log is now.
  func noteCommit(pages: Int) {
    if pages < Self.limit { return begin(pages, Self.threshold) }
    wait()
    begin(pages, 0)
    wait()
  }

  /// Waits until nothing is copied.
  func wait() {
    let work = state.update { state in
      defer { state.work = nil }
      return state.work
    }
    // The work throws nothing.
    try? work?.wait()
  }

  private func begin(_ pages: Int, _ threshold: Int) {
    state.update { state in
      // The log begins anew when all of it has been copied.
      if pages < state.copied { state.copied = 0 }
      guard !state.isCopying, pages - state.copied >= threshold else { return }
      state.copied = pages
      state.isCopying = true
      state.work = ParallelWork { [self] in
        copy()
        self.state.isCopying = false
      }
    }
  }

  private func copy() {
    // Everything stays in the log if it cannot be copied, and is read there. A later commit tries again, as SQLite does.
    guard let connection = try? open() else { return }
    // SQLite knows nothing of the log before it has read the file.
    if (try? connection.journalMode()) == .wal { _ = try? connection.checkpoint(.passive) }
    try? connection.close()
  }
}

extension SQLiteStore {
  /// Has the log of a store that others can open copied beside saves, unless the program has set how SQLite does it.
  func checkpointBehind(_ state: Opened, url: URL, _ settings: StoreOptions) throws {
    guard settings.pragmas["wal_autocheckpoint"] == nil, try hasSharedLog(state, url: url, settings) else { return }
    let file = StoreIdentity(of: url)
    let behind = CheckpointsBehind {
      guard file.isUnchanged else { return nil }
      let connection = try SQLiteConnection(url: url, mode: .readWrite, busyTimeout: 0)
      guard file.isUnchanged else {
        try connection.close()
        return nil
      }
      return connection
    }
    checkpoints = behind
    state.connection.setLogHandler { behind.noteCommit(pages: $0) }
  }

  /// Whether a store has a write-ahead log that several connections can use.
  func hasSharedLog(_ state: Opened, url: URL, _ settings: StoreOptions) throws -> Bool {
    guard !RegularFile.isNullDevice(url), !state.file.isReadOnly, settings.pragmas["locking_mode"] == nil else {
      return false
    }
    return try state.connection.journalMode() == .wal
  }
}

/// Which file has a store's name.
///
/// A connection keeps the file that it has opened, even if the name is another file's meanwhile.
struct StoreIdentity: Sendable {
  private let file: URL
  private let identity: FileCalls.Identity?

  init(of url: URL) {
    file = URL(fileURLWithPath: DatabaseFile.target(of: url.path))
    identity = FileCalls.identity(file)
  }

  /// Whether it is still the same file.
  var isUnchanged: Bool { identity != nil && FileCalls.identity(file) == identity }
}
