// OpenCoreData
// SPDX-License-Identifier: Apache-2.0

import CSQLite
import Foundation

/// The journal mode of a database.
package enum SQLiteJournalMode: String, Hashable, Sendable, CaseIterable {
  case delete, truncate, persist, memory, wal, off
}

extension SQLiteConnection {
  /// Reads a pragma.
  ///
  /// - Parameters:
  ///   - name: The name, such as `user_version`.
  ///   - schema: The name of an attached database; nil for the default.
  /// - Returns: The first column of the first row; nil if SQLite does not know the pragma or returns nothing.
  package func pragma(_ name: String, schema: String? = nil) throws -> SQLiteValue? {
    try prepare("PRAGMA \(qualified(name, schema))").scalar()
  }

  /// Sets a pragma.
  ///
  /// SQLite ignores unknown names and refuses some values without an error: check the result, or read the pragma again.
  ///
  /// - Parameters:
  ///   - name: The name, such as `user_version`.
  ///   - value: An integer, a real or a text; a text may be a keyword such as `WAL`.
  ///   - schema: The name of an attached database; nil for the default.
  /// - Returns: SQLite's answer; nil for the many pragmas that return nothing.
  @discardableResult
  package func setPragma(_ name: String, to value: SQLiteValue, schema: String? = nil) throws -> SQLiteValue? {
    try prepare("PRAGMA \(qualified(name, schema)) = \(value.literal)").scalar()
  }

  /// Returns the journal mode of the main database.
  ///
  /// - Throws: `SQLiteError`, also if SQLite returns an unknown mode.
  package func journalMode() throws -> SQLiteJournalMode {
    try journalMode(answer: pragma("journal_mode"))
  }

  /// Sets the journal mode of the main database.
  ///
  /// - Throws: `SQLiteError` if SQLite keeps another mode, as it does for in-memory databases.
  package func setJournalMode(_ mode: SQLiteJournalMode) throws {
    let kept = try journalMode(answer: setPragma("journal_mode", to: .text(mode.rawValue)))
    guard kept == mode else {
      throw SQLiteError(
        extendedCode: SQLITE_ERROR, message: "journal mode stays \(kept.rawValue), \(mode.rawValue) was refused",
        sql: "PRAGMA journal_mode = \(mode.rawValue)", path: path)
    }
  }

  private func journalMode(answer: SQLiteValue?) throws -> SQLiteJournalMode {
    guard case .text(let name) = answer, let mode = SQLiteJournalMode(rawValue: name.lowercased()) else {
      throw SQLiteError(
        extendedCode: SQLITE_ERROR, message: "unknown journal mode \(answer?.literal ?? "(no answer)")",
        sql: "PRAGMA journal_mode", path: path)
    }
    return mode
  }

  private func qualified(_ name: String, _ schema: String?) -> String {
    let quoted = SQLName.quoted(name)
    return schema.map { SQLName.quoted($0) + "." + quoted } ?? quoted
  }
}

extension SQLiteConnection {
  /// Keeps the schema of an untrusted file from running code.
  ///
  /// Follows <https://www.sqlite.org/security.html> and goes further: triggers, views and foreign keys are disabled.
  /// Nothing in this project needs them, and each could remove rows while others are read or written. The project's own
  /// SQL is unaffected, apart from limits that it stays far below.
  func distrustSchema() throws {
    let database = try handle.opened()
    let switches: [(option: Int32, value: Int32)] = [
      (SQLITE_DBCONFIG_DEFENSIVE, 1), (SQLITE_DBCONFIG_WRITABLE_SCHEMA, 0), (SQLITE_DBCONFIG_TRUSTED_SCHEMA, 0),
      (SQLITE_DBCONFIG_ENABLE_TRIGGER, 0), (SQLITE_DBCONFIG_ENABLE_VIEW, 0), (SQLITE_DBCONFIG_ENABLE_FKEY, 0),
      (SQLITE_DBCONFIG_ENABLE_LOAD_EXTENSION, 0), (SQLITE_DBCONFIG_ENABLE_FTS3_TOKENIZER, 0),
      // A name in double quotes that is not a column is an error rather than a text.
      (SQLITE_DBCONFIG_DQS_DML, 0), (SQLITE_DBCONFIG_DQS_DDL, 0),
    ]
    for entry in switches {
      try handle.check(opencoredata_sqlite3_db_switch(database, entry.option, entry.value))
    }
    let limits: [(category: Int32, limit: Int32)] = [
      (SQLITE_LIMIT_SQL_LENGTH, 32 << 20), (SQLITE_LIMIT_VDBE_OP, 5_000_000), (SQLITE_LIMIT_TRIGGER_DEPTH, 10),
      (SQLITE_LIMIT_WORKER_THREADS, 0),
    ]
    for entry in limits where sqlite3_limit(database, entry.category, -1) > entry.limit {
      _ = sqlite3_limit(database, entry.category, entry.limit)
    }
    // Core Data creates no CHECK constraints. Those of an untrusted file would be evaluated for every row written or
    // checked.
    try setPragma("ignore_check_constraints", to: 1)
    try setPragma("cell_size_check", to: 1)
    // Damage in a mapped file can crash the process, where a read would report an error.
    try setPragma("mmap_size", to: 0)
  }

