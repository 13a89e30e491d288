// OpenCoreData
// SPDX-License-Identifier: Apache-2.0

import CoreData
import Foundation

/// An open store of to-do items, of the current version of the model.
struct ToDoStore {
  private let container: NSPersistentContainer

  private var context: NSManagedObjectContext { container.viewContext }

  /// Opens a store.
  ///
  /// - Parameters:
  ///   - url: where the store is; a file that is not there is made.
  ///   - migrates: whether a store of an earlier version is brought up to date.
  /// - Throws: 134100 for a store of an earlier version that is not to be migrated.
  init(at url: URL, migrates: Bool) throws {
    let description = NSPersistentStoreDescription(url: url)
    description.shouldMigrateStoreAutomatically = migrates
    container = NSPersistentContainer(name: "Done", managedObjectModel: try DoneModel.load())
    container.persistentStoreDescriptions = [description]
    var failure: (any Error)?
    container.loadPersistentStores { _, error in failure = error }
    if let failure { throw failure }
  }

  /// The items in the order in which they were written down.
  ///
  /// - Parameters:
  ///   - onlyOpen: leaves out what is done.
  ///   - last: how many items to return at most, the newest of all; 0 for all.
  func items(onlyOpen: Bool, last: Int) throws -> [TSPItem] {
    let request = NSFetchRequest<TSPItem>(entityName: "TSPItem")
    if onlyOpen { request.predicate = NSPredicate(format: "isDone == NO") }
    request.sortDescriptors = [NSSortDescriptor(key: "createdAt", ascending: false)]
    request.fetchLimit = last
    return try context.fetch(request).reversed()
  }

  /// How many items there are, and how many of them are still to be done.
  func count() throws -> (all: Int, open: Int) {
    let request = NSFetchRequest<TSPItem>(entityName: "TSPItem")
    let all = try context.count(for: request)
    request.predicate = NSPredicate(format: "isDone == NO")
    return (all, try context.count(for: request))
  }

  /// Writes an item down.
  ///
  /// - Parameters:
  ///   - name: what is to be done.
  ///   - list: the name of the list that it belongs to, which is made when it is not there; nil for none.
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
