// OpenCoreData
// SPDX-License-Identifier: Apache-2.0

import CoreDataSQLite
import CoreDataStoreFiles

/// Counts the rows, values and links of an open store.
package struct StoreContents {
  private let connection: SQLiteConnection
  private let schema: StoreSchema

  /// - Parameter schema: where the entities of the store's own model stand in its tables.
  package init(_ connection: SQLiteConnection, schema: StoreSchema) {
    self.connection = connection
    self.schema = schema
  }

  /// Fills in how much the store holds of each item.
  ///
  /// - Returns: the items of which the store holds anything.
  /// - Throws: `SQLiteError`.
  package func counted(_ items: [DroppedContent]) throws -> [DroppedContent] {
    try items.compactMap { item in
      var item = item
      item.count = try item.property.map { try valueCount(of: $0, in: item.entity) } ?? rowCount(of: item.entity)
      return item.count > 0 ? item : nil
    }
  }

  /// The rows of exactly one entity.
  private func rowCount(of entity: String) throws -> Int {
    guard let layout = schema[entity] else { return 0 }
    return try count("SELECT COUNT(*) FROM \(SQLName.quoted(layout.table)) o NOT INDEXED", layout)
  }

  /// The values of an attribute, or the links of a relationship, in rows of exactly one entity.
  ///
  /// A to-many relationship that is stored with its inverse has none of its own.
  private func valueCount(of property: String, in entity: String) throws -> Int {
    guard let layout = schema[entity] else { return 0 }
    let table = SQLName.quoted(layout.table)
    if let attribute = layout.attributes[property] {
      let columns = attribute.columns.map { "o.\(SQLName.quoted($0))" }
      guard let first = columns.first else { return 0 }
      let value = columns.count == 1 ? first : "COALESCE(\(columns.joined(separator: ", ")))"
      return try count("SELECT COUNT(\(value)) FROM \(table) o NOT INDEXED", layout)
    }
    guard let relationship = layout.relationships[property] else { return 0 }
    switch relationship.place {
    case .foreignKey(let key):
      return try count("SELECT COUNT(o.\(SQLName.quoted(key.column))) FROM \(table) o NOT INDEXED", layout)
    case .joinTable:
      return try count(RelationshipPairs(of: relationship, in: schema).count(ofOwnersIn: layout.table), layout)
    case .inverseForeignKey: return 0
    }
  }

  private func count(_ query: String, _ layout: EntityLayout) throws -> Int {
    let sharesTable = schema.entities.contains { $0.table == layout.table && $0.name != layout.name }
    let condition = sharesTable ? " WHERE o.Z_ENT = \(layout.number)" : ""
    return Int(try connection.scalar(query + condition)?.integer ?? 0)
  }
}
