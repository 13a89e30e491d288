// OpenCoreData
// SPDX-License-Identifier: Apache-2.0

import CoreDataFileSystem
import CoreDataMigration
import CoreDataModelFiles
import CoreDataSQLite
import CoreDataStoreFiles
import Foundation

/// A store in a SQLite database, laid out as Core Data lays it out.
///
/// All calls come while the coordinator's lock is held.
final class SQLiteStore: NSPersistentStore, RowStore, @unchecked Sendable {
  /// What an open store works with.
  final class Opened {
    let file: StoreFile
    let entities: StoredEntities
    let external: ExternalData
    let plans: RowPlans
    var readers: [String: RowReader] = [:]

    init(file: StoreFile, entities: StoredEntities, external: ExternalData) {
      self.file = file
      self.entities = entities
      self.external = external
      plans = RowPlans(entities: entities, connection: file.connection)
    }

    var connection: SQLiteConnection { file.connection }
  }

  var opened: Opened?
  /// The entities' numbers when the connection was closed because the file was to be destroyed or replaced; nil for a store
  /// that has its connection.
  private var numbersBefore: [String: Int]?
  /// Whether the file has been destroyed or replaced since the store was opened, and not been used since.
  var isDisconnected: Bool { numbersBefore != nil }
  /// Called before rows are looked for by anything but their keys. A migration makes indexes then, and not before.
  var willSearch: ((Opened) throws -> Void)?
  private var values: [String: Any] = [:] { didSet { forgetReference() } }
  /// Whether the metadata have been changed since they were read or written.
  var hasUnsavedMetadata = false
  /// Whether the metadata had been changed when a transaction of several writes began.
  var hadUnsavedMetadata = false

  override var type: String { NSSQLiteStoreType }

  override var metadata: [String: Any]! {
    get { values }
    set {
      // The framework's own keys describe the tables, which no caller changes by changing a dictionary.
      var changed = newValue ?? [:]
      for (key, value) in values where StoreMetadata.ownKeys.contains(key) { changed[key] = value }
      if !(changed[NSStoreUUIDKey] is String) { changed[NSStoreUUIDKey] = values[NSStoreUUIDKey] }
      values = changed
      hasUnsavedMetadata = true
    }
  }

  /// Opens the store, or makes it where there is none.
  override func loadMetadata() throws {
    guard let url else { throw StoreErrors.cannotOpen(url: nil, reason: "The store has no URL.") }
    guard let model = persistentStoreCoordinator?.managedObjectModel else {
      throw StoreErrors.cannotOpen(url: url, reason: "The store has no coordinator, and so no model.")
    }
    try SQLiteStoreErrors.translating(url: url, isOpening: true) {
      let settings = StoreOptions(options)
      let document = model.document
      let configuration = configurationName == NSPersistentStore.defaultConfigurationName ? nil : configurationName
      let file: StoreFile
      if RegularFile.isNullDevice(url) {
        // Core Data's template for previews: nothing is kept, and nothing on the disk is touched.
        file = try StoreFile.createInMemory(
          url, document: document, configuration: configuration, metadata: values, pragmas: settings.pragmas)
      } else {
        if try StoreFile.isNew(url) {
          if isReadOnly { throw StoreFileProblem.missing(path: url.path) }
          try StoreFile.create(
            at: url, document: document, configuration: configuration, metadata: values, pragmas: settings.pragmas)
        }
        file = try StoreFile.open(url, isReadOnly: isReadOnly, timeout: settings.timeout)
      }
      do {
        try Self.prepare(file, settings)
        values = try file.metadata()
        var schema: StoreSchema
        var fits = true
        do {
          schema = try file.schema(for: document, configuration: configuration)
        } catch let problem as SchemaProblem where settings.ignoresVersioning && problem.isMissing {
          // What is there can be used; statements that need what is missing fail.
          schema = try file.schema(for: document, configuration: configuration, allowsMissing: true)
          fits = false
        }
        isReadOnly = isReadOnly || file.isReadOnly
        hasUnsavedMetadata = false
        // A store that lacks what the model has must not say that it is of its version.
        if settings.ignoresVersioning, !isReadOnly, fits {
          values.merge(try StoreMetadata.ofModel(document, configuration: configuration)) { $1 }
          hasUnsavedMetadata = true
        }
        let entities = StoredEntities(schema: schema, model: model, store: self)
        opened = Opened(file: file, entities: entities, external: ExternalData(store: url))
        if !RegularFile.isNullDevice(url) { OpenStores.add(self, at: url) }
      } catch {
        // The reason why the store cannot be used is the error to be told.
        try? file.close()
        throw error
      }
    }
  }

  override func willRemove(from coordinator: NSPersistentStoreCoordinator?) {
    close()
    numbersBefore = nil
  }

  private func close() {
    OpenStores.remove(self)
    // Every change has been committed; a connection that does not close cleanly leaves a log which the next one reads.
    try? opened?.file.close()
    opened = nil
  }

  /// Closes the connection because the file is about to be destroyed or replaced; the next use opens what is there then.
  ///
  /// Called while the coordinator's lock is held.
  func disconnect() {
    guard let opened else { return }
    numbersBefore = Self.numbers(opened)
    close()
  }

  private static func numbers(_ opened: Opened) -> [String: Int] {
    Dictionary(uniqueKeysWithValues: opened.entities.schema.entities.map { ($0.name, $0.number) })
  }

