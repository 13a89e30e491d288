// OpenCoreData
// SPDX-License-Identifier: Apache-2.0

import CoreDataModelFiles
import CoreDataStoreFiles
import Foundation

/// Hands out the objects of the source to expressions that need more than columns, and forgets them in batches.
final class SourceObjects {
  /// So many objects are kept before the context is emptied, along with all that they have led to.
  private static let batch = 500

  /// Where the source is.
  private enum Origin {
    case file(URL, NSManagedObjectModel, configuration: String?)
    /// What a migration manager has it in, whose objects policies know too.
    case stack(MigrationStack)
  }

  private let origin: Origin
  private var context: NSManagedObjectContext?
  private var store: SQLiteStore?
  private var handedOut = 0

  /// The objects of a store that is opened when the first is asked for.
  init(model: NSManagedObjectModel, url: URL, configuration: String?) {
    origin = .file(url, model, configuration: configuration)
  }

  /// The objects of a running migration's source.
  init(_ stack: MigrationStack) {
    origin = .stack(stack)
    (context, store) = (stack.context, stack.store)
  }

  /// The object of a row.
  func object(_ entity: EntityLayout, _ key: Int64) throws -> NSManagedObject {
    let context = try opened()
    if handedOut >= Self.batch {
      if case .stack(let stack) = origin { stack.releaseValues() } else { context.reset() }
      handedOut = 0
    }
    handedOut += 1
    guard let id = try store?.state().entities.id(entity: entity.number, primaryKey: key) else {
      throw RowProblem(
        kind: .unknownEntity(number: Int64(entity.number)), table: entity.table, primaryKey: key, property: "")
    }
    return context.object(for: id)
  }

  /// Closes a store that was opened here.
  func close() throws {
    guard case .file = origin, let store, let coordinator = context?.persistentStoreCoordinator else { return }
    context = nil
    self.store = nil
    try coordinator.remove(store)
  }

  private func opened() throws -> NSManagedObjectContext {
    switch origin {
    case .stack(let stack): return stack.context
    case .file(let url, let model, let configuration):
      if let context { return context }
      let context = try Self.context(model)
      store =
        try context.persistentStoreCoordinator?.addPersistentStore(
          type: .sqlite, configuration: configuration, at: url, options: [NSReadOnlyPersistentStoreOption: true])
        as? SQLiteStore
      self.context = context
      return context
    }
  }

  /// As in Core Data, the classes of the app take no part in a migration: they fit the newest version only.
  private static func context(_ model: NSManagedObjectModel) throws -> NSManagedObjectContext {
    var document = model.document
    for position in document.entities.indices { document.entities[position].className = nil }
    let context = NSManagedObjectContext(.privateQueue)
    context.persistentStoreCoordinator = NSPersistentStoreCoordinator(
      managedObjectModel: try NSManagedObjectModel(document: document))
    return context
  }
}
