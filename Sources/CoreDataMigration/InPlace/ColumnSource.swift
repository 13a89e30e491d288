// OpenCoreData
// SPDX-License-Identifier: Apache-2.0

import CoreDataSQLite
import CoreDataStoreFiles

/// Where the values of a destination column come from, for the rows of one entity.
package enum ColumnSource {
  /// A column of the source table as it is.
  case column(String)
  /// A column of the source table, changed by an expression over it.
  case changed(column: String, (BoundSQL) -> BoundSQL)
  /// The same value in all rows.
  case constant(SQLiteValue)

  /// The value as an expression of a query over the source table.
  package var expression: BoundSQL {
    switch self {
    case .column(let name): "\(column: name)"
    case .changed(let column, let change): change("\(column: column)")
    case .constant(.null): "NULL"
    case .constant(let value): "\(value: value)"
    }
  }

  /// The source column that the value is taken from; nil where there is none, or where more than it is needed.
  package var origin: String? {
    switch self {
    case .column(let name), .changed(let name, _): name
    case .constant: nil
    }
  }
}
