// OpenCoreData
// SPDX-License-Identifier: Apache-2.0

import CoreDataPredicates
import CoreDataSQLite
import Foundation

/// SQL that the engines spell differently.
extension SQLDialect {
  /// Returns a condition that is always true, or always false.
  package func truth(_ holds: Bool) -> BoundSQL {
    switch self {
    case .sqlite: holds ? "1" : "0"
    case .postgreSQL: holds ? "TRUE" : "FALSE"
    }
  }

  /// Returns a condition that is never NULL: NULL becomes false.
  package func definite(_ condition: BoundSQL) -> BoundSQL {
    coalesced(condition, truth(false))
  }

  /// Returns a value, or another one if it is NULL.
  package func coalesced(_ value: BoundSQL, _ other: BoundSQL) -> BoundSQL {
    self == .sqlite ? "IFNULL(\(value), \(other))" : "COALESCE(\(value), \(other))"
  }

  /// The suffix of ORDER BY terms that sorts NULL before all other values.
  package var ascending: String { self == .sqlite ? "" : " NULLS FIRST" }
  package var descending: String { self == .sqlite ? " DESC" : " DESC NULLS LAST" }

  /// The type name of doubles in CAST.
  package var realType: String { self == .sqlite ? "REAL" : ColumnType.doublePrecision.rawValue }

  /// The comparison operator for which NULL equals NULL.
  package var isSame: String { self == .sqlite ? "IS" : "IS NOT DISTINCT FROM" }

  /// The comparison operator for which NULL differs from all other values.
  package var isDifferent: String { self == .sqlite ? "IS NOT" : "IS DISTINCT FROM" }

  /// NULL as a primary key or an order key.
  package var missingKey: String { self == .sqlite ? "NULL" : "CAST(NULL AS bigint)" }

  /// Returns the second column of a date as a number, which is 0 if the timestamp represents the date exactly.
  package static func remainder(_ column: String, of alias: String? = nil) -> String {
    "COALESCE(\(alias.map { "\($0)." } ?? "")\(SQLName.quoted(column)), 0)"
  }

  /// Returns a bound value for a column, from the value that SQLite stores: 0 or 1 for a Boolean, bytes for a UUID,
  /// seconds since the reference date for a date. `assignments(of:to:of:)` adds the second column of a date.
  package func bound(_ value: SQLiteValue, as type: ColumnType) -> BoundSQL {
    switch (type, value) {
    case (.boolean, .integer(let number)): return number == 0 ? "FALSE" : "TRUE"
    case (.uuid, .blob(let bytes)): return "CAST(\(value: .text(Self.uuidText(bytes))) AS uuid)"
    case (.numeric, .real(let number)):
      // The decimal that the REAL represents, as in a SQLite column.
      let text = DecimalConversion.decimal(number).map(DecimalConversion.text) ?? String(number)
      return "CAST(\(value: .text(text)) AS numeric)"
    case (.numeric, .text): return "CAST(\(value: value) AS numeric)"
    case (.timestamptz, .real), (.timestamptz, .integer):
      let date = value.real.flatMap(StoredDate.init(seconds:))
      return "CAST(\(value: date.map { .text($0.text) } ?? .null) AS timestamptz)"
    case (.boolean, .null), (.uuid, .null), (.numeric, .null), (.timestamptz, .null):
      return "CAST(\(value: .null) AS \(raw: type.rawValue))"
    default: return "\(value: value)"
    }
  }

  /// Returns a UUID's bytes as hexadecimal digits, which PostgreSQL parses as a UUID.
  package static func uuidText(_ bytes: Data) -> String {
    String(SQLiteValue.blob(bytes).literal.dropFirst(2).dropLast())
  }
}

extension StoreSchema {
  /// Returns the columns of an attribute, with their values in SQL.
  ///
  /// - Parameter value: the value as SQLite stores it.
  package func assignments(
    of value: SQLiteValue, to attribute: AttributeLayout, of entity: EntityLayout
  ) -> [(column: String, value: BoundSQL)] {
    guard let column = attribute.column else { return [] }
    let type = self.column(named: column, of: entity)?.type ?? .blob
    var result = [(column: column, value: dialect.bound(value, as: type))]
    if let remainder = attribute.remainderColumn {
      let date = value.real.flatMap(StoredDate.init(seconds:))
      result.append((remainder, "\(value: date?.remainder.map { .real($0) } ?? .null)"))
    }
    return result
  }
}

/// Parts of INSERT, UPDATE and DELETE that the engines spell differently.
extension SQLDialect {
  /// The function that returns the least of its arguments.
  package var least: String {
    switch self {
    case .sqlite: "MIN"
    case .postgreSQL: "LEAST"
    }
  }

  /// The maximum number of keys per query.
  package var keysPerQuery: Int {
    switch self {
    case .sqlite: 500
    case .postgreSQL: 10_000
    }
  }

  /// Returns keys in groups, one for each query.
  package func groups(ofKeys keys: [Int64]) -> [ArraySlice<Int64>] {
    stride(from: 0, to: keys.count, by: keysPerQuery).map { keys[$0...].prefix(keysPerQuery) }
  }

  /// Returns a condition that a column equals one of some keys, which `values(ofKeys:)` binds from the first parameter
  /// on.
  ///
  /// - Parameter count: the maximum number of keys.
  package func isKey(_ column: String, count: Int) -> String {
    switch self {
    case .sqlite: "\(column) IN (\((1...max(count, 1)).map { "?\($0)" }.joined(separator: ", ")))"
    // The SQL is the same for any number of keys.
    case .postgreSQL: "\(column) = ANY (CAST(?1 AS BIGINT[]))"
    }
  }

  /// Returns the parameters of `isKey(_:count:)`.
  package func values(ofKeys keys: some Sequence<Int64>) -> [SQLiteValue] {
    switch self {
    // Parameters left unbound are NULL, and match nothing.
    case .sqlite: keys.map { .integer($0) }
    case .postgreSQL: [.text("{\(keys.map(String.init).joined(separator: ","))}")]
    }
  }
}
