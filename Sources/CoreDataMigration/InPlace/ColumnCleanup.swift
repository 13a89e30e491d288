// OpenCoreData
// SPDX-License-Identifier: Apache-2.0

import CoreDataSQLite
import CoreDataStoreFiles

/// What becomes of columns that no property has any more.
package enum ColumnCleanup: Hashable {
  /// A step removes those of the properties that it removes; those that were there before stay with a table that stays.
  case necessary
  /// They stay where the table can.
  case deferred
  /// All are removed.
  case all
  /// Those of one table are removed.
  case table(String)

  /// Whether a table with such columns from earlier migrations may keep them.
  package func spares(_ table: String, _ extraColumns: Set<String>) -> Bool {
    switch self {
    case .necessary, .deferred: true
    case .all: extraColumns.isEmpty
    case .table(let name): name != table
    }
  }
}

extension StoreSchema {
  /// The columns of the file that no property has, by table; tables without such columns are left out.
  package func extraColumns(in catalog: DatabaseCatalog) -> [String: Set<String>] {
    var found: [String: Set<String>] = [:]
    for table in tables {
      let known = Set(table.columns.map { $0.name.uppercased() })
      let columns = catalog.table(named: table.name)?.columns.map(\.name) ?? []
      let extra = Set(columns.filter { !known.contains($0.uppercased()) })
      if !extra.isEmpty { found[table.name] = extra }
    }
    return found
  }
}
