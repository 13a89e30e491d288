// OpenCoreData
// SPDX-License-Identifier: Apache-2.0

import CoreDataTestSupport
import Foundation
import Testing

@testable import CoreData

@Suite("Limited fetches and counts with unsaved changes")
struct PendingFetchTests {
  /// Counts the objects that are made.
  final class CountedTask: NSManagedObject {
    nonisolated(unsafe) static var made = 0

    required init(entity: NSEntityDescription, insertInto context: NSManagedObjectContext?) {
      Self.made += 1
      super.init(entity: entity, insertInto: context)
    }
  }

  /// Counts the objects that the contexts of a tree make.
  final class CountedTreeTask: NSManagedObject {
    nonisolated(unsafe) static var made = 0

    required init(entity: NSEntityDescription, insertInto context: NSManagedObjectContext?) {
      Self.made += 1
      super.init(entity: entity, insertInto: context)
    }
  }

  @Test("A limited fetch reads no more rows than it returns, plus those of changed objects; a count reads none")
  func economy() throws {
    let model = CompanyModel.make()
    model.entitiesByName["Task"]?.managedObjectClassName = "CountedTask"
    ManagedObjectClasses.register(CountedTask.self, as: "CountedTask")
    let context = try TemporaryStore().context(model)
    for number in 0..<2000 { context.make("Task", ["title": String(format: "%04d", number)]) }
    try context.save()
    context.reset()
    for number in 0..<50 { context.make("Task", ["title": "0003-\(number)"]) }
    let first = try #require(try context.all("Task", by: "title", where: NSPredicate(format: "title = '0001'")).first)
    context.delete(first)
    CountedTask.made = 0
    let request = NSFetchRequest<NSManagedObject>(entityName: "Task")
    request.sortDescriptors = [NSSortDescriptor(key: "title", ascending: true)]
    (request.fetchLimit, request.fetchOffset) = (4, 1)
    let titles = try context.fetch(request).map { $0.value(forKey: "title") as? String }
    #expect(titles == ["0002", "0003", "0003-0", "0003-1"])
    #expect(CountedTask.made <= 6)
    CountedTask.made = 0
    request.fetchLimit = 0
    #expect(try context.count(for: request) == 2048 && CountedTask.made == 0)
    request.predicate = NSPredicate(format: "title BEGINSWITH '0003'")
    #expect(try context.count(for: request) == 50 && CountedTask.made == 0)
  }

  @Test(
    "In a tree of contexts with unsaved changes, each context asks for the limit and its changed objects; a count reads none"
  )
  func economyInTrees() throws {
    let model = CompanyModel.make()
    model.entitiesByName["Task"]?.managedObjectClassName = "CountedTreeTask"
    ManagedObjectClasses.register(CountedTreeTask.self, as: "CountedTreeTask")
    let root = try TemporaryStore().context(model)
    for number in 0..<2000 { root.make("Task", ["title": String(format: "%04d", number)]) }
    try root.save()
    root.reset()
    let middle = NSManagedObjectContext(.privateQueue)
    middle.parent = root
    let leaf = NSManagedObjectContext(.privateQueue)
    leaf.parent = middle
    var known: [NSManagedObject] = []
    for (context, number) in [(root, "0001"), (middle, "0002"), (leaf, "0003")] {
      let found = try context.all("Task", by: "title", where: NSPredicate(format: "title = %@", number))
      known += found
      for object in found { context.delete(object) }
      for other in 0..<50 { context.make("Task", ["title": "0004-\(number)-\(other)"]) }
    }
    let last = try leaf.all("Task", by: "title", where: NSPredicate(format: "title = '1999'"))
    last.first?.setValue("0004", forKey: "title")
    #expect(known.count == 3 && last.count == 1)
    CountedTreeTask.made = 0
    let request = NSFetchRequest<NSManagedObject>(entityName: "Task")
    request.sortDescriptors = [NSSortDescriptor(key: "title", ascending: true)]
    (request.fetchLimit, request.fetchOffset) = (3, 1)
    let titles = try leaf.fetch(request).map { $0.value(forKey: "title") as? String }
    #expect(titles == ["0004", "0004", "0004-0001-0"])
    // At most seven in each of the three contexts: four, and those that the changes of the contexts above may remove.
    #expect(CountedTreeTask.made <= 21, "\(CountedTreeTask.made) objects")
    CountedTreeTask.made = 0
    request.fetchLimit = 0
    #expect(try leaf.count(for: request) == 2146)
    request.predicate = NSPredicate(format: "title BEGINSWITH '0004'")
    #expect(try leaf.count(for: request) == 151)
    #expect(CountedTreeTask.made == 0)
  }

