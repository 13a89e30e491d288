// OpenCoreData
// SPDX-License-Identifier: Apache-2.0

import CoreDataModelFiles
import Foundation

/// Hands out the objects of the source to expressions that need more than columns, and forgets them in batches.
final class SourceObjects {
  /// So many objects are kept before the context is emptied, along with all that they have led to.
  private static let batch = 500

  private let model: NSManagedObjectModel
  private let url: URL
  private let configuration: String?
  private var context: NSManagedObjectContext?
  private var store: SQLiteStore?
  private var handedOut = 0

  init(model: NSManagedObjectModel, url: URL, configuration: String?) {
    self.model = model
    self.url = url
    self.configuration = configuration
  }

  /// The object of a row; the store is opened for the first one.
  func object(_ entity: EntityLayout, _ key: Int64) throws -> NSManagedObject {
    let context = try opened()
    if handedOut >= Self.batch {
      context.reset()
      handedOut = 0
    }
    handedOut += 1
    guard let id = try store?.state().entities.id(entity: entity.number, primaryKey: key) else {
      throw RowProblem(
        kind: .unknownEntity(number: Int64(entity.number)), table: entity.table, primaryKey: key, property: "")
    }
    return context.object(for: id)
  }

  func close() throws {
    guard let store, let coordinator = context?.persistentStoreCoordinator else { return }
    context = nil
    self.store = nil
    try coordinator.remove(store)
  }

  private func opened() throws -> NSManagedObjectContext {
    if let context { return context }
    // As in Core Data, the classes of the app take no part in a migration: they fit the newest version only.
    var document = model.document
    for position in document.entities.indices { document.entities[position].className = nil }
    let coordinator = NSPersistentStoreCoordinator(managedObjectModel: try NSManagedObjectModel(document: document))
    let added = try coordinator.addPersistentStore(
      type: .sqlite, configuration: configuration, at: url, options: [NSReadOnlyPersistentStoreOption: true])
    let context = NSManagedObjectContext(.privateQueue)
    context.persistentStoreCoordinator = coordinator
    store = added as? SQLiteStore
    self.context = context
    return context
  }
}
