// OpenCoreData
// SPDX-License-Identifier: Apache-2.0

import CoreDataModelFiles
import Foundation

/// The metadata of a store: one property list with keys of the framework and of the app.
package enum StoreMetadata {
  /// The Core Data version recorded in our stores: that of the newest systems whose stores have been examined.
  package static let frameworkVersion = 1526

  /// The keys of the framework's own values.
  package enum Key {
    package static let frameworkVersion = "NSPersistenceFrameworkVersion"
    package static let maximumFrameworkVersion = "NSPersistenceMaximumFrameworkVersion"
    package static let uuid = "NSStoreUUID"
    package static let type = "NSStoreType"
    package static let hashes = "NSStoreModelVersionHashes"
    package static let hashesVersion = "NSStoreModelVersionHashesVersion"
    package static let digest = "NSStoreModelVersionHashesDigest"
    package static let checksum = "NSStoreModelVersionChecksumKey"
    package static let identifiers = "NSStoreModelVersionIdentifiers"
    package static let autoVacuum = "_NSAutoVacuumLevel"
    /// Set in a store whose migration has deferred its cleanup.
    package static let deferredCleanup = "NSPersistentStoreDeferredLightweightMigrationOptionKey"
    /// Set in a store while a custom stage of a staged migration has begun and is not finished, with `StageKey`.
    package static let pendingStage = "OpenCoreDataPendingMigrationStage"
    /// Set in a store while a stage of a SwiftData plan runs: what is known about it, with `StageKey`.
    package static let stage = "OpenCoreDataSwiftDataStage"
    /// Set in a store while rows of another store are being copied into it in parts.
    package static let unfinishedCopy = "OpenCoreDataUnfinishedCopy"
  }

  /// The keys of `Key.pendingStage` and `Key.stage`.
  package enum StageKey {
    /// The name of the stage.
    package static let name = "stage"
    /// The `StageLock.run` of the process that has begun or continued the code of the stage.
    package static let run = "run"
    /// The versions of a stage of a staged migration whose step has run.
    package static let versions = "versions"
  }

  /// Returns the name of a stage whose code has begun and is not finished; nil if there is none.
  package static func begunStage(_ metadata: [String: Any]) -> String? {
    for key in [Key.pendingStage, Key.stage] {
      if let stage = metadata[key] as? [String: Any] { return stage[StageKey.name] as? String ?? "" }
    }
    return nil
  }

  /// Returns the keys of an app in the metadata of a store, sorted.
  package static func applicationKeys(_ metadata: [String: Any]) -> [String] {
    let records: Set = [Key.pendingStage, Key.stage, Key.unfinishedCopy]
    return metadata.keys.filter { !$0.hasPrefix("NS") && !$0.hasPrefix("_NS") && !records.contains($0) }.sorted()
  }

  /// The type of a SQLite store in its metadata.
  package static let sqliteType = "SQLite"

  /// Returns the framework's metadata for a store with a model's configuration, without the UUID.
  ///
  /// - Parameter hashes: the model's hashes, if they are known.
  package static func ofModel(
    _ document: ModelDocument, configuration: String?, hashes: VersionHashes? = nil
  ) throws -> [String: Any] {
    let selection = try SchemaSelection(document: document, configuration: configuration)
    let hashes = (hashes ?? VersionHashes(document)).entities.filter { selection.contains($0.key) }
    return [
      Key.frameworkVersion: frameworkVersion,
      Key.maximumFrameworkVersion: frameworkVersion,
      Key.hashes: hashes,
      Key.hashesVersion: 3,
      Key.digest: VersionHashes.digest(of: hashes),
      Key.checksum: VersionHashes.checksum(of: hashes),
      Key.identifiers: document.versionIdentifiers,
      Key.type: sqliteType,
      Key.autoVacuum: "2",
    ]
  }

  /// The keys of the framework, which an app cannot change.
  package static let ownKeys: Set<String> = [
    Key.frameworkVersion, Key.maximumFrameworkVersion, Key.hashes, Key.hashesVersion, Key.digest,
    Key.checksum, Key.identifiers, Key.type, Key.autoVacuum,
    Key.deferredCleanup, Key.pendingStage, Key.unfinishedCopy,
  ]

  /// The keys of work on a store that is not finished. Only what does the work changes them.
  private static let workKeys: Set<String> = [Key.deferredCleanup, Key.pendingStage, Key.unfinishedCopy]

  /// Returns the metadata with which an app replaces those of a store.
  ///
  /// The framework's own values are kept if the app leaves them out: without them, the store would match no model. A record
  /// of unfinished work is the store's, since the app may have read the metadata before the work began or ended.
  package static func replacement(_ given: [String: Any], for stored: [String: Any]) -> [String: Any] {
    given.filter { !workKeys.contains($0.key) }
      .merging(stored.filter { ownKeys.contains($0.key) }) { given, _ in given }
  }

  /// Encodes metadata for `Z_PLIST`. The UUID has a column of its own.
  ///
  /// - Throws: `StoreFileProblem.unwritableMetadata` for a value that no property list can hold.
  package static func encode(_ metadata: [String: Any]) throws -> Data {
    do {
      return try PropertyLists.data(of: metadata.filter { $0.key != Key.uuid })
    } catch let problem as PropertyLists.Unwritable {
      throw StoreFileProblem.unwritableMetadata(reason: problem.description)
    }
  }

  /// Derives metadata from the model cached in a store, for a store whose `Z_PLIST` is empty.
  ///
  /// - Parameter entities: the entity names in the store's `Z_PRIMARYKEY`. If the store was created with a
  ///   configuration, other entities of the model are left out.
  package static func derived(from document: ModelDocument, entities: [String]) throws -> [String: Any] {
    let names = Set(document.entities.map(\.name))
    let kept = names.intersection(entities)
    // The table may still have names from before a rename.
    let isPart = kept.count == entities.count && kept.count < names.count
    let all = VersionHashes(document).entities
    let hashes = isPart ? all.filter { kept.contains($0.key) } : all
    return [
      Key.hashes: hashes, Key.hashesVersion: 3,
      Key.digest: VersionHashes.digest(of: hashes),
      Key.checksum: VersionHashes.checksum(of: hashes),
      Key.identifiers: document.versionIdentifiers, Key.type: sqliteType,
      Key.autoVacuum: "2",
    ]
  }

  /// Decodes the dictionary in `Z_PLIST`.
  ///
  /// - Throws: `PropertyLists.Unreadable`.
  package static func decode(_ data: Data) throws -> [String: Any] { try PropertyLists.dictionary(of: data) }
}
