// OpenCoreData
// SPDX-License-Identifier: Apache-2.0

import CoreData
import Foundation

/// Opens a store, runs a body on the queue of a context, and closes the store.
@discardableResult
public func withContext<Result>(
  _ model: NSManagedObjectModel, at url: URL, type: NSPersistentStore.StoreType = .sqlite, configuration: String? = nil,
  options: [AnyHashable: Any]? = nil, _ body: (NSManagedObjectContext) throws -> Result
) throws -> Result {
  let coordinator = NSPersistentStoreCoordinator(managedObjectModel: model)
  let store = try coordinator.addPersistentStore(
    type: type, configuration: configuration, at: url, options: options)
  let context = NSManagedObjectContext(concurrencyType: .privateQueueConcurrencyType)
  context.persistentStoreCoordinator = coordinator
  let result = try context.performAndWait { try body(context) }
  try coordinator.remove(store)
  return result
}
