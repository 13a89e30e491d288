// OpenCoreData
// SPDX-License-Identifier: Apache-2.0

import CoreDataModelFiles
import Foundation

/// Stands between contexts and stores: it knows the model, opens stores that fit it, and serves all contexts.
open class NSPersistentStoreCoordinator: NSObject, @unchecked Sendable {
  /// The model; it cannot be changed any more.
  public let managedObjectModel: NSManagedObjectModel
  /// A name for people who debug.
  open var name: String?
  let lock = NSRecursiveLock()
  /// How the model's derived attributes are computed.
  let derivations: Derivations
  private(set) var stores: [NSPersistentStore] = []
  /// The contexts that take over what others save.
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

  /// The store at a place.
  ///
  /// - Parameter URL: where the store is.
  open func persistentStore(for URL: URL) -> NSPersistentStore? {
    persistentStores.first { $0.url?.standardizedFileURL == URL.standardizedFileURL }
  }

  /// Where a store is.
  ///
  /// - Parameter store: a store of this coordinator.
  open func url(for store: NSPersistentStore) -> URL {
    store.url ?? URL(fileURLWithPath: "/dev/null")
  }

  /// The metadata of a store.
  ///
  /// - Parameter store: a store of this coordinator.
  open func metadata(for store: NSPersistentStore) -> [String: Any] {
    withLock { store.metadata }
  }

  /// Changes the metadata of a store; they are written with the next save.
  ///
  /// - Parameters:
  ///   - metadata: all metadata; what is left out is removed, but for the keys that the framework keeps itself.
  ///   - store: a store of this coordinator.
  open func setMetadata(_ metadata: [String: Any]?, for store: NSPersistentStore) {
    withLock { store.metadata = metadata ?? [:] }
  }

  /// Closes a store.
  ///
  /// - Parameter store: a store of this coordinator.
  /// - Throws: 134070 when the store is not of this coordinator.
  open func remove(_ store: NSPersistentStore) throws {
    try withLock {
      guard let position = stores.firstIndex(where: { $0 === store }) else {
        throw StoreErrors.operationFailed(
          url: store.url, reason: "The store does not belong to this coordinator, so it cannot be removed from it.")
      }
      store.willRemove(from: self)
      stores.remove(at: position)
      store.persistentStoreCoordinator = nil
    }
    NotificationCenter.default.post(
      name: .NSPersistentStoreCoordinatorStoresDidChange, object: self,
      userInfo: [NSRemovedPersistentStoresKey: [store]])
  }

  /// The identifier of an object from its URI.
  ///
  /// - Parameter url: what `uriRepresentation()` gave.
  /// - Returns: nil when no store of this coordinator has that UUID, or the URI is not one of an object.
  open func managedObjectID(forURIRepresentation url: URL) -> NSManagedObjectID? {
    guard url.scheme == "x-coredata", let host = url.host, url.pathComponents.count == 3 else { return nil }
    return withLock {
      let store = stores.first { $0.identifier?.caseInsensitiveCompare(host) == .orderedSame }
      return (store as? any RowStore)?.identifier(entityName: url.pathComponents[1], reference: url.pathComponents[2])
    }
  }

  /// The identifier of an object from its URI as text.
  ///
  /// - Parameter string: what `uriRepresentation().absoluteString` gave.
  open func managedObjectID(for string: String) -> NSManagedObjectID? {
    URL(string: string).flatMap { managedObjectID(forURIRepresentation: $0) }
  }

  /// Runs a block while no other thread uses the stores.
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

  /// Takes an opened store in.
  func take(_ store: NSPersistentStore) {
    stores.append(store)
    store.didAdd(to: self)
  }

  /// Takes an opened store in for another, whose identifiers become the new one's.
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

  /// Tells the other contexts what one of them has saved.
  func tellOthers(
    than context: NSManagedObjectContext, inserted: [NSManagedObjectID], updated: [NSManagedObjectID],
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
  /// Posted after stores were added or removed.
  public static let NSPersistentStoreCoordinatorStoresDidChange = Notification.Name(
    "_NSPersistentStoreCoordinatorStoresDidChangeNotification")
}
