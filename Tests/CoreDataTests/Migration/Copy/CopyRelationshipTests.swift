// OpenCoreData
// SPDX-License-Identifier: Apache-2.0

import CoreDataTestSupport
import Foundation
import Testing

@testable import CoreData

@Suite("Relationships copied by SQL")
struct CopyRelationshipTests {
  /// People with dogs (to-one and to-many) and clubs (many-to-many), as ordered as asked for.
  private func model(
    ordered: Bool = false, required: Bool = false, oneToOne: Bool = false, separate: Bool = true
  ) -> ModelBuilder {
    var builder = ModelBuilder()
    builder.entity("Person", [.make("name", .stringAttributeType)])
    builder.entity("Dog", [.make("name", .stringAttributeType)])
    builder.entity("Club", [.make("name", .stringAttributeType)])
    builder.relate(
      .init("Person", "dogs", toMany: !oneToOne, ordered: ordered), .init("Dog", "owner", optional: !required))
    builder.relate(
      .init("Person", "clubs", toMany: true, ordered: ordered), .init("Club", "members", toMany: true))
    return builder
  }

  private func fill(_ context: NSManagedObjectContext, ordered: Bool = false) {
    let dogs = (1...4).map { context.make("Dog", ["name": "d\($0)"]) }
    let clubs = (1...3).map { context.make("Club", ["name": "c\($0)"]) }
    let people = (1...3).map { context.make("Person", ["name": "p\($0)"]) }
    func members(_ list: [NSManagedObject]) -> Any { ordered ? NSOrderedSet(array: list) : NSSet(array: list) }
    people[0].setValue(members([dogs[2], dogs[0]]), forKey: "dogs")
    people[1].setValue(members([dogs[3]]), forKey: "dogs")
    people[0].setValue(members([clubs[1], clubs[0]]), forKey: "clubs")
    people[2].setValue(members([clubs[1], clubs[2]]), forKey: "clubs")
  }

  private func names(_ dump: StoreDump, _ entity: String, _ name: String, _ relationship: String) -> [String] {
    let object = dump.objects.first { $0.key.hasPrefix("\(entity)/") && $0.value["name"] == name }?.value
    let keys = (object?[relationship] ?? "").split(separator: ",").map { $0.trimmingCharacters(in: .whitespaces) }
    let found = keys.map { dump.objects[$0]?["name"] ?? "?" }
    return found
  }

  private let name: KeyValuePairs<String, String> = ["name": "$source.name"]

  @Test("Both sides by mapping name", arguments: [false, true])
  func byName(ordered: Bool) throws {
    let steps = try CopySteps(model(ordered: ordered), model(ordered: ordered))
    try steps.fill { fill($0, ordered: ordered) }
    steps.map(
      "Person", "Person", name,
      links: [
        "dogs": CopySteps.made(by: "DogToDog", "$source.dogs"),
        "clubs": CopySteps.made(by: "ClubToClub", "$source.clubs"),
      ])
    steps.map("Dog", "Dog", name, links: ["owner": CopySteps.made(by: "PersonToPerson", "$source.owner")])
    steps.map("Club", "Club", name, links: ["members": CopySteps.made(by: "PersonToPerson", "$source.members")])
    let dump = try steps.run()
    let dogs = names(dump, "Person", "p1", "dogs")
    #expect(ordered ? dogs == ["d3", "d1"] : Set(dogs) == ["d1", "d3"])
    let clubs = names(dump, "Person", "p1", "clubs")
    #expect(ordered ? clubs == ["c2", "c1"] : Set(clubs) == ["c1", "c2"])
    #expect(names(dump, "Dog", "d4", "owner") == ["p2"] && names(dump, "Dog", "d2", "owner") == [])
    #expect(Set(names(dump, "Club", "c2", "members")) == ["p1", "p3"])
  }

