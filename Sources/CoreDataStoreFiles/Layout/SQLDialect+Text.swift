// OpenCoreData
// SPDX-License-Identifier: Apache-2.0

import CoreDataPredicates
import CoreDataSQLite
import Foundation

/// What the engines write differently.
extension SQLDialect {
  /// The condition that always holds, or never.
  package func truth(_ holds: Bool) -> BoundSQL {
    switch self {
    case .sqlite: holds ? "1" : "0"
    case .postgreSQL: holds ? "TRUE" : "FALSE"
    }
  }

  /// Makes a condition that is never NULL: what is unknown is false.
  package func definite(_ condition: BoundSQL) -> BoundSQL {
    coalesced(condition, truth(false))
  }

  /// Returns a value, or another one where it is NULL.
  package func coalesced(_ value: BoundSQL, _ other: BoundSQL) -> BoundSQL {
    self == .sqlite ? "IFNULL(\(value), \(other))" : "COALESCE(\(value), \(other))"
  }

  /// The directions of ORDER BY, in which a missing value is less than all others.
  package var ascending: String { self == .sqlite ? "" : " NULLS FIRST" }
  package var descending: String { self == .sqlite ? " DESC" : " DESC NULLS LAST" }

  /// The type of doubles in CAST.
  package var realType: String { self == .sqlite ? "REAL" : ColumnType.doublePrecision.rawValue }

  /// The comparison for which NULL equals NULL.
  package var isSame: String { self == .sqlite ? "IS" : "IS NOT DISTINCT FROM" }

  /// The comparison for which NULL differs from all else.
  package var isDifferent: String { self == .sqlite ? "IS NOT" : "IS DISTINCT FROM" }

  /// A NULL of a primary key or an order key.
  package var missingKey: String { self == .sqlite ? "NULL" : "CAST(NULL AS bigint)" }

  /// The second column of a date as a number, which is 0 where the timestamp is the whole date.
  package static func remainder(_ column: String, of alias: String? = nil) -> String {
    "COALESCE(\(alias.map { "\($0)." } ?? "")\(SQLName.quoted(column)), 0)"
  }

  /// The value of a column, from the value that SQLite stores: 0 and 1 for a Boolean, bytes for a UUID, seconds since the
  /// reference date for a date, whose second column `assignments(to:of:)` adds.
  package func bound(_ value: SQLiteValue, as type: ColumnType) -> BoundSQL {
    switch (type, value) {
    case (.boolean, .integer(let number)): return number == 0 ? "FALSE" : "TRUE"
    case (.uuid, .blob(let bytes)): return "CAST(\(value: .text(Self.uuidText(bytes))) AS uuid)"
    case (.numeric, .real(let number)):
      // What the real stands for, as for a column of SQLite.
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

  /// Returns a UUID's bytes in hexadecimal digits, from which PostgreSQL makes the UUID.
  package static func uuidText(_ bytes: Data) -> String {
    String(SQLiteValue.blob(bytes).literal.dropFirst(2).dropLast())
  }
}

extension StoreSchema {
  /// The columns that get an attribute's value, with their values in SQL.
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

/// What statements that change rows write differently.
extension SQLDialect {
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
