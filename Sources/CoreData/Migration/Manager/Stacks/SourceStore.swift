// OpenCoreData
// SPDX-License-Identifier: Apache-2.0

import CoreDataFileSystem
import CoreDataSQLite
import CoreDataStoreFiles
import Foundation

/// The store that a migration reads, in its state at the beginning, including its write-ahead log. It is never changed.
struct SourceStore {
  let stack: MigrationStack
  let configuration: String?
  let metadata: [String: Any]
  private let url: URL
  private let hadLog: Bool
  private let checksPages: Bool

  /// - Throws: 134150 if the store does not exist, cannot be read, or does not match the source model.
  init(_ model: NSManagedObjectModel, at url: URL, options: [AnyHashable: Any]?) throws {
    self.url = url
    hadLog = FileManager.default.fileExists(atPath: DatabaseFile.target(of: url.path) + "-wal")
    do {
      metadata = try SQLiteStore.metadataForPersistentStore(with: url)
      guard let found = model.configurationNames(fitting: metadata).first else {
        throw StoreCompatibility.error(metadata: metadata, model: model, configuration: nil, url: url)
      }
      configuration = found
      var options = options ?? [:]
      options[NSReadOnlyPersistentStoreOption] = true
      options[NSIgnorePersistentStoreVersioningOption] = nil
      stack = try MigrationStack(model: model, configuration: configuration, at: url, options: options)
      try stack.store.beginReading()
      checksPages = try StoreOptions(options).integrityCheck() != .never
    } catch {
      throw MigrationErrors.unusableSource(url: url, error as NSError)
    }
  }

  /// Makes SQLite verify the store's pages while a body reads it, unless the options of the store disable that.
  ///
  /// - Throws: the errors of the body; 134150 for damaged pages.
  func checkingPages<Result>(isCancelled: () -> Bool, during body: () throws -> Result) throws -> Result {
    guard checksPages else { return try body() }
    do {
      return try stack.store.checkingPages(isCancelled: isCancelled, during: body)
    } catch let failure as PageCheck.Failure {
      throw MigrationErrors.unusableSource(
        url: url, ErrorTranslation.translated(failure.cause, url: url, during: .use) as NSError)
    }
  }

  /// Closes the store, and removes the empty log that reading a store in WAL mode creates if there was none.
  func close() {
    stack.close()
    let log = DatabaseFile.target(of: url.path) + "-wal"
    guard !hadLog, FileManager.default.fileExists(atPath: log) else { return }
    // SQLite itself removes these files when the last connection that may write closes, and knows whether there are
    // others. For a read-only store, the two empty files remain, which is not an error.
    guard let connection = try? SQLiteConnection(url: url, mode: .readWrite) else { return }
    _ = try? connection.pragma("schema_version")
    try? connection.close()
  }
}

/// The source attached to the destination's connection, so that one statement can read from one and write to the other.
struct AttachedSource {
  /// The schema name, as in `name.table`.
  static let name = "SOURCE"

  private let source: MigrationStack
  private let connection: SQLiteConnection
  private let version: SQLiteValue?
  /// The reason why statements on the destination's connection cannot be used: they might see a state other than the
  /// one from which source objects are read. A predicate whose subject is an entity mapping; nil if they can be used.
  private(set) var obstacle: String?

  /// Attaches the source. Must be called before the destination's transaction begins, because SQLite cannot attach a
  /// database inside one.
  init(_ source: MigrationStack, to destination: MigrationStack) throws {
    self.source = source
    connection = try destination.store.state().connection
    do {
      try connection.attach(source.store.state().connection.path, as: Self.name)
      version = try connection.scalar("PRAGMA \(Self.name).data_version")
    } catch {
      version = nil
      obstacle = "cannot read its source on the destination's connection: \(error)"
    }
  }

  /// Makes all connections read the same state of the source from now on. Must be called after the destination's
  /// transaction has begun.
  mutating func hold() throws {
    guard obstacle == nil else { return }
    // The source's own snapshots are taken between two reads of this connection. If these read the same version,
    // nothing was written in between.
    try source.store.endReading()
    try source.store.beginReading()
    _ = try connection.scalar("SELECT COUNT(*) FROM \(Self.name).Z_METADATA")
    if try connection.scalar("PRAGMA \(Self.name).data_version") != version {
      obstacle = "has a source that was written to when the migration began"
    }
  }

  /// Detaches the source after the transaction.
  func detach() throws {
    guard version != nil else { return }
    try connection.detach(Self.name)
  }
}

/// The check for source rows that no entity mapping sees, because their table holds several entities and their
/// `Z_ENT` is the number of none of them.
enum StrayRows {
  /// - Throws: 134110 if there are such rows, which a migration would lose.
  static func check(_ schema: StoreSchema, _ connection: SQLiteConnection, url: URL?) throws {
    for table in schema.tables {
      let numbers = schema.entities(inTable: table.name).map(\.number)
      guard numbers.count > 1 else { continue }
      let list = numbers.map(String.init).joined(separator: ", ")
      let sql =
        "SELECT Z_PK, Z_ENT FROM main.\(SQLName.quoted(table.name)) WHERE IFNULL(Z_ENT NOT IN (\(list)), 1) LIMIT 1"
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
