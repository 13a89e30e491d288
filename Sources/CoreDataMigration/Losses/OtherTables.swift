// OpenCoreData
// SPDX-License-Identifier: Apache-2.0

import CoreDataSQLite
import CoreDataStoreFiles

/// The tables of a SQLite store that are not the model's, such as those of `NSPersistentCloudKitContainer`.
///
/// A migration in place keeps them. A step that makes a new store leaves them behind.
package enum OtherTables {
  /// A table.
  package struct Table: Hashable, Sendable {
    package let name: String
    package let rows: Int

    /// As `2 rows of the table NOTES`.
    package var words: String { "\(rows) \(rows == 1 ? "row" : "rows") of the table \(name)" }
  }

  /// Returns the names of such tables, sorted: all but those of the model, of the store itself and of persistent history.
  package static func names(in catalog: DatabaseCatalog, besides schema: StoreSchema) -> [String] {
    let own = Set(
      (schema.tables.map(\.name) + schema.joinTables.map(\.name) + StoreSchema.housekeepingStatements.map(\.name)
        + [HistoryTables.change, HistoryTables.transaction, HistoryTables.string].map(\.table)).map { $0.uppercased() })
    // R-tree indexes of Core Data. The tables of an index are named after it.
    let indexes = catalog.tables.filter { $0.isVirtual && $0.name.uppercased().hasPrefix("Z") }.map {
      $0.name.uppercased()
    }
    return catalog.tables.filter { table in
      let name = table.name.uppercased()
      return !table.isVirtual && !own.contains(name) && !name.hasPrefix("SQLITE_")
        && !indexes.contains { name.hasPrefix($0 + "_") }
    }.map(\.name).sorted()
  }

  /// Returns these tables with the number of their rows.
  package static func counted(
    _ connection: SQLiteConnection, in catalog: DatabaseCatalog, besides schema: StoreSchema
  ) throws -> [Table] {
    try names(in: catalog, besides: schema).map { Table(name: $0, rows: try connection.rowCount(of: $0)) }
  }
}
