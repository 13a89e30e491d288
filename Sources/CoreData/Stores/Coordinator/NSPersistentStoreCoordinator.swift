// OpenCoreData
// SPDX-License-Identifier: Apache-2.0

import CoreDataMistakes
import CoreDataModelFiles
import CoreDataStoreFiles
import Dispatch
import Foundation
import Synchronization

/// The connection between contexts and stores: it opens stores that match its model, and serves all contexts.
open class NSPersistentStoreCoordinator: NSObject, @unchecked Sendable {
  /// The model, which is immutable.
  public let managedObjectModel: NSManagedObjectModel
  /// A name for debugging.
  open var name: String? {
    get { givenName.value }
    set { givenName.value = newValue }
  }
  private let givenName = Guarded<String?>(nil)
  /// The label of the migration stage whose handler this coordinator was made for, which history records for contexts without
  /// a name. Set before there are contexts.
  var migrationStageLabel: String?
  private let storesLock = NSRecursiveLock()
  /// The thread that holds the lock; 0 for none.
  private let lockingThread = Atomic<UInt>(0)
  private let queue = DispatchQueue(label: "NSPersistentStoreCoordinator")
  /// The model's derived attributes.
  let derivations: Derivations
  // Contexts look stores up without waiting for those that write.
  private let storeList = Guarded<[NSPersistentStore]>([])
  /// The contexts that merge what others save. Guarded by the lock.
  private var contexts: [WeakAddress<NSManagedObjectContext>] = []

  /// Makes a coordinator without stores.
  ///
  /// - Parameter model: the model, which becomes immutable.
  ///
  /// Differs from Apple: the initializer is `required`, since Swift allows `Self.init(managedObjectModel:)` for no other here.
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
  /// - Parameter block: work with the stores.
  /// - Returns: what the block returns.
  /// - Throws: what the block throws.
  open func performAndWait<T>(_ block: () throws -> T) rethrows -> T { try withLock(block) }

  /// Runs a block during which no other thread writes to the stores, on a queue of the coordinator's, and returns at
  /// once.
  ///
  /// - Parameter block: work with the stores.
  open func perform(_ block: @escaping () -> Void) {
    // The block runs only on the coordinator's queue.
    nonisolated(unsafe) let block = block
    queue.async { self.withLock(block) }
  }

  /// Runs a block during which no other thread writes to the stores, on a queue of the coordinator's.
  ///
  /// - Parameter block: work with the stores.
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
  func take(_ store: NSPersistentStore) {
    storeList.update { $0.append(store) }
    store.didAdd(to: self)
  }

  /// Replaces a store by an opened one, which takes over its identifiers.
  func replace(_ store: NSPersistentStore, by moved: NSPersistentStore) {
    moved.takeIdentifiers(of: store)
    exchange(store, for: moved)
  }

  /// Replaces a store by an opened one.
  func exchange(_ store: NSPersistentStore, for moved: NSPersistentStore) {
    store.willRemove(from: self)
    store.persistentStoreCoordinator = nil
    storeList.update { $0 = $0.map { $0 === store ? moved : $0 } }
    moved.didAdd(to: self)
  }

  func remember(_ context: NSManagedObjectContext) {
    withLock { contexts.append(WeakAddress(context)) }
  }

  func forget(_ context: NSManagedObjectContext) {
    withLock { contexts.removeAll { [nil, context].contains($0.object) } }
  }

