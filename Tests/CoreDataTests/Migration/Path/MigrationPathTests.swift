// OpenCoreData
// SPDX-License-Identifier: Apache-2.0

import CoreDataTestSupport
import Foundation
import Testing

@testable import CoreData
@testable import CoreDataMigration

@Suite("Ways over the versions of a model")
struct MigrationPathTests {
  /// Five versions, each with one attribute more; every two of them can be connected by inference.
  static var growing: [(String, [NSAttributeDescription])] {
    (1...5).map { number in
      ("e\(number)", [.make("name", .stringAttributeType)] + (1..<number).map { .make("n\($0)", .stringAttributeType) })
    }
  }

  private func path(
    _ notes: NoteVersions, _ source: String, _ destination: String, isProgressive: Bool = true
  ) throws -> MigrationPath {
    let path = try MigrationPath(
      modelsAt: notes.url, from: source, to: destination, mappings: [notes.mappings], isProgressive: isProgressive)
    #expect(path.steps.allSatisfy { !$0.reason.isEmpty })
    return path
  }

  /// `v1 > v2 = v3`: an inferred step, then one by a mapping model.
  private func text(_ path: MigrationPath) -> String {
    path.steps.reduce(path.source) { $0 + ($1.kind == .mapping ? " = " : " > ") + $1.destination }
  }

  @Test("Without mapping models all versions are gone through")
  func neighbours() throws {
    let notes = try NoteVersions()
    #expect(try text(path(notes, "v1", "v4")) == "v1 > v2 > v3 > v4")
    #expect(try path(notes, "v1", "v1").steps.isEmpty)
  }

  @Test("One step, as with Core Data, where that is asked for")
  func oneStep() throws {
    let notes = try NoteVersions()
    #expect(try text(path(notes, "v2", "v4", isProgressive: false)) == "v2 > v4")
    let error = try #require(throws: NSError.self) { try path(notes, "v1", "v3", isProgressive: false) }
    #expect(error.code == NSInferredMappingModelError)
    try notes.writeMapping("v2", "v3")
    #expect(try text(path(notes, "v2", "v4", isProgressive: false)) == "v2 > v4")
    try notes.writeMapping("v2", "v4")
    #expect(try text(path(notes, "v2", "v4", isProgressive: false)) == "v2 = v4")
  }

  @Test("A mapping model for exactly the two versions is used, also where every step can be inferred")
  func exactMapping() throws {
    let notes = try NoteVersions(Self.growing)
    let url = try notes.writeMapping("e1", "e4")
    let path = try path(notes, "e1", "e4")
    #expect(text(path) == "e1 = e4")
    let step = try #require(path.steps.first)
    #expect(step.mappingURL?.standardizedFileURL == url.standardizedFileURL)
    #expect(!step.isInPlace)
    #expect(step.mappingModel.entityMappings.map(\.name) == ["NoteToNote"])
    #expect(step.reason == "The mapping model 'e1toe4.cdm' is for these two versions.")
    #expect(path.explanation == ["A mapping model exists for exactly the path from 'e1' to 'e4'."])
  }

  @Test("Inferred steps do not pass over a mapping model")
  func notPassedOver() throws {
    let notes = try NoteVersions(Self.growing)
    try notes.writeMapping("e2", "e4")
    #expect(try text(path(notes, "e1", "e5")) == "e1 > e2 = e4 > e5")
    // It begins in a version that is not gone through.
    #expect(try text(path(notes, "e3", "e5")) == "e3 > e4 > e5")
    #expect(try text(path(notes, "e1", "e3")) == "e1 > e2 > e3")
  }

  @Test("One mapping model over several versions is better than several")
  func fewestCopies() throws {
    let notes = try NoteVersions(Self.growing)
    for (source, destination) in [("e2", "e3"), ("e3", "e4"), ("e2", "e4")] {
      try notes.writeMapping(source, destination)
    }
    #expect(try text(path(notes, "e1", "e5")) == "e1 > e2 = e4 > e5")
    #expect(try text(path(notes, "e3", "e5")) == "e3 = e4 > e5")
  }

