// OpenCoreData
// SPDX-License-Identifier: Apache-2.0

import CoreDataModelFiles
import Foundation

/// What a store says of itself: one property list, with the framework's keys beside those of the app.
package enum StoreMetadata {
  /// The version of Core Data whose stores ours are like, as it stands in stores of the newest systems seen.
  package static let frameworkVersion = 1526

  /// The names of the framework's own values.
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
    /// Stands in a store whose migration has left work for later.
    package static let deferredCleanup = "NSPersistentStoreDeferredLightweightMigrationOptionKey"
    /// Stands in a store whose staged migration has not come to its end.
    package static let pendingStage = "OpenCoreDataPendingMigrationStage"
  }

  /// The type of a SQLite store, as in its metadata.
  package static let sqliteType = "SQLite"

  /// The framework's keys for a store of a model's configuration; the UUID is not among them.
  package static func ofModel(_ document: ModelDocument, configuration: String?) throws -> [String: Any] {
    let selection = try SchemaSelection(document: document, configuration: configuration)
    let hashes = VersionHashes(document).entities.filter { selection.contains($0.key) }
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

  /// The keys that belong to the framework: changes of the app leave them as they are.
  package static let ownKeys: Set<String> = [
    Key.frameworkVersion, Key.maximumFrameworkVersion, Key.hashes, Key.hashesVersion, Key.digest,
    Key.checksum, Key.identifiers, Key.type, Key.autoVacuum,
    Key.deferredCleanup, Key.pendingStage,
  ]

  /// The bytes that go into `Z_PLIST`. The UUID has a column of its own.
  ///
  /// - Throws: `StoreFileProblem.unwritableMetadata` for a value that no property list can hold.
  package static func encode(_ metadata: [String: Any]) throws -> Data {
    do {
      return try PropertyLists.data(of: metadata.filter { $0.key != Key.uuid })
    } catch let problem as PropertyLists.Unwritable {
      throw StoreFileProblem.unwritableMetadata(reason: problem.description)
    }
  }

  /// What the model that a store carries tells of a store whose `Z_PLIST` is empty.
  ///
  /// - Parameter entities: the names in the store's table of entities; those of other entities of the model are left out,
  ///   where the store was made with a configuration.
  package static func derived(from document: ModelDocument, entities: [String]) throws -> [String: Any] {
    let names = Set(document.entities.map(\.name))
    let kept = names.intersection(entities)
    // Names from before a rename may stand there.
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

  /// The dictionary in `Z_PLIST`.
  ///
  /// - Throws: `PropertyLists.Unreadable`.
  package static func decode(_ data: Data) throws -> [String: Any] { try PropertyLists.dictionary(of: data) }
}
