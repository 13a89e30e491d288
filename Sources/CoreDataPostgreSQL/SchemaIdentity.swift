// OpenCoreData
// SPDX-License-Identifier: Apache-2.0

import CoreData
import CoreDataModelFiles
import CoreDataPostgreSQLClient
import CoreDataSQLite
import CoreDataStoreFiles
import Foundation

/// Detects that another connection has migrated, replaced or removed a store since it was opened.
///
/// Every transaction compares the row of `z_metadata` with the one that was there when the store was opened, after its
/// last statement that reads or writes rows. A migration that had committed before that statement is visible to the
/// comparison. One that commits later has waited for the locks of this transaction on the tables that it changes, so
/// that it has migrated what this transaction has written. No lock beyond those of the statements is needed.
///
/// A snapshot does not show what is committed after it began, but tables that are migrated change under it. So a
/// transaction with a snapshot locks the tables first, and compares before it reads (`beginSnapshot(on:)`).
final class SchemaIdentity: @unchecked Sendable {
  /// The table, the version and the place of the row of metadata, as one text.
  private static let row = "tableoid::text || ' ' || xmin::text || ' ' || ctid::text"
  private static let query = "SELECT \(row) FROM z_metadata ORDER BY z_version DESC LIMIT 1"

  private unowned let store: PostgreSQLStore
  private let address: PostgreSQLAddress
  private let uuid: String?
  private let version: StoreVersion
  /// The hashes that the store may have: those it was opened with, and those that this process writes.
  private let accepted: Set<[String: Data]>
  private let layout: StoreSchema
  private let makeLayout: (SchemaInDatabase) throws -> StoreSchema
  /// The row of metadata at the last comparison. Read and written on several threads.
  private let row = Guarded("")

  /// - Parameters:
  ///   - metadata: The metadata of the store, with those that this process will write into a store of another version.
  ///   - layout: The layout that the store is used with.
  ///   - makeLayout: Returns the layout that the opened model has in the store now.
  init(
    _ store: PostgreSQLStore, _ address: PostgreSQLAddress, metadata: [[String: Any]], layout: StoreSchema,
    makeLayout: @escaping (SchemaInDatabase) throws -> StoreSchema
  ) {
    (self.store, self.address) = (store, address)
    uuid = metadata.first?[StoreMetadata.Key.uuid] as? String
    version = StoreVersion(metadata: metadata.first ?? [:])
    accepted = Set(metadata.map { StoreVersion(metadata: $0).hashes })
    (self.layout, self.makeLayout) = (layout, makeLayout)
  }

  /// The check of the statements outside transactions.
  var check: PostgreSQLConnection.Check {
    PostgreSQLConnection.Check(Self.query) { [self] connection, result in
      if case .success(let rows) = result, isKnown(rows) { return }
      if case .failure(let error as PostgreSQLError) = result, error.isConnectionLost || error.isCancelled {
        throw error
      }
      try compare(on: connection)
    }
  }

  /// Runs the last statements of a transaction, and throws if the store has changed before them.
  ///
  /// - Parameter script: Statements without parameters, separated by semicolons.
  func finish(_ script: String, on connection: PostgreSQLConnection) throws {
    if try !isKnown(connection.lastRows("\(script); \(Self.query)")) { try compare(on: connection) }
  }

  /// Throws if the store has changed.
  func verify(on connection: PostgreSQLConnection) throws {
    if try !isKnown(connection.unchecked { try connection.query(Self.query) }) { try compare(on: connection) }
  }

  /// Throws if the store has changed, in a transaction that is going to write all metadata. Keeps migrations from
  /// changing it until the transaction ends.
  func lockMetadata(on connection: PostgreSQLConnection) throws {
    try finish("LOCK TABLE z_metadata IN ROW EXCLUSIVE MODE", on: connection)
  }

