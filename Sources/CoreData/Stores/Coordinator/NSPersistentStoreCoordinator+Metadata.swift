// OpenCoreData
// SPDX-License-Identifier: Apache-2.0

import Foundation

extension NSPersistentStoreCoordinator {
  /// The metadata of a store that need not be open, and whose model need not be known.
  ///
  /// - Parameters:
  ///   - storeType: the kind of store.
  ///   - storeURL: where the store is.
  ///   - options: the store's options.
  /// - Returns: `NSStoreTypeKey`, `NSStoreUUIDKey`, the version hashes, and what the app has added.
  /// - Throws: 260 when there is no such file; 259 and 134080 when it is not a store.
  public class func metadataForPersistentStore(
    type storeType: NSPersistentStore.StoreType, at storeURL: URL, options: [AnyHashable: Any]? = nil
  ) throws -> [String: Any] {
    try StoreKinds.kind(of: storeType.rawValue).metadataForPersistentStore(with: storeURL)
  }

  /// The metadata of a store that need not be open, and whose model need not be known.
  ///
  /// - Parameters:
  ///   - storeType: the kind of store, such as `NSSQLiteStoreType`.
  ///   - url: where the store is.
  ///   - options: the store's options.
  /// - Throws: as `metadataForPersistentStore(type:at:options:)`.
  public class func metadataForPersistentStore(
    ofType storeType: String, at url: URL, options: [AnyHashable: Any]? = nil
  ) throws -> [String: Any] {
    try StoreKinds.kind(of: storeType).metadataForPersistentStore(with: url)
  }

  /// Replaces the metadata of a store that is not open.
  ///
  /// - Parameters:
  ///   - metadata: all metadata.
  ///   - storeType: the kind of store.
  ///   - storeURL: where the store is.
  ///   - options: the store's options.
  /// - Throws: the store's errors; the store is as it was then.
  public class func setMetadata(
    _ metadata: [String: Any]?, type storeType: NSPersistentStore.StoreType, at storeURL: URL,
    options: [AnyHashable: Any]? = nil
  ) throws {
    try StoreKinds.kind(of: storeType.rawValue).setMetadata(metadata, forPersistentStoreAt: storeURL)
  }

  /// Replaces the metadata of a store that is not open.
  ///
  /// - Parameters:
  ///   - metadata: all metadata.
  ///   - storeType: the kind of store, such as `NSSQLiteStoreType`.
  ///   - url: where the store is.
  ///   - options: the store's options.
  /// - Throws: the store's errors; the store is as it was then.
  public class func setMetadata(
    _ metadata: [String: Any]?, forPersistentStoreOfType storeType: String, at url: URL,
    options: [AnyHashable: Any]? = nil
  ) throws {
    try StoreKinds.kind(of: storeType).setMetadata(metadata, forPersistentStoreAt: url)
  }
}
