// OpenCoreData
// SPDX-License-Identifier: Apache-2.0

import CSQLite
import Foundation

/// How far a backup has come.
package struct SQLiteBackupProgress: Hashable, Sendable {
  /// Pages copied.
  package let copiedPages: Int
  /// Pages to copy in all.
  package let pageCount: Int
}

extension SQLiteConnection {
  /// Copies the main database, what its write-ahead log holds included, over that of another connection.
  ///
  /// The whole backup reads one state of the database, however long it takes. Unless it comes to its end, the
  /// destination is left as it was.
  ///
  /// - Parameters:
  ///   - destination: a connection that may write and has no open transaction; its content is replaced.
  ///   - pagesPerStep: how many pages to copy between two reports.
  ///   - progress: gets numbers that only grow; may throw to give up.
  /// - Throws: `SQLiteError` of either database, or what `progress` throws.
  package func backup(
    to destination: SQLiteConnection, pagesPerStep: Int = 1024,
    progress: (SQLiteBackupProgress) throws -> Void = { _ in }
  ) throws {
    guard !inTransaction else { return try copyPages(to: destination, pagesPerStep, progress) }
    // A reading transaction: without it every write of another connection makes SQLite start over.
    try transaction(.deferred) {
      _ = try pragma("schema_version")
      try copyPages(to: destination, pagesPerStep, progress)
    }
  }

  /// Copies the database to a file, which is made or replaced; a new file is removed again after a failure.
  ///
  /// - Parameters:
  ///   - path: the file to write.
  ///   - pagesPerStep: how many pages to copy between two reports.
  ///   - progress: gets numbers that only grow; may throw to give up.
  package func backup(
    toPath path: String, pagesPerStep: Int = 1024, progress: (SQLiteBackupProgress) throws -> Void = { _ in }
  ) throws {
    let isNew = !FileManager.default.fileExists(atPath: path)
    let destination = try SQLiteConnection(path: path, mode: .create)
    do {
      try backup(to: destination, pagesPerStep: pagesPerStep, progress: progress)
      try destination.close()
    } catch {
      if isNew {
        // The file holds nothing; that it may stay behind must not hide why the backup failed.
        try? destination.close()
        try? FileManager.default.removeItem(atPath: path)
      }
      throw error
    }
  }

  private func copyPages(
    to destination: SQLiteConnection, _ pagesPerStep: Int, _ progress: (SQLiteBackupProgress) throws -> Void
  ) throws {
    let target = try destination.handle.opened()
    guard let backup = sqlite3_backup_init(target, "main", try handle.opened(), "main") else {
      throw SQLiteError(result: sqlite3_errcode(target), database: target, sql: nil, path: destination.path)
    }
    var finished = false
    defer {
      // Only on the way out with an error; that error matters, and finishing repeats it.
      if !finished { sqlite3_backup_finish(backup) }
    }
    var result = SQLITE_OK
    while result == SQLITE_OK {
      result = sqlite3_backup_step(backup, Int32(clamping: max(1, pagesPerStep)))
      guard result == SQLITE_OK || result == SQLITE_DONE else { break }
      let count = Int(sqlite3_backup_pagecount(backup))
      try progress(
        SQLiteBackupProgress(copiedPages: count - Int(sqlite3_backup_remaining(backup)), pageCount: count))
    }
    finished = true
    let end = sqlite3_backup_finish(backup)
    if result != SQLITE_DONE {
      let error = SQLiteError(result: result, database: target, sql: nil, path: destination.path)
      throw SQLiteError(
        extendedCode: error.extendedCode, message: "\(error.message), while copying from \u{201C}\(path)\u{201D}",
        sql: nil, path: destination.path, systemError: error.systemError)
    }
    try destination.handle.check(end)
  }
}
