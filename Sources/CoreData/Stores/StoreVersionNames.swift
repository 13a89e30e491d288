// OpenCoreData
// SPDX-License-Identifier: Apache-2.0

import CoreDataStoreFiles
import Foundation

extension NSPersistentStore {
  /// Returns the name of a version among those in the model file of the store's coordinator, for the words of errors; nil if
  /// none has it.
  func versionName(of version: StoreVersion) -> String? {
    guard let model = persistentStoreCoordinator?.managedObjectModel, !model.origins.isEmpty else { return nil }
    // A file that cannot be read has no names; the error is about something else.
    guard let known = try? ModelVersions(around: model) else { return nil }
    let metadata: [String: Any] = [
      NSStoreModelVersionHashesKey: version.hashes, NSStoreModelVersionIdentifiersKey: version.identifiers,
    ]
    return known.version(fitting: metadata, configuration: customConfigurationName)?.name
  }
}
