// OpenCoreData
// SPDX-License-Identifier: Apache-2.0

import CoreDataFileSystem
import CoreDataModelFiles
import CoreDataSQLite
import Foundation

extension StoreFile {
  /// Creates an empty store with the tables of a model's configuration.
  ///
  /// The store is created under a temporary name in the same directory and renamed when it is complete, so that nobody sees
  /// an incomplete store, and a failure leaves nothing behind.
  ///
  /// - Parameters:
  ///   - url: where; an empty file there is replaced.
  ///   - document: the model.
  ///   - configuration: the configuration; nil for all entities.
  ///   - metadata: additional metadata; `NSStoreUUID` replaces the new identifier.
  ///   - pragmas: by name; only `page_size` and `journal_mode` are applied here, the others when the store is opened.
  /// - Throws: `SchemaProblem` for a model that cannot be stored; `SQLiteError` and errors of the file system.
  package static func create(
    at url: URL, document: ModelDocument, configuration: String? = nil, metadata: [String: Any] = [:],
    pragmas: [String: String] = [:]
  ) throws {
    try create(
      at: url, document: document, configuration: configuration, metadata: metadata, pragmas: pragmas, filling: nil)
  }

  /// Creates a store in memory, which ends with its connection.
  ///
  /// - Parameter url: the store's URL, `/dev/null`.
  /// - Throws: as `create(at:document:configuration:metadata:pragmas:)`.
  package static func createInMemory(
    _ url: URL, document: ModelDocument, configuration: String?, metadata: [String: Any], pragmas: [String: String]
  ) throws -> StoreFile {
    let schema = try StoreSchema(document: document, configuration: configuration)
    var metadata = metadata.merging(try StoreMetadata.ofModel(document, configuration: configuration)) { $1 }
    let identifier = metadata.removeValue(forKey: StoreMetadata.Key.uuid) as? String ?? UUID().uuidString
    var pragmas = pragmas
    pragmas["journal_mode"] = "MEMORY"
    let connection = try SQLiteConnection.inMemory()
    try fill(connection, schema, document, identifier, metadata, pragmas, nil)
    return StoreFile(url: url, connection: connection)
  }

  /// Inserts rows into a store while it is created.
  package struct Filling {
    /// Called before the transaction that creates the store.
    package let prepare: (SQLiteConnection) throws -> Void
    /// Called when there are tables but no indexes yet, which are created faster after the rows are inserted.
    package let fill: (SQLiteConnection) throws -> Void
    /// Called when everything else is there.
    package let finish: (SQLiteConnection) throws -> Void
    /// Called after the transaction.
    package let close: (SQLiteConnection) throws -> Void

    package init(
      prepare: @escaping (SQLiteConnection) throws -> Void, fill: @escaping (SQLiteConnection) throws -> Void,
      finish: @escaping (SQLiteConnection) throws -> Void, close: @escaping (SQLiteConnection) throws -> Void
    ) {
      self.prepare = prepare
      self.fill = fill
      self.finish = finish
      self.close = close
    }
  }

  /// Creates a store with rows.
  ///
  /// It is written without a journal and synced once, when it is complete; then it gets its name.
  package static func create(
    at url: URL, document: ModelDocument, configuration: String?, metadata: [String: Any],
    pragmas: [String: String], filling: Filling?
  ) throws {
    _ = try isNew(url)
    let schema = try StoreSchema(document: document, configuration: configuration)
    var metadata = metadata.merging(try StoreMetadata.ofModel(document, configuration: configuration)) { $1 }
    let identifier = metadata.removeValue(forKey: StoreMetadata.Key.uuid) as? String ?? UUID().uuidString
    let draft = url.deletingLastPathComponent()
      .appendingPathComponent(".\(url.lastPathComponent).\(UUID().uuidString).new")
    do {
      let connection = try SQLiteConnection(url: draft, mode: .create)
      do {
        try fill(connection, schema, document, identifier, metadata, pragmas, filling)
        // Closing checkpoints the log too, but does not report a failure, which would leave a log under the temporary name.
        _ = try connection.checkpoint(.truncate)
        try connection.close()
      } catch {
        // Why the store could not be created is what matters.
        try? connection.close()
        throw error
      }
      if filling != nil { try synchronize(draft) }
      try putInPlace(draft, at: url)
    } catch {
      // As above; leftovers have a temporary name and are harmless.
      for suffix in ["", "-wal", "-shm", "-journal"] {
        try? FileManager.default.removeItem(atPath: draft.path + suffix)
      }
      throw error
    }
  }

