// OpenCoreData
// SPDX-License-Identifier: Apache-2.0

import CoreDataSQLite
import CoreDataStoreFiles
import Foundation

/// Finds rows of a source that no entity mapping can see: their table holds several entities, and their `Z_ENT` is the number
/// of none of them.
enum StrayRows {
  /// - Parameter database: the name under which the connection has the source.
  /// - Throws: 134110 where there are such rows; a migration would lose them.
  static func check(
    _ schema: StoreSchema, _ connection: SQLiteConnection, database: String = "main", url: URL?
  ) throws {
    for table in schema.tables {
      let numbers = schema.entities.filter { $0.table == table.name }.map(\.number)
      guard numbers.count > 1 else { continue }
      let list = numbers.map(String.init).joined(separator: ", ")
      let name = "\(database).\(SQLName.quoted(table.name))"
      let sql = "SELECT Z_PK, Z_ENT FROM \(name) WHERE IFNULL(Z_ENT NOT IN (\(list)), 1) LIMIT 1"
      guard let row = try connection.rows(sql).first else { continue }
      throw MigrationErrors.failed(
        url: url,
        reason:
          "The row \(row[0].literal) of the table \(table.name) is of an entity with the number \(row[1].shortLiteral), which "
          + "the store's model does not have there; the table holds the entities with the numbers \(list).",
        suggestion: "Restore the store from a backup, or correct Z_ENT in such rows.", entity: table.rootEntity)
    }
  }
}
