// OpenCoreData
// SPDX-License-Identifier: Apache-2.0

import CoreData
import Testing

@Suite("Conflicts and merge policies")
struct MergeTests {
  /// Two contexts have read one book; the second has changed title and pages in the store, and the first the title.
  private func conflict(
    _ policy: NSMergePolicy, _ check: (NSManagedObjectContext, NSManagedObject) throws -> Void
  ) throws {
    let stack = try Stack(library())
    try stack.run { context in
      context.mergePolicy = policy
      let book = context.insert("Book", ["title": "a", "pages": 1])
      try context.save()
      let other = stack.newContext()
      try other.performAndWait {
        let same = try #require(try other.all("Book").first)
        same.setValue("of the store", forKey: "title")
        same.setValue(2, forKey: "pages")
        try other.save()
      }
      book.setValue("of the object", forKey: "title")
      try check(context, book)
    }
  }

  /// Title and pages in the store.
  private func stored(_ context: NSManagedObjectContext) throws -> [String] {
    let other = NSManagedObjectContext(concurrencyType: .privateQueueConcurrencyType)
    other.persistentStoreCoordinator = context.persistentStoreCoordinator
    return try other.performAndWait {
      try other.all("Book").map { "\($0.text("title") ?? "") \($0.number("pages") ?? 0)" }
    }
  }

  @Test("A context has the policy that refuses conflicts at first")
  func initial() throws {
    let stack = try Stack(library())
    stack.run { #expect(($0.mergePolicy as? NSMergePolicy)?.mergeType == .errorMergePolicyType) }
  }

  @Test("With the policy error, a conflict is error 133020, and the store keeps its row")
  func refusing() throws {
    try conflict(.error) { context, book in
      let failure = try thrown { try context.save() }
      #expect(failure.domain == NSCocoaErrorDomain)
      #expect(failure.code == NSManagedObjectMergeError)
      let conflicts = try #require(failure.userInfo["conflictList"] as? [NSMergeConflict])
      #expect(conflicts.first?.sourceObject === book)
      #expect(conflicts.first?.objectSnapshot?["title"] as? String == "a")
      #expect(conflicts.first?.cachedSnapshot?["title"] as? String == "of the store")
      #expect(try stored(context) == ["of the store 2"])
    }
  }

  @Test("mergeByPropertyObjectTrump keeps the object's changes, and takes the store's other values")
  func objectTrump() throws {
    try conflict(.mergeByPropertyObjectTrump) { context, book in
      try context.save()
      #expect(try stored(context) == ["of the object 2"])
      #expect(book.number("pages") == 2)
    }
  }

  @Test("mergeByPropertyStoreTrump keeps the store's changes")
  func storeTrump() throws {
    try conflict(.mergeByPropertyStoreTrump) { context, book in
      try context.save()
      #expect(try stored(context) == ["of the store 2"])
      #expect(book.text("title") == "of the store")
    }
  }

  @Test("overwrite writes the object with all of its values")
  func overwrite() throws {
    try conflict(.overwrite) { context, book in
      try context.save()
      #expect(try stored(context) == ["of the object 1"])
    }
  }

  @Test("rollback drops the object's changes")
  func rollback() throws {
    try conflict(.rollback) { context, book in
      try context.save()
      #expect(try stored(context) == ["of the store 2"])
      #expect(book.text("title") == "of the store")
    }
  }

  @Test("Merging a save of another context brings its values, and leaves what is changed here")
  func mergingSaves() throws {
    let stack = try Stack(library())
    let log = Log()
    try stack.run { context in
      let book = context.insert("Book", ["title": "a", "pages": 1])
      try context.save()
      let other = stack.newContext()
      let saves = Notifications(.NSManagedObjectContextDidSave, of: other) { _ in log.add("saved") }
      try other.performAndWait {
        let same = try #require(try other.all("Book").first)
        same.setValue("b", forKey: "title")
        same.setValue(2, forKey: "pages")
        try other.save()
      }
      book.setValue("own", forKey: "title")
      context.mergeChanges(fromContextDidSave: try #require(saves.last))
      #expect(book.number("pages") == 2)
      #expect(book.text("title") == "own")
    }
    #expect(log.all == ["saved"])
  }

  @Test("With automaticallyMergesChangesFromParent, a save of another context comes without being merged by hand")
  func automatic() async throws {
    let stack = try Stack(library())
    let book = try stack.run { context in
      context.automaticallyMergesChangesFromParent = true
      let book = context.insert("Book", ["title": "a"])
      try context.save()
      return book
    }
    let other = stack.newContext()
    try other.performAndWait {
      try other.all("Book").first?.setValue("b", forKey: "title")
      try other.save()
    }
    // The merge is another block of the context's queue.
    for _ in 0..<500 where stack.run({ _ in book.text("title") }) != "b" {
      try await Task.sleep(nanoseconds: 10_000_000)
    }
    #expect(stack.run { _ in book.text("title") } == "b")
  }
}
