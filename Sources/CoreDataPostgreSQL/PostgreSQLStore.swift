// OpenCoreData
// SPDX-License-Identifier: Apache-2.0

import CoreData
import CoreDataModelFiles
import CoreDataPostgreSQLClient
import CoreDataSQLite
import CoreDataStoreFiles
import Foundation

/// A store in a schema of a PostgreSQL database, with Core Data's layout.
///
/// The coordinator's lock is held during all calls except `concurrently(_:)`, and guards the store's properties.
/// Properties that the program may read on any thread, such as the metadata, have their own lock.
final class PostgreSQLStore: NSPersistentStore, SQLStore, ServerStore, @unchecked Sendable {
  static let schemes: Set<String> = ["postgresql", "postgres"]

  /// The state of the connection that writes, and that reads within its own transactions.
  var opened: OpenedSchema?
  /// The read-only connections.
  let connections = ReadingConnections()
  /// The unused primary keys that this store has taken from the sequences.
  var keys = KeyBlocks()
  /// The author of the next changes, for persistent history.
  var origin = HistoryOrigin()
  /// Whether a batch request is running, whose handlers must not write.
  var isInBatch = false
  /// Whether rows that a copy inserts are recorded in the history.
  var recordsCopies = true
  /// Listens for changes by other connections; nil if the store does not post remote change notifications.
  var listener: ChangeListener?
  /// Detects that the store was migrated; nil until it has been opened. Set before any other thread uses the store.
  private(set) var identity: SchemaIdentity?
  /// The location of the store, including the password.
  private var givenAddress: PostgreSQLAddress?
  /// Whether the metadata has unsaved changes.
  var hasUnsavedMetadata = false
  /// Whether the metadata had unsaved changes when the current transaction began.
  var hadUnsavedMetadata = false
  /// The transaction of the last write whose commit the server has not answered.
  var unconfirmedCommit: ServerCommit?
  /// The changes of the running transaction.
  var writtenChanges: [RowChange] = []
  /// The connection of the migration in whose transaction the store is used; nil otherwise.
  var borrowed: PostgreSQLConnection?

  deinit {
    listener?.end()
    connections.end()
  }

  override var type: String { NSPostgreSQLStoreType }

  override var metadata: [String: Any]! {
    get { keptMetadata }
    set {
      exclusively {
        // Keep the framework's own keys: they describe the tables, which setting metadata does not change.
        keptMetadata = StoreMetadata.merged(newValue ?? [:], into: keptMetadata)
        hasUnsavedMetadata = true
      }
    }
  }

  /// Sets a metadata value of the framework, which apps cannot set.
  func setOwnMetadata(_ key: String, _ value: Any?) { keptMetadata[key] = value }

  /// Returns the location of the store.
  ///
  /// - Throws: 134080 if the URL is not the URL of a store.
  func address() throws -> PostgreSQLAddress {
    if let givenAddress { return givenAddress }
    let address = try Self.address(url)
    givenAddress = address
    return address
  }

  private static func address(_ url: URL?) throws -> PostgreSQLAddress {
    guard let url else { throw StoreErrors.cannotOpen(url: nil, reason: "The store has no URL.") }
    do {
      return try PostgreSQLAddress(url)
    } catch {
      throw StoreErrors.cannotOpen(url: url, reason: "\(error)")
    }
  }

