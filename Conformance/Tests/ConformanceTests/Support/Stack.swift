// OpenCoreData
// SPDX-License-Identifier: Apache-2.0

import CoreData

/// A directory for the stores of one test, removed with this object.
final class StoreDirectory {
  let url: URL

  init() throws {
    url = FileManager.default.temporaryDirectory.appendingPathComponent("conformance-\(UUID().uuidString)")
    try FileManager.default.createDirectory(at: url, withIntermediateDirectories: true)
  }

  deinit {
    // Nothing of the test depends on it.
    try? FileManager.default.removeItem(at: url)
  }

  /// The location of a store.
  func store(_ name: String = "Data.sqlite") -> URL { url.appendingPathComponent(name) }
}

/// A store with its coordinator and a context of a private queue.
final class Stack {
  let directory: StoreDirectory
  let coordinator: NSPersistentStoreCoordinator
  let store: NSPersistentStore
  let context: NSManagedObjectContext

  /// Opens or creates a store.
  /// - Parameters:
  ///   - model: the model of the coordinator.
  ///   - directory: where the store is; a new one by default.
  ///   - type: the type of the store.
  ///   - options: the options of opening.
  init(
    _ model: NSManagedObjectModel, in directory: StoreDirectory? = nil, type: String = NSSQLiteStoreType,
    options: [AnyHashable: Any]? = nil
  ) throws {
    self.directory = try directory ?? StoreDirectory()
    coordinator = NSPersistentStoreCoordinator(managedObjectModel: model)
    let url = type == NSInMemoryStoreType ? nil : self.directory.store()
    store = try coordinator.addPersistentStore(ofType: type, configurationName: nil, at: url, options: options)
    context = NSManagedObjectContext(concurrencyType: .privateQueueConcurrencyType)
    context.persistentStoreCoordinator = coordinator
  }

  /// The location of the store.
  var url: URL { directory.store() }

  /// Another context over the same store.
  func newContext() -> NSManagedObjectContext {
    let context = NSManagedObjectContext(concurrencyType: .privateQueueConcurrencyType)
    context.persistentStoreCoordinator = coordinator
    return context
  }

  /// Runs work with the context, on its queue.
  func run<T>(_ work: (NSManagedObjectContext) throws -> T) rethrows -> T {
    try context.performAndWait { try work(context) }
  }

  /// Closes the store, so that another stack can open it.
  func close() throws {
    try coordinator.remove(store)
  }
}

extension NSManagedObjectContext {
  /// Inserts an object with values.
  @discardableResult
  func insert(_ entity: String, _ values: [String: Any] = [:]) -> NSManagedObject {
    let object = NSEntityDescription.insertNewObject(forEntityName: entity, into: self)
    for (key, value) in values { object.setValue(value, forKey: key) }
    return object
  }

  /// The objects of an entity that match a predicate, by a key.
  func all(_ entity: String, where predicate: NSPredicate? = nil, by key: String? = nil) throws -> [NSManagedObject] {
    let request = NSFetchRequest<NSManagedObject>(entityName: entity)
    request.predicate = predicate
    request.sortDescriptors = key.map { [NSSortDescriptor(key: $0, ascending: true)] }
    return try fetch(request)
  }

  /// The texts of an attribute of the objects that match a predicate, in order.
  func texts(_ key: String, of entity: String, where predicate: NSPredicate? = nil) throws -> [String] {
    try all(entity, where: predicate).compactMap { $0.value(forKey: key) as? String }.sorted()
  }
}

extension NSManagedObject {
  func text(_ key: String) -> String? { value(forKey: key) as? String }
  func number(_ key: String) -> Int? { (value(forKey: key) as? NSNumber)?.intValue }
  func object(_ key: String) -> NSManagedObject? { value(forKey: key) as? NSManagedObject }
  func objects(_ key: String) -> Set<NSManagedObject> { value(forKey: key) as? Set<NSManagedObject> ?? [] }
}

/// A predicate in the format language.
func predicate(_ format: String, _ arguments: Any...) -> NSPredicate {
  NSPredicate(format: format, argumentArray: arguments)
}
