// OpenCoreData
// SPDX-License-Identifier: Apache-2.0

import CoreData
import CoreDataTestSupport
import Foundation
import Testing

@Suite("Conflicts over uniqueness constraints")
struct UniquenessConflictTests {
  private let store: TemporaryStore
  private let context: NSManagedObjectContext

  private static func model() -> NSManagedObjectModel {
    var builder = ModelBuilder()
    let account = builder.entity(
      "Account",
      [
        .make("code", .stringAttributeType), .make("region", .integer16AttributeType),
        .make("name", .stringAttributeType), .make("note", .stringAttributeType),
      ])
    account.uniquenessConstraints = [["code", "region"]]
    builder.entity("Special", parent: "Account", [.make("rank", .integer16AttributeType)])
    let entry = builder.entity("Entry", [.make("title", .stringAttributeType)])
    entry.uniquenessConstraints = [["title"]]
    builder.relate(
      .init("Account", "entries", toMany: true, rule: .cascadeDeleteRule), .init("Entry", "account", optional: false))
    builder.point(.init("Entry", "source"), to: "Account")
    return builder.model()
  }

  init() throws {
    store = try TemporaryStore()
    context = try store.context(Self.model())
  }

  @discardableResult
  private func account(_ code: String, _ name: String?, entity: String = "Account") -> NSManagedObject {
    let object = context.make(entity, ["code": code, "region": 1])
    object["name"] = name
    return object
  }

  /// Every account with its entries, as another context reads them.
  private func stored() throws -> [String] {
    try store.context(Self.model()).all("Account", by: "code").map { account in
      let entries = (account["entries"] as? Set<NSManagedObject> ?? []).compactMap { $0["title"] as? String }.sorted()
      return "\(account["code"] ?? "-") \(account["name"] ?? "-") \(account["note"] ?? "-") \(entries)"
    }
  }

  @Test("A relationship of the same name to another entity is not moved to the kept object")
  func siblings() throws {
    var builder = ModelBuilder()
    builder.entity("Part", [.make("code", .stringAttributeType)]).uniquenessConstraints = [["code"]]
    for (name, destination) in [("Bolt", "Box"), ("Nut", "Bag")] {
      builder.entity(name, parent: "Part", [])
      builder.entity(destination, [.make("name", .stringAttributeType)])
      builder.point(.init(name, "place"), to: destination)
      builder.point(.init(name, "places", toMany: true), to: destination)
    }
    let model = builder.model()
    for policy in [NSMergePolicy.mergeByPropertyObjectTrump, .mergeByPropertyStoreTrump, .overwrite] {
      let store = try TemporaryStore()
      let context = try store.context(model)
      context.mergePolicy = policy
      let box = context.make("Box", ["name": "box"])
      let bolt = context.make("Bolt", ["code": "1", "place": box, "places": Set([box])])
      try context.save()
      let bag = context.make("Bag", ["name": "bag"])
      context.make("Nut", ["code": "1", "place": bag, "places": Set([bag])])
      try context.save()
      let found = try #require(try store.context(model).all("Part", by: "code").first)
      #expect((found["place"] as? NSManagedObject)?["name"] as? String == "box")
      #expect((found["places"] as? Set<NSManagedObject>)?.compactMap { $0["name"] as? String } == ["box"])
      #expect(found.objectID.uriRepresentation() == bolt.objectID.uriRepresentation())
    }
  }

  @Test("Two objects can exchange unique values in one save, and several can rotate them")
  func exchanging() throws {
    let objects = ["a", "b", "c", "d"].map { account($0, "was \($0)") }
    try context.save()
    for (object, code) in zip(objects, ["b", "a", "d", "e"]) { object["code"] = code }
    account("c", "new")
    try context.save()
    #expect(try stored() == ["a was b - []", "b was a - []", "c new - []", "d was c - []", "e was d - []"])
    for object in objects { context.refresh(object, mergeChanges: false) }
    for (object, code) in zip(objects, ["d", "b", "e", "a"]) { object["code"] = code }
    try context.save()
    #expect(try stored().map { String($0.prefix(5)) } == ["a was", "b was", "c new", "d was", "e was"])
  }

