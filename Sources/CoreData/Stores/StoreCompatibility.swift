// OpenCoreData
// SPDX-License-Identifier: Apache-2.0

import CoreDataMigration
import CoreDataStoreFiles
import Foundation

/// Compares a store with a model.
package enum StoreCompatibility {
  /// Checks that a store was written with a model.
  ///
  /// - Throws: 134100 for another version of the model.
  package static func check(
    _ metadata: [String: Any], _ model: NSManagedObjectModel, configuration: String?, url: URL
  ) throws {
    guard model.isConfiguration(withName: configuration, compatibleWithStoreMetadata: metadata) else {
      throw error(metadata: metadata, model: model, configuration: configuration, url: url)
    }
  }

  /// Returns the error for a store that was written with another version of the model: 134100.
  package static func error(
    metadata: [String: Any], model: NSManagedObjectModel, configuration: String?, url: URL
  ) -> NSError {
    let stored = storeModel(metadata: metadata, model: model, configuration: configuration, url: url)
    return StoreErrors.incompatibleVersionHash(
      url: url, metadata: metadata,
      differences: differences(metadata: metadata, model: model, configuration: configuration, storeModel: stored))
  }

  /// Returns the model that a store was written with: the one it carries, or another version of the given one. The
  /// model only adds detail to an error. If it cannot be read, the result is nil, and the hashes still show which
  /// entities differ.
  private static func storeModel(
    metadata: [String: Any], model: NSManagedObjectModel, configuration: String?, url: URL
  ) -> NSManagedObjectModel? {
    // An unreadable carried model counts as none; see above.
    let kind = try? StoreKinds.kind(of: NSSQLiteStoreType, at: url) as? any ModelCarryingStore.Type
    if let carried = try? kind?.carriedModel(at: url),
      carried.isConfiguration(withName: nil, compatibleWithStoreMetadata: metadata)
    {
      return carried
    }
    // The same applies to unreadable versions.
    let known = try? ModelVersions(around: model)
    return try? known?.version(fitting: metadata, configuration: configuration)?.model()
  }

  /// Returns the differences by entity, and by property if the store's own model is known.
  static func differences(
    metadata: [String: Any], model: NSManagedObjectModel, configuration: String?, storeModel: NSManagedObjectModel?
  ) -> [VersionDifference] {
    let stored = metadata[NSStoreModelVersionHashesKey] as? [String: Data] ?? [:]
    let members = model.entityNames(forConfigurationName: configuration, in: stored) ?? []
    let wanted = model.entityVersionHashesByName.filter { members.contains($0.key) }
    return VersionDifference.between(
      store: stored, model: wanted, documents: storeModel.map { ($0.document, model.document) })
  }
}
