// OpenCoreData
// SPDX-License-Identifier: Apache-2.0

import CoreDataSQLite

/// The tables and indexes that a store's database has, as far as its layout is concerned.
package struct StoreCatalog: Hashable, Sendable {
  package struct Table: Hashable, Sendable {
    package var name: String
    package var columns: [Column]
    /// Whether the engine guarantees that `Z_PK` is a unique integer. True for a table without that column.
    package var hasNumericKey: Bool
    /// What in the definition computes values, or makes rows vanish without an error; nil for a plain table.
    package var oddity: String?

    package init(name: String, columns: [Column], hasNumericKey: Bool = true, oddity: String? = nil) {
      (self.name, self.columns) = (name, columns)
      (self.hasNumericKey, self.oddity) = (hasNumericKey, oddity)
    }

    /// Returns the column with the given name in any case, as the database spells it.
    package func spelling(of name: String) -> String? {
      columns.first { SQLName.areEqual($0.name, name) }?.name
    }
  }

  package struct Column: Hashable, Sendable {
    package var name: String
    /// The type as a catalog spells it, in PostgreSQL that of `format_type`; see `ColumnType`.
    package var type: String

    package init(name: String, type: String) { (self.name, self.type) = (name, type) }
  }

  package var dialect: SQLDialect
  package var tables: [Table]
  /// The names of the indexes, and in PostgreSQL of the constraints that have indexes.
  package var indexes: Set<String>

  package init(dialect: SQLDialect, tables: [Table], indexes: Set<String>) {
    (self.dialect, self.tables, self.indexes) = (dialect, tables, Set(indexes.map(SQLName.folded)))
  }

  /// Returns the table with the given name, ignoring case.
  package func table(named name: String) -> Table? {
    tables.first { SQLName.areEqual($0.name, name) }
  }

  /// Returns the table of a root entity.
  ///
  /// - Parameter earlierName: the name that the entity had before a migration that has left the table as it was.
  package func table(of layout: TableLayout, earlierName: String?) -> Table? {
    table(named: layout.name)
      ?? earlierName.flatMap { table(named: dialect.spelling(of: "Z" + $0.uppercased())) }
  }

  /// Whether there is an index with the given name, ignoring case.
  package func hasIndex(_ name: String) -> Bool { indexes.contains(SQLName.folded(name)) }
}

extension StoreCatalog {
  /// The catalog of a SQLite file.
  package init(_ catalog: DatabaseCatalog) {
    self.init(
      dialect: .sqlite,
      tables: catalog.tables.map { table in
        Table(
          name: table.name, columns: table.columns.map { Column(name: $0.name, type: $0.declaredType) },
          hasNumericKey: Self.hasNumericKey(table, catalog), oddity: table.oddity)
      }, indexes: Set(catalog.indexes.map(\.name)))
  }

  /// Whether SQLite guarantees that `Z_PK` is a unique integer, as an alias of the row identifier.
  private static func hasNumericKey(_ table: DatabaseCatalog.Table, _ catalog: DatabaseCatalog) -> Bool {
    guard let key = table.column(named: "Z_PK") else { return true }  // Told as a missing column.
    // A primary key with an index of its own, or in a WITHOUT ROWID table, can be anything.
    let hasIndex = catalog.indexes.contains { index in
      index.table == table.name && index.sql == nil && index.columns.map(\.name) == [key.name]
    }
    let words = table.sql.uppercased().split { !$0.isLetter && !$0.isNumber && $0 != "_" }
    return key.primaryKeyPosition == 1 && key.declaredType.uppercased() == ColumnType.integer.rawValue
      && table.columns.count { $0.primaryKeyPosition > 0 } == 1 && !hasIndex && !words.contains("ROWID")
  }
}
