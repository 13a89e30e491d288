// OpenCoreData
// SPDX-License-Identifier: Apache-2.0

import CoreDataStoreFiles
import Foundation

/// The type name of SQLite stores.
public let NSSQLiteStoreType = StoreMetadata.sqliteType
/// The type name of XML stores.
public let NSXMLStoreType = "XML"
/// The type name of binary stores.
public let NSBinaryStoreType = "Binary"
/// The type name of in-memory stores.
public let NSInMemoryStoreType = "InMemory"
/// Option: a Bool; the store is read-only.
public let NSReadOnlyPersistentStoreOption = "NSReadOnlyPersistentStoreOption"
/// Option: a dictionary of SQLite pragmas and their values, as strings.
///
/// Unless it contains `wal_autocheckpoint`, the write-ahead log is checkpointed in the background, and not at the end
/// of saves.
public let NSSQLitePragmasOption = "NSSQLitePragmasOption"
/// Option: a Bool; opening the store updates SQLite's statistics (`ANALYZE`).
public let NSSQLiteAnalyzeOption = "NSSQLiteAnalyzeOption"
/// Option: a Bool; opening the store compacts its file (`VACUUM`).
public let NSSQLiteManualVacuumOption = "NSSQLiteManualVacuumOption"
/// Option: how iOS encrypts the files of a store.
///
/// The option is accepted and ignored, since data protection exists only on iOS. Set the permissions of the directory, or
/// encrypt the disk.
public let NSPersistentStoreFileProtectionKey = "NSPersistentStoreFileProtectionKey"
/// Option: the time to wait for a lock, in seconds.
public let NSPersistentStoreTimeoutOption = "NSPersistentStoreTimeoutOption"
/// Option: a Bool; opening a store of another model version migrates it.
public let NSMigratePersistentStoresAutomaticallyOption = "NSMigratePersistentStoresAutomaticallyOption"
/// Option: a Bool; with `NSMigratePersistentStoresAutomaticallyOption`, whether the mapping may be inferred.
public let NSInferMappingModelAutomaticallyOption = "NSInferMappingModelAutomaticallyOption"
/// Option: a Bool; opening the store does not compare its version hashes with the model's.
public let NSIgnorePersistentStoreVersioningOption = "NSIgnorePersistentStoreVersioningOption"
/// Option: a Bool; an in-place migration defers its cleanup to
/// `NSPersistentStoreCoordinator.finishDeferredLightweightMigration()`. SQLite stores only.
///
/// Metadata key: true while such cleanup is pending.
public let NSPersistentStoreDeferredLightweightMigrationOptionKey = StoreMetadata.Key.deferredCleanup
/// Option: the `NSStagedMigrationManager` of a staged migration; with
/// `NSMigratePersistentStoresAutomaticallyOption` and `NSInferMappingModelAutomaticallyOption`.
public let NSPersistentStoreStagedMigrationManagerOptionKey = "NSPersistentStoreStagedMigrationManagerOptionKey"
/// Option: a Bool; a store that is incompatible with the model, or damaged, is set aside, and a new store is created in
/// its place. `NSPersistentStore.storeSetAside` reports it. An addition to Apple's API.
public let StoreSetAsideOption = "StoreSetAsideOption"
/// Metadata key: the store's type.
public let NSStoreTypeKey = StoreMetadata.Key.type
/// Metadata key: the store's UUID.
public let NSStoreUUIDKey = StoreMetadata.Key.uuid
/// Metadata key: the version hash of each entity.
public let NSStoreModelVersionHashesKey = StoreMetadata.Key.hashes
/// Metadata key: the version identifiers of the model.
public let NSStoreModelVersionIdentifiersKey = StoreMetadata.Key.identifiers
/// Metadata key: the checksum of the model version.
public let NSPersistentStoreModelVersionChecksumKey = StoreMetadata.Key.checksum
/// Metadata key: the oldest system that can read the store.
public let NSPersistentStoreOSCompatibility = "NSPersistentStoreOSCompatibility"

