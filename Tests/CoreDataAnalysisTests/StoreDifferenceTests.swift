// OpenCoreData
// SPDX-License-Identifier: Apache-2.0

import CoreData
import CoreDataSQLite
import CoreDataTestSupport
import Foundation
import Testing

@testable import CoreDataAnalysis

@Suite("Differences between stores")
struct StoreDifferenceTests {
  /// Shelves with books, and books with tags.
  private static func model(_ change: (inout ModelBuilder) -> Void = { _ in }) -> NSManagedObjectModel {
    var builder = ModelBuilder()
    builder.entity("Shelf", [.make("name", .stringAttributeType)])
    builder.entity(
      "Book",
      [
        .make("title", .stringAttributeType), .make("pages", .integer32AttributeType),
        .make("price", .decimalAttributeType), .make("cover", .binaryDataAttributeType, external: true),
      ])
    builder.entity("Tag", [.make("word", .stringAttributeType)])
    builder.relate(.init("Shelf", "books", toMany: true, ordered: true), .init("Book", "shelf"))
    builder.relate(.init("Book", "tags", toMany: true), .init("Tag", "books", toMany: true))
    change(&builder)
    return builder.model()
  }

  /// Fills a store; books go in in the given order, so that their keys differ.
  private static func fill(
    _ store: TemporaryStore, _ model: NSManagedObjectModel = Self.model(), order: [Int],
    _ change: (NSManagedObjectContext) throws -> Void = { _ in }
  )
    throws
  {
    let context = try store.context(model)
    let shelves = [context.make("Shelf", ["name": "a"]), context.make("Shelf", ["name": "b"])]
    let tag = context.make("Tag", ["word": "red"])
    for number in order {
      context.make(
        "Book",
        [
          "title": "t\(number)", "pages": number, "price": NSDecimalNumber(string: "1.5"),
          "shelf": shelves[number % 2], "tags": NSSet(array: number < 3 ? [tag] : []),
          "cover": Data(repeating: UInt8(number), count: 150_000),
        ])
      // Keys are given in the order of saves.
      try context.save()
    }
    try change(context)
    try context.save()
    try store.close()
  }

  private func difference(
    _ one: TemporaryStore, _ other: TemporaryStore, _ matching: StoreDifference.Matching? = nil, limit: Int = 20
  ) throws -> StoreDifference {
    try StoreDifference(
      from: StoreReader(url: one.url), to: StoreReader(url: other.url), matching: matching, limit: limit
    ) { throw $0 }
  }

  @Test("A copy has none, by keys and by values")
  func equal() throws {
    let (one, other) = (try TemporaryStore(), try TemporaryStore())
    try Self.fill(one, order: [1, 2, 3, 4])
    try FileManager.default.removeItem(at: other.folder)
    try FileManager.default.copyItem(at: one.folder, to: other.folder)
    let found = try difference(one, other)
    #expect(found.matching == .key && found.isEqual)
    #expect(found.entities.map(\.title) == ["Book", "Shelf", "Tag"])
    #expect(found.entities.map(\.same) == [4, 2, 1])
    #expect(try difference(one, other, .values).isEqual)
  }

  @Test("Stores with other keys are equal by values, whatever relates to what")
  func values() throws {
    let (one, other) = (try TemporaryStore(), try TemporaryStore())
    try Self.fill(one, order: [1, 2, 3, 4])
    try Self.fill(other, order: [1, 4, 3, 2]) { context in
      // The order of the members is that of the other store.
      for shelf in try context.all("Shelf") {
        let books = try #require(shelf.value(forKey: "books") as? NSOrderedSet)
        let sorted = books.array.sorted {
          (($0 as? NSManagedObject)?.value(forKey: "pages") as? Int ?? 0)
            < (($1 as? NSManagedObject)?.value(forKey: "pages") as? Int ?? 0)
        }
        shelf.setValue(NSOrderedSet(array: sorted), forKey: "books")
      }
    }
    let found = try difference(one, other)
    #expect(found.matching == .values && found.isEqual, "\(found.entities)")
    #expect(try !difference(one, other, .key).isEqual)

    let third = try TemporaryStore()
    try Self.fill(third, order: [1, 4, 3, 2]) { context in
      let book = try #require(try context.all("Book", by: "title").first)
      book.setValue(try context.all("Shelf").first { $0.value(forKey: "name") as? String == "a" }, forKey: "shelf")
    }
    let moved = try difference(one, third)
    #expect(moved.entities.first { $0.source == "Book" }?.onlyBefore == 1)
    #expect(moved.entities.first { $0.source == "Book" }?.onlyAfter == 1)
    #expect(moved.entities.first { $0.source == "Tag" }?.isEqual == true)
  }

