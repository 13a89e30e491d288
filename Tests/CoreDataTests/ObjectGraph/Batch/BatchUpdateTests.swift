// OpenCoreData
// SPDX-License-Identifier: Apache-2.0

import CoreDataSQLite
import CoreDataTestSupport
import Foundation
import Testing

@testable import CoreData

@Suite("Batch updates and deletions")
struct BatchUpdateTests {
  /// Two authors with two books each, one of them a comic with chapters.
  private func filled(_ store: TemporaryStore) throws -> NSManagedObjectContext {
    let context = try store.context(BatchSample.model())
    let shelf = context.make("Shelf", ["name": "A"])
    let label = context.make("Label", ["name": "red"])
    for name in ["Ada", "Bob"] {
      let author = context.make("Author", ["name": name])
      let book = context.make(
        "Book", ["title": "\(name) 1", "pages": 10, "isbn": "\(name)1", "author": author, "shelf": shelf])
      book.setValue(NSSet(object: label), forKey: "labels")
      let comic = context.make(
        "Comic", ["title": "\(name) 2", "pages": 20, "author": author, "shelf": shelf, "scan": Data(count: 200_000)])
      comic.setValue(
        NSOrderedSet(array: (1...3).map { context.make("Chapter", ["number": $0]) }), forKey: "chapters")
    }
    try context.save()
    return context
  }

  private func update(
    _ context: NSManagedObjectContext, _ entity: String, _ predicate: NSPredicate?, _ values: [AnyHashable: Any]
  ) throws -> [NSManagedObjectID] {
    let request = NSBatchUpdateRequest(entityName: entity)
    request.predicate = predicate
    request.propertiesToUpdate = values
    request.resultType = .updatedObjectIDsResultType
    return try #require((try context.execute(request) as? NSBatchUpdateResult)?.result as? [NSManagedObjectID])
  }

