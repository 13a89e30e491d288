// OpenCoreData
// SPDX-License-Identifier: Apache-2.0

import CoreDataSQLite

/// A piece of SQL together with the values of its question marks, in their order.
///
/// Put together by interpolation, which takes other pieces, values to be bound, and text only where it is called `raw`:
/// `"\(column) = \(value: 3)"`.
struct BoundSQL: Hashable, Sendable, ExpressibleByStringInterpolation {
  var sql: String
  var values: [SQLiteValue]

  init(_ sql: String, _ values: [SQLiteValue] = []) {
    self.sql = sql
    self.values = values
  }

  init(stringLiteral value: String) { self.init(value) }

  init(stringInterpolation: StringInterpolation) {
    self.init(stringInterpolation.sql, stringInterpolation.values)
  }

  struct StringInterpolation: StringInterpolationProtocol {
    var sql = ""
    var values: [SQLiteValue] = []

    init(literalCapacity: Int, interpolationCount: Int) {}

    mutating func appendLiteral(_ literal: String) { sql += literal }

    mutating func appendInterpolation(_ piece: BoundSQL) {
      sql += piece.sql
      values += piece.values
    }

    mutating func appendInterpolation(value: SQLiteValue) {
      sql += "?"
      values.append(value)
    }

    mutating func appendInterpolation(values list: [SQLiteValue]) {
      sql += Array(repeating: "?", count: list.count).joined(separator: ", ")
      values += list
    }

    mutating func appendInterpolation(raw text: String) { sql += text }
  }
}

extension [BoundSQL] {
  func joined(_ separator: String) -> BoundSQL {
    BoundSQL(map(\.sql).joined(separator: separator), flatMap(\.values))
  }
}
