// OpenCoreData
// SPDX-License-Identifier: Apache-2.0

import Foundation

/// What to open: the kind, place and options of a store, for `NSPersistentContainer` and
/// `NSPersistentStoreCoordinator.addPersistentStore(with:completionHandler:)`.
open class NSPersistentStoreDescription: NSObject, NSCopying, @unchecked Sendable {
  /// The store's type; `NSSQLiteStoreType` unless set.
  open var type = NSSQLiteStoreType
  /// The configuration whose entities the store holds; nil for all entities.
  open var configuration: String?
  /// Where the store is.
  open var url: URL?
  /// All options, as the coordinator gets them.
  open private(set) var options: [String: NSObject] = [:]
  /// Whether the store is opened on another thread; false unless set.
  open var shouldAddStoreAsynchronously = false

  /// Describes a store that is migrated when needed, by an inferred mapping where none is given.
  public override init() {
    super.init()
    shouldMigrateStoreAutomatically = true
    shouldInferMappingModelAutomatically = true
  }

  /// Describes a store at a place.
  ///
  /// - Parameter url: where the store is.
  public convenience init(url: URL) {
    self.init()
    self.url = url
  }

  /// Sets an option, or removes it.
  ///
  /// - Parameters:
  ///   - option: the option's value; nil to remove it.
  ///   - key: the option's key, such as `NSReadOnlyPersistentStoreOption`.
  open func setOption(_ option: NSObject?, forKey key: String) {
    options[key] = option
  }

  /// Whether the store refuses to be changed; false unless set.
  open var isReadOnly: Bool {
    get { flag(NSReadOnlyPersistentStoreOption) }
    set { options[NSReadOnlyPersistentStoreOption] = NSNumber(value: newValue) }
  }

  /// How long to wait for a lock, in seconds; 240 unless set.
  open var timeout: TimeInterval {
    get { (options[NSPersistentStoreTimeoutOption] as? NSNumber)?.doubleValue ?? 240 }
    set { options[NSPersistentStoreTimeoutOption] = NSNumber(value: newValue) }
  }

  /// Whether a store of another model version is migrated; true unless set.
  open var shouldMigrateStoreAutomatically: Bool {
    get { flag(NSMigratePersistentStoresAutomaticallyOption) }
    set { options[NSMigratePersistentStoresAutomaticallyOption] = NSNumber(value: newValue) }
  }

  /// Whether a mapping is inferred where none is found; true unless set.
  open var shouldInferMappingModelAutomatically: Bool {
    get { flag(NSInferMappingModelAutomaticallyOption) }
    set { options[NSInferMappingModelAutomaticallyOption] = NSNumber(value: newValue) }
  }

  /// Whether a store that does not fit the model, or is damaged, is set aside, and a new one opened in its place; false
  /// unless set. An addition to Apple's interface.
  ///
  /// Nothing is deleted: `storeSetAside` tells where the old store lies, and `StoreRecovery.restore(_:to:modelsAt:)` is the
  /// way back.
  open var shouldSetAsideIncompatibleStore: Bool {
    get { flag(StoreSetAsideOption) }
    set { options[StoreSetAsideOption] = NSNumber(value: newValue) }
  }

  /// The store that was set aside when this one was opened; nil where none was. An addition to Apple's interface.
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

  /// A copy that can be changed by itself.
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

  private func flag(_ key: String) -> Bool {
    (options[key] as? NSNumber)?.boolValue ?? false
  }
}