  @Test("Constants and expressions are computed from the old values, with derived values of other objects")
  func update() throws {
    let store = try TemporaryStore()
    let context = try filled(store)
    let ids = try update(
      context, "Book", NSPredicate(format: "author.name == %@", "Ada"),
      [
        "pages": NSExpression(format: "pages + 5"), "title": NSExpression(format: "uppercase:(title)"),
        "isbn": NSExpression(forKeyPath: "title"), "tags": ["x"], "price": NSNull(),
      ])
    #expect(Set(ids.map { $0.entity.name }) == ["Book", "Comic"])
    let rows = try store.table("SELECT ZTITLE, ZPAGES, ZISBN, ZSEARCH FROM ZBOOK ORDER BY ZTITLE")
    #expect(
      rows == [
        ["ADA 1", 15, "Ada 1", "ada 1"], ["ADA 2", 25, "Ada 2", "ada 2"], ["Bob 1", 10, "Bob1", "bob 1"],
        ["Bob 2", 20, .null, "bob 2"],
      ])
    #expect(try store.table("SELECT ZPAGES FROM ZAUTHOR ORDER BY ZNAME") == [[40], [30]])
    let book = try #require(context.registeredObject(for: ids[0]))
    #expect(book["pages"] as? Int == 10, "objects do not change by themselves")
    context.refreshAllObjects()
    #expect(book["pages"] as? Int == 15 && book["tags"] as? [String] == ["x"])
    book["pages"] = 16
    try context.save()
    try StoreChecks.check(store.url, BatchSample.model())
  }

  @Test("Conditions that SQL cannot express choose rows by what is stored, too", arguments: [true, false])
  func conditionsInMemory(isPinned: Bool) throws {
    let store = try TemporaryStore()
    let context = try filled(store)
    let child = NSManagedObjectContext(.privateQueue)
    child.parent = context
    if isPinned {
      try context.setQueryGenerationFrom(.current)
      _ = try context.all("Book", by: "title")
      let other = try store.context(BatchSample.model())
      for book in try other.all("Book", by: "title") where book["title"] as? String == "Ada 1" { book["pages"] = 11 }
      try other.save()
    } else {
      for book in try context.all("Book", by: "title") where book["pages"] as? Int == 20 { book["pages"] = 10 }
    }
    let block = NSPredicate { object, _ in (object as? NSManagedObject)?["pages"] as? Int == 10 }
    let ids = try update(isPinned ? context : child, "Book", block, ["price": NSDecimalNumber(value: 5)])
    #expect(ids.count == (isPinned ? 1 : 2))
    let rows = try store.table("SELECT ZTITLE FROM ZBOOK WHERE ZPRICE IS NOT NULL ORDER BY ZTITLE")
    #expect(rows == (isPinned ? [["Bob 1"]] : [["Ada 1"], ["Bob 1"]]))
  }

  @Test("A deleted object is no destination of a batch update")
  func deletedDestination() throws {
    let store = try TemporaryStore()
    let context = try filled(store)
    let author = try #require(try context.all("Author").first { $0["name"] as? String == "Bob" })
    context.delete(author)
    try context.save()
    let error = #expect(throws: NSError.self) { try update(context, "Book", nil, ["author": author.objectID]) }
    #expect(error?.code == NSCoreDataError)
    #expect(try store.table("SELECT COUNT(*) FROM ZBOOK WHERE ZAUTHOR IS NULL") == [[2]])
  }

  @Test(
    "Objects that gain members by a batch update conflict where they are deleted without them",
    arguments: [false, true])
  func owners(hasPolicy: Bool) throws {
    var builder = ModelBuilder()
    builder.entity("Owner", [.make("name", .stringAttributeType)])
    builder.entity("Member", [.make("name", .stringAttributeType)])
    builder.relate(.init("Owner", "members", toMany: true), .init("Member", "owner"))
    builder.relate(.init("Owner", "leader"), .init("Member", "leads"))
    let model = builder.model()
    let store = try TemporaryStore()
    let context = try store.context(model, options: [NSPersistentHistoryTrackingKey: true])
    let owners = ["a", "b"].map { context.make("Owner", ["name": $0]) }
    let members = ["c", "d"].map { context.make("Member", ["name": $0]) }
    members[0]["owner"] = owners[0]
    members[0]["leads"] = owners[0]
    try context.save()
    #expect((owners[1]["members"] as? NSSet)?.count == 0)

    let other = try store.context(model, options: [NSPersistentHistoryTrackingKey: true])
    let destination = try #require(try other.all("Owner").last)
    _ = try update(other, "Member", nil, ["owner": destination.objectID])
    #expect(try store.table("SELECT Z_OPT FROM ZOWNER ORDER BY ZNAME") == [[2], [2]])
    // The same values again change nothing of the owners.
    _ = try update(other, "Member", nil, ["owner": destination.objectID, "leads": NSNull()])
    #expect(try store.table("SELECT Z_OPT, ZLEADER FROM ZOWNER ORDER BY ZNAME") == [[3, .null], [2, .null]])
    let history = NSPersistentHistoryChangeRequest.fetchHistory(after: nil as NSPersistentHistoryToken?)
    let result = try #require(try other.execute(history) as? NSPersistentHistoryResult)
    let transactions = try #require(result.result as? [NSPersistentHistoryTransaction])
    let changes = transactions.dropFirst().map { transaction in
      (transaction.changes ?? []).map { change in
        "\(change.changedObjectID.entity.name ?? "") "
          + (change.updatedProperties ?? []).map(\.name).sorted().joined(separator: ", ")
      }.sorted()
    }
    #expect(
      changes == [
        ["Member owner", "Member owner", "Owner members", "Owner members"],
        ["Member leads, owner", "Member leads, owner", "Owner leader"],
      ])

    if hasPolicy { context.mergePolicy = NSMergePolicy.mergeByPropertyObjectTrump }
    context.delete(owners[1])
    if hasPolicy {
      try context.save()
      #expect(try store.table("SELECT ZOWNER FROM ZMEMBER") == [[.null], [.null]])
    } else {
      #expect { try context.save() } throws: { ($0 as NSError).code == NSManagedObjectMergeError }
      #expect(try store.table("SELECT COUNT(*) FROM ZMEMBER JOIN ZOWNER ON ZOWNER = ZOWNER.Z_PK") == [[2]])
    }
  }

  @Test("An object that was read before a batch update conflicts when it is saved")
  func conflict() throws {
    let store = try TemporaryStore()
    let context = try filled(store)
    let book = try #require(try context.all("Book", by: "title").first)
    book["pages"] = 99
    let request = NSBatchUpdateRequest(entityName: "Book")
    request.propertiesToUpdate = ["pages": 7]
    request.includesSubentities = false
    request.resultType = .updatedObjectsCountResultType
    #expect((try context.execute(request) as? NSBatchUpdateResult)?.result as? Int == 2)
    #expect { try context.save() } throws: { ($0 as NSError).code == NSManagedObjectMergeError }
    #expect(try store.table("SELECT ZPAGES FROM ZBOOK ORDER BY ZTITLE") == [[7], [20], [7], [20]])
  }

  @Test("To-one relationships, large data, and predicates that SQL cannot express")
  func others() throws {
    let store = try TemporaryStore()
    let context = try filled(store)
    let bob = try #require(try context.all("Author").last)
    let block = NSPredicate { object, _ in (object as? NSManagedObject)?["title"] as? String == "Ada 2" }
    let moved = try update(
      context, "Book", block, ["author": bob.objectID, "scan": Data(repeating: 3, count: 150_000)])
    #expect(moved.count == 1)
    #expect(try store.table("SELECT ZBOOKCOUNT, ZPAGES FROM ZAUTHOR ORDER BY ZNAME") == [[1, 10], [3, 50]])
    let comic = try #require(try store.context(BatchSample.model()).all("Comic", by: "title").first)
    #expect(comic["scan"] as? Data == Data(repeating: 3, count: 150_000))
    let all = try update(context, "Comic", nil, ["scan": Data(repeating: 4, count: 150_000)])
    #expect(all.count == 2)
    let folder = store.folder.appendingPathComponent(".Store_SUPPORT/_EXTERNAL_DATA").path
    #expect(try FileManager.default.contentsOfDirectory(atPath: folder).count == 2, "each row has a file of its own")
    _ = try update(context, "Comic", nil, ["scan": NSNull()])
    #expect(try FileManager.default.contentsOfDirectory(atPath: folder).isEmpty)
  }

  @Test("Updates that break rules are errors, and change nothing")
  func refused() throws {
    let store = try TemporaryStore()
    let context = try filled(store)
    let before = try store.table("SELECT * FROM ZBOOK ORDER BY Z_PK")
    func code(_ values: [AnyHashable: Any]) -> Int? {
      do {
        _ = try update(context, "Book", nil, values)
        return nil
      } catch {
        return (error as NSError).code
      }
    }
    #expect(code(["title": NSNull()]) == NSValidationMissingMandatoryPropertyError)
    #expect(code(["title": NSExpression(forKeyPath: "isbn")]) == NSValidationMissingMandatoryPropertyError)
    #expect(code(["pages": NSExpression(format: "pages * 10000")]) == NSValidationNumberTooLargeError)
    #expect(code(["pages": "many"]) == NSManagedObjectValidationError)
    #expect(code(["pages": NSExpression(forKeyPath: "title")]) == NSManagedObjectValidationError)
    #expect(code(["isbn": "1"]) == NSManagedObjectConstraintMergeError)
    #expect(code(["search": "a"]) == NSCoreDataError)
    #expect(code(["chapters": NSNull()]) == NSCoreDataError)
    #expect(code(["nothing": 1]) == NSCoreDataError)
    #expect(code([:]) == NSCoreDataError)
    #expect(try store.table("SELECT * FROM ZBOOK ORDER BY Z_PK") == before)
  }

  @Test("A required object on the other side of a one-to-one relationship is not taken away")
  func requiredOwner() throws {
    var builder = ModelBuilder()
    builder.entity("Owner", [.make("name", .stringAttributeType)])
    builder.entity("Member", [.make("name", .stringAttributeType)])
    builder.relate(.init("Owner", "leader", optional: false), .init("Member", "leads"))
    let store = try TemporaryStore()
    let context = try store.context(builder.model())
    let member = context.make("Member", ["name": "c"])
    member["leads"] = context.make("Owner", ["name": "a"])
    try context.save()
    let error = #expect(throws: NSError.self) { try update(context, "Member", nil, ["leads": NSNull()]) }
    #expect(error?.code == NSValidationMissingMandatoryPropertyError)
    #expect(error?.userInfo[NSValidationKeyErrorKey] as? String == "leader")
    #expect(try store.table("SELECT COUNT(*) FROM ZMEMBER JOIN ZOWNER ON ZLEADS = ZOWNER.Z_PK") == [[1]])
  }

  @Test("Deletion cascades, nullifies and removes from join tables, with files and derived values")
  func delete() throws {
    let store = try TemporaryStore()
    let context = try filled(store)
    let fetch = NSFetchRequest<any NSFetchRequestResult>(entityName: "Book")
    fetch.predicate = NSPredicate(format: "author.name == 'Ada'")
    let request = NSBatchDeleteRequest(fetchRequest: fetch)
    request.resultType = .resultTypeObjectIDs
    let ids = try #require((try context.execute(request) as? NSBatchDeleteResult)?.result as? [NSManagedObjectID])
    #expect(ids.compactMap(\.entity.name).sorted() == ["Book", "Chapter", "Chapter", "Chapter", "Comic"])
    #expect(try store.table("SELECT COUNT(*) FROM ZBOOK") == [[2]])
    #expect(try store.table("SELECT COUNT(*) FROM ZCHAPTER") == [[3]])
    #expect(try store.table("SELECT ZBOOKCOUNT, ZPAGES FROM ZAUTHOR ORDER BY ZNAME") == [[0, 0], [2, 30]])
    #expect(try store.context(BatchSample.model()).all("Label")[0].value(forKeyPath: "books.@count") as? Int == 1)
    let folder = store.folder.appendingPathComponent(".Store_SUPPORT/_EXTERNAL_DATA").path
    #expect(try FileManager.default.contentsOfDirectory(atPath: folder).count == 1)
    let authors = NSBatchDeleteRequest(fetchRequest: NSFetchRequest<NSManagedObject>(entityName: "Author"))
    authors.resultType = .resultTypeCount
    #expect((try context.execute(authors) as? NSBatchDeleteResult)?.result as? Int == 2)
    #expect(try store.table("SELECT COUNT(*) FROM ZBOOK WHERE ZAUTHOR IS NULL AND Z_OPT = 2") == [[2]])
    try StoreChecks.check(store.url, BatchSample.model())
  }

  @Test("Deletion is denied by a rule and by a required inverse, but not if those objects go too")
  func denied() throws {
    let store = try TemporaryStore()
    let context = try filled(store)
    let book = try #require(try context.all("Book", by: "title").first)
    let loan = context.make("Loan", ["book": book])
    try context.save()
    func delete(_ ids: [NSManagedObjectID]) throws {
      let request = NSBatchDeleteRequest(objectIDs: ids)
      let result = try context.execute(request) as? NSBatchDeleteResult
      #expect(result?.result as? Bool == true)
    }
    #expect { try delete([book.objectID]) } throws: {
      ($0 as NSError).code == NSValidationRelationshipDeniedDeleteError
    }
    let shelf = try #require(try context.all("Shelf").first)
    #expect { try delete([shelf.objectID]) } throws: {
      ($0 as NSError).code == NSValidationMissingMandatoryPropertyError
    }
    #expect(try store.table("SELECT (SELECT COUNT(*) FROM ZBOOK), (SELECT COUNT(*) FROM ZSHELF)") == [[4, 1]])
    try delete([loan.objectID])
    try delete([book.objectID, TemporaryObjectID(for: book.entity)])
    #expect(try store.table("SELECT (SELECT COUNT(*) FROM ZBOOK), (SELECT COUNT(*) FROM ZLOAN)") == [[3, 0]])
    try delete([])
  }

  @Test("A save request writes only its objects, and a limited deletion only the first ones")
  func saveRequest() throws {
    let store = try TemporaryStore()
    let context = try filled(store)
    let coordinator = try #require(context.persistentStoreCoordinator)
    let one = context.make("Label", ["name": "one"])
    let two = context.make("Label", ["name": "two"])
    let red = try #require(try context.all("Label", where: NSPredicate(format: "name == 'red'")).first)
    red["name"] = "RED"
    let request = NSSaveChangesRequest(inserted: [one], updated: [red], deleted: nil, locked: nil)
    #expect((try coordinator.execute(request, with: context) as? [Any])?.isEmpty == true)
    #expect(try store.table("SELECT ZNAME, Z_OPT FROM ZLABEL ORDER BY Z_PK") == [["RED", 2], ["one", 1]])
    #expect(!one.hasChanges && !red.hasChanges && two.isInserted)
    red["name"] = "Red"
    try context.save()
    #expect(try store.table("SELECT ZNAME FROM ZLABEL ORDER BY Z_PK") == [["Red"], ["one"], ["two"]])
    let fetch = NSFetchRequest<any NSFetchRequestResult>(entityName: "Label")
    fetch.sortDescriptors = [NSSortDescriptor(key: "name", ascending: false)]
    fetch.fetchLimit = 2
    let found = try coordinator.execute(fetch, with: context) as? [NSManagedObject]
    #expect(found?.map { $0["name"] as? String } == ["two", "one"])
    try coordinator.execute(NSBatchDeleteRequest(fetchRequest: fetch), with: context)
    #expect(try store.table("SELECT ZNAME FROM ZLABEL") == [["Red"]])
    #expect { try context.execute(fetch) } throws: {
      ($0 as NSError).code == NSPersistentStoreUnsupportedRequestTypeError
    }
  }

  @Test("A request that was made with a name has no entity")
  func misuse() async {
    await #expect(processExitsWith: .failure) { _ = NSBatchUpdateRequest(entityName: "Book").entity }
  }
}
