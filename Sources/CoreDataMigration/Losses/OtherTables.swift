// OpenCoreData
// SPDX-License-Identifier: Apache-2.0

import CoreDataSQLite
import CoreDataStoreFiles

/// Tables of a SQLite store that do not belong to its model, such as those of `NSPersistentCloudKitContainer`.
///
/// In-place migration keeps them. Steps that create a new store drop them.
package enum OtherTables {
  /// A table and its row count.
  package struct Table: Hashable, Sendable {
    package let name: String
    package let rows: Int

    /// The contents in words, such as `2 rows of the table NOTES`.
    package var text: String { "\(rows) \(rows == 1 ? "row" : "rows") of the table \(name)" }
  }

  /// Returns the names of such tables, sorted: all except those of the model, the store itself and persistent history.
  package static func names(in catalog: DatabaseCatalog, besides schema: StoreSchema) -> [String] {
    let own = Set(
      (schema.tables.map(\.name) + schema.joinTables.map(\.name) + StoreSchema.housekeepingStatements.map(\.name)
        + [HistoryTables.change, HistoryTables.transaction, HistoryTables.string].map(\.table)).map { $0.uppercased() })
    // Exclude Core Data's R-tree indexes, whose tables are named after them.
    let indexes = catalog.tables.filter { $0.isVirtual && $0.name.uppercased().hasPrefix("Z") }.map {
      $0.name.uppercased()
    }
    return catalog.tables.filter { table in
      let name = table.name.uppercased()
      return !table.isVirtual && !own.contains(name) && !name.hasPrefix("SQLITE_")
        && !indexes.contains { name.hasPrefix($0 + "_") }
    }.map(\.name).sorted()
  }

  /// Returns these tables with their row counts.
  package static func counted(
    _ connection: SQLiteConnection, in catalog: DatabaseCatalog, besides schema: StoreSchema
  ) throws -> [Table] {
    try names(in: catalog, besides: schema).map { Table(name: $0, rows: try connection.rowCount(of: $0)) }
  }
}