  @Test("Steps that need no code of the program are better than fewer copies")
  func fewestPolicies() throws {
    let notes = try NoteVersions(Self.growing)
    try notes.writeMapping("e2", "e3")
    try notes.writeMapping("e3", "e4")
    try notes.writeMapping("e2", "e4", policy: "NotePolicy")
    #expect(try text(path(notes, "e1", "e5")) == "e1 > e2 = e3 = e4 > e5")
    let exact = try path(notes, "e2", "e4")
    #expect(text(exact) == "e2 = e4")
    #expect(exact.explanation.contains("One step needs policies of the program."))
  }

  @Test("A mapping model that leads nowhere is passed over, and the explanation says so")
  func deadEnd() throws {
    let notes = try NoteVersions([
      ("p1", [.make("name", .stringAttributeType), .make("a", .integer16AttributeType)]),
      ("p2", [.make("name", .booleanAttributeType), .make("a", .stringAttributeType)]),
      (
        "p3",
        [.make("name", .stringAttributeType), .make("a", .integer16AttributeType), .make("c", .stringAttributeType)]
      ),
    ])
    try notes.writeMapping("p1", "p2")
    let path = try path(notes, "p1", "p3")
    #expect(text(path) == "p1 > p3")
    #expect(path.explanation.contains { $0.contains("'p1top2.cdm' from 'p1' to 'p2' is not used") })
    #expect(path.steps[0].reason.contains("'p2' is left out: no mapping to it can be inferred, because of Note.a."))
  }

