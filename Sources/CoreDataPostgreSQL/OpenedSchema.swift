// OpenCoreData
// SPDX-License-Identifier: Apache-2.0

import CoreData
import CoreDataPostgreSQLClient
import CoreDataStoreFiles

/// An open connection to a store, with the store's layout and the plans derived from it.
final class OpenedSchema: ReadingConnection {
  private(set) var connection: PostgreSQLConnection
  /// The connection in the form used by the SQL shared with SQLite stores.
  private(set) var database: PostgreSQLDatabase
  let entities: StoredEntities
  let plans: PostgreSQLRowPlans
  /// The row plans of the SQL shared with SQLite stores.
  let sharedPlans: RowPlans
  /// The form in which changes are recorded in persistent history; nil if they are not recorded.
  var history: StoreHistory?
  private let schema: String
  private let isOwned: Bool
  private var readers: [ReaderKey: PostgreSQLRowReader] = [:]
  /// The most recently used reader and its key, because consecutive faults mostly belong to one entity.
  private var last: (key: ReaderKey, reader: PostgreSQLRowReader)?

  private struct ReaderKey: Hashable {
    let entity: ObjectIdentifier
    let includesSubentities: Bool
  }

  /// Creates the state for a connection.
  ///
  /// - Parameter isOwned: Whether to close the connection together with this state.
  init(_ connection: PostgreSQLConnection, schema: String, entities: StoredEntities, isOwned: Bool) {
    self.connection = connection
    self.schema = schema
    database = PostgreSQLDatabase(connection, schema: schema)
    self.entities = entities
    self.isOwned = isOwned
    plans = PostgreSQLRowPlans(entities: entities)
    sharedPlans = RowPlans(entities: entities)
  }

  /// Whether the connection is in a transaction that the caller has begun.
  var isInTransaction = false

  func replaceConnection(by new: PostgreSQLConnection) {
    connection.close()
    connection = new
    database = PostgreSQLDatabase(new, schema: schema)
  }

  func noteIdentity() { entities.noteIdentity() }

  func interrupt() { connection.cancel() }

  func end() { if isOwned { connection.close() } }

  func reader(for entity: NSEntityDescription, includesSubentities: Bool) throws -> PostgreSQLRowReader {
    let key = ReaderKey(entity: ObjectIdentifier(entity), includesSubentities: includesSubentities)
    if let last, last.key == key { return last.reader }
    let reader =
      try readers[key]
      ?? PostgreSQLRowReader(
        entity: entities.layout(of: entity), includesSubentities: includesSubentities, entities: entities)
    readers[key] = reader
    last = (key, reader)
    return reader
  }
}