  @Test("One side is enough, whichever it is", arguments: [false, true])
  func oneSide(fromOwner: Bool) throws {
    let steps = try CopySteps(model(), model(ordered: true))
    try steps.fill { fill($0) }
    if fromOwner {
      steps.map(
        "Person", "Person", name,
        links: ["dogs": CopySteps.made(of: "dogs"), "clubs": CopySteps.made(of: "clubs")])
      steps.map("Dog", "Dog", name)
      steps.map("Club", "Club", name)
    } else {
      steps.map("Person", "Person", name)
      steps.map("Dog", "Dog", name, links: ["owner": CopySteps.made(of: "owner")])
      steps.map("Club", "Club", name, links: ["members": CopySteps.made(of: "members")])
    }
    let dump = try steps.run()
    // What had no order gets that of the keys.
    let expected = names(dump, "Person", "p1", "dogs")
    #expect(Set(expected) == ["d1", "d3"])
    #expect(names(dump, "Dog", "d4", "owner") == ["p2"])
    #expect(Set(names(dump, "Person", "p3", "clubs")) == ["c2", "c3"])
  }

  @Test("Filters: relationships lead to what was copied only")
  func filters() throws {
    let steps = try CopySteps(model(), model())
    try steps.fill { fill($0) }
    steps.map(
      "Person", "Person", where: "name != 'p2'", name, links: ["clubs": CopySteps.made(of: "clubs")])
    steps.map("Dog", "Dog", name, links: ["owner": CopySteps.made(of: "owner")])
    // Of this SQL knows nothing, and every object is asked.
    steps.map("Club", "Club", where: "FUNCTION(name, 'hasSuffix:', '2') == YES", name)
    let dump = try steps.run()
    #expect(dump.values("Person", "name") == ["p1", "p3"] && dump.values("Club", "name") == ["c2"])
    #expect(names(dump, "Dog", "d4", "owner") == [] && names(dump, "Dog", "d1", "owner") == ["p1"])
    #expect(names(dump, "Person", "p1", "clubs") == ["c2"] && names(dump, "Person", "p3", "clubs") == ["c2"])
  }

