// OpenCoreData
// SPDX-License-Identifier: Apache-2.0

import CSQLite
import Foundation

extension SQLiteConnection {
  /// Keeps the schema of a file that a stranger may have made from running code.
  ///
  /// Follows <https://www.sqlite.org/security.html>, and goes further: triggers, views and foreign keys never act here.
  /// Nothing in this project needs them, and each of them can remove rows while others are read or written. Statements of
  /// our own SQL are not restricted, apart from limits that they stay far below.
  func distrustSchema() throws {
    let database = try handle.opened()
    let switches: [(option: Int32, value: Int32)] = [
      (SQLITE_DBCONFIG_DEFENSIVE, 1), (SQLITE_DBCONFIG_WRITABLE_SCHEMA, 0), (SQLITE_DBCONFIG_TRUSTED_SCHEMA, 0),
      (SQLITE_DBCONFIG_ENABLE_TRIGGER, 0), (SQLITE_DBCONFIG_ENABLE_VIEW, 0), (SQLITE_DBCONFIG_ENABLE_FKEY, 0),
      (SQLITE_DBCONFIG_ENABLE_LOAD_EXTENSION, 0), (SQLITE_DBCONFIG_ENABLE_FTS3_TOKENIZER, 0),
      // A name in double quotes that is no column is an error, and not a text.
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
    // Core Data makes no CHECK constraints; those of a stranger would be computed with every row that is written or checked.
    try setPragma("ignore_check_constraints", to: 1)
    try setPragma("cell_size_check", to: 1)
    // Damage in a mapped file can crash the process where a read would report an error.
    try setPragma("mmap_size", to: 0)
  }

  /// Limits the size of a value, and of a row, to what a file of that size can hold, with room for conversions.
  ///
  /// For connections that only read: what is longer was not stored, but computed by an expression of the schema.
  ///
  /// - Parameters:
  ///   - fileSize: the bytes of the file and its log.
  ///   - least: what is always allowed, in bytes: functions of ours may give more than the file holds.
  package func limitValues(toFileSize fileSize: Int, atLeast least: Int = 16 << 20) {
    // A UTF-16 text can take half as much again in UTF-8.
    let length = max(least, min(fileSize, Int(Int32.max)) * 2)
    _ = sqlite3_limit(handle.live, SQLITE_LIMIT_LENGTH, Int32(clamping: length))
  }
}
