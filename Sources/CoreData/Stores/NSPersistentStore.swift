// OpenCoreData
// SPDX-License-Identifier: Apache-2.0

import CoreDataPredicates
import CoreDataStoreFiles
import Foundation

/// A store of a coordinator: the superclass of all types of stores.
open class NSPersistentStore: NSObject, @unchecked Sendable {
  /// The type of a store.
  public struct StoreType: RawRepresentable, Hashable, Sendable {
    /// The type's name in metadata.
    public let rawValue: String

    /// Makes a store type from its name.
    public init(rawValue: String) {
      self.rawValue = rawValue
    }

    /// A SQLite database.
    public static let sqlite = StoreType(rawValue: NSSQLiteStoreType)
  }

  /// The coordinator that the store has been added to.
  open internal(set) weak var persistentStoreCoordinator: NSPersistentStoreCoordinator?
  /// The name of the configuration whose entities the store holds.
  public let configurationName: String
  /// The options that the store was opened with.
  public let options: [AnyHashable: Any]?
  /// The location of the store.
  open var url: URL?
  /// Whether the store is read-only.
  open var isReadOnly: Bool
  /// Whether the store is read-only because it has persistent history, and was opened without recording it.
  final var isForcedReadOnly = false

  /// The store that was set aside when this one was created in its place; nil for none. An addition to Apple's API.
  public internal(set) var storeSetAside: SetAsideStore?

  /// The outcome of interrupted work on the store that opening it has recovered from; nil for none. An addition to
  /// Apple's API.
  public internal(set) var recoveryOutcome: StoreRecovery.Outcome?

  /// Makes a store, without opening it.
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
    persistentStoreCoordinator = root
    configurationName = name ?? NSManagedObjectModel.defaultConfigurationName
    self.url = url
    self.options = options
    isReadOnly = StoreOptions(options).isReadOnly
    super.init()
  }

  /// The name of the configuration; nil for the default one, which has all entities.
  final var customConfigurationName: String? {
    configurationName == NSManagedObjectModel.defaultConfigurationName ? nil : configurationName
  }

  /// The store's type as in its metadata, such as `NSSQLiteStoreType`.
  open var type: String { preconditionFailure("\(Swift.type(of: self)) must override type.") }

  /// The store's UUID.
  open var identifier: String! {
    get { metadata?[NSStoreUUIDKey] as? String }
    set { metadata?[NSStoreUUIDKey] = newValue }
  }

  /// The metadata: type, UUID, version hashes, and the app's own values.
  open var metadata: [String: Any]! = [:] { didSet { forgetReference() } }

  /// Opens the store and reads its metadata.
  ///
  /// - Throws: 134080 and its family if the store cannot be opened.
  open func loadMetadata() throws {
    preconditionFailure("\(Swift.type(of: self)) must override loadMetadata().")
  }

  /// Returns the metadata of a store that is not open.
  ///
  /// - Parameter url: the location of the store.
  /// - Throws: the store's errors.
  open class func metadataForPersistentStore(with url: URL) throws -> [String: Any] {
    preconditionFailure("\(self) must override metadataForPersistentStore(with:).")
  }

  /// Replaces the metadata of a store that is not open.
  ///
  /// - Parameters:
  ///   - metadata: all metadata.
  ///   - url: the location of the store.
  /// - Throws: the store's errors.
  open class func setMetadata(_ metadata: [String: Any]?, forPersistentStoreAt url: URL) throws {
    preconditionFailure("\(self) must override setMetadata(_:forPersistentStoreAt:).")
  }

  /// The class of the migration manager of stores of this type.
  open class func migrationManagerClass() -> AnyClass { NSMigrationManager.self }

  /// Whether there is a store to open, instead of one to create.
  class func hasContents(at url: URL) -> Bool {
    let size = (try? FileManager.default.attributesOfItem(atPath: url.path))?[.size] as? NSNumber
    // If the size of a file cannot be read, opening the store throws the reason.
    return size.map { $0.intValue > 0 } ?? FileManager.default.fileExists(atPath: url.path)
  }

  /// Called after the store has been added to a coordinator.
  open func didAdd(to coordinator: NSPersistentStoreCoordinator) {}

  /// Called before the store is removed from its coordinator.
  open func willRemove(from coordinator: NSPersistentStoreCoordinator?) {}

  /// The store's number in this process, a part of its identifiers.
  private(set) final var number = StoreNumbers.next()
  private var knownReference: StoreReference?

  /// The reference that the store's identifiers share. The coordinator's lock must be held.
  final var reference: StoreReference {
    if let knownReference { return knownReference }
    let made = StoreReference(self, identifier: identifier)
    knownReference = made
    return made
  }

  /// Takes over the identifiers of another store, of which this one is a copy.
  final func takeIdentifiers(of other: NSPersistentStore) {
    number = other.number
    knownReference = other.reference
    knownReference?.move(to: self)
    other.number = StoreNumbers.next()
    other.forgetReference()
  }

  /// Has later identifiers use the store's current UUID.
  final func forgetReference() { knownReference = nil }
}