  @Test("A save from a pinned generation merges with a row that the generation does not have")
  func generation() throws {
    let other = try store.context(Self.model())
    try context.setQueryGenerationFrom(.current)
    #expect(try context.all("Account", by: "code").isEmpty)
    other.make("Account", ["code": "a", "region": 1, "name": "other", "note": "kept"])
    try other.save()
    let new = account("a", "own")
    let error = try #require(#expect(throws: NSError.self) { try context.save() })
    let conflicts = error.userInfo[NSPersistentStoreSaveConflictsErrorKey] as? [NSConstraintConflict]
    #expect(conflicts?.first?.databaseSnapshot?["name"] as? String == "other")
    // A save that fails leaves the context where it was.
    #expect(try context.all("Account", by: "code").map(\.objectID) == [new.objectID])
    context.mergePolicy = NSMergePolicy.mergeByPropertyObjectTrump
    try context.save()
    #expect(try stored() == ["a own kept []"])
    #expect(try context.all("Account", by: "code").map { $0["note"] as? String } == ["kept"])
  }

  @Test("The error has the conflict with all that is in it, and nothing has changed")
  func error() throws {
    let old = account("a", "old")
    try context.save()
    let new = account("a", "new")
    let twins = [account("b", "1"), account("b", "2", entity: "Special")]
    let error = try #require(#expect(throws: NSError.self) { try context.save() })
    #expect(error.domain == NSCocoaErrorDomain && error.code == NSManagedObjectConstraintMergeError)
    let list = try #require(error.userInfo[NSPersistentStoreSaveConflictsErrorKey] as? [NSConstraintConflict])
    #expect(list.count == 2)
    let first = try #require(list.first { $0.databaseObject != nil })
    #expect(first.constraint == ["code", "region"] && first.databaseObject === old)
    #expect(first.conflictingObjects == [new] && first.databaseSnapshot?["name"] as? String == "old")
    #expect(first.constraintValues["code"] as? String == "a" && first.constraintValues["region"] as? Int == 1)
    #expect(first.conflictingSnapshots.first?["name"] as? String == "new")
    let second = try #require(list.first { $0.databaseObject == nil })
    #expect(second.conflictingObjects == twins && second.databaseSnapshot == nil)
    #expect(context.insertedObjects == Set(twins + [new]))
    #expect(try stored() == ["a old - []"])
  }

  @Test("A new object is merged with the stored one as the policy says", arguments: 1...4 as ClosedRange<UInt>)
  func merging(type: UInt) throws {
    let policy = try #require(NSMergePolicyType(rawValue: type))
    context.mergePolicy = NSMergePolicy(merge: policy)
    let old = account("a", "old")
    old["note"] = "kept"
    context.make("Entry", ["title": "first", "account": old])
    try context.save()
    let new = account("a", "new")
    let second = context.make("Entry", ["title": "second", "account": new, "source": new])
    try context.save()
    let isOld = policy == .rollbackMergePolicyType || policy == .mergeByPropertyStoreTrumpMergePolicyType
    let note = policy == .overwriteMergePolicyType ? "-" : "kept"
    #expect(second["account"] as? NSManagedObject === old && second["source"] as? NSManagedObject === old)
    #expect(new.managedObjectContext == nil && !context.hasChanges)
    #expect(old["name"] as? String == (isOld ? "old" : "new"))
    #expect(try store.context(Self.model()).all("Account", by: "code").count == 1)
    if policy == .overwriteMergePolicyType {
      #expect((old["entries"] as? Set<NSManagedObject>) == [second])
    } else {
      #expect(try stored() == ["a \(isOld ? "old" : "new") \(note) [\"first\", \"second\"]"])
    }
    old["note"] = "later"
    try context.save()
  }

