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

  init(of url: URL, _ settings: StoreOptions) throws {
    self.url = url
    let address = try PostgreSQLAddress(url)
    connection = try SharedConnection.take(address)
    schema = SchemaInDatabase(connection, address, url: url)
    do {
      try connection.begin()
      // Waiting for another migration is not waiting for a lock of rows: it may take as long as that takes.
      try schema.lock()
      try connection.setTimeouts(settings)
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
      try schema.dropTables()
      try schema.create(
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

  private func translating<Result>(_ body: () throws -> Result) throws -> Result {
    do {
      return try PostgreSQLErrors.translating(url: url, isOpening: false, body)
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
  /// Has statements wait for locks only as long as the store's timeout says; without one, for ever.
  func setTimeouts(_ settings: StoreOptions) throws {
    guard let timeout = settings.timeout else { return }
    let milliseconds = Int(max(1, min(timeout * 1_000, Double(Int32.max))))
    try execute("SET lock_timeout = \(milliseconds)")
  }

  /// Whether the server is a standby, or the role may only read.
  func isReadOnlyServer() throws -> Bool {
    try query("SELECT pg_is_in_recovery() OR current_setting('default_transaction_read_only')::bool").bool(0, 0)
  }
}
