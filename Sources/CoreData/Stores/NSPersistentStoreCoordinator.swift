// OpenCoreData
// SPDX-License-Identifier: Apache-2.0

import CoreDataMistakes
import CoreDataModelFiles
import CoreDataStoreFiles
import Dispatch
import Foundation
import Synchronization

/// A coordinator that opens the stores matching its model, and serves any number of contexts.
open class NSPersistentStoreCoordinator: NSObject, @unchecked Sendable {
  /// The model, which is immutable.
  public let managedObjectModel: NSManagedObjectModel
  /// A name for debugging.
  open var name: String? {
    get { givenName.value }
    set { givenName.value = newValue }
  }
  private let givenName = Guarded<String?>(nil)
  /// The label of the migration stage for whose handler this coordinator was created. History records it for contexts
  /// without a name. Set before contexts exist.
  var migrationStageLabel: String?
  private let storesLock = NSRecursiveLock()
  /// The thread that holds the lock; 0 for none.
  private let lockingThread = Atomic<UInt>(0)
  private let queue = DispatchQueue(label: "NSPersistentStoreCoordinator")
  /// The model's derived attributes.
  let derivations: Derivations
  // Contexts look up stores without waiting for threads that write.
  private let storeList = Guarded<[NSPersistentStore]>([])
  /// The observers to notify of saves. Guarded by the lock.
  private var saveObservers: [WeakAddress<AnyObject>] = []

  /// Creates a coordinator without stores.
  ///
  /// - Parameter model: the model, which becomes immutable.
  ///
  /// Differs from Apple: the initializer is `required`, because Swift requires that for
  /// `Self.init(managedObjectModel:)`.
  public required init(managedObjectModel model: NSManagedObjectModel) {
    managedObjectModel = model
    model.freeze()
    derivations = Derivations(model)
    super.init()
    LoadedModels.add(model)
  }

  /// The stores, in the order in which they were added.
  open var persistentStores: [NSPersistentStore] { stores }

  /// The stores. Changed only while the lock is held.
  var stores: [NSPersistentStore] { storeList.value }

  /// Returns the store at a location.
  ///
  /// - Parameter URL: the location of the store.
  open func persistentStore(for URL: URL) -> NSPersistentStore? {
    persistentStores.first { $0.url?.standardizedFileURL == URL.standardizedFileURL }
  }

  /// Returns the location of a store.
  ///
  /// - Parameter store: a store of this coordinator.
  open func url(for store: NSPersistentStore) -> URL { store.url ?? URL(fileURLWithPath: "/dev/null") }

  /// Returns the metadata of a store.
  ///
  /// - Parameter store: a store of this coordinator.
  open func metadata(for store: NSPersistentStore) -> [String: Any] { withLock { store.metadata } }

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
      NotificationCenter.default.post(name: .NSPersistentStoreCoordinatorWillRemoveStore, object: store)
      store.willRemove(from: self)
      storeList.update { _ = $0.remove(at: position) }
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

  /// Runs a block during which no other thread writes to the stores.
  ///
  /// - Parameter block: the work to do with the stores.
  /// - Returns: what the block returns.
  /// - Throws: what the block throws.
  open func performAndWait<T>(_ block: () throws -> T) rethrows -> T { try withLock(block) }

  /// Runs a block on a queue of the coordinator, and returns immediately. While the block runs, no other thread writes
  /// to the stores.
  ///
  /// - Parameter block: the work to do with the stores.
  open func perform(_ block: @escaping () -> Void) {
    // The block runs only on the coordinator's queue.
    nonisolated(unsafe) let block = block
    queue.async { self.withLock(block) }
  }

  /// Runs a block on a queue of the coordinator. While the block runs, no other thread writes to the stores.
  ///
  /// - Parameter block: the work to do with the stores.
  /// - Returns: what the block returns.
  /// - Throws: what the block throws.
  open func perform<T>(_ block: @escaping () throws -> T) async rethrows -> T {
    try await result(of: block) { throw $0 }
  }

