// OpenCoreData
// SPDX-License-Identifier: Apache-2.0

import CoreData
import Testing

@Suite("Ordered relationships")
struct OrderedRelationshipTests {
  /// An author with the books a, b and c in this order.
  private func shelf() throws -> (Stack, NSManagedObjectID) {
    let stack = try Stack(library { $0.ordered = true })
    let identifier = try stack.run { context in
      let author = context.insert("Author")
      let books = ["a", "b", "c"].map { context.insert("Book", ["title": $0]) }
      author.setValue(NSOrderedSet(array: books), forKey: "books")
      try context.save()
      context.reset()
      return author.objectID
    }
    return (stack, identifier)
  }

  private func titles(_ author: NSManagedObject) -> [String?] {
    (author.value(forKey: "books") as? NSOrderedSet)?.map { ($0 as? NSManagedObject)?.text("title") } ?? []
  }

  @Test("The order that was saved is the order that is read")
  func order() throws {
    let (stack, identifier) = try shelf()
    #expect(stack.run { titles($0.object(with: identifier)) } == ["a", "b", "c"])
  }

  @Test("Moving, inserting and removing through the live set changes the order that is saved")
  func mutation() throws {
    let (stack, identifier) = try shelf()
    try stack.run { context in
      let author = context.object(with: identifier)
      let books = author.mutableOrderedSetValue(forKey: "books")
      books.moveObjects(at: IndexSet(integer: 2), to: 0)
      #expect(titles(author) == ["c", "a", "b"])
      books.insert(context.insert("Book", ["title": "d"]), at: 1)
      books.removeObject(at: 2)
      try context.save()
      context.reset()
      #expect(titles(context.object(with: identifier)) == ["c", "d", "b"])
    }
  }

  @Test("An object added by its to-one side comes last")
  func fromOtherSide() throws {
    let (stack, identifier) = try shelf()
    try stack.run { context in
      context.insert("Book", ["title": "d", "author": context.object(with: identifier)])
      try context.save()
      #expect(titles(context.object(with: identifier)) == ["a", "b", "c", "d"])
    }
  }

  @Test("A deleted object leaves the order of the others")
  func deletion() throws {
    let (stack, identifier) = try shelf()
    try stack.run { context in
      try context.all("Book", where: predicate("title == 'b'")).forEach(context.delete)
      try context.save()
      context.reset()
      #expect(titles(context.object(with: identifier)) == ["a", "c"])
    }
  }

  @Test("An ordered many-to-many relationship has an order on each ordered side")
  func manyToMany() throws {
    let list = entity("List", [attribute("name")])
    let song = entity("Song", [attribute("name")])
    connect(
      list, relationship("songs", toMany: true, ordered: true), song, relationship("lists", toMany: true))
    let stack = try Stack(model(list, song))
    try stack.run { context in
      let songs = ["x", "y", "z"].map { context.insert("Song", ["name": $0]) }
      context.insert("List", ["name": "1", "songs": NSOrderedSet(array: [songs[2], songs[0]])])
      context.insert("List", ["name": "2", "songs": NSOrderedSet(array: [songs[0], songs[1], songs[2]])])
      try context.save()
      context.reset()
      let orders = try context.all("List", by: "name").map { list in
        (list.value(forKey: "songs") as? NSOrderedSet)?.map { ($0 as? NSManagedObject)?.text("name") ?? "" }
      }
      #expect(orders == [["z", "x"], ["x", "y", "z"]])
    }
  }

  @Test("An unordered relationship's live set adds and removes members")
  func liveSet() throws {
    let stack = try Stack(library())
    stack.run { context in
      let author = context.insert("Author")
      let book = context.insert("Book")
      let books = author.mutableSetValue(forKey: "books")
      books.add(book)
      #expect(book.object("author") === author)
      books.remove(book)
      #expect(book.object("author") == nil)
      #expect(books.count == 0)
    }
  }
}
