// OpenCoreData
// SPDX-License-Identifier: Apache-2.0

import CoreData
import CoreDataMigration
import CoreDataModelFiles
import Foundation
import Testing

@testable import CoreDataTesting

@Suite("Rehearsals of many versions")
struct RehearsalRoutesTests {
  /// Versions `V1`, `V2` … of a model with one entity, by the names of its attributes.
  private func known(_ versions: [[String]], _ edit: (Int, inout EntityDocument) -> Void = { _, _ in }) -> ModelVersions
  {
    let versions = versions.enumerated().map { position, names in
      var entity = EntityDocument(name: "Item")
      entity.attributes = names.map { AttributeDocument(name: $0, kind: .string) }
      edit(position + 1, &entity)
      let document = ModelDocument(entities: [entity])
      return ModelVersion(name: "V\(position + 1)", document: document, versionHashes: VersionHashes(document))
    }
    return ModelVersions(versions, current: versions.last?.name)
  }

  /// Versions each of which has an attribute more than the one before.
  private func growing(_ count: Int) -> ModelVersions {
    known((1...count).map { count in (0..<count).map { "value\($0)" } })
  }

  private func routes(
    _ known: ModelVersions, whole: Set<String> = [], limits: RehearsalRoutes.Limits = .init()
  ) throws -> RehearsalRoutes {
    let names = known.names.dropLast()
    return try RehearsalRoutes(
      known, from: Array(names), to: known.names.last ?? "", mappings: [], whole: whole, limits: limits)
  }

  /// The number of steps that the stores of all versions take together.
  private func steps(_ routes: RehearsalRoutes, _ known: ModelVersions) throws -> Int {
    try routes.routes.reduce(0) { sum, route in
      sum + (try MigrationPath(known: known, from: route.source, to: route.destination).steps.count)
    }
  }

  @Test("The stores of a few versions all go to the wanted one; of many, the number of steps is no square")
  func count() throws {
    let few = growing(32)
    #expect(try routes(few).routes.allSatisfy { $0.destination == "V32" })
    let many = growing(60)
    let found = try routes(many, whole: ["V20"])
    let whole = found.routes.filter { $0.destination == "V60" }.map(\.source)
    #expect(whole == ["V1", "V20"] + (52...59).map { "V\($0)" })
    #expect(found.routes[4] == .init(source: "V5", destination: "V6"))
    // Those of the oldest version, of V20 and of the newest eight, and one of every other version.
    #expect(try steps(found, many) == 59 + 40 + 36 + 49)
  }

  @Test("The path from a version is the step to the next one and the path from there, as the search finds it")
  func paths() throws {
    // `note` is missing from V4 alone, so that no path from a version with it to one with it goes through V4.
    let versions = (1...8).map { count in (0..<count).map { "value\($0)" } + (count == 4 ? [] : ["note"]) }
    let known = known(versions)
    var limits = RehearsalRoutes.Limits()
    (limits.maxStepCount, limits.newestCount) = (0, 1)
    let found = try routes(known, limits: limits).routes
    for route in found {
      let path = try MigrationPath(known: known, from: route.source, to: "V8").steps.map(\.destination)
      #expect(path.contains(route.destination))
      if route.destination == "V8" { continue }
      let rest = try MigrationPath(known: known, from: route.destination, to: "V8").steps.map(\.destination)
      #expect([route.destination] + rest == path, "\(route.source)")
    }
    #expect(found.map(\.destination) == ["V8", "V3", "V5", "V5", "V6", "V7", "V8"])
    let plain = known.plainPaths(known.versions)
    for (version, isPlain) in zip(known.versions, plain) {
      let names = try MigrationPath.names(known: known, from: version, to: known.versions[7], mappings: [])
      #expect(isPlain == (names == known.names.drop { $0 != version.name }.map { $0 }), "\(version.name)")
    }
  }

  @Test("Each mapping between two versions is inferred once, whatever number of paths uses it")
  func inferences() throws {
    let mappings = InferredMappings()
    let versions = growing(40).versions
    #expect(PlainPaths(versions, sharing: mappings).arePlain.allSatisfy { $0 })
    // The steps to the next version, and those to the last one.
    #expect(mappings.count == 39 + 38)
    _ = PlainPaths(versions, sharing: mappings)
    let search = PathSearch(
      versions: versions, source: 0, destination: 39, mappings: KnownMappings([], versions: versions, names: [:]),
      inferred: InferredSteps(versions, sharing: mappings), infers: true, isProgressive: true)
    #expect(search.legs()?.map(\.destination) == Array(1...39))
    #expect(mappings.count == 39 + 38)
  }

  @Test("A step that stores with rows do not get past is told of once; earlier versions go on where it is meant to be")
  func blocked() throws {
    // V4 needs a value that older stores do not have.
    let known = known((1...6).map { count in (0..<count).map { "value\($0)" } }) { version, entity in
      if version >= 4 {
        entity.attributes.append(AttributeDocument(name: "pages", kind: .integer16, isOptional: false))
      }
    }
    var limits = RehearsalRoutes.Limits()
    (limits.maxStepCount, limits.newestCount) = (0, 1)
    func judged(_ expected: ExpectedRefusals) throws -> (cases: [MigrationRehearsal.Case], problems: [String]) {
      let stage = try RehearsalStage(known, to: nil, mappings: [], seed: 1, keptIn: nil)
      defer { stage.clear() }
      var (cases, blocked) = try stage.rehearseAll(expected, limits: limits) { _ in }
      var judge = RehearsalJudge(
        to: stage.destination, areGiven: false, expected: expected, unreadable: [], blocked: blocked)
      judge.judge(&cases)
      return (cases, judge.problems.map { "\($0.version ?? ""): \($0.text)" })
    }
    let plain = try judged([])
    #expect(plain.cases.filter { $0.source == "V2" }.map(\.destination) == ["V3", "V3", "V3"])
    #expect(plain.cases.filter { $0.source == "V2" }.allSatisfy { $0.outcome == .same })
    #expect(plain.problems.count == 2, "\(plain.problems)")
    #expect(plain.problems.first?.hasPrefix("V1: No store of 'V1' with rows reached 'V6'") == true)
    #expect(plain.problems.last?.contains("No store of 'V3' with rows reached 'V4'") == true)
    #expect(plain.problems.last?.contains("One earlier version leads through it") == true)
    let allowed = try judged([.refusal(from: "V1"), .refusal(from: "V3")])
    // What V2 would meet is not known from V3, whose refusal is meant.
    #expect(allowed.cases.filter { $0.source == "V2" }.allSatisfy { $0.destination == "V6" })
    #expect(allowed.problems.count == 1 && allowed.problems[0].hasPrefix("V2: No store of 'V2'"), "\(allowed.problems)")
  }
}
