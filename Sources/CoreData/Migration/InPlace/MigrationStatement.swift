// OpenCoreData
// SPDX-License-Identifier: Apache-2.0

import CoreDataSQLite

/// One SQL statement of a migration, with what it is for: a plan shows them, a run carries them out in order.
struct MigrationStatement: Sendable {
  /// What a statement does, for progress and for error messages.
  enum Purpose: Hashable, Sendable {
    case structure
    /// Moves or changes the rows of a table.
    case rows(table: String)
    case index
    /// Finds out whether every object has one object at the other end of a relationship that keeps no more.
    case link(entity: String, relationship: String)
    case housekeeping
  }

  let sql: String
  let bindings: [SQLiteValue]
  let purpose: Purpose

  init(_ sql: String, _ bindings: [SQLiteValue] = [], _ purpose: Purpose = .structure) {
    self.sql = sql
    self.bindings = bindings
    self.purpose = purpose
  }
}
