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

  /// Checkpoints the log, waits for readers and other writers for a limited time, and then makes the log file empty.
  ///
  /// What can be copied without waiting is copied first, so that writers wait as briefly as possible.
  ///
  /// - Parameters:
  ///   - mode: `.restart` to keep the file and its space for the next writer, or `.truncate`.
  ///   - seconds: how long to wait.
  /// - Returns: Whether the next writer begins the log anew.
  /// - Throws: `SQLiteError`; everything is still in the log then.
  package func checkpoint(_ mode: CheckpointMode, waiting seconds: TimeInterval) throws -> Bool {
    let usual = busyTimeout
    setBusyTimeout(seconds)
    defer { setBusyTimeout(usual) }
    _ = try checkpoint(.passive)
    return try checkpoint(mode).isComplete
  }

  /// Removes from the end of the log file what belongs to no committed transaction.
  ///
  /// A transaction that did not fit on the disk leaves its pages in the file, and with them no room for a checkpoint. Readers
  /// never read beyond the last commit, and the lock of writers keeps others from adding to the log meanwhile.
  ///
  /// - Parameter seconds: How long to wait for another connection that writes.
  /// - Throws: `SQLiteError`, also if it goes on writing.
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
      // SQLite holds no locks on this file, which closing it would end. If the file stays long, nothing is lost.
      _ = ftruncate(descriptor, off_t(used))
      Foundation.close(descriptor)
    }
  }

  /// Reports how many pages of the log have been copied into the database, at any time until the connection is closed.
  ///
  /// - Returns: A closure to call on any thread while the connection is open; nil without a log.
  package func copiedPagesOfLog() -> (@Sendable () -> Int)? {
    guard let index = walIndex else { return nil }
    // Memory that all connections of all processes share.
    nonisolated(unsafe) let place = index
    return { WALIndexHeader(at: place).copiedFrames }
  }
}
