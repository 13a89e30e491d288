// OpenCoreData
// SPDX-License-Identifier: Apache-2.0

import CoreDataModelFiles
import Foundation

/// The connection between contexts and stores: it opens stores that match its model, and serves all contexts.
open class NSPersistentStoreCoordinator: NSObject, @unchecked Sendable {
  /// The model, which is immutable.
  public let managedObjectModel: NSManagedObjectModel
  /// A name for debugging.
  open var name: String?
  let lock = NSRecursiveLock()
  /// The model's derived attributes.
  let derivations: Derivations
  private(set) var stores: [NSPersistentStore] = []
  /// The contexts that merge what others save.
  private var contexts: [WeakContext] = []

  private struct WeakContext {
    weak var context: NSManagedObjectContext?
  }

  /// Makes a coordinator without stores.
  ///
  /// - Parameter model: the model, which becomes immutable.
  public init(managedObjectModel model: NSManagedObjectModel) {
    managedObjectModel = model
    model.freeze()
    derivations = Derivations(model)
    super.init()
  }

  /// The stores, in the order in which they were added.
  open var persistentStores: [NSPersistentStore] { withLock { stores } }

  /// Returns the store at a location.
  ///
  /// - Parameter URL: the location of the store.
  open func persistentStore(for URL: URL) -> NSPersistentStore? {
    persistentStores.first { $0.url?.standardizedFileURL == URL.standardizedFileURL }
  }

  /// Returns the location of a store.
  ///
  /// - Parameter store: a store of this coordinator.
  open func url(for store: NSPersistentStore) -> URL {
    store.url ?? URL(fileURLWithPath: "/dev/null")
  }

  /// Returns the metadata of a store.
  ///
  /// - Parameter store: a store of this coordinator.
  open func metadata(for store: NSPersistentStore) -> [String: Any] {
    withLock { store.metadata }
  }

  /// Sets the metadata of a store. The next save writes them.
  ///
  /// - Parameters:
  ///   - metadata: all metadata. Missing keys are removed, except for the framework's own.
  ///   - store: a store of this coordinator.
  open func setMetadata(_ metadata: [String: Any]?, for store: NSPersistentStore) {
    withLock { store.metadata = metadata ?? [:] }
  }

  /// Removes and closes a store.
  ///
  /// - Parameter store: a store of this coordinator.
  /// - Throws: 134070 if the store does not belong to this coordinator.
  open func remove(_ store: NSPersistentStore) throws {
    try withLock {
      guard let position = stores.firstIndex(where: { $0 === store }) else {
        throw StoreErrors.operationFailed(
          url: store.url, reason: "The store does not belong to this coordinator, which cannot remove it.")
      }
      store.willRemove(from: self)
      stores.remove(at: position)
      store.persistentStoreCoordinator = nil
    }
    NotificationCenter.default.post(
      name: .NSPersistentStoreCoordinatorStoresDidChange, object: self,
      userInfo: [NSRemovedPersistentStoresKey: [store]])
  }

  /// Returns the identifier of an object from its URI.
  ///
  /// - Parameter url: a result of `uriRepresentation()`.
  /// - Returns: nil if no store of this coordinator has that UUID, or the URI is not that of an object.
  open func managedObjectID(forURIRepresentation url: URL) -> NSManagedObjectID? {
    guard url.scheme == "x-coredata", let host = url.host, url.pathComponents.count == 3 else { return nil }
    return withLock {
      let store = stores.first { $0.identifier?.caseInsensitiveCompare(host) == .orderedSame }
      return (store as? any RowStore)?.identifier(entityName: url.pathComponents[1], reference: url.pathComponents[2])
    }
  }

  /// Returns the identifier of an object from its URI as a string.
  ///
  /// - Parameter string: the string of a result of `uriRepresentation()`.
  open func managedObjectID(for string: String) -> NSManagedObjectID? {
    URL(string: string).flatMap { managedObjectID(forURIRepresentation: $0) }
  }

  /// Runs a block with exclusive access to the stores.
  ///
  /// - Parameter block: work with the stores.
  /// - Returns: what the block returns.
  /// - Throws: what the block throws.
  open func performAndWait<T>(_ block: () throws -> T) rethrows -> T {
    try withLock(block)
  }

