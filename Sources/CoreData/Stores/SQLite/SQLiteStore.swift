// OpenCoreData
// SPDX-License-Identifier: Apache-2.0

import CoreDataFileSystem
import CoreDataMigration
import CoreDataModelFiles
import CoreDataSQLite
import CoreDataStoreFiles
import Foundation

/// A store in a SQLite database with Core Data's layout.
///
/// The coordinator's lock is held during all calls except `concurrently(_:)`, and guards the store's properties. What
/// the program may read on any thread, such as the metadata, has a lock of its own.
final class SQLiteStore: NSPersistentStore, SQLStore, ModelCarryingStore, @unchecked Sendable {
  /// An open connection to the store, with its knowledge of the store's layout.
  final class Opened {
    let file: StoreFile
    let entities: StoredEntities
    let external: ExternalData
    let statements: StoreStatements
    let readers: RowReaders
    /// The representation of changes in persistent history; nil if changes are not recorded.
    var history: StoreHistory?
    /// Detects migrations by other connections; nil for an in-memory store.
    var version: StoreVersionGuard?
    /// Whether rows can be read even if the files of some of their values cannot.
    let toleratesUnreadableFiles: Bool

    init(
      file: StoreFile, entities: StoredEntities, external: ExternalData, toleratesUnreadableFiles: Bool
    ) {
      self.file = file
      self.entities = entities
      self.external = external
      self.toleratesUnreadableFiles = toleratesUnreadableFiles
      statements = StoreStatements(entities: entities, connection: file.connection)
      readers = RowReaders(entities, external: external)
    }

    var connection: SQLiteConnection { file.connection }
    var plans: RowPlans { statements.plans }
    /// The writer of row changes.
    var writer: RowWriter { RowWriter(state: self) }

    /// Runs a read-only body against the version that the store was opened with.
    ///
    /// If anything was committed since the last check, the body runs again in a transaction that begins with a check.
    ///
    /// - Throws: `StoreVersionProblem` if another connection has migrated the store; the body's error.
    func reading<Result>(_ body: () throws -> Result) throws -> Result {
      // The transaction in progress began with a check of the version.
      guard let version, !connection.inTransaction else { return try body() }
      do {
        let result = try body()
        if version.isUnchanged { return result }
      } catch let error as SQLiteError where error.isBusy || error.isInterrupted {
        throw error
      } catch {
        // A migration may be the cause. If not, the second attempt throws the error.
      }
      return try readingOnce(body)
    }

    /// Runs a read-only body once, in a transaction that begins with a check.
    func readingOnce<Result>(_ body: () throws -> Result) throws -> Result {
      if connection.inTransaction { return try body() }
      return try connection.transaction(.deferred) {
        try version?.check()
        return try body()
      }
    }

    /// Makes sure that the store has the version it was opened with, and that its file still has its name: what is
    /// written to a file that was moved or deleted is lost. Must run in a transaction, before anything else.
    func checkBeforeWriting() throws {
      try version?.check()
      guard try !connection.hasMoved() else {
        throw StoreErrors.disconnected(
          url: file.url,
          reason: "The store's file was moved, deleted or replaced while it was open. Nothing was saved.")
      }
    }

    /// Runs a body that writes in a transaction, as `reading(_:)`.
    func writing<Result>(_ body: () throws -> Result) throws -> Result {
      let isOuter = !connection.inTransaction
      return try connection.transaction {
        if isOuter { try checkBeforeWriting() }
        return try body()
      }
    }
  }

  /// The connection that writes, and that also reads within its own transactions.
  var opened: Opened?
  /// Checkpoints the write-ahead log in the background; nil for a store without one, or if SQLite does it.
  var checkpointer: BackgroundCheckpointer?
  /// The read-only connections.
  let connections = ReadingConnections()
  /// The lock of the stage that has opened the store; nil if none has, or when it has ended.
  private weak var stage: StageLock?
  /// The entity numbers when the connection was closed for the destruction or replacement of the file; nil for a
  /// connected store.
  private var numbersBefore: [String: Int]?
  /// Whether the file has been replaced since the store was opened.
  private(set) var hasReconnected = false
  /// Whether the file has been destroyed or replaced since the store was last used.
  var isDisconnected: Bool { numbersBefore != nil }