  /// Has the other contexts merge what one of them has saved.
  func mergeChanges(ofSave context: NSManagedObjectContext, _ saved: SavedIdentifiers) {
    let others = withLock {
      contexts.removeAll { $0.object == nil }
      return contexts.compactMap(\.object).filter { $0 !== context }
    }
    for other in others {
      other.perform { other.merge(saved) }
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
  /// - Throws: the store's errors. The store is unchanged then.
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
  /// - Throws: the store's errors. The store is unchanged then.
  public class func setMetadata(
    _ metadata: [String: Any]?, forPersistentStoreOfType storeType: String, at url: URL,
    options: [AnyHashable: Any]? = nil
  ) throws {
    try StoreKinds.kind(of: storeType, at: url).setMetadata(metadata, forPersistentStoreAt: url)
  }

  // The operations of contexts: the coordinator finds the stores, and serializes access to them.

  /// Returns the stores that may hold rows of an entity.
  func rowStores(for entity: NSEntityDescription, among affected: [NSPersistentStore]? = nil) throws -> [any RowStore] {
    let wanted = stores.filter { store in affected?.contains { $0 === store } ?? true }
    let holding = wanted.compactMap { $0 as? any RowStore }.filter { holds($0, entity) }
    if holding.isEmpty, affected == nil {
      throw ObjectGraphErrors.noStore(for: entity, coordinatorHasStores: !wanted.isEmpty)
    }
    return holding
  }

  private func holds(_ store: NSPersistentStore, _ entity: NSEntityDescription) -> Bool {
    if store.customConfigurationName == nil { return true }
    let entities = managedObjectModel.entities(forConfigurationName: store.configurationName) ?? []
    if entities.contains(where: { $0.name == entity.name }) { return true }
    // Sub-entities of the configuration's entities, if the store has them.
    return entities.contains { entity.isKindOf(entity: $0) } && (store as? any RowStore)?.hasPlace(for: entity) == true
  }

  /// Reads rows of a store: beside all other work if it can, and otherwise while holding the lock.
  ///
  /// The thread that holds the lock may be writing, and must see what it has written.
  func reading<Result>(_ store: any RowStore, _ body: (any RowSource) throws -> Result) throws -> Result {
    if !isLockedByThisThread, let result = store.concurrently(body) { return result }
    try ReadInterruption.current?.check()
    return try withLock { try body(store) }
  }

  /// Returns what is made of the rows of a store that match a query; nil as for `rows(for:)`.
  ///
  /// Making objects runs code of the program, which may read the store again: the next rows are read meanwhile only if nobody
  /// else can use the connection.
  func rows<Result>(
    of store: any RowStore, for query: RowQuery, _ make: ([RowSnapshot]) -> [Result]
  ) throws -> [Result]? {
    if !isLockedByThisThread, let result = store.concurrently({ try $0.readRows(for: query) { try $0.map(make) } }) {
      return result
    }
    try ReadInterruption.current?.check()
    return try withLock { try store.rows(for: query) }.map(make)
  }

  func row(for id: NSManagedObjectID, in context: NSManagedObjectContext) throws -> RowSnapshot? {
    guard let store = id.rowStore else { return nil }
    return try reading(store) { try $0.row(for: id, in: context) }
  }

  func row(_ layout: RowLayout, _ primaryKey: Int64, in context: NSManagedObjectContext) throws -> RowSnapshot? {
    guard let store = (layout.identities.reference.store as? NSPersistentStore)?.rowStore else { return nil }
    return try reading(store) { try $0.row(layout, primaryKey, in: context) }
  }

  func members(
    of relationship: NSRelationshipDescription, for id: NSManagedObjectID, in context: NSManagedObjectContext
  ) throws -> [NSManagedObjectID] {
    guard let store = id.rowStore else { return [] }
    return try reading(store) { try $0.members(of: relationship, for: id, in: context) }
  }

  /// Returns the members of a to-many relationship by the keys of the given identifiers; those without members are left out.
  func members(
    of relationship: NSRelationshipDescription, forAll ids: [NSManagedObjectID], in context: NSManagedObjectContext
  ) throws -> [ObjectKey: [NSManagedObjectID]] {
    var members: [ObjectKey: [NSManagedObjectID]] = [:]
    for (_, group) in Dictionary(grouping: ids, by: \.key.store) {
      guard let store = group[0].rowStore else { continue }
      let found = try reading(store) { try $0.members(of: relationship, forAll: group, in: context) }
      members.merge(found) { first, _ in first }
    }
    return members
  }

  /// Returns permanent identifiers for new objects, each in the store it is assigned to, or else in the first writable
  /// store that holds its entity.
  func makeIdentifiers(
    for objects: [(object: NSManagedObject, store: NSPersistentStore?)]
  ) throws -> [NSManagedObjectID] {
    guard !objects.isEmpty else { return [] }
    return try withLock {
      var groups: [(store: any RowStore, positions: [Int])] = []
      var known: [ObjectIdentifier: Int] = [:]
      // New objects mostly come entity by entity.
      var last: (entity: NSEntityDescription, group: Int)?
      for (position, (object, assigned)) in objects.enumerated() {
        let entity = object.entity
        if assigned == nil, let last, last.entity === entity {
          groups[last.group].positions.append(position)
          continue
        }
        let group: Int
        if assigned == nil, let found = known[ObjectIdentifier(entity)] {
          group = found
        } else {
          let store = try storeForNewObject(entity, assigned)
          group = groups.firstIndex { $0.store === store } ?? groups.count
          if group == groups.count { groups.append((store, [])) }
        }
        groups[group].positions.append(position)
        if assigned == nil {
          known[ObjectIdentifier(entity)] = group
          last = (entity, group)
        }
      }
      if groups.count == 1 { return try groups[0].store.makeIdentifiers(forObjects: objects.map(\.object)) }
      var result: [NSManagedObjectID?] = Array(repeating: nil, count: objects.count)
      for group in groups {
        let ids = try group.store.makeIdentifiers(forObjects: group.positions.map { objects[$0].object })
        for (position, id) in zip(group.positions, ids) { result[position] = id }
      }
      return result.compactMap { $0 }
    }
  }

  /// Returns permanent identifiers for new objects, none of which is assigned to a store.
  ///
  /// - Throws: as `makeIdentifiers(for:)`.
  func makeIdentifiers(forUnassigned objects: [NSManagedObject]) throws -> [NSManagedObjectID] {
    guard let entity = objects.first?.entity, objects.allSatisfy({ $0.entity === entity }) else {
      return try makeIdentifiers(for: objects.map { ($0, nil) })
    }
    return try withLock { try storeForNewObject(entity, nil).makeIdentifiers(forObjects: objects) }
  }

  private func storeForNewObject(_ entity: NSEntityDescription, _ assigned: NSPersistentStore?) throws -> any RowStore {
    let known = managedObjectModel.entitiesByName
    guard let own = known[entity.name ?? ""] else {
      throw ObjectGraphErrors.unknownEntity(entity.name ?? "", known: Array(known.keys))
    }
    // Values are written by their positions.
    guard own === entity || own.slotTable.isLaidOut(like: entity.slotTable) else {
      throw ObjectGraphErrors.otherModel(entity, than: own)
    }
    let holding = try rowStores(for: entity)
    if let assigned {
      guard let store = holding.first(where: { $0 === assigned }) else {
        let name = entity.name ?? ""
        throw StoreErrors.operationFailed(
          url: assigned.url,
          reason: stores.contains { $0 === assigned }
            ? "The store's configuration \(assigned.configurationName) does not contain the entity \(name)."
            : "A new object of '\(name)' is assigned to a store that does not belong to its context's coordinator.")
      }
      return store
    }
    guard let store = holding.first(where: { !$0.isReadOnly }) ?? holding.first else {
      throw ObjectGraphErrors.noStore(for: entity, coordinatorHasStores: !stores.isEmpty)
    }
    return store
  }

  /// Writes a context's changes, store by store, and resolves conflicts by the context's merge policy.
  ///
  /// - Parameter check: runs first, in the same transactions.
  func write(_ changes: [RowChange], for context: NSManagedObjectContext, after check: ConflictCheck) throws {
    let changed = try withLock { () -> [URL?] in
      var groups: [(store: any RowStore, changes: [RowChange])] = []
      var numbers: Set<UInt32> = []
      for position in changes.indices {
        // Nearly all saves write to one store.
        let number = changes[position].id.key.store
        if numbers.count != 1 || numbers.first != number { numbers.insert(number) }
      }
      for number in numbers.sorted() {
        let own = numbers.count == 1 ? changes : changes.filter { $0.id.key.store == number }
        guard let first = own.first, let store = first.id.rowStore else {
          if let first = own.first { throw ObjectGraphErrors.missingObject(first.id) }
          continue
        }
        groups.append((store, own))
      }
      if let refusing = groups.first(where: { $0.store.isReadOnly }) {
        throw StoreErrors.readOnly(refusing.store)
      }
      for case let store as any HistoryStore in groups.map(\.store) where store.recordsHistory {
        store.origin = HistoryOrigin(context)
      }
      let resolution = MergeResolution(policy: context.mergePolicy, context: context)
      let isTogether = groups.count > 1 || !check.isEmpty
      func writeAll() throws {
        try check.run()
        for group in groups { try resolution.write(group.changes, to: group.store, isInTransaction: isTogether) }
      }
      if isTogether {
        let others = stores.compactMap { $0 as? any RowStore }.filter { store in
          !store.isReadOnly && check.concerns(store) && !groups.contains { $0.store === store }
        }
        // Objects that a merge policy has changed would be merged again.
        try together(groups.map(\.store) + others, canRepeat: { context.stateBeforeMerging == nil }, writeAll)
      } else {
        try writeAll()
      }
      try writeMetadata()
      return groups.map(\.store.url)
    }
    postRemoteChanges(of: changed)
  }

  /// Writes to several stores, and commits only if all writes succeed.
  ///
  /// If they do not fit on the disk, room is made, and the body runs once more.
  ///
  /// - Parameter canRepeat: whether the body can run again after what it has written was rolled back.
  func together(
    _ stores: [any RowStore], canRepeat: () -> Bool = { true }, _ body: () throws -> Void
  ) throws {
    var hasCommitted = false
    do {
      try writeTogether(stores, &hasCommitted, body)
    } catch {
      guard FullDisk.isCause(of: error), !hasCommitted, canRepeat(), stores.map({ $0.makeRoom() }).contains(true) else {
        throw error
      }
      do {
        try writeTogether(stores, &hasCommitted, body)
      } catch let failure where FullDisk.isCause(of: failure) {
        for store in stores { _ = store.makeRoom() }
        throw failure
      }
    }
  }

  private func writeTogether(
    _ stores: [any RowStore], _ hasCommitted: inout Bool, _ body: () throws -> Void
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
        hasCommitted = true
      }
    } catch {
      // The caller needs the error that stopped the save. SQLite rolls back what remains when the file is closed.
      for store in begun { try? store.rollBackWriting() }
      throw error
    }
  }

  /// Writes changed metadata of stores to which no rows were written.
  func writeMetadata() throws {
    try withLock {
      for case let store as any RowStore in stores where store.hasUnsavedMetadata && !store.isReadOnly {
        try store.writeMetadata()
      }
    }
  }
}
