// OpenCoreData
// SPDX-License-Identifier: Apache-2.0

import CoreDataModelFiles
import Foundation

/// What a store says of itself: one property list, with the framework's keys beside those of the app.
package enum StoreMetadata {
  /// The version of Core Data whose stores ours are like, as it stands in stores of the newest systems seen.
  package static let frameworkVersion = 1526

  static let frameworkVersionKey = "NSPersistenceFrameworkVersion"
  static let maximumFrameworkVersionKey = "NSPersistenceMaximumFrameworkVersion"
  static let hashesVersionKey = "NSStoreModelVersionHashesVersion"
  static let digestKey = "NSStoreModelVersionHashesDigest"
  static let autoVacuumKey = "_NSAutoVacuumLevel"

  /// The framework's keys for a store of a model's configuration; the UUID is not among them.
  package static func ofModel(_ document: ModelDocument, configuration: String?) throws -> [String: Any] {
    let selection = try SchemaSelection(document: document, configuration: configuration)
    let hashes = VersionHashes(document).entities.filter { selection.contains($0.key) }
    return [
      frameworkVersionKey: frameworkVersion,
      maximumFrameworkVersionKey: frameworkVersion,
      NSStoreModelVersionHashesKey: hashes,
      hashesVersionKey: 3,
      digestKey: VersionHashes.digest(of: hashes),
      NSPersistentStoreModelVersionChecksumKey: VersionHashes.checksum(of: hashes),
      NSStoreModelVersionIdentifiersKey: document.versionIdentifiers,
      NSStoreTypeKey: NSSQLiteStoreType,
      autoVacuumKey: "2",
    ]
  }

  /// The keys that belong to the framework: changes of the app leave them as they are.
  static let ownKeys: Set<String> = [
    frameworkVersionKey, maximumFrameworkVersionKey, NSStoreModelVersionHashesKey, hashesVersionKey, digestKey,
    NSPersistentStoreModelVersionChecksumKey, NSStoreModelVersionIdentifiersKey, NSStoreTypeKey, autoVacuumKey,
    NSPersistentStoreDeferredLightweightMigrationOptionKey, StagedMigration.pendingKey,
  ]

  /// The bytes that go into `Z_PLIST`. The UUID has a column of its own.
  ///
  /// - Throws: `StoreFileProblem.unwritableMetadata` for a value that no property list can hold.
  static func encode(_ metadata: [String: Any]) throws -> Data {
    do {
      return try PropertyLists.data(of: metadata.filter { $0.key != NSStoreUUIDKey })
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
      NSStoreModelVersionHashesKey: hashes, hashesVersionKey: 3,
      digestKey: VersionHashes.digest(of: hashes),
      NSPersistentStoreModelVersionChecksumKey: VersionHashes.checksum(of: hashes),
      NSStoreModelVersionIdentifiersKey: document.versionIdentifiers, NSStoreTypeKey: NSSQLiteStoreType,
      autoVacuumKey: "2",
    ]
  }

  /// The dictionary in `Z_PLIST`.
  ///
  /// - Throws: `PropertyLists.Unreadable`.
  package static func decode(_ data: Data) throws -> [String: Any] { try PropertyLists.dictionary(of: data) }
}