  @Test("Of several new objects with the same values one is left", arguments: 1...4 as ClosedRange<UInt>)
  func twins(type: UInt) throws {
    context.mergePolicy = NSMergePolicy(merge: try #require(NSMergePolicyType(rawValue: type)))
    let all = [account("a", "1"), account("a", nil), account("a", "3", entity: "Special")]
    for (index, object) in all.enumerated() { context.make("Entry", ["title": "\(index)", "account": object]) }
    try context.save()
    #expect(all.map { $0.managedObjectContext != nil } == [true, false, false])
    let isFirst = type == 1 || type == 4
    let found = try store.context(Self.model()).all("Account", by: "code")
    #expect(found.map { $0["name"] as? String } == [isFirst ? "1" : "3"])
  }

  @Test("A stored object that takes another's values gets its own back, or the save fails")
  func taken() throws {
    let (a, b) = (account("a", "1"), account("b", "2"))
    try context.save()
    for type in [NSMergePolicyType.mergeByPropertyObjectTrumpMergePolicyType, .overwriteMergePolicyType] {
      context.mergePolicy = NSMergePolicy(merge: type)
      b.setValuesForKeys(["code": "a", "name": "3"])
      let error = #expect(throws: NSError.self) { try context.save() }
      #expect(error?.code == NSManagedObjectConstraintMergeError && b["code"] as? String == "a")
      #expect(try stored() == ["a 1 - []", "b 2 - []"])
    }
    context.mergePolicy = NSMergePolicy.mergeByPropertyStoreTrump
    try context.save()
    #expect(try stored() == ["a 1 - []", "b 3 - []"] && b["code"] as? String == "b")
    context.mergePolicy = NSMergePolicy.rollback
    b.setValuesForKeys(["code": "a", "name": "4"])
    a["note"] = "x"
    try context.save()
    #expect(try stored() == ["a 1 x []", "b 3 - []"] && b["name"] as? String == "3")
  }

  @Test("If the save fails after that, the new object is still there with its relationships")
  func failing() throws {
    struct Refusal: Error {}
    final class Refusing: NSMergePolicy, @unchecked Sendable {
      override func resolve(constraintConflicts list: [NSConstraintConflict]) throws {
        try super.resolve(constraintConflicts: list)
        throw Refusal()
      }
    }
    let old = account("a", "old")
    try context.save()
    context.mergePolicy = Refusing(merge: .mergeByPropertyObjectTrumpMergePolicyType)
    let new = account("a", "new")
    let entry = context.make("Entry", ["title": "x", "account": new, "source": new])
    #expect(throws: Refusal.self) { try context.save() }
    #expect(new.managedObjectContext === context && new.isInserted && entry["account"] as? NSManagedObject === new)
    #expect(entry["source"] as? NSManagedObject === new && (new["entries"] as? Set<NSManagedObject>) == [entry])
    #expect(old["name"] as? String == "old" && !old.hasChanges && (old["entries"] as? NSSet)?.count == 0)
    #expect(context.insertedObjects == [new, entry])
    #expect(try stored() == ["a old - []"])
    new["code"] = "b"
    try context.save()
    #expect(try stored() == ["a old - []", "b new - [\"x\"]"])
  }

  @Test("Two conflicts of one object are resolved in turn")
  func chained() throws {
    context.mergePolicy = NSMergePolicy.mergeByPropertyObjectTrump
    let old = account("a", "old")
    context.make("Entry", ["title": "t", "account": old])
    try context.save()
    let new = account("a", "new")
    let entry = context.make("Entry", ["title": "t", "account": new])
    try context.save()
    #expect(entry.managedObjectContext == nil && new.managedObjectContext == nil)
    #expect(try stored() == ["a new - [\"t\"]"])
  }
}