  override var rowStore: (any RowStore)? { self }
  #if os(Linux)
  /// Watches the store's files for writes by other processes; nil if the store posts no remote changes.
  var watch: FileWatch?
  #endif
  /// SQLite's data version when it was last read; it changes when another connection commits.
  var knownVersion: SQLiteValue?
  /// The pinned states of the file that contexts may still read.
  var generations = PinnedGenerations()
  /// Called before rows are searched by anything other than their keys. A migration uses it to create indexes late.
  var willSearch: ((Opened) throws -> Void)?
  /// The author and context to record in persistent history for the next changes.
  var origin = HistoryOrigin()
  /// Whether rows copied from another store are recorded in history.
  var recordsCopies = true
  /// Whether a batch request is running, whose handlers must not write.
  var isInBatch = false
  /// Whether rows can be read even if the files of some of their values cannot; false while a migration copies rows.
  /// Takes effect when the store is opened.
  var toleratesUnreadableFiles = true
  /// Whether the metadata have unsaved changes.
  var hasUnsavedMetadata = false
  /// Whether the metadata had unsaved changes when the current transaction began.
  var hadUnsavedMetadata = false

  // The connection that writes is closed last, because only then does SQLite remove the log.
  deinit {
    generations.close()
    connections.end()
    checkpointer?.close()
  }

  override var type: String { NSSQLiteStoreType }

  override var metadata: [String: Any]! {
    get { keptMetadata }
    set {
      exclusively {
        // The framework's own keys describe the tables, and are not changed by setting metadata.
        keptMetadata = StoreMetadata.merged(newValue ?? [:], into: keptMetadata)
        hasUnsavedMetadata = true
      }
    }
  }

  /// Opens or creates the store.
  override func loadMetadata() throws {
    guard let url else { throw StoreErrors.cannotOpen(url: nil, reason: "The store has no URL.") }
    guard let model = persistentStoreCoordinator?.managedObjectModel else {
      throw StoreErrors.cannotOpen(url: url, reason: "The store has no coordinator and therefore no model.")
    }
    // The store may be opened again, in any thread.
    stage = stage ?? StageLock.own(url)
    try ErrorTranslation.translating(url: url, during: .opening) {
      let settings = StoreOptions(options)
      let document = model.document
      let configuration = customConfigurationName
      let file: StoreFile
      if RegularFile.isNullDevice(url) {
        // An in-memory store, as in the previews of Core Data's template.
        file = try StoreFile.createInMemory(
          url, document: document, configuration: configuration, metadata: keptMetadata, pragmas: settings.pragmas)
      } else {
        if try StoreFile.isNew(url) {
          if isReadOnly { throw StoreFileProblem.missing(path: url.path) }
          _ = try StoreFile.createUnlessPresent(
            at: url, document: document, configuration: configuration, metadata: keptMetadata, pragmas: settings.pragmas
          )
        }
        file = try StoreFile.open(url, isReadOnly: isReadOnly, timeout: settings.timeout)
      }
      do {
        try Self.prepare(file, settings)
        // Another process may migrate the store between two reads.
        let (schema, fits, opening) = try file.connection.transaction(.deferred) {
          try examine(file, model, settings)
        }
        isReadOnly = isReadOnly || file.isReadOnly
        hasUnsavedMetadata = false
        // A store that lacks tables or columns must not claim to be of the model's version.
        if settings.ignoresVersioning, !isReadOnly, fits {
          keptMetadata.merge(try StoreMetadata.ofModel(document, configuration: configuration)) { $1 }
          hasUnsavedMetadata = true
        }
        let entities = StoredEntities(schema: schema, model: model, store: self)
        let state = Opened(
          file: file, entities: entities, external: ExternalData(store: settings.ownerOfExternalData ?? url),
          toleratesUnreadableFiles: toleratesUnreadableFiles)
        if !RegularFile.isNullDevice(url) {
          let version = StoreVersionGuard(file, opening)
          if hasUnsavedMetadata { version.accept(metadata: keptMetadata) }
          state.version = version
        }
        try file.repeatingIfFull { try openHistory(state, settings) }
        try openReaders(beside: state, url: url, settings)
        try checkpointInBackground(state, url: url, settings)
        // Nothing after this throws, so that a store that failed to open has no connection.
        opened = state
        if !RegularFile.isNullDevice(url) { OpenStores.add(self, at: url) }
        watchOtherProcesses(settings)
      } catch {
        // The caller needs the error of opening the store, not that of closing it.
        try? file.close()
        throw error
      }
    }
  }

