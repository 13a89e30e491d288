// OpenCoreData
// SPDX-License-Identifier: Apache-2.0

import CoreData
import Testing

@Suite("Undo")
struct UndoTests {
  /// A context with an undo manager whose groups the tests make.
  private func stack() throws -> (Stack, UndoManager) {
    let stack = try Stack(library { $0.booksRule = .cascadeDeleteRule })
    let manager = UndoManager()
    manager.groupsByEvent = false
    stack.run { $0.undoManager = manager }
    return (stack, manager)
  }

  /// Does work that is undone as one.
  private func group(
    _ manager: UndoManager, in context: NSManagedObjectContext, _ work: () throws -> Void
  ) rethrows {
    manager.beginUndoGrouping()
    try work()
    context.processPendingChanges()
    manager.endUndoGrouping()
  }

  @Test("A context has no undo manager on its own")
  func none() throws {
    #expect(try Stack(library()).run { $0.undoManager } == nil)
  }

  @Test("Undoing a change brings the old value back, and redoing it the new one")
  func change() throws {
    let (stack, manager) = try stack()
    stack.run { context in
      var book: NSManagedObject?
      group(manager, in: context) { book = context.insert("Book", ["title": "a"]) }
      group(manager, in: context) { book?.setValue("b", forKey: "title") }
      manager.undo()
      #expect(book?.text("title") == "a")
      manager.redo()
      #expect(book?.text("title") == "b")
    }
  }

  @Test("Undoing an insertion removes the object, and redoing it brings it back with its values")
  func insertion() throws {
    let (stack, manager) = try stack()
    try stack.run { context throws in
      group(manager, in: context) { context.insert("Book", ["title": "a"]) }
      manager.undo()
      #expect(try context.all("Book").isEmpty)
      manager.redo()
      #expect(try context.texts("title", of: "Book") == ["a"])
    }
  }

  @Test("Undoing a deletion brings the objects of a cascade back, with their relationships")
  func deletion() throws {
    let (stack, manager) = try stack()
    try stack.run { context in
      var author: NSManagedObject?
      group(manager, in: context) {
        author = context.insert("Author", ["name": "Ann"])
        for title in ["a", "b"] { context.insert("Book", ["title": title, "author": author as Any]) }
      }
      try context.save()
      group(manager, in: context) { author.map(context.delete) }
      #expect(try context.all("Book").isEmpty)
      manager.undo()
      #expect(try context.texts("title", of: "Book") == ["a", "b"])
      #expect(author?.objects("books").count == 2)
    }
  }

  @Test("undo() and redo() of the context are those of its manager")
  func context() throws {
    let (stack, manager) = try stack()
    stack.run { context in
      var book: NSManagedObject?
      group(manager, in: context) { book = context.insert("Book", ["title": "a"]) }
      group(manager, in: context) { book?.setValue("b", forKey: "title") }
      context.undo()
      #expect(book?.text("title") == "a")
      context.redo()
      #expect(book?.text("title") == "b")
    }
  }

  @Test("What was undone is saved as undone")
  func saving() throws {
    let (stack, manager) = try stack()
    try stack.run { context in
      var book: NSManagedObject?
      group(manager, in: context) { book = context.insert("Book", ["title": "a"]) }
      group(manager, in: context) { book?.setValue("b", forKey: "title") }
      manager.undo()
      try context.save()
    }
    let other = stack.newContext()
    #expect(try other.performAndWait { try other.texts("title", of: "Book") } == ["a"])
  }

  @Test("With undo registration disabled, changes cannot be undone")
  func disabled() throws {
    let (stack, manager) = try stack()
    stack.run { context in
      context.processPendingChanges()
      manager.disableUndoRegistration()
      context.insert("Book")
      context.processPendingChanges()
      manager.enableUndoRegistration()
      #expect(!manager.canUndo)
    }
  }
}
