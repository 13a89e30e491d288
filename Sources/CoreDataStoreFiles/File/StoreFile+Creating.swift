// OpenCoreData
// SPDX-License-Identifier: Apache-2.0

import CoreDataFileSystem
import CoreDataModelFiles
import CoreDataSQLite
import Foundation

extension StoreFile {
  /// Makes a new store, with the tables of a model's configuration and without rows.
  ///
  /// The store is made under another name in the same folder, and gets its own when it is complete: after a failure
  /// nothing is left behind, and nobody sees half a store.
  ///
  /// - Parameters:
  ///   - url: where; an empty file there is replaced.
  ///   - document: the model.
  ///   - configuration: the configuration; nil for all entities.
  ///   - metadata: further metadata, `NSStoreUUID` among them where it is not to be a new one.
  ///   - pragmas: by name; `page_size` and `journal_mode` are heeded here, the rest when the store is opened.
  /// - Throws: `SchemaProblem` for a model that cannot be stored; `SQLiteError` and errors of the file system.
  package static func create(
    at url: URL, document: ModelDocument, configuration: String? = nil, metadata: [String: Any] = [:],
    pragmas: [String: String] = [:]
  ) throws {
    try create(
      at: url, document: document, configuration: configuration, metadata: metadata, pragmas: pragmas, filling: nil)
  }

  /// Makes a new store in memory, which ends with its connection.
  ///
  /// - Parameter url: what the store is called: `/dev/null`.
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

  /// What puts rows into a store while it is made.
  package struct Filling {
    /// Called before the transaction in which the store is made.
    package let prepare: (SQLiteConnection) throws -> Void
    /// Called when there are tables, but no indexes yet: they are made faster over rows than along with them.
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

  /// Makes a new store with rows, as `create` makes one without.
  ///
  /// Nothing is written twice and nothing is waited for until the store is complete; then it is synced, and gets its name.
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
        // Closing folds the log in, too, but does not tell where that fails; the log would stay under the old name then.
        _ = try connection.checkpoint(.truncate)
        try connection.close()
      } catch {
        // The error that broke the creation is the one to be told.
        try? connection.close()
        throw error
      }
      if filling != nil { try synchronize(draft) }
      try putInPlace(draft, at: url)
    } catch {
      // As above; what cannot be removed has a name that nobody looks for.
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

  /// How many KiB of pages are kept in memory while a store is filled; indexes are sorted in as much.
  ///
  /// Rows and sorted indexes come in order and need next to nothing; keys of join tables may come in any order.
  private static let fillingCache: Int64 = 4 * 1024

  /// Waits until a file is on the disk.
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
      // Leftovers of an empty database do not belong to the one that takes its place.
      for suffix in ["-wal", "-shm", "-journal"] { try FileCalls.removeFile(URL(fileURLWithPath: url.path + suffix)) }
      try files.removeItem(at: url)
    }
    try files.moveItem(at: draft, to: url)
    try FileCalls.synchronize(url.deletingLastPathComponent())
  }
}
