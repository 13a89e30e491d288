// OpenCoreData
// SPDX-License-Identifier: Apache-2.0

import CoreData
import Foundation

/// An open store of to-do items, with the current version of the model.
struct ToDoStore {
  private let container: NSPersistentContainer

  private var context: NSManagedObjectContext { container.viewContext }

  /// Opens a store.
  ///
  /// - Parameters:
  ///   - url: The location of the store, which is created if it does not exist.
  ///   - migrates: Whether a store of an earlier version is migrated.
  /// - Throws: 134100 for a store of an earlier version if `migrates` is false.
  init(at url: URL, migrates: Bool) throws {
    let description = NSPersistentStoreDescription(url: url)
    description.shouldMigrateStoreAutomatically = migrates
    container = NSPersistentContainer(name: "Done", managedObjectModel: try DoneModel.load())
    container.persistentStoreDescriptions = [description]
    var failure: (any Error)?
    container.loadPersistentStores { _, error in failure = error }
    if let failure { throw failure }
  }

  /// Returns the items in the order of their creation.
  ///
  /// - Parameters:
  ///   - onlyOpen: Whether to omit items that are done.
  ///   - last: The maximum number of items, the newest ones; 0 for all.
  func items(onlyOpen: Bool, last: Int) throws -> [TSPItem] {
    let request = NSFetchRequest<TSPItem>(entityName: "TSPItem")
    if onlyOpen { request.predicate = NSPredicate(format: "isDone == NO") }
    request.sortDescriptors = [NSSortDescriptor(key: "createdAt", ascending: false)]
    request.fetchLimit = last
    return try context.fetch(request).reversed()
  }

  /// Returns the number of items, and how many of them are open.
  func count() throws -> (all: Int, open: Int) {
    let request = NSFetchRequest<TSPItem>(entityName: "TSPItem")
    let all = try context.count(for: request)
    request.predicate = NSPredicate(format: "isDone == NO")
    return (all, try context.count(for: request))
  }

  /// Adds an item.
  ///
  /// - Parameters:
  ///   - name: The name of the item.
  ///   - list: The name of its list, which is created if necessary; nil for none.
  func add(_ name: String, to list: String?) throws {
    let item = TSPItem(context: context)
    item.name = name
    item.createdAt = Date()
    item.updatedAt = item.createdAt
    item.list = try list.map(findOrMakeList)
    try context.save()
  }

  private func findOrMakeList(named name: String) throws -> TSPList {
    let request = NSFetchRequest<TSPList>(entityName: "TSPList")
    request.predicate = NSPredicate(format: "name ==[c] %@", name)
    request.fetchLimit = 1
    if let known = try context.fetch(request).first { return known }
    let list = TSPList(context: context)
    list.name = name
    return list
  }
}
