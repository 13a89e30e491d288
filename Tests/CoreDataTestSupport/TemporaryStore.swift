// OpenCoreData
// SPDX-License-Identifier: Apache-2.0

import CoreData
import Foundation

/// A temporary directory with a store in it.
public final class TemporaryStore {
  private let directory: TemporaryDirectory
  /// Where the store is, or will be.
  public let url: URL
  /// Objects need their context; tests often hold the objects alone.
  private var contexts: [NSManagedObjectContext] = []

  /// Makes the directory, and no store yet.
  public init(_ name: String = "Store.sqlite") throws {
    directory = try TemporaryDirectory()
    url = directory.file(name)
  }

  /// The directory.
  public var folder: URL { directory.url }

  /// A context over the store, or over another one in its folder, opened or made with a model.
  public func context(
    _ model: NSManagedObjectModel, options: [AnyHashable: Any]? = nil, at place: URL? = nil
  ) throws -> NSManagedObjectContext {
    let coordinator = NSPersistentStoreCoordinator(managedObjectModel: model)
    try coordinator.addPersistentStore(type: .sqlite, at: place ?? url, options: options)
    let context = NSManagedObjectContext(.privateQueue)
    context.persistentStoreCoordinator = coordinator
    // Saves to a store whose file is gone are refused.
    context.userInfo["directory"] = directory
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

  /// The names of the files in the directory, sorted.
  public func files() throws -> [String] { try directory.files() }
}
