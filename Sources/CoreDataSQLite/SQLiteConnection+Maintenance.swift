// OpenCoreData
// SPDX-License-Identifier: Apache-2.0

import CSQLite
import Foundation

/// What became of a checkpoint.
package struct SQLiteCheckpointResult: Hashable, Sendable {
  /// Whether other connections stood in the way, so that a part of the log had to stay.
  package let wasBlocked: Bool
  /// Frames in the log; 0 after a truncation; nil where the database is not in WAL mode.
  package let logFrames: Int?
  /// Frames of the log that are in the database file; nil where the database is not in WAL mode.
  package let checkpointedFrames: Int?

  /// Whether everything in the log is in the database file now.
  package var isComplete: Bool { !wasBlocked && logFrames == checkpointedFrames }
}

extension SQLiteConnection {
  /// How much a checkpoint insists.
  package enum CheckpointMode: Hashable, Sendable {
    /// Copies what can be copied without waiting.
    case passive
    /// Waits for writers, copies everything.
    case full
    /// As full, and waits for readers so that the next writer starts the log anew.
    case restart
    /// As restart, and makes the log file empty.
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

  /// Moves the content of the write-ahead log into the database file.
  ///
  /// - Parameter mode: how much to insist.
  /// - Returns: what was moved; being blocked by others is a result and not an error.
  /// - Throws: `SQLiteError`; as locked inside a transaction.
  package func checkpoint(_ mode: CheckpointMode = .passive) throws -> SQLiteCheckpointResult {
    var log: Int32 = -1
    var checkpointed: Int32 = -1
    let result = sqlite3_wal_checkpoint_v2(try handle.opened(), "main", mode.code, &log, &checkpointed)
    if result & 0xFF != SQLITE_BUSY { try handle.check(result) }
    return SQLiteCheckpointResult(
      wasBlocked: result != SQLITE_OK, logFrames: log < 0 ? nil : Int(log),
      checkpointedFrames: checkpointed < 0 ? nil : Int(checkpointed))
  }

  /// Has SQLite check pages, records and indexes of the whole file.
  ///
  /// - Parameters:
  ///   - quick: leaves out whether indexes agree with their tables.
  ///   - limit: how many problems to list.
  ///   - table: the only table to check; nil for all of them, and for the list of free pages.
  /// - Returns: a line for every problem; empty for a sound database.
  /// - Throws: `SQLiteError` where the file is too damaged even for the check.
  package func integrityCheck(quick: Bool = false, limit: Int = 100, of table: String? = nil) throws -> [String] {
    // The check computes generated columns too.
    let longest = sqlite3_limit(handle.live, SQLITE_LIMIT_LENGTH, -1)
    defer { _ = sqlite3_limit(handle.live, SQLITE_LIMIT_LENGTH, longest) }
    let size = (try pragma("page_count")?.integer ?? 0)
      .multipliedReportingOverflow(by: try pragma("page_size")?.integer ?? 0)
    limitValues(toFileSize: size.overflow ? Int.max : Int(size.partialValue))
    // SQLite before 3.33 takes the name of a table for no limit, and checks everything.
    let argument = table.map(SQLName.quoted) ?? "\(max(1, limit))"
    let rows = try prepare("PRAGMA \(quick ? "quick_check" : "integrity_check")(\(argument))").rows()
    // A line can hold several problems, and begins with the name of the database then.
    let lines = rows.compactMap { $0[0].text }.flatMap { $0.split(separator: "\n").map(String.init) }
      .filter { !$0.hasPrefix("*** in database ") }
    return lines == ["ok"] ? [] : Array(lines.prefix(max(1, limit)))
  }

  /// Makes another database file reachable under a name of its own.
  ///
  /// - Parameters:
  ///   - path: the file; it is made where the connection may make files.
  ///   - name: what stands before the dot in `name.table`.
  package func attach(_ path: String, as name: String) throws {
    try DatabaseCompanions.check(path)
    try run("ATTACH ?1 AS ?2", [.text(path), .text(name)])
  }

  /// Lets go of an attached database file.
  package func detach(_ name: String) throws {
    try run("DETACH ?1", [.text(name)])
  }

  /// Writes the database anew without free pages.
  ///
  /// - Throws: `SQLiteError`; also inside a transaction.
  package func vacuum() throws {
    try run("VACUUM")
  }

  /// Writes a compact copy of the database.
  ///
  /// - Parameter path: a file that does not exist yet or is empty.
  package func vacuum(into path: String) throws {
    try run("VACUUM INTO ?1", [.text(path)])
  }
}

extension SQLiteConnection {
  /// Whether another file has taken the place of the one that is open, or it has been moved away.
  ///
  /// - Throws: `SQLiteError` where the file system cannot tell.
  package func hasMoved() throws -> Bool {
    var moved: Int32 = 0
    try handle.check(sqlite3_file_control(try handle.opened(), "main", SQLITE_FCNTL_HAS_MOVED, &moved))
    return moved != 0
  }
}