  @Test("Another spelling of the same characters is a difference")
  func spelling() throws {
    let (one, other) = (try TemporaryStore(), try TemporaryStore())
    for (store, word) in [(one, "n\u{E4}he"), (other, "na\u{308}he")] {
      let context = try store.context(Self.model())
      context.make("Tag", ["word": word])
      try context.save()
      try store.close()
    }
    for matching in StoreDifference.Matching.allCases { #expect(try !difference(one, other, matching).isEqual) }
  }

  @Test("Objects with equal attributes differ by what is further away along their relationships")
  func chains() throws {
    let (one, other) = (try TemporaryStore(), try TemporaryStore())
    for (store, words) in [(one, ["red", "blue"]), (other, ["blue", "red"])] {
      let context = try store.context(Self.model())
      for (shelf, word) in zip(["a", "b"], words) {
        let tag = context.make("Tag", ["word": word])
        context.make(
          "Book", ["title": "same", "shelf": context.make("Shelf", ["name": shelf]), "tags": NSSet(array: [tag])])
      }
      try context.save()
      try store.close()
    }
    let found = try difference(one, other, .values)
    #expect(found.entities.map(\.onlyBefore) == [2, 2, 2] && found.entities.map(\.onlyAfter) == [2, 2, 2])
    #expect(try difference(one, one, .values).isEqual)
  }

  @Test("The order in which members of an unordered relationship were made is no difference")
  func unordered() throws {
    let (one, other) = (try TemporaryStore(), try TemporaryStore())
    for (store, words) in [(one, ["blue", "red"]), (other, ["red", "blue"])] {
      let context = try store.context(Self.model())
      var tags: [NSManagedObject] = []
      for word in words {
        tags.append(context.make("Tag", ["word": word]))
        try context.save()
      }
      context.make("Book", ["title": "t", "tags": NSSet(array: tags)])
      try context.save()
      try store.close()
    }
    let found = try difference(one, other, .values)
    #expect(found.isEqual, "\(found.entities)")
    #expect(found.entities.map(\.same) == [1, 0, 2])
  }

  @Test("Each kind of change is told with its values")
  func changes() throws {
    let (one, other) = (try TemporaryStore(), try TemporaryStore())
    try Self.fill(one, order: [1, 2, 3, 4])
    try FileManager.default.removeItem(at: other.folder)
    try FileManager.default.copyItem(at: one.folder, to: other.folder)
    let context = try other.context(Self.model())
    let books = try context.all("Book", by: "title")
    books[0].setValue("new", forKey: "title")
    books[0].setValue(nil, forKey: "price")
    books[1].setValue(Data(repeating: 9, count: 150_000), forKey: "cover")
    books[2].setValue(NSSet(array: try context.all("Tag", by: "word")), forKey: "tags")
    context.delete(books[3])
    context.make("Book", ["title": "t5"])
    try context.save()
    try other.close()
    let found = try difference(one, other)
    let book = try #require(found.entities.first { $0.source == "Book" })
    #expect(book.same == 0 && book.changed == 3 && book.onlyBefore == 1 && book.onlyAfter == 1)
    #expect(book.rowsBefore == 4 && book.rowsAfter == 4)
    let names = book.examples.compactMap { example -> [String]? in
      if case .changed(_, let values) = example { return values.map(\.property).sorted() }
      return nil
    }
    #expect(names == [["price", "title"], ["cover"], ["tags"]])
    guard case .changed(1, let values) = book.examples[0], let price = values.first(where: { $0.property == "price" })
    else {
      Issue.record("\(book.examples)")
      return
    }
    #expect(price.before == ExportedValue.decimal("1.5"))
    #expect(price.after == ExportedValue.null)
    #expect(found.entities.first { $0.source == "Tag" }?.changed == 1)
    #expect(try difference(one, other, limit: 1).entities.map(\.examples.count) == [1, 1, 1])
  }

  @Test("After a migration, properties are matched by renaming identifiers, and numbers by their value")
  func versions() throws {
    let (one, other) = (try TemporaryStore(), try TemporaryStore())
    try Self.fill(one, order: [1, 2, 3])
    try FileManager.default.removeItem(at: other.folder)
    try FileManager.default.copyItem(at: one.folder, to: other.folder)
    var builder = ModelBuilder()
    builder.entity("Shelf", [.make("name", .stringAttributeType)])
    builder.entity(
      "Volume", renamedFrom: "Book",
      [
        .make("heading", .stringAttributeType), .make("pages", .doubleAttributeType),
        .make("price", .decimalAttributeType), .make("cover", .binaryDataAttributeType, external: true),
        .make("note", .stringAttributeType),
      ])
    builder.entity("Tag", [.make("word", .stringAttributeType)])
    builder.entity("Note", [.make("text", .stringAttributeType)])
    builder.relate(.init("Shelf", "books", toMany: true, ordered: true), .init("Volume", "shelf"))
    builder.relate(.init("Volume", "tags", toMany: true), .init("Tag", "books", toMany: true))
    let model = builder.model()
    model.entitiesByName["Volume"]?.attributesByName["heading"]?.renamingIdentifier = "title"
    _ = try other.context(
      model,
      options: [NSMigratePersistentStoresAutomaticallyOption: true, NSInferMappingModelAutomaticallyOption: true])
    try other.close()
    let found = try difference(one, other)
    #expect(found.isEqual)
    #expect(found.entities.map(\.title) == ["Note", "Shelf", "Tag", "Book -> Volume"])
    let volume = found.entities[3]
    #expect(volume.same == 3 && volume.changed == 0)
    #expect(volume.removedProperties == [] && volume.addedProperties == ["note"])
    let note = found.entities[0]
    #expect(note.source == nil && note.isEqual)
    #expect(try difference(one, other, .values).entities[3].same == 3)

    let back = try difference(other, one)
    #expect(back.isEqual && back.entities.map(\.title) == ["Volume -> Book", "Shelf", "Tag", "Note"])
    #expect(back.entities[0].removedProperties == ["note"] && back.entities[3].destination == nil)
  }

  @Test("What has a renaming identifier that nothing matches is compared by its name")
  func strayIdentifiers() throws {
    let (one, other) = (try TemporaryStore(), try TemporaryStore())
    let model = Self.model()
    let book = try #require(model.entitiesByName["Book"])
    book.renamingIdentifier = "Pamphlet"
    book.attributesByName["title"]?.renamingIdentifier = "heading"
    try Self.fill(one, order: [1, 2, 3])
    try Self.fill(other, model, order: [1, 2, 3])
    for (before, after) in [(one, other), (other, one)] {
      let found = try difference(before, after)
      #expect(found.isEqual && found.entities.map(\.title) == ["Book", "Shelf", "Tag"])
      #expect(found.entities[0].same == 3 && found.entities[0].addedProperties == [])
    }
  }

  @Test(
    "Every store of the fixtures equals itself, and its copy", .enabled(if: Fixtures.isPresent, "No fixtures here"))
  func fixtures() throws {
    var rows = 0
    for url in Fixtures.stores {
      let temporary = try Fixtures.copy(ofStore: url)
      let copy = temporary.url
      for matching in StoreDifference.Matching.allCases {
        let found = try StoreDifference(
          from: StoreReader(url: url), to: StoreReader(url: copy), matching: matching
        ) { _ in }
        #expect(found.isEqual, "\(Fixtures.name(of: url)) by \(matching)")
        rows += found.entities.map(\.same).reduce(0, +)
      }
    }
    #expect(rows > 8000)
  }
}
