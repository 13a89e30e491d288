// OpenCoreData
// SPDX-License-Identifier: Apache-2.0

import CoreDataSQLite

/// The tables and indexes of a store's database, as far as its layout needs them.
package struct StoreCatalog: Hashable, Sendable {
  package struct Table: Hashable, Sendable {
    package var name: String
    package var columns: [Column] { didSet { positions = Self.positions(of: columns) } }
    /// Whether the engine guarantees that `Z_PK` is a unique integer. True for a table without that column.
    package var hasNumericKey: Bool
    /// The part of the definition that computes values, or makes rows vanish without an error; nil for a plain table.
    package var unsupportedFeature: String?
    private var positions: [String: Int]

    package init(name: String, columns: [Column], hasNumericKey: Bool = true, unsupportedFeature: String? = nil) {
      (self.name, self.columns) = (name, columns)
      (self.hasNumericKey, self.unsupportedFeature) = (hasNumericKey, unsupportedFeature)
      positions = Self.positions(of: columns)
    }

    private static func positions(of columns: [Column]) -> [String: Int] {
      Dictionary(columns.enumerated().map { (SQLName.folded($1.name), $0) }) { first, _ in first }
    }

    /// Returns the column with the given name in any case, as the database spells it.
    package func spelling(of name: String) -> String? {
      positions[SQLName.folded(name)].map { columns[$0].name }
    }
  }

  package struct Column: Hashable, Sendable {
    package var name: String
    /// The type as the catalog spells it, in PostgreSQL that of `format_type`; see `ColumnType`.
    package var type: String

    package init(name: String, type: String) { (self.name, self.type) = (name, type) }
  }

  package let dialect: SQLDialect
  package let tables: [Table]
  /// The names of the indexes and, in PostgreSQL, of the constraints that have indexes.
  package let indexes: Set<String>
  private let positions: [String: Int]

  package init(dialect: SQLDialect, tables: [Table], indexes: Set<String>) {
    (self.dialect, self.tables, self.indexes) = (dialect, tables, Set(indexes.map(SQLName.folded)))
    positions = Dictionary(tables.enumerated().map { (SQLName.folded($1.name), $0) }) { first, _ in first }
  }

  /// Returns the table with the given name, ignoring case.
  package func table(named name: String) -> Table? {
    positions[SQLName.folded(name)].map { tables[$0] }
  }

  /// Returns the table of a root entity.
  ///
  /// - Parameter earlierName: the name of the entity before a migration that did not rename the table.
  package func table(of layout: TableLayout, earlierName: String?) -> Table? {
    table(named: layout.name)
      ?? earlierName.flatMap { table(named: dialect.spelling(of: "Z" + $0.uppercased())) }
  }

  /// Whether there is an index with the given name, ignoring case.
  package func hasIndex(_ name: String) -> Bool { indexes.contains(SQLName.folded(name)) }
}

extension StoreCatalog {
  /// Creates the catalog of a SQLite file.
  package init(_ catalog: DatabaseCatalog) {
    // A primary key with a separate index, or in a WITHOUT ROWID table, can have values of any type.
    let automatic = catalog.indexes.filter { $0.sql == nil && $0.columns.count == 1 }
    let indexed = Dictionary(grouping: automatic, by: \.table).mapValues { Set($0.compactMap { $0.columns[0].name }) }
    self.init(
      dialect: .sqlite,
      tables: catalog.tables.map { table in
        Table(
          name: table.name, columns: table.columns.map { Column(name: $0.name, type: $0.declaredType) },
          hasNumericKey: Self.hasNumericKey(table, indexed[table.name] ?? []),
          unsupportedFeature: table.unsupportedFeature)
      }, indexes: Set(catalog.indexes.map(\.name)))
  }

  /// Whether SQLite guarantees that `Z_PK` is a unique integer, because it is an alias of the rowid.
  ///
  /// - Parameter indexed: the columns with an index that SQLite created for a constraint.
  private static func hasNumericKey(_ table: DatabaseCatalog.Table, _ indexed: Set<String>) -> Bool {
    guard let key = table.column(named: "Z_PK") else { return true }  // Reported as a missing column.
    return key.primaryKeyPosition == 1 && key.declaredType.uppercased() == ColumnType.integer.rawValue
      && table.columns.count { $0.primaryKeyPosition > 0 } == 1 && !indexed.contains(key.name)
      && !isWithoutRowIDs(table)
  }

  private static func isWithoutRowIDs(_ table: DatabaseCatalog.Table) -> Bool {
    table.mayContain(word: "ROWID")
      && table.sql.uppercased().split { !$0.isLetter && !$0.isNumber && $0 != "_" }.contains("ROWID")
  }
}
