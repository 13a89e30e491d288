// OpenCoreData
// SPDX-License-Identifier: Apache-2.0

import CoreDataSQLite
import CoreDataStoreFiles

/// The keys of to-one relationships in the rows of one entity, read and written without the rest of their rows.
struct KeyColumns {
  private let entity: EntityLayout
  private let columns: [Column]
  private let schema: StoreSchema
  private let reading: String
  private let writing: String

  private struct Column {
    let key: ForeignKeyLayout
    /// The number of the relationship's own entity, for rows that do not say.
    let destination: Int
  }

  /// - Returns: nil when one of the relationships is no key in the row.
  init?(entity number: Int, relationships names: [String], schema: StoreSchema) {
    guard let entity = schema.entity(number: number), !names.isEmpty else { return nil }
    var columns: [Column] = []
    for name in names {
      guard let relationship = entity.relationships[name], !relationship.isToMany,
        case .foreignKey(let key) = relationship.place, let destination = schema[relationship.destinationEntity]?.number
      else { return nil }
      columns.append(Column(key: key, destination: destination))
    }
    self.entity = entity
    self.columns = columns
    self.schema = schema
    let all = columns.flatMap { [$0.key.column] + ($0.key.entityColumn.map { [$0] } ?? []) }.map(SQLName.quoted)
    let table = SQLName.quoted(entity.table)
    let isShared = (schema.entity(number: entity.rootNumber)?.numbers.count ?? 1) > 1
    reading =
      "SELECT Z_PK, \(all.joined(separator: ", ")) FROM \(table) WHERE Z_PK BETWEEN ?1 AND ?2"
      + (isShared ? " AND Z_ENT = \(number)" : "") + " ORDER BY Z_PK LIMIT ?3"
    let values = all.enumerated().map { "\($1) = ?\($0 + 2)" }.joined(separator: ", ")
    let difference = all.enumerated().map { "\($1) IS NOT ?\($0 + 2)" }.joined(separator: " OR ")
    writing =
      "UPDATE \(table) SET \(values), Z_OPT = \(RowVersion.following) WHERE Z_PK = ?1 AND (\(difference))"
  }

  /// Whether none of the keys has a place in an order beside it.
  var areUnordered: Bool { columns.allSatisfy { $0.key.orderColumn == nil } }

  /// Reads keys, in the order of their rows.
  ///
  /// - Parameter limit: how many rows are read at most; negative for all.
  func read(
    _ range: ClosedRange<Int64>, limit: Int, _ connection: SQLiteConnection
  ) throws -> (rows: [Int64], keys: [RowKey?]) {
    try connection.cached(reading) { statement in
      try statement.bind([.integer(range.lowerBound), .integer(range.upperBound), .integer(Int64(limit))])
      var (rows, keys): ([Int64], [RowKey?]) = ([], [])
      while try statement.step() {
        rows.append(statement.int64(at: 0))
        var position = 1
        for column in columns {
          keys.append(key(column, at: position, of: statement))
          position += column.key.entityColumn == nil ? 1 : 2
        }
      }
      return (rows, keys)
    }
  }

  private func key(_ column: Column, at position: Int, of statement: SQLiteStatement) -> RowKey? {
    if statement.isNull(at: position) { return nil }
    // A row older than the destination's sub-entities has no number; then the relationship's own entity is used.
    let stored = column.key.entityColumn == nil ? 0 : Int(statement.int64(at: position + 1))
    let entity = schema.entity(number: stored) == nil ? column.destination : stored
    return RowKey(entity: Int32(entity), number: statement.int64(at: position))
  }

  /// Writes the keys of rows, as many for each row as there are relationships, where they are not there already.
  func write(_ rows: [Int64], _ keys: [RowKey?], _ connection: SQLiteConnection) throws {
    try connection.cached(writing) { statement in
      for (index, row) in rows.enumerated() {
        try statement.bind(row, at: 1)
        var parameter = 2
        for (offset, column) in columns.enumerated() {
          let key = keys[index * columns.count + offset]
          try bind(key?.number, to: statement, at: parameter)
          parameter += 1
          guard column.key.entityColumn != nil else { continue }
          try bind(key.map { Int64($0.entity) }, to: statement, at: parameter)
          parameter += 1
        }
        while try statement.step() {}
        statement.reset()
      }
    }
  }

  private func bind(_ value: Int64?, to statement: SQLiteStatement, at parameter: Int) throws {
    if let value { try statement.bind(value, at: parameter) } else { try statement.bindNull(at: parameter) }
  }
}
