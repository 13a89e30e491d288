// OpenCoreData
// SPDX-License-Identifier: Apache-2.0

import CoreDataFileSystem
import CoreDataModelFiles
import CoreDataSQLite
import Foundation

/// A Core Data store as a file, with its housekeeping tables, which can be read without a model.
package final class StoreFile {
  package let url: URL
  package let connection: SQLiteConnection
  /// The directory of the private copy that the store is read from; nil if it is read in place.
  private let copy: PrivateDirectory?
  /// The state of the files when they were opened without locks.
  let stamps: [[Int64]?]?

  package init(url: URL, connection: SQLiteConnection, copy: PrivateDirectory? = nil, stamps: [[Int64]?]? = nil) {
    self.url = url
    self.connection = connection
    self.copy = copy
    self.stamps = stamps
  }

  deinit {
    guard let copy else { return }
    // The copy is no longer needed. It is private, and the next copy of the same store removes it.
    try? connection.close()
    try? copy.remove()
  }

  /// Whether the store is read from a private copy.
  package var isCopy: Bool { copy != nil }

  /// The sizes of the file and of its write-ahead log, in bytes.
  package var sizes: (store: Int, log: Int) {
    let path = DatabaseFile.target(of: url.path)
    return (Int(FileCalls.size(URL(fileURLWithPath: path))), Int(FileCalls.size(URL(fileURLWithPath: path + "-wal"))))
  }

  /// Whether the store cannot be written.
  package var isReadOnly: Bool { copy != nil || connection.isReadOnly }

  package func close() throws { try connection.close() }

  // MARK: Housekeeping tables

  /// Returns all metadata, including the UUID.
  ///
  /// If `Z_PLIST` is empty, the metadata is derived from the model cached in the store; values set by apps are lost.
  ///
  /// - Throws: `StoreFileProblem` if there is no metadata or it cannot be read.
  package func metadata() throws -> [String: Any] { try readMetadata().metadata }

  /// As `metadata()`, with whether the metadata was derived from the model cached in the store.
  package func readMetadata() throws -> (metadata: [String: Any], isDerived: Bool) {
    let rows = try connection.rows("SELECT Z_UUID, Z_PLIST FROM Z_METADATA ORDER BY Z_VERSION DESC LIMIT 1")
    guard let row = rows.first else {
      throw StoreFileProblem.unreadableMetadata(path: url.path, found: "the table Z_METADATA holds none")
    }
    var metadata: [String: Any]
    do {
      guard let list = row[1].blob ?? row[1].text.map({ Data($0.utf8) }), !list.isEmpty else {
        var derived = try derivedMetadata()
        derived[StoreMetadata.Key.uuid] = row[0].text
        return (derived, true)
      }
      metadata = try StoreMetadata.decode(list)
    } catch let problem as PropertyLists.Unreadable {
      throw StoreFileProblem.unreadableMetadata(
        path: url.path,
        found: "Z_METADATA.Z_PLIST, \(row[1].blob?.count ?? 0) bytes, is damaged. \(problem.description)")
    }
    metadata[StoreMetadata.Key.uuid] = row[0].text
    if metadata[StoreMetadata.Key.type] == nil { metadata[StoreMetadata.Key.type] = StoreMetadata.sqliteType }
    return (metadata, false)
  }

  /// Whether the store has no metadata of its own.
  package func lacksMetadata() throws -> Bool {
    let list = try connection.scalar("SELECT Z_PLIST FROM Z_METADATA ORDER BY Z_VERSION DESC LIMIT 1")
    return (list?.blob ?? list?.text.map { Data($0.utf8) } ?? Data()).isEmpty
  }

  private func derivedMetadata() throws -> [String: Any] {
    let document: ModelDocument?
    do {
      document = try cachedModel()
    } catch let error as ModelFileError {
      throw StoreFileProblem.unreadableMetadata(
        path: url.path,
        found: "Z_METADATA.Z_PLIST is empty, and the model that the store carries cannot be read. \(error)")
    }
    guard let document else {
      throw StoreFileProblem.unreadableMetadata(
        path: url.path, found: "Z_METADATA.Z_PLIST is empty, and the store carries no model")
    }
    let names = try primaryKeys().filter { $0.number <= PrimaryKeyRow.maxEntityNumber }.map(\.name)
    return try StoreMetadata.derived(from: document, entities: names)
  }

  /// Replaces all metadata; the UUID only if the dictionary contains one.
  package func setMetadata(_ metadata: [String: Any]) throws {
    let list = try StoreMetadata.encode(metadata)
    try connection.transaction {
      if let identifier = metadata[StoreMetadata.Key.uuid] as? String {
        try connection.run("UPDATE Z_METADATA SET Z_UUID = ?, Z_PLIST = ?", [.text(identifier), .blob(list)])
      } else {
        try connection.run("UPDATE Z_METADATA SET Z_PLIST = ?", [.blob(list)])
      }
    }
  }

  /// Returns the rows of `Z_PRIMARYKEY` by entity number.
  ///
  /// - Throws: `StoreFileProblem` if they contradict each other.
  package func primaryKeys() throws -> [PrimaryKeyRow] {
    do {
      return try PrimaryKeyRow.read(connection)
    } catch let problem as PrimaryKeyProblem {
      throw StoreFileProblem.contradictoryEntities(path: url.path, problem)
    }
  }

  /// Replaces the rows of `Z_PRIMARYKEY`, except those of persistent history.
  package func setPrimaryKeys(_ rows: [PrimaryKeyRow]) throws {
    try connection.run("DELETE FROM Z_PRIMARYKEY WHERE Z_ENT <= \(PrimaryKeyRow.maxEntityNumber)")
    for row in rows {
      try connection.run(
        "INSERT INTO Z_PRIMARYKEY (Z_ENT, Z_NAME, Z_SUPER, Z_MAX) VALUES (?, ?, ?, ?)",
        [.integer(Int64(row.number)), .text(row.name), .integer(Int64(row.parentNumber)), .integer(row.maximum)])
    }
  }

  /// Returns the model cached in the store; nil if there is none, as in stores of old systems.
  package func cachedModel() throws -> ModelDocument? {
    guard try connection.hasTable("Z_MODELCACHE"),
      let content = try connection.scalar("SELECT Z_CONTENT FROM Z_MODELCACHE LIMIT 1")?.blob, !content.isEmpty
    else { return nil }
    return try ModelCache.decode(content)
  }

  /// Returns the content of `Z_MODELCACHE` for a model.
  ///
  /// - Throws: `StoreFileProblem.unkeepableModel` if the model holds a value that cannot be archived.
  package static func modelCache(of document: ModelDocument) throws -> Data {
    do {
      return try ModelCache.encode(document)
    } catch let error as ModelFileError {
      throw StoreFileProblem.unkeepableModel(error)
    }
  }

  /// Replaces the model cached in the store.
  package func setCachedModel(_ document: ModelDocument) throws {
    let content = SQLiteValue.blob(try Self.modelCache(of: document))
    try connection.transaction {
      if try !connection.hasTable("Z_MODELCACHE") { try connection.run("CREATE TABLE Z_MODELCACHE (Z_CONTENT BLOB)") }
      try connection.run("DELETE FROM Z_MODELCACHE")
      try connection.run("INSERT INTO Z_MODELCACHE (Z_CONTENT) VALUES (?)", [content])
    }
  }

  /// Returns the layout of a model's entities in this file.
  ///
  /// - Parameter allowsMissing: whether missing tables and columns get the names of a new store, instead of being an
  ///   error.
  package func schema(
    for document: ModelDocument, configuration: String? = nil, allowsMissing: Bool = false
  ) throws -> StoreSchema {
    try StoreSchema(
      document: document, configuration: configuration, catalog: try connection.catalog(), primaryKeys: primaryKeys(),
      allowsMissing: allowsMissing)
  }
}