  /// Reads the metadata and the layout of a store in an open transaction.
  ///
  /// - Returns: the layout, whether the store has all of its tables and columns, and the state for later comparisons.
  /// - Throws: 134100 if another process has migrated the store to another version, or created it with one, since the
  ///   coordinator compared versions; `StageLock.Held`.
  private func examine(
    _ file: StoreFile, _ model: NSManagedObjectModel, _ settings: StoreOptions
  ) throws -> (schema: StoreSchema, fits: Bool, opening: StoreVersionGuard.Opening) {
    let (document, configuration) = (model.document, customConfigurationName)
    keptMetadata = try file.metadata()
    if !isReadOnly { try StageLock.check(keptMetadata, of: file.url, own: stage) }
    if !settings.ignoresVersioning, let url,
      !model.isConfiguration(withName: configuration, compatibleWithStoreMetadata: keptMetadata)
    {
      throw StoreCompatibility.error(metadata: keptMetadata, model: model, configuration: configuration, url: url)
    }
    var schema: StoreSchema
    var fits = true
    do {
      schema = try file.schema(for: document, configuration: configuration)
    } catch let problem as SchemaProblem where settings.ignoresVersioning && problem.isMissing {
      // Statements that need missing tables or columns fail. Others work.
      schema = try file.schema(for: document, configuration: configuration, allowsMissing: true)
      fits = false
    }
    let opening = try StoreVersionGuard.Opening(
      file, schema: schema, document: document, configuration: configuration, allowsMissing: !fits,
      metadata: keptMetadata, stage: stage)
    return (schema, fits, opening)
  }

  override func willRemove(from coordinator: NSPersistentStoreCoordinator?) {
    close()
    numbersBefore = nil
  }

  private func close() {
    OpenStores.remove(self)
    #if os(Linux)
    watch?.cancel()
    watch = nil
    #endif
    generations.close()
    connections.end()
    checkpointer?.close()
    checkpointer = nil
    // All changes have been committed. If closing fails, the next connection reads the log.
    try? opened?.file.close()
    opened = nil
  }

  /// Closes the connection before the file is destroyed or replaced. The next use opens the new file.
  func disconnect() {
    guard let opened else { return }
    numbersBefore = Self.numbers(opened)
    close()
    if let url { OpenStores.add(self, at: url) }
  }

  /// Switches to the store at another location.
  ///
  /// - Returns: whether there is a store of the same model version with the same entity numbers. If not, this store is
  ///   unchanged.
  func reopen(at place: URL) -> Bool {
    let old = url
    disconnect()
    guard isDisconnected else { return false }
    url = place
    do {
      _ = try state()
      return true
    } catch {
      // The result reports that there is no suitable store. The next use opens the old one again.
      url = old
      return false
    }
  }

  private static func numbers(_ opened: Opened) -> [String: Int] {
    Dictionary(uniqueKeysWithValues: opened.entities.schema.entities.map { ($0.name, $0.number) })
  }

