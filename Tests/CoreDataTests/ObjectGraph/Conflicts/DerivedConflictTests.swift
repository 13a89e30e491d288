// OpenCoreData
// SPDX-License-Identifier: Apache-2.0

import CoreDataTestSupport
import Foundation
import Testing

@testable import CoreData

@Suite("Derived attributes, and random changes of two contexts")
struct DerivedConflictTests {
  private static func model() -> NSManagedObjectModel {
    var builder = ModelBuilder()
    builder.entity(
      "Team",
      [
        .make("name", .stringAttributeType), .derived("count", .integer64AttributeType, "players.@count"),
        .derived("total", .integer64AttributeType, "players.score.@sum"),
      ])
    builder.entity(
      "Player",
      [
        .make("name", .stringAttributeType), .make("score", .integer64AttributeType),
        .derived("teamName", .stringAttributeType, "team.name"),
      ])
    builder.relate(.init("Team", "players", toMany: true), .init("Player", "team"))
    return builder.model()
  }

  /// Returns the derived values that are not what the objects say.
  private func problems(in bench: StoreKindBench) throws -> [String] {
    let context = bench.context()
    var problems: [String] = []
    for team in try context.all("Team") {
      let players = team["players"] as? Set<NSManagedObject> ?? []
      let total = players.reduce(0) { $0 + ($1["score"] as? Int ?? 0) }
      if team["count"] as? Int != players.count {
        problems.append("count \(team["count"] ?? "-"), not \(players.count)")
      }
      if team["total"] as? Int ?? 0 != total { problems.append("total \(team["total"] ?? "-"), not \(total)") }
    }
    for player in try context.all("Player") {
      let name = (player["team"] as? NSManagedObject)?["name"] as? String
      if player["teamName"] as? String != name { problems.append("\(player["teamName"] ?? "-"), not \(name ?? "-")") }
    }
    return problems
  }

  private func change(_ context: NSManagedObjectContext, _ random: inout SeededGenerator) throws {
    guard let team = try context.all("Team").randomElement(using: &random),
      let player = try context.all("Player").randomElement(using: &random)
    else { return }
    switch random.next() % 8 {
    case 0, 1: player["score"] = Int(random.next() % 50)
    case 2: player["team"] = random.next() % 3 == 0 ? nil : team
    case 3: player["name"] = "x\(random.next() % 100)"
    case 4: team["name"] = "t\(random.next() % 100)"
    case 5: context.make("Player", ["name": "n\(random.next() % 100)", "score": 3, "team": team])
    case 6: context.delete(player)
    default: if random.next() % 4 == 0 { context.delete(team) }
    }
  }

  @Test(
    "Are those of the objects as they are stored, whatever the merge policy decides",
    arguments: [StoreKind.sqlite, .inMemory], 1...4 as ClosedRange<UInt>)
  func random(_ kind: StoreKind, _ type: UInt) throws {
    let policy = try #require(NSMergePolicyType(rawValue: type))
    for seed in 1...12 as ClosedRange<UInt64> {
      var random = SeededGenerator(seed: seed)
      let bench = try StoreKindBench(kind, Self.model)
      let setUp = bench.context()
      for number in 0..<3 {
        let team = setUp.make("Team", ["name": "t\(number)"])
        for other in 0..<3 {
          setUp.make("Player", ["name": "p\(number)\(other)", "score": number + other, "team": team])
        }
      }
      try setUp.save()
      for round in 0..<6 {
        let (first, second) = (bench.context(), bench.context())
        second.mergePolicy = NSMergePolicy(merge: policy)
        for object in try second.all("Team") + second.all("Player") where random.next() % 3 > 0 {
          for key in object.entity.propertiesByName.keys { _ = object.value(forKey: key) }
        }
        for _ in 0..<Int.random(in: 1...3, using: &random) { try change(first, &random) }
        try first.save()
        for _ in 0..<Int.random(in: 1...3, using: &random) { try change(second, &random) }
        try second.save()
        let problems = try problems(in: bench)
        #expect(problems == [], "seed \(seed), round \(round)")
        if !problems.isEmpty { break }
      }
    }
  }
}