  /// Opens or creates the store.
  override func loadMetadata() throws {
    guard let model = persistentStoreCoordinator?.managedObjectModel else {
      throw StoreErrors.cannotOpen(url: url, reason: "The store has no coordinator and therefore no model.")
    }
    let address = try address()
    try ErrorTranslation.translating(url: url, during: .opening) {
      let settings = StoreOptions(options)
      let listenAddress = try settings.listenAddress()
      let connection = try borrowed ?? connect(address)
      do {
        let schema = SchemaInDatabase(connection, address, url: url)
        if try !schema.isPresent() {
          if isReadOnly { throw PostgreSQLStoreErrors.noStore(url: url, schema: address.schema) }
          let isOwn = try schema.createUnlessPresent(
            model.document, configuration: customConfigurationName, metadata: keptMetadata)
          if !isOwn { try checkVersion(of: model, schema, settings) }
        }
        let stored = try schema.metadata()
        var found = stored
        hasUnsavedMetadata = false
        let layout: StoreSchema
        var fits = true
        do {
          layout = try checkedLayout(of: model.document, schema, found)
        } catch let problem as SchemaProblem where settings.ignoresVersioning && problem.isMissing {
          // Statements that use missing tables or columns fail; others work.
          layout = try schema.layout(model.document, configuration: customConfigurationName, allowsMissing: true)
          fits = false
        }
        if settings.ignoresVersioning, !isReadOnly, fits {
          found.merge(
            try StoreMetadata.ofModel(model.document, configuration: customConfigurationName)
              .filter { $0.key != StoreMetadata.Key.type }
          ) { $1 }
          hasUnsavedMetadata = true
        }
        keptMetadata = found
        if try !isReadOnly && connection.isReadOnlyServer() { isReadOnly = true }
        let state = OpenedSchema(
          connection, schema: address.schema, entities: StoredEntities(schema: layout, model: model, store: self),
          isOwned: borrowed == nil)
        if borrowed == nil { try identify(state, schema, model, layout, stored: stored, fits: fits) }
        // Migrations and copies write history that was recorded before.
        if borrowed == nil { try openHistory(state, settings) }
        let listener = borrowed == nil ? try makeListener(settings, address, at: listenAddress) : nil
        // Nothing after this throws: if opening fails, the store has no connection.
        if borrowed == nil { openReaders(beside: state, address) }
        opened = state
        self.listener = listener
      } catch {
        if borrowed == nil { connection.close() }
        throw error
      }
    }
  }

  /// Has the connections of the store detect migrations by others, after comparing the store with what has been read of
  /// it.
  ///
  /// - Parameters:
  ///   - stored: The metadata in the store.
  ///   - fits: Whether the store has all tables and columns of the layout.
  /// - Throws: 134100 if the store has been migrated since its metadata was read.
  private func identify(
    _ state: OpenedSchema, _ schema: SchemaInDatabase, _ model: NSManagedObjectModel, _ layout: StoreSchema,
    stored: [String: Any], fits: Bool
  ) throws {
    let (document, configuration) = (model.document, customConfigurationName)
    let identity = SchemaIdentity(self, schema.address, metadata: [stored, keptMetadata], layout: layout) {
      try $0.layout(document, configuration: configuration, allowsMissing: !fits)
    }
    try identity.compare(on: schema.connection)
    self.identity = identity
    state.identity = identity
  }

  /// Compares the model with a store that another process has created meanwhile.
  ///
  /// - Throws: 134100 if the store has another model version.
  private func checkVersion(
    of model: NSManagedObjectModel, _ schema: SchemaInDatabase, _ settings: StoreOptions
  ) throws {
    guard let url, !settings.ignoresVersioning else { return }
    try StoreCompatibility.check(schema.metadata(), model, configuration: customConfigurationName, url: url)
  }

  private func connect(_ address: PostgreSQLAddress) throws -> PostgreSQLConnection {
    let connection = try SharedConnection.acquire(address)
    if let timeout = StoreOptions(options).timeout { try connection.setLockTimeout(timeout) }
    return connection
  }

  private func openReaders(beside state: OpenedSchema, _ address: PostgreSQLAddress) {
    let shared = state.entities
    connections.begin { [unowned self] in
      let connection = try connect(address)
      var reserve = ConnectionReserve()
      do {
        try reserve.check(connection)
        try connection.forbidWriting()
      } catch {
        connection.close()
        throw error
      }
      let reader = OpenedSchema(
        connection, schema: address.schema, entities: StoredEntities(sharing: shared), isOwned: true)
      reader.reserve = reserve
      return reader
    }
  }

  override func willRemove(from coordinator: NSPersistentStoreCoordinator?) {
    listener?.end()
    listener = nil
    generations.close()
    connections.end()
    opened?.end()
    opened = nil
  }

  /// The generations that contexts may still read.
  var generations = PinnedGenerations()

  /// Returns the state of the open store. Reconnects if the connection was lost.
  func state() throws -> OpenedSchema {
    guard let opened else { throw StoreErrors.operationFailed(url: url, reason: "The store is not open.") }
    if opened.connection.isLost {
      guard borrowed == nil, !opened.isInTransaction else {
        throw PostgreSQLStoreErrors.connectionLost(url: url, during: "a transaction")
      }
      try reconnect(opened)
    }
    opened.noteIdentity()
    return opened
  }

  /// Reconnects, and checks that the store was neither replaced nor migrated.
  private func reconnect(_ lost: OpenedSchema) throws {
    let address = try address()
    try ErrorTranslation.translating(url: url, during: .use) {
      let connection = try connect(address)
      do {
        let schema = SchemaInDatabase(connection, address, url: url)
        guard try schema.isPresent() else {
          throw StoreErrors.disconnected(url: url, reason: "The store was removed while the connection was lost.")
        }
        try lost.identity?.verify(on: connection)
      } catch {
        connection.close()
        throw error
      }
      lost.replaceConnection(by: connection)
    }
  }

