// OpenCoreData
// SPDX-License-Identifier: Apache-2.0

import CoreData
import CoreDataMigration
import CoreDataModelFiles
import CoreDataPostgreSQLClient
import CoreDataStoreFiles
import Foundation

/// The migration of a store in PostgreSQL: one transaction, which holds the advisory lock of the schema.
///
/// Of many servers that start with a new model, one migrates. The others wait for the lock, and find the work done.
final class PostgreSQLMigration: ServerMigration {
  private let url: URL
  private let connection: PostgreSQLConnection
  private let schema: SchemaInDatabase
  private var stores: [PostgreSQLStore] = []
  private var isCommitted = false

  /// How long a statement waits for a lock unless the store's options say otherwise, in seconds. While it waits, nobody else
  /// gets one.
  private static let lockTimeout = 60.0

  init(of url: URL, _ settings: StoreOptions) throws {
    self.url = url
    let address = try PostgreSQLAddress(url)
    connection = try SharedConnection.take(address)
    schema = SchemaInDatabase(connection, address, url: url)
    do {
      try connection.begin()
      // A migration by copy works beside the server for a while.
      try connection.execute("SET LOCAL idle_in_transaction_session_timeout = 0")
      // Waiting for another migration is not waiting for a lock of rows: it may take as long as that takes.
      try schema.lock()
      try connection.setLockTimeout(settings.timeout ?? Self.lockTimeout, isLocal: true)
      guard try schema.isPresent() else { throw PostgreSQLStoreErrors.noStore(url: url, schema: address.schema) }
    } catch {
      connection.close()
      throw error
    }
  }

  deinit {
    if !isCommitted { connection.close() }
  }

  func metadata() throws -> [String: Any] { try translating { try schema.metadata() } }

  func carriedModel() throws -> NSManagedObjectModel? {
    try translating { try schema.cachedModel() }.map { try NSManagedObjectModel(document: $0) }
  }

  func source(
    _ model: NSManagedObjectModel, configuration: String?, coordinator: NSPersistentStoreCoordinator
  ) throws -> any RowStore {
    // Nobody may write to the store while its rows are read.
    try translating { try schema.lockTables() }
    return try open(configuration, coordinator)
  }

  func counted(
    _ items: [DroppedContent], in model: NSManagedObjectModel, configuration: String?
  ) throws -> [DroppedContent] {
    try translating {
      try schema.lockTables()
      let document = model.document
      let layout = try schema.layout(document, configuration: document.configuration(configuration))
      return try StoreContents(schema.database, schema: layout).counted(items)
    }
  }

  func migrate(through models: [NSManagedObjectModel], configuration: String?) throws -> Bool {
    try translating {
      try SchemaMigration(schema, configuration: configuration).run(through: models.map(\.document))
    }
  }

  func destination(
    _ model: NSManagedObjectModel, configuration: String?, coordinator: NSPersistentStoreCoordinator,
    metadata: [String: Any]
  ) throws -> any RowStore {
    try translating {
      try schema.replaceTables(
        model.document, configuration: configuration,
        metadata: metadata.filter { !StoreMetadata.ownKeys.contains($0.key) })
    }
    return try open(configuration, coordinator)
  }

  /// Opens the store on the connection of the migration, in its transaction.
  private func open(_ configuration: String?, _ coordinator: NSPersistentStoreCoordinator) throws -> PostgreSQLStore {
    let store = PostgreSQLStore(
      persistentStoreCoordinator: coordinator, configurationName: configuration, at: url, options: nil)
    store.borrowed = connection
    try store.loadMetadata()
    store.opened?.isInTransaction = true
    stores.append(store)
    return store
  }

  func commit() throws {
    for store in stores { store.willRemove(from: store.persistentStoreCoordinator) }
    try translating {
      try ChangeListener.notify(connection, schema: schema.address.schema)
      try connection.commit()
    }
    isCommitted = true
    SharedConnection.giveBack(connection, to: schema.address)
  }

  func rollBack() {
    for store in stores { store.willRemove(from: store.persistentStoreCoordinator) }
    // A connection that ends without a commit rolls back.
    connection.close()
  }

  /// Who has locks on tables of the schema, in words; nil for nobody. The lock of this connection's failed statement is gone.
  private func lockHolders() throws -> String? {
    let observer = try PostgreSQLConnection(schema.address, applicationName: ProcessInfo.processInfo.processName)
    defer { observer.close() }
    let rows = try observer.query(
      "SELECT DISTINCT a.pid::text, coalesce(a.usename::text, ''), coalesce(a.application_name, ''), "
        + "coalesce(a.state, '') FROM pg_locks l JOIN pg_class c ON c.oid = l.relation "
        + "JOIN pg_namespace n ON n.oid = c.relnamespace JOIN pg_stat_activity a ON a.pid = l.pid "
        + "WHERE n.nspname = $1 AND l.granted AND a.pid <> $2::int ORDER BY 1",
      [.text(schema.address.schema), .integer(Int64(connection.processID))])
    let holders = (0..<rows.count).map { row in
      "process \(rows.string(row, 0)) of \(rows.string(row, 1)) (\(rows.string(row, 2)), \(rows.string(row, 3)))"
    }
    return holders.isEmpty ? nil : "Locks are held by \(holders.joined(separator: ", "))."
  }

  private func translating<Result>(_ body: () throws -> Result) throws -> Result {
    do {
      return try PostgreSQLErrors.translating(url: url, isOpening: false) {
        do {
          return try body()
        } catch let failure as PostgreSQLError where failure.isLockTimeout {
          // Without these words the error says less, and is right all the same.
          throw failure.withHint(try? lockHolders())
        }
      }
    } catch let problem as InPlaceProblem {
      throw problem.error(url: url)
    }
  }
}

extension PostgreSQLStore {
  static func migrationStatements(
    at url: URL, through models: [NSManagedObjectModel], configuration: String?
  ) throws -> [ServerStatement] {
    do {
      return try looking(at: url) { schema in
        try SchemaMigration(schema, configuration: configuration).steps(through: models.map(\.document))
          .flatMap(\.statements)
      }
    } catch let problem as InPlaceProblem {
      throw problem.error(url: url)
    }
  }

  static func beginMigration(of url: URL, options: [AnyHashable: Any]) throws -> any ServerMigration {
    try PostgreSQLErrors.translating(url: url, isOpening: true) {
      try PostgreSQLMigration(of: url, StoreOptions(options))
    }
  }
}

extension PostgreSQLConnection {
  /// Has statements wait for locks only so long.
  ///
  /// - Parameters:
  ///   - timeout: in seconds.
  ///   - isLocal: whether until the end of the transaction alone.
  func setLockTimeout(_ timeout: Double, isLocal: Bool = false) throws {
    let milliseconds = Int(max(1, min(timeout * 1_000, Double(Int32.max))))
    try execute("SET \(isLocal ? "LOCAL " : "")lock_timeout = \(milliseconds)")
  }

  /// Whether the server is a standby, or the role may only read.
  func isReadOnlyServer() throws -> Bool {
    try query("SELECT pg_is_in_recovery() OR current_setting('default_transaction_read_only')::bool").bool(0, 0)
  }
}
