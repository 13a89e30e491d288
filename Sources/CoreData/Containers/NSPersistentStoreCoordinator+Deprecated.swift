// OpenCoreData
// SPDX-License-Identifier: Apache-2.0

import CoreDataFileSystem
import Foundation

extension NSPersistentStoreCoordinator {
  /// Returns the metadata of a store, which need not be open.
  ///
  /// - Parameters:
  ///   - storeType: the store's type; nil to detect it from the file.
  ///   - url: the location of the store.
  /// - Throws: 259 if the type is nil and the file is not a SQLite, XML or binary store; the errors of
  ///   `metadataForPersistentStore(type:at:options:)`.
  @available(*, deprecated, message: "Use metadataForPersistentStore(type:at:options:).")
  public class func metadataForPersistentStore(ofType storeType: String?, at url: URL) throws -> [String: Any] {
    try kind(ofType: storeType, at: url).metadataForPersistentStore(with: url)
  }

  /// Returns the metadata of a SQLite, XML or binary store, which need not be open.
  ///
  /// - Parameter url: the location of the store.
  /// - Throws: 259 if the file is not one of these; the errors of `metadataForPersistentStore(type:at:options:)`.
  @available(*, deprecated, message: "Use metadataForPersistentStore(type:at:options:).")
  public class func metadataForPersistentStore(with url: URL) throws -> [AnyHashable: Any] {
    try kind(ofType: nil, at: url).metadataForPersistentStore(with: url)
  }

  /// Replaces the metadata of a store that is not open.
  ///
  /// - Parameters:
  ///   - metadata: all metadata.
  ///   - storeType: the store's type; nil to detect it from the file.
  ///   - url: the location of the store.
  /// - Throws: 259 if the type is nil and the file is not a SQLite, XML or binary store; the errors of
  ///   `setMetadata(_:type:at:options:)`. On an error, the store is unchanged.
  @available(*, deprecated, message: "Use setMetadata(_:type:at:options:).")
  public class func setMetadata(
    _ metadata: [String: Any]?, forPersistentStoreOfType storeType: String?, at url: URL
  ) throws {
    try kind(ofType: storeType, at: url).setMetadata(metadata, forPersistentStoreAt: url)
  }

  /// Returns the class of a store type, or, for nil, of the type that the file's first bytes indicate.
  private class func kind(ofType storeType: String?, at url: URL) throws -> NSPersistentStore.Type {
    if let storeType { return try StoreKinds.kind(of: storeType) }
    let start = try ErrorTranslation.translating(url: url, during: .opening) {
      try RegularFile.firstBytes(15, of: url)
    }
    if start.starts(with: Data("SQLite format 3".utf8)) { return SQLiteStore.self }
    if start.starts(with: Data("bplist00".utf8)) { return BinaryStore.self }
    return XMLStore.self
  }
}
