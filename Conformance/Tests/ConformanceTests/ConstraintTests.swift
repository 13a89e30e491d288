// OpenCoreData
// SPDX-License-Identifier: Apache-2.0

import CoreData
import Testing

@Suite("Uniqueness constraints")
struct ConstraintTests {
  private func stack(_ constraint: [String] = ["code"]) throws -> Stack {
    let item = entity("Item", [attribute("code"), attribute("kind"), attribute("text")])
    item.uniquenessConstraints = [constraint]
    return try Stack(model(item))
  }

  /// A saved item, and another one with the same code that is not saved yet.
  private func duplicate(
    _ policy: NSMergePolicy, _ check: (NSManagedObjectContext) throws -> Void
  ) throws {
    let stack = try stack()
    try stack.run { context in
      context.insert("Item", ["code": "x", "text": "first"])
      try context.save()
      context.mergePolicy = policy
      context.insert("Item", ["code": "x", "text": "second"])
      try check(context)
    }
  }

  @Test("With the policy error, a second object is error 133021 with the conflicts")
  func refusing() throws {
    try duplicate(.error) { context in
      let failure = try thrown { try context.save() }
      #expect(failure.code == NSManagedObjectConstraintMergeError)
      let conflicts = try #require(failure.userInfo["conflictList"] as? [NSConstraintConflict])
      #expect(conflicts.first?.constraint == ["code"])
      #expect(conflicts.first?.constraintValues["code"] as? String == "x")
    }
  }

  @Test("mergeByPropertyObjectTrump leaves one row with the new values")
  func objectTrump() throws {
    try duplicate(.mergeByPropertyObjectTrump) { context in
      try context.save()
      context.reset()
      #expect(try context.texts("text", of: "Item") == ["second"])
    }
  }

  @Test("mergeByPropertyStoreTrump leaves one row with the old values")
  func storeTrump() throws {
    try duplicate(.mergeByPropertyStoreTrump) { context in
      try context.save()
      context.reset()
      #expect(try context.texts("text", of: "Item") == ["first"])
    }
  }

  @Test("Two new objects with one code are refused by the policy error")
  func bothNew() throws {
    let stack = try stack()
    stack.run { context in
      for text in ["a", "b"] { context.insert("Item", ["code": "x", "text": text]) }
      let failure = error { try context.save() }
      #expect(failure?.code == NSManagedObjectConstraintMergeError)
    }
  }

  @Test("A constraint over two attributes allows objects that differ in one of them")
  func compound() throws {
    let stack = try stack(["code", "kind"])
    try stack.run { context in
      context.insert("Item", ["code": "x", "kind": "1"])
      context.insert("Item", ["code": "x", "kind": "2"])
      try context.save()
      #expect(try context.all("Item").count == 2)
      context.insert("Item", ["code": "x", "kind": "2"])
      let failure = error { try context.save() }
      #expect(failure?.code == NSManagedObjectConstraintMergeError)
    }
  }
}
