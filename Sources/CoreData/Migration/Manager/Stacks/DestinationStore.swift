// OpenCoreData
// SPDX-License-Identifier: Apache-2.0

import CoreDataModelFiles
import CoreDataSQLite
import CoreDataStoreFiles
import Foundation

/// The store that a migration writes.
///
/// A new one is built in a folder of its own beside its place, and moved there when it is complete and on the disk: a
/// process that is killed leaves nothing that could be taken for a store. An existing one is appended to in one
/// transaction.
final class DestinationStore {
  let stack: MigrationStack
  private let url: URL
  /// Where a new store is built; nil for one that was there before.
  private let draft: URL?
  /// Whether the store was not there before.
  var isNew: Bool { draft != nil }
  private let journalMode: String
  private let indexes: DeferredIndexes
  private let source: AttachedSource
  /// Why SQL cannot read the source on this store's connection; nil where it can.
  var sqlObstacle: String? { source.obstacle }

  private static let marker = "migration"

  /// - Throws: 134160 when the store cannot be made or opened, or is not of the destination model.
  init(
    _ model: NSManagedObjectModel, at url: URL, options: [AnyHashable: Any]?,
    from source: SourceStore
  ) throws {
    self.url = url
    var pragmas = StoreOptions(options).pragmas
    journalMode = pragmas["journal_mode"] ?? "WAL"
    var opened: MigrationStack?
    var draft: URL?
    do {
      var options = options ?? [:]
      options[NSReadOnlyPersistentStoreOption] = nil
      options[NSIgnorePersistentStoreVersioningOption] = nil
      if try StoreFile.isNew(url) {
        let folder = url.deletingLastPathComponent()
          .appendingPathComponent(".\(url.lastPathComponent).\(UUID().uuidString).\(Self.marker)", isDirectory: true)
        try FileManager.default.createDirectory(at: folder, withIntermediateDirectories: false)
        draft = folder
        // Until it is complete nobody else sees the store, and a failure takes it away as a whole.
        pragmas["journal_mode"] = "MEMORY"
        pragmas["synchronous"] = "OFF"
        // What a table leaves of a page that it gives up was never in the store.
        pragmas["secure_delete"] = "0"
        pragmas["cache_size"] = "-4096"
        options[NSSQLitePragmasOption] = pragmas
        let file = folder.appendingPathComponent(url.lastPathComponent)
        let configuration = source.configuration.flatMap { model.configurations.contains($0) ? $0 : nil }
        try StoreFile.create(
          at: file, document: model.document, configuration: configuration,
          metadata: source.metadata.filter { !StoreMetadata.ownKeys.contains($0.key) }, pragmas: pragmas)
        opened = try MigrationStack(model: model, configuration: configuration, at: file, options: options)
        opened?.store.url = url
      } else {
        let found = try SQLiteStore.metadataForPersistentStore(with: url)
        guard let configuration = SourceStore.configuration(of: model, fitting: found) else {
          throw StoreCompatibility.error(metadata: found, model: model, configuration: nil, url: url)
        }
        opened = try MigrationStack(model: model, configuration: configuration.name, at: url, options: options)
      }
      guard let opened else { throw StoreErrors.operationFailed(url: url, reason: "The store is not open.") }
      stack = opened
      self.draft = draft
      var attached = try AttachedSource(source.stack, to: stack)
      try stack.store.beginWritingBesideAttached()
      try attached.hold()
      self.source = attached
      let indexes = try stack.store.asking { try DeferredIndexes($0, isNew: draft != nil) }
      stack.store.willSearch = { try indexes.prepareSearch($0) }
      self.indexes = indexes
    } catch {
      opened?.close()
      if let draft { Self.remove(draft) }
      let error = Self.translated(error, url)
      throw MigrationErrors.destinationStore(
        url: url,
        reason: "The destination store cannot be used: \(error.localizedFailureReason ?? error.localizedDescription)",
        underlying: error)
    }
  }

  private static func translated(_ error: any Error, _ url: URL) -> NSError {
    do {
      return try SQLiteStoreErrors.translating(url: nil, isOpening: true) {
        try RecoveryErrors.translating(url: url) { throw error }
      }
    } catch {
      return error as NSError
    }
  }

  /// Keeps everything that was written, and closes the store.
  ///
  /// - Throws: 134111 when values that must be unique are not; 134160 when the store cannot be completed. The caller then
  ///   calls `abandon()`.
  func complete() throws {
    try stack.store.asking { try indexes.restore($0, url: url) }
    do {
      try stack.store.commitWriting()
      try stack.store.asking { _ in try source.detach() }
      guard let draft else {
        stack.close()
        return
      }
      try stack.store.asking { _ = try $0.connection.setPragma("journal_mode", to: .text(journalMode)) }
      stack.close()
      try move(draft)
    } catch {
      let error = Self.translated(error, url)
      throw MigrationErrors.destinationStore(
        url: url,
        reason:
          "The destination store cannot be completed: \(error.localizedFailureReason ?? error.localizedDescription)",
        underlying: error)
    }
  }

