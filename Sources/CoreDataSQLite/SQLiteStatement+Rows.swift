// OpenCoreData
// SPDX-License-Identifier: Apache-2.0

import Foundation

/// One row as values, for places where convenience matters more than speed.
package struct SQLiteRow: Hashable, Sendable {
  /// The names of the columns.
  package let columns: [String]
  /// The values, one a column.
  package let values: [SQLiteValue]

  /// The value of a column, counted from 0.
  package subscript(index: Int) -> SQLiteValue { values[index] }

  /// The value of the first column of that name; nil where there is none.
  package subscript(column: String) -> SQLiteValue? {
    columns.firstIndex(of: column).map { values[$0] }
  }
}

extension SQLiteStatement {
  /// Runs the statement from its start and collects its rows.
  package func rows() throws -> [SQLiteRow] {
    reset()
    var columns: [String]?
    var rows: [SQLiteRow] = []
    while try step() {
      // Names are read after the first step: only then has SQLite compiled anew for a schema that changed.
      let names = columns ?? columnNames
      columns = names
      rows.append(SQLiteRow(columns: names, values: names.indices.map { value(at: $0) }))
    }
    return rows
  }

  /// Runs the statement from its start and takes the first column of the first row; nil where there is no row.
  package func scalar() throws -> SQLiteValue? {
    reset()
    defer { reset() }
    return try step() ? value(at: 0) : nil
  }

  /// Runs the statement from its start and shows every row to a body, which reads its columns.
  package func forEachRow(_ body: (SQLiteStatement) throws -> Void) throws {
    reset()
    defer { reset() }
    while try step() { try body(self) }
  }
}
