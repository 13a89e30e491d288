// OpenCoreData
// SPDX-License-Identifier: Apache-2.0

import CoreDataMistakes
import CoreDataStoreFiles
import Foundation
import Synchronization

/// A store of a coordinator: the superclass of all types of stores.
///
/// The properties declared here may be read on any thread. Everything else, including what subclasses add, is called
/// while the coordinator's lock is held.
open class NSPersistentStore: NSObject, @unchecked Sendable {
  /// The type of a store.
  public struct StoreType: RawRepresentable, Hashable, Sendable {
    /// The type's name in metadata.
    public let rawValue: String

    /// Creates a store type from its name.
    public init(rawValue: String) {
      self.rawValue = rawValue
    }

    /// A SQLite database.
    public static let sqlite = StoreType(rawValue: NSSQLiteStoreType)
    /// An XML file, which is read and written as a whole.
    public static let xml = StoreType(rawValue: NSXMLStoreType)
    /// A binary file, which is read and written as a whole.
    public static let binary = StoreType(rawValue: NSBinaryStoreType)
    /// A store without a file, which ends with its coordinator.
    public static let inMemory = StoreType(rawValue: NSInMemoryStoreType)
  }

  private struct State {
    var coordinator: WeakAddress<NSPersistentStoreCoordinator>?
    var url: URL?
    var isReadOnly: Bool
    var isForcedReadOnly = false
    var storeSetAside: SetAsideStore?
    var settledWork: InterruptedWork.Outcome?
    var metadata: [String: Any]? = [:]
  }

  private let state: Guarded<State>

  /// The coordinator that the store has been added to.
  open internal(set) var persistentStoreCoordinator: NSPersistentStoreCoordinator? {
    get { state.coordinator?.object }
    set { state.coordinator = newValue.map { WeakAddress($0) } }
  }
  /// The name of the configuration whose entities the store holds.
  public let configurationName: String
  /// The options that the store was opened with.
  public let options: [AnyHashable: Any]?
  /// The location of the store.
  open var url: URL? {
    get { state.url }
    set { state.url = newValue }
  }
  /// Whether the store is read-only.
  open var isReadOnly: Bool {
    get { state.isReadOnly }
    set { state.isReadOnly = newValue }
  }
  /// Whether the store is read-only because it has persistent history, and was opened without recording it.
  package final var isForcedReadOnly: Bool {
    get { state.isForcedReadOnly }
    set { state.isForcedReadOnly = newValue }
  }

  /// The store that was set aside when this one was created in its place; nil if none was. An addition to Apple's API.
  public internal(set) var storeSetAside: SetAsideStore? {
    get { state.storeSetAside }
    set { state.storeSetAside = newValue }
  }

  /// The outcome of the interrupted work that was settled when the store was opened; nil if there was none.
  final var settledWork: InterruptedWork.Outcome? {
    get { state.settledWork }
    set { state.settledWork = newValue }
  }

  /// Creates a store, without opening it.
  ///
  /// - Parameters:
  ///   - root: the coordinator that will own the store.
  ///   - name: the configuration, or nil for the default one.
  ///   - url: the location of the store.
  ///   - options: the options passed to the coordinator.
  public required init(
    persistentStoreCoordinator root: NSPersistentStoreCoordinator?, configurationName name: String?, at url: URL,
    options: [AnyHashable: Any]? = nil
  ) {
    configurationName = name ?? NSManagedObjectModel.defaultConfigurationName
    self.options = options
    state = Guarded(
      State(coordinator: root.map { WeakAddress($0) }, url: url, isReadOnly: StoreOptions(options).isReadOnly))
    super.init()
  }

  /// The name of the configuration; nil for the default one, which has all entities.
  package final var customConfigurationName: String? {
    configurationName == NSManagedObjectModel.defaultConfigurationName ? nil : configurationName
  }

  /// The store's type, such as `NSSQLiteStoreType`.
  ///
  /// If a subclass does not override it: the type in the metadata, or the one that the class is registered for.
  open var type: String {
    metadata?[NSStoreTypeKey] as? String ?? StoreKinds.type(of: Swift.type(of: self))
      ?? String(describing: Swift.type(of: self))
  }

  /// The store's UUID.
  open var identifier: String! {
    get { metadata?[NSStoreUUIDKey] as? String }
    set { metadata?[NSStoreUUIDKey] = newValue }
  }

  /// The metadata: type, UUID, version hashes, and the app's own values.
  open var metadata: [String: Any]! {
    get { state.metadata }
    set {
      state.metadata = newValue
      renewReference()
    }
  }

  /// The metadata as the framework's stores keep it: setting `metadata` changes only the app's part. Read on any
  /// thread; changed only while no other thread uses the store.
  package final var keptMetadata: [String: Any] {
    get { state.metadata ?? [:] }
    set {
      state.metadata = newValue
      renewReference()
    }
  }

  /// Opens the store and reads its metadata.
  ///
  /// - Throws: 134080 if the store cannot be opened; 134090 if another process keeps it locked; 259 if the file is
  ///   damaged or not a store.
  open func loadMetadata() throws {
    trap("\(Swift.type(of: self)) must override loadMetadata().")
  }

