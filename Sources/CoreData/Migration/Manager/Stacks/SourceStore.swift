// OpenCoreData
// SPDX-License-Identifier: Apache-2.0

import CoreDataSQLite
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
