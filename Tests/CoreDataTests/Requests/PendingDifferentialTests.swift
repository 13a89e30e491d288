// OpenCoreData
// SPDX-License-Identifier: Apache-2.0

import CoreDataTestSupport
import Foundation
import Testing

@testable import CoreData

/// Fetches that leave the changed objects to memory, against fetches of all objects: the same objects in the same order.
@Suite("Fetches beside unsaved changes against the fetch of everything")
struct PendingDifferentialTests {
  /// Where the employees are stored.
  enum Place: CaseIterable {
    case file, memory, twoFiles, twoConfigurations, fileAndMemory, requests
  }

  private static func context(_ place: Place, _ store: TemporaryStore) throws -> NSManagedObjectContext {
    let model = CompanyModel.make()
    if place == .twoConfigurations {
      let employees = ["Employee", "Manager"].compactMap { model.entitiesByName[$0] }
      model.setEntities(employees, forConfigurationName: "Employees")
      model.setEntities(model.entities, forConfigurationName: "Everything")
    }
    let coordinator = NSPersistentStoreCoordinator(managedObjectModel: model)
    switch place {
    case .file: try coordinator.addPersistentStore(type: .sqlite, at: store.url)
    case .memory: try coordinator.addPersistentStore(type: .inMemory, at: URL(fileURLWithPath: "/dev/null"))
    case .twoFiles:
      for name in ["a", "b"] {
        try coordinator.addPersistentStore(type: .sqlite, at: store.folder.appendingPathComponent("\(name).sqlite"))
      }
    case .twoConfigurations:
      for name in ["Employees", "Everything"] {
        try coordinator.addPersistentStore(
          type: .sqlite, configuration: name, at: store.folder.appendingPathComponent("\(name).sqlite"))
      }
    case .fileAndMemory:
      try coordinator.addPersistentStore(type: .sqlite, at: store.url)
      try coordinator.addPersistentStore(type: .inMemory, at: URL(fileURLWithPath: "/dev/null"))
    case .requests:
      _ = StoreKind.registration
      try coordinator.addPersistentStore(
        type: StoreKind.incremental.type, at: StoreKind.incremental.url(in: store.folder))
    }
    let context = NSManagedObjectContext(.privateQueue)
    context.persistentStoreCoordinator = coordinator
    return context
  }

  @Test(
    "Pages, batches, identifiers and counts are those of all objects", arguments: Place.allCases,
    0..<(TortureSize.isFull ? 4 : 2) as Range<UInt64>
  )
  func sameResults(place: Place, seed: UInt64) throws {
    // The generator's sequences of neighboring seeds overlap.
    var random = SeededGenerator(seed: (seed &+ 41) &* 1_000_003)
    let store = try TemporaryStore()
    let context = try Self.context(place, store)
    let stores = try #require(context.persistentStoreCoordinator?.persistentStores)
    Changes.add(80, to: context, among: stores, &random)
    try context.save()
    if Bool.random(using: &random) { context.reset() }
    try Changes.make(in: context, among: stores, &random)
    try check(60, context, "\(place), seed \(seed)", &random)
  }

  @Test(
    "Pages and counts of a tree of contexts with changes at several levels are those of all objects",
    arguments: Place.allCases, 0..<(TortureSize.isFull ? 5 : 2) as Range<UInt64>)
  func sameResultsInTrees(place: Place, seed: UInt64) throws {
    var random = SeededGenerator(seed: (seed &+ 977) &* 1_000_003)
    let store = try TemporaryStore()
    let root = try Self.context(place, store)
    let stores = try #require(root.persistentStoreCoordinator?.persistentStores)
    Changes.add(80, to: root, among: stores, &random)
    try root.save()
    if Bool.random(using: &random) { root.reset() }
    var contexts = [root]
    for _ in 0..<Int.random(in: 1...2, using: &random) {
      let context = NSManagedObjectContext(.privateQueue)
      context.parent = contexts.last
      contexts.append(context)
    }
    // From the root down: a context keeps the values of objects that its parent changes afterwards.
    for (level, context) in contexts.enumerated() {
      if level < contexts.count - 1, Int.random(in: 0..<4, using: &random) == 0 { continue }
      try Changes.make(in: context, among: stores, &random)
      guard Bool.random(using: &random) else { continue }
      try context.save()
      if level == contexts.count - 1 || Bool.random(using: &random) {
        try Changes.make(in: context, among: stores, &random)
      }
    }
    // Lower contexts still know the new objects by their temporary identifiers.
    if Bool.random(using: &random) { try root.save() }
    for context in contexts.reversed() {
      try check(20, context, "\(place), seed \(seed), \(contexts.count) levels", &random)
    }
  }