  @Test("A store that executes requests gets the predicate, the order and the limit of a child's request")
  func requestsOfChildren() throws {
    let bench = try StoreKindBench(.incremental)
    let root = bench.context()
    for number in 0..<9 { root.make("Task", ["title": "\(number)"]) }
    try root.save()
    root.reset()
    let child = NSManagedObjectContext(.privateQueue)
    child.parent = root
    let request = NSFetchRequest<NSManagedObject>(entityName: "Task")
    request.predicate = NSPredicate(format: "title > '2'")
    request.sortDescriptors = [NSSortDescriptor(key: "title", ascending: false)]
    (request.fetchLimit, request.fetchOffset) = (3, 1)
    func titles() throws -> [String?] { try child.fetch(request).map { $0.value(forKey: "title") as? String } }
    #expect(try titles() == ["7", "6", "5"])
    #expect(try child.count(for: request) == 3)
    child.make("Task", ["title": "65"])
    #expect(try titles() == ["7", "65", "6"])
    request.fetchLimit = 0
    #expect(try child.count(for: request) == 6)
  }

  @Test(
    "With random unsaved changes, every page and count is what it is after a save", arguments: 0..<20 as Range<UInt64>)
  func pages(seed: UInt64) throws {
    var random = SeededGenerator(seed: seed)
    let store = try TemporaryStore()
    let context = try store.context(CompanyModel.make())
    func set(_ object: NSManagedObject) {
      object.setValue(Int.random(in: 0..<4, using: &random), forKey: "age")
      object.setValue(Int.random(in: 0..<100, using: &random), forKey: "badge")
    }
    for number in 0..<60 { set(context.make(number % 3 == 0 ? "Manager" : "Employee", ["name": "n\(number)"])) }
    try context.save()
    for object in try context.all("Employee").shuffled(using: &random).prefix(15) { set(object) }
    for object in try context.all("Employee").shuffled(using: &random).prefix(8) { context.delete(object) }
    for number in 60..<75 { set(context.make("Employee", ["name": "n\(number)"])) }
    var requests: [NSFetchRequest<NSManagedObject>] = []
    for _ in 0..<30 {
      let request = NSFetchRequest<NSManagedObject>(entityName: Bool.random(using: &random) ? "Employee" : "Manager")
      request.sortDescriptors =
        [["age"], ["age", "badge"], [], ["badge"]].randomElement(using: &random)?.map {
          NSSortDescriptor(key: $0, ascending: Bool.random(using: &random))
        }
      request.predicate =
        [nil, NSPredicate(format: "badge < 60"), NSPredicate(format: "age > 0 AND badge > 20")]
        .randomElement(using: &random) ?? nil
      request.fetchLimit = Int.random(in: 0...20, using: &random)
      request.fetchOffset = Int.random(in: 0...20, using: &random)
      request.includesSubentities = Bool.random(using: &random)
      requests.append(request)
    }
    func answers() throws -> [[String]] {
      try requests.map { request in
        try context.fetch(request).map { $0.value(forKey: "name") as? String ?? "" }
          + ["\(try context.count(for: request))"]
      }
    }
    let before = try answers()
    try context.save()
    let after = try answers()
    for (request, (unsaved, saved)) in zip(requests, zip(before, after)) {
      #expect(
        unsaved == saved,
        "seed \(seed), \(request.sortDescriptors ?? []), \(request.fetchLimit), \(request.fetchOffset)")
    }
  }
}
