// OpenCoreData
// SPDX-License-Identifier: Apache-2.0

import CoreData
import CoreDataMigration
import CoreDataModelFiles
import CoreDataPostgreSQLClient
import CoreDataSQLite
import CoreDataStoreFiles
import Foundation

/// A schema that contains, or will contain, a store, with its housekeeping tables, which can be read without a model.
struct SchemaInDatabase {
  let connection: PostgreSQLConnection
  let address: PostgreSQLAddress
  let url: URL?

  init(_ connection: PostgreSQLConnection, _ address: PostgreSQLAddress, url: URL?) {
    self.connection = connection
    self.address = address
    self.url = url
  }

  /// Returns whether the schema contains a store.
  ///
  /// - Throws: 513 if the role may not use the schema, in which case its tables cannot be found.
  func isPresent() throws -> Bool {
    guard try has("z_metadata") else { return false }
    let rows = try connection.query("SELECT has_schema_privilege($1, 'USAGE')", [.text(address.schema)])
    guard rows.bool(0, 0) else { throw PostgreSQLStoreErrors.noUsage(url: url, schema: address.schema) }
    return true
  }

  /// - Throws: 260 if the schema contains no store; the errors of `isPresent()`.
  func checkPresence() throws {
    guard try isPresent() else { throw PostgreSQLStoreErrors.noStore(url: url, schema: address.schema) }
  }

  private func has(_ table: String) throws -> Bool {
    let sql =
      "SELECT 1 FROM pg_class c JOIN pg_namespace n ON n.oid = c.relnamespace "
      + "WHERE n.nspname = $1 AND c.relname = $2 AND c.relkind IN ('r', 'p', 'v')"
    return try connection.query(sql, [.text(address.schema), .text(table)]).count > 0
  }

  /// Takes the lock for creating or changing the tables of the store, waiting if necessary.
  ///
  /// The lock ends with the transaction.
  func lock() throws {
    _ = try connection.query(
      "SELECT pg_advisory_xact_lock($1::int, $2::int)",
      [.integer(Self.lockSpace), .integer(Int64(Int32(bitPattern: Self.hash(address.schema))))])
  }

  /// Takes the lock for copying rows into the store. Holds it until the end of the transaction, as in a migration, or else
  /// until `unlockAfterCopy()` or the end of the connection.
  ///
  /// - Returns: false if another connection holds the lock.
  /// - Throws: 134070 behind a connection pooler outside a transaction, where a lock would not belong to the connection
  ///   that takes it.
  func lockForCopy() throws -> Bool {
    let endsWithTransaction = connection.isInTransaction
    guard endsWithTransaction || !connection.isPooled else {
      throw StoreErrors.operationFailed(
        url: url,
        reason: "The URL leads to a connection pooler. Rows of another store are copied on one connection to the "
          + "server, whose lock keeps other processes from doing the same. Use the URL of the server itself.")
    }
    return try connection.query(
      "SELECT pg_try_advisory_\(endsWithTransaction ? "xact_" : "")lock($1::int, $2::int)",
      [.integer(Self.copyLockSpace), .integer(Int64(Int32(bitPattern: Self.hash(address.schema))))]
    ).bool(0, 0)
  }

  func unlockAfterCopy() throws {
    if connection.isInTransaction { return }
    _ = try connection.query(
      "SELECT pg_advisory_unlock($1::int, $2::int)",
      [.integer(Self.copyLockSpace), .integer(Int64(Int32(bitPattern: Self.hash(address.schema))))])
  }

  /// Waits until no other transaction is about to lock several tables, or holds such locks, so that two of them cannot
  /// deadlock with each other. The lock ends with the transaction.
  func lockForTableLocks() throws {
    _ = try connection.query(
      "SELECT pg_advisory_xact_lock($1::int, $2::int)",
      [.integer(Self.tableLockSpace), .integer(Int64(Int32(bitPattern: Self.hash(address.schema))))])
  }

  /// The first keys of the framework's advisory locks: for changing tables, for copying rows, and for locking tables.
  private static let (lockSpace, copyLockSpace, tableLockSpace): (Int64, Int64, Int64) = (
    0x0C0D_DA7A, 0x0C0D_DA7B, 0x0C0D_DA7C
  )

  /// Returns a hash that is the same in every process.
  private static func hash(_ name: String) -> UInt32 {
    name.utf8.reduce(0x811C_9DC5) { ($0 ^ UInt32($1)) &* 0x0100_0193 }
  }

  // MARK: Creating and removing

  /// Creates an empty store, unless another process has created one meanwhile.
  ///
  /// - Returns: Whether this call has created the store.
  func createUnlessPresent(
    _ document: ModelDocument, configuration: String?, metadata: [String: Any]
  ) throws -> Bool {
    try connection.transaction {
      try lock()
      if try isPresent() { return false }
      try makeSchema()
      try create(document, configuration: configuration, metadata: metadata)
      return true
    }
  }

