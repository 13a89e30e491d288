// OpenCoreData
// SPDX-License-Identifier: Apache-2.0

import CoreDataSQLite

/// Duplicate values under a uniqueness constraint.
package struct DuplicateValues {
  private static let shownCount = 5

  package let entity: String
  /// The constraint's properties, in its order.
  package let properties: [String]
  /// Some of the values with the number of rows for each, and the total: `'a' (3 rows); 'c' (2 rows)`.
  package let summary: String
  /// The number of rows that share their values with others.
  package let rowCount: Int

  /// Returns the first uniqueness constraint of a schema that rows of the database violate; nil if there is none.
  package static func first(in schema: StoreSchema, on connection: any SQLDatabase) throws -> DuplicateValues? {
    for index in schema.indexes {
      if let found = try DuplicateValues(violating: index, of: schema, on: connection) {
        return found
      }
    }
    return nil
  }

  /// Returns nil if the index does not belong to a constraint, or has no duplicates.
  ///
  /// - Parameter usesIndexes: whether the indexes of the file agree with their tables.
  package init?(
    violating index: IndexLayout, of schema: StoreSchema, on connection: any SQLDatabase, usesIndexes: Bool = true
  ) throws {
    guard case .uniqueness(let entity) = index.purpose else { return nil }
    let columns = index.elements.map { SQLName.quoted($0.column) }
    let list = columns.joined(separator: ", ")
    // NULL is never a duplicate.
    let present = columns.map { "\($0) IS NOT NULL" }.joined(separator: " AND ")
    let table = SQLName.quoted(index.table) + (usesIndexes ? "" : " NOT INDEXED")
    let groups =
      "SELECT \(list), COUNT(*) AS N FROM \(table) WHERE \(present) "
      + "GROUP BY \(list) HAVING COUNT(*) > 1"
    let found = try connection.rows("\(groups) ORDER BY \(list) LIMIT \(Self.shownCount + 1)")
    guard !found.isEmpty else { return nil }
    var parts = found.prefix(Self.shownCount).map { row in
      row.values.dropLast().map(\.literal).joined(separator: ", ") + " (\(row.values.last?.literal ?? "") rows)"
    }
    let total = try connection.rows("SELECT COUNT(*), SUM(N) FROM (\(groups)) AS g")[0]
    if found.count > Self.shownCount {
      parts.append("\(total[0].literal) values in \(total[1].literal) rows in all")
    }
    rowCount = Int(total[1].integer ?? 0)
    self.entity = entity
    properties = index.elements.map { schema[entity]?.property(inColumn: $0.column) ?? $0.column }
    summary = parts.joined(separator: "; ")
  }
}

extension EntityLayout {
  /// Returns the attribute or to-one relationship stored in a column.
  fileprivate func property(inColumn column: String) -> String? {
    if let attribute = attributes.values.first(where: { $0.column == column }) { return attribute.name }
    return relationships.values.first {
      if case .foreignKey(let key) = $0.storage { return key.column == column }
      return false
    }?.name
  }
}
