// OpenCoreData
// SPDX-License-Identifier: Apache-2.0

import CoreData
import Foundation

/// A folder of its own for one test, with a store in it; removed when the value goes away.
public final class TemporaryStore {
  /// The folder.
  public let folder: URL
  /// Where the store is, or will be.
  public let url: URL
  /// Objects need their context; tests often hold the objects alone.
  private var contexts: [NSManagedObjectContext] = []

  /// Makes the folder.
  public init(_ name: String = "Store.sqlite") throws {
    folder = FileManager.default.temporaryDirectory.appendingPathComponent("OpenCoreData-\(UUID().uuidString)")
    try FileManager.default.createDirectory(at: folder, withIntermediateDirectories: true)
    url = folder.appendingPathComponent(name)
  }

  deinit {
    // What a test leaves behind in a temporary folder harms nobody.
    try? FileManager.default.removeItem(at: folder)
  }

  /// A context over the store, or over another one in its folder, opened or made with a model.
  public func context(
    _ model: NSManagedObjectModel, options: [AnyHashable: Any]? = nil, at place: URL? = nil
  ) throws -> NSManagedObjectContext {
    let coordinator = NSPersistentStoreCoordinator(managedObjectModel: model)
    try coordinator.addPersistentStore(type: .sqlite, at: place ?? url, options: options)
    let context = NSManagedObjectContext(.privateQueue)
    context.persistentStoreCoordinator = coordinator
    contexts.append(context)
    return context
  }

  /// Closes all contexts' stores.
  public func close() throws {
    for context in contexts {
      guard let coordinator = context.persistentStoreCoordinator else { continue }
      for store in coordinator.persistentStores { try coordinator.remove(store) }
    }
    contexts = []
  }

  /// The names of the files in the folder.
  public func files() throws -> [String] {
    try FileManager.default.contentsOfDirectory(atPath: folder.path).sorted()
  }
}