  /// Puts a complete store at its place: first what it needs, then itself.
  private func move(_ draft: URL) throws {
    let files = FileManager.default
    let store = draft.appendingPathComponent(url.lastPathComponent)
    let support = SupportDirectory(store: url)
    try Durability.synchronize(store)
    var moved: [String] = []
    var isNamed = false
    do {
      if let source = try SupportDirectory(store: store).open() {
        let target = try support.make()
        // Each file has a name of its own; a directory that an earlier attempt has left may hold others.
        for name in try source.names() {
          try source.synchronize(name)
          try source.rename(name, to: target, name)
          moved.append(name)
        }
        try support.synchronize()
      }
      try StoreFiles.setDeadLogsAside(of: url)
      if files.fileExists(atPath: url.path) {
        // An empty file, which SQLite takes for a new database.
        guard try StoreFile.isNew(url) else {
          throw StoreErrors.operationFailed(url: url, reason: "Somebody else has made a store there meanwhile.")
        }
        try files.removeItem(at: url)
      }
      try files.moveItem(at: store, to: url)
      isNamed = true
      try Durability.synchronize(url.deletingLastPathComponent())
    } catch {
      // The error that broke the move is the one to be told. A store must not stay without the files that it names.
      if isNamed { try? files.removeItem(at: url) }
      try? support.remove(moved)
      throw error
    }
    Self.remove(draft)
  }

  /// Undoes everything that was written, and closes the store.
  func abandon() {
    // The error for which the migration has failed is the one to be told; SQLite undoes an open transaction when the
    // store is closed or opened next.
    try? stack.store.rollBackWriting()
    stack.close()
    if let draft { Self.remove(draft) }
  }

  private static func remove(_ draft: URL) {
    // What cannot be removed has a name that nobody looks for.
    try? FileManager.default.removeItem(at: draft)
  }
}

/// Sees to it that files are on the disk, and not only on their way there.
enum Durability {
  /// Synchronizes a file, or the names in a folder.
  static func synchronize(_ url: URL) throws {
    let descriptor = open(url.path, O_RDONLY)
    guard descriptor >= 0 else { throw POSIXError(.init(rawValue: errno) ?? .EIO) }
    defer { close(descriptor) }
    guard fsync(descriptor) == 0 else { throw POSIXError(.init(rawValue: errno) ?? .EIO) }
  }
}

/// The indexes of a destination store, as long as it is being filled.
///
/// Those of a new store are made when all rows are there, which sorts them once instead of finding a place for every row;
/// or before, when somebody asks a question that they answer.
///
/// Uniqueness constraints count at the end and not before, since policies may correct values after the objects were made.
/// Until then an ordinary index stands in for each unique one, so that looking up objects by such values stays fast.
final class DeferredIndexes {
  private struct Entry {
    let index: IndexLayout
    let sql: String
    /// The name of the index in its place; nil for one that is made as it is.
    let standIn: String?
  }

  private let entries: [Entry]
  private var isSearchable = false

  /// Takes away the indexes that are to wait.
  ///
  /// - Parameter isNew: whether the store has no rows yet. Indexes of one that has rows stay, but for unique ones.
  init(_ store: SQLiteStore.Opened, isNew: Bool) throws {
    var entries: [Entry] = []
    for index in store.entities.schema.indexes where isNew || index.isUnique {
      let sql = "SELECT sql FROM sqlite_master WHERE type = 'index' AND name = ?"
      // A store of an old framework has constraints in its tables' definitions, where they count at once.
      guard let text = try store.connection.scalar(sql, [.text(index.name)])?.text else { continue }
      try store.connection.run("DROP INDEX \(SQLName.quoted(index.name))")
      entries.append(Entry(index: index, sql: text, standIn: index.isUnique ? "Z_MIGRATION_\(entries.count)" : nil))
    }
    self.entries = entries
    if !isNew { try prepareSearch(store) }
  }

  /// Sees to it that rows are found without looking at all of them. To be called where what is done is not undone by itself:
  /// not within a savepoint.
  func prepareSearch(_ store: SQLiteStore.Opened) throws {
    if isSearchable { return }
    isSearchable = true
    for entry in entries {
      guard let standIn = entry.standIn else {
        try store.connection.run(entry.sql)
        continue
      }
      let columns = entry.index.elements.map { SQLName.quoted($0.column) }.joined(separator: ", ")
      try store.connection.run("CREATE INDEX \(standIn) ON \(SQLName.quoted(entry.index.table)) (\(columns))")
    }
  }

  /// Makes all indexes as the store is to have them, and has constraints count again.
  ///
  /// - Throws: 134111 with the values that occur several times.
  func restore(_ store: SQLiteStore.Opened, url: URL) throws {
    for entry in entries {
      guard let standIn = entry.standIn else {
        let sql = "SELECT 1 FROM sqlite_master WHERE type = 'index' AND name = ?"
        if try store.connection.scalar(sql, [.text(entry.index.name)]) == nil { try store.connection.run(entry.sql) }
        continue
      }
      do {
        try store.connection.run(entry.sql)
      } catch let failure as SQLiteError where failure.isUniqueConstraint {
        throw try violation(of: entry, store, url, failure)
      }
      try store.connection.run("DROP INDEX IF EXISTS \(standIn)")
    }
  }

  private func violation(
    of entry: Entry, _ store: SQLiteStore.Opened, _ url: URL, _ failure: SQLiteError
  ) throws -> any Error {
    let found = try DuplicateValues(violating: entry.index, of: store.entities.schema, on: store.connection)
    guard let found else { return failure }
    return MigrationErrors.constraintViolation(
      url: url, entity: found.entity, properties: found.properties, values: found.summary, underlying: failure)
  }
}
