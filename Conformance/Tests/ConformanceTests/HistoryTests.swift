// OpenCoreData
// SPDX-License-Identifier: Apache-2.0

import CoreData
import Testing

@Suite("Persistent history")
struct HistoryTests {
  private let stack: Stack

  init() throws {
    let item = entity("Item", [attribute("name"), attribute("code")])
    item.attributesByName["code"]?.preservesValueInHistoryOnDeletion = true
    stack = try Stack(model(item), options: [NSPersistentHistoryTrackingKey: true])
    stack.run { context in
      context.transactionAuthor = "author"
      context.name = "context"
    }
  }

  private func transactions(
    after token: NSPersistentHistoryToken?, in context: NSManagedObjectContext
  ) throws -> [NSPersistentHistoryTransaction] {
    let request = NSPersistentHistoryChangeRequest.fetchHistory(after: token)
    request.resultType = .transactionsAndChanges
    let result = try #require(try context.execute(request) as? NSPersistentHistoryResult)
    return try #require(result.result as? [NSPersistentHistoryTransaction])
  }

  @Test("A save is a transaction with its author, the name of its context, and its changes")
  func transaction() throws {
    try stack.run { context in
      let item = context.insert("Item", ["name": "a"])
      try context.save()
      let all = try transactions(after: nil, in: context)
      #expect(all.count == 1)
      #expect(all.first?.author == "author")
      #expect(all.first?.contextName == "context")
      #expect(all.first?.storeID == stack.store.identifier)
      #expect(all.first?.changes?.map(\.changeType) == [.insert])
      #expect(all.first?.changes?.first?.changedObjectID == item.objectID)
    }
  }

  @Test("An update tells the properties that were set")
  func update() throws {
    try stack.run { context in
      let item = context.insert("Item", ["name": "a"])
      try context.save()
      let token = try #require(try transactions(after: nil, in: context).last?.token)
      item.setValue("b", forKey: "name")
      try context.save()
      let later = try transactions(after: token, in: context)
      #expect(later.count == 1)
      #expect(later.first?.changes?.first?.changeType == .update)
      #expect(later.first?.changes?.first?.updatedProperties?.map(\.name) == ["name"])
    }
  }

  @Test("A deletion keeps the values of the attributes that ask for it")
  func tombstone() throws {
    try stack.run { context in
      let item = context.insert("Item", ["name": "a", "code": "x1"])
      try context.save()
      context.delete(item)
      try context.save()
      let change = try #require(try transactions(after: nil, in: context).last?.changes?.first)
      #expect(change.changeType == .delete)
      #expect(change.tombstone?["code"] as? String == "x1")
      #expect(change.tombstone?["name"] == nil)
    }
  }

  @Test("The current token of the coordinator is that of the last transaction")
  func currentToken() throws {
    try stack.run { context in
      context.insert("Item")
      try context.save()
      let token = try #require(stack.coordinator.currentPersistentHistoryToken(fromStores: [stack.store]))
      #expect(try transactions(after: token, in: context).isEmpty)
      context.insert("Item")
      try context.save()
      #expect(try transactions(after: token, in: context).count == 1)
    }
  }

  @Test("History that was deleted before a token is gone, and the rest stays")
  func deletion() throws {
    try stack.run { context in
      for name in ["a", "b", "c"] {
        context.insert("Item", ["name": name])
        try context.save()
      }
      let all = try transactions(after: nil, in: context)
      try context.execute(NSPersistentHistoryChangeRequest.deleteHistory(before: all[1].token))
      let rest = try transactions(after: nil, in: context)
      #expect(rest.count < 3)
      #expect(rest.last?.token == all[2].token)
      #expect(try context.all("Item").count == 3)
    }
  }

  @Test("Batch requests are transactions too")
  func batch() throws {
    try stack.run { context in
      try context.execute(NSBatchInsertRequest(entityName: "Item", objects: [["name": "a"], ["name": "b"]]))
      let all = try transactions(after: nil, in: context)
      #expect(all.flatMap { $0.changes ?? [] }.map(\.changeType) == [.insert, .insert])
    }
  }

  @Test("The notification of a transaction brings a context of another coordinator up to date")
  func merging() throws {
    try stack.run { context in
      let item = context.insert("Item", ["name": "a"])
      try context.save()
      let token = stack.coordinator.currentPersistentHistoryToken(fromStores: nil)
      let other = stack.newContext()
      let same = try other.performAndWait {
        let same = try #require(try other.all("Item").first)
        #expect(same.text("name") == "a")
        return same
      }
      item.setValue("b", forKey: "name")
      try context.save()
      let transaction = try #require(try transactions(after: token, in: context).first)
      other.performAndWait {
        other.mergeChanges(fromContextDidSave: transaction.objectIDNotification())
        #expect(same.text("name") == "b")
      }
    }
  }

  @Test("A store without history tracking has no transactions")
  func untracked() throws {
    let plain = try Stack(library())
    try plain.run { context in
      context.insert("Book")
      try context.save()
      let request = NSPersistentHistoryChangeRequest.fetchHistory(after: nil as NSPersistentHistoryToken?)
      do {
        let result = try context.execute(request) as? NSPersistentHistoryResult
        #expect((result?.result as? [Any])?.isEmpty ?? true)
      } catch {
        // A refusal says it as well.
        #expect((error as NSError).domain == NSCocoaErrorDomain)
      }
    }
  }
}