  private static func fill(
    _ connection: SQLiteConnection, _ schema: StoreSchema, _ document: ModelDocument, _ identifier: String,
    _ metadata: [String: Any], _ pragmas: [String: String], _ filling: Filling?
  ) throws {
    let list = try StoreMetadata.encode(metadata)
    let cache = try modelCache(of: document)
    try connection.setPragma("page_size", to: .text(pragmas["page_size"] ?? "4096"))
    try connection.setPragma("auto_vacuum", to: 2)
    let mode = SQLiteValue.text(pragmas["journal_mode"] ?? "WAL")
    if let filling {
      try connection.setPragma("journal_mode", to: "MEMORY")
      try connection.setPragma("synchronous", to: "OFF")
      try connection.setPragma("secure_delete", to: 0)
      try connection.setPragma("cache_size", to: .integer(-Self.fillingCache))
      try filling.prepare(connection)
    } else {
      try connection.setPragma("journal_mode", to: mode)
    }
    try connection.transaction(filling == nil ? .exclusive : .deferred) {
      for statement in schema.tableStatements { try connection.run(statement.sql) }
      try filling?.fill(connection)
      for statement in schema.indexes.map(\.statement) { try connection.run(statement.sql) }
      for statement in StoreSchema.housekeepingStatements { try connection.run(statement.sql) }
      for entity in schema.entities {
        try connection.run(
          "INSERT INTO Z_PRIMARYKEY (Z_ENT, Z_NAME, Z_SUPER, Z_MAX) VALUES (?, ?, ?, 0)",
          [.integer(Int64(entity.number)), .text(entity.name), .integer(Int64(entity.parentNumber))])
      }
      try connection.run(
        "INSERT INTO Z_METADATA (Z_VERSION, Z_UUID, Z_PLIST) VALUES (1, ?, ?)", [.text(identifier), .blob(list)])
      try connection.run("INSERT INTO Z_MODELCACHE (Z_CONTENT) VALUES (?)", [.blob(cache)])
      try filling?.finish(connection)
    }
    if let filling {
      try filling.close(connection)
      try connection.setPragma("journal_mode", to: mode)
    }
  }

  /// The size of the page cache while a store is filled, in KiB; indexes are sorted in as much memory.
  ///
  /// Rows and sorted indexes are written in order and need little; keys of join tables may come in any order.
  private static let fillingCache: Int64 = 4 * 1024

  /// Syncs a file to disk.
  private static func synchronize(_ file: URL) throws {
    let handle = try FileHandle(forWritingTo: file)
    try handle.synchronize()
    try handle.close()
  }

  private static func putInPlace(_ draft: URL, at url: URL) throws {
    let files = FileManager.default
    try StoreFiles.setDeadLogsAside(of: url)
    if files.fileExists(atPath: url.path) {
      guard try isNew(url) else { throw StoreFileProblem.notAStore(path: url.path, missingTable: "Z_METADATA") }
      // Files left beside an empty database do not belong to the one that replaces it.
      for suffix in ["-wal", "-shm", "-journal"] { try FileCalls.removeFile(URL(fileURLWithPath: url.path + suffix)) }
      try files.removeItem(at: url)
    }
    try files.moveItem(at: draft, to: url)
    try FileCalls.synchronize(url.deletingLastPathComponent())
  }
}