  /// Random changes of employees.
  private enum Changes {
    static func set(_ object: NSManagedObject, _ random: inout SeededGenerator) {
      let age = Int.random(in: -1..<4, using: &random)
      object.setValue(age < 0 ? nil : age, forKey: "age")
      object.setValue(["a", "A", "b", "ä", ""].randomElement(using: &random), forKey: "name")
      object.setValue(Bool.random(using: &random) ? nil : Int.random(in: 0..<100, using: &random), forKey: "badge")
    }

    static func add(
      _ count: Int, to context: NSManagedObjectContext, among stores: [NSPersistentStore],
      _ random: inout SeededGenerator
    ) {
      for number in 0..<count {
        let object = context.make(number % 3 == 0 ? "Manager" : "Employee")
        if let store = stores.randomElement(using: &random) { context.assign(object, to: store) }
        set(object, &random)
      }
    }

    static func make(
      in context: NSManagedObjectContext, among stores: [NSPersistentStore], _ random: inout SeededGenerator
    ) throws {
      for object in try context.all("Employee").shuffled(using: &random).prefix(20) { set(object, &random) }
      for object in try context.all("Employee").shuffled(using: &random).prefix(8) { context.delete(object) }
      add(15, to: context, among: stores, &random)
    }
  }

  /// Compares fetches within offset and limit with fetches of everything.
  private func check(
    _ count: Int, _ context: NSManagedObjectContext, _ title: String, _ random: inout SeededGenerator
  ) throws {
    for number in 0..<count {
      let request = NSFetchRequest<NSManagedObject>(entityName: Bool.random(using: &random) ? "Employee" : "Manager")
      let keys =
        [["age"], ["age", "badge"], [], ["badge"], ["name"], ["name", "age"]].randomElement(using: &random) ?? []
      request.sortDescriptors = keys.map { key in
        let method = key == "name" && Bool.random(using: &random) ? "caseInsensitiveCompare:" : "compare:"
        return NSSortDescriptor(key: key, ascending: Bool.random(using: &random), selector: method)
      }
      let formats = ["badge < 60", "age > 0 AND badge != 20", "age = nil", "name CONTAINS[cd] 'a'", "badge < 0"]
      request.predicate = (formats + [nil]).randomElement(using: &random)?.map { NSPredicate(format: $0) }
      request.includesSubentities = Bool.random(using: &random)
      let all = try context.fetch(request)
      let (offset, limit) = (Int.random(in: 0...20, using: &random), Int.random(in: 0...20, using: &random))
      let page = limit == 0 ? Array(all.dropFirst(offset)) : Array(all.dropFirst(offset).prefix(limit))
      (request.fetchLimit, request.fetchOffset) = (limit, offset)
      let text: Comment =
        "\(title), request \(number): \(request.predicate.map { "\($0)" } ?? "") \(keys) \(offset) + \(limit)"
      #expect(try context.fetch(request) == page, text)
      #expect(try context.count(for: request) == page.count, text)
      request.fetchBatchSize = 7
      #expect(try context.fetch(request) == page, text)
      let ids = NSFetchRequest<NSManagedObjectID>(entityName: request.entityName ?? "")
      ids.specification = request.specification
      ids.resultType = .managedObjectIDResultType
      #expect(try context.fetch(ids) == page.map(\.objectID), text)
    }
  }

