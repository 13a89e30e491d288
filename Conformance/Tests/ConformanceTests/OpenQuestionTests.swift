// OpenCoreData
// SPDX-License-Identifier: Apache-2.0

import CoreData
import Testing

/// Rules that no documentation and no known file decides. OpenCoreData follows each as it is written here; what Apple's
/// framework does is not known, and a failure on a Mac is an answer.
@Suite("Open questions")
struct OpenQuestionTests {
  private func hash(_ change: (NSEntityDescription) -> Void) throws -> Data {
    let item = entity("Item", [attribute("a"), attribute("b"), attribute("image", .binaryDataAttributeType)])
    let result = model(item)
    change(item)
    return try #require(result.entityVersionHashesByName["Item"])
  }

  @Test("The order of two uniqueness constraints is no part of the hash")
  func constraints() throws {
    #expect(
      try hash { $0.uniquenessConstraints = [["a"], ["b"]] } == hash { $0.uniquenessConstraints = [["b"], ["a"]] })
  }

  @Test("External storage and keeping a value in history have one mark in the hash")
  func flags() throws {
    let one = try hash { $0.attributesByName["image"]?.allowsExternalBinaryDataStorage = true }
    let other = try hash { $0.attributesByName["image"]?.preservesValueInHistoryOnDeletion = true }
    let both = try hash {
      $0.attributesByName["image"]?.allowsExternalBinaryDataStorage = true
      $0.attributesByName["image"]?.preservesValueInHistoryOnDeletion = true
    }
    #expect(one == other)
    #expect(one == both)
  }

  @Test("Encryption in the cloud is no part of the hash")
  func encryption() throws {
    #expect(try hash { _ in } == hash { $0.attributesByName["a"]?.allowsCloudEncryption = true })
  }

  @Test("A name that is not ASCII is in the hash as UTF-8, so that its two forms are two names")
  func unicode() throws {
    #expect(
      try hash { $0.attributesByName["a"]?.name = "\u{e9}" } != hash { $0.attributesByName["a"]?.name = "e\u{301}" })
  }

  @Test("The elements of a composite attribute have no order in the hash")
  func composite() throws {
    func place(_ names: [String]) -> NSCompositeAttributeDescription {
      let result = NSCompositeAttributeDescription()
      result.name = "place"
      result.elements = names.map { attribute($0) }
      return result
    }
    let one = place(["x", "y"])
    let other = place(["y", "x"])
    #expect(try hash { $0.properties.append(one) } == hash { $0.properties.append(other) })
  }

  @Test("A store whose model is only in the store itself is migrated by opening it")
  func modelCache() throws {
    #expect(throws: Never.self) {
      try MigrationWay.opening.migrate(
        model(entity("Note", [attribute("text")])), to: model(entity("Note", [attribute("text"), attribute("more")]))
      ) { $0.insert("Note") }
    }
  }

  @Test("ALL over no members holds, in a fetch as in memory")
  func allOverNone() throws {
    let stack = try Stack(library())
    try stack.run { context in
      let author = context.insert("Author")
      try context.save()
      let condition = predicate("ALL books.pages > 5")
      #expect(condition.evaluate(with: author))
      #expect(try context.all("Author", where: condition).count == 1)
    }
  }

  @Test("The sum over no members is 0, in a fetch as in memory")
  func aggregatesOverNone() throws {
    let stack = try Stack(library())
    try stack.run { context in
      let author = context.insert("Author")
      try context.save()
      #expect(predicate("books.@sum.pages == 0").evaluate(with: author))
      #expect(try context.all("Author", where: predicate("books.@sum.pages == 0")).count == 1)
    }
  }

  @Test("A child's unsaved change stays when its parent changes the same object")
  func parentChange() throws {
    let stack = try Stack(library())
    let child = NSManagedObjectContext(concurrencyType: .privateQueueConcurrencyType)
    child.parent = stack.context
    let identifier = try stack.run { context in
      let book = context.insert("Book", ["title": "a", "pages": 1])
      try context.save()
      return book.objectID
    }
    child.performAndWait { child.object(with: identifier).setValue("of the child", forKey: "title") }
    stack.run { $0.object(with: identifier).setValue(2, forKey: "pages") }
    try child.performAndWait { try child.save() }
    stack.run { context in
      let book = context.object(with: identifier)
      #expect(book.text("title") == "of the child")
      #expect(book.number("pages") == 2)
    }
  }
}