  /// Runs a block on the coordinator's queue. `rescue` rethrows the block's error, which lets callers be `rethrows`.
  private func result<T>(
    of block: @escaping () throws -> T, rescue: (any Error) throws -> T
  ) async rethrows -> T {
    // The block runs only on the coordinator's queue, while the caller waits for its result.
    nonisolated(unsafe) let block = block
    nonisolated(unsafe) var result: Result<T, any Error>?
    await withCheckedContinuation { continuation in
      queue.async {
        result = Result { try self.withLock(block) }
        continuation.resume()
      }
    }
    switch result {
    case .success(let value)?: return value
    case .failure(let error)?: return try rescue(error)
    case nil: trap("The coordinator's queue has not run the block.")
    }
  }

  func withLock<T>(_ body: () throws -> T) rethrows -> T {
    storesLock.lock()
    let outer = lockingThread.exchange(ThreadIdentity.current, ordering: .relaxed)
    defer {
      lockingThread.store(outer, ordering: .relaxed)
      storesLock.unlock()
    }
    return try body()
  }

  private var isLockedByThisThread: Bool { lockingThread.load(ordering: .relaxed) == ThreadIdentity.current }

  /// Adds an opened store.
  func adopt(_ store: NSPersistentStore) {
    storeList.update { $0.append(store) }
    store.didAdd(to: self)
  }

  /// Replaces a store with an opened one, which takes over its identifiers.
  func replace(_ store: NSPersistentStore, by moved: NSPersistentStore) {
    moved.adoptIdentifiers(of: store)
    exchange(store, for: moved)
  }

  /// Replaces a store with an opened one.
  func exchange(_ store: NSPersistentStore, for moved: NSPersistentStore) {
    store.willRemove(from: self)
    store.persistentStoreCoordinator = nil
    storeList.update { $0 = $0.map { $0 === store ? moved : $0 } }
    moved.didAdd(to: self)
  }

  /// Notifies an observer of the saves of others, until it is removed or deallocated.
  func remember(_ observer: any SaveObserver) {
    withLock { saveObservers.append(WeakAddress(observer)) }
  }

  func forget(_ observer: any SaveObserver) {
    withLock { saveObservers.removeAll { $0.object == nil || $0.object === observer } }
  }

  /// Notifies the other observers of what one of them has saved.
  func notifyOthers(of saved: SavedIdentifiers, by observer: any SaveObserver) {
    let others = withLock {
      saveObservers.removeAll { $0.object == nil }
      return saveObservers.compactMap { $0.object as? any SaveObserver }.filter { $0 !== observer }
    }
    for other in others { other.othersHaveSaved(saved) }
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
  /// Posted before a coordinator removes a store, which is still open. Its object is the store.
  public static let NSPersistentStoreCoordinatorWillRemoveStore = Notification.Name(
    "NSPersistentStoreCoordinatorWillRemoveStoreNotification")
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
    try StoreKinds.kind(of: storeType.rawValue, at: storeURL).metadataForPersistentStore(with: storeURL)
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
    try StoreKinds.kind(of: storeType, at: url).metadataForPersistentStore(with: url)
  }

  /// Replaces the metadata of a store that is not open.
  ///
  /// - Parameters:
  ///   - metadata: all metadata.
  ///   - storeType: the store's type.
  ///   - storeURL: the location of the store.
  ///   - options: the store's options.
  /// - Throws: the store's errors. On an error, the store is unchanged.
  public class func setMetadata(
    _ metadata: [String: Any]?, type storeType: NSPersistentStore.StoreType, at storeURL: URL,
    options: [AnyHashable: Any]? = nil
  ) throws {
    try StoreKinds.kind(of: storeType.rawValue, at: storeURL).setMetadata(metadata, forPersistentStoreAt: storeURL)
  }

