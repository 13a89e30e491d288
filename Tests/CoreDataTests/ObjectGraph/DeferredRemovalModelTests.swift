// OpenCoreData
// SPDX-License-Identifier: Apache-2.0

import CoreDataTestSupport
import Foundation
import Testing

@testable import CoreData

/// Compares saves that apply the deletion rules with saves before which they have been applied.
@Suite("Random deletions, with rules applied before and during the save")
struct DeferredRemovalModelTests {
  private static let entities = ["Team", "Player", "Badge", "Club"]

  private static func model(derives: Bool) -> NSManagedObjectModel {
    var builder = ModelBuilder()
    var team: [NSAttributeDescription] = [
      .make("name", .stringAttributeType, optional: false), .make("size", .integer16AttributeType),
    ]
    if derives {
      team.append(.derived("count", .integer32AttributeType, "players.@count"))
    }
    builder.entity("Team", team)
    for name in entities.dropFirst() {
      builder.entity(name, [.make("name", .stringAttributeType, optional: false)])
    }
    builder.entity("Keeper", parent: "Player")
    builder.relate(.init("Team", "players", toMany: true), .init("Player", "team"))
    builder.relate(.init("Team", "guests", toMany: true), .init("Player", "host"))
    builder.relate(
      .init("Team", "children", toMany: true),
      .init("Team", "parent", rule: derives ? .nullifyDeleteRule : .cascadeDeleteRule))
    builder.relate(.init("Player", "badges", toMany: true, rule: .cascadeDeleteRule), .init("Badge", "owner"))
    builder.relate(.init("Team", "prizes", toMany: true, ordered: true), .init("Badge", "winner"))
    builder.relate(.init("Player", "clubs", toMany: true), .init("Club", "members", toMany: true))
    return builder.model()
  }

  /// One of the two stores, with a context.
  private final class Side {
    let store: TemporaryStore
    let model: NSManagedObjectModel
    let appliesRulesBefore: Bool
    var context: NSManagedObjectContext
    var objects: [String: NSManagedObject] = [:]

    init(derives: Bool, appliesRulesBefore: Bool) throws {
      store = try TemporaryStore()
      model = DeferredRemovalModelTests.model(derives: derives)
      self.appliesRulesBefore = appliesRulesBefore
      context = try store.context(model)
    }

    func make(_ entity: String, _ name: String) {
      objects[name] = context.make(entity, ["name": name])
    }

    /// Reads all objects, in a context that knows none of them if it is another one.
    func begin(anew: Bool) throws {
      objects = [:]
      if anew {
        let coordinator = context.persistentStoreCoordinator
        context = NSManagedObjectContext(.privateQueue)
        context.persistentStoreCoordinator = coordinator
      }
      for entity in DeferredRemovalModelTests.entities {
        for object in try context.all(entity) { objects[object["name"] as? String ?? ""] = object }
      }
    }

    /// The values of all objects.
    func values() -> [String] {
      objects.sorted { $0.key < $1.key }.map { name, object in
        if object.managedObjectContext == nil { return "\(name) gone" }
        if object.isDeleted { return "\(name) deleted" }
        let keys = object.entity.propertiesByName.keys.sorted()
        let values = keys.map { "\($0)=\(Self.text(object.value(forKey: $0)))" }
        return "\(name) \(object.isUpdated) \(object.changedValues().keys.sorted()) \(values)"
      }
    }

    private static func text(_ value: Any?) -> String { StoreDump.words(of: value) { $0["name"] as? String ?? "" } }

    /// All rows, with their versions.
    func rows() throws -> [String] {
      let sqlite = try #require(context.persistentStoreCoordinator?.persistentStores.first as? SQLiteStore)
      let connection = try sqlite.state().connection
      let names = try connection.rows("SELECT name FROM sqlite_master WHERE type = 'table' ORDER BY name")
      let tables = names.compactMap { $0[0].text }.filter {
        $0.hasPrefix("Z") && !["Z_METADATA", "Z_MODELCACHE"].contains($0)
      }
      return try tables.flatMap { table in
        try connection.rows("SELECT * FROM \(table)").map { "\(table) \($0.values)" }.sorted()
      }
    }
  }

