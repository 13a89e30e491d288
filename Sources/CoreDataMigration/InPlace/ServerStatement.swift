// OpenCoreData
// SPDX-License-Identifier: Apache-2.0

import CoreDataSQLite
import CoreDataStoreFiles

/// A statement of a migration inside a database server, shown by a plan and executed by a run.
package struct ServerStatement: Sendable {
  /// The work that a statement does on a table, from the fastest to the slowest.
  package enum Work: Hashable, Sendable {
    /// Changes the catalog only, which takes the same time for tables of any size.
    case catalogue
    /// Reads all rows of a table.
    case scan
    case index
    /// Inserts, changes or deletes rows.
    case rows
    /// Rewrites the whole table.
    case rewrite

    /// The work as part of a line about a statement.
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

  /// A lock on a table, held until the transaction ends.
  package struct Lock: Hashable, Sendable {
    /// The lock modes with PostgreSQL's names.
    package enum Mode: String, Hashable, Sendable {
      /// Other transactions can read and write.
      case rowExclusive = "ROW EXCLUSIVE"
      /// Other transactions can read.
      case share = "SHARE"
      /// Other transactions can read.
      case shareRowExclusive = "SHARE ROW EXCLUSIVE"
      /// Other transactions wait.
      case accessExclusive = "ACCESS EXCLUSIVE"
    }

    package let table: String
    package let mode: Mode
  }

  package let sql: BoundSQL
  /// The entity that the statement concerns; nil for a statement that prepares others.
  package let entity: String?
  package let property: String?
  package let work: Work
  package let locks: [Lock]
  package let check: StatementCheck?
  /// The position of the statement that must change as many rows as this one.
  package internal(set) var counterpart: Int?

  /// The statement as text, with its values.
  package var text: String { sql.postgreSQLLiterals }

  init(
    _ sql: BoundSQL, entity: String?, property: String? = nil, _ work: Work, locks: [Lock] = [],
    check: StatementCheck? = nil
  ) {
    (self.sql, self.entity, self.property) = (sql, entity, property)
    (self.work, self.locks, self.check) = (work, locks, check)
  }

  /// Creates a statement from one of an in-place migration of a file.
  init(_ statement: MigrationStatement, entity: String?, property: String? = nil) {
    var locks: [Lock] = []
    var work = Work.rows
    switch statement.purpose {
    case .rows(let table), .keys(let table): locks = [Lock(table: table, mode: .rowExclusive)]
    case .link: work = .index
    case .structure, .index, .housekeeping: break
    }
    self.init(statement.sql, entity: entity, property: property, work, locks: locks, check: statement.check)
  }
}

/// A change between two versions that cannot be made with statements inside the server.
package struct ServerStepObstacle: Error, Hashable, Sendable {
  package var entity: String?
  package var property: String?
  /// The reason as a sentence.
  package var reason: String

  package init(entity: String? = nil, property: String? = nil, reason: String) {
    (self.entity, self.property, self.reason) = (entity, property, reason)
  }
}
