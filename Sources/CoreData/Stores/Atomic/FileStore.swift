// OpenCoreData
// SPDX-License-Identifier: Apache-2.0

import CoreDataFileSystem
import CoreDataMistakes
import CoreDataModelFiles
import CoreDataSQLite
import CoreDataStoreFiles
import Foundation

/// A store that reads its whole file when it is opened, and replaces it atomically whenever it is saved.
class FileStore: MemoryStore, @unchecked Sendable {
  /// The maximum size of a file to read, in bytes.
  static let largest = XMLStoreDocument.largest

  // Guarded by the coordinator's lock.
  private var file: WholeFile?
  /// The contents read from the file; nil for a new store, and once the store is open.
  private var contents: (any StoreFormat)?
  /// The version of the file when it was last read or written; nil for a missing file.
  private var fileVersion: StoreVersion?

  /// The file format, which subclasses override.
  class var format: any StoreFormat.Type { trap("\(self) has no format.") }

  override func loadMetadata() throws {
    guard let url else { throw StoreErrors.cannotOpen(url: nil, reason: "The store has no URL.") }
    let file = WholeFile(url)
    try FileStoreErrors.translating(url) {
      if let data = try file.read(limit: Self.largest) {
        let contents = try Self.format.init(data, url: url)
        // Another process may have replaced the file since the coordinator compared versions.
        if !StoreOptions(options).ignoresVersioning, let model = persistentStoreCoordinator?.managedObjectModel {
          try StoreCompatibility.check(contents.metadata, model, configuration: customConfigurationName, url: url)
        }
        self.contents = contents
        fileVersion = StoreVersion(metadata: contents.metadata)
        setInitialMetadata(contents.metadata)
      } else if isReadOnly {
        throw StoreFileProblem.missing(path: url.path)
      } else {
        try super.loadMetadata()
      }
    }
    self.file = file
  }

  override func finishOpening() throws {
    guard let url, let contents else {
      try super.finishOpening()
      return try saveFile()
    }
    let tables = RowTables(try model(), store: self)
    try FileStoreErrors.translating(url) { try contents.fill(tables, url: url) }
    self.tables = tables
    self.contents = nil
    if StoreOptions(options).ignoresVersioning, !isReadOnly {
      setInitialMetadata(
        metadata.merging(
          try StoreMetadata.versions(of: tables.model, configuration: customConfigurationName, url: url)
        ) { $1 })
      hasUnsavedMetadata = true
    }
  }

  override func saveFile() throws {
    let tables = try openTables()
    guard let url, let file else { throw StoreErrors.operationFailed(url: url, reason: "The store has no URL.") }
    try FileStoreErrors.translating(url) {
      do {
        let values = metadata ?? [:]
        try Self.write(Self.format.data(of: tables, metadata: values), to: file, url)
        fileVersion = StoreVersion(metadata: values)
      } catch let problem as WholeFile.Problem {
        try checkVersion(of: url)
        throw problem
      }
    }
  }

  /// Checks the version of a file with which another program has replaced this one.
  ///
  /// - Throws: 134100 for another version.
  private func checkVersion(of url: URL) throws {
    // A missing or invalid file has no version. The change of the file is then the error to report.
    guard let old = fileVersion, let found = try? Self.contents(of: WholeFile(url), url).metadata else { return }
    let new = StoreVersion(metadata: found)
    guard old.hashes != new.hashes else { return }
    throw StoreErrors.changedVersion(
      url: url, .migrated(from: old, to: new), wasReplaced: true, name: versionName(of:))
  }

  override var isDisconnected: Bool { file?.isGone ?? false }

  /// Opens the store without rows. The first save replaces the file that `other` has read, or creates a missing one.
  ///
  /// - Parameters:
  ///   - other: the store at the same location; nil if there is none.
  ///   - identifier: the UUID.
  /// - Throws: 134020 for a model that cannot have a store.
  func begin(inPlaceOf other: FileStore?, identifier: String?) throws {
    var metadata = try StoreMetadata.new(
      type: type, model: model(), configuration: customConfigurationName, url: url)
    metadata[NSStoreUUIDKey] = identifier
    setInitialMetadata(metadata)
    let tables = RowTables(try model(), store: self)
    // Numbers of deleted objects are not reused.
    if let earlier = other?.tables { tables.reserve(from: earlier.nextNumber) }
    self.tables = tables
    file = other?.file ?? url.map { WholeFile($0) }
    fileVersion = other?.fileVersion
  }

  /// Makes the next save write to another file, replacing an existing one.
  func setDestination(_ url: URL) {
    self.url = url
    file = WholeFile(url, replacesUnread: true)
    fileVersion = nil
    hasUnsavedMetadata = true
  }