  /// Replaces the metadata of a store that is not open.
  ///
  /// - Parameters:
  ///   - metadata: all metadata.
  ///   - storeType: the store's type, such as `NSSQLiteStoreType`.
  ///   - url: the location of the store.
  ///   - options: the store's options.
  /// - Throws: the store's errors. On an error, the store is unchanged.
  public class func setMetadata(
    _ metadata: [String: Any]?, forPersistentStoreOfType storeType: String, at url: URL,
    options: [AnyHashable: Any]? = nil
  ) throws {
    try StoreKinds.kind(of: storeType, at: url).setMetadata(metadata, forPersistentStoreAt: url)
  }

  /// Reads rows of a store: concurrently with other work if possible, otherwise while holding the lock.
  ///
  /// A thread that already holds the lock may be writing, and must see what it has written.
  func reading<Result>(_ store: any RowStore, _ body: (any RowSource) throws -> Result) throws -> Result {
    if !isLockedByThisThread, let result = store.concurrently(body) { return result }
    try ReadInterruption.current?.check()
    return try withLock { try body(store) }
  }

  /// Makes results of the rows that match a query; returns nil as for `rows(for:)`.
  ///
  /// Making objects runs the program's code, which may read the store again. So the following rows are prefetched only
  /// if no other reader can use the connection.
  func rows<Result>(
    of store: any RowStore, for query: RowQuery, _ make: ([RowSnapshot]) -> [Result]
  ) throws -> [Result]? {
    if !isLockedByThisThread, let result = store.concurrently({ try $0.readRows(for: query) { try $0.map(make) } }) {
      return result
    }
    try ReadInterruption.current?.check()
    return try withLock { try store.rows(for: query) }.map(make)
  }

  /// Runs a body with a cursor over the rows that match a query, which are read while the body uses them if no other
  /// reader can use the connection, as in `rows(of:for:_:)`.
  ///
  /// - Parameter body: runs again if a read has failed and is repeated under the lock.
  /// - Returns: false if the store cannot evaluate the query.
  func readRows(
    of store: any RowStore, for query: RowQuery, _ body: (RowCursor) throws -> Void
  ) throws -> Bool {
    if !isLockedByThisThread, let result = store.concurrently({ try $0.readRows(for: query, body) }) {
      return result != nil
    }
    try ReadInterruption.current?.check()
    guard let rows = try withLock({ try store.rows(for: query) }) else { return false }
    try body(RowCursor(rows))
    return true
  }

  /// Writes to several stores, and commits only if all writes succeed.
  ///
  /// If the writes do not fit on the disk, space is freed and the body runs once more.
  ///
  /// - Parameters:
  ///   - canRepeat: whether the body can run again after its writes were rolled back.
  ///   - committed: receives the numbers of the stores that have committed, also if another one fails.
  func inTransactions(
    _ stores: [any RowStore], canRepeat: () -> Bool = { true }, committed: inout Set<UInt32>, _ body: () throws -> Void
  ) throws {
    do {
      try writeTogether(stores, &committed, body)
    } catch {
      guard FullDisk.isCause(of: error), committed.isEmpty, canRepeat(),
        stores.map({ $0.makeRoom() }).contains(true)
      else { throw error }
      do {
        try writeTogether(stores, &committed, body)
      } catch let failure where FullDisk.isCause(of: failure) {
        for store in stores { _ = store.makeRoom() }
        throw failure
      }
    }
  }

  private func writeTogether(
    _ stores: [any RowStore], _ committed: inout Set<UInt32>, _ body: () throws -> Void
  ) throws {
    var begun: [any RowStore] = []
    do {
      for store in stores {
        try store.beginWriting()
        begun.append(store)
      }
      try body()
      while let store = begun.first {
        try store.commitWriting()
        begun.removeFirst()
        committed.insert(store.number)
      }
    } catch {
      // The caller needs the error that stopped the save. SQLite rolls back what remains when the file is closed.
      for store in begun { try? store.rollBackWriting() }
      throw error
    }
  }

  /// Writes the changed metadata of stores without written rows.
  func writeMetadata() throws {
    try withLock {
      for case let store as any RowStore in stores where store.hasUnsavedMetadata && !store.isReadOnly {
        try store.writeMetadata()
      }
    }
  }
}
