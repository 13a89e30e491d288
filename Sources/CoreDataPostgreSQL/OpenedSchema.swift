// OpenCoreData
// SPDX-License-Identifier: Apache-2.0

import CoreData
import CoreDataPostgreSQLClient
import CoreDataStoreFiles
import Foundation

/// An open connection to a store, with the store's layout and the plans derived from it.
final class OpenedSchema {
  private(set) var connection: PostgreSQLConnection
  /// The connection in the form used by the SQL shared with SQLite stores.
  private(set) var database: PostgreSQLDatabase
  let entities: StoredEntities
  let plans: RowPlans
  let readers: RowReaders
  let statements = RowTexts()
  /// The form in which changes are recorded in persistent history; nil if they are not recorded.
  var history: StoreHistory?
  /// Detects that the store was migrated; nil in the transaction of a migration.
  var identity: SchemaIdentity? { didSet { useIdentity() } }
  private let schema: String
  private let isOwned: Bool

  /// Creates the state for a connection.
  ///
  /// - Parameter isOwned: Whether to close the connection together with this state.
  init(_ connection: PostgreSQLConnection, schema: String, entities: StoredEntities, isOwned: Bool) {
    self.connection = connection
    self.schema = schema
    database = PostgreSQLDatabase(connection, schema: schema)
    self.entities = entities
    self.isOwned = isOwned
    plans = RowPlans(entities: entities)
    readers = RowReaders(entities, external: nil)
    identity = (entities.owner as? PostgreSQLStore)?.identity
    useIdentity()
  }

  /// Whether the connection is in a transaction that the caller has begun.
  var isInTransaction = false

  /// The run of the server at the first transaction of the connection; nil before.
  private(set) var serverRun: String?

  /// Reads the run of the server before the connection's first transaction.
  func noteServerRun() throws { if serverRun == nil { serverRun = try ServerTransaction.serverRun(connection) } }

  func replaceConnection(by new: PostgreSQLConnection) {
    serverRun = nil
    connection.close()
    connection = new
    database = PostgreSQLDatabase(new, schema: schema)
    useIdentity()
  }

  private func useIdentity() {
    connection.check = identity?.check
    database.identity = identity
  }

  func noteIdentity() { entities.noteIdentity() }

  /// The connections to leave to others, for a connection that only reads.
  var reserve: ConnectionReserve?

  func interrupt() { connection.cancel() }

  func end() { if isOwned { connection.close() } }

  func readingPinned<Result>(url: URL?, _ body: () throws -> Result) throws -> Result {
    try ErrorTranslation.translating(url: url, during: .use) {
      // Use a savepoint: a failing statement would end the transaction and with it the snapshot.
      try connection.transaction(body)
    }
  }
}