/// The options of a store, with their types and defaults.
package struct StoreOptions {
  private let values: [AnyHashable: Any]

  package init(_ values: [AnyHashable: Any]?) {
    self.values = values ?? [:]
  }

  package var isReadOnly: Bool { flag(NSReadOnlyPersistentStoreOption) }
  package var migratesAutomatically: Bool { flag(NSMigratePersistentStoresAutomaticallyOption) }
  package var infersMapping: Bool { flag(NSInferMappingModelAutomaticallyOption) }
  package var defersCleanup: Bool { flag(NSPersistentStoreDeferredLightweightMigrationOptionKey) }
  package var ignoresVersioning: Bool { flag(NSIgnorePersistentStoreVersioningOption) }
  package var setsAside: Bool { flag(StoreSetAsideOption) }
  package var destroysByForce: Bool { flag(NSPersistentStoreForceDestroyOption) }
  package var analyzes: Bool { flag(NSSQLiteAnalyzeOption) }
  package var vacuums: Bool { flag(NSSQLiteManualVacuumOption) }

  /// The default time to wait for a lock, in seconds.
  package static let defaultTimeout: TimeInterval = 5

  /// The greatest time to wait for a lock, in seconds: a year, since a duration cannot hold an infinite number.
  private static let longestTimeout: TimeInterval = 365 * 86_400

  /// The time to wait for a lock, in seconds; nil if not given.
  package var timeout: TimeInterval? {
    guard let given = (values[NSPersistentStoreTimeoutOption] as? NSNumber)?.doubleValue, !given.isNaN else {
      return nil
    }
    return min(max(given, 0), Self.longestTimeout)
  }

  /// The maximum number of connections of a store in a server that read.
  package var connectionLimit: Int {
    (values[NSPersistentStoreConnectionPoolMaxSizeKey] as? NSNumber)?.intValue ?? Self.defaultConnectionLimit
  }

  private static let defaultConnectionLimit = 8

  /// The pragmas by name, with all values as strings.
  package var pragmas: [String: String] {
    guard let given = values[NSSQLitePragmasOption] as? [String: Any] else { return [:] }
    return given.mapValues { "\($0)" }
  }

  /// The option with the location of the store whose external data a private copy uses.
  package static let externalDataOwner = "OpenCoreDataExternalDataOwner"

  /// The store beside which external data is, if it is not beside the store itself.
  package var ownerOfExternalData: URL? { values[Self.externalDataOwner] as? URL }

  /// The options without those of migration, for a store that is opened during its migration.
  package var forHandlers: [String: NSObject] {
    let migration: Set<String> = [
      NSMigratePersistentStoresAutomaticallyOption, NSInferMappingModelAutomaticallyOption,
      NSPersistentStoreStagedMigrationManagerOptionKey, NSPersistentStoreDeferredLightweightMigrationOptionKey,
      MigrationOption.models, MigrationOption.mappings, MigrationOption.isProgressive,
      MigrationOption.keepsReplacedStore, MigrationOption.managerFactory, MigrationOption.integrityCheck,
      MigrationOption.allowsLoss, MigrationOption.allowsDowngrade,
    ]
    return values.reduce(into: [:]) { result, entry in
      guard let key = entry.key as? String, !migration.contains(key) else { return }
      result[key] = Self.object(entry.value)
    }
  }

  /// Returns a value in the form in which an `NSPersistentStoreDescription` stores it.
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

  package subscript(_ key: String) -> Any? { values[key] }

  package func flag(_ key: String, default fallback: Bool = false) -> Bool {
    switch values[key] {
    case let flag as Bool: flag
    case let number as NSNumber: number.boolValue
    default: fallback
    }
  }

  /// Returns the value of `MigrationOption.models`, or nil.
  ///
  /// - Throws: 134080 for a value of another type.
  package func migrationModels() throws -> [URL]? {
    guard let value = self[MigrationOption.models] else { return nil }
    guard let list = value as? [Any], case let urls = list.compactMap({ $0 as? URL }), urls.count == list.count else {
      throw StoreErrors.invalidOption(MigrationOption.models, value, wanted: "an array of URLs")
    }
    return urls
  }

  package var allowsDowngrade: Bool { flag(MigrationOption.allowsDowngrade) }
  package var isProgressive: Bool { flag(MigrationOption.isProgressive, default: true) }
  package var keepsReplacedStore: Bool { flag(MigrationOption.keepsReplacedStore, default: true) }
}

/// Options of the migration that opening a store runs, in addition to Apple's. An addition to Apple's API.
///
/// Core Data searches all bundles of the program for models and mapping models. In tests, and in programs with many
/// bundles, it may find the wrong ones. The first two options specify the files to use instead.
public enum MigrationOption {
  /// An array of `URL`s: the files to search for the store's model, besides the destination model's own file and the
  /// model cached in the store.
  public static let models = "OpenCoreDataMigrationModels"
  /// An array of `URL`s of mapping models or directories of them, or `NSMappingModel`s: the only mapping models to use.
  public static let mappings = "OpenCoreDataMigrationMappings"
  /// A Bool, by default true: whether a migration may go through intermediate versions, by the rules of
  /// `MigrationPath`. If false, only a single step to the destination is allowed, as in Core Data.
  public static let isProgressive = "OpenCoreDataMigrationIsProgressive"
  /// A Bool, by default true: whether a store that a mapping-model migration replaces is kept beside the new one, for
  /// example as `Data~.sqlite` for `Data.sqlite`.
  public static let keepsReplacedStore = "OpenCoreDataMigrationKeepsReplacedStore"
  /// A `MigrationManagerFactory`, which makes the migration manager of each step with a mapping model.
  public static let managerFactory = "OpenCoreDataMigrationManagerFactory"
  /// A `StoreIntegrityCheck` or its raw value, by default `automatic`: when SQLite checks the store's file before a
  /// migration.
  public static let integrityCheck = "OpenCoreDataMigrationIntegrityCheck"
  /// A Bool, an `AllowedLosses`, or an array of entities and properties such as `Legacy` and `Order.note`, by default
  /// false: the content that a migration may drop. Otherwise it is an error (134110) if a mapping model leaves out an
  /// entity that has rows, and an error (134130) if content would be dropped that exists only in the model cached in
  /// the store, and in none of the known versions.
  public static let allowsLoss = "OpenCoreDataMigrationAllowsLoss"
  /// A Bool, by default false: whether a store that carries a model which is not one of the app's versions may be
  /// migrated if that removes or narrows anything, or ends the order of a relationship, even if the store contains none
  /// of it.
  ///
  /// Such a store has usually been migrated by a newer version of the app. Without this option, opening it is an error
  /// (134130). Content that the store contains is dropped only with `allowsLoss`.
  public static let allowsDowngrade = "OpenCoreDataMigrationAllowsDowngrade"
}