  @Test("A version that would drop what both ends have is left out, and the reason says so")
  func detour() throws {
    let notes = try NoteVersions([
      ("q1", [.make("name", .stringAttributeType), .make("a", .integer16AttributeType)]),
      ("q2", [.make("name", .stringAttributeType)]),
      ("q3", [.make("name", .stringAttributeType), .make("a", .integer16AttributeType, default: 7)]),
      (
        "q4",
        [.make("name", .stringAttributeType), .make("a", .integer16AttributeType), .make("b", .stringAttributeType)]
      ),
    ])
    let path = try path(notes, "q1", "q4")
    #expect(text(path) == "q1 > q4")
    #expect(
      path.steps[0].reason.contains(
        "'q2' is left out: going through it would drop Note.a, which both ends of the "
          + "step have."))
  }

  @Test("Versions that are left out for one reason are told as a range, once")
  func leftOut() throws {
    let ends = [NSAttributeDescription.make("name", .stringAttributeType), .make("a", .integer16AttributeType)]
    let between = (2...20).map { number in
      (
        "r\(number)",
        [NSAttributeDescription.make("name", .stringAttributeType), .make("x\(number)", .stringAttributeType)]
      )
    }
    let notes = try NoteVersions(
      [("r1", ends)] + between + [
        (
          "r21",
          ends.map { $0.copy() as! NSAttributeDescription } + [
            .make("b", .stringAttributeType)
          ]
        )
      ])
    let reason = try #require(path(notes, "r1", "r21").steps.first?.reason)
    #expect(
      reason.hasSuffix(
        "'r2' to 'r20' (19 versions) are left out: going through it would drop Note.a, which both ends of the step "
          + "have."))
  }

  @Test("A number in a name counts as a number, whatever signs are around it: V2 comes before V 10")
  func signs() throws {
    let attributes = Self.growing.map(\.1)
    let notes = try NoteVersions([
      ("V 10", attributes[2]), ("V2", attributes[0]), ("v-9", attributes[1]), ("V 58", attributes[3]),
    ])
    #expect(try text(path(notes, "V2", "V 58")) == "V2 > v-9 > V 10 > V 58")
  }

  @Test("Versions are in the order in which a person would put their names")
  func names() throws {
    let attributes = Self.growing.map(\.1)
    let notes = try NoteVersions([
      ("2.10", attributes[2]), ("2.2", attributes[0]), ("2.9", attributes[1]), ("3.0-beta", attributes[3]),
    ])
    #expect(try text(path(notes, "2.2", "3.0-beta")) == "2.2 > 2.9 > 2.10 > 3.0-beta")
  }

  @Test("Versions that are the same to the hash are one")
  func equalVersions() throws {
    let notes = try NoteVersions([Self.growing[0], Self.growing[1], ("e2b", Self.growing[1].1), Self.growing[2]])
    #expect(try text(path(notes, "e1", "e3")) == "e1 > e2 > e3")
    #expect(try text(path(notes, "e1", "e2b")) == "e1 > e2b")
    #expect(try path(notes, "e2", "e2b").steps.isEmpty)
  }

  @Test("The way back goes through the same versions")
  func backwards() throws {
    let notes = try NoteVersions(Self.growing)
    #expect(try text(path(notes, "e4", "e1")) == "e4 > e3 > e2 > e1")
    try notes.writeMapping("e1", "e3")
    #expect(try text(path(notes, "e4", "e1")) == "e4 > e3 > e2 > e1")
    try notes.writeMapping("e3", "e1")
    #expect(try text(path(notes, "e4", "e1")) == "e4 > e3 = e1")
  }

  @Test("Where there is no way the error is of the first step between neighbours that fails")
  func noWay() throws {
    let notes = try NoteVersions([
      ("f1", [.make("name", .stringAttributeType)]), ("f2", [.make("name", .stringAttributeType, optional: false)]),
      ("f3", [.make("name", .dateAttributeType)]),
    ])
    let error = try #require(throws: NSError.self) { try path(notes, "f1", "f3") }
    #expect(error.code == NSInferredMappingModelError)
    #expect(error.userInfo["entity"] as? String == "Note")
    #expect(error.userInfo["property"] as? String == "name")
  }

  @Test("The model that a store carries has its place beside the version that it is most like")
  func ownModel() throws {
    func model(_ entities: [String: [String]]) -> NSManagedObjectModel {
      var builder = ModelBuilder()
      for (name, attributes) in entities.sorted(by: { $0.key < $1.key }) {
        builder.entity(name, attributes.map { .make($0, .stringAttributeType) })
      }
      return builder.model()
    }
    func version(_ name: String, _ entities: [String: [String]]) -> ModelVersion {
      .init(name: name, model: model(entities))
    }
    let known = [
      version("1", ["A": ["x"], "B": ["x"]]), version("2", ["A": ["x", "y"], "B": ["x", "y"]]),
      version("3", ["A": ["x", "y", "z"], "B": ["x", "y"]]),
    ]
    let own = version("own", ["A": ["x", "q"], "B": ["x", "y"]])
    let order = VersionOrder(known: known, source: own, destination: known[2])
    #expect(order.versions.map(\.name) == ["1", "own", "2", "3"])
    #expect(order.versions[order.source].name == "own")
    let path = try MigrationPath(known: ModelVersions(known), from: own, to: known[2], rules: .init())
    #expect(path.steps.map(\.destination) == ["2", "3"])
  }

  @Test("With a hundred versions a way is found quickly, and so is that there is none")
  func manyVersions() throws {
    var versions: [(String, [NSAttributeDescription])] = (1...100).map { number in
      ("m\(number)", [.make("name", .stringAttributeType), .make("a", .integer16AttributeType, renamedFrom: "a")])
    }
    for number in versions.indices {
      versions[number].1.append(.make("n\(number)", .stringAttributeType))
    }
    let notes = try NoteVersions(versions)
    let clock = ContinuousClock()
    let found = try clock.measure {
      let count = try path(notes, "m1", "m100").steps.count
      #expect(count == 99)
    }
    for number in 50..<100 { versions[number].1[1] = .make("a", .stringAttributeType) }
    let broken = try NoteVersions(versions)
    let failed = try clock.measure {
      let error = try #require(throws: NSError.self) { try path(broken, "m1", "m100") }
      #expect(error.code == NSInferredMappingModelError)
    }
    print("a way over 100 versions: \(found); none: \(failed)")
    #expect(found < .seconds(10) && failed < .seconds(30))
  }
}
