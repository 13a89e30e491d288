// OpenCoreData
// SPDX-License-Identifier: Apache-2.0

import CoreData

/// The container of the app: a store that records its history, a context for the list, and imports in the background.
final class ShelfStore {
  let container: NSPersistentContainer
  /// Up to where the history has been merged into the list's context.
  private var lastToken: NSPersistentHistoryToken?

  init(at url: URL) throws {
    container = NSPersistentContainer(name: "Shelf")
    let description = NSPersistentStoreDescription(url: url)
    description.setOption(true as NSNumber, forKey: NSPersistentHistoryTrackingKey)
    description.setOption(true as NSNumber, forKey: NSPersistentStoreRemoteChangeNotificationPostOptionKey)
    container.persistentStoreDescriptions = [description]
    var failure: (any Error)?
    container.loadPersistentStores { failure = $1 }
    if let failure { throw failure }
    container.viewContext.name = "list"
    container.viewContext.transactionAuthor = "app"
    container.viewContext.mergePolicy = NSMergePolicy.mergeByPropertyObjectTrump
    container.viewContext.undoManager = UndoManager()
  }

  /// Imports books in the background; one whose ISBN is known replaces the old one.
  ///
  /// - Returns: the number of books.
  func importBooks(_ books: [[String: Any]]) throws -> Int {
    let context = container.newBackgroundContext()
    context.transactionAuthor = "import"
    context.mergePolicy = NSMergePolicy.mergeByPropertyObjectTrump
    return try context.performAndWait {
      let request = NSBatchInsertRequest(entityName: "Book", objects: books)
      request.resultType = .count
      let result = try context.execute(request) as? NSBatchInsertResult
      return result?.result as? Int ?? 0
    }
  }

  /// Merges what others have written since the last call into the list's context.
  ///
  /// - Returns: the authors of the transactions, with the number of their changes.
  func mergeHistory() throws -> [String] {
    let context = container.viewContext
    let request = NSPersistentHistoryChangeRequest.fetchHistory(after: lastToken)
    let result = try context.execute(request) as? NSPersistentHistoryResult
    let transactions = result?.result as? [NSPersistentHistoryTransaction] ?? []
    for transaction in transactions where transaction.author != context.transactionAuthor {
      context.mergeChanges(fromContextDidSave: transaction.objectIDNotification())
    }
    lastToken = transactions.last?.token ?? lastToken
    return transactions.map { "\($0.author ?? "-"): \($0.changes?.count ?? 0)" }
  }
}