  /// Begins a transaction that reads one state of the store, whose tables cannot be migrated until it ends.
  func beginSnapshot(on connection: PostgreSQLConnection) throws {
    let tables = try connection.unchecked { try readableTables(on: connection) }
    try connection.begin("ISOLATION LEVEL REPEATABLE READ READ ONLY")
    do {
      // LOCK TABLE takes no snapshot, so that the first query sees what was committed before the tables were locked.
      if !tables.isEmpty {
        try connection.execute("LOCK TABLE \(tables.joined(separator: ", ")) IN ACCESS SHARE MODE")
      }
      try verify(on: connection)
    } catch {
      // Report the first error. If the connection is lost, so is its transaction.
      try? connection.rollback()
      throw cause(on: connection) ?? error
    }
  }

  /// Returns the names of the store's tables that the role may read.
  private func readableTables(on connection: PostgreSQLConnection) throws -> [String] {
    let names =
      layout.tables.map(\.name) + layout.joinTables.map(\.name) + ["z_metadata", "z_primarykey"]
      + [HistoryTables.change, HistoryTables.transaction, HistoryTables.string].map { $0.table.lowercased() }
    let rows = try connection.query(
      "SELECT c.relname::text FROM pg_class c JOIN pg_namespace n ON n.oid = c.relnamespace WHERE n.nspname = $1 "
        + "AND c.relname = ANY ($2) AND c.relkind IN ('r', 'p') AND has_table_privilege(c.oid, 'SELECT') ORDER BY 1",
      [.text(address.schema), .texts(names)])
    return (0..<rows.count).map { SQLName.quoted(rows.string($0, 0)) }
  }

  /// Returns the error that says that the store has changed, which may be the cause of another error; nil if it has not.
  func cause(on connection: PostgreSQLConnection) -> (any Error)? {
    if connection.isLost || connection.transactionStatus == .failed { return nil }
    do {
      try verify(on: connection)
      return nil
    } catch let other as PostgreSQLError {
      // Only the absence of z_metadata says more than the first error.
      return other.isUndefinedTable ? missing(on: connection) : nil
    } catch {
      return error
    }
  }

  private func isKnown(_ rows: PostgreSQLRows) -> Bool { rows.count == 1 && rows.string(0, 0) == row.value }

  /// Returns the error for a table of metadata that is not found: the store was removed, or the role may not use its
  /// schema any more.
  private func missing(on connection: PostgreSQLConnection) -> any Error {
    do {
      _ = try connection.unchecked { try SchemaInDatabase(connection, address, url: store.url).isPresent() }
    } catch is PostgreSQLError {
      // A connection that cannot be asked says nothing else.
    } catch {
      return error
    }
    return StoreErrors.disconnected(url: store.url, reason: "The store was removed while it was open.")
  }

  /// Compares everything that the store relies on.
  ///
  /// - Throws: 134100 if the store was migrated; 134070 if it was replaced or removed, or if its tables have changed.
  func compare(on connection: PostgreSQLConnection) throws {
    try connection.unchecked {
      let schema = SchemaInDatabase(connection, address, url: store.url)
      let (found, row): ([String: Any], String)
      do {
        (found, row) = try schema.metadataRow(Self.row)
      } catch let error as PostgreSQLError where error.isUndefinedTable {
        throw missing(on: connection)
      }
      guard found[StoreMetadata.Key.uuid] as? String == uuid else {
        throw StoreErrors.disconnected(
          url: store.url, reason: "While it was open, the store was replaced by another one. Nothing was read or saved."
        )
      }
      let now = StoreVersion(metadata: found)
      guard accepted.contains(now.hashes) else { throw changed(.migrated(from: version, to: now)) }
      // The first comparison belongs to opening the store, which has just read the layout. Later, two migrations may have
      // led back to the same version, with other tables.
      if !self.row.value.isEmpty, try !hasLayout(schema) { throw changed(.rearranged) }
      self.row.value = row
    }
  }

  private func hasLayout(_ schema: SchemaInDatabase) throws -> Bool {
    do {
      return try makeLayout(schema).hasNames(of: layout)
    } catch is SchemaProblem {
      return false
    }
  }

  private func changed(_ problem: StoreVersionProblem) -> NSError {
    StoreErrors.changedVersion(url: store.url, problem, name: store.versionName(of:))
  }
}