  override func adoptRows(of other: MemoryStore) throws {
    file = url.map { WholeFile($0) }
    fileVersion = nil
    try super.adoptRows(of: other)
  }

  // MARK: Stores that are not open

  override class func metadataForPersistentStore(with url: URL) throws -> [String: Any] {
    try FileStoreErrors.translating(url) { try contents(of: WholeFile(url), url).metadata }
  }

  override class func setMetadata(_ metadata: [String: Any]?, forPersistentStoreAt url: URL) throws {
    try FileStoreErrors.translating(url) {
      let file = WholeFile(url)
      let contents = try contents(of: file, url)
      try write(
        contents.data(withMetadata: StoreMetadata.replaced(contents.metadata, by: metadata ?? [:])), to: file, url)
    }
  }

  /// Replaces the file, unless the result would be too large to read.
  private class func write(_ data: Data, to file: WholeFile, _ url: URL) throws {
    guard data.count <= largest else {
      throw RegularFile.Problem.tooLarge(path: url.path, bytes: data.count, limit: largest)
    }
    try file.write(data)
  }

  private class func contents(of file: WholeFile, _ url: URL) throws -> any StoreFormat {
    guard let data = try file.read(limit: largest) else { throw StoreFileProblem.missing(path: url.path) }
    return try format.init(data, url: url)
  }
}

/// The format of a file that contains a whole store.
protocol StoreFormat {
  /// Reads a file, without its model.
  ///
  /// - Throws: `ModelFileError` or `PropertyLists.Unreadable` for a file of another format.
  init(_ data: Data, url: URL) throws

  /// All metadata, with the UUID and the type.
  var metadata: [String: Any] { get }

  /// The number of objects of each entity, by the entity's name in the file.
  var objectCounts: [String: Int] { get }

  /// Adds the rows to tables without rows.
  ///
  /// - Throws: 259 for values that do not fit the model.
  func fill(_ tables: RowTables, url: URL) throws

  /// Returns the file with other metadata.
  ///
  /// - Throws: `PropertyLists.Unwritable`.
  func data(withMetadata metadata: [String: Any]) throws -> Data

  /// Returns the file for the rows of tables.
  ///
  /// - Throws: `PropertyLists.Unwritable` for metadata that cannot be written; 134070 for a row that cannot be written.
  static func data(of tables: RowTables, metadata: [String: Any]) throws -> Data
}

extension StoreMetadata {
  /// Returns the metadata that an app sets for a store that is not open. The app may replace the framework's own
  /// values, but not remove them.
  static func replaced(_ values: [String: Any], by given: [String: Any]) -> [String: Any] {
    given.merging(values.filter { ownKeys.contains($0.key) || $0.key == Key.uuid }) { given, _ in given }
  }
}

extension WholeFile.Problem: TranslatableError {
  package func translated(in context: ErrorContext) -> any Error {
    StoreErrors.disconnected(url: context.url, reason: description)
  }
}

extension PropertyLists.Unwritable: TranslatableError {
  package func translated(in context: ErrorContext) -> any Error {
    StoreFileProblem.unwritableMetadata(reason: description).translated(in: context)
  }
}

/// Cocoa errors for the files of stores that are read as a whole.
enum FileStoreErrors {
  /// Runs a body that reads or writes a file, and translates its errors. Those of parsing say that the file has another
  /// format.
  static func translating<Result>(_ url: URL, _ body: () throws -> Result) throws -> Result {
    try ErrorTranslation.translating(url: url, during: .opening) {
      do {
        return try body()
      } catch let error as ModelFileError {
        throw notAStore(url, error.found, error)
      } catch let error as PropertyLists.Unreadable {
        throw notAStore(url, error.description, error)
      }
    }
  }

  /// 259: a file of another format. The reason names a SQLite store as such.
  private static func notAStore(_ url: URL, _ reason: String, _ underlying: any Error) -> NSError {
    // If the file cannot be read, the reason says so.
    let start = try? DatabaseFile(path: url.path).firstBytes(SQLiteFileHeader.signature.count)
    guard start == SQLiteFileHeader.signature else {
      return StoreErrors.notAStore(url: url, reason: reason, underlying: underlying)
    }
    return StoreErrors.notAStore(
      url: url, reason: "The file is a SQLite database, and was opened as a store of another type.",
      suggestion: "Open it as a store of the type NSSQLiteStoreType.", underlying: underlying)
  }

  /// 259: a value in a file that does not fit the model.
  static func unreadable(_ url: URL, _ reason: String) -> NSError { StoreErrors.notAStore(url: url, reason: reason) }
}
