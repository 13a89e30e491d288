// OpenCoreData
// SPDX-License-Identifier: Apache-2.0

import Foundation

extension NSStagedMigrationManager {
  /// A container for the store that the stage migrates, while one of its handlers runs; nil otherwise. Its model is the
  /// old one before the step, and the new one after it.
  ///
  /// Differs from Apple: subclasses cannot override it.
  public var container: NSPersistentContainer? { stageContainer.value as? NSPersistentContainer }
}

extension NSPersistentContainer: StageContainer {
  static func opened(
    _ url: URL, _ model: NSManagedObjectModel, configuration: String?, options: [String: NSObject]
  ) throws -> any StageContainer {
    let description = NSPersistentStoreDescription(url: url)
    description.configuration = configuration
    for (key, value) in options { description.setOption(value, forKey: key) }
    description.shouldMigrateStoreAutomatically = false
    description.shouldInferMappingModelAutomatically = false
    let container = NSPersistentContainer(
      name: url.deletingPathExtension().lastPathComponent, managedObjectModel: model)
    container.persistentStoreDescriptions = [description]
    var failure: (any Error)?
    container.loadPersistentStores { failure = failure ?? $1 }
    if let failure { throw failure }
    return container
  }
}