  func withLock<T>(_ body: () throws -> T) rethrows -> T {
    lock.lock()
    defer { lock.unlock() }
    return try body()
  }

  /// Adds an opened store.
  func take(_ store: NSPersistentStore) {
    stores.append(store)
    store.didAdd(to: self)
  }

  /// Replaces a store by an opened one, which takes over its identifiers.
  func replace(_ store: NSPersistentStore, by moved: NSPersistentStore) {
    moved.takeIdentifiers(of: store)
    store.willRemove(from: self)
    store.persistentStoreCoordinator = nil
    stores = stores.map { $0 === store ? moved : $0 }
    moved.didAdd(to: self)
  }

  func remember(_ context: NSManagedObjectContext) {
    withLock { contexts.append(WeakContext(context: context)) }
  }

  func forget(_ context: NSManagedObjectContext) {
    withLock { contexts.removeAll { $0.context == nil || $0.context === context } }
  }

  /// Has the other contexts merge what one of them has saved.
  func mergeChanges(
    ofSave context: NSManagedObjectContext, inserted: [NSManagedObjectID], updated: [NSManagedObjectID],
    deleted: [NSManagedObjectID]
  ) {
    let others = withLock {
      contexts.removeAll { $0.context == nil }
      return contexts.compactMap(\.context).filter { $0 !== context }
    }
    for other in others {
      other.perform { other.merge(inserted: inserted, updated: updated, deleted: deleted) }
    }
  }
}

/// Key of notifications: the stores added.
public let NSAddedPersistentStoresKey = "added"
/// Key of notifications: the stores removed.
public let NSRemovedPersistentStoresKey = "removed"

extension Notification.Name {
  /// Posted after stores have been added or removed.
  public static let NSPersistentStoreCoordinatorStoresDidChange = Notification.Name(
    "_NSPersistentStoreCoordinatorStoresDidChangeNotification")
}

extension NSPersistentStoreCoordinator {
  /// Returns the metadata of a store, which need not be open, without its model.
  ///
  /// - Parameters:
  ///   - storeType: the store's type.
  ///   - storeURL: the location of the store.
  ///   - options: the store's options.
  /// - Returns: `NSStoreTypeKey`, `NSStoreUUIDKey`, the version hashes, and the app's own values.
  /// - Throws: 260 if there is no such file; 259 or 134080 if it is not a store.
  public class func metadataForPersistentStore(
    type storeType: NSPersistentStore.StoreType, at storeURL: URL, options: [AnyHashable: Any]? = nil
  ) throws -> [String: Any] {
    try StoreKinds.kind(of: storeType.rawValue).metadataForPersistentStore(with: storeURL)
  }

  /// Returns the metadata of a store, which need not be open, without its model.
  ///
  /// - Parameters:
  ///   - storeType: the store's type, such as `NSSQLiteStoreType`.
  ///   - url: the location of the store.
  ///   - options: the store's options.
  /// - Throws: the errors of `metadataForPersistentStore(type:at:options:)`.
  public class func metadataForPersistentStore(
    ofType storeType: String, at url: URL, options: [AnyHashable: Any]? = nil
  ) throws -> [String: Any] {
    try StoreKinds.kind(of: storeType).metadataForPersistentStore(with: url)
  }

  /// Replaces the metadata of a store that is not open.
  ///
  /// - Parameters:
  ///   - metadata: all metadata.
  ///   - storeType: the store's type.
  ///   - storeURL: the location of the store.
  ///   - options: the store's options.
  /// - Throws: the store's errors. The store is unchanged then.
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
  ///   - storeType: the store's type, such as `NSSQLiteStoreType`.
  ///   - url: the location of the store.
  ///   - options: the store's options.
  /// - Throws: the store's errors. The store is unchanged then.
  public class func setMetadata(
    _ metadata: [String: Any]?, forPersistentStoreOfType storeType: String, at url: URL,
    options: [AnyHashable: Any]? = nil
  ) throws {
    try StoreKinds.kind(of: storeType).setMetadata(metadata, forPersistentStoreAt: url)
  }
}
