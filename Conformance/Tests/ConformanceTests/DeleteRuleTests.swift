// OpenCoreData
// SPDX-License-Identifier: Apache-2.0

import CoreData
import Testing

@Suite("Delete rules")
struct DeleteRuleTests {
  /// Deletes an author with two books and saves; what is left is given to `check`.
  private func deleteAuthor(
    _ rule: NSDeleteRule, _ check: (NSManagedObjectContext, [NSManagedObject]) throws -> Void
  ) throws {
    let stack = try Stack(library { $0.booksRule = rule })
    try stack.run { context in
      let author = context.insert("Author")
      let books = (0..<2).map { _ in context.insert("Book", ["author": author]) }
      try context.save()
      context.delete(author)
      try context.save()
      try check(context, books)
    }
  }

  @Test("Nullify leaves the other objects without the deleted one")
  func nullify() throws {
    try deleteAuthor(.nullifyDeleteRule) { context, books throws in
      #expect(try context.all("Author").isEmpty)
      #expect(try context.all("Book").count == 2)
      #expect(books.allSatisfy { $0.object("author") == nil })
    }
  }

  @Test("Cascade deletes the other objects too")
  func cascade() throws {
    try deleteAuthor(.cascadeDeleteRule) { context, books throws in
      #expect(try context.all("Book").isEmpty)
      #expect(books.allSatisfy { $0.managedObjectContext == nil || $0.isDeleted })
    }
  }

  @Test("Deny lets an object without others go")
  func denyWithout() throws {
    let stack = try Stack(library { $0.booksRule = .denyDeleteRule })
    try stack.run { context in
      let author = context.insert("Author")
      try context.save()
      context.delete(author)
      try context.save()
      #expect(try context.all("Author").isEmpty)
    }
  }

  @Test("A cascade goes through several entities, and leaves what a nullify rule leads to")
  func chain() throws {
    let folder = entity("Folder")
    let file = entity("File")
    let label = entity("Label")
    connect(
      folder, relationship("folders", toMany: true, rule: .cascadeDeleteRule), folder, relationship("parent"))
    connect(folder, relationship("files", toMany: true, rule: .cascadeDeleteRule), file, relationship("folder"))
    connect(file, relationship("labels", toMany: true), label, relationship("files", toMany: true))
    let stack = try Stack(model(folder, file, label))
    try stack.run { context in
      let top = context.insert("Folder")
      let inner = context.insert("Folder", ["parent": top])
      context.insert("File", ["folder": inner, "labels": Set([context.insert("Label")])])
      try context.save()
      context.delete(top)
      try context.save()
      #expect(try context.all("Folder").isEmpty)
      #expect(try context.all("File").isEmpty)
      #expect(try context.all("Label").count == 1)
    }
  }

  @Test("A deletion is seen by another context after it was saved, and not before")
  func otherContext() throws {
    let stack = try Stack(library())
    try stack.run { context in
      let author = context.insert("Author")
      try context.save()
      context.delete(author)
      let other = stack.newContext()
      #expect(try other.performAndWait { try other.all("Author").count } == 1)
      try context.save()
      #expect(try other.performAndWait { try other.all("Author").count } == 0)
    }
  }

  @Test("A deletion before the first save leaves nothing to save")
  func unsaved() throws {
    let stack = try Stack(library())
    try stack.run { context in
      context.delete(context.insert("Author"))
      try context.save()
      #expect(try context.all("Author").isEmpty)
    }
  }
}
