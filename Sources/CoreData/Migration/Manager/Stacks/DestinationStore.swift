// OpenCoreData
// SPDX-License-Identifier: Apache-2.0

import CoreDataModelFiles
import CoreDataSQLite
import CoreDataStoreFiles
import Foundation

/// The store that a migration writes.
///
/// A new store is built in a private directory next to its final location, and moved there once it is complete and
/// synced. If the process is killed, nothing is left that could be taken for a store. An existing store is appended
/// to in one transaction.
final class DestinationStore {
  let stack: MigrationStack
  private let url: URL
  /// The directory in which a new store is built; nil for an existing store.
  private let draft: URL?
  /// Whether the migration creates the store.
  var isNew: Bool { draft != nil }
  private let journalMode: String
  private let indexes: DeferredIndexes
  private let source: AttachedSource
  /// Why SQL cannot read the source on this store's connection; nil if it can.
  var sqlObstacle: String? { source.obstacle }

  private static let marker = "migration"

  /// - Throws: 134160 if the store cannot be created or opened, or does not fit the destination model.
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
        // Until the store is complete no other process opens it, and after a failure the whole directory is removed.
        // So it needs no durable journal.
        pragmas["journal_mode"] = "MEMORY"
        pragmas["synchronous"] = "OFF"
        // A new store has no old content to overwrite.
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

  /// Commits everything that was written, and closes the store.
  ///
  /// - Throws: 134111 for duplicate values under a uniqueness constraint; 134160 if the store cannot be completed.
  ///   The caller then calls `abandon()`.
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

  /// Moves a complete store to its final location: first its files of large values, then the database.
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
        // File names are unique, and a directory left by an earlier attempt may hold other files.
        for name in try source.names() {
          try source.synchronize(name)
          try source.rename(name, to: target, name)
          moved.append(name)
        }
        try support.synchronize()
      }
      try StoreFiles.setDeadLogsAside(of: url)
      if files.fileExists(atPath: url.path) {
        // Only an empty file, which SQLite takes for a new database, may be replaced.
        guard try StoreFile.isNew(url) else {
          throw StoreErrors.operationFailed(url: url, reason: "Another store has been created at this location.")
        }
        try files.removeItem(at: url)
      }
      try files.moveItem(at: store, to: url)
      isNamed = true
      try Durability.synchronize(url.deletingLastPathComponent())
    } catch {
      // Report the error of the move. A database must not stay without the files it refers to.
      if isNamed { try? files.removeItem(at: url) }
      try? support.remove(moved)
      throw error
    }
    Self.remove(draft)
  }

  /// Rolls back everything that was written, and closes the store.
  func abandon() {
    // The migration reports its own error. SQLite rolls back an open transaction when the store is closed or opened
    // next.
    try? stack.store.rollBackWriting()
    stack.close()
    if let draft { Self.remove(draft) }
  }

  private static func remove(_ draft: URL) {
    // A directory that cannot be removed has a unique name that nothing looks for.
    try? FileManager.default.removeItem(at: draft)
  }
}

/// Syncs files to the disk.
enum Durability {
  /// Syncs a file or a directory.
  static func synchronize(_ url: URL) throws {
    let descriptor = open(url.path, O_RDONLY)
    guard descriptor >= 0 else { throw POSIXError(.init(rawValue: errno) ?? .EIO) }
    defer { close(descriptor) }
    guard fsync(descriptor) == 0 else { throw POSIXError(.init(rawValue: errno) ?? .EIO) }
  }
}

/// The indexes of a destination store while rows are written to it.
///
/// A new store gets its indexes once it has all its rows, which are then sorted once instead of inserted one by one;
/// or earlier, before the first query that needs them.
///
/// Uniqueness constraints are enforced at the end, since policies may correct values after the objects were made.
/// Until then an ordinary index replaces each unique one, so that lookups by such values stay fast.
final class DeferredIndexes {
  private struct Entry {
    let index: IndexLayout
    let sql: String
    /// The name of the ordinary index that replaces it; nil for an index that is not unique.
    let standIn: String?
  }

  private let entries: [Entry]
  private var isSearchable = false

  /// Drops the indexes that are created later.
  ///
  /// - Parameter isNew: whether the store is empty. Otherwise only unique indexes are dropped.
  init(_ store: SQLiteStore.Opened, isNew: Bool) throws {
    var entries: [Entry] = []
    for index in store.entities.schema.indexes where isNew || index.isUnique {
      let sql = "SELECT sql FROM sqlite_master WHERE type = 'index' AND name = ?"
      // Stores of old frameworks have constraints in their table definitions, where they are always enforced.
      guard let text = try store.connection.scalar(sql, [.text(index.name)])?.text else { continue }
      try store.connection.run("DROP INDEX \(SQLName.quoted(index.name))")
      entries.append(Entry(index: index, sql: text, standIn: index.isUnique ? "Z_MIGRATION_\(entries.count)" : nil))
    }
    self.entries = entries
    if !isNew { try prepareSearch(store) }
  }

  /// Creates the indexes that queries need, if that has not been done. Must not be called within a savepoint, whose
  /// rollback would drop them again.
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

  /// Creates all indexes in their final form, which enforces uniqueness constraints again.
  ///
  /// - Throws: 134111 with the duplicate values.
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
