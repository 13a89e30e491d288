// OpenCoreData
// SPDX-License-Identifier: Apache-2.0

import CoreDataSQLite
import CoreDataStoreFiles
import Foundation

/// The store that a migration reads: as it was at the beginning, with what its write-ahead log holds, and never changed.
struct SourceStore {
  let stack: MigrationStack
  let configuration: String?
  let metadata: [String: Any]
  private let url: URL
  private let hadLog: Bool

  /// - Throws: 134150 when the store is not there, cannot be read, or is not of the source model.
  init(_ model: NSManagedObjectModel, at url: URL, options: [AnyHashable: Any]?) throws {
    self.url = url
    hadLog = FileManager.default.fileExists(atPath: DatabaseFile.target(of: url.path) + "-wal")
    do {
      metadata = try SQLiteStore.metadataForPersistentStore(with: url)
      guard let found = Self.configuration(of: model, fitting: metadata) else {
        throw StoreCompatibility.error(metadata: metadata, model: model, configuration: nil, url: url)
      }
      configuration = found.name
      var options = options ?? [:]
      options[NSReadOnlyPersistentStoreOption] = true
      options[NSIgnorePersistentStoreVersioningOption] = nil
      stack = try MigrationStack(model: model, configuration: configuration, at: url, options: options)
      try stack.store.beginReading()
      if try StoreOptions(options).integrityCheck() != .never { try stack.store.checkIntegrity() }
    } catch {
      let error = error as NSError
      throw MigrationErrors.sourceStore(
        url: url,
        reason: "The source store cannot be used: \(error.localizedFailureReason ?? error.localizedDescription)",
        underlying: error)
    }
  }

  /// The configuration that a store was made with; no configuration where all entities fit.
  static func configuration(
    of model: NSManagedObjectModel, fitting metadata: [String: Any]
  ) -> (name: String?, Void)? {
    if model.isConfiguration(withName: nil, compatibleWithStoreMetadata: metadata) { return (nil, ()) }
    return model.configurations.first { model.isConfiguration(withName: $0, compatibleWithStoreMetadata: metadata) }
      .map { ($0, ()) }
  }

  /// Closes the store, and takes away the empty log that reading a store in WAL mode leaves where there was none.
  func close() {
    stack.close()
    let log = DatabaseFile.target(of: url.path) + "-wal"
    guard !hadLog, FileManager.default.fileExists(atPath: log) else { return }
    // SQLite itself removes the files when the last user who may write goes, and knows whether others are there. A store
    // that may not be written keeps two files that hold nothing; that is no reason to fail.
    guard let connection = try? SQLiteConnection(url: url, mode: .readWrite) else { return }
    _ = try? connection.pragma("schema_version")
    try? connection.close()
  }
}

/// The source on the destination's connection, so that one statement reads the one and writes the other.
struct AttachedSource {
  /// The name before the dot in `name.table`.
  static let name = "SOURCE"

  private let source: MigrationStack
  private let connection: SQLiteConnection
  private let version: SQLiteValue?
  /// Why statements on the destination's connection do not see the source that the source's objects are read from; a
  /// predicate of which an entity mapping is the subject.
  private(set) var obstacle: String?

  /// Attaches the source. The destination's transaction must not have begun: SQLite attaches nothing inside one.
  init(_ source: MigrationStack, to destination: MigrationStack) throws {
    self.source = source
    connection = try destination.store.state().connection
    do {
      try connection.attach(source.store.state().connection.path, as: Self.name)
      version = try connection.scalar("PRAGMA \(Self.name).data_version")
    } catch {
      version = nil
      obstacle = "cannot have its source read by the destination's connection: \(error)"
    }
  }

  /// Has both connections read one and the same state of the source from now on, whoever writes to it. The destination's
  /// transaction has begun.
  mutating func hold() throws {
    guard obstacle == nil else { return }
    // The source's own snapshot lies between two looks of this connection: equal versions mean that nobody wrote.
    try source.store.endReading()
    try source.store.beginReading()
    _ = try connection.scalar("SELECT COUNT(*) FROM \(Self.name).Z_METADATA")
    if try connection.scalar("PRAGMA \(Self.name).data_version") != version {
      obstacle = "has a source that was written to as the migration began"
    }
  }

  /// Detaches the source, after the transaction.
  func detach() throws {
    guard version != nil else { return }
    try connection.detach(Self.name)
  }
}

/// Finds rows of a source that no entity mapping can see: their table holds several entities, and their `Z_ENT` is the number
/// of none of them.
enum StrayRows {
  /// - Parameter database: the name under which the connection has the source.
  /// - Throws: 134110 where there are such rows; a migration would lose them.
  static func check(
    _ schema: StoreSchema, _ connection: SQLiteConnection, database: String = "main", url: URL?
  ) throws {
    for table in schema.tables {
      let numbers = schema.entities.filter { $0.table == table.name }.map(\.number)
      guard numbers.count > 1 else { continue }
      let list = numbers.map(String.init).joined(separator: ", ")
      let name = "\(database).\(SQLName.quoted(table.name))"
      let sql = "SELECT Z_PK, Z_ENT FROM \(name) WHERE IFNULL(Z_ENT NOT IN (\(list)), 1) LIMIT 1"
      guard let row = try connection.rows(sql).first else { continue }
      throw MigrationErrors.failed(
        url: url,
        reason:
          "The row \(row[0].literal) of the table \(table.name) is of an entity with the number \(row[1].shortLiteral), which "
          + "the store's model does not have there; the table holds the entities with the numbers \(list).",
        suggestion: "Restore the store from a backup, or correct Z_ENT in such rows.", entity: table.rootEntity)
    }
  }
}
