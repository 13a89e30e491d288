// OpenCoreData
// SPDX-License-Identifier: Apache-2.0

import CoreData
import Testing

@Suite("Objects and faults")
struct FaultTests {
  private func stack() throws -> Stack {
    let stack = try Stack(library())
    try stack.run { context in
      context.insert("Book", ["title": "a", "pages": 10, "author": context.insert("Author", ["name": "Ann"])])
      try context.save()
      context.reset()
    }
    return stack
  }

  @Test("An object has a temporary identifier until it is saved, and a permanent one from then on")
  func identifiers() throws {
    let stack = try stack()
    try stack.run { context in
      let book = context.insert("Book")
      #expect(book.objectID.isTemporaryID)
      try context.save()
      #expect(!book.objectID.isTemporaryID)
      #expect(book.objectID.persistentStore === stack.store)
      #expect(book.objectID.entity.name == "Book")
    }
  }

  @Test("obtainPermanentIDs gives an object its identifier before it is saved")
  func permanent() throws {
    let stack = try stack()
    try stack.run { context in
      let book = context.insert("Book")
      try context.obtainPermanentIDs(for: [book])
      let identifier = book.objectID
      #expect(!identifier.isTemporaryID)
      try context.save()
      #expect(book.objectID == identifier)
    }
  }

  @Test("The URI of an identifier leads the coordinator to the identifier")
  func uri() throws {
    let stack = try stack()
    try stack.run { context in
      let book = try #require(try context.all("Book").first)
      let uri = book.objectID.uriRepresentation()
      #expect(uri.scheme == "x-coredata")
      #expect(stack.coordinator.managedObjectID(forURIRepresentation: uri) == book.objectID)
    }
  }

  @Test("A context has one object for a row, however it is found")
  func uniquing() throws {
    let stack = try stack()
    try stack.run { context in
      let fetched = try #require(try context.all("Book").first)
      #expect(try context.existingObject(with: fetched.objectID) === fetched)
      #expect(context.object(with: fetched.objectID) === fetched)
      #expect(context.registeredObject(for: fetched.objectID) === fetched)
      let author = try #require(fetched.object("author"))
      #expect(author.objects("books").first === fetched)
    }
  }

  @Test("object(with:) makes a fault without looking into the store, and existingObject throws where there is no row")
  func existing() throws {
    let stack = try stack()
    try stack.run { context in
      let book = try #require(try context.all("Book").first)
      let identifier = book.objectID
      context.delete(book)
      try context.save()
      let other = stack.newContext()
      other.performAndWait {
        #expect(other.object(with: identifier).isFault)
        let failure = error { _ = try other.existingObject(with: identifier) }
        #expect(failure?.domain == NSCocoaErrorDomain)
      }
    }
  }

  @Test("A fetch with returnsObjectsAsFaults gives faults, and one without gives objects with values")
  func faults() throws {
    let stack = try stack()
    try stack.run { context throws in
      let request = NSFetchRequest<NSManagedObject>(entityName: "Book")
      request.returnsObjectsAsFaults = false
      #expect(try context.fetch(request).first?.isFault == false)
      context.reset()
      request.returnsObjectsAsFaults = true
      #expect(try context.fetch(request).first?.isFault == true)
    }
  }

  @Test("An object without changes is no part of a save, and setting an equal value leaves none among the changes")
  func changes() throws {
    let stack = try stack()
    try stack.run { context in
      let book = try #require(try context.all("Book").first)
      #expect(!context.hasChanges)
      book.setValue("b", forKey: "title")
      #expect(context.hasChanges)
      #expect(book.hasPersistentChangedValues)
      #expect(book.changedValues().keys.sorted() == ["title"])
      #expect(book.committedValues(forKeys: ["title"])["title"] as? String == "a")
      #expect(context.updatedObjects == [book])
      try context.save()
      #expect(book.changedValues().isEmpty)
    }
  }

  @Test("refresh without merging drops the changes, and with merging keeps them")
  func refreshing() throws {
    let stack = try stack()
    try stack.run { context in
      let book = try #require(try context.all("Book").first)
      book.setValue("b", forKey: "title")
      context.refresh(book, mergeChanges: true)
      #expect(book.text("title") == "b")
      context.refresh(book, mergeChanges: false)
      #expect(book.text("title") == "a")
    }
  }

  @Test("rollback drops insertions, deletions and changes")
  func rollback() throws {
    let stack = try stack()
    try stack.run { context in
      let book = try #require(try context.all("Book").first)
      let author = try #require(try context.all("Author").first)
      book.setValue("b", forKey: "title")
      context.insert("Tag")
      context.delete(author)
      context.rollback()
      #expect(!context.hasChanges)
      #expect(book.text("title") == "a")
      #expect(!author.isDeleted)
      #expect(try context.all("Tag").isEmpty)
    }
  }

  @Test("reset leaves no object registered, and the next fetch makes new ones")
  func resetting() throws {
    let stack = try stack()
    try stack.run { context in
      let book = try #require(try context.all("Book").first)
      context.reset()
      #expect(context.registeredObjects.isEmpty)
      #expect(book.managedObjectContext == nil)
      #expect(try context.all("Book").first !== book)
    }
  }

  @Test("A row that another context changed is seen after refreshing, and not before")
  func staleness() throws {
    let stack = try stack()
    try stack.run { context in
      let book = try #require(try context.all("Book").first)
      #expect(book.text("title") == "a")
      let other = stack.newContext()
      try other.performAndWait {
        try other.all("Book").first?.setValue("b", forKey: "title")
        try other.save()
      }
      #expect(book.text("title") == "a")
      context.refreshAllObjects()
      #expect(book.text("title") == "b")
    }
  }

  @Test("The states of an object: inserted, updated, deleted")
  func states() throws {
    let stack = try stack()
    try stack.run { context in
      let tag = context.insert("Tag")
      #expect(tag.isInserted && !tag.isUpdated)
      try context.save()
      #expect(!tag.isInserted)
      tag.setValue("x", forKey: "name")
      #expect(tag.isUpdated)
      context.delete(tag)
      #expect(tag.isDeleted)
      #expect(context.deletedObjects == [tag])
    }
  }

  @Test("Setting one side of a relationship sets the other side")
  func inverses() throws {
    let stack = try stack()
    stack.run { context in
      let first = context.insert("Author")
      let second = context.insert("Author")
      let book = context.insert("Book", ["author": first])
      #expect(first.objects("books") == [book])
      book.setValue(second, forKey: "author")
      #expect(first.objects("books").isEmpty)
      #expect(second.objects("books") == [book])
      second.setValue(Set<NSManagedObject>(), forKey: "books")
      #expect(book.object("author") == nil)
    }
  }
}
