// OpenCoreData
// SPDX-License-Identifier: Apache-2.0

import Foundation

/// The type, location and options of a store to open, for `NSPersistentContainer` and
/// `NSPersistentStoreCoordinator.addPersistentStore(with:completionHandler:)`. May be used on any thread.
open class NSPersistentStoreDescription: NSObject, NSCopying, @unchecked Sendable {
  private struct Content {
    var type = NSSQLiteStoreType
    var configuration: String?
    var url: URL? = URL(fileURLWithPath: "/dev/null")
    var options: [String: NSObject] = [:]
    var isAsynchronous = false
    var storeSetAside: SetAsideStore?
  }

  private let content = Guarded(Content())

  /// The store's type; by default `NSSQLiteStoreType`.
  open var type: String {
    get { content.type }
    set { content.type = newValue }
  }
  /// The configuration whose entities the store holds; nil for all entities.
  open var configuration: String? {
    get { content.configuration }
    set { content.configuration = newValue }
  }
  /// The location of the store; by default `/dev/null`, which stands for an in-memory store.
  open var url: URL? {
    get { content.url }
    set { content.url = newValue }
  }
  /// The options for the coordinator.
  open var options: [String: NSObject] { content.options }
  /// Whether the store is opened asynchronously, on another thread; false by default.
  open var shouldAddStoreAsynchronously: Bool {
    get { content.isAsynchronous }
    set { content.isAsynchronous = newValue }
  }

  /// Creates a description of an in-memory store. Once it has another location, the store there is migrated if needed,
  /// with an inferred mapping if necessary.
  public override init() {
    super.init()
    shouldMigrateStoreAutomatically = true
    shouldInferMappingModelAutomatically = true
  }

  /// Creates a description of a store at a location.
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
  open func setOption(_ option: NSObject?, forKey key: String) { set(option, for: key) }

  /// Whether the store is read-only; false by default.
  open var isReadOnly: Bool {
    get { flag(NSReadOnlyPersistentStoreOption) }
    set { set(NSNumber(value: newValue), for: NSReadOnlyPersistentStoreOption) }
  }

  /// The time to wait for a lock, in seconds; by default 240.
  open var timeout: TimeInterval {
    get { (options[NSPersistentStoreTimeoutOption] as? NSNumber)?.doubleValue ?? 240 }
    set { set(NSNumber(value: newValue), for: NSPersistentStoreTimeoutOption) }
  }

  /// Whether a store of another model version is migrated; true by default.
  open var shouldMigrateStoreAutomatically: Bool {
    get { flag(NSMigratePersistentStoresAutomaticallyOption) }
    set { set(NSNumber(value: newValue), for: NSMigratePersistentStoresAutomaticallyOption) }
  }

  /// Whether a mapping is inferred if no mapping model is found; true by default.
  open var shouldInferMappingModelAutomatically: Bool {
    get { flag(NSInferMappingModelAutomaticallyOption) }
    set { set(NSNumber(value: newValue), for: NSInferMappingModelAutomaticallyOption) }
  }

  /// Whether a store that a newer version of the app has migrated may be migrated back if that drops or narrows any
  /// content; false by default. An addition to Apple's API; see `MigrationOption.allowsDowngrade`.
  open var allowsDowngrade: Bool {
    get { flag(MigrationOption.allowsDowngrade) }
    set { set(NSNumber(value: newValue), for: MigrationOption.allowsDowngrade) }
  }

  /// Whether a store that is incompatible with the model, or damaged, is set aside, and a new one created in its place;
  /// false by default. An addition to Apple's API.
  ///
  /// Nothing is deleted: `storeSetAside` has the location of the old store, and `StoreRecovery.restore(_:to:modelsAt:)`
  /// restores it.
  open var shouldSetAsideIncompatibleStore: Bool {
    get { flag(StoreSetAsideOption) }
    set { set(NSNumber(value: newValue), for: StoreSetAsideOption) }
  }

  /// The store that was set aside when this one was opened; nil if there was none. An addition to Apple's API.
  public internal(set) var storeSetAside: SetAsideStore? {
    get { content.storeSetAside }
    set { content.storeSetAside = newValue }
  }

  /// The SQLite pragmas to set when the store is opened.
  open var sqlitePragmas: [String: NSObject] { Self.pragmas(in: options) }

  private static func pragmas(in options: [String: NSObject]) -> [String: NSObject] {
    (options[NSSQLitePragmasOption] as? NSDictionary as? [String: NSObject]) ?? [:]
  }

  /// Sets a SQLite pragma, or removes it.
  ///
  /// - Parameters:
  ///   - value: the pragma's value as a string or number; nil to remove it.
  ///   - name: the pragma's name, such as `journal_mode`.
  open func setValue(_ value: NSObject?, forPragmaNamed name: String) {
    content.update { content in
      var pragmas = Self.pragmas(in: content.options)
      pragmas[name] = value
      content.options[NSSQLitePragmasOption] = NSDictionary(dictionary: pragmas)
    }
  }

  /// Returns an independent copy.
  open func copy(with zone: NSZone? = nil) -> Any {
    let copy = NSPersistentStoreDescription()
    copy.content.value = content.value
    return copy
  }

  open override var description: String {
    "<NSPersistentStoreDescription> (type: \(type), url: \(url?.withoutPassword.absoluteString ?? "nil"))"
  }

  private func set(_ option: NSObject?, for key: String) {
    // The previous value is released outside the lock.
    _ = content.update { content in
      defer { content.options[key] = option }
      return content.options[key]
    }
  }

  private func flag(_ key: String) -> Bool { (options[key] as? NSNumber)?.boolValue ?? false }
}

extension NSPersistentStoreDescription: CustomReflectable {
  /// The properties for `dump(_:)` and debuggers: the URL without a password. An addition to Apple's API.
  public var customMirror: Mirror {
    Mirror(
      self,
      children: [
        "type": type, "configuration": configuration as Any, "url": url?.withoutPassword as Any, "options": options,
        "shouldAddStoreAsynchronously": shouldAddStoreAsynchronously,
      ], displayStyle: .class, ancestorRepresentation: .suppressed)
  }
}
