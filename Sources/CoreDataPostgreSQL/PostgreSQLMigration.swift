// OpenCoreData
// SPDX-License-Identifier: Apache-2.0

import CoreData
import CoreDataMigration
import CoreDataModelFiles
import CoreDataPostgreSQLClient
import CoreDataStoreFiles
import Foundation

/// The migration of a store in PostgreSQL: a single transaction that holds the advisory lock of the schema.
///
/// If many app servers start with a new model, one of them migrates. The others wait for the lock and then find the
/// store migrated.
final class PostgreSQLMigration: ServerMigration {
  private let url: URL
  private let connection: PostgreSQLConnection
  private let schema: SchemaInDatabase
  private var stores: [PostgreSQLStore] = []
  private var isCommitted = false

  /// The seconds that a statement waits for a lock unless the store's options give another time. While it waits, other
  /// connections cannot acquire conflicting locks either.
  private static let lockTimeout = 60.0

  init(of url: URL, _ settings: StoreOptions) throws {
    self.url = url
    let address = try PostgreSQLAddress(url)
    connection = try SharedConnection.acquire(address)
    schema = SchemaInDatabase(connection, address, url: url)
    do {
      try connection.begin()
      // Between its statements, object migration may leave the transaction idle for a while.
      try connection.execute("SET LOCAL idle_in_transaction_session_timeout = 0")
      // No timeout for this lock: another migration may take any time.
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
    // Other connections must not write to the store while its rows are read.
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

  /// Opens the store on the migration's connection, within its transaction.
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
    try translating { try ChangeListener.notify(connection, schema: schema.address.schema) }
    // After a commit with an unknown outcome, the store has to be opened again.
    try PostgreSQLErrors.translating(url: url, isOpening: true) { try connection.commit() }
    isCommitted = true
    SharedConnection.release(connection, to: schema.address)
  }

  func rollBack() {
    for store in stores { store.willRemove(from: store.persistentStoreCoordinator) }
    // Closing the connection without a commit rolls back.
    connection.close()
  }

  /// Returns a sentence that names the processes with locks on tables of the schema, or nil if there are none. Does not
  /// include this connection.
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
    try ErrorTranslation.translating(url: url, during: .use) {
      do {
        return try body()
      } catch let failure as PostgreSQLError where failure.isLockTimeout {
        // The hint is optional. The error is correct without it.
        throw failure.withHint(try? lockHolders())
      }
    }
  }
}

extension PostgreSQLStore {
  static func migrationStatements(
    at url: URL, through models: [NSManagedObjectModel], configuration: String?
  ) throws -> [ServerStatement] {
    try looking(at: url) { schema in
      try SchemaMigration(schema, configuration: configuration).steps(through: models.map(\.document))
        .flatMap(\.statements)
    }
  }

  static func beginMigration(of url: URL, options: [AnyHashable: Any]) throws -> any ServerMigration {
    try ErrorTranslation.translating(url: url, during: .opening) {
      try PostgreSQLMigration(of: url, StoreOptions(options))
    }
  }
}

extension PostgreSQLConnection {
  /// Limits the time that statements wait for locks.
  ///
  /// - Parameters:
  ///   - timeout: The time in seconds.
  ///   - isLocal: Whether the limit ends with the transaction.
  func setLockTimeout(_ timeout: Double, isLocal: Bool = false) throws {
    let milliseconds = Int(max(1, min(timeout * 1_000, Double(Int32.max))))
    if isLocal { return try execute("SET LOCAL lock_timeout = \(milliseconds)") }
    settings.lockTimeout = milliseconds
    if !isPooled { try execute("SET lock_timeout = \(milliseconds)") }
  }

  /// Has all transactions refuse to write.
  func forbidWriting() throws {
    settings.isReadOnly = true
    if !isPooled { try execute("SET SESSION CHARACTERISTICS AS TRANSACTION READ ONLY") }
  }

  /// Returns whether the server is a standby or transactions are read-only by default.
  func isReadOnlyServer() throws -> Bool {
    try query("SELECT pg_is_in_recovery() OR current_setting('default_transaction_read_only')::bool").bool(0, 0)
  }
}
