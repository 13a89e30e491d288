// OpenCoreData
// SPDX-License-Identifier: Apache-2.0

import CoreDataSQLite
import CoreDataStoreFiles
import Foundation

/// What a migration object by object asks of its two stores, beside what contexts ask.
extension SQLiteStore {
  /// The number of an entity in this store; nil when the store does not hold it.
  func number(of entity: NSEntityDescription) -> Int? {
    opened?.entities.number(of: entity)
  }

  /// The number of the entity that shares its table with an entity's sub-entities.
  func rootNumber(ofEntity number: Int) -> Int? {
    opened?.entities.schema.entity(number: number)?.rootNumber
  }

  /// The description of an entity by its number.
  func entity(number: Int) -> NSEntityDescription? { opened?.entities.description(number: number) }

  /// The identifier of a row; nil when the number is that of no entity.
  func identifier(entity number: Int, primaryKey: Int64) -> NSManagedObjectID? {
    opened?.entities.id(entity: number, primaryKey: primaryKey)
  }

  /// What the row of an entity is known by; nil when the number is that of no entity.
  func objectKey(entity number: Int, primaryKey: Int64) -> ObjectKey? {
    opened?.entities.key(entity: number, primaryKey: primaryKey)
  }

  /// Whether there is a row of an entity with that primary key.
  func hasRow(entity number: Int, primaryKey: Int64) throws -> Bool {
    try asking { state in
      guard let layout = state.entities.schema.entity(number: number) else { return false }
      let sql = "SELECT Z_ENT FROM \(SQLName.quoted(layout.table)) WHERE Z_PK = ?"
      guard let stored = try state.connection.scalar(sql, [.integer(primaryKey)])?.integer else { return false }
      return state.entities.number(ofRow: stored, like: layout) == number
    }
  }

  /// The least and the greatest primary key of the table that an entity stands in; nil for an empty table.
  func keyRange(ofEntity number: Int) throws -> ClosedRange<Int64>? {
    try asking { state in
      guard let layout = state.entities.schema.entity(number: number) else { return nil }
      let table = SQLName.quoted(layout.table)
      // Two questions: SQLite answers each with a look at one end of the table, but both at once by reading all of it.
      guard let least = try state.connection.scalar("SELECT MIN(Z_PK) FROM \(table)")?.integer,
        let greatest = try state.connection.scalar("SELECT MAX(Z_PK) FROM \(table)")?.integer
      else { return nil }
      return least...greatest
    }
  }

  /// The greatest primary key that has been given out in a root entity's table.
  func greatestKey(ofRoot number: Int) throws -> Int64 {
    try asking { state in
      let sql = "SELECT Z_MAX FROM Z_PRIMARYKEY WHERE Z_ENT = ?"
      let recorded = try state.connection.scalar(sql, [.integer(Int64(number))])?.integer ?? 0
      return max(recorded, try keyRange(ofEntity: number)?.upperBound ?? 0, 0)
    }
  }

  /// Has new primary keys of a root entity begin after one.
  func reserveKeys(ofRoot number: Int, through key: Int64) throws {
    try asking { state in
      try state.connection.run(
        "UPDATE Z_PRIMARYKEY SET Z_MAX = ?1 WHERE Z_ENT = ?2 AND IFNULL(Z_MAX, 0) < ?1",
        [.integer(key), .integer(Int64(number))])
    }
  }

  /// The primary keys of the rows of one entity, without its sub-entities, among some; ascending.
  func primaryKeys(ofEntity number: Int, in keys: ClosedRange<Int64>, limit: Int) throws -> [Int64] {
    try asking { state in
      guard let layout = state.entities.schema.entity(number: number) else { return [] }
      let hierarchy = state.entities.schema.entity(number: layout.rootNumber)?.numbers ?? []
      let test = hierarchy.count == 1 ? "" : " AND Z_ENT = \(number)"
      let sql =
        "SELECT Z_PK FROM \(SQLName.quoted(layout.table)) WHERE Z_PK BETWEEN ? AND ?\(test) ORDER BY Z_PK LIMIT ?"
      return try state.connection.cached(sql) { statement in
        try statement.bind([.integer(keys.lowerBound), .integer(keys.upperBound), .integer(Int64(limit))])
        var found: [Int64] = []
        while try statement.step() { found.append(statement.int64(at: 0)) }
        return found
      }
    }
  }

  /// Runs a body over what the open store works with, with the store's errors as the interface has them.
  func asking<Result>(_ body: (Opened) throws -> Result) throws -> Result {
    let state = try state()
    return try SQLiteStoreErrors.translating(url: url, isOpening: false) { try body(state) }
  }
}
