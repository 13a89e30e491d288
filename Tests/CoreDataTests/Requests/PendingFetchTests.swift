// OpenCoreData
// SPDX-License-Identifier: Apache-2.0

import CoreData
import CoreDataTestSupport
import Foundation
import Testing

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
