// OpenCoreData
// SPDX-License-Identifier: Apache-2.0

import CoreDataStoreFiles
import Foundation

extension NSPersistentStore {
  /// Returns the name of a version among those in the model file of the store's coordinator, for error messages; nil if
  /// none matches.
  package func versionName(of version: StoreVersion) -> String? {
    guard let model = persistentStoreCoordinator?.managedObjectModel, !model.origins.isEmpty else { return nil }
    // If the file cannot be read, there are no names. The error to report is another one.
    guard let known = try? ModelVersions(around: model) else { return nil }
    let metadata: [String: Any] = [
      NSStoreModelVersionHashesKey: version.hashes, NSStoreModelVersionIdentifiersKey: version.identifiers,
    ]
    return known.version(fitting: metadata, configuration: customConfigurationName)?.name
  }
}
