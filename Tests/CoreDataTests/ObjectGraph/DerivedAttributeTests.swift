// OpenCoreData
// SPDX-License-Identifier: Apache-2.0

import CoreDataSQLite
import CoreDataTestSupport
import Foundation
import Testing

@testable import CoreData

@Suite("Derived attributes")
struct DerivedAttributeTests {
  static func model() -> NSManagedObjectModel {
    var builder = ModelBuilder()
    builder.entity("Publisher", [.make("name", .stringAttributeType)])
    builder.entity(
      "Author",
      [
        .make("name", .stringAttributeType), .derived("bookCount", .integer32AttributeType, "books.@count"),
        .derived("pages", .integer64AttributeType, "books.@sum.pages"),
        .derived("shortest", .integer64AttributeType, "books.@min.pages"),
        .derived("longest", .integer64AttributeType, "books.@max.pages"),
        .derived("key", .stringAttributeType, "canonical:(name)"),
        .derived("loud", .stringAttributeType, "uppercase:(name)"),
        .derived("quiet", .stringAttributeType, "lowercase:(name)"),
        .derived("saved", .dateAttributeType, "now()"),
      ])
    builder.entity(
      "Book",
      [
        .make("title", .stringAttributeType), .make("pages", .integer64AttributeType),
        .derived("authorName", .stringAttributeType, "author.name"),
        .derived("publisherName", .stringAttributeType, "author.publisher.name"),
      ])
    builder.entity("Novel", parent: "Book")
    builder.relate(.init("Author", "books", toMany: true), .init("Book", "author"))
    builder.relate(.init("Publisher", "authors", toMany: true), .init("Author", "publisher"))
    return builder.model()
  }

  @Test("Aggregates, functions and key paths are computed when objects are saved, and stored")
  func inserted() throws {
    let store = try TemporaryStore()
    let context = try store.context(Self.model())
    let ada = context.make("Author", ["name": "Ädá", "publisher": context.make("Publisher", ["name": "P"])])
    context.make("Book", ["pages": 100, "author": ada])
    let novel = context.make("Novel", ["pages": 50, "author": ada])
    try context.save()
    #expect(novel["authorName"] as? String == "Ädá")
    let read = try #require(try store.context(Self.model()).all("Author").first)
    #expect(read["bookCount"] as? Int == 2)
    #expect(read["pages"] as? Int == 150)
    #expect(read["shortest"] as? Int == 50)
    #expect(read["longest"] as? Int == 100)
    #expect(read["key"] as? String == "ada")
    #expect(read["loud"] as? String == "ÄDÁ")
    #expect(read["quiet"] as? String == "ädá")
    #expect(read["saved"] is Date)
    let books = try store.context(Self.model()).all("Book", by: "pages")
    #expect(books.map { $0["publisherName"] as? String } == ["P", "P"])
  }