  /// Limits the size of values and rows to what a file of the given size can hold, with room for conversions.
  ///
  /// Use this for connections that only read. A longer value would not be stored but computed by an expression of the
  /// schema.
  ///
  /// - Parameters:
  ///   - fileSize: The size of the file and its log in bytes.
  ///   - least: The size in bytes that is always allowed, because registered functions may return more than the file
  ///     holds.
  package func limitValues(toFileSize fileSize: Int, atLeast least: Int = 16 << 20) {
    // A UTF-16 text can take half as much again in UTF-8.
    let length = max(least, min(fileSize, Int(Int32.max)) * 2)
    _ = sqlite3_limit(handle.live, SQLITE_LIMIT_LENGTH, Int32(clamping: length))
  }
}

extension SQLiteConnection {
  /// Checks the pages, records and indexes of the whole file.
  ///
  /// - Parameters:
  ///   - quick: Whether to skip checking that indexes agree with their tables.
  ///   - limit: The largest number of problems to list.
  ///   - table: The only table to check; nil to check all tables and the list of free pages.
  /// - Returns: A line for every problem; empty for a sound database.
  /// - Throws: `SQLiteError` if the file is too damaged to check.
  package func integrityCheck(quick: Bool = false, limit: Int = 100, of table: String? = nil) throws -> [String] {
    // The check evaluates generated columns too.
    let longest = sqlite3_limit(handle.live, SQLITE_LIMIT_LENGTH, -1)
    defer { _ = sqlite3_limit(handle.live, SQLITE_LIMIT_LENGTH, longest) }
    let size = (try pragma("page_count")?.integer ?? 0)
      .multipliedReportingOverflow(by: try pragma("page_size")?.integer ?? 0)
    limitValues(toFileSize: size.overflow ? Int.max : Int(size.partialValue))
    // SQLite before 3.33 does not accept the name of a table here, and checks everything.
    let argument = table.map(SQLName.quoted) ?? "\(max(1, limit))"
    let rows = try prepare("PRAGMA \(quick ? "quick_check" : "integrity_check")(\(argument))").rows()
    // A row can hold several problems, and then begins with the name of the database.
    let lines = rows.compactMap { $0[0].text }.flatMap { $0.split(separator: "\n").map(String.init) }
      .filter { !$0.hasPrefix("*** in database ") }
    return lines == ["ok"] ? [] : Array(lines.prefix(max(1, limit)))
  }

  /// Attaches another database file.
  ///
  /// - Parameters:
  ///   - path: The file, created if the connection may create files.
  ///   - name: The schema name, as in `name.table`.
  package func attach(_ path: String, as name: String) throws {
    try DatabaseCompanions.check(path)
    try run("ATTACH ?1 AS ?2", [.text(path), .text(name)])
  }

  /// Detaches an attached database file.
  package func detach(_ name: String) throws {
    try run("DETACH ?1", [.text(name)])
  }
}

extension SQLiteConnection {
  /// The data version of the database when the connection last read or wrote it; nil if SQLite does not know it.
  /// Changes with every commit of any connection.
  package var lastState: UInt32? {
    var state: UInt32 = 0
    return sqlite3_file_control(handle.live, "main", SQLITE_FCNTL_DATA_VERSION, &state) == SQLITE_OK ? state : nil
  }

  /// Returns whether the open file has been moved away or replaced by another. A database in memory has no file.
  ///
  /// - Throws: `SQLiteError` if the file system cannot tell.
  package func hasMoved() throws -> Bool {
    let opened = try handle.opened()
    guard let name = sqlite3_db_filename(opened, "main"), name.pointee != 0 else { return false }
    var moved: Int32 = 0
    try handle.check(sqlite3_file_control(opened, "main", SQLITE_FCNTL_HAS_MOVED, &moved))
    return moved != 0
  }
}

/// The progress of a backup.
package struct SQLiteBackupProgress: Hashable, Sendable {
  /// The number of pages copied.
  package let copiedPages: Int
  /// The number of pages to copy.
  package let pageCount: Int
}

extension SQLiteConnection {
  /// Copies the main database, including its write-ahead log, over that of another connection.
  ///
  /// The backup reads a single state of the database, however long it takes. If it does not complete, the destination
  /// is unchanged.
  ///
  /// - Parameters:
  ///   - destination: A connection with write access and no open transaction; its contents are replaced.
  ///   - pagesPerStep: The number of pages to copy between two calls of `progress`.
  ///   - progress: Receives the progress; may throw to cancel the backup.
  /// - Throws: `SQLiteError` of either database, or the error of `progress`.
  package func backup(
    to destination: SQLiteConnection, pagesPerStep: Int = 1024,
    progress: (SQLiteBackupProgress) throws -> Void = { _ in }
  ) throws {
    guard !inTransaction else { return try copyPages(to: destination, pagesPerStep, progress) }
    // Use a read transaction: without it, SQLite starts over after every write of another connection.
    try transaction(.deferred) {
      _ = try pragma("schema_version")
      try copyPages(to: destination, pagesPerStep, progress)
    }
  }

  /// Copies the database to a file, created if necessary. A new file is removed again after an error.
  ///
  /// - Parameters:
  ///   - path: The file to write.
  ///   - pagesPerStep: The number of pages to copy between two calls of `progress`.
  ///   - progress: Receives the progress; may throw to cancel the backup.
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
        // Report why the backup failed, not that the empty file could not be removed.
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
      // Reached only when an error is thrown, which finishing would repeat.
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
