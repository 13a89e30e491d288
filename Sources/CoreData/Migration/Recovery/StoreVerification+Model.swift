// OpenCoreData
// SPDX-License-Identifier: Apache-2.0

import CoreDataStoreFiles

extension StoreVerification.Model {
  /// A model of Apple's interface, and one of its configurations.
  init(_ model: NSManagedObjectModel, configuration: String?) {
    self.init(document: model.document, configuration: configuration) {
      model.isConfiguration(withName: configuration, compatibleWithStoreMetadata: $0)
    }
  }
}
