// OpenCoreData
// SPDX-License-Identifier: Apache-2.0

import Foundation

/// One store of a coordinator: the base class of all kinds of stores.
open class NSPersistentStore: NSObject, @unchecked Sendable {
  /// The kind of a store, as its name in metadata.
  public struct StoreType: RawRepresentable, Hashable, Sendable {
    /// The type's name in metadata.
    public let rawValue: String

    /// Makes a store type of its name.
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
  /// Where the store is.
  open var url: URL?
  /// Whether the store refuses to be changed.
  open var isReadOnly: Bool

  /// The store that lay in this one's place, and was set aside when this one was opened; nil where none was. An addition to
  /// Apple's interface.
  public internal(set) var storeSetAside: SetAsideStore?

  /// What became of work on the store that had been interrupted, and that opening it has found; nil where there was none. An
  /// addition to Apple's interface.
  public internal(set) var recoveryOutcome: StoreRecovery.Outcome?

  /// Prepares a store; subclasses open it.
  ///
  /// - Parameters:
  ///   - root: the coordinator that will own the store.
  ///   - name: the configuration, or nil for the default one.
  ///   - url: where the store is.
  ///   - options: as given to the coordinator.
  public required init(
    persistentStoreCoordinator root: NSPersistentStoreCoordinator?, configurationName name: String?, at url: URL,
    options: [AnyHashable: Any]? = nil
  ) {
    persistentStoreCoordinator = root
    configurationName = name ?? NSPersistentStore.defaultConfigurationName
    self.url = url
    self.options = options
    isReadOnly = StoreOptions(options).isReadOnly
    super.init()
  }

  /// The name that Core Data gives to the configuration of all entities.
  static let defaultConfigurationName = "PF_DEFAULT_CONFIGURATION_NAME"

  /// The store's type as in its metadata, such as `NSSQLiteStoreType`.
  open var type: String {
    preconditionFailure("\(Swift.type(of: self)) must override type.")
  }

  /// The store's UUID.
  open var identifier: String! {
    get { metadata?[NSStoreUUIDKey] as? String }
    set { metadata?[NSStoreUUIDKey] = newValue }
  }

  /// What the store says of itself: type, UUID, version hashes, and what the app has added.
  open var metadata: [String: Any]! = [:] { didSet { forgetReference() } }

  /// Reads the metadata, and refuses a store that cannot be opened.
  ///
  /// - Throws: 134080 and its family when the store cannot be read.
  open func loadMetadata() throws {
    preconditionFailure("\(Swift.type(of: self)) must override loadMetadata().")
  }

  /// The metadata of a store that is not open.
  ///
  /// - Parameter url: where the store is.
  /// - Throws: the store's errors.
  open class func metadataForPersistentStore(with url: URL) throws -> [String: Any] {
    preconditionFailure("\(self) must override metadataForPersistentStore(with:).")
  }

  /// Replaces the metadata of a store that is not open.
  ///
  /// - Parameters:
  ///   - metadata: all metadata.
  ///   - url: where the store is.
  /// - Throws: the store's errors.
  open class func setMetadata(_ metadata: [String: Any]?, forPersistentStoreAt url: URL) throws {
    preconditionFailure("\(self) must override setMetadata(_:forPersistentStoreAt:).")
  }

  /// The class of the manager that migrates stores of this kind.
  open class func migrationManagerClass() -> AnyClass { NSMigrationManager.self }

  /// Whether there is a store to be opened, as opposed to one to be made.
  class func hasContents(at url: URL) -> Bool {
    let size = (try? FileManager.default.attributesOfItem(atPath: url.path))?[.size] as? NSNumber
    // A file whose size cannot be read is left to the opening of the store, which says why.
    return size.map { $0.intValue > 0 } ?? FileManager.default.fileExists(atPath: url.path)
  }

  /// Called when the store has been added to a coordinator.
  open func didAdd(to coordinator: NSPersistentStoreCoordinator) {}

  /// Called before the store is removed from its coordinator.
  open func willRemove(from coordinator: NSPersistentStoreCoordinator?) {}

  /// The store's number in this process, which identifiers carry.
  private(set) final var number = StoreNumbers.next()
  private var knownReference: StoreReference?

  /// What the store's identifiers refer to; asked for while the coordinator's lock is held.
  final var reference: StoreReference {
    if let knownReference { return knownReference }
    let made = StoreReference(self, identifier: identifier)
    knownReference = made
    return made
  }

  /// Has the identifiers of another store's rows be those of this one's, which is a copy of it.
  final func takeIdentifiers(of other: NSPersistentStore) {
    number = other.number
    knownReference = other.reference
    knownReference?.move(to: self)
    other.number = StoreNumbers.next()
    other.forgetReference()
  }

  /// Has later identifiers carry the store's UUID as it is now.
  final func forgetReference() { knownReference = nil }
}

extension NSManagedObjectID {
  /// The store that holds the object; nil for a temporary identifier, or when the store has been removed.
  public var persistentStore: NSPersistentStore? { store?.store as? NSPersistentStore }
}

/// Numbers the stores that this process opens; 0 is no store.
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
