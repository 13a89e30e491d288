// OpenCoreData
// SPDX-License-Identifier: Apache-2.0

import Foundation

/// The type, location and options of a store to open, for `NSPersistentContainer` and
/// `NSPersistentStoreCoordinator.addPersistentStore(with:completionHandler:)`.
open class NSPersistentStoreDescription: NSObject, NSCopying, @unchecked Sendable {
  /// The store's type; by default `NSSQLiteStoreType`.
  open var type = NSSQLiteStoreType
  /// The configuration whose entities the store holds; nil for all entities.
  open var configuration: String?
  /// The location of the store.
  open var url: URL?
  /// The options for the coordinator.
  open private(set) var options: [String: NSObject] = [:]
  /// Whether the store is opened on another thread; false by default.
  open var shouldAddStoreAsynchronously = false

  /// Makes a description of a store that is migrated when needed, possibly with an inferred mapping.
  public override init() {
    super.init()
    shouldMigrateStoreAutomatically = true
    shouldInferMappingModelAutomatically = true
  }

  /// Makes a description of a store at a location.
  ///
  /// - Parameter url: the location of the store.
  public convenience init(url: URL) {
    self.init()
    self.url = url
  }

  /// Sets an option, or removes it.
  ///
  /// - Parameters:
  ///   - option: the option's value; nil to remove it.
  ///   - key: the option's key, such as `NSReadOnlyPersistentStoreOption`.
  open func setOption(_ option: NSObject?, forKey key: String) { options[key] = option }

  /// Whether the store is read-only; false by default.
  open var isReadOnly: Bool {
    get { flag(NSReadOnlyPersistentStoreOption) }
    set { options[NSReadOnlyPersistentStoreOption] = NSNumber(value: newValue) }
  }

  /// The time to wait for a lock, in seconds; by default 240.
  open var timeout: TimeInterval {
    get { (options[NSPersistentStoreTimeoutOption] as? NSNumber)?.doubleValue ?? 240 }
    set { options[NSPersistentStoreTimeoutOption] = NSNumber(value: newValue) }
  }

  /// Whether a store of another model version is migrated; true by default.
  open var shouldMigrateStoreAutomatically: Bool {
    get { flag(NSMigratePersistentStoresAutomaticallyOption) }
    set { options[NSMigratePersistentStoresAutomaticallyOption] = NSNumber(value: newValue) }
  }

  /// Whether a mapping is inferred if no mapping model is found; true by default.
  open var shouldInferMappingModelAutomatically: Bool {
    get { flag(NSInferMappingModelAutomaticallyOption) }
    set { options[NSInferMappingModelAutomaticallyOption] = NSNumber(value: newValue) }
  }

  /// Whether a store that is incompatible with the model, or damaged, is set aside, and a new one created in its place;
  /// false by default. An addition to Apple's API.
  ///
  /// Nothing is deleted: `storeSetAside` has the location of the old store, and `StoreRecovery.restore(_:to:modelsAt:)`
  /// restores it.
  open var shouldSetAsideIncompatibleStore: Bool {
    get { flag(StoreSetAsideOption) }
    set { options[StoreSetAsideOption] = NSNumber(value: newValue) }
  }

  /// The store that was set aside when this one was opened; nil for none. An addition to Apple's API.
  public internal(set) var storeSetAside: SetAsideStore?

  /// The SQLite pragmas to set when the store is opened.
  open var sqlitePragmas: [String: NSObject] {
    (options[NSSQLitePragmasOption] as? NSDictionary as? [String: NSObject]) ?? [:]
  }

  /// Sets a SQLite pragma, or removes it.
  ///
  /// - Parameters:
  ///   - value: the pragma's value as a string or number; nil to remove it.
  ///   - name: the pragma's name, such as `journal_mode`.
  open func setValue(_ value: NSObject?, forPragmaNamed name: String) {
    var pragmas = sqlitePragmas
    pragmas[name] = value
    options[NSSQLitePragmasOption] = NSDictionary(dictionary: pragmas)
  }

  /// Returns an independent copy.
  open func copy(with zone: NSZone? = nil) -> Any {
    let copy = NSPersistentStoreDescription()
    copy.type = type
    copy.configuration = configuration
    copy.url = url
    copy.options = options
    copy.shouldAddStoreAsynchronously = shouldAddStoreAsynchronously
    copy.storeSetAside = storeSetAside
    return copy
  }

  open override var description: String {
    "<NSPersistentStoreDescription> (type: \(type), url: \(url?.absoluteString ?? "nil"))"
  }

  private func flag(_ key: String) -> Bool { (options[key] as? NSNumber)?.boolValue ?? false }
}
