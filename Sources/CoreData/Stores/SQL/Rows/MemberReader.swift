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
    let members = RelationshipPairs(of: relationship, in: entities.schema).members(of: destination)
    try connection.cached(members) { statement in
      try statement.bind(primaryKey, at: 1)
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
}
