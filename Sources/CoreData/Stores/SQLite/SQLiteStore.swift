// OpenCoreData
// SPDX-License-Identifier: Apache-2.0

import CoreDataFileSystem
import CoreDataModelFiles
import CoreDataSQLite
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
  /// Called before rows are looked for by anything but their keys. A migration makes indexes then, and not before.
  var willSearch: ((Opened) throws -> Void)?
  private var values: [String: Any] = [:] { didSet { forgetReference() } }
  /// Whether the metadata have been changed since they were read or written.
  var hasUnsavedMetadata = false

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
      } catch {
        // The reason why the store cannot be used is the error to be told.
        try? file.close()
        throw error
      }
    }
  }

  override func willRemove(from coordinator: NSPersistentStoreCoordinator?) {
    // Every change has been committed; a connection that does not close cleanly leaves a log which the next one reads.
    try? opened?.file.close()
    opened = nil
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
    guard let opened else {
      throw StoreErrors.operationFailed(url: url, reason: "The store is not open.")
    }
    return opened
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
