// OpenCoreData
// SPDX-License-Identifier: Apache-2.0

import CoreDataSQLite
import CoreDataTestSupport
import Foundation
import Testing

@testable import CoreData

@Suite("Both ends of a relationship in a mapping model")
struct InverseEndTests {
  private func model() -> ModelBuilder {
    var builder = ModelBuilder()
    builder.entity("Person", [.make("name", .stringAttributeType)])
    builder.entity("Pet", [.make("name", .stringAttributeType), .make("count", .integer64AttributeType)])
    builder.relate(.init("Person", "pets", toMany: true, ordered: true), .init("Pet", "owner"))
    builder.relate(.init("Person", "favourite"), .init("Pet", "fan"))
    return builder
  }

  private func sample() throws -> CopySteps {
    let steps = try CopySteps(model(), model())
    try steps.fill { context in
      let pets = ["a", "b", "c"].map { context.make("Pet", ["name": $0]) }
      let person = context.make("Person", ["name": "p", "favourite": pets[1]])
      context.make("Person", ["name": "q"])
      person.setValue(NSOrderedSet(array: pets.reversed()), forKey: "pets")
    }
    return steps
  }

  /// Migrates with and without SQL, and expects the same objects.
  private func migrate(_ steps: CopySteps, sourceLocation: SourceLocation = #_sourceLocation) throws -> StoreDump {
    try steps.migrate(to: steps.target, usesSQL: true)
    try StoreChecks.check(steps.target, steps.new, sourceLocation: sourceLocation)
    let result = try steps.dump(steps.target)
    let other = steps.store.folder.appendingPathComponent("Objects.sqlite")
    try steps.migrate(to: other, usesSQL: false)
    let expected = try steps.dump(other)
    for key in Set(expected.objects.keys).union(result.objects.keys) {
      #expect(result.objects[key] == expected.objects[key], "\(key) as by objects", sourceLocation: sourceLocation)
    }
    return result
  }

  /// The first column of all rows.
  private func values(_ url: URL, _ sql: String) throws -> [String] {
    let connection = try SQLiteConnection(url: url, mode: .readOnly)
    defer { try? connection.close() }  // Only read from.
    return try connection.rows(sql).map { $0[0].text ?? "\($0[0].integer ?? 0)" }
  }

  /// The names of pets in the order of their owner.
  private func order(_ url: URL) throws -> [String] {
    try values(url, "SELECT ZNAME FROM ZPET WHERE ZOWNER IS NOT NULL ORDER BY Z_FOK_OWNER")
  }

  @Test("Two mappings of one source entity keep their own ends", arguments: [true, false])
  func twice(namesMappings: Bool) throws {
    let steps = try sample()
    let pets = namesMappings ? CopySteps.made(by: "PetToPet", "$source.pets") : CopySteps.made(of: "pets")
    steps.map("Person", "Person", ["name": "$source.name"], links: ["pets": pets])
    let owner = namesMappings ? CopySteps.made(by: "PersonToPerson", "$source.owner") : CopySteps.made(of: "owner")
    steps.map("Pet", "Pet", ["name": "$source.name"], links: ["owner": owner])
    steps.map("Pet", "Pet", name: "PetCopy", ["name": "$source.name"], links: ["owner": owner])
    _ = try migrate(steps)
    #expect(try order(steps.target).sorted() == ["a", "a", "b", "b", "c", "c"])
  }

  @Test("An order survives where objects carry out the other end", arguments: [true, false])
  func orderBesideObjects(isPersonFirst: Bool) throws {
    let steps = try sample()
    func person() {
      steps.map("Person", "Person", ["name": "$source.name"], links: ["pets": CopySteps.made(of: "pets")])
    }
    if isPersonFirst { person() }
    steps.map(
      "Pet", "Pet",
      [
        "name": "$source.name",
        "count": "FUNCTION(\(CopySteps.made(by: "PersonToPerson", "$source.owner")), 'count')",
      ], links: ["owner": CopySteps.made(of: "owner")])
    if !isPersonFirst { person() }
    _ = try migrate(steps)
    #expect(try order(steps.target) == ["c", "b", "a"])
  }

