// OpenCoreData
// SPDX-License-Identifier: Apache-2.0

import CoreDataModelFiles
import Foundation

/// In what a store and a model differ.
enum StoreCompatibility {
  /// The error for a store that was written by another version of the model: 134100.
  static func error(
    metadata: [String: Any], model: NSManagedObjectModel, configuration: String?, url: URL
  ) -> NSError {
    // The store's own model only adds detail; where it cannot be read the hashes tell which entities differ.
    let stored = (try? SQLiteStore.cachedModel(at: url)) ?? nil
    return StoreErrors.incompatibleVersionHash(
      url: url, metadata: metadata,
      differences: differences(metadata: metadata, model: model, configuration: configuration, storeModel: stored))
  }

  /// Entity by entity; property by property where the store's own model is known.
  static func differences(
    metadata: [String: Any], model: NSManagedObjectModel, configuration: String?, storeModel: NSManagedObjectModel?
  ) -> [VersionDifference] {
    let stored = metadata[NSStoreModelVersionHashesKey] as? [String: Data] ?? [:]
    let members = Set((model.entities(forConfigurationName: configuration) ?? []).compactMap(\.name))
    let wanted = model.entityVersionHashesByName.filter { members.contains($0.key) }
    return VersionDifference.between(store: stored, model: wanted)
  }
}
