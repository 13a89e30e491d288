// OpenCoreData
// SPDX-License-Identifier: Apache-2.0

import CoreDataSQLite
import CoreDataStoreFiles

/// One statement of a migration inside a database server: a plan shows it, a run executes it.
package struct ServerStatement: Sendable {
  /// What a statement does with a table, from the quickest to the slowest.
  package enum Work: Hashable, Sendable {
    /// Changes the catalogue only, which takes the same time at any size of the table.
    case catalogue
    /// Reads all rows of a table.
    case scan
    case index
    /// Inserts, changes or deletes rows.
    case rows
    /// Writes the whole table anew.
    case rewrite

    /// As part of a line about a statement.
    package var title: String {
      switch self {
      case .catalogue: "changes the catalogue only"
      case .scan: "reads the table"
      case .index: "builds an index"
      case .rows: "changes rows"
      case .rewrite: "rewrites the table"
      }
    }
  }

  /// A lock on a table, which is held until the transaction ends.
  package struct Lock: Hashable, Sendable {
    /// The kinds of locks, as PostgreSQL names them.
    package enum Mode: String, Hashable, Sendable {
      /// Others can read and write.
      case rowExclusive = "ROW EXCLUSIVE"
      /// Others can read.
      case share = "SHARE"
      /// Others can read.
      case shareRowExclusive = "SHARE ROW EXCLUSIVE"
      /// Others wait.
      case accessExclusive = "ACCESS EXCLUSIVE"
    }

    package let table: String
    package let mode: Mode
  }

  /// What a statement that fails has found in the rows.
  package enum Check: Hashable, Sendable {
    /// Equal values under a uniqueness constraint.
    case duplicates
    /// Objects with several objects at the other end of a relationship that keeps only one.
    case link(LinkCheck)
  }

  package let sql: BoundSQL
  /// The entity that the statement is for; nil for one that prepares others.
  package let entity: String?
  package let property: String?
  package let work: Work
  package let locks: [Lock]
  package let check: Check?
  /// The position of the statement that must change as many rows as this one.
  package internal(set) var counterpart: Int?

  /// The statement as text, with its values.
  package var text: String { sql.postgreSQLLiterals }

  init(
    _ sql: BoundSQL, entity: String?, property: String? = nil, _ work: Work, locks: [Lock] = [], check: Check? = nil
  ) {
    (self.sql, self.entity, self.property) = (sql, entity, property)
    (self.work, self.locks, self.check) = (work, locks, check)
  }

  /// A statement that a migration inside a file has too.
  init(_ statement: MigrationStatement, entity: String?, property: String? = nil) {
    var locks: [Lock] = []
    var check: Check?
    var work = Work.rows
    switch statement.purpose {
    case .rows(let table), .keys(let table): locks = [Lock(table: table, mode: .rowExclusive)]
    case .link(let link): (work, check) = (.index, .link(link))
    case .structure, .index, .housekeeping: break
    }
    self.init(statement.sql, entity: entity, property: property, work, locks: locks, check: check)
  }
}

/// A change between two versions that needs more than statements inside the server.
package struct ServerStepObstacle: Error, Hashable, Sendable {
  package var entity: String?
  package var property: String?
  /// The reason in a sentence.
  package var reason: String

  package init(entity: String? = nil, property: String? = nil, reason: String) {
    (self.entity, self.property, self.reason) = (entity, property, reason)
  }
}
