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
    _ = try isNew(url)
    let schema = try StoreSchema(document: document, configuration: configuration)
    var metadata = metadata.merging(try StoreMetadata.ofModel(document, configuration: configuration)) { $1 }
    let identifier = metadata.removeValue(forKey: StoreMetadata.Key.uuid) as? String ?? UUID().uuidString
    let draft = url.deletingLastPathComponent()
      .appendingPathComponent(".\(url.lastPathComponent).\(UUID().uuidString).new")
    do {
      let connection = try SQLiteConnection(url: draft, mode: .create)
      do {
        try fill(connection, schema, document, identifier, metadata, pragmas)
        // Closing checkpoints the log too, but does not report a failure, which would leave a log under the temporary name.
        _ = try connection.checkpoint(.truncate)
        try connection.close()
      } catch {
        // Why the store could not be created is what matters.
        try? connection.close()
        throw error
      }
      try putInPlace(draft, at: url)
    } catch {
      // As above; leftovers have a temporary name and are harmless.
      for suffix in ["", "-wal", "-shm", "-journal"] {
        try? FileManager.default.removeItem(atPath: draft.path + suffix)
      }
      throw error
    }
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
    try fill(connection, schema, document, identifier, metadata, pragmas)
    return StoreFile(url: url, connection: connection)
  }

  private static func fill(
    _ connection: SQLiteConnection, _ schema: StoreSchema, _ document: ModelDocument, _ identifier: String,
    _ metadata: [String: Any], _ pragmas: [String: String]
  ) throws {
    let list = try StoreMetadata.encode(metadata)
    let cache = try modelCache(of: document)
    try connection.setPragma("page_size", to: .text(pragmas["page_size"] ?? "4096"))
    try connection.setPragma("auto_vacuum", to: 2)
    try connection.setPragma("journal_mode", to: .text(pragmas["journal_mode"] ?? "WAL"))
    try connection.transaction(.exclusive) {
      for statement in schema.tableStatements { try connection.run(statement.sql) }
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
    }
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
