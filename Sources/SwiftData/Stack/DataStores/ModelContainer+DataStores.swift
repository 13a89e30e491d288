// OpenCoreData
// SPDX-License-Identifier: Apache-2.0

import CoreData

extension ModelContainer {
  /// Returns the data store of an entity; nil if it is in a Core Data store.
  func dataStore(for entity: NSEntityDescription) -> DataStoreBridge? {
    dataStores.first { $0.entityNames.contains(entity.name ?? "") }
  }

  /// The stores that are not data stores of the program's own.
  var coreDataStores: [NSPersistentStore] { coordinator.persistentStores.filter { !($0 is DataStoreBridge) } }

  /// Returns the data store with an identifier.
  func dataStore(_ identifier: String?) -> DataStoreBridge? {
    dataStores.first { $0.storeIdentifier == identifier }
  }
}
