// OpenCoreData
// SPDX-License-Identifier: Apache-2.0

import CoreData
import Testing

@Suite("Batch requests")
struct BatchTests {
  private let stack: Stack

  init() throws {
    stack = try Stack(library())
    try stack.run { context in
      for index in 0..<4 { context.insert("Book", ["title": "t\(index)", "pages": index]) }
      try context.save()
    }
  }

  @Test("A batch insertion makes the rows that were given, and tells their number")
  func insertion() throws {
    let request = NSBatchInsertRequest(entityName: "Tag", objects: [["name": "a"], ["name": "b"]])
    request.resultType = .count
    try stack.run { context in
      let result = try #require(try context.execute(request) as? NSBatchInsertResult)
      #expect(result.result as? Int == 2)
      #expect(try context.texts("name", of: "Tag") == ["a", "b"])
    }
  }

  @Test("A handler is asked for dictionaries until it returns true")
  func dictionaryHandler() throws {
    var index = 0
    let request = NSBatchInsertRequest(entityName: "Tag") { (dictionary: NSMutableDictionary) in
      guard index < 3 else { return true }
      dictionary["name"] = "n\(index)"
      index += 1
      return false
    }
    try stack.run { context in
      try context.execute(request)
      #expect(try context.texts("name", of: "Tag") == ["n0", "n1", "n2"])
    }
  }

  @Test("A batch update changes the rows that its predicate takes, by constants and by expressions")
  func update() throws {
    let request = NSBatchUpdateRequest(entityName: "Book")
    request.predicate = predicate("pages > 1")
    request.propertiesToUpdate = [
      "title": "changed", "pages": NSExpression(format: "pages + 10", argumentArray: []),
    ]
    request.resultType = .updatedObjectIDsResultType
    try stack.run { context in
      let result = try #require(try context.execute(request) as? NSBatchUpdateResult)
      #expect((result.result as? [NSManagedObjectID])?.count == 2)
      context.reset()
      #expect(try context.all("Book", by: "pages").map { $0.number("pages") } == [0, 1, 12, 13])
      #expect(try context.texts("title", of: "Book") == ["changed", "changed", "t0", "t1"])
    }
  }

  @Test("A batch update is not seen by the objects of a context until they are refreshed")
  func updateBesideObjects() throws {
    let request = NSBatchUpdateRequest(entityName: "Book")
    request.propertiesToUpdate = ["title": "changed"]
    try stack.run { context in
      let book = try #require(try context.all("Book").first)
      let before = book.text("title")
      try context.execute(request)
      #expect(book.text("title") == before)
      context.refresh(book, mergeChanges: false)
      #expect(book.text("title") == "changed")
    }
  }

  @Test("A batch deletion deletes the rows of its request, and tells their identifiers")
  func deletion() throws {
    let fetch = NSFetchRequest<NSFetchRequestResult>(entityName: "Book")
    fetch.predicate = predicate("pages < 2")
    let request = NSBatchDeleteRequest(fetchRequest: fetch)
    request.resultType = .resultTypeObjectIDs
    try stack.run { context in
      let doomed = Set(try context.all("Book", where: predicate("pages < 2")).map(\.objectID))
      let result = try #require(try context.execute(request) as? NSBatchDeleteResult)
      let identifiers = try #require(result.result as? [NSManagedObjectID])
      #expect(Set(identifiers) == doomed)
      context.reset()
      #expect(try context.texts("title", of: "Book") == ["t2", "t3"])
    }
  }

  @Test("A batch deletion follows the delete rules cascade and nullify")
  func rules() throws {
    let stack = try Stack(library { $0.booksRule = .cascadeDeleteRule })
    try stack.run { context in
      let tag = context.insert("Tag")
      context.insert("Book", ["author": context.insert("Author"), "tags": Set([tag])])
      try context.save()
      try context.execute(
        NSBatchDeleteRequest(fetchRequest: NSFetchRequest<NSFetchRequestResult>(entityName: "Author")))
      context.reset()
      #expect(try context.all("Book").isEmpty)
      #expect(try context.all("Tag").first?.objects("books").isEmpty == true)
    }
  }

  @Test("mergeChanges(fromRemoteContextSave:) takes deleted rows out of a context")
  func merging() throws {
    try stack.run { context in
      let books = try context.all("Book")
      let request = NSBatchDeleteRequest(objectIDs: books.map(\.objectID))
      request.resultType = .resultTypeObjectIDs
      let result = try #require(try context.execute(request) as? NSBatchDeleteResult)
      NSManagedObjectContext.mergeChanges(
        fromRemoteContextSave: [NSDeletedObjectsKey: result.result as Any], into: [context])
      #expect(try context.all("Book").isEmpty)
      #expect(books.allSatisfy { $0.isDeleted || $0.managedObjectContext == nil })
    }
  }
}
