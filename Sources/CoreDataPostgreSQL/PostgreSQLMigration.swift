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

  /// The seconds after which a migration that cannot lock the tables gives up, unless the store's options give another
  /// time.
  private static let lockTimeout = 60.0
  private let timeout: Double

  init(of url: URL, _ settings: StoreOptions) throws {
    self.url = url
    timeout = settings.timeout ?? Self.lockTimeout
    let address = try PostgreSQLAddress(url)
    connection = try SharedConnection.acquire(address)
    schema = SchemaInDatabase(connection, address, url: url)
    do {
      try connection.begin()
      // Between its statements, object migration may leave the transaction idle for a while.
      try connection.execute("SET LOCAL idle_in_transaction_session_timeout = 0")
      // No timeout for this lock: another migration may take any time.
      try schema.lock()
      try connection.setLockTimeout(timeout, isLocal: true)
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
    try translating { try lockTables() }
    return try open(configuration, coordinator)
  }

  func counted(
    _ items: [DroppedContent], in model: NSManagedObjectModel, configuration: String?
  ) throws -> [DroppedContent] {
    try translating {
      try lockTables()
      let document = model.document
      let layout = try schema.layout(document, configuration: document.configuration(configuration))
      return try StoreContents(schema.database, schema: layout).counted(items)
    }
  }

  func migrate(through models: [NSManagedObjectModel], configuration: String?) throws -> Bool {
    try translating {
      try SchemaMigration(schema, configuration: configuration).run(
        through: models.map(\.document), lockingTables: lockTables)
    }
  }

  /// Keeps others from writing to the store until the migration ends, and from reading some of its tables.
  private func lockTables(exclusive: Set<String> = []) throws {
    try MigrationLocks(schema, timeout: timeout).acquire(schema.ownTables(), exclusive: exclusive)
  }

  func destination(
    _ model: NSManagedObjectModel, configuration: String?, coordinator: NSPersistentStoreCoordinator,
    metadata: [String: Any]
  ) throws -> any RowStore {
    try translating {
      try lockTables(exclusive: Set(schema.ownTables()))
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
    try ErrorTranslation.translating(url: url, during: .opening) { try connection.commit() }
    isCommitted = true
    SharedConnection.release(connection, to: schema.address)
  }

  func rollBack() {
    for store in stores { store.willRemove(from: store.persistentStoreCoordinator) }
    // Closing the connection without a commit rolls back.
    connection.close()
  }

  private func translating<Result>(_ body: () throws -> Result) throws -> Result {
    try ErrorTranslation.translating(url: url, during: .use, body)
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