/// The reason a file cannot be used as a store.
package enum StoreFileProblem: Error, Hashable, Sendable {
  /// There is no file, and none may be created.
  case missing(path: String)
  /// A directory, a FIFO, a socket or a device, which is neither opened nor replaced.
  case notRegular(path: String, kind: String)
  /// The file is not a SQLite database, or it is damaged or encrypted.
  case notADatabase(path: String)
  /// The file is shorter than the page count in its header.
  case truncated(path: String, expectedBytes: Int, foundBytes: Int)
  /// A database without Core Data's tables.
  case notAStore(path: String, missingTable: String)
  /// The metadata cannot be read.
  case unreadableMetadata(path: String, found: String)
  /// Other processes kept writing to the store while it was opened.
  case busy(path: String)
  /// The store can be read only from a copy, and no candidate directory has enough space for it.
  case noRoomForCopy(path: String, bytes: Int, places: [String])
  /// SQLite's check of the file finds pages that contradict each other.
  case contradictory(path: String, found: [String])
  /// The rows of `Z_PRIMARYKEY` contradict each other.
  case contradictoryEntities(path: String, PrimaryKeyProblem)
  /// The metadata contains a value that cannot be stored.
  case unwritableMetadata(reason: String)
  /// The store has no cached model: it is older than model caches, or the cache is empty.
  case noModelCache(path: String)
  /// The model contains a value that cannot be archived.
  case unkeepableModel(ModelFileError)
}