extension NSManagedObjectID {
  /// The store of the object; nil for a temporary identifier, or if the store has been removed.
  public var persistentStore: NSPersistentStore? { store?.store as? NSPersistentStore }
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

/// A store of rows, as contexts use it by way of the coordinator.
///
/// The coordinator's lock is held during all calls, so that a store needs no lock of its own.
protocol RowStore: NSPersistentStore {
  /// Returns the rows that match a query; nil if the store cannot express its predicate or order. The caller then reads
  /// all rows of the entity, and filters and sorts them in memory.
  func rows(for query: RowQuery) throws -> [RowSnapshot]?

  /// Returns the identifiers of the rows that match a query; nil as for `rows(for:)`.
  func identifiers(for query: RowQuery) throws -> [NSManagedObjectID]?

  /// Returns the number of rows that match a query; nil as for `rows(for:)`.
  func count(for query: RowQuery) throws -> Int?

  /// Returns the row of an identifier; nil if it is not in the store.
  func row(for id: NSManagedObjectID) throws -> RowSnapshot?

  /// Returns the members of a to-many relationship of a row, in their order if it is ordered.
  func members(of relationship: NSRelationshipDescription, for id: NSManagedObjectID) throws -> [NSManagedObjectID]

  /// Returns the members of a to-many relationship of several rows, as `members(of:for:)`; rows without members are left out.
  func members(
    of relationship: NSRelationshipDescription, forAll ids: [NSManagedObjectID]
  ) throws -> [ObjectKey: [NSManagedObjectID]]

  /// Returns permanent identifiers for new objects of the given entities, in the same order.
  func makeIdentifiers(for entities: [NSEntityDescription]) throws -> [NSManagedObjectID]

  /// Returns an identifier from the last part of its URI (`p12`); nil if it cannot be one of this store.
  func identifier(entityName: String, reference: String) -> NSManagedObjectID?

  /// Whether the metadata have unsaved changes, which `write(_:)` writes.
  var hasUnsavedMetadata: Bool { get }

  /// Begins a transaction for the following writes.
  func beginWriting() throws

  /// Commits the transaction.
  func commitWriting() throws

  /// Rolls the transaction back.
  func rollBackWriting() throws

  /// Writes all changes atomically.
  ///
  /// An inserted row gets version 1, and an updated row the version after its old one.
  ///
  /// - Throws: `RowConflicts` if rows have changed since they were read; 134180 and its family if SQLite fails.
  func write(_ changes: [RowChange]) throws
}

/// A query for the rows of an entity.
@dynamicMemberLookup
struct RowQuery {
  let entity: NSEntityDescription
  private(set) var criteria: RowCriteria

  init(entity: NSEntityDescription, includesSubentities: Bool = true) {
    self.entity = entity
    criteria = RowCriteria(includesSubentities: includesSubentities)
  }

  subscript<Value>(dynamicMember member: WritableKeyPath<RowCriteria, Value>) -> Value {
    get { criteria[keyPath: member] }
    set { criteria[keyPath: member] = newValue }
  }
}

/// A change of one row.
struct RowChange {
  enum Kind {
    case insert
    case update
    case delete
  }

  let kind: Kind
  let id: NSManagedObjectID
  /// The row as it was read; nil for an insertion.
  let old: RowSnapshot?
  /// The new row. All its identifiers are permanent.
  let slots: [Slot]
  /// The positions of slots that differ from `old`; for an insertion, of all that are not null.
  let changed: SlotSet
}
