// OpenCoreData
// SPDX-License-Identifier: Apache-2.0

// The code of the guide's articles about batch requests and large stores, between `guide:` and `end`.

import CoreData
import CoreDataTestSupport
import Foundation
import Testing

@Suite("The code of the guide: batch requests and large stores")
struct BatchGuideTests {
  private let store: DailyUseStore

  init() throws {
    store = try DailyUseStore()
  }

  /// A library whose books have unique numbers.
  private func library(index: Bool = false) throws -> NSPersistentContainer {
    let isbn = NSAttributeDescription.make("isbn", .stringAttributeType, optional: false)
    let title = NSAttributeDescription.make("title", .stringAttributeType)
    let pages = NSAttributeDescription.make("pages", .integer32AttributeType, default: 0)
    let author = NSAttributeDescription.make("author", .stringAttributeType)
    // guide: batch-unique
    let book = NSEntityDescription()
    book.name = "Book"
    book.properties = [isbn, title, pages, author]
    book.uniquenessConstraints = [["isbn"]]
    // end
    if index {
      // guide: large-index
      let byAuthor = NSFetchIndexDescription(
        name: "byAuthor",
        elements: [
          NSFetchIndexElementDescription(property: author, collationType: .binary),
          NSFetchIndexElementDescription(property: title, collationType: .binary),
        ])
      book.indexes = [byAuthor]
      // end
    }
    let model = NSManagedObjectModel()
    model.entities = [book]
    return try store.container(history: true, model: model)
  }

  private func titles(_ container: NSPersistentContainer) throws -> [String] {
    let context = container.newBackgroundContext()
    return try context.performAndWait {
      try context.all("Book", by: "isbn").map { $0.value(forKey: "title") as? String ?? "-" }
    }
  }

  @Test("Rows are inserted, or merged with the rows that have the same unique values")
  func insert() async throws {
    let container = try library()
    let lines = ["1;Dune;412", "2;Emma;320"]
    let context = container.newBackgroundContext()
    let count = try await context.perform { () -> Int in
      // guide: batch-insert
      var rest = lines[...]
      let insert = NSBatchInsertRequest(entityName: "Book") { (values: NSMutableDictionary) -> Bool in
        guard let line = rest.popFirst() else { return true }
        let fields = line.split(separator: ";").map(String.init)
        values["isbn"] = fields[0]
        values["title"] = fields[1]
        values["pages"] = Int(fields[2])
        return false
      }
      insert.resultType = .count
      context.mergePolicy = NSMergePolicy.mergeByPropertyObjectTrump
      let result = try context.execute(insert) as? NSBatchInsertResult
      // end
      return result?.result as? Int ?? 0
    }
    #expect(count == 2)
    #expect(try titles(container) == ["Dune", "Emma"])

    let again = container.newBackgroundContext()
    let code = again.performAndWait { () -> Int? in
      do {
        try again.execute(NSBatchInsertRequest(entityName: "Book", objects: [["isbn": "1", "title": "Dune again"]]))
        return nil
      } catch {
        return (error as NSError).code
      }
    }
    #expect(code == NSManagedObjectConstraintMergeError)
    try again.performAndWait {
      // guide: batch-upsert
      let revision = NSBatchInsertRequest(
        entityName: "Book", objects: [["isbn": "1", "title": "Dune, revised"], ["isbn": "3", "title": "Ulysses"]])
      again.mergePolicy = NSMergePolicy.mergeByPropertyObjectTrump
      try again.execute(revision)
      // end
    }
    #expect(try titles(container) == ["Dune, revised", "Emma", "Ulysses"])
  }

  @Test("An update changes rows, and objects in memory when its identifiers are merged")
  func update() async throws {
    let container = try library()
    let context = container.newBackgroundContext()
    try await context.perform {
      try context.execute(
        NSBatchInsertRequest(
          entityName: "Book",
          objects: [["isbn": "1", "title": "Dune", "pages": 412], ["isbn": "2", "title": "Emma", "pages": 320]]))
      let book = try context.all("Book", by: "isbn")[0]
      #expect(book.value(forKey: "pages") as? Int == 412)
      // guide: batch-update
      let update = NSBatchUpdateRequest(entityName: "Book")
      update.predicate = NSPredicate(format: "pages > 400")
      update.propertiesToUpdate = ["pages": NSExpression(format: "pages + 8"), "author": "Frank Herbert"]
      update.resultType = .updatedObjectIDsResultType
      let result = try context.execute(update) as? NSBatchUpdateResult
      let ids = result?.result as? [NSManagedObjectID] ?? []
      // end
      #expect(ids == [book.objectID])
      #expect(book.value(forKey: "pages") as? Int == 412, "an object does not change by itself")
      // guide: batch-merge
      NSManagedObjectContext.mergeChanges(
        fromRemoteContextSave: [NSUpdatedObjectIDsKey: ids], into: [context])
      // end
      #expect(book.value(forKey: "pages") as? Int == 420)
      #expect(book.value(forKey: "author") as? String == "Frank Herbert")
    }
  }

