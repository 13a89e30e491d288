// OpenCoreData
// SPDX-License-Identifier: Apache-2.0

import CSQLite
import CoreDataFileSystem
import Foundation

/// The result of a checkpoint.
package struct SQLiteCheckpointResult: Hashable, Sendable {
  /// Whether other connections prevented a complete checkpoint.
  package let wasBlocked: Bool
  /// The number of frames in the log: 0 after a truncation, nil if the database is not in WAL mode.
  package let logFrames: Int?
  /// The number of frames written to the database file; nil if the database is not in WAL mode.
  package let checkpointedFrames: Int?

  /// Whether the whole log has been written to the database file.
  package var isComplete: Bool { !wasBlocked && logFrames == checkpointedFrames }
}

extension SQLiteConnection {
  /// How thorough a checkpoint is.
  package enum CheckpointMode: Hashable, Sendable {
    /// Writes what can be written without waiting.
    case passive
    /// Waits for writers and writes everything.
    case full
    /// Like full, and waits for readers so that the next writer restarts the log.
    case restart
    /// Like restart, and truncates the log file.
    case truncate

    fileprivate var code: Int32 {
      switch self {
      case .passive: SQLITE_CHECKPOINT_PASSIVE
      case .full: SQLITE_CHECKPOINT_FULL
      case .restart: SQLITE_CHECKPOINT_RESTART
      case .truncate: SQLITE_CHECKPOINT_TRUNCATE
      }
    }
  }

  /// Checkpoints the write-ahead log.
  ///
  /// - Parameter mode: How thorough the checkpoint is.
  /// - Returns: What was written. Being blocked by other connections is a result, not an error.
  /// - Throws: `SQLiteError`; inside a transaction as locked.
  package func checkpoint(_ mode: CheckpointMode = .passive) throws -> SQLiteCheckpointResult {
    var log: Int32 = -1
    var checkpointed: Int32 = -1
    let result = sqlite3_wal_checkpoint_v2(try handle.opened(), "main", mode.code, &log, &checkpointed)
    if result & 0xFF != SQLITE_BUSY { try handle.check(result) }
    return SQLiteCheckpointResult(
      wasBlocked: result != SQLITE_OK, logFrames: log < 0 ? nil : Int(log),
      checkpointedFrames: checkpointed < 0 ? nil : Int(checkpointed))
  }

  /// Checkpoints the log, waiting a limited time for readers and other writers, and resets it.
  ///
  /// Runs a passive checkpoint first, so that writers wait as briefly as possible.
  ///
  /// - Parameters:
  ///   - mode: `.restart` to keep the file and its space for the next writer, or `.truncate`.
  ///   - seconds: The time to wait.
  /// - Returns: Whether the next writer starts the log from its beginning.
  /// - Throws: `SQLiteError`. The log still contains everything then.
  package func checkpoint(_ mode: CheckpointMode, waiting seconds: TimeInterval) throws -> Bool {
    let usual = busyTimeout
    setBusyTimeout(seconds)
    defer { setBusyTimeout(usual) }
    _ = try checkpoint(.passive)
    return try checkpoint(mode).isComplete
  }

  /// Truncates the log file after the last committed transaction.
  ///
  /// A transaction that did not fit on the disk leaves its pages in the file, and no space for a checkpoint. Truncating
  /// is safe: readers never read beyond the last commit, and the write lock keeps other connections from appending.
  ///
  /// - Parameter seconds: The time to wait for another connection to finish writing.
  /// - Throws: `SQLiteError`, also if the other connection is still writing.
  package func trimLog(waiting seconds: TimeInterval) throws {
    guard !isReadOnly, try pragma("locking_mode")?.text?.lowercased() == "normal", try journalMode() == .wal else {
      return
    }
    let usual = busyTimeout
    setBusyTimeout(seconds)
    defer { setBusyTimeout(usual) }
    try transaction(.immediate) {
      guard let index = walIndex, let pageSize = try pragma("page_size")?.integer else { return }
      let frames = WALIndexHeader(at: index).frames
      // https://www.sqlite.org/fileformat.html#wal_file_format
      let used = frames == 0 ? 0 : 32 + frames * (24 + Int(pageSize))
      guard DatabaseCompanions.logFileSize(path) > used else { return }
      let descriptor = open(DatabaseCompanions.log(of: path).path, O_WRONLY | O_NOFOLLOW | O_CLOEXEC)
      guard descriptor >= 0 else { return }
      // Closing the descriptor drops no locks, because SQLite does not lock the log file. A failure does no harm.
      _ = ftruncate(descriptor, off_t(used))
      Foundation.close(descriptor)
    }
  }

  /// Returns a closure that reports how many pages of the log have been checkpointed.
  ///
  /// - Returns: A closure to call on any thread while the connection is open; nil without a log.
  package func copiedPagesOfLog() -> (@Sendable () -> Int)? {
    guard let index = walIndex else { return nil }
    // This memory is shared by all connections of all processes.
    nonisolated(unsafe) let place = index
    return { WALIndexHeader(at: place).copiedFrames }
  }
}