  /// Opens the file that has taken the place of the one that this store had open.
  ///
  /// - Throws: 134070 when no store is there any more, or one that does not fit; what opening a store throws.
  private func reconnect(_ numbersBefore: [String: Int]) throws -> Opened {
    guard let url, let model = persistentStoreCoordinator?.managedObjectModel else {
      throw StoreErrors.operationFailed(url: url, reason: "The store is not open.")
    }
    let isGone = try SQLiteStoreErrors.translating(url: url, isOpening: true) { try StoreFile.isNew(url) }
    guard !isGone else {
      throw StoreErrors.disconnected(url: url, reason: "The store was destroyed while it was open.")
    }
    let name = configurationName == NSPersistentStore.defaultConfigurationName ? nil : configurationName
    let found = try Self.metadataForPersistentStore(with: url)
    guard model.isConfiguration(withName: name, compatibleWithStoreMetadata: found) else {
      throw StoreErrors.disconnected(
        url: url, reason: "The store was replaced, while it was open, by one of another version of the model.")
    }
    try loadMetadata()
    guard let opened, Self.numbers(opened) == numbersBefore else {
      close()
      throw StoreErrors.disconnected(
        url: url, reason: "The store was replaced, while it was open, by one that numbers its entities otherwise.")
    }
    self.numbersBefore = nil
    return opened
  }

  /// Makes functions and orders known to an opened file, and gives it the settings of the one who opens it.
  static func prepare(_ file: StoreFile, _ settings: StoreOptions) throws {
    let connection = file.connection
    try StringFunction.register(with: connection)
    try SortCollation.register(with: connection)
    guard !file.isReadOnly else { return }
    // Triggers of stores with derived attributes tell Apple's framework about the rows they change. The contexts here
    // compute the same values themselves, but no row could be written without a function of that name.
    try connection.register(function: "NSCoreDataDATriggerUpdatedAffectedObjectValue") { _ in .null }
    for (name, value) in settings.pragmas.sorted(by: { $0.key < $1.key }) where name != "page_size" {
      try connection.setPragma(name, to: .text(value))
    }
    if settings.pragmas["journal_mode"] == nil {
      // SQLite keeps the mode it has where another connection stands in the way, and answers with it; either is good.
      try connection.setPragma("journal_mode", to: .text("WAL"))
    }
    if settings.vacuums { try connection.run("VACUUM") }
    if settings.analyzes { try connection.run("ANALYZE") }
  }

  /// Takes note that a key has been removed from the metadata in the file.
  func forgetMetadata(_ key: String) {
    values[key] = nil
  }

  /// What the open store works with.
  func state() throws -> Opened {
    if let opened { return opened }
    if let numbersBefore { return try reconnect(numbersBefore) }
    throw StoreErrors.operationFailed(url: url, reason: "The store is not open.")
  }

  // MARK: Stores that are not open

  override class func metadataForPersistentStore(with url: URL) throws -> [String: Any] {
    try looking(at: url) { try $0.metadata() }
  }

  /// The model that a store carries; nil where it has none.
  ///
  /// - Throws: as `metadataForPersistentStore(with:)`, and errors of the model's archive.
  static func cachedModel(at url: URL) throws -> NSManagedObjectModel? {
    try looking(at: url) { try $0.cachedModel() }.map { try NSManagedObjectModel(document: $0) }
  }

  /// Fills in how much a store holds of each item, and leaves out those of which it holds nothing.
  ///
  /// - Parameter model: the model that the store was written with.
  /// - Throws: as `metadataForPersistentStore(with:)`.
  static func counted(
    _ items: [DroppedContent], at url: URL, model: NSManagedObjectModel, configuration: String?
  ) throws -> [DroppedContent] {
    let document = model.document
    return try looking(at: url) { file in
      let schema = try file.schema(for: document, configuration: document.configuration(configuration))
      return try StoreContents(file.connection, schema: schema).counted(items)
    }
  }

  /// The metadata of a store, and the model that it carries; nil where it has none.
  ///
  /// - Throws: as `cachedModel(at:)`.
  static func carried(at url: URL) throws -> (metadata: [String: Any], model: ModelDocument?) {
    try looking(at: url) { file in
      do {
        return (try file.metadata(), try file.cachedModel())
      } catch let error as ModelFileError {
        throw ModelErrors.cannotRead(error.inFile(url), "The model that the store carries could not be read.")
      }
    }
  }

  /// Opens a store for a moment.
  ///
  /// `peek` reads a file as it lies. Where another process writes to it at that moment, what is read may be of two states; so
  /// what seems damaged is read again under SQLite's locks.
  private static func looking<Result>(at url: URL, _ body: (StoreFile) throws -> Result) throws -> Result {
    func read(_ file: StoreFile) throws -> Result {
      defer {
        // Nothing was written, so nothing can be lost.
        try? file.close()
      }
      return try body(file)
    }
    return try SQLiteStoreErrors.translating(url: url, isOpening: true) {
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
    try SQLiteStoreErrors.translating(url: url, isOpening: true) {
      let file = try StoreFile.open(url, isReadOnly: false)
      defer {
        // The transaction has been committed or not; closing changes neither.
        try? file.close()
      }
      if file.isReadOnly { throw StoreErrors.readOnly(url: url) }
      let own = try file.metadata().filter { StoreMetadata.ownKeys.contains($0.key) }
      // The framework's keys that the caller leaves out are kept: without them no model could be found for the store.
      try file.setMetadata((metadata ?? [:]).merging(own) { given, _ in given })
    }
  }
}
