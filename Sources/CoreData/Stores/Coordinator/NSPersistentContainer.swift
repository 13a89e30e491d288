// OpenCoreData
// SPDX-License-Identifier: Apache-2.0

import Foundation

/// A model, a coordinator, its stores and a context for the main queue, put together.
open class NSPersistentContainer: NSObject, @unchecked Sendable {
  /// The container's name, which the default store is named after.
  public let name: String
  /// The model.
  public let managedObjectModel: NSManagedObjectModel
  /// The coordinator, which has no stores before `loadPersistentStores(completionHandler:)`.
  public let persistentStoreCoordinator: NSPersistentStoreCoordinator
  /// The context of the main queue.
  public let viewContext: NSManagedObjectContext
  /// The stores to open; one SQLite store named after the container unless set.
  open var persistentStoreDescriptions: [NSPersistentStoreDescription]

  /// Makes a container.
  ///
  /// - Parameters:
  ///   - name: the container's name.
  ///   - model: the model, which becomes immutable.
  public init(name: String, managedObjectModel model: NSManagedObjectModel) {
    self.name = name
    managedObjectModel = model
    persistentStoreCoordinator = NSPersistentStoreCoordinator(managedObjectModel: model)
    viewContext = NSManagedObjectContext(.mainQueue)
    let url = type(of: self).defaultDirectoryURL().appendingPathComponent("\(name).sqlite")
    persistentStoreDescriptions = [NSPersistentStoreDescription(url: url)]
    super.init()
    viewContext.persistentStoreCoordinator = persistentStoreCoordinator
  }

  /// Makes a container with the model of the same name.
  ///
  /// The model is looked for in the main bundle, and in the resource bundles beside the executable, in which the package
  /// manager puts the resources of targets. Traps when there is none, or when it cannot be read, and says which places were
  /// searched; `NSManagedObjectModel.load(named:fromBundles:)` throws instead.
  ///
  /// Differs from Apple: a missing model is no message on the console, followed by a container without entities.
  /// - Parameter name: the name of the container and of the model's file.
  public convenience init(name: String) {
    do {
      self.init(name: name, managedObjectModel: try NSManagedObjectModel.load(named: name))
    } catch {
      let error = error as NSError
      preconditionFailure(
        "NSPersistentContainer(name: \"\(name)\"): \(error.localizedFailureReason ?? error.localizedDescription) "
          + (error.localizedRecoverySuggestion ?? ""))
    }
  }

  /// Where stores are kept unless their descriptions say otherwise: the user's application support folder.
  open class func defaultDirectoryURL() -> URL {
    let folders = FileManager.default.urls(for: .applicationSupportDirectory, in: .userDomainMask)
    let base = folders.first ?? URL(fileURLWithPath: NSHomeDirectory())
    return base.appendingPathComponent(ProcessInfo.processInfo.processName, isDirectory: true)
  }

  /// Opens the stores that `persistentStoreDescriptions` tells of and that are not open yet, or were destroyed since.
  ///
  /// - Parameter block: called once for each description, with the error if its store could not be opened.
  open func loadPersistentStores(
    completionHandler block: @escaping (NSPersistentStoreDescription, (any Error)?) -> Void
  ) {
    for description in persistentStoreDescriptions {
      if let url = description.url {
        let known = persistentStoreCoordinator.persistentStore(for: url)
        if let known, (known as? SQLiteStore)?.isDisconnected != true {
          block(description, nil)
          continue
        }
        do {
          try FileManager.default.createDirectory(
            at: url.deletingLastPathComponent(), withIntermediateDirectories: true)
        } catch {
          block(description, error)
          continue
        }
      }
      persistentStoreCoordinator.addPersistentStore(with: description, completionHandler: block)
    }
  }

  /// A new context with a queue of its own, for work beside the main queue.
  open func newBackgroundContext() -> NSManagedObjectContext {
    let context = NSManagedObjectContext(.privateQueue)
    context.persistentStoreCoordinator = persistentStoreCoordinator
    return context
  }

  /// Runs a block with a new context, on that context's queue.
  ///
  /// - Parameter block: work with the context's objects.
  open func performBackgroundTask(_ block: @escaping (NSManagedObjectContext) -> Void) {
    let context = newBackgroundContext()
    context.perform { block(context) }
  }

  /// Runs a block with a new context, on that context's queue, and waits for its result.
  ///
  /// - Parameter block: work with the context's objects.
  /// - Returns: what the block returns.
  /// - Throws: what the block throws.
  open func performBackgroundTask<T>(
    _ block: @escaping (NSManagedObjectContext) throws -> T
  ) async rethrows -> T {
    let context = newBackgroundContext()
    return try await context.perform { try block(context) }
  }
}