  @Test("One object stays at the other end of a one-to-one relationship that several mappings set")
  func oneToOne() throws {
    let steps = try sample()
    steps.map(
      "Person", "Person", ["name": "$source.name"],
      links: ["favourite": CopySteps.made(by: "PetToPet", "$source.favourite")])
    let fan = CopySteps.made(by: "PersonToPerson", "$source.fan")
    steps.map("Pet", "Pet", ["name": "$source.name"], links: ["fan": fan])
    steps.map("Pet", "Pet", name: "PetCopy", ["name": "$source.name"], links: ["fan": fan])
    _ = try migrate(steps)
    #expect(try values(steps.target, "SELECT COUNT(*) FROM ZPET WHERE ZFAN IS NOT NULL") == ["1"])
    #expect(
      try values(
        steps.target, "SELECT COUNT(*) FROM ZPET p JOIN ZPERSON o ON o.Z_PK = p.ZFAN AND o.ZFAVOURITE = p.Z_PK")
        == ["1"])
  }

  @Test("The last mapping decides to whom an object belongs")
  func last() throws {
    let steps = try sample()
    steps.map("Person", "Person", ["name": "$source.name"], links: ["pets": CopySteps.made(of: "pets")])
    steps.map(
      "Person", "Person", name: "PersonCopy", ["name": "$source.name"], links: ["pets": CopySteps.made(of: "pets")])
    steps.map(
      "Pet", "Pet", ["name": "$source.name"], links: ["owner": CopySteps.made(by: "PersonToPerson", "$source.owner")])
    _ = try migrate(steps)
    #expect(
      try values(
        steps.target, "SELECT DISTINCT ZOWNER = (SELECT MIN(Z_PK) FROM ZPERSON WHERE ZNAME = 'p') FROM ZPET") == ["1"])
  }

  /// Persons, pets in reverse order, and a tag with a policy.
  ///
  /// - Parameter mapsPetsFirst: whether the mapping of pets comes before that of persons.
  private func besidePolicy(
    _ policy: NSEntityMigrationPolicy.Type, named name: String, mapsPetsFirst: Bool = false
  ) throws -> CopySteps {
    MigrationPolicyClasses.register(policy, as: name)
    func tagged() -> ModelBuilder {
      var builder = model()
      builder.entity("Tag", [.make("name", .stringAttributeType)])
      return builder
    }
    let steps = try CopySteps(tagged(), tagged())
    try steps.fill { context in
      context.make("Tag", ["name": "t"])
      let pets = ["a", "b", "c"].map { context.make("Pet", ["name": $0]) }
      let person = context.make("Person", ["name": "p"])
      person.setValue(NSOrderedSet(array: pets.reversed()), forKey: "pets")
    }
    func pets() {
      steps.map("Pet", "Pet", ["name": "$source.name"], links: ["owner": CopySteps.made(of: "owner")])
    }
    if mapsPetsFirst { pets() }
    steps.map("Person", "Person", ["name": "$source.name"], links: ["pets": CopySteps.made(of: "pets")])
    steps.map("Tag", "Tag", ["name": "$source.name"]).entityMigrationPolicyClassName = name
    if !mapsPetsFirst { pets() }
    return steps
  }

  @Test("An order survives beside a policy that has nothing to do with it", arguments: [true, false])
  func orderBesidePolicy(mapsPetsFirst: Bool) throws {
    final class QuietPolicy: NSEntityMigrationPolicy {}
    let steps = try besidePolicy(QuietPolicy.self, named: "QuietTagPolicy", mapsPetsFirst: mapsPetsFirst)
    let executions = try steps.migrate(to: steps.target, usesSQL: true)
    #expect(executions.filter { $0.relationships == .sql }.map(\.mapping).sorted() == ["PersonToPerson", "PetToPet"])
    #expect(try order(steps.target) == ["c", "b", "a"])
  }

  @Test("Objects set all relationships again after a policy has kept SQL from setting one")
  func policy() throws {
    final class ChangingPolicy: NSEntityMigrationPolicy {
      override func endRelationshipCreation(forMapping mapping: NSEntityMapping, manager: NSMigrationManager) throws {
        for tag in try manager.sourceContext.fetch(NSFetchRequest<NSManagedObject>(entityName: "Tag")) {
          tag.setValue("changed", forKey: "name")
        }
      }
    }
    let steps = try besidePolicy(ChangingPolicy.self, named: "ChangingTagPolicy")
    let executions = try steps.migrate(to: steps.target, usesSQL: true)
    #expect(executions.map(\.rows) == [.sql, .objects, .sql])
    #expect(executions.map(\.relationships) == [.objects, .objects, .objects])
    #expect(try order(steps.target) == ["c", "b", "a"])
  }
}
