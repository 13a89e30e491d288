// OpenCoreData
// SPDX-License-Identifier: Apache-2.0

import CoreDataSQLite
import Foundation

/// A transaction in history.
package struct HistoryTransaction: Sendable {
  package let number: Int64
  /// Seconds since the reference date.
  package let time: Double
  package let origin: HistoryOrigin
}

/// A change in history.
package struct HistoryChange: Sendable {
  package let number: Int64
  package let kind: HistoryChangeKind
  package let entity: Int
  package let key: Int64
  /// The updated properties, for `HistoryBits`.
  package let columns: Data?
  /// The values kept of a deleted row.
  package let tombstones: [SQLiteValue]
}

/// Reads and removes history.
package struct HistoryReader {
  /// A part of history.
  package enum Range: Sendable {
    case all
    /// The transactions with numbers greater than this one.
    case after(Int64)
    /// The transactions after a time, in seconds since the reference date.
    case since(Double)
    /// The last transactions with numbers less than this one, at most so many, the latest first.
    case before(Int64, count: Int)
  }

  private let database: any SQLDatabase
  private let hasStrings: Bool
  private let columns: Set<String>
  private let tombstones: [String]

  /// - Parameter database: a store with history tables, which may lack columns if they were made by another version.
  package init(_ database: any SQLDatabase) throws {
    self.database = database
    let catalog = try database.catalog(
      of: [HistoryTables.string, HistoryTables.transaction, HistoryTables.change].map(\.table))
    hasStrings = catalog.table(named: HistoryTables.string.table) != nil
    columns = Set(
      catalog.table(named: HistoryTables.transaction.table)?.columns.map { $0.name.uppercased() } ?? [])
    let change = catalog.table(named: HistoryTables.change.table)
    tombstones = (0..<HistoryTables.maxTombstoneCount).lazy.map(HistoryTables.tombstone)
      .prefix { change?.spelling(of: $0) != nil }.map { $0 }
  }

  /// Returns the number of the last transaction, even if it has been removed; 0 for none.
  package func lastNumber() throws -> Int64 {
    try HistoryWriter.greatest(HistoryTables.transaction, database)
  }

  /// Whether transactions after a number have been removed, or no transaction has had the number yet.
  package func isGap(after number: Int64) throws -> Bool {
    let last = try lastNumber()
    if number > last { return true }
    guard let first = try database.scalar("SELECT MIN(Z_PK) FROM ATRANSACTION")?.integer else { return number < last }
    // A damaged store may contain any number, including the least one.
    return number < first && number + 1 != first
  }

  /// Calls a closure with the transactions of a range, in the order of their numbers unless the range says otherwise.
  package func transactions(_ range: Range, _ body: (HistoryTransaction) throws -> Void) throws {
    let strings = [HistoryTables.author, HistoryTables.bundle, HistoryTables.contextName, HistoryTables.process]
    let list = strings.map(string).joined(separator: ", ")
    let condition = Self.condition(range)
    try database.forEachRow(
      "SELECT t.Z_PK, t.ZTIMESTAMP, \(list) FROM ATRANSACTION t\(condition.sql)", condition.values
    ) { row in
      try body(
        HistoryTransaction(
          number: row.int64(at: 0), time: row.double(at: 1),
          origin: HistoryOrigin(
            author: row.text(at: 2), contextName: row.text(at: 4), bundle: row.text(at: 3), process: row.text(at: 5))))
    }
  }

  /// Returns SQL for a string of a transaction.
  private func string(_ string: HistoryTables.StringColumns) -> String {
    let inline = columns.contains(string.inline) ? "t.\(string.inline)" : "NULL"
    guard hasStrings, columns.contains(string.reference) else { return inline }
    return "COALESCE((SELECT s.ZNAME FROM ATRANSACTIONSTRING s WHERE s.Z_PK = t.\(string.reference)), \(inline))"
  }

  private static func condition(_ range: Range) -> BoundSQL {
    switch range {
    case .all: " ORDER BY t.Z_PK"
    case .after(let number): " WHERE t.Z_PK > \(value: .integer(number)) ORDER BY t.Z_PK"
    case .since(let time): " WHERE t.ZTIMESTAMP > \(value: .real(time)) ORDER BY t.Z_PK"
    case .before(let number, let count):
      " WHERE t.Z_PK < \(value: .integer(number)) ORDER BY t.Z_PK DESC LIMIT \(value: .integer(Int64(count)))"
    }
  }

  /// Returns the number of a transaction's changes.
  package func changeCount(of transaction: Int64) throws -> Int {
    let sql = "SELECT COUNT(*) FROM ACHANGE WHERE ZTRANSACTIONID = ?"
    return Int(try database.scalar(sql, [.integer(transaction)])?.integer ?? 0)
  }

  /// Returns the changes of a transaction, without those of an unknown kind.
  ///
  /// - Parameter limit: the maximum number of changes, beginning with the first.
  package func changes(of transaction: Int64, limit: Int = .max) throws -> [HistoryChange] {
    let values = tombstones.map { ", \($0)" }.joined()
    let sql =
      "SELECT Z_PK, ZCHANGETYPE, ZENTITY, ZENTITYPK, ZCOLUMNS\(values) FROM ACHANGE WHERE ZTRANSACTIONID = ? "
      + "ORDER BY Z_PK LIMIT ?"
    let dialect = database.dialect
    var found: [HistoryChange] = []
    try database.forEachRow(sql, [.integer(transaction), .integer(Int64(limit))]) { row in
      guard let kind = HistoryChangeKind(rawValue: row.int64(at: 1)), let entity = Int(exactly: row.int64(at: 2))
      else { return }
      found.append(
        HistoryChange(
          number: row.int64(at: 0), kind: kind, entity: entity, key: row.int64(at: 3), columns: row.blob(at: 4),
          tombstones: tombstones.indices.map { HistoryTombstone.value(of: row.value(at: 5 + $0), dialect) }))
    }
    return found
  }

  /// Removes the transactions before a number, with their changes.
  ///
  /// - Returns: the number of transactions removed.
  package func remove(beforeNumber number: Int64) throws -> Int {
    try remove("Z_PK < \(value: .integer(number))")
  }

  /// As `remove(beforeNumber:)`, with seconds since the reference date.
  package func remove(beforeTime time: Double) throws -> Int {
    try remove("ZTIMESTAMP < \(value: .real(time))")
  }

  private func remove(_ condition: BoundSQL) throws -> Int {
    try database.transaction {
      try HistoryTables.lock(database)
      // The numbers of removed transactions must not be reused: a token would then stand for a different transaction.
      for entity in [HistoryTables.change, HistoryTables.transaction] {
        let greatest = try HistoryWriter.greatest(entity, database)
        if greatest > 0 { try HistoryWriter.setGreatest(entity, greatest, database) }
      }
      try database.run(
        "DELETE FROM ACHANGE WHERE ZTRANSACTIONID IN (SELECT Z_PK FROM ATRANSACTION WHERE \(condition.sql))",
        condition.values)
      return try database.change("DELETE FROM ATRANSACTION WHERE \(condition.sql)", condition.values)
    }
  }
}