  /// Opens the file that has replaced this store's file.
  ///
  /// - Throws: 134070 if there is no store, or an incompatible one; the errors of opening a store.
  private func reconnect(_ numbersBefore: [String: Int]) throws -> Opened {
    guard let url, let model = persistentStoreCoordinator?.managedObjectModel else {
      throw StoreErrors.operationFailed(url: url, reason: "The store is not open.")
    }
    let isGone = try ErrorTranslation.translating(url: url, during: .opening) { try StoreFile.isNew(url) }
    guard !isGone else {
      throw StoreErrors.disconnected(url: url, reason: "The store was destroyed while it was open.")
    }
    let found = try Self.metadataForPersistentStore(with: url)
    guard model.isConfiguration(withName: customConfigurationName, compatibleWithStoreMetadata: found) else {
      throw StoreErrors.changedVersion(
        url: url, .migrated(from: StoreVersion(metadata: keptMetadata), to: StoreVersion(metadata: found)),
        wasReplaced: true, name: versionName(of:))
    }
    try loadMetadata()
    guard let opened, Self.numbers(opened) == numbersBefore else {
      close()
      throw StoreErrors.disconnected(
        url: url, reason: "While it was open, the store was replaced by one with other entity numbers.")
    }
    self.numbersBefore = nil
    hasReconnected = true
    return opened
  }

  /// Registers functions and collations with a newly opened file, and applies settings.
  static func prepare(_ file: StoreFile, _ settings: StoreOptions) throws {
    let connection = file.connection
    try register(with: connection)
    guard !file.isReadOnly else { return }
    // Triggers of stores with derived attributes call this function to notify Apple's framework of changed rows.
    // Contexts here compute the values themselves, but without a function of that name no row could be written.
    try connection.register(function: "NSCoreDataDATriggerUpdatedAffectedObjectValue") { _ in .null }
    for (name, value) in settings.pragmas.sorted(by: { $0.key < $1.key }) where name != "page_size" {
      try connection.setPragma(name, to: .text(value))
    }
    if settings.pragmas["journal_mode"] == nil {
      // If another connection prevents the change, SQLite keeps its journal mode, which works too.
      try connection.setPragma("journal_mode", to: .text("WAL"))
    }
    if settings.vacuums { try connection.run("VACUUM") }
    if settings.analyzes { try connection.run("ANALYZE") }
  }

  /// Registers the functions and collations that queries use.
  static func register(with connection: SQLiteConnection) throws {
    try StringFunction.register(with: connection)
    try SortCollation.register(with: connection)
    try SQLValueList.register(with: connection)
    try PredicateFunctions.register(with: connection)
  }

  /// Removes a key from the metadata in memory after it was removed from the file.
  func forgetMetadata(_ key: String) { keptMetadata[key] = nil }

  /// Returns the state of the open store.
  func state() throws -> Opened {
    if let opened {
      opened.entities.noteIdentity()
      return opened
    }
    if let numbersBefore { return try reconnect(numbersBefore) }
    throw StoreErrors.operationFailed(url: url, reason: "The store is not open.")
  }

  // MARK: Stores that are not open

  override class func metadataForPersistentStore(with url: URL) throws -> [String: Any] {
    try looking(at: url) { try $0.metadata() }
  }

  /// Returns the model cached in a store, or nil.
  ///
  /// - Throws: the errors of `metadataForPersistentStore(with:)`; 259 for a model that cannot be read.
  static func carriedModel(at url: URL) throws -> NSManagedObjectModel? {
    try carried(at: url).model.map { try NSManagedObjectModel(document: $0) }
  }

  /// Counts how much of each item a store contains. Items of which it contains nothing are left out.
  ///
  /// - Parameters:
  ///   - items: the content that a migration would drop.
  ///   - url: the location of the store.
  ///   - model: the model that the store was written with.
  ///   - configuration: the store's configuration; nil for all entities.
  /// - Throws: the errors of `metadataForPersistentStore(with:)`.
  static func counted(
    _ items: [DroppedContent], at url: URL, model: NSManagedObjectModel, configuration: String?
  ) throws -> [DroppedContent] {
    let document = model.document
    return try looking(at: url) { file in
      let schema = try file.schema(for: document, configuration: document.configuration(configuration))
      return try StoreContents(file.connection, schema: schema).counted(items)
    }
  }

  /// Returns the metadata of a store, and the model cached in it, or nil.
  ///
  /// - Throws: the errors of `carriedModel(at:)`.
  static func carried(at url: URL) throws -> (metadata: [String: Any], model: ModelDocument?) {
    try looking(at: url) { file in
      do {
        return (try file.metadata(), try file.cachedModel())
      } catch let error as ModelFileError {
        throw ModelErrors.cannotRead(error.inFile(url), "The model in the store could not be read.")
      }
    }
  }

