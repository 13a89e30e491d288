// OpenCoreData
// SPDX-License-Identifier: Apache-2.0

import CoreDataTestSupport
import Foundation
import Testing

@testable import CoreData

@Suite("Predicates about persistent history")
struct HistoryPredicateTests {
  private static func add(_ context: NSManagedObjectContext, _ name: String) throws -> NSPersistentHistoryToken {
    context.make("Department", ["name": name])
    context.make("Task", ["title": name])
    try context.save()
    return try #require(context.persistentStoreCoordinator?.currentPersistentHistoryToken(fromStores: nil))
  }

  private func numbers(
    _ context: NSManagedObjectContext, _ format: String, _ arguments: [Any], changes: Bool = false
  ) throws -> [Int64] {
    let fetch = changes ? NSPersistentHistoryChange.fetchRequest : NSPersistentHistoryTransaction.fetchRequest
    fetch?.predicate = NSPredicate(format: format, argumentArray: arguments)
    let request = NSPersistentHistoryChangeRequest.fetchHistory(withFetch: try #require(fetch))
    request.resultType = .transactionsOnly
    let result = try context.execute(request) as? NSPersistentHistoryResult
    return try #require(result?.result as? [NSPersistentHistoryTransaction]).map(\.transactionNumber)
  }

  @Test("Transactions and changes are found by their place before and after a token")
  func tokens() throws {
    let store = try TemporaryStore()
    let context = try store.context(CompanyModel.make(), options: PersistentHistoryTests.tracked)
    let tokens = try ["a", "b", "c"].map { try Self.add(context, $0) }
    for (isOfChanges, key) in [(false, "token"), (true, "transaction.token")] {
      func found(_ format: String, _ arguments: NSPersistentHistoryToken...) throws -> [Int64] {
        let whole = format.replacingOccurrences(of: "KEY", with: key)
        return try numbers(context, whole, arguments, changes: isOfChanges)
      }
      #expect(try found("KEY > %@", tokens[0]) == [2, 3])
      #expect(try found("KEY >= %@", tokens[1]) == [2, 3])
      #expect(try found("KEY < %@", tokens[1]) == [1])
      #expect(try found("KEY <= %@", tokens[1]) == [1, 2])
      #expect(try found("%@ < KEY", tokens[1]) == [3])
      #expect(try found("KEY == %@", tokens[1]) == [2])
      #expect(try found("NOT KEY > %@", tokens[1]) == [1, 2])
      #expect(try found("KEY > %@ AND KEY <= %@", tokens[0], tokens[1]) == [2])
      #expect(try found("KEY BETWEEN {%@, %@}", tokens[1], tokens[2]) == [2, 3])
    }
    #expect(throws: NSError.self) { try numbers(context, "transactionNumber > %@", [tokens[0]]) }
  }

  @Test("A token of two stores is a position in each; a store that it does not know is after it")
  func stores() throws {
    let folder = try TemporaryStore()
    let one = try folder.context(CompanyModel.make(), options: PersistentHistoryTests.tracked)
    _ = try Self.add(one, "a")
    let coordinator = try #require(one.persistentStoreCoordinator)
    let first = try #require(coordinator.currentPersistentHistoryToken(fromStores: nil))
    let second = try coordinator.addPersistentStore(
      type: .sqlite, at: folder.folder.appendingPathComponent("Other.sqlite"), options: PersistentHistoryTests.tracked)
    for name in ["b", "c"] {
      let object = one.make("Task", ["title": name])
      one.assign(object, to: second)
      try one.save()
    }
    let both = try #require(coordinator.currentPersistentHistoryToken(fromStores: nil))
    #expect(try numbers(one, "token > %@", [first]) == [1, 2])
    #expect(try numbers(one, "token <= %@", [first]) == [1])
    #expect(try numbers(one, "token > %@", [both]).isEmpty)
    #expect(try numbers(one, "token <= %@", [both]).count == 3)
    one.make("Task", ["title": "d"])
    one.assign(try #require(one.insertedObjects.first), to: coordinator.persistentStores[0])
    try one.save()
    #expect(try numbers(one, "token > %@", [both]) == [2])
  }

  @Test("Changes are found by an entity, and by its name")
  func entities() throws {
    let store = try TemporaryStore()
    let context = try store.context(CompanyModel.make(), options: PersistentHistoryTests.tracked)
    _ = try Self.add(context, "a")
    _ = try Self.add(context, "b")
    let model = try #require(context.persistentStoreCoordinator?.managedObjectModel)
    let (task, employee) = (try #require(model.entitiesByName["Task"]), try #require(model.entitiesByName["Employee"]))
    func count(_ format: String, _ argument: Any) throws -> Int? {
      let fetch = try #require(NSPersistentHistoryChange.fetchRequest)
      fetch.predicate = NSPredicate(format: format, argumentArray: [argument])
      let request = NSPersistentHistoryChangeRequest.fetchHistory(withFetch: fetch)
      request.resultType = .count
      return (try context.execute(request) as? NSPersistentHistoryResult)?.result as? Int
    }
    #expect(try count("changedEntity == %@", task) == 2)
    #expect(try count("changedEntity == %@", "Task") == 2)
    #expect(try count("changedEntity != %@", task) == 2)
    #expect(try count("changedEntity IN %@", [task, employee] as NSArray) == 2)
    #expect(try count("changedEntity == %@", employee) == 0)
    #expect(try numbers(context, "ANY changes.changedEntity == %@ AND transactionNumber == 2", [task]) == [2])
  }

  @Test("A batch request in a child context is recorded with the author and name of the root", arguments: [1, 2])
  func batches(depth: Int) throws {
    let store = try TemporaryStore()
    let root = try store.context(BatchSample.model(), options: PersistentHistoryTests.tracked)
    var context = root
    var all = [root]
    for _ in 0..<depth {
      let child = NSManagedObjectContext(.privateQueue)
      child.parent = context
      context = child
      all.append(child)
    }
    func perform() throws -> [String?] {
      let before = root.persistentStoreCoordinator?.currentPersistentHistoryToken(fromStores: nil)
      let update = NSBatchUpdateRequest(entityName: "Label")
      update.propertiesToUpdate = ["name": UUID().uuidString]
      let delete = NSBatchDeleteRequest(fetchRequest: NSFetchRequest<any NSFetchRequestResult>(entityName: "Label"))
      try context.performAndWait {
        try context.execute(NSBatchInsertRequest(entityName: "Label", objects: [["name": "red"]]))
        try context.execute(update)
        try context.execute(delete)
      }
      return try PersistentHistoryTests.history(root, after: before).map {
        "\($0.author ?? "-") \($0.contextName ?? "-")"
      }
    }
    #expect(try perform() == ["- -", "- -", "- -"])
    context.transactionAuthor = "child"
    context.name = "child"
    #expect(try perform() == Array(repeating: "child child", count: 3))
    root.transactionAuthor = "me"
    root.name = "main"
    #expect(try perform() == Array(repeating: "me main", count: 3))
  }
}
