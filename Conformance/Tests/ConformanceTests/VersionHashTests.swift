// OpenCoreData
// SPDX-License-Identifier: Apache-2.0

import CoreData
import Testing

/// A change of an entity, and the words that say what was changed.
struct HashedChange: CustomTestStringConvertible, Sendable {
  let testDescription: String
  let change: @Sendable (NSEntityDescription) -> Void

  init(_ description: String, _ change: @escaping @Sendable (NSEntityDescription) -> Void) {
    testDescription = description
    self.change = change
  }
}

@Suite("Version hashes")
struct VersionHashTests {
  /// An entity `Item` in a model with one it leads to.
  private func item(_ change: (NSEntityDescription) -> Void = { _ in }) throws -> (NSManagedObjectModel, Data) {
    let item = entity(
      "Item",
      [
        attribute("name"), attribute("count", .integer32AttributeType, default: 1),
        attribute("image", .binaryDataAttributeType),
      ])
    let group = entity("Group", [attribute("name")])
    connect(item, relationship("group"), group, relationship("items", toMany: true))
    let other = entity("Other")
    connect(item, relationship("others", toMany: true), other, relationship("item"))
    let result = model(item, group, other, entity("Top"))
    change(item)
    return (result, try #require(result.entityVersionHashesByName["Item"]))
  }

  @Test("The hash that a public tutorial printed is that of its entity")
  func tutorial() {
    let tutorial = entity(
      "TSPItem",
      [
        attribute("createdAt", .dateAttributeType), attribute("done", .booleanAttributeType, optional: false),
        attribute("name"),
      ])
    let hash = model(tutorial).entitiesByName["TSPItem"]?.versionHash
    #expect(hex(hash) == "ce1c66934229b0437cfe73244718b0c481c9af4d12e713733288b42e7de7ac62")
  }

  @Test("A hash has 32 bytes, is the same for each model of the same facts, and is that of the entity")
  func stable() throws {
    let (first, hash) = try item()
    let (_, second) = try item()
    #expect(hash.count == 32)
    #expect(hash == second)
    #expect(first.entitiesByName["Item"]?.versionHash == hash)
  }

  static let counted = [
    HashedChange("the name of an attribute") { $0.attributesByName["name"]?.name = "title" },
    HashedChange("whether an attribute is optional") { $0.attributesByName["name"]?.isOptional = false },
    HashedChange("whether an attribute is transient") { $0.attributesByName["name"]?.isTransient = true },
    HashedChange("the type of an attribute") { $0.attributesByName["count"]?.attributeType = .integer64AttributeType },
    HashedChange("the modifier of an attribute") { $0.attributesByName["name"]?.versionHashModifier = "2" },
    HashedChange("external storage of an attribute") {
      $0.attributesByName["image"]?.allowsExternalBinaryDataStorage = true
    },
    HashedChange("keeping a value in the history of deletions") {
      $0.attributesByName["name"]?.preservesValueInHistoryOnDeletion = true
    },
    HashedChange("another attribute") { $0.properties.append(attribute("more")) },
    HashedChange("the destination of a relationship") {
      $0.relationshipsByName["group"]?.inverseRelationship = nil
      $0.relationshipsByName["group"]?.destinationEntity = $0.managedObjectModel.entitiesByName["Other"]
    },
    HashedChange("the inverse of a relationship") { $0.relationshipsByName["group"]?.inverseRelationship = nil },
    HashedChange("the minimum of a relationship") { $0.relationshipsByName["group"]?.minCount = 1 },
    HashedChange("the maximum of a relationship") { $0.relationshipsByName["group"]?.maxCount = 4 },
    HashedChange("the order of a relationship") { $0.relationshipsByName["others"]?.isOrdered = true },
    HashedChange("being abstract") { $0.isAbstract = true },
    HashedChange("a parent") { $0.managedObjectModel.entitiesByName["Top"]?.subentities = [$0] },
    HashedChange("the modifier of the entity") { $0.versionHashModifier = "2" },
    HashedChange("a uniqueness constraint") { $0.uniquenessConstraints = [["name"]] },
  ]

  @Test("What is part of a hash changes it", arguments: counted)
  func changes(fact: HashedChange) throws {
    #expect(try item().1 != item(fact.change).1)
  }

  static let uncounted = [
    HashedChange("a default value") { $0.attributesByName["count"]?.defaultValue = 2 },
    HashedChange("the class of the objects") { $0.managedObjectClassName = "Things" },
    HashedChange("the renaming identifier of the entity") { $0.renamingIdentifier = "Thing" },
    HashedChange("the renaming identifier of an attribute") { $0.attributesByName["name"]?.renamingIdentifier = "x" },
    HashedChange("user info") {
      $0.userInfo = ["key": "value"]
      $0.attributesByName["name"]?.userInfo = ["key": "value"]
    },
    HashedChange("a delete rule") { $0.relationshipsByName["group"]?.deleteRule = .cascadeDeleteRule },
    HashedChange("validation predicates") {
      $0.attributesByName["name"]?.setValidationPredicates(
        [NSPredicate(format: "length > 2")], withValidationWarnings: ["too short"])
    },
    HashedChange("a fetch index") {
      guard let name = $0.attributesByName["name"] else { return }
      $0.indexes = [
        NSFetchIndexDescription(
          name: "byName", elements: [NSFetchIndexElementDescription(property: name, collationType: .binary)])
      ]
    },
    HashedChange("another transient attribute") {
      let extra = attribute("extra")
      extra.isTransient = true
      $0.properties.append(extra)
    },
    HashedChange("another fetched property") {
      let fetched = NSFetchedPropertyDescription()
      fetched.name = "namesakes"
      fetched.fetchRequest = NSFetchRequest<NSFetchRequestResult>(entityName: "Group")
      $0.properties.append(fetched)
    },
    HashedChange("the order of the properties") { $0.properties.reverse() },
    HashedChange("a child entity") { $0.subentities = [entity("Child", [attribute("own")])] },
    HashedChange("the attributes of the entity that a relationship leads to") {
      $0.managedObjectModel.entitiesByName["Group"]?.properties.append(attribute("more"))
    },
  ]

  @Test("What is no part of a hash leaves it as it is", arguments: uncounted)
  func remains(fact: HashedChange) throws {
    #expect(try item().1 == item(fact.change).1)
  }

  @Test("A change of a parent changes the hashes of its children, and a change of a child not that of its parent")
  func inheritance() throws {
    func hashes(parentHas first: String, childHas second: String) -> [String: Data] {
      let child = entity("Child", [attribute(second)])
      let parent = entity("Parent", [attribute(first)])
      parent.subentities = [child]
      return model(parent, child).entityVersionHashesByName
    }
    let before = hashes(parentHas: "a", childHas: "b")
    #expect(before["Child"] != hashes(parentHas: "x", childHas: "b")["Child"])
    #expect(before["Parent"] == hashes(parentHas: "a", childHas: "y")["Parent"])
  }

  @Test("The checksum of a model is the base64 text of 32 bytes, and changes with a hash and with nothing else")
  func checksum() throws {
    let plain = try item().0.versionChecksum
    #expect(Data(base64Encoded: plain)?.count == 32)
    #expect(try item { $0.userInfo = ["a": "b"] }.0.versionChecksum == plain)
    #expect(try item { $0.versionHashModifier = "2" }.0.versionChecksum != plain)
  }

  @Test("The version identifiers of a model change no hash")
  func identifiers() throws {
    let (first, hash) = try item()
    first.versionIdentifiers = ["2.0"]
    #expect(first.entityVersionHashesByName["Item"] == hash)
  }
}