  @Test("A change at the other end of a relationship updates what depends on it, in the same save")
  func dependents() throws {
    let store = try TemporaryStore()
    do {
      let context = try store.context(Self.model())
      let publisher = context.make("Publisher", ["name": "P"])
      let ada = context.make("Author", ["name": "Ada", "publisher": publisher])
      context.make("Author", ["name": "Bob"])
      for pages in [10, 20, 30] { context.make("Novel", ["pages": pages, "author": ada]) }
      try context.save()
    }
    func authors() throws -> [[Int?]] {
      try store.context(Self.model()).all("Author").map { [$0["bookCount"] as? Int, $0["pages"] as? Int] }
    }
    let context = try store.context(Self.model())
    #expect(try authors() == [[3, 60], [0, 0]])
    let publisher = try #require(try context.all("Publisher").first)
    publisher["name"] = "Q"
    let books = try context.all("Book", by: "pages")
    books[0]["pages"] = 15
    try context.save()
    #expect(try authors() == [[3, 65], [0, 0]])
    #expect(
      try store.context(Self.model()).all("Book", by: "pages").map { $0["publisherName"] as? String } == [
        "Q", "Q", "Q",
      ])
    books[1]["author"] = try context.all("Author")[1]
    try context.save()
    #expect(try authors() == [[2, 45], [1, 20]])
    context.delete(books[2])
    try context.save()
    #expect(try authors() == [[1, 15], [1, 20]])
    let names = try store.context(Self.model()).all("Book", by: "pages").map { $0["authorName"] as? String }
    #expect(names == ["Ada", "Bob"])
  }

  @Test("A value set by hand does not last, and now() moves with each save of the object only")
  func overridden() throws {
    let store = try TemporaryStore()
    let context = try store.context(Self.model())
    let ada = context.make("Author", ["name": "Ada"])
    let bob = context.make("Author", ["name": "Bob"])
    try context.save()
    let first = try #require(ada["saved"] as? Date)
    let second = try #require(bob["saved"] as? Date)
    ada["bookCount"] = 99
    ada["saved"] = Date.distantPast
    try context.save()
    #expect(ada["bookCount"] as? Int == 0)
    #expect(try #require(ada["saved"] as? Date) > first)
    #expect(bob["saved"] as? Date == second)
  }

  @Test("An expression that fails is an error of the save that names entity and attribute")
  func failing() throws {
    var builder = ModelBuilder()
    builder.entity(
      "Thing", [.make("name", .stringAttributeType), .derived("twice", .integer64AttributeType, "nothing.@count")])
    let context = try TemporaryStore().context(builder.model())
    context.make("Thing")
    let error = #expect(throws: NSError.self) { try context.save() }
    #expect(error?.code == NSCoreDataError)
    #expect(error?.localizedFailureReason?.contains("'twice' of 'Thing'") == true)
    #expect(context.hasChanges)
  }

  @Test("Rows can be written where triggers call the function of Apple's framework")
  func triggers() throws {
    let store = try TemporaryStore()
    let first = try store.context(Self.model())
    first.make("Author", ["name": "Ada"])
    try first.save()
    try store.close()
    let file = try SQLiteConnection(path: store.url.path, mode: .readWrite)
    for event in ["INSERT", "UPDATE", "DELETE"] {
      let row = event == "DELETE" ? "OLD" : "NEW"
      try file.run(
        "CREATE TRIGGER Z_DA_ZBOOK_Author_bookCount_\(event) AFTER \(event) ON ZBOOK FOR EACH ROW BEGIN "
          + "UPDATE ZAUTHOR SET ZBOOKCOUNT = (SELECT COUNT(*) FROM ZBOOK WHERE ZAUTHOR = \(row).ZAUTHOR) "
          + "WHERE Z_PK = \(row).ZAUTHOR; "
          + "SELECT NSCoreDataDATriggerUpdatedAffectedObjectValue('Author', 1, Z_PK, 'bookCount', ZBOOKCOUNT) "
          + "FROM ZAUTHOR WHERE Z_PK = \(row).ZAUTHOR; END")
    }
    try file.close()
    let context = try store.context(Self.model())
    let ada = try #require(try context.all("Author").first)
    let book = context.make("Book", ["author": ada, "pages": 7])
    try context.save()
    book["pages"] = 8
    try context.save()
    let other = context.make("Book", ["author": ada, "pages": 9])
    try context.save()
    context.delete(other)
    try context.save()
    let read = try #require(try store.context(Self.model()).all("Author").first)
    #expect(read["bookCount"] as? Int == 1)
    #expect(read["pages"] as? Int == 8)
  }
}

/// Every spelling of an aggregate, in the context and over the tables.
@Suite("Spellings of derived attributes")
struct DerivationSpellingTests {
  static let spellings = [
    ("count:(books)", 3), ("books.@count", 3), ("sum:(books.pages)", 25), ("books.@sum.pages", 25),
    ("books.pages.@sum", 25), ("max:(books.pages)", 15), ("books.pages.@min", 5), ("min:(books.pages)", 5),
  ]

  private static func model(_ format: String?) -> NSManagedObjectModel {
    var attributes = [NSAttributeDescription.make("name", .stringAttributeType)]
    if let format { attributes.append(.derived("value", .integer32AttributeType, format)) }
    var builder = ModelBuilder()
    builder.entity("Author", attributes)
    builder.entity("Book", [.make("pages", .integer32AttributeType)])
    builder.relate(.init("Author", "books", toMany: true), .init("Book", "author"))
    return builder.model()
  }

  private func fill(_ context: NSManagedObjectContext) throws {
    let ada = context.make("Author", ["name": "Ada"])
    // Two of them are equal.
    for pages in [5, 5, 15] { context.make("Book", ["pages": pages, "author": ada]) }
    try context.save()
  }

  @Test("A save computes each", arguments: spellings.indices)
  func saving(index: Int) throws {
    let (format, expected) = Self.spellings[index]
    let store = try TemporaryStore()
    let context = try store.context(Self.model(format))
    try fill(context)
    let ada = try #require(try context.all("Author").first)
    #expect(ada["value"] as? Int == expected, "\(format)")
    let book = try #require(try context.all("Book", by: "pages").last)
    book["pages"] = 16
    try context.save()
    let changed = format.contains("pages") && !format.contains("min") ? expected + 1 : expected
    #expect(ada["value"] as? Int == changed, "\(format)")
    try store.close()
    #expect(try store.context(Self.model(format)).all("Author").first?["value"] as? Int == changed, "\(format)")
  }

  @Test("A migration in place computes each", arguments: spellings.indices)
  func migrating(index: Int) throws {
    let (format, expected) = Self.spellings[index]
    let store = try TemporaryStore()
    try fill(try store.context(Self.model(nil)))
    try store.close()
    let options: [AnyHashable: Any] = [
      NSMigratePersistentStoresAutomaticallyOption: true, NSInferMappingModelAutomaticallyOption: true,
    ]
    let ada = try store.context(Self.model(format), options: options).all("Author").first
    #expect(ada?["value"] as? Int == expected, "\(format)")
  }
}
