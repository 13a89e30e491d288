// OpenCoreData
// SPDX-License-Identifier: Apache-2.0

import CoreData
import CoreDataModelFiles
import CoreDataPostgreSQLClient
import CoreDataSQLite
import CoreDataStoreFiles

/// Finds columns that reject rows without a value although the model allows them.
///
/// The opposite is no problem: stores of earlier versions have no such constraints.
struct NotNullInspection {
  let schema: SchemaInDatabase
  let document: ModelDocument
  let layout: StoreSchema

  func problems(of table: TableLayout) throws -> [ServerStoreProblem] {
    let rows = try schema.connection.query(
      "SELECT a.attname::text FROM pg_class c JOIN pg_namespace n ON n.oid = c.relnamespace "
        + "JOIN pg_attribute a ON a.attrelid = c.oid AND a.attnum > 0 AND NOT a.attisdropped AND a.attnotnull "
        + "WHERE n.nspname = $1 AND c.relname = $2", [.text(schema.address.schema), .text(table.name)])
    let found = Set((0..<rows.count).map { rows.string($0, 0) })
    let required = requiredColumns(of: table)
    return table.columns.compactMap { column in
      switch column.role {
      case .primaryKey, .entityNumber, .version: return nil
      case .attribute, .remainder, .foreignKey, .foreignEntity, .ownerKey, .order: break
      }
      guard found.contains(column.name), !required.contains(column.name) else { return nil }
      return ServerStoreProblem(
        .constraint, entity: table.rootEntity,
        "The column \(table.name).\(column.name) is NOT NULL, but the model allows objects without a value in it.",
        cure: "Execute: ALTER TABLE \(SQLName.quoted(table.name)) ALTER COLUMN \(SQLName.quoted(column.name)) "
          + "DROP NOT NULL")
    }
  }

  /// Returns the columns of the required attributes that all entities of a table have.
  private func requiredColumns(of table: TableLayout) -> Set<String> {
    let entity = document.entities.first { $0.name == table.rootEntity }
    let attributes = (entity?.attributes ?? []).filter { !$0.isOptional }
    return Set(attributes.compactMap { layout[table.rootEntity]?.attributes[$0.name]?.column })
  }
}
