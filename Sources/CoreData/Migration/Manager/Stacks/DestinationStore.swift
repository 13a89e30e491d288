// OpenCoreData
// SPDX-License-Identifier: Apache-2.0

import CoreDataFileSystem
import CoreDataModelFiles
import CoreDataSQLite
import CoreDataStoreFiles
import Foundation

/// The store that a migration writes.
///
/// A new store is built as a draft in the work directory of its location. `StoreReplacement` moves it there when it is
/// complete and synced to disk. An existing store is appended to in one transaction.
final class DestinationStore {
  let stack: MigrationStack
  private let url: URL
  /// The file of a new store; nil for an existing store.
  private let draft: URL?
  private let journalMode: String
  private let indexes: DeferredIndexes
  private let source: AttachedSource
  /// The reason why SQL cannot read the source on this store's connection; nil if it can.
  var sqlObstacle: String? { source.obstacle }

  /// Writes a store: a draft that is then moved to its location, or the existing store itself.
  ///
  /// - Parameters:
  ///   - timeout: the time to wait for other work on the store, in seconds.
  ///   - write: writes the store. Its parameter is the draft's file; nil for an existing store.
  /// - Throws: the errors of `write`; 134160 if the draft cannot be moved to its location. On an error, there is no new
  ///   store.
  static func writeReplacing(
    to url: URL, _ journal: WorkJournal, timeout: TimeInterval, _ write: (_ draft: URL?) throws -> Void
  ) throws {
    struct Failure: Error {
      let error: any Error
    }
    do {
      guard try StoreFile.isNew(url) else {
        do { return try write(nil) } catch { throw Failure(error: error) }
      }
      let location = StoreLocation(url)
      // The next process to open the store removes what remains of the work directory.
      _ = try StoreReplacement(location: location, journal: journal, timeout: timeout).run(keptAt: nil) { _ in
        do { try write(location.newStore) } catch { throw Failure(error: error) }
        guard try StoreFile.isNew(url) else {
          throw StoreErrors.operationFailed(
            url: url,
            reason: "Another program has created a store there in the "
              + "meantime.")
        }
        return .init(external: Set(try SupportDirectory(store: location.newStore).names()))
      }
    } catch let failure as Failure {
      throw failure.error
    } catch {
      throw incomplete(error, url)
    }
  }

  /// - Parameters:
  ///   - url: the location of the store, for errors.
  ///   - draft: the file of a new store; nil for an existing store.
  /// - Throws: 134160 if the store cannot be created or opened, or does not have the destination model.
  init(
    _ model: NSManagedObjectModel, at url: URL, draft: URL?, options: [AnyHashable: Any]?, from source: SourceStore
  ) throws {
    self.url = url
    self.draft = draft
    var pragmas = StoreOptions(options).pragmas
    journalMode = pragmas["journal_mode"] ?? "WAL"
    var opened: MigrationStack?
    do {
      var options = options ?? [:]
      options[NSReadOnlyPersistentStoreOption] = nil
      options[NSIgnorePersistentStoreVersioningOption] = nil
      // Rows that a migration writes in SQL would be missing in the history.
      options[NSPersistentHistoryTrackingKey] = nil
      if let draft {
        // The store is private until it is complete, and is removed as a whole after a failure.
        pragmas["journal_mode"] = "MEMORY"
        pragmas["synchronous"] = "OFF"
        // A new store has no old content to overwrite.
        pragmas["secure_delete"] = "0"
        pragmas["cache_size"] = "-4096"
        options[NSSQLitePragmasOption] = pragmas
        let configuration = source.configuration.flatMap { model.configurations.contains($0) ? $0 : nil }
        try StoreFile.create(
          at: draft, document: model.document, configuration: configuration,
          metadata: source.metadata.filter { !StoreMetadata.ownKeys.contains($0.key) }, pragmas: pragmas)
        opened = try MigrationStack(model: model, configuration: configuration, at: draft, options: options)
        opened?.store.url = url
        try opened?.store.continueNumbers(of: source.stack.store)
      } else {
        let found = try SQLiteStore.metadataForPersistentStore(with: url)
        guard let configuration = model.configurationNames(fitting: found).first else {
          throw StoreCompatibility.error(metadata: found, model: model, configuration: nil, url: url)
        }
        opened = try MigrationStack(model: model, configuration: configuration, at: url, options: options)
      }
      guard let opened else { throw StoreErrors.operationFailed(url: url, reason: "The store is not open.") }
      stack = opened
      var attached = try AttachedSource(source.stack, to: stack)
      try stack.store.beginWritingWithAttached()
      try attached.hold()
      self.source = attached
      let indexes = try stack.store.withState { try DeferredIndexes($0, isNew: draft != nil) }
      stack.store.willSearch = { try indexes.prepareSearch($0) }
      self.indexes = indexes
    } catch {
      opened?.close()
      throw MigrationErrors.unusableDestination(url: url, Self.translated(error, url))
    }
  }