  /// Returns the metadata of a store that is not open.
  ///
  /// - Parameter url: the location of the store.
  /// - Throws: the store's errors.
  open class func metadataForPersistentStore(with url: URL) throws -> [String: Any] {
    trap("\(self) must override metadataForPersistentStore(with:).")
  }

  /// Replaces the metadata of a store that is not open.
  ///
  /// - Parameters:
  ///   - metadata: all metadata.
  ///   - url: the location of the store.
  /// - Throws: the store's errors.
  open class func setMetadata(_ metadata: [String: Any]?, forPersistentStoreAt url: URL) throws {
    trap("\(self) must override setMetadata(_:forPersistentStoreAt:).")
  }

  /// Returns the class of the migration manager for stores of this type.
  open class func migrationManagerClass() -> AnyClass { usualMigrationManagerClass }

  /// Returns whether a store exists at a location and can be opened rather than created.
  package class func hasContents(at url: URL) -> Bool {
    let size = (try? FileManager.default.attributesOfItem(atPath: url.path))?[.size] as? NSNumber
    // If the size of a file cannot be read, opening the store throws the error.
    return size.map { $0.intValue > 0 } ?? FileManager.default.fileExists(atPath: url.path)
  }

  /// Called after the store has been added to a coordinator.
  open func didAdd(to coordinator: NSPersistentStoreCoordinator) {}

  /// Called before the store is removed from its coordinator.
  open func willRemove(from coordinator: NSPersistentStoreCoordinator?) {}

  /// Runs a body while no other thread uses the store.
  package final func exclusively<Result>(_ body: () throws -> Result) rethrows -> Result {
    guard let coordinator = persistentStoreCoordinator else { return try body() }
    return try coordinator.withLock(body)
  }

  /// The store's part in its rows' identifiers: its number in this process, and the shared reference.
  private struct Identity {
    var number = StoreNumbers.next()
    var reference: StoreReference?
  }

  // Rows are read on any thread.
  private let identity = Guarded(Identity())
  /// A counter of changes of `identity`. Creating the reference for the first time does not count.
  private let identityChanges = Atomic<Int>(0)

  /// A version of the number and the reference. While it is unchanged, values read earlier remain valid.
  package final var identityVersion: Int { identityChanges.load(ordering: .acquiring) }

  /// The store's number in this process, a part of its identifiers.
  package final var number: UInt32 { identity.number }

  /// The reference that the store's identifiers share.
  package final var reference: StoreReference {
    if let known = identity.reference { return known }
    let made = StoreReference(self, identifier: identifier)
    return identity.update {
      let reference = $0.reference ?? made
      $0.reference = reference
      return reference
    }
  }

  /// The store as a `RowStore`; nil for other stores. Store types with many single-row reads override it, since the
  /// cast takes time.
  var rowStore: (any RowStore)? { self as? any RowStore }

  /// The number and the reference, read atomically.
  package final var numberAndReference: (number: UInt32, reference: StoreReference) {
    let known = identity.value
    if let reference = known.reference { return (known.number, reference) }
    return (number, reference)
  }

  /// Takes over the identifiers of another store, of which this store is a copy.
  package final func adoptIdentifiers(of other: NSPersistentStore) {
    let (number, reference) = (other.number, other.reference)
    changeIdentity { $0 = Identity(number: number, reference: reference) }
    reference.move(to: self)
    other.changeIdentity { $0 = Identity() }
  }

  /// Makes later identifiers use the store's current UUID. Called by the thread that has changed the metadata, so that
  /// other threads need not read them.
  package final func renewReference() {
    let current = identifier
    changeIdentity {
      if $0.reference?.identifier != current { $0.reference = StoreReference(self, identifier: current) }
    }
  }

  private func changeIdentity(_ change: (inout Identity) -> Void) {
    identity.update(change)
    identityChanges.add(1, ordering: .releasing)
  }
}

extension NSManagedObjectID {
  /// The store of the object; nil for a temporary identifier, or if the store has been removed.
  public var persistentStore: NSPersistentStore? { store?.store as? NSPersistentStore }

  /// The store of the object's row; nil as for `persistentStore`.
  var rowStore: (any RowStore)? { persistentStore?.rowStore }
}

/// Numbers the stores that this process opens, from 1.
private enum StoreNumbers {
  private static let lock = NSLock()
  nonisolated(unsafe) private static var last: UInt32 = 0

  static func next() -> UInt32 {
    lock.withLock {
      last += 1
      return last
    }
  }
}

extension NSPersistentStore: CustomReflectable {
  /// The properties for `dump(_:)` and debuggers: the URL without a password. An addition to Apple's API.
  public var customMirror: Mirror {
    Mirror(
      self,
      children: [
        "type": type, "identifier": identifier as Any, "url": url?.withoutPassword as Any,
        "configurationName": configurationName, "isReadOnly": isReadOnly, "options": options as Any,
      ], displayStyle: .class, ancestorRepresentation: .suppressed)
  }
}
