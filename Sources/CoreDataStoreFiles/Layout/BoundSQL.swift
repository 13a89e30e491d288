// OpenCoreData
// SPDX-License-Identifier: Apache-2.0

import CoreDataSQLite

/// A piece of SQL together with the values bound to its question marks.
///
/// It is composed by interpolating other pieces, values, names, and text marked as `raw`:
/// `"\(column: name) = \(value: 3)"`.
package struct BoundSQL: Hashable, Sendable, ExpressibleByStringInterpolation {
  package var sql: String
  package var values: [SQLiteValue]
  /// Whether equal values share one parameter in PostgreSQL. Only then does it recognize equal expressions in the
  /// result list and in GROUP BY.
  package var sharesParameters = false

  package init(_ sql: String, _ values: [SQLiteValue] = []) {
    self.sql = sql
    self.values = values
  }

  package init(stringLiteral value: String) { self.init(value) }

  package init(stringInterpolation: StringInterpolation) {
    self.init(stringInterpolation.sql, stringInterpolation.values)
  }

  package struct StringInterpolation: StringInterpolationProtocol {
    package var sql = ""
    package var values: [SQLiteValue] = []

    package init(literalCapacity: Int, interpolationCount: Int) {}

    package mutating func appendLiteral(_ literal: String) { sql += literal }

    package mutating func appendInterpolation(_ piece: BoundSQL) {
      sql += piece.sql
      values += piece.values
    }

    package mutating func appendInterpolation(value: SQLiteValue) {
      sql += "?"
      values.append(value)
    }

    package mutating func appendInterpolation(values list: [SQLiteValue]) {
      sql += Array(repeating: "?", count: list.count).joined(separator: ", ")
      values += list
    }

    package mutating func appendInterpolation(column name: String) { sql += SQLName.quoted(name) }

    package mutating func appendInterpolation(raw text: String) { sql += text }
  }
}

extension [BoundSQL] {
  package func joined(_ separator: String) -> BoundSQL {
    BoundSQL(map(\.sql).joined(separator: separator), flatMap(\.values))
  }
}