extension StoreFileProblem: CustomStringConvertible {
  package var description: String {
    switch self {
    case .missing(let path): "There is no file at \(path)."
    case .notRegular(let path, let kind): "A store is a regular file, and '\(path)' is \(kind). Nothing was changed."
    case .notADatabase(let path):
      "The file at \(path) is not a SQLite database, or it is encrypted or damaged."
    case .truncated(let path, let expected, let found):
      "The file at \(path) has been cut off: it has \(found) bytes of \(expected)."
    case .notAStore(let path, let table):
      "The file at \(path) is a SQLite database but not a Core Data store: it has no table \(table)."
    case .unreadableMetadata(let path, let found):
      "The metadata of the store at \(path) cannot be read: \(found)\(found.hasSuffix(".") ? "" : ".")"
    case .busy(let path):
      "Other processes kept writing to the file at \(path) while it was read."
    case .noRoomForCopy(let path, let bytes, let places):
      "The store at \(path) has a write-ahead log and can be read only from a copy of \(max(bytes >> 20, 1)) MB, for which "
        + "there is no room in \(places.joined(separator: ", ")). Free as much in one of them, or set TMPDIR to a "
        + "directory that has room."
    case .contradictory(let path, let found):
      "SQLite finds that the pages of the file at \(path) contradict each other: \(found.joined(separator: "; "))."
    case .contradictoryEntities(let path, let problem):
      "The store at \(path) contradicts itself. \(problem)"
    case .unwritableMetadata(let reason): reason
    case .unkeepableModel(let error): "The model cannot be kept in the store: \(error)"
    case .noModelCache(let path):
      "The store at \(path) carries no model; name the model that it was made with."
    }
  }
}

extension StoreFile {
  /// Creates an empty store with the tables of a model's configuration.
  ///
  /// The store is created under a temporary name in the same directory and renamed when it is complete, so that no
  /// other process sees an incomplete store, and a failure leaves nothing behind.
  ///
  /// - Parameters:
  ///   - url: the location of the store; an empty file there is replaced.
  ///   - document: the model.
  ///   - configuration: the configuration; nil for all entities.
  ///   - metadata: additional metadata; `NSStoreUUID` replaces the new identifier.
  ///   - pragmas: by name; only `page_size` and `journal_mode` are applied here, the others when the store is opened.
  /// - Throws: `SchemaProblem` for a model that cannot be stored; `SQLiteError` and file system errors;
  ///   `StoreFileProblem.notAStore` for a file that is not empty.
  package static func create(
    at url: URL, document: ModelDocument, configuration: String? = nil, metadata: [String: Any] = [:],
    pragmas: [String: String] = [:]
  ) throws {
    guard
      try createUnlessPresent(
        at: url, document: document, configuration: configuration, metadata: metadata, pragmas: pragmas)
    else { throw StoreFileProblem.notAStore(path: url.path, missingTable: "Z_METADATA") }
  }

