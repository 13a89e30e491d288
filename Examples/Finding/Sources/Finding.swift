// OpenCoreData
// SPDX-License-Identifier: Apache-2.0

import CoreData
import Foundation

/// A program with models as resources, each found by the name of its container.
@main
struct Finding {
  static func main() throws {
    let folder = FileManager.default.temporaryDirectory.appendingPathComponent("Finding-\(UUID().uuidString)")
    defer {
      // The system cleans up the temporary directory.
      try? FileManager.default.removeItem(at: folder)
    }
    for name in CommandLine.arguments.dropFirst() {
      try show(NSPersistentContainer(name: name), in: folder)
    }
  }

  /// Opens a container's store, saves an object of each entity, and reports the entities.
  private static func show(_ container: NSPersistentContainer, in folder: URL) throws {
    container.persistentStoreDescriptions[0].url = folder.appendingPathComponent("\(container.name).sqlite")
    var failure: (any Error)?
    container.loadPersistentStores { _, error in failure = error }
    if let failure { throw failure }

    let context = container.newBackgroundContext()
    try context.performAndWait {
      for entity in container.managedObjectModel.entities.sorted(by: { $0.name ?? "" < $1.name ?? "" }) {
        guard let name = entity.name else { continue }
        _ = NSEntityDescription.insertNewObject(forEntityName: name, into: context)
        try context.save()
        let count = try context.count(for: NSFetchRequest<NSManagedObject>(entityName: name))
        let attributes = entity.attributesByName.keys.sorted().joined(separator: ", ")
        print("\(container.name): \(name) (\(attributes)), \(count) in the store")
      }
    }
  }
}