  @Test("A deletion is merged too")
  func delete() async throws {
    let container = try library()
    let context = container.newBackgroundContext()
    try await context.perform {
      try context.execute(
        NSBatchInsertRequest(entityName: "Book", objects: [["isbn": "1", "pages": 3], ["isbn": "2", "pages": 400]]))
      let books = try context.all("Book", by: "isbn")
      // guide: batch-delete
      let thin = NSFetchRequest<any NSFetchRequestResult>(entityName: "Book")
      thin.predicate = NSPredicate(format: "pages < 10")
      let delete = NSBatchDeleteRequest(fetchRequest: thin)
      delete.resultType = .resultTypeObjectIDs
      let result = try context.execute(delete) as? NSBatchDeleteResult
      let ids = result?.result as? [NSManagedObjectID] ?? []
      NSManagedObjectContext.mergeChanges(
        fromRemoteContextSave: [NSDeletedObjectIDsKey: ids], into: [context])
      // end
      #expect(ids == [books[0].objectID] && books[0].isDeleted)
      #expect(try context.all("Book", by: "isbn") == [books[1]])
    }
  }

  @Test("What a batch request refuses")
  func refused() async throws {
    let container = try library()
    let context = container.newBackgroundContext()
    func failure(_ values: [String: Any]) -> NSError? {
      context.performAndWait {
        thrownError { try context.execute(NSBatchInsertRequest(entityName: "Book", objects: [["isbn": "0"], values])) }
      }
    }
    #expect(failure(["title": "Dune"])?.code == 1570)
    #expect(failure(["isbn": "1", "pages": "many"])?.code == 1550)
    #expect(failure(["isbn": "1", "pages": 5_000_000_000])?.code == 1610)
    #expect(failure(["isbn": "1", "colour": "red"])?.code == 134060)
    #expect(
      failure(["title": "Dune"])?.localizedFailureReason
        == "'isbn' of 'Book' would have no value, but is not optional.")
    #expect(
      failure(["isbn": "1", "colour": "red"])?.localizedFailureReason == "The entity 'Book' has no attribute 'colour'.")
    #expect(try titles(container).isEmpty)
  }

  @Test("Prefetching reads the destinations of many objects with one statement")
  func prefetching() throws {
    let container = try store.container()
    for list in 0..<20 { try DailyUseStore.add(["a", "b"], to: container, list: "List \(list)") }
    let context = container.newBackgroundContext()
    let faults = Faults()
    let observation = StatementTrace.observe { [path = store.storeURL.path] statement in
      if statement.location == path { faults.add(statement) }
    }
    defer { observation.end() }
    var lines: [String] = []
    try context.performAndWait {
      // guide: large-prefetch
      let request = NSFetchRequest<NSManagedObject>(entityName: "TSPItem")
      request.relationshipKeyPathsForPrefetching = ["list"]
      for item in try context.fetch(request) {
        let list = item.value(forKey: "list") as? NSManagedObject
        lines.append("\(item.value(forKey: "name") ?? "") of \(list?.value(forKey: "name") ?? "")")
      }
      // end
    }
    observation.flush()
    #expect(lines.count == 40 && lines.contains("b of List 7"))
    #expect(faults.count(.fault, reading: "SELECT") == 0 && faults.count(.fetch, reading: "FROM ZTSPLIST ") == 1)
    context.reset()
    try context.performAndWait {
      let request = NSFetchRequest<NSManagedObject>(entityName: "TSPItem")
      for item in try context.fetch(request) {
        _ = (item.value(forKey: "list") as? NSManagedObject)?.value(forKey: "name")
      }
    }
    observation.flush()
    #expect(faults.count(.fault, reading: "FROM ZTSPLIST ") == 20)
  }

  /// The statements of a store.
  private final class Faults: @unchecked Sendable {
    private let lock = NSLock()
    private var list: [StoreStatement] = []

    func add(_ statement: StoreStatement) { lock.withLock { list.append(statement) } }

    func count(_ request: StoreStatement.Request, reading text: String) -> Int {
      lock.withLock { list.filter { $0.request == request && $0.sql.contains(text) }.count }
    }
  }

  @Test("Slow statements are found")
  func tracing() throws {
    let container = try store.container()
    try DailyUseStore.add(["a"], to: container)
    // guide: large-trace
    let observation = StatementTrace.observe { statement in
      guard statement.duration > .milliseconds(50) else { return }
      print("\(statement.request) \(statement.duration) \(statement.rowCount) rows: \(statement.sql)")
    }
    // end
    observation.end()
  }

  @Test("Counts and sums are computed by the store")
  func aggregates() throws {
    let container = try library(index: true)
    let context = container.newBackgroundContext()
    try context.performAndWait {
      try context.execute(
        NSBatchInsertRequest(
          entityName: "Book",
          objects: (0..<30).map { ["isbn": "\($0)", "pages": 100 + $0, "author": $0 % 3 == 0 ? "Ada" : "Grace"] }))
      var lines: [String] = []
      // guide: large-sums
      let pages = NSExpressionDescription()
      pages.name = "allPages"
      pages.expression = NSExpression(format: "sum:(pages)")
      pages.expressionResultType = .integer64AttributeType
      let request = NSFetchRequest<NSDictionary>(entityName: "Book")
      request.resultType = .dictionaryResultType
      request.propertiesToGroupBy = ["author"]
      request.propertiesToFetch = ["author", pages]
      request.sortDescriptors = [NSSortDescriptor(key: "author", ascending: true)]
      for group in try context.fetch(request) {
        lines.append("\(group["author"] ?? "") \(group["allPages"] ?? "")")
      }
      // end
      #expect(lines == ["Ada 1135", "Grace 2300"])
      #expect(context.registeredObjects.isEmpty)
    }
  }

  @Test("Many changes are saved in parts, and the context lets its objects go in between")
  func parts() throws {
    let container = try store.container()
    try DailyUseStore.add((0..<2_500).map { "item \($0)" }, to: container)
    let context = container.newBackgroundContext()
    nonisolated(unsafe) var registered: [Int] = []
    let observer = NotificationCenter.default.addObserver(
      forName: NSManagedObjectContext.didSaveObjectsNotification, object: context, queue: nil
    ) { post in registered.append((post.object as? NSManagedObjectContext)?.registeredObjects.count ?? -1) }
    defer { NotificationCenter.default.removeObserver(observer) }
    try context.performAndWait {
      // guide: large-parts
      let ids = NSFetchRequest<NSManagedObjectID>(entityName: "TSPItem")
      ids.resultType = .managedObjectIDResultType
      let all = try context.fetch(ids)
      for start in stride(from: 0, to: all.count, by: 1_000) {
        let request = NSFetchRequest<NSManagedObject>(entityName: "TSPItem")
        request.predicate = NSPredicate(format: "self IN %@", Array(all[start..<min(start + 1_000, all.count)]))
        for item in try context.fetch(request) {
          item.setValue((item.value(forKey: "name") as? String)?.uppercased(), forKey: "name")
        }
        try context.save()
        context.reset()
      }
      // end
    }
    #expect(registered == [1_000, 1_000, 500])
    #expect(try DailyUseStore.names(container).allSatisfy { $0.hasPrefix("ITEM") })
  }

  @Test("A long fetch reports its progress, and can be cancelled")
  func progress() throws {
    let container = try store.container()
    try DailyUseStore.add((0..<2_000).map { "item \($0)" }, to: container)
    let context = container.newBackgroundContext()
    let done = DispatchSemaphore(value: 0)
    nonisolated(unsafe) var outcome: (code: Int?, count: Int?) = (nil, nil)
    try context.performAndWait {
      // guide: large-progress
      let request = NSFetchRequest<NSManagedObject>(entityName: "TSPItem")
      let fetch = NSAsynchronousFetchRequest(fetchRequest: request) { result in
        outcome = ((result.operationError as NSError?)?.code, result.finalResult?.count)
        done.signal()
      }
      let running = try context.execute(fetch) as? NSAsynchronousFetchResult<NSManagedObject>
      let progress = running?.progress
      progress?.cancel()
      // end
    }
    done.wait()
    #expect(outcome.code == CocoaError.Code.userCancelled.rawValue && outcome.count == nil)
  }
}