  @Test("Both give the same objects and the same rows", arguments: 1...24)
  func differential(seed: UInt64) throws {
    var random = SeededGenerator(seed: seed)
    let derives = seed % 3 == 0
    let sides = try [true, false].map { try Side(derives: derives, appliesRulesBefore: $0) }
    for side in sides {
      for number in 0..<5 { side.make("Team", "t\(number)") }
      for number in 0..<14 { side.make(number % 3 == 0 ? "Keeper" : "Player", "p\(number)") }
      for number in 0..<10 { side.make("Badge", "b\(number)") }
      for number in 0..<3 { side.make("Club", "c\(number)") }
    }
    func pick(_ prefix: String) -> String? {
      sides[0].objects.keys.filter { $0.hasPrefix(prefix) }.sorted().randomElement(using: &random)
    }
    func onBoth(_ body: (Side) throws -> Void) rethrows { for side in sides { try body(side) } }
    func relate(_ source: String, _ key: String, _ destination: String) {
      guard let one = pick(source), let other = pick(destination) else { return }
      let isCleared = Int.random(in: 0..<6, using: &random) == 0
      onBoth { side in
        guard let object = side.objects[one], !object.isDeleted, side.objects[other]?.isDeleted == false else { return }
        object.setValue(isCleared ? nil : side.objects[other], forKey: key)
      }
    }
    for number in 0..<14 {
      for (key, prefix) in [("team", "t"), ("host", "t")] {
        let other = "\(prefix)\(Int.random(in: 0..<5, using: &random))"
        onBoth { $0.objects["p\(number)"]?.setValue($0.objects[other], forKey: key) }
      }
    }
    for _ in 0..<20 { relate("b", "owner", "p") }
    for _ in 0..<10 { relate("b", "winner", "t") }
    for _ in 0..<4 { relate("t", "parent", "t") }
    onBoth { #expect($0.context.saveCode() == 0) }
    for round in 0..<8 {
      let anew = Bool.random(using: &random)
      try onBoth { try $0.begin(anew: anew) }
      if Int.random(in: 0..<3, using: &random) == 0, let name = pick("t") {
        onBoth { _ = ($0.objects[name]?.value(forKey: "players") as? NSSet)?.count }
      }
      for _ in 0..<Int.random(in: 0...3, using: &random) { relate("p", "team", "t") }
      for _ in 0..<Int.random(in: 0...2, using: &random) { relate("b", "owner", "p") }
      if Bool.random(using: &random), let name = pick("t") {
        onBoth { $0.objects[name]?.setValue(round, forKey: "size") }
      }
      for prefix in ["p", "p", "b", "b", "t"] where Int.random(in: 0..<5, using: &random) > 1 {
        guard let name = pick(prefix) else { continue }
        onBoth { side in if let object = side.objects[name] { side.context.delete(object) } }
      }
      for side in sides where side.appliesRulesBefore { side.context.processPendingChanges() }
      let policy = [
        NSMergePolicy.error, .mergeByPropertyObjectTrump, .mergeByPropertyStoreTrump, .overwrite, .rollback,
      ][Int.random(in: 0..<5, using: &random)]
      if Int.random(in: 0..<3, using: &random) == 0, let name = pick("t") {
        try onBoth { side in
          side.context.mergePolicy = policy
          let other = NSManagedObjectContext(.privateQueue)
          other.persistentStoreCoordinator = side.context.persistentStoreCoordinator
          try other.performAndWait {
            try other.all("Team").first { $0["name"] as? String == name }?.setValue(100 + round, forKey: "size")
            try other.save()
          }
        }
      }
      let isInvalid = Int.random(in: 0..<4, using: &random) == 0
      if isInvalid { onBoth { $0.context.make("Club") } }
      let codes = sides.map { $0.context.saveCode() }
      #expect(codes[0] == codes[1] && (!isInvalid || codes[0] != 0), "round \(round)")
      let values = sides.map { $0.values() }
      #expect(values[0] == values[1], "round \(round), error \(codes[0])")
      if codes[0] != 0 { onBoth { $0.context.rollback() } }
      let rows = try sides.map { try $0.rows() }
      #expect(rows[0] == rows[1], "round \(round)")
      if values[0] != values[1] || rows[0] != rows[1] { return }
    }
  }
}
