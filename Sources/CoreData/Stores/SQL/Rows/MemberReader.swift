// OpenCoreData
// SPDX-License-Identifier: Apache-2.0

import CoreDataSQLite
import CoreDataStoreFiles

/// Reads the members of to-many relationships.
struct MemberReader {
  let connection: SQLiteConnection
  let entities: StoredEntities

  /// The members, in order where the relationship is ordered, else by primary key.
  func members(of relationship: RelationshipLayout, primaryKey: Int64) throws -> [NSManagedObjectID] {
    guard let destination = entities.schema[relationship.destinationEntity] else { return [] }
    var ids: [NSManagedObjectID] = []
    try connection.cached(statement(for: relationship, destination: destination)) { statement in
      for index in 1...statement.parameterCount { try statement.bind(primaryKey, at: index) }
      while try statement.step() {
        let (key, number) = (statement.int64(at: 0), statement.int64(at: 1))
        guard let entity = entities.number(ofRow: number, like: destination),
          let id = entities.id(entity: entity, primaryKey: key)
        else {
          throw RowProblem(
            kind: .unknownEntity(number: number), table: destination.table, primaryKey: key, property: "")
        }
        ids.append(id)
      }
    }
    return ids
  }

  private func statement(for relationship: RelationshipLayout, destination: EntityLayout) -> String {
    switch relationship.place {
    case .foreignKey(let key):
      return "SELECT d.Z_PK, d.Z_ENT FROM \(SQLName.quoted(destination.table)) d "
        + "WHERE d.\(SQLName.quoted(key.column)) = ? ORDER BY d.Z_PK"
    case .inverseForeignKey(let table, let key):
      let order = relationship.isOrdered ? key.orderColumn.map { "d.\(SQLName.quoted($0)), " } ?? "" : ""
      return "SELECT d.Z_PK, d.Z_ENT FROM \(SQLName.quoted(table)) d "
        + "WHERE d.\(SQLName.quoted(key.column)) = ? ORDER BY \(order)d.Z_PK"
    case .joinTable(let end):
      let order = end.orderColumn.map { "j.\(SQLName.quoted($0)), " } ?? ""
      let (source, target) = (SQLName.quoted(end.sourceColumn), SQLName.quoted(end.destinationColumn))
      let (table, join) = (SQLName.quoted(destination.table), SQLName.quoted(end.table))
      guard end.isReflexive else {
        return "SELECT d.Z_PK, d.Z_ENT FROM \(join) j JOIN \(table) d ON d.Z_PK = j.\(target) "
          + "WHERE j.\(source) = ? ORDER BY \(order)d.Z_PK"
      }
      // A relationship that is its own inverse stands in the table once, in either direction.
      return "SELECT d.Z_PK, d.Z_ENT FROM \(table) d WHERE d.Z_PK IN "
        + "(SELECT \(target) FROM \(join) WHERE \(source) = ? UNION SELECT \(source) FROM \(join) WHERE \(target) = ?) "
        + "ORDER BY d.Z_PK"
    }
  }
}
