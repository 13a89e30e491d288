// OpenCoreData
// SPDX-License-Identifier: Apache-2.0

import CoreData
import Testing

@Suite("Validation")
struct ValidationTests {
  /// A stack whose entity `Item` has one attribute with these rules.
  private func stack(
    _ type: NSAttributeType, optional: Bool = true, _ rules: [String] = []
  ) throws -> Stack {
    let value = attribute("value", type, optional: optional)
    value.setValidationPredicates(
      rules.map { NSPredicate(format: $0, argumentArray: []) },
      withValidationWarnings: rules.map { "not \($0)" })
    return try Stack(model(entity("Item", [value])), type: NSInMemoryStoreType)
  }

  @Test("A required attribute without a value is error 1570, with the object and the key")
  func missing() throws {
    let stack = try stack(.stringAttributeType, optional: false)
    try stack.run { context in
      let item = context.insert("Item")
      let failure = try thrown { try context.save() }
      #expect(failure.domain == NSCocoaErrorDomain)
      #expect(failure.code == NSValidationMissingMandatoryPropertyError)
      #expect(failure.userInfo[NSValidationObjectErrorKey] as? NSManagedObject === item)
      #expect(failure.userInfo[NSValidationKeyErrorKey] as? String == "value")
    }
  }

  @Test("A required relationship without an object is error 1570 with its name")
  func missingRelationship() throws {
    let book = entity("Book")
    let author = entity("Author")
    let to = relationship("author", optional: false)
    to.minCount = 1
    connect(book, to, author, relationship("books", toMany: true))
    let stack = try Stack(model(book, author), type: NSInMemoryStoreType)
    stack.run { context in
      context.insert("Book")
      let failure = error { try context.save() }
      #expect(failure?.code == NSValidationMissingMandatoryPropertyError)
      #expect(failure?.userInfo[NSValidationKeyErrorKey] as? String == "author")
    }
  }

  @Test("An unmet predicate with a text as its warning is error 1550, with the value and the predicate")
  func predicate() throws {
    let value = attribute("value", .integer32AttributeType)
    let rule = NSPredicate(format: "SELF > 3", argumentArray: [])
    value.setValidationPredicates([rule], withValidationWarnings: ["too small"])
    let stack = try Stack(model(entity("Item", [value])), type: NSInMemoryStoreType)
    try stack.run { context in
      context.insert("Item", ["value": 2])
      let failure = try thrown { try context.save() }
      #expect(failure.code == NSManagedObjectValidationError)
      #expect(failure.userInfo[NSValidationValueErrorKey] as? Int == 2)
      #expect((failure.userInfo[NSValidationPredicateErrorKey] as? NSPredicate) == rule)
    }
  }

  @Test("A met predicate lets the object be saved")
  func met() throws {
    let stack = try stack(.integer32AttributeType, ["SELF > 3"])
    #expect(throws: Never.self) {
      try stack.run { context in
        context.insert("Item", ["value": 4])
        try context.save()
      }
    }
  }

  @Test("No value breaks no predicate of an optional attribute")
  func noValue() throws {
    let stack = try stack(.stringAttributeType, ["length >= 2"])
    #expect(throws: Never.self) {
      try stack.run { context in
        context.insert("Item")
        try context.save()
      }
    }
  }

  @Test("Two unmet rules are error 1560, and the details hold both")
  func several() throws {
    let first = attribute("first", optional: false)
    let second = attribute("second", optional: false)
    let stack = try Stack(model(entity("Item", [first, second])), type: NSInMemoryStoreType)
    try stack.run { context in
      context.insert("Item")
      let failure = try thrown { try context.save() }
      #expect(failure.code == NSValidationMultipleErrorsError)
      let details = try #require(failure.userInfo[NSDetailedErrorsKey] as? [NSError])
      #expect(details.map(\.code) == [1570, 1570])
      #expect(Set(details.map { $0.userInfo[NSValidationKeyErrorKey] as? String }) == ["first", "second"])
    }
  }

  @Test("Too few and too many objects of a to-many relationship are errors 1580 and 1590", arguments: [1, 4])
  func counts(members: Int) throws {
    let team = entity("Team")
    let player = entity("Player")
    let players = relationship("players", toMany: true)
    players.minCount = 2
    players.maxCount = 3
    connect(team, players, player, relationship("team"))
    let stack = try Stack(model(team, player), type: NSInMemoryStoreType)
    stack.run { context in
      let all = (0..<members).map { _ in context.insert("Player") }
      context.insert("Team", ["players": Set(all)])
      let failure = error { try context.save() }
      let expected =
        members == 1
        ? NSValidationRelationshipLacksMinimumCountError : NSValidationRelationshipExceedsMaximumCountError
      #expect(failure?.code == expected)
      #expect(failure?.userInfo[NSValidationKeyErrorKey] as? String == "players")
    }
  }

  @Test("A to-many relationship that is not optional may be empty unless it has a minimum")
  func emptyToMany() throws {
    let team = entity("Team")
    let player = entity("Player")
    let players = relationship("players", toMany: true)
    players.isOptional = false
    connect(team, players, player, relationship("team"))
    let stack = try Stack(model(team, player), type: NSInMemoryStoreType)
    try stack.run { context in
      context.insert("Team")
      try context.save()
    }
  }

  @Test("Deleting an object whose relationship denies it is error 1600")
  func denied() throws {
    let stack = try Stack(library { $0.booksRule = .denyDeleteRule }, type: NSInMemoryStoreType)
    try stack.run { context in
      let author = context.insert("Author")
      context.insert("Book", ["author": author])
      try context.save()
      context.delete(author)
      let failure = error { try context.save() }
      #expect(failure?.code == NSValidationRelationshipDeniedDeleteError)
      #expect(failure?.userInfo[NSValidationKeyErrorKey] as? String == "books")
    }
  }

  @Test("A failed validation saves nothing of the context")
  func nothingSaved() throws {
    let stack = try stack(.stringAttributeType, optional: false)
    stack.run { context in
      context.insert("Item", ["value": "good"])
      context.insert("Item")
      let failure = error { try context.save() }
      #expect(failure != nil)
      #expect(context.hasChanges)
    }
    let other = stack.newContext()
    #expect(try other.performAndWait { try other.all("Item").count } == 0)
  }

  @Test("validateForInsert of a class is called by a save, and its error is that of the save")
  func ownValidation() throws {
    let item = entity("Item", [attribute("value")])
    item.managedObjectClassName = NSStringFromClass(RefusingItem.self)
    let stack = try Stack(model(item), type: NSInMemoryStoreType)
    stack.run { context in
      context.insert("Item")
      let failure = error { try context.save() }
      #expect(failure?.domain == "Conformance")
      #expect(failure?.code == 5)
    }
  }

  @Test("validateForUpdate and validateForDelete throw for the rules of their moment only")
  func moments() throws {
    let stack = try stack(.stringAttributeType, optional: false)
    try stack.run { context in
      let item = context.insert("Item", ["value": "x"])
      try context.save()
      item.setValue(nil, forKey: "value")
      let failure = error { try item.validateForUpdate() }
      #expect(failure?.code == NSValidationMissingMandatoryPropertyError)
      #expect(throws: Never.self) { try item.validateForDelete() }
    }
  }
}

/// Can never be inserted.
class RefusingItem: NSManagedObject {
  override func validateForInsert() throws {
    try super.validateForInsert()
    throw NSError(domain: "Conformance", code: 5)
  }
}