  private static func translated(_ error: any Error, _ url: URL) -> NSError {
    ErrorTranslation.translated(error, url: url, during: .opening) as NSError
  }

  /// Commits everything that was written, and closes the store.
  ///
  /// - Parameter progress: called with the finished fraction of the indexes.
  /// - Throws: 134111 for duplicate values under a uniqueness constraint; 134160 if the store cannot be completed. The
  ///   caller then calls `rollBack()`.
  func complete(progress: (Double) throws -> Void) throws {
    // Rows are written to disk while they are sorted. The rest is synced with the whole file before the store is moved
    // to its location. Closing a file releases SQLite's locks on it, which a draft does not need.
    let isLarge = draft.map { FileCalls.size($0) >= PageCheck.largeFile && Optimization.backgroundChecks.isOn } ?? false
    let synchronization = isLarge ? draft.map { draft in ParallelWork { try FileCalls.synchronize(draft) } } : nil
    // After a failure, nothing depends on it.
    defer { try? synchronization?.wait() }
    try stack.store.withState { try indexes.restore($0, url: url, progress: progress) }
    do {
      try synchronization?.wait()
      try stack.store.commitWriting()
      try stack.store.withState { _ in try source.detach() }
      if draft != nil {
        try stack.store.withState { _ = try $0.connection.setPragma("journal_mode", to: .text(journalMode)) }
      }
      stack.close()
      if let draft, let log = StoreLocation(draft).companions.first(where: FileCalls.exists) {
        throw StoreVerification.Problem(reason: "'\(log.lastPathComponent)' is left beside it.")
      }
    } catch {
      throw Self.incomplete(error, url)
    }
  }

  private static func incomplete(_ error: any Error, _ url: URL) -> NSError {
    let error = translated(error, url)
    return MigrationErrors.destinationStore(
      url: url,
      reason:
        "The destination store cannot be completed: \(error.localizedFailureReason ?? error.localizedDescription)",
      underlying: error)
  }

  /// Rolls back everything that was written, and closes the store.
  func rollBack() {
    // The migration reports its own error. SQLite rolls back an open transaction when the store is closed or next
    // opened.
    try? stack.store.rollBackWriting()
    stack.close()
  }
}

/// The indexes of a destination store while rows are written to it.
///
/// A new store gets its indexes after all its rows, which are then sorted once instead of being inserted one by one. If
/// a query needs the indexes earlier, they are created before it.
///
/// Uniqueness constraints are enforced at the end, because policies may correct values after creating objects. Until
/// then an ordinary index replaces each unique one, so that lookups by such values stay fast.
final class DeferredIndexes {
  private struct Entry {
    let index: IndexLayout
    let sql: String
    /// The name of the ordinary index that replaces it; nil for an index that is not unique.
    let standIn: String?
  }

  private static let instructionsBetweenChecks = 200_000

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

  /// Creates the indexes that queries need, unless that has been done. Must not be called within a savepoint, whose
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
  /// - Parameter progress: called with the finished fraction of the indexes, also while a large one is being created.
  /// - Throws: 134111 with the duplicate values; the errors of `progress`.
  func restore(_ store: SQLiteStore.Opened, url: URL, progress: (Double) throws -> Void) throws {
    var position = 0
    func tick() throws { try progress(entries.isEmpty ? 1 : Double(position) / Double(entries.count)) }
    try tick()
    try store.connection.checking(every: Self.instructionsBetweenChecks, tick) {
      for entry in entries {
        try restore(entry, store, url)
        position += 1
        try tick()
      }
    }
  }

  private func restore(_ entry: Entry, _ store: SQLiteStore.Opened, _ url: URL) throws {
    guard let standIn = entry.standIn else {
      let sql = "SELECT 1 FROM sqlite_master WHERE type = 'index' AND name = ?"
      if try store.connection.scalar(sql, [.text(entry.index.name)]) == nil { try store.connection.run(entry.sql) }
      return
    }
    do {
      try store.connection.run(entry.sql)
    } catch let failure as SQLiteError where failure.isUniqueConstraint {
      throw try violation(of: entry, store, url, failure)
    }
    try store.connection.run("DROP INDEX IF EXISTS \(standIn)")
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