  /// Creates an empty store like `create(at:document:configuration:metadata:pragmas:)`, unless another process has
  /// created one there meanwhile.
  ///
  /// - Returns: whether this store was created.
  /// - Throws: the same errors as that method, except for a file that is not empty.
  package static func createUnlessPresent(
    at url: URL, document: ModelDocument, configuration: String?, metadata: [String: Any], pragmas: [String: String]
  ) throws -> Bool {
    let draft = draft(of: url)
    // Otherwise, the store could be created, but not opened.
    guard TemporaryName.leavesRoom(url), TemporaryName.leavesRoom(draft) else {
      throw FileFailure(operation: "create the store", path: url.path, number: ENAMETOOLONG)
    }
    _ = try isNew(url)
    let schema = try StoreSchema(document: document, configuration: configuration)
    var metadata = metadata.merging(try StoreMetadata.ofModel(document, configuration: configuration)) { $1 }
    let identifier = metadata.removeValue(forKey: StoreMetadata.Key.uuid) as? String ?? UUID().uuidString
    do {
      let connection = try SQLiteConnection(url: draft, mode: .create)
      do {
        try fill(connection, schema, document, identifier, metadata, pragmas)
        // Closing checkpoints the log too, but does not report failures, which would leave a log under the temporary
        // name.
        _ = try connection.checkpoint(.truncate)
        try connection.close()
      } catch {
        // The error that is being thrown takes precedence.
        try? connection.close()
        throw error
      }
      let isPlaced = try putInPlace(draft, at: url)
      if !isPlaced { try FileManager.default.removeItem(at: draft) }
      return isPlaced
    } catch {
      // As above; leftover files have a temporary name and are harmless.
      for suffix in ["", "-wal", "-shm", "-journal"] {
        try? FileManager.default.removeItem(atPath: draft.path + suffix)
      }
      throw error
    }
  }

  /// Returns a temporary name beside a store.
  private static func draft(of url: URL) -> URL {
    let folder = url.deletingLastPathComponent()
    let suffix = ".\(UUID().uuidString.prefix(8)).new"
    let stem = TemporaryName.stem(of: url, besides: folder.path.utf8.count + "/.".utf8.count + suffix.utf8.count)
    return folder.appendingPathComponent(".\(stem)\(suffix)")
  }

  /// Creates an in-memory store, which lives as long as its connection.
  ///
  /// - Parameter url: the store's URL, `/dev/null`.
  /// - Throws: the same errors as `create(at:document:configuration:metadata:pragmas:)`.
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
      try connection.create(schema.entityStatements)
      for statement in DerivedTriggers.statements(schema, document) { try connection.run(statement.sql) }
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

  /// - Returns: false if another process has created a store there meanwhile.
  private static func putInPlace(_ draft: URL, at url: URL) throws -> Bool {
    let files = FileManager.default
    // Another process may create the same store. Without the lock it could remove this store's files as leftovers.
    let folder = try OpenDirectory.open(url.deletingLastPathComponent())
    try folder.lock()
    guard try isNew(url) else { return false }
    try StoreFiles.setOrphanedLogsAside(of: url)
    if files.fileExists(atPath: url.path) {
      // Files left beside an empty database do not belong to the one that replaces it.
      for suffix in ["-wal", "-shm", "-journal"] { try FileCalls.removeFile(URL(fileURLWithPath: url.path + suffix)) }
      try files.removeItem(at: url)
    } else if FileCalls.isSymbolicLink(url) {
      // A broken symbolic link is replaced too.
      try FileCalls.removeFile(url)
    }
    guard try FileCalls.renameToNew(draft, to: url) else { return false }
    try FileCalls.synchronize(url.deletingLastPathComponent())
    return true
  }
}
