// OpenCoreData
// SPDX-License-Identifier: Apache-2.0

import CoreData
import Testing

@Suite("Parent contexts")
struct ParentContextTests {
  /// A stack with a saved book, and a child of its context.
  private func family() throws -> (Stack, NSManagedObjectContext) {
    let stack = try Stack(library())
    try stack.run { context in
      context.insert("Book", ["title": "a"])
      try context.save()
    }
    let child = NSManagedObjectContext(concurrencyType: .privateQueueConcurrencyType)
    child.parent = stack.context
    return (stack, child)
  }

  private func storedTitles(_ stack: Stack) throws -> [String] {
    let other = stack.newContext()
    return try other.performAndWait { try other.texts("title", of: "Book") }
  }

  @Test("A child has its parent's coordinator")
  func coordinator() throws {
    let (stack, child) = try family()
    #expect(child.persistentStoreCoordinator === stack.coordinator)
    #expect(child.parent === stack.context)
  }

  @Test("A child's save goes to its parent and not to the store")
  func saving() throws {
    let (stack, child) = try family()
    try child.performAndWait {
      try child.all("Book").first?.setValue("b", forKey: "title")
      try child.save()
    }
    #expect(try storedTitles(stack) == ["a"])
    try stack.run { context in
      #expect(context.hasChanges)
      #expect(try context.texts("title", of: "Book") == ["b"])
      try context.save()
    }
    #expect(try storedTitles(stack) == ["b"])
  }

  @Test("A child sees what its parent has not saved yet")
  func unsavedChanges() throws {
    let (stack, child) = try family()
    stack.run { context in
      context.insert("Book", ["title": "new"])
      context.processPendingChanges()
    }
    #expect(try child.performAndWait { try child.texts("title", of: "Book") } == ["a", "new"])
  }

  @Test("A parent sees nothing of what its child has not saved")
  func childsChanges() throws {
    let (stack, child) = try family()
    try child.performAndWait {
      child.insert("Book", ["title": "new"])
      try child.all("Book", where: predicate("title == %@", "a")).first?.setValue("b", forKey: "title")
    }
    #expect(try stack.run { try $0.texts("title", of: "Book") } == ["a"])
    #expect(!stack.run { $0.hasChanges })
  }

  @Test("A child's new object has the same temporary identifier in the parent")
  func identifiers() throws {
    let (stack, child) = try family()
    let identifier = try child.performAndWait {
      let book = child.insert("Book", ["title": "new"])
      try child.save()
      return book.objectID
    }
    try stack.run { context in
      let book = try #require(context.insertedObjects.first)
      #expect(book.objectID.isTemporaryID)
      #expect(book.objectID == identifier)
    }
  }

  @Test("A deletion in a child is one in the parent after the child's save")
  func deletion() throws {
    let (stack, child) = try family()
    try child.performAndWait {
      for book in try child.all("Book") { child.delete(book) }
      try child.save()
    }
    #expect(stack.run { $0.deletedObjects.count } == 1)
    try stack.run { try $0.save() }
    #expect(try storedTitles(stack) == [])
  }

  @Test("A child that rolls back leaves its parent as it was")
  func rollback() throws {
    let (stack, child) = try family()
    try child.performAndWait {
      child.insert("Book")
      child.rollback()
      try child.save()
    }
    #expect(!stack.run { $0.hasChanges })
  }
}
