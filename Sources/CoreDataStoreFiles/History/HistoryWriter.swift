// OpenCoreData
// SPDX-License-Identifier: Apache-2.0

import CoreDataSQLite
import Foundation

/// The origin of a change, as recorded in history.
package struct HistoryOrigin: Hashable, Sendable {
  package var author: String?
  package var contextName: String?
  package var bundle: String?
  package var process: String?

  package init(author: String? = nil, contextName: String? = nil, bundle: String? = nil, process: String? = nil) {
    self.author = author
    self.contextName = contextName
    self.bundle = bundle
    self.process = process
  }
}

/// The kind of a change in history; the raw value is stored.
package enum HistoryChangeKind: Int64, Sendable {
  case insert = 0
  case update = 1
  case delete = 2
}

/// Records one transaction in the tables of history, within the database transaction that makes the changes.
///
/// Transaction numbers grow in the order of the commits, as readers with tokens need it: from its first change on, a
/// transaction blocks others from recording until it ends.
///
/// A transaction without changes leaves no trace, unless `recordTransaction()` is called.
package final class HistoryWriter {
  private let database: any SQLDatabase
  private let origin: HistoryOrigin
  /// The number and time of a copied transaction; nil for a new one.
  private let given: (number: Int64, time: Double)?
  /// The number of the transaction; nil before the first change.
  package private(set) var transaction: Int64?
  private var lastChange: Int64 = 0

  package init(_ database: any SQLDatabase, origin: HistoryOrigin) {
    self.database = database
    self.origin = origin
    given = nil
  }

  /// Copies a transaction of another store, whose number must be greater than all numbers in this one.
  package init(_ database: any SQLDatabase, copying transaction: HistoryTransaction) {
    self.database = database
    origin = transaction.origin
    given = (transaction.number, transaction.time)
  }

  /// Copies a change, including its number.
  ///
  /// - Parameter entity: the number of the entity in this store.
  package func copy(_ change: HistoryChange, entity: Int) throws {
    let transaction = try begun()
    lastChange = max(lastChange, change.number)
    let kept = change.tombstones.indices
    let names = kept.map { ", \(HistoryTables.tombstone($0))" }.joined()
    let marks = kept.map { _ in ", ?" }.joined()
    try database.run(
      "INSERT INTO ACHANGE (Z_PK, Z_ENT, ZCHANGETYPE, ZENTITY, ZENTITYPK, ZTRANSACTIONID, ZCOLUMNS\(names)) "
        + "VALUES (?, \(HistoryTables.change.number), ?, ?, ?, ?, ?\(marks))",
      [
        .integer(change.number), .integer(change.kind.rawValue), .integer(Int64(entity)), .integer(change.key),
        .integer(transaction), change.columns.map { .blob($0) } ?? .null,
      ] + change.tombstones.map { HistoryTombstone.stored($0, database.dialect) })
  }

  /// Records the change of one row.
  ///
  /// - Parameters:
  ///   - columns: the updated properties, as encoded by `HistoryBits`.
  package func record(_ kind: HistoryChangeKind, entity: Int, key: Int64, columns: Data? = nil) throws {
    let transaction = try begun()
    lastChange = try next(after: lastChange)
    try database.run(
      "INSERT INTO ACHANGE (Z_PK, Z_ENT, ZCHANGETYPE, ZENTITY, ZENTITYPK, ZTRANSACTIONID, ZCOLUMNS) "
        + "VALUES (?, \(HistoryTables.change.number), ?, ?, ?, ?, ?)",
      [
        .integer(lastChange), .integer(kind.rawValue), .integer(Int64(entity)), .integer(key), .integer(transaction),
        columns.map { .blob($0) } ?? .null,
      ])
  }

  /// Records the same change of several rows of one entity.
  package func record(_ kind: HistoryChangeKind, entity: Int, keys: [Int64], columns: Data? = nil) throws {
    guard database.dialect == .postgreSQL, keys.count > 1 else {
      for key in keys { try record(kind, entity: entity, key: key, columns: columns) }
      return
    }
    let transaction = try begun()
    let last = try next(after: lastChange, count: keys.count)
    try database.run(
      "INSERT INTO ACHANGE (Z_PK, Z_ENT, ZCHANGETYPE, ZENTITY, ZENTITYPK, ZTRANSACTIONID, ZCOLUMNS) "
        + "SELECT ?1 + k.PLACE, \(HistoryTables.change.number), ?2, ?3, k.Z_PK, ?4, CAST(?5 AS BYTEA) "
        + "FROM unnest(CAST(?6 AS BIGINT[])) WITH ORDINALITY k(Z_PK, PLACE)",
      [
        .integer(lastChange), .integer(kind.rawValue), .integer(Int64(entity)), .integer(transaction),
        columns.map { .blob($0) } ?? .null,
      ] + database.dialect.values(ofKeys: keys))
    lastChange = last
  }

  /// Records a change for each row of a query.
  ///
  /// - Parameters:
  ///   - rows: FROM and WHERE clauses; `Z_PK` is the key of each row.
  ///   - values: for a deletion, the values to keep of each row, as SQL.
  package func record(
    _ kind: HistoryChangeKind, entity: Int, rows: BoundSQL, columns: Data? = nil, keeping values: [String] = []
  ) throws {
    let names = values.indices.map { ", \(HistoryTables.tombstone($0))" }.joined()
    let kept = values.map { ", \($0)" }.joined()
    // If the query has no rows, no empty transaction may be recorded.
    guard try database.scalar("SELECT 1 \(rows.sql) LIMIT 1", rows.values) != nil else { return }
    let transaction = try begun()
    let blob = database.dialect == .sqlite ? "BLOB" : "BYTEA"
    let changes: BoundSQL = """
      INSERT INTO ACHANGE (Z_PK, Z_ENT, ZCHANGETYPE, ZENTITY, ZENTITYPK, ZTRANSACTIONID, ZCOLUMNS\(raw: names)) \
      SELECT \(value: .integer(lastChange)) + ROW_NUMBER() OVER (ORDER BY Z_PK), \
      \(raw: "\(HistoryTables.change.number)"), \(value: .integer(kind.rawValue)), \(value: .integer(Int64(entity))), \
      Z_PK, \(value: .integer(transaction)), CAST(\(value: columns.map { .blob($0) } ?? .null) AS \(raw: blob))\(raw: kept) \
      \(rows)
      """
    lastChange = try next(after: lastChange, count: database.change(changes.sql, changes.values))
  }

  /// Records the transaction even if it has no changes.
  package func recordTransaction() throws { _ = try begun() }

  /// Records the greatest transaction and change numbers. Must be called after the last change.
  package func finish() throws {
    guard let transaction else { return }
    try Self.setGreatest(HistoryTables.change, lastChange, database)
    try Self.setGreatest(HistoryTables.transaction, transaction, database)
  }

  /// Returns the number of the transaction. Inserts its row on the first call.
  private func begun() throws -> Int64 {
    if let transaction { return transaction }
    if database.dialect == .postgreSQL { try checkStrings() }
    try HistoryTables.lock(database)
    lastChange = try Self.greatest(HistoryTables.change, database)
    let number = try given?.number ?? next(after: Self.greatest(HistoryTables.transaction, database))
    let strings = [
      (HistoryTables.author, origin.author), (HistoryTables.bundle, origin.bundle),
      (HistoryTables.contextName, origin.contextName), (HistoryTables.process, origin.process),
    ]
    let references = try strings.map { try $0.1.map { SQLiteValue.integer(try reference(to: $0)) } ?? .null }
    let names = strings.map(\.0.reference).joined(separator: ", ")
    try database.run(
      "INSERT INTO ATRANSACTION (Z_PK, Z_ENT, \(names), ZTIMESTAMP) "
        + "VALUES (?, \(HistoryTables.transaction.number), ?, ?, ?, ?, ?)",
      [.integer(number)] + references + [.real(given?.time ?? Date().timeIntervalSinceReferenceDate)])
    transaction = number
    return number
  }

  /// - Throws: `HistoryProblem` for a string that PostgreSQL cannot store.
  private func checkStrings() throws {
    let strings = [
      ("transaction author", origin.author), ("context name", origin.contextName),
      ("bundle identifier", origin.bundle), ("process name", origin.process),
    ]
    for (name, string) in strings where string?.utf8.contains(0) == true {
      throw HistoryProblem.zeroCharacter(name: name)
    }
  }

  private func next(after number: Int64, count: Int = 1) throws -> Int64 {
    let (next, overflow) = number.addingReportingOverflow(Int64(count))
    guard !overflow else { throw HistoryProblem.numbersExhausted }
    return next
  }

  /// Returns the key of a string, after inserting it if it is new.
  private func reference(to string: String) throws -> Int64 {
    let found = try database.scalar("SELECT Z_PK FROM ATRANSACTIONSTRING WHERE ZNAME = ?", [.text(string)])?.integer
    if let found { return found }
    let key = try next(after: Self.greatest(HistoryTables.string, database))
    try database.run(
      "INSERT INTO ATRANSACTIONSTRING (Z_PK, Z_ENT, ZNAME) VALUES (?, \(HistoryTables.string.number), ?)",
      [.integer(key), .text(string)])
    try Self.setGreatest(HistoryTables.string, key, database)
    return key
  }

  /// Records the greatest number that any row of a history table has had.
  package static func setGreatest(
    _ entity: HistoryTables.Entity, _ key: Int64, _ database: any SQLDatabase
  ) throws {
    try database.run(
      "INSERT INTO Z_PRIMARYKEY (Z_ENT, Z_NAME, Z_SUPER, Z_MAX) VALUES (?1, ?2, 0, ?3) "
        + "ON CONFLICT (Z_ENT) DO UPDATE SET Z_MAX = ?3 WHERE Z_PRIMARYKEY.Z_MAX \(database.dialect.isDifferent) ?3",
      [.integer(entity.number), .text(entity.name), .integer(key)])
  }

  /// Prepares a store with empty history for changes that are not recorded. Existing tokens expire, so that their
  /// owners read the store again instead of missing the changes.
  ///
  /// - Returns: false if history has been recorded meanwhile, whose readers would miss changes.
  package static func beginUnrecorded(_ database: any SQLDatabase) throws -> Bool {
    guard try HistoryTables.areEmpty(in: database) else { return false }
    let last = try greatest(HistoryTables.transaction, database)
    guard last < .max else { throw HistoryProblem.numbersExhausted }
    try setGreatest(HistoryTables.transaction, last + 1, database)
    return true
  }

  /// Returns the greatest number that any row of a history table has had.
  package static func greatest(_ entity: HistoryTables.Entity, _ database: any SQLDatabase) throws -> Int64 {
    let kept = try database.scalar("SELECT Z_MAX FROM Z_PRIMARYKEY WHERE Z_ENT = ?", [.integer(entity.number)])
    let present = try database.scalar("SELECT MAX(Z_PK) FROM \(entity.table)")?.integer ?? 0
    return max(kept?.integer ?? 0, present, 0)
  }
}

/// The reason history cannot be recorded.
package enum HistoryProblem: Error, CustomStringConvertible {
  case numbersExhausted
  /// - Parameter name: the name of the string.
  case zeroCharacter(name: String)

  package var description: String {
    switch self {
    case .numbersExhausted: "All numbers of transactions or changes are used: no more history can be recorded."
    case .zeroCharacter(let name):
      "The \(name) of the changes has the character U+0000, which PostgreSQL cannot store. Choose another one."
    }
  }
}
