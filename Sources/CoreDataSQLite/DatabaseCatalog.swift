// OpenCoreData
// SPDX-License-Identifier: Apache-2.0

import Foundation

/// The tables, indexes, triggers and views of a database, as values.
///
/// Everything keeps the order in which it stands in the database. SQLite's own tables (`sqlite_…`) are left out; the
/// indexes that it makes for constraints are not.
package struct DatabaseCatalog: Hashable, Sendable {
  /// A table, virtual ones included.
  package struct Table: Hashable, Sendable {
    /// The name.
    package var name: String
    /// The statement that made it, as SQLite keeps it.
    package var sql: String
    /// The columns in order; empty for a virtual table.
    package var columns: [Column]
    /// Whether a module (R-tree, full text) stands behind the table.
    package var isVirtual: Bool

    /// The column of that name, in any case.
    package func column(named name: String) -> Column? {
      columns.first { SQLName.areEqual($0.name, name) }
    }
  }

  /// A column of a table.
  package struct Column: Hashable, Sendable {
    /// The name.
    package var name: String
    /// The type as declared, as `VARCHAR`; empty where none was.
    package var declaredType: String
    /// Whether null is refused.
    package var isNotNull: Bool
    /// The expression after DEFAULT, as SQL text.
    package var defaultValue: String?
    /// The position in the primary key, from 1; 0 for columns outside of it.
    package var primaryKeyPosition: Int
    /// Whether an expression of the schema computes the values.
    package var isGenerated = false
    /// Whether the column belongs to the primary key.
    package var isPrimaryKey: Bool { primaryKeyPosition > 0 }
  }

  /// An index of a table.
  package struct Index: Hashable, Sendable {
    /// The name.
    package var name: String
    /// The table that it belongs to.
    package var table: String
    /// The columns in order.
    package var columns: [IndexColumn]
    /// Whether equal entries are refused.
    package var isUnique: Bool
    /// Whether a WHERE clause leaves rows out.
    package var isPartial: Bool
    /// The statement that made it; nil for an index that SQLite made for a constraint.
    package var sql: String?
  }

  /// What an index is sorted by.
  package struct IndexColumn: Hashable, Sendable {
    /// The name of the column; nil for an expression.
    package var name: String?
    /// Whether it is sorted from the greatest to the least.
    package var isDescending: Bool
    /// The name of the collation.
    package var collation: String
  }

  /// A trigger of a table or view.
  package struct Trigger: Hashable, Sendable {
    /// The name.
    package var name: String
    /// The table that it belongs to.
    package var table: String
    /// The statement that made it.
    package var sql: String
  }

  /// A view.
  package struct View: Hashable, Sendable {
    /// The name.
    package var name: String
    /// The statement that made it.
    package var sql: String
  }

  /// The tables.
  package var tables: [Table]
  /// The indexes of all tables.
  package var indexes: [Index]
  /// The triggers of all tables.
  package var triggers: [Trigger]
  /// The views.
  package var views: [View]

  /// The table of that name, in any case.
  package func table(named name: String) -> Table? {
    tables.first { SQLName.areEqual($0.name, name) }
  }

  /// The index of that name, in any case.
  package func index(named name: String) -> Index? {
    indexes.first { SQLName.areEqual($0.name, name) }
  }

  /// The indexes of a table.
  package func indexes(of table: String) -> [Index] {
    indexes.filter { SQLName.areEqual($0.table, table) }
  }

  /// The triggers of a table.
  package func triggers(of table: String) -> [Trigger] {
    triggers.filter { SQLName.areEqual($0.table, table) }
  }
}
