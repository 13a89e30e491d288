// OpenCoreData
// SPDX-License-Identifier: Apache-2.0

import CoreDataModelFiles
import CoreDataSQLite

/// What the engines spell differently in statements that they share.
extension SQLDialect {
  /// Compares two values of which each may be null, and both are null if they are equal.
  package var isNot: String {
    switch self {
    case .sqlite: "IS NOT"
    case .postgreSQL: "IS DISTINCT FROM"
    }
  }

  /// The function that returns the least of its arguments.
  package var least: String {
    switch self {
    case .sqlite: "MIN"
    case .postgreSQL: "LEAST"
    }
  }

  /// A condition that a column holds one of some keys, which `values(ofKeys:)` binds from the first parameter on.
  ///
  /// - Parameter count: the most keys.
  package func isKey(_ column: String, count: Int) -> String {
    switch self {
    case .sqlite: "\(column) IN (\((1...max(count, 1)).map { "?\($0)" }.joined(separator: ", ")))"
    // One text for any number of keys.
    case .postgreSQL: "\(column) = ANY (CAST(?1 AS BIGINT[]))"
    }
  }

  /// The parameters of `isKey(_:count:)`.
  package func values(ofKeys keys: some Sequence<Int64>) -> [SQLiteValue] {
    switch self {
    // Parameters that are left unbound are null, and match nothing.
    case .sqlite: keys.map { .integer($0) }
    case .postgreSQL: [.text("{\(keys.map(String.init).joined(separator: ","))}")]
    }
  }
}
