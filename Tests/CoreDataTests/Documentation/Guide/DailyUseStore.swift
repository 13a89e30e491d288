// OpenCoreData
// SPDX-License-Identifier: Apache-2.0

import CoreData
import CoreDataTestSupport
import Foundation

/// A list of things to do, of the current version of its model, for the code of the articles about daily use.
struct DailyUseStore {
  /// The model of the example `Done`, with three versions.
  static let modelURL = URL(fileURLWithPath: #filePath).deletingLastPathComponent()
    .appendingPathComponent("../../../../Examples/Done/Done.xcdatamodeld").standardizedFileURL

  let temporary: TemporaryStore
  var storeURL: URL { temporary.url }

  init() throws {
    temporary = try TemporaryStore("Done.sqlite")
  }

  /// Opens the store, and creates it the first time.
  func container(history: Bool = false, model: NSManagedObjectModel? = nil) throws -> NSPersistentContainer {
    let container = NSPersistentContainer(
      name: "Done", managedObjectModel: try model ?? NSManagedObjectModel.load(contentsOf: Self.modelURL))
    let description = NSPersistentStoreDescription(url: storeURL)
    if history { description.setOption(true as NSNumber, forKey: NSPersistentHistoryTrackingKey) }
    container.persistentStoreDescriptions = [description]
    var failure: (any Error)?
    container.loadPersistentStores { failure = $1 }
    if let failure { throw failure }
    return container
  }

  /// Saves items through a context of their own.
  @discardableResult
  static func add(
    _ names: [String], to container: NSPersistentContainer, list: String? = nil, author: String? = nil
  ) throws -> [NSManagedObjectID] {
    let context = container.newBackgroundContext()
    context.transactionAuthor = author
    return try context.performAndWait {
      let owner = list.map { context.make("TSPList", ["name": $0]) }
      let items = names.map { context.make("TSPItem", ["name": $0]) }
      for item in items { item.setValue(owner, forKey: "list") }
      try context.save()
      return items.map(\.objectID)
    }
  }

  /// The names of all items in the store, sorted, read through a context of their own.
  static func names(_ container: NSPersistentContainer) throws -> [String] {
    let context = container.newBackgroundContext()
    return try context.performAndWait {
      try context.all("TSPItem").map { $0.value(forKey: "name") as? String ?? "" }
    }
  }
}
