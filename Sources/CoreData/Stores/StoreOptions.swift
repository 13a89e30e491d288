// OpenCoreData
// SPDX-License-Identifier: Apache-2.0

import CoreDataStoreFiles
import Foundation

/// The type name of SQLite stores.
public let NSSQLiteStoreType = StoreMetadata.sqliteType
/// Option: a Bool; the store refuses to be changed.
public let NSReadOnlyPersistentStoreOption = "NSReadOnlyPersistentStoreOption"
/// Option: a dictionary of SQLite pragmas and their values, as strings.
public let NSSQLitePragmasOption = "NSSQLitePragmasOption"
/// Option: a Bool; SQLite's statistics are renewed (`ANALYZE`) when the store is opened.
public let NSSQLiteAnalyzeOption = "NSSQLiteAnalyzeOption"
/// Option: a Bool; the store's file is packed (`VACUUM`) when it is opened.
public let NSSQLiteManualVacuumOption = "NSSQLiteManualVacuumOption"
/// Option: how long to wait for a lock, in seconds.
public let NSPersistentStoreTimeoutOption = "NSPersistentStoreTimeoutOption"
/// Option: a Bool; a store of another model version is migrated when it is opened.
public let NSMigratePersistentStoresAutomaticallyOption = "NSMigratePersistentStoresAutomaticallyOption"
/// Option: a Bool; together with `NSMigratePersistentStoresAutomaticallyOption`, a mapping is inferred.
public let NSInferMappingModelAutomaticallyOption = "NSInferMappingModelAutomaticallyOption"
/// Option: a Bool; the version hashes of store and model are not compared when the store is opened.
public let NSIgnorePersistentStoreVersioningOption = "NSIgnorePersistentStoreVersioningOption"
/// Option: a Bool; what a migration in place would clean up is left for
/// `NSPersistentStoreCoordinator.finishDeferredLightweightMigration()`. SQLite stores only.
///
/// Metadata key: true as long as there is such work to do.
public let NSPersistentStoreDeferredLightweightMigrationOptionKey = StoreMetadata.Key.deferredCleanup
/// Option: the `NSStagedMigrationManager` that takes a store from stage to stage; with
/// `NSMigratePersistentStoresAutomaticallyOption` and `NSInferMappingModelAutomaticallyOption`.
public let NSPersistentStoreStagedMigrationManagerOptionKey = "NSPersistentStoreStagedMigrationManagerOptionKey"
/// Option: a Bool; a store that cannot be opened because it does not fit the model, or is damaged, is set aside, and a new
/// one is opened in its place. An addition to Apple's options; `NSPersistentStore.storeSetAside` tells what has happened.
public let StoreSetAsideOption = "StoreSetAsideOption"
/// Metadata key: the store's type.
public let NSStoreTypeKey = StoreMetadata.Key.type
/// Metadata key: the store's UUID.
public let NSStoreUUIDKey = StoreMetadata.Key.uuid
/// Metadata key: the version hash of each entity.
public let NSStoreModelVersionHashesKey = StoreMetadata.Key.hashes
/// Metadata key: the developer's names for the model version.
public let NSStoreModelVersionIdentifiersKey = StoreMetadata.Key.identifiers
/// Metadata key: the checksum of the model version.
public let NSPersistentStoreModelVersionChecksumKey = StoreMetadata.Key.checksum
/// Metadata key: the oldest system that can read the store.
public let NSPersistentStoreOSCompatibility = "NSPersistentStoreOSCompatibility"

/// The options of a store, with their types and defaults.
struct StoreOptions {
  private let values: [AnyHashable: Any]

  init(_ values: [AnyHashable: Any]?) {
    self.values = values ?? [:]
  }

  var isReadOnly: Bool { flag(NSReadOnlyPersistentStoreOption) }
  var migratesAutomatically: Bool { flag(NSMigratePersistentStoresAutomaticallyOption) }
  var infersMapping: Bool { flag(NSInferMappingModelAutomaticallyOption) }
  var defersCleanup: Bool { flag(NSPersistentStoreDeferredLightweightMigrationOptionKey) }
  var stagedMigration: NSStagedMigrationManager? {
    values[NSPersistentStoreStagedMigrationManagerOptionKey] as? NSStagedMigrationManager
  }
  var ignoresVersioning: Bool { flag(NSIgnorePersistentStoreVersioningOption) }
  var setsAside: Bool { flag(StoreSetAsideOption) }
  var destroysByForce: Bool { flag(NSPersistentStoreForceDestroyOption) }
  var analyzes: Bool { flag(NSSQLiteAnalyzeOption) }
  var vacuums: Bool { flag(NSSQLiteManualVacuumOption) }

  /// Seconds to wait for a lock; nil when the caller has not said.
  var timeout: TimeInterval? {
    (values[NSPersistentStoreTimeoutOption] as? NSNumber)?.doubleValue
  }

  /// Pragmas by name, all values as text.
  var pragmas: [String: String] {
    guard let given = values[NSSQLitePragmasOption] as? [String: Any] else { return [:] }
    return given.mapValues { "\($0)" }
  }

  /// The options that are not about migration, for a store that is opened while it is being migrated.
  var forHandlers: [String: NSObject] {
    let migration: Set<String> = [
      NSMigratePersistentStoresAutomaticallyOption, NSInferMappingModelAutomaticallyOption,
      NSPersistentStoreStagedMigrationManagerOptionKey, NSPersistentStoreDeferredLightweightMigrationOptionKey,
      MigrationOption.models, MigrationOption.mappings, MigrationOption.isProgressive,
      MigrationOption.keepsReplacedStore, MigrationOption.managerFactory, MigrationOption.integrityCheck,
      MigrationOption.allowsLoss,
    ]
    return values.reduce(into: [:]) { result, entry in
      guard let key = entry.key as? String, !migration.contains(key) else { return }
      result[key] = Self.object(entry.value)
    }
  }

  /// A value as descriptions keep it.
  private static func object(_ value: Any) -> NSObject? {
    switch value {
    case let object as NSObject: object
    case let flag as Bool: NSNumber(value: flag)
    case let number as Int: NSNumber(value: number)
    case let number as Double: NSNumber(value: number)
    case let text as String: NSString(string: text)
    case let dictionary as [String: Any]: NSDictionary(dictionary: dictionary)
    default: nil
    }
  }

  subscript(_ key: String) -> Any? { values[key] }

  func flag(_ key: String, default fallback: Bool = false) -> Bool {
    switch values[key] {
    case let flag as Bool: flag
    case let number as NSNumber: number.boolValue
    default: fallback
    }
  }
}
