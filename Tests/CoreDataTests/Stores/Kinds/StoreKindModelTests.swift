// OpenCoreData
// SPDX-License-Identifier: Apache-2.0

import CoreDataTestSupport
import Foundation
import Testing

@testable import CoreData

@Suite("Every kind of store, against SQLite")
struct StoreKindModelTests {
  /// One of two contexts over a store, which are changed in the same way as those over another store.
  private struct Side {
    let bench: StoreKindBench
    var contexts: [NSManagedObjectContext]

    init(_ kind: StoreKind) throws {
      bench = try StoreKindBench(kind)
      contexts = [bench.context(), bench.context()]
      for context in contexts { context.mergePolicy = NSMergePolicy.mergeByPropertyObjectTrump }
    }

    mutating func reopen() throws {
      try bench.reopen()
      contexts = contexts.map { _ in bench.context() }
      for context in contexts { context.mergePolicy = NSMergePolicy.mergeByPropertyObjectTrump }
    }

    private func object(_ entity: String, _ number: Int, _ context: NSManagedObjectContext) throws -> NSManagedObject? {
      let key = entity == "Employee" ? "name" : "title"
      let all = try context.all(entity, by: key)
      return all.isEmpty ? nil : all[number % all.count]
    }

    /// Makes a change that depends on the numbers and on the contents alone.
    func change(_ step: Int, _ random: inout SeededGenerator) throws {
      let context = contexts[Int(random.next() % 2)]
      let (first, second) = (Int(random.next() % 1000), Int(random.next() % 1000))
      let employee = try object("Employee", first, context)
      let other = try object("Employee", second, context)
      let task = try object("Task", second, context)
      let project = try object("Project", second, context)
      switch random.next() % 16 {
      case 0, 1: context.make("Employee", ["name": String(format: "e%04d", step), "age": first % 60])
      case 2: context.make("Manager", ["name": String(format: "m%04d", step)])
      case 3: context.make("Task", ["title": String(format: "t%04d", step)])
      case 4: context.make("Project", ["title": String(format: "p%04d", step)])
      case 5: employee?["age"] = second % 60
      case 6: employee?["manager"] = other?.entity.name == "Manager" ? other : nil
      case 7:
        if let other { employee?.mutableSetValue(forKey: "friends").add(other) }
      case 8: employee?.mutableSetValue(forKey: "friends").removeAllObjects()
      case 9:
        if let task { employee?.mutableOrderedSetValue(forKey: "favourites").insert(task, at: 0) }
      case 10:
        if let project { employee?.mutableSetValue(forKey: "projects").add(project) }
      case 11:
        if let task { project?.mutableOrderedSetValue(forKey: "tasks").add(task) }
      case 12:
        if let set = project?.mutableOrderedSetValue(forKey: "tasks"), set.count > 1 {
          set.moveObjects(at: [set.count - 1], to: 0)
        }
      case 13: if second % 3 == 0, let employee { context.delete(employee) }
      case 14: if second % 3 == 0, let project { context.delete(project) }
      default: try context.save()
      }
    }

    /// Saves one context and discards the changes of the other, so that both see the store.
    func settle(_ saved: Int) throws {
      contexts[1 - saved].rollback()
      try contexts[saved].save()
      for context in contexts { context.refreshAllObjects() }
    }
  }

  @Test(
    "Random changes of two contexts leave the same objects as in a SQLite store",
    arguments: StoreKind.allCases.filter { ![.sqlite, .incremental].contains($0) },
    TortureSize.isFull ? [1, 2, 3] : [1] as [UInt64])
  func random(_ kind: StoreKind, _ seed: UInt64) throws {
    var (mine, model) = (try Side(kind), try Side(.sqlite))
    for round in 0..<12 {
      for step in 0..<12 {
        var results: [String] = []
        for side in [mine, model] {
          var random = SeededGenerator(seed: seed &* 100_000 &+ UInt64(round * 100 + step))
          do {
            try side.change(round * 100 + step, &random)
            results.append("")
          } catch let error as NSError {
            results.append("\(error.domain) \(error.code)")
            side.contexts.forEach { $0.rollback() }
          }
        }
        #expect(results[0] == results[1], "seed \(seed), round \(round), step \(step)")
      }
      for side in [mine, model] { try side.settle(round % 2) }
      #expect(try mine.bench.contents() == model.bench.contents(), "seed \(seed), round \(round)")
      if round % 4 == 3 {
        try mine.reopen()
        try model.reopen()
        #expect(try mine.bench.contents() == model.bench.contents(), "seed \(seed), round \(round), reopened")
      }
    }
  }
}