  private func makeSchema() throws {
    let known = try connection.query("SELECT 1 FROM pg_namespace WHERE nspname = $1", [.text(address.schema)])
    if known.count == 0 { try connection.execute("CREATE SCHEMA \(PostgreSQLConnection.quoted(address.schema))") }
  }

  /// Creates the tables of a store in the caller's transaction.
  func create(_ document: ModelDocument, configuration: String?, metadata: [String: Any]) throws {
    let schema = try StoreSchema(document: document, configuration: configuration, dialect: .postgreSQL)
    let defaults = ServerDefaults.all(document, schema, values: FrameworkValues())
    for statement in PostgreSQLDefinitions(schema, defaults: defaults).creationStatements {
      try connection.execute(statement.sql)
    }
    var metadata = metadata.merging(try StoreMetadata.ofModel(document, configuration: configuration)) { $1 }
    metadata[StoreMetadata.Key.type] = NSPostgreSQLStoreType
    metadata[StoreMetadata.Key.autoVacuum] = nil
    let identifier = metadata.removeValue(forKey: StoreMetadata.Key.uuid) as? String ?? UUID().uuidString
    for entity in schema.entities {
      _ = try connection.run(
        "INSERT INTO z_primarykey (z_ent, z_name, z_super, z_max) VALUES ($1, $2, $3, 0)",
        [.integer(Int64(entity.number)), .text(entity.name), .integer(Int64(entity.parentNumber))])
    }
    _ = try connection.run(
      "INSERT INTO z_metadata (z_version, z_uuid, z_plist) VALUES (1, $1, $2)",
      [.text(identifier), .bytes(try StoreMetadata.encode(metadata))])
    _ = try connection.run(
      "INSERT INTO z_modelcache (z_content) VALUES ($1)", [.bytes(try StoreFile.modelCache(of: document))])
  }

  /// Removes the tables of the store. Keeps everything else in the schema.
  func dropTables() throws {
    let names = try ownTables()
    let sequences = try sequences(of: names)
    if !names.isEmpty {
      try connection.execute("DROP TABLE \(names.map(SQLName.quoted).joined(separator: ", "))")
    }
    for sequence in sequences { try connection.execute("DROP SEQUENCE IF EXISTS \(SQLName.quoted(sequence))") }
  }

  /// Replaces the tables by those of an empty store of another model version.
  ///
  /// - Throws: 134070 if others have added something to the tables that would be lost.
  func replaceTables(_ document: ModelDocument, configuration: String?, metadata: [String: Any]) throws {
    let additions = SchemaAdditions(connection, schema: address.schema, tables: try ownTables())
    if let old = try cachedModel() {
      let catalog = try database.catalog()
      let layout = try StoreSchema(
        document: old, catalog: catalog, primaryKeys: primaryKeys(), allowsMissing: true)
      let found = try additions.found(besides: layout)
      guard found.isEmpty else {
        throw StoreErrors.operationFailed(
          url: url,
          reason:
            "This migration writes the rows into new tables, which would not have what others have added to the old "
            + "ones: \(found.joined(separator: ", ")). Remove it before, and add it again afterwards.")
      }
      // Rows of unknown entities would not be read, and so be lost. A store of a configuration may lack tables.
      for table in layout.tables where catalog.table(named: table.name) != nil {
        guard let row = try SchemaInspection.unknownEntityNumbers(in: table, of: layout, connection).first else {
          continue
        }
        throw StoreErrors.operationFailed(
          url: url,
          reason:
            "The table \(table.name) has rows with the entity number \(row.number), which no entity of the table has.")
      }
    }
    let grants = try additions.grants()
    try dropTables()
    try create(document, configuration: configuration, metadata: metadata)
    try additions.restore(grants)
  }

  /// Returns the names of the tables of the store's model and of the framework.
  func ownTables() throws -> [String] {
    var wanted: Set<String> = ["z_metadata", "z_modelcache", "z_primarykey"]
    wanted.formUnion(
      [HistoryTables.change, HistoryTables.transaction, HistoryTables.string].map { $0.table.lowercased() })
    if let document = try cachedModel() {
      // A store of a configuration has only some of the tables.
      let schema = try StoreSchema(
        document: document, catalog: database.catalog(), primaryKeys: primaryKeys(), allowsMissing: true)
      wanted.formUnion(schema.tables.map(\.name) + schema.joinTables.map(\.name))
    }
    let found = try connection.query(
      "SELECT c.relname::text FROM pg_class c JOIN pg_namespace n ON n.oid = c.relnamespace "
        + "WHERE n.nspname = $1 AND c.relkind IN ('r', 'p') ORDER BY 1", [.text(address.schema)])
    return (0..<found.count).map { found.string($0, 0) }.filter(wanted.contains)
  }

  /// Returns the size of the store's tables in bytes, including their indexes and out-of-line values.
  func size() throws -> Int {
    let rows = try connection.query(
      "SELECT coalesce(sum(pg_total_relation_size(c.oid)), 0)::bigint FROM pg_class c "
        + "JOIN pg_namespace n ON n.oid = c.relnamespace WHERE n.nspname = $1 AND c.relname = ANY($2)",
      [.text(address.schema), .texts(ownTables())])
    return Int(rows.int64(0, 0))
  }

