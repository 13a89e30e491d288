// OpenCoreData
// SPDX-License-Identifier: Apache-2.0

import CoreDataSQLite
import CoreDataStoreFiles

/// Reads the members of to-many relationships.
package struct MemberReader {
  private let database: any SQLDatabase
  private let entities: StoredEntities

  package init(database: any SQLDatabase, entities: StoredEntities) {
    (self.database, self.entities) = (database, entities)
  }

  /// Returns the members, in order if the relationship is ordered, otherwise by primary key.
  package func members(of relationship: RelationshipLayout, primaryKey: Int64) throws -> [NSManagedObjectID] {
    guard let destination = entities.schema[relationship.destinationEntity] else { return [] }
    var ids: [NSManagedObjectID] = []
    let members = RelationshipPairs(of: relationship, in: entities.schema).members(of: destination)
    try database.forEachRow(members, [.integer(primaryKey)]) { row in
      ids.append(try member(row.int64(at: 0), number: row.int64(at: 1), destination))
    }
    return ids
  }

  /// Returns the members of several owners, by owner, with one query for many of them. Owners without members are left
  /// out.
  package func members(of relationship: RelationshipLayout, primaryKeys: [Int64]) throws -> [Int64: [NSManagedObjectID]]
  {
    guard let destination = entities.schema[relationship.destinationEntity] else { return [:] }
    let pairs = RelationshipPairs(of: relationship, in: entities.schema)
    guard let query = pairs.members(of: destination, ownerCount: database.dialect.keysPerQuery) else {
      let all = try primaryKeys.map { ($0, try members(of: relationship, primaryKey: $0)) }
      return Dictionary(all.filter { !$0.1.isEmpty }) { first, _ in first }
    }
    var ids: [Int64: [NSManagedObjectID]] = [:]
    for group in database.dialect.groups(ofKeys: primaryKeys) {
      try database.forEachRow(query, database.dialect.values(ofKeys: group)) { row in
        let id = try member(row.int64(at: 1), number: row.int64(at: 2), destination)
        ids[row.int64(at: 0), default: []].append(id)
      }
    }
    return ids
  }

  private func member(_ key: Int64, number: Int64, _ destination: EntityLayout) throws -> NSManagedObjectID {
    guard let entity = entities.number(ofRow: number, like: destination),
      let id = entities.id(entity: entity, primaryKey: key)
    else {
      throw RowProblem(kind: .unknownEntity(number: number), table: destination.table, primaryKey: key, property: "")
    }
    return id
  }
}
