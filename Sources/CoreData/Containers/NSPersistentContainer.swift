// OpenCoreData
// SPDX-License-Identifier: Apache-2.0

import CoreDataFileSystem
import CoreDataMistakes
import Foundation

/// A model, a coordinator with its stores, and a context for the main queue.
open class NSPersistentContainer: NSObject, @unchecked Sendable {
  /// The container's name, which is also the name of the default store.
  public let name: String
  /// The model.
  public let managedObjectModel: NSManagedObjectModel
  /// The coordinator, which has no stores until `loadPersistentStores(completionHandler:)` is called.
  public let persistentStoreCoordinator: NSPersistentStoreCoordinator
  /// The context of the main queue.
  public let viewContext: NSManagedObjectContext
  /// The stores to open; by default one SQLite store with the container's name.
  open var persistentStoreDescriptions: [NSPersistentStoreDescription] {
    get { descriptions.value }
    set { descriptions.value = newValue }
  }
  private let descriptions: Guarded<[NSPersistentStoreDescription]>
  /// The open in-memory stores' descriptions, which may all have the same location.
  private let inMemory = Guarded<[NSPersistentStoreDescription]>([])

  /// Creates a container.
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
    descriptions = Guarded([NSPersistentStoreDescription(url: url)])
    super.init()
    viewContext.persistentStoreCoordinator = persistentStoreCoordinator
  }

  /// Creates a container with the model of the same name.
  ///
  /// Searches the main bundle, and the resource bundles beside the executable, where the package manager puts the
  /// resources of targets. Traps if there is no model or it cannot be read;
  /// `NSManagedObjectModel.load(named:fromBundles:)` throws instead.
  ///
  /// Differs from Apple: for a missing model, Apple's class logs a message and creates a container without entities.
  ///
  /// - Parameter name: the name of the container and of the model's file.
  public convenience init(name: String) {
    do {
      self.init(name: name, managedObjectModel: try NSManagedObjectModel.load(named: name))
    } catch {
      let error = error as NSError
      trap(
        "NSPersistentContainer(name: \"\(name)\"): \(error.localizedFailureReason ?? error.localizedDescription) "
          + (error.localizedRecoverySuggestion ?? ""))
    }
  }

  /// Returns the default directory of stores, in the user's application support directory.
  open class func defaultDirectoryURL() -> URL {
    let folders = FileManager.default.urls(for: .applicationSupportDirectory, in: .userDomainMask)
    let base = folders.first ?? URL(fileURLWithPath: NSHomeDirectory())
    return base.appendingPathComponent(ProcessInfo.processInfo.processName, isDirectory: true)
  }

  /// Opens the stores of `persistentStoreDescriptions` that are not open, or that have been destroyed since they were
  /// opened.
  ///
  /// - Parameter block: called once for each description, with an error if its store could not be opened.
  open func loadPersistentStores(
    completionHandler block: @escaping (NSPersistentStoreDescription, (any Error)?) -> Void
  ) {
    for description in persistentStoreDescriptions {
      if let url = description.url, RegularFile.isNullDevice(url) {
        if inMemory.value.contains(where: { $0 === description }) {
          block(description, nil)
          continue
        }
        persistentStoreCoordinator.addPersistentStore(with: description) { [inMemory] description, error in
          if error == nil { inMemory.update { $0.append(description) } }
          block(description, error)
        }
        continue
      }
      if let url = description.url {
        let isOpen = persistentStoreCoordinator.withLock {
          persistentStoreCoordinator.persistentStore(for: url).map { ($0 as? any RowStore)?.isDisconnected != true }
        }
        if isOpen == true {
          block(description, nil)
          continue
        }
        do {
          if url.isFileURL {
            try FileManager.default.createDirectory(
              at: url.deletingLastPathComponent(), withIntermediateDirectories: true)
          }
        } catch {
          block(description, StoreErrors.cannotCreateDirectory(of: url, error as NSError))
          continue
        }
      }
      persistentStoreCoordinator.addPersistentStore(with: description, completionHandler: block)
    }
  }

  /// Returns a new context with a private queue.
  open func newBackgroundContext() -> NSManagedObjectContext {
    let context = NSManagedObjectContext(.privateQueue)
    context.persistentStoreCoordinator = persistentStoreCoordinator
    return context
  }

  /// Runs a block with a new context, on that context's queue.
  ///
  /// - Parameter block: the work to do with the context.
  open func performBackgroundTask(_ block: @escaping (NSManagedObjectContext) -> Void) {
    let context = newBackgroundContext()
    context.perform { block(context) }
  }

  /// Runs a block with a new context, on that context's queue, and waits for its result.
  ///
  /// - Parameter block: the work to do with the context.
  /// - Returns: what the block returns.
  /// - Throws: what the block throws.
  open func performBackgroundTask<T>(
    _ block: @escaping (NSManagedObjectContext) throws -> T
  ) async rethrows -> T {
    let context = newBackgroundContext()
    return try await context.perform { try block(context) }
  }
}

/// A protocol that adds `defaultDirectoryURL` as a property, since a class cannot declare a property and a method of
/// the same name.
public protocol DefaultStoreDirectory {}

extension DefaultStoreDirectory where Self: NSPersistentContainer {
  /// The default directory of stores; the same as `defaultDirectoryURL()`.
  public static var defaultDirectoryURL: URL { defaultDirectoryURL() }
}

extension NSPersistentContainer: DefaultStoreDirectory {}