  @Test(
    "A batch size reads only the batches that are walked, with changed, deleted and new objects in their places",
    arguments: [false, true])
  func batches(isChild: Bool) throws {
    let store = try TemporaryStore()
    let writer = try store.context(CompanyModel.make())
    for number in 0..<400 { writer.make("Task", ["title": String(format: "%03d", number)]) }
    try writer.save()
    var context = try store.context(CompanyModel.make())
    if isChild {
      let parent = NSManagedObjectContext(.privateQueue)
      parent.persistentStoreCoordinator = context.persistentStoreCoordinator
      context = NSManagedObjectContext(.privateQueue)
      context.parent = parent
    }
    let known = try context.all("Task", by: "title", where: NSPredicate(format: "title IN {'001', '002', '399'}"))
    known[0].setValue("200-", forKey: "title")
    context.delete(known[1])
    known[2].setValue("gone", forKey: "title")
    context.make("Task", ["title": "000-"])
    let request = NSFetchRequest<NSManagedObject>(entityName: "Task")
    request.sortDescriptors = [NSSortDescriptor(key: "title", ascending: true)]
    request.predicate = NSPredicate(format: "title != 'gone'")
    request.fetchBatchSize = 20
    let tasks = try context.fetch(request)
    #expect(tasks.count == 399)
    #expect(tasks.count { $0.isFault && $0.snapshot == nil } > 370)
    let expected =
      (["000", "000-"] + (3...200).map { String(format: "%03d", $0) } + ["200-"]
        + (201..<399).map { String(format: "%03d", $0) })
    #expect(tasks[300].value(forKey: "title") as? String == expected[300])
    #expect(tasks.count { $0.snapshot != nil } < 50)
    #expect(tasks.map { $0.value(forKey: "title") as? String } == expected)
  }

  @Test("A batch size over several stores reads identifiers in one order, and the rows of the batches that are walked")
  func batchesOfSeveralStores() throws {
    let store = try TemporaryStore()
    let writer = try Self.context(.twoFiles, store)
    let stores = try #require(writer.persistentStoreCoordinator?.persistentStores)
    for number in 0..<400 {
      writer.assign(writer.make("Task", ["title": String(format: "%03d", number)]), to: stores[number * 7 % 5 % 2])
    }
    try writer.save()
    let context = NSManagedObjectContext(.privateQueue)
    context.persistentStoreCoordinator = writer.persistentStoreCoordinator
    func tasks() throws -> [NSManagedObject] {
      let request = NSFetchRequest<NSManagedObject>(entityName: "Task")
      request.sortDescriptors = [NSSortDescriptor(key: "title", ascending: false)]
      request.predicate = NSPredicate(format: "title != 'gone'")
      request.fetchBatchSize = 20
      return try context.fetch(request)
    }
    var expected = (0..<400).reversed().map { String(format: "%03d", $0) }
    var found = try tasks()
    #expect(found.count == 400 && found.allSatisfy { $0.isFault && $0.snapshot == nil })
    #expect(found[150].value(forKey: "title") as? String == expected[150])
    #expect(found.count { $0.snapshot != nil } == 20)
    let known = [found[399], found[398], found[0]]
    known[0].setValue("200-", forKey: "title")
    context.delete(known[1])
    known[2].setValue("gone", forKey: "title")
    let new = context.make("Task", ["title": "000-"])
    found = try tasks()
    expected = ["200-", "000-"] + expected[1..<398]
    expected.sort(by: >)
    #expect(found.count == 399 && found[398] === new)
    // The batches of the task that was read, and of the three that were changed.
    #expect(found.count { $0.snapshot != nil } <= 60)
    #expect(found.map { $0.value(forKey: "title") as? String } == expected)
    #expect(Set(found.filter { !$0.isInserted }.map(\.objectID.persistentStore)).count == 2)
  }

  @Test("An order by values of objects with unsaved changes is that of the new values")
  func orderOfDestinations() throws {
    let context = try TemporaryStore().context(CompanyModel.make())
    let departments = ["a", "b", "c"].map { context.make("Department", ["name": $0]) }
    for (number, department) in departments.enumerated() {
      context.make("Employee", ["name": "n\(number)", "department": department])
    }
    try context.save()
    departments[0].setValue("z", forKey: "name")
    context.make("Employee", ["name": "new", "department": departments[1]])
    let request = NSFetchRequest<NSManagedObject>(entityName: "Employee")
    request.sortDescriptors = [NSSortDescriptor(key: "department.name", ascending: true)]
    request.fetchLimit = 3
    func names() throws -> [String?] { try context.fetch(request).map { $0.value(forKey: "name") as? String } }
    #expect(try names() == ["n1", "new", "n2"])
    (request.fetchLimit, request.fetchBatchSize) = (0, 2)
    #expect(try names() == ["n1", "new", "n2", "n0"])
  }
}
