// OpenCoreData
// SPDX-License-Identifier: Apache-2.0

import CoreDataStoreFiles
import Foundation

/// The type name of SQLite stores.
public let NSSQLiteStoreType = StoreMetadata.sqliteType
/// Option: a Bool; the store is read-only.
public let NSReadOnlyPersistentStoreOption = "NSReadOnlyPersistentStoreOption"
/// Option: a dictionary of SQLite pragmas and their values, as strings.
public let NSSQLitePragmasOption = "NSSQLitePragmasOption"
/// Option: a Bool; opening the store updates SQLite's statistics (`ANALYZE`).
public let NSSQLiteAnalyzeOption = "NSSQLiteAnalyzeOption"
/// Option: a Bool; opening the store packs its file (`VACUUM`).
public let NSSQLiteManualVacuumOption = "NSSQLiteManualVacuumOption"
/// Option: the time to wait for a lock, in seconds.
public let NSPersistentStoreTimeoutOption = "NSPersistentStoreTimeoutOption"
/// Option: a Bool; opening a store of another model version migrates it.
public let NSMigratePersistentStoresAutomaticallyOption = "NSMigratePersistentStoresAutomaticallyOption"
/// Option: a Bool; with `NSMigratePersistentStoresAutomaticallyOption`, the mapping may be inferred.
public let NSInferMappingModelAutomaticallyOption = "NSInferMappingModelAutomaticallyOption"
/// Option: a Bool; opening the store does not compare its version hashes with the model's.
public let NSIgnorePersistentStoreVersioningOption = "NSIgnorePersistentStoreVersioningOption"
/// Option: a Bool; an in-place migration leaves its cleanup to
/// `NSPersistentStoreCoordinator.finishDeferredLightweightMigration()`. SQLite stores only.
///
/// Metadata key: true while there is such work to do.
public let NSPersistentStoreDeferredLightweightMigrationOptionKey = StoreMetadata.Key.deferredCleanup
/// Option: the `NSStagedMigrationManager` of a staged migration; with
/// `NSMigratePersistentStoresAutomaticallyOption` and `NSInferMappingModelAutomaticallyOption`.
public let NSPersistentStoreStagedMigrationManagerOptionKey = "NSPersistentStoreStagedMigrationManagerOptionKey"
/// Option: a Bool; a store that is incompatible with the model, or damaged, is set aside, and a new one is created in
/// its place. `NSPersistentStore.storeSetAside` reports it. An addition to Apple's options.
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

  /// The time to wait for a lock, in seconds; nil if not given.
  var timeout: TimeInterval? {
    (values[NSPersistentStoreTimeoutOption] as? NSNumber)?.doubleValue
  }

  /// The pragmas by name, with all values as strings.
  var pragmas: [String: String] {
    guard let given = values[NSSQLitePragmasOption] as? [String: Any] else { return [:] }
    return given.mapValues { "\($0)" }
  }

  /// The options without those of migration, for a store that is opened while it is being migrated.
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

  /// Returns a value as an `NSPersistentStoreDescription` stores it.
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