  @Test("Several mappings of one entity, and several into one: keys do not meet, and each is found by its name")
  func severalMappings() throws {
    var target = ModelBuilder()
    target.entity("Animal", [.make("name", .stringAttributeType)])
    target.entity("Tag", [.make("name", .stringAttributeType)])
    target.relate(.init("Animal", "tags", toMany: true), .init("Tag", "animal"))
    let steps = try CopySteps(model(), target)
    try steps.fill { fill($0) }
    steps.map("Person", "Animal", name)
    steps.map("Dog", "Animal", name)
    steps.map("Dog", "Animal", name: "Again", ["name": "FUNCTION($source.name, 'uppercaseString')"])
    steps.map(
      "Dog", "Tag", ["name": "$source.name"], links: ["animal": CopySteps.made(by: "PersonToAnimal", "$source.owner")])
    let dump = try steps.run()
    #expect(
      dump.values("Animal", "name").sorted()
        == ["D1", "D2", "D3", "D4", "d1", "d2", "d3", "d4", "p1", "p2", "p3"])
    #expect(names(dump, "Tag", "d3", "animal") == ["p1"] && names(dump, "Tag", "d2", "animal") == [])
    #expect(Set(names(dump, "Animal", "p1", "tags")) == ["d1", "d3"])
  }

  @Test("Where both sides say different things the last one wins, and both agree")
  func lastWins() throws {
    var source = ModelBuilder()
    source.entity("Person", [.make("name", .stringAttributeType)])
    source.entity("Dog", [.make("name", .stringAttributeType)])
    source.relate(.init("Person", "dogs", toMany: true), .init("Dog", "owner"))
    source.relate(.init("Person", "walks", toMany: true), .init("Dog", "walker"))
    for dogsFirst in [false, true] {
      let steps = try CopySteps(source, model())
      try steps.fill { context in
        let (a, b) = (context.make("Person", ["name": "a"]), context.make("Person", ["name": "b"]))
        context.make("Dog", ["name": "x", "owner": a, "walker": b])
        context.make("Dog", ["name": "y", "owner": a])
        context.make("Dog", ["name": "z", "walker": b])
      }
      let mapDogs = {
        _ = steps.map("Dog", "Dog", self.name, links: ["owner": CopySteps.made(of: "owner")])
      }
      if dogsFirst { mapDogs() }
      steps.map(
        "Person", "Person", name, links: ["dogs": CopySteps.made(by: "DogToDog", "$source.walks")])
      if !dogsFirst { mapDogs() }
      let executions = try steps.migrate(to: steps.target, usesSQL: true)
      #expect(executions.allSatisfy { $0.rows == .sql && $0.relationships == .objects })
      let dump = try steps.dump(steps.target)
      if dogsFirst {
        // Each person's dogs are those of its walks, and no others.
        #expect(names(dump, "Dog", "x", "owner") == ["b"] && names(dump, "Dog", "y", "owner") == [])
        #expect(Set(names(dump, "Person", "b", "dogs")) == ["x", "z"])
      } else {
        #expect(names(dump, "Dog", "x", "owner") == ["a"] && names(dump, "Dog", "z", "owner") == [])
        #expect(Set(names(dump, "Person", "a", "dogs")) == ["x", "y"])
      }
    }
  }

  @Test(
    "Fewer or more objects than a relationship allows are an error that names it",
    arguments: ["dogs", "clubs"])
  func counts(_ relationship: String) throws {
    /// The first person has three, the second one, and the third none, which an optional relationship allows.
    func steps(_ least: Int, _ most: Int) throws -> CopySteps {
      let limited = model().model()
      let description = limited.entitiesByName["Person"]?.relationshipsByName[relationship]
      description?.minCount = least
      description?.maxCount = most
      let steps = try CopySteps(model().model(), limited)
      try steps.fill { context in
        let people = (1...3).map { context.make("Person", ["name": "p\($0)"]) }
        for (person, count) in zip(people, [3, 1, 0]) {
          for _ in 0..<count {
            context.make("Dog", ["name": "d", "owner": person])
            context.make("Club", ["name": "c", "members": NSSet(object: person)])
          }
        }
      }
      steps.map("Person", "Person", name, links: ["clubs": CopySteps.made(by: "ClubToClub", "$source.clubs")])
      steps.map("Dog", "Dog", name, links: ["owner": CopySteps.made(by: "PersonToPerson", "$source.owner")])
      steps.map("Club", "Club", name)
      return steps
    }
    try steps(1, 3).run()
    for (least, most) in [(2, 0), (0, 2)] {
      let steps = try steps(least, most)
      for usesSQL in [true, false] {
        let told = try #require(throws: NSError.self) { try steps.migrate(to: steps.target, usesSQL: usesSQL) }
        let wanted =
          least > 0 ? NSValidationRelationshipLacksMinimumCountError : NSValidationRelationshipExceedsMaximumCountError
        #expect(told.code == wanted && told.userInfo[NSValidationKeyErrorKey] as? String == relationship)
      }
      #expect(try steps.store.files().filter { $0.contains("Target") } == [])
    }
  }

  @Test("A required relationship without object is an error that names it")
  func requiredRelationship() throws {
    let steps = try CopySteps(model(), model(required: true))
    try steps.fill { fill($0) }
    steps.map("Person", "Person", name)
    steps.map("Dog", "Dog", name, links: ["owner": CopySteps.made(of: "owner")])
    let error = try steps.failure()
    let told = (error.userInfo[NSDetailedErrorsKey] as? [NSError])?.first ?? error
    #expect(told.code == NSValidationMissingMandatoryPropertyError)
    #expect(told.userInfo[NSValidationKeyErrorKey] as? String == "owner")
    #expect(!FileManager.default.fileExists(atPath: steps.target.path))
  }

  @Test("What SQL cannot do goes by objects, and the reason is told")
  func obstacles() throws {
    func reason(_ map: (CopySteps) -> Void) throws -> String? {
      let steps = try CopySteps(model(), model())
      try steps.fill { fill($0) }
      map(steps)
      return try steps.migrate(to: steps.target, usesSQL: true).first?.reason
    }
    MigrationPolicyClasses.register(CopyTestPolicy.self)
    #expect(
      try reason { $0.map("Person", "Person", name, links: ["dogs": "nil"]) }?.contains("takes objects") == true)
    #expect(
      try reason { $0.map("Dog", "Dog", name).entityMigrationPolicyClassName = "CopyTestPolicy" }
        == "has a policy class")
    #expect(
      try reason { $0.map("Dog", "Dog", ["name": "$destination.name"]) }?.contains("uses $destination") == true)
    #expect(try reason { $0.map("Dog", "Dog", name) } == nil)
  }
}

/// A policy that changes nothing; that there is one is enough.
final class CopyTestPolicy: NSEntityMigrationPolicy {}