  /// Opens a store for the duration of a body.
  ///
  /// `peek` reads a file without locks. While another process writes, it may read a mix of two states. So a store that
  /// seems damaged is read again under SQLite's locks.
  private static func looking<Result>(at url: URL, _ body: (StoreFile) throws -> Result) throws -> Result {
    func read(_ file: StoreFile) throws -> Result {
      defer {
        // Nothing was written.
        try? file.close()
      }
      return try body(file)
    }
    return try ErrorTranslation.translating(url: url, during: .opening) {
      do {
        return try read(StoreFile.peek(url))
      } catch let error as SQLiteError where error.isCorrupt {
        return try read(StoreFile.open(url, isReadOnly: true))
      } catch StoreFileProblem.unreadableMetadata, StoreFileProblem.truncated {
        return try read(StoreFile.open(url, isReadOnly: true))
      }
    }
  }

  override class func setMetadata(_ metadata: [String: Any]?, forPersistentStoreAt url: URL) throws {
    try ErrorTranslation.translating(url: url, during: .opening) {
      let file = try StoreFile.open(url, isReadOnly: false)
      defer {
        // Closing does not affect whether the transaction was committed.
        try? file.close()
      }
      if file.isReadOnly { throw StoreErrors.readOnly(url: url) }
      try file.repeatingIfFull {
        // A migration between reading and writing would be undone in the metadata only.
        try file.connection.transaction(.immediate) {
          try file.setMetadata(StoreMetadata.replacement(metadata ?? [:], for: file.metadata()))
        }
      }
    }
  }
}

/// The open stores of this process, by file, so that destroying or replacing a file can close their connections.
enum OpenStores {
  private struct Entry {
    let reference: WeakAddress<SQLiteStore>
    let file: String
    /// Whether the store posts change notifications.
    let isPosting: Bool

    var store: SQLiteStore? { reference.object }
  }

  private static let lock = NSLock()
  private nonisolated(unsafe) static var entries: [Entry] = []

  /// Adds a store that has connected to its file, or will reconnect when it is next used.
  static func add(_ store: SQLiteStore, at url: URL) {
    let file = name(of: url)
    lock.withLock {
      entries.removeAll { $0.store == nil || $0.store === store }
      let isPosting = StoreOptions(store.options).postsRemoteChanges
      entries.append(Entry(reference: WeakAddress(store), file: file, isPosting: isPosting))
    }
  }

  /// Whether any store posts change notifications.
  static var arePosting: Bool { lock.withLock { entries.contains(where: \.isPosting) } }

  /// Returns the stores that have a file open and post notifications of its changes.
  static func postingStores(at url: URL) -> [SQLiteStore] {
    let file = name(of: url)
    return lock.withLock { entries.filter { $0.file == file && $0.isPosting }.compactMap(\.store) }
  }

  /// Removes a store that is closed.
  static func remove(_ store: SQLiteStore) {
    lock.withLock { entries.removeAll { $0.store == nil || $0.store === store } }
  }

  /// Closes the connections of this process to a file, and runs a body while no other thread can reopen them.
  ///
  /// The stores remain in their coordinators, and reopen the file when they are next used.
  static func withoutConnections(to url: URL, _ body: () throws -> Void) rethrows {
    let file = name(of: url)
    let found = lock.withLock { entries.filter { $0.file == file }.compactMap(\.store) }
    let coordinators = Dictionary(
      found.compactMap(\.persistentStoreCoordinator).map { (ObjectIdentifier($0), $0) }, uniquingKeysWith: { $1 })
    func locking(_ rest: ArraySlice<NSPersistentStoreCoordinator>) throws {
      if let next = rest.first { return try next.withLock { try locking(rest.dropFirst()) } }
      for store in found { store.disconnect() }
      try body()
    }
    // All threads lock in the same order, which avoids deadlocks.
    try locking(coordinators.sorted { $0.key < $1.key }.map(\.value)[...])
  }

  private static func name(of url: URL) -> String {
    URL(fileURLWithPath: DatabaseFile.target(of: url.path)).standardizedFileURL.path
  }
}