  /// Returns the names of the store's sequences.
  func ownSequences() throws -> [String] { try sequences(of: ownTables()) }

  /// Returns the names of the existing sequences of tables.
  private func sequences(of tables: [String]) throws -> [String] {
    let found = try connection.query(
      "SELECT c.relname::text FROM pg_class c JOIN pg_namespace n ON n.oid = c.relnamespace "
        + "WHERE n.nspname = $1 AND c.relkind = 'S' AND c.relname = ANY($2) ORDER BY 1",
      [.text(address.schema), .texts(tables.map(TableLayout.sequenceName(ofTable:)))])
    return (0..<found.count).map { found.string($0, 0) }
  }

  /// Returns the layout of a model's entities in the schema.
  ///
  /// - Parameters:
  ///   - allowsMissing: Whether missing tables and columns get the names they have in a new store, rather than being an
  ///     error.
  ///   - keepsMissingIndexes: Whether the layout includes indexes that the schema lacks.
  /// - Throws: `SchemaProblem` if a table or column is missing or has another type.
  func layout(
    _ document: ModelDocument, configuration: String?, allowsMissing: Bool = false, keepsMissingIndexes: Bool = false
  ) throws -> StoreSchema {
    let catalog = try database.catalog()
    let schema = try StoreSchema(
      document: document, configuration: configuration, catalog: catalog, primaryKeys: primaryKeys(),
      allowsMissing: allowsMissing, keepsMissingIndexes: keepsMissingIndexes)
    try schema.checkColumnTypes(in: catalog)
    return schema
  }

  var database: PostgreSQLDatabase { PostgreSQLDatabase(connection, schema: address.schema) }

  // MARK: Housekeeping tables

  /// Returns all metadata, including the UUID.
  ///
  /// - Throws: `StoreFileProblem.unreadableMetadata` if the metadata is missing or cannot be read.
  func metadata() throws -> [String: Any] { try metadataRow("''").metadata }

  /// Returns all metadata, and the value of an expression over the row that has them.
  ///
  /// - Throws: `StoreFileProblem.unreadableMetadata` if the metadata is missing or cannot be read.
  func metadataRow(_ expression: String) throws -> (metadata: [String: Any], value: String) {
    let rows = try connection.query(
      "SELECT z_uuid, z_plist, \(expression) FROM z_metadata ORDER BY z_version DESC LIMIT 1")
    guard rows.count == 1, !rows.isNull(0, 0), !rows.isNull(0, 1) else {
      throw StoreFileProblem.unreadableMetadata(path: place, found: "the table z_metadata holds none")
    }
    do {
      var metadata = try StoreMetadata.decode(rows.data(0, 1))
      metadata[StoreMetadata.Key.uuid] = rows.string(0, 0)
      metadata[StoreMetadata.Key.type] = NSPostgreSQLStoreType
      return (metadata, rows.string(0, 2))
    } catch let problem as PropertyLists.Unreadable {
      throw StoreFileProblem.unreadableMetadata(
        path: place, found: "z_metadata.z_plist is damaged. \(problem.description)")
    }
  }

  /// Replaces all metadata; the UUID only if the dictionary contains one.
  func setMetadata(_ metadata: [String: Any]) throws {
    let list = PostgreSQLValue.bytes(try StoreMetadata.encode(metadata))
    if let identifier = metadata[StoreMetadata.Key.uuid] as? String {
      _ = try connection.run("UPDATE z_metadata SET z_uuid = $1, z_plist = $2", [.text(identifier), list])
    } else {
      _ = try connection.run("UPDATE z_metadata SET z_plist = $1", [list])
    }
  }

  /// Returns the rows of `z_primarykey`.
  ///
  /// - Throws: `StoreFileProblem` if they contradict each other.
  func primaryKeys() throws -> [PrimaryKeyRow] {
    do {
      return try PrimaryKeyRow.read(database)
    } catch let problem as PrimaryKeyProblem {
      throw StoreFileProblem.contradictoryEntities(path: place, problem)
    }
  }

  /// Returns the model that the store contains, or nil if there is none.
  func cachedModel() throws -> ModelDocument? {
    guard try has("z_modelcache") else { return nil }
    let rows = try connection.query("SELECT z_content FROM z_modelcache LIMIT 1")
    guard rows.count == 1, !rows.isNull(0, 0) else { return nil }
    do {
      return try ModelCache.decode(rows.data(0, 0))
    } catch {
      throw StoreFileProblem.unreadableMetadata(path: place, found: "the model in z_modelcache is damaged. \(error)")
    }
  }

  func setCachedModel(_ document: ModelDocument) throws {
    _ = try connection.run(
      "UPDATE z_modelcache SET z_content = $1", [.bytes(try StoreFile.modelCache(of: document))])
  }

  private var place: String { url?.locationText ?? address.redacted }
}
