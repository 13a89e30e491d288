// OpenCoreData
// SPDX-License-Identifier: Apache-2.0

import CoreDataSQLite

/// A relationship of which every object can have one object at the other end, and the table of the pairs that there are.
package struct LinkCheck: Hashable, Sendable {
  /// The entity that declares the relationship.
  package let entity: String
  package let relationship: String
  package let table: String
  /// The entities of the objects that can have one, and of those that they have.
  package let memberEntity: String
  package let ownerEntity: String

  package init(
    entity: String, relationship: String, table: String, memberEntity: String, ownerEntity: String
  ) {
    self.entity = entity
    self.relationship = relationship
    self.table = table
    self.memberEntity = memberEntity
    self.ownerEntity = ownerEntity
  }
}

/// One SQL statement of a migration, with what it is for: a plan shows them, a run carries them out in order.
package struct MigrationStatement: Sendable {
  /// What a statement does, for progress and for error messages.
  package enum Purpose: Hashable, Sendable {
    case structure
    /// Moves or changes the rows of a table.
    case rows(table: String)
    /// Gives the rows of a source table, or what refers to them, new keys.
    case keys(table: String)
    case index
    /// Finds out whether every object has one object at the other end of a relationship that keeps no more.
    case link(LinkCheck)
    case housekeeping
  }

  package let sql: String
  package let bindings: [SQLiteValue]
  package let purpose: Purpose
  /// Whether it makes the rows of a table that is made anew, those of one entity.
  package var isCopy = false

  package init(_ sql: String, _ bindings: [SQLiteValue] = [], _ purpose: Purpose = .structure) {
    self.sql = sql
    self.bindings = bindings
    self.purpose = purpose
  }
}