  func writableState() throws -> OpenedSchema {
    try checkWritable()
    return try state()
  }

  /// Runs a body with the state, and again with a new connection if the old one turns out to be lost. The body must
  /// only read, so that it can be repeated.
  func withState<Result>(_ body: (OpenedSchema) throws -> Result) throws -> Result {
    try ErrorTranslation.translating(url: url, during: .use) {
      let state = try state()
      do {
        return try body(state)
      } catch let error as PostgreSQLError where error.isConnectionLost && borrowed == nil && !state.isInTransaction {
        return try body(self.state())
      }
    }
  }

  func reading<Result>(isSearch: Bool, _ body: (OpenedSchema) throws -> Result) throws -> Result { try withState(body) }

  // MARK: Stores that are not open

  /// Runs a body with a connection to a store that need not be open.
  static func looking<Result>(at url: URL, _ body: (SchemaInDatabase) throws -> Result) throws -> Result {
    let address = try address(url)
    return try ErrorTranslation.translating(url: url, during: .opening) {
      let connection = try SharedConnection.acquire(address)
      defer { SharedConnection.release(connection, to: address) }
      return try body(SchemaInDatabase(connection, address, url: url))
    }
  }

  static func sharingConnection<Result>(_ body: () throws -> Result) rethrows -> Result {
    try SharedConnection.sharing(body)
  }

  static func hasStore(at url: URL) throws -> Bool { try looking(at: url) { try $0.isPresent() } }

  override class func metadataForPersistentStore(with url: URL) throws -> [String: Any] {
    try looking(at: url) { schema in
      guard try schema.isPresent() else {
        throw PostgreSQLStoreErrors.noStore(url: url, schema: schema.address.schema)
      }
      return try schema.metadata()
    }
  }

  override class func setMetadata(_ metadata: [String: Any]?, forPersistentStoreAt url: URL) throws {
    try looking(at: url) { schema in
      guard try schema.isPresent() else {
        throw PostgreSQLStoreErrors.noStore(url: url, schema: schema.address.schema)
      }
      try schema.connection.transaction {
        // A migration between reading and writing would be undone in the metadata only.
        try schema.lock()
        try schema.setMetadata(StoreMetadata.replacement(metadata ?? [:], for: schema.metadata()))
      }
    }
  }

  static func carriedModel(at url: URL) throws -> NSManagedObjectModel? {
    try looking(at: url) { try $0.cachedModel() }.map { try NSManagedObjectModel(document: $0) }
  }

  static func reading<Result>(at url: URL, _ body: (any ServerContents) throws -> Result) throws -> Result {
    try looking(at: url) { schema in
      let database = schema.database
      return try database.snapshot {
        guard try schema.isPresent() else {
          throw PostgreSQLStoreErrors.noStore(url: url, schema: schema.address.schema)
        }
        return try body(SchemaContents(schema: schema, database: database))
      }
    }
  }

  private struct SchemaContents: ServerContents {
    let schema: SchemaInDatabase
    let database: any SQLDatabase

    func metadata() throws -> [String: Any] { try schema.metadata() }

    func schema(for document: ModelDocument, configuration: String?) throws -> StoreSchema {
      try schema.layout(document, configuration: configuration)
    }
  }

  static func isReadOnly(at url: URL) throws -> Bool { try looking(at: url) { try $0.connection.isReadOnlyServer() } }

  static func size(at url: URL) throws -> Int { try looking(at: url) { try $0.size() } }

  static func removeUnfinishedCopy(at url: URL, discardsOthers: Bool) throws -> Bool {
    try looking(at: url) { schema in
      guard try schema.isPresent() else { return false }
      guard try schema.lockForCopy() else {
        throw StoreErrors.operationFailed(url: url, reason: "Another process is copying rows into the store.")
      }
      let isUnfinished = Result {
        try schema.connection.transaction { try schema.dropUnfinishedCopy(discardsOthers: discardsOthers) }
      }
      // The connection may be used again. If it is lost, it holds no lock.
      if !schema.connection.isLost { try schema.unlockAfterCopy() }
      return try isUnfinished.get()
    }
  }

  static func destroy(at url: URL) throws {
    try looking(at: url) { schema in
      guard try schema.isPresent() else { return }
      try schema.connection.transaction {
        try schema.lock()
        try schema.dropTables()
      }
    }
  }
}
