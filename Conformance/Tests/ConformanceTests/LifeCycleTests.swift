// OpenCoreData
// SPDX-License-Identifier: Apache-2.0

import CoreData
import Testing

/// Records the calls of the framework.
class RecordingBook: NSManagedObject {
  /// The calls since the last test began; one context at a time uses this class.
  nonisolated(unsafe) static var log = Log()

  override func awakeFromInsert() {
    super.awakeFromInsert()
    setPrimitiveValue("untitled", forKey: "title")
    Self.log.add("awakeFromInsert")
  }

  override func awakeFromFetch() {
    super.awakeFromFetch()
    Self.log.add("awakeFromFetch")
  }

  override func willSave() {
    super.willSave()
    Self.log.add(isDeleted ? "willSave of a deleted one" : "willSave")
  }

  override func didSave() {
    super.didSave()
    Self.log.add("didSave")
  }

  override func prepareForDeletion() {
    super.prepareForDeletion()
    Self.log.add("prepareForDeletion")
  }

  override func willTurnIntoFault() {
    super.willTurnIntoFault()
    Self.log.add("willTurnIntoFault")
  }

  override func didTurnIntoFault() {
    super.didTurnIntoFault()
    Self.log.add("didTurnIntoFault")
  }

  override func validateForInsert() throws {
    try super.validateForInsert()
    Self.log.add("validateForInsert")
  }
}

@Suite("The life of an object", .serialized)
struct LifeCycleTests {
  /// A stack whose books record what they are called for, and the log.
  private func recording() throws -> (Stack, Log) {
    let stack = try Stack(library { $0.bookClass = RecordingBook.self })
    RecordingBook.log = Log()
    return (stack, RecordingBook.log)
  }

  @Test("An object is made by awakeFromInsert, and saved by willSave, validateForInsert and didSave")
  func inserting() throws {
    let (stack, log) = try recording()
    try stack.run { context in
      let book = context.insert("Book")
      #expect(book.text("title") == "untitled")
      #expect(book is RecordingBook)
      try context.save()
    }
    #expect(log.all == ["awakeFromInsert", "willSave", "validateForInsert", "didSave"])
  }

  @Test("What awakeFromInsert sets can be set otherwise by whoever inserts the object")
  func initialValue() throws {
    let (stack, _) = try recording()
    #expect(stack.run { $0.insert("Book", ["title": "own"]).text("title") } == "own")
  }

  @Test("A deletion calls prepareForDeletion at once, and willSave and didSave in the save")
  func deleting() throws {
    let (stack, log) = try recording()
    try stack.run { context in
      let book = context.insert("Book")
      try context.save()
      let before = log.all.count
      context.delete(book)
      #expect(log.all.dropFirst(before) == ["prepareForDeletion"])
      try context.save()
      #expect(log.all.dropFirst(before).prefix(3) == ["prepareForDeletion", "willSave of a deleted one", "didSave"])
    }
  }

  @Test("Refreshing without merging calls willTurnIntoFault and didTurnIntoFault, and firing calls awakeFromFetch")
  func faulting() throws {
    let (stack, log) = try recording()
    try stack.run { context in
      let book = context.insert("Book")
      try context.save()
      let before = log.all.count
      context.refresh(book, mergeChanges: false)
      #expect(book.isFault)
      #expect(log.all.dropFirst(before) == ["willTurnIntoFault", "didTurnIntoFault"])
      _ = book.value(forKey: "title")
      #expect(!book.isFault)
      #expect(log.all.dropFirst(before) == ["willTurnIntoFault", "didTurnIntoFault", "awakeFromFetch"])
    }
  }
}
