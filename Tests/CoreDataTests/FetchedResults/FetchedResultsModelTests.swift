// OpenCoreData
// SPDX-License-Identifier: Apache-2.0

import CoreData
import CoreDataTestSupport
import Foundation
import Testing

/// Random changes of a context whose controller must have the contents of a fetch, and must have told its delegate of all
/// changes.
///
/// `COREDATA_RESULTS_SEEDS` and `COREDATA_RESULTS_STEPS` in the environment ask for more.
@Suite("Fetched results against a fetch")
struct FetchedResultsModelTests {
  @Test(
    "After random changes, the list that the delegate keeps is what a fetch returns",
    arguments: ResultsRun.Kind.allCases)
  fileprivate func sequences(kind: ResultsRun.Kind) throws {
    let seeds = TortureSize.number("COREDATA_RESULTS_SEEDS", 4, full: 12)
    let steps = TortureSize.number("COREDATA_RESULTS_STEPS", 60)
    for seed in 0..<seeds {
      var run = try ResultsRun(kind, seed: UInt64(seed))
      for _ in 0..<steps {
        let problem = try run.step()
        #expect(problem == nil, "\(kind), seed \(seed): \(run.log.joined(separator: "; "))")
        if problem != nil { return }
      }
      #expect(run.mirror.batches > steps / 4, "\(kind), seed \(seed): the delegate was called too seldom")
    }
  }
}

private struct ResultsRun {
  enum Kind: CaseIterable {
    case plain
    case sections
    case relationshipSections
    case limited
    case savedOnly
  }

  let kind: Kind
  let store: TemporaryStore
  let context: NSManagedObjectContext
  let elsewhere: NSManagedObjectContext
  let controller: NSFetchedResultsController<NSManagedObject>
  let mirror = FetchedListMirror()
  var random: SeededGenerator
  var log: [String] = []
  private var last = 0

  init(_ kind: Kind, seed: UInt64) throws {
    self.kind = kind
    random = SeededGenerator(seed: seed)
    store = try TemporaryStore()
    context = try store.context(CompanyModel.make())
    elsewhere = NSManagedObjectContext(.privateQueue)
    elsewhere.persistentStoreCoordinator = context.persistentStoreCoordinator
    for name in ["a", "b", "c"] { context.make("Department", ["name": name]) }
    try context.save()
    let request = NSFetchRequest<NSManagedObject>(entityName: "Employee")
    request.predicate = NSPredicate(format: "rating < 7 OR rating = nil")
    let path = kind == .sections ? "badge" : kind == .relationshipSections ? "department.name" : nil
    // Without the name, many objects are equal in the order.
    let keys = [path, "age", kind == .plain ? nil : "name"].compactMap { $0 }
    request.sortDescriptors = keys.map { NSSortDescriptor(key: $0, ascending: $0 != "age") }
    if kind == .limited { (request.fetchLimit, request.fetchOffset) = (5, 2) }
    if kind == .savedOnly { request.includesPendingChanges = false }
    controller = NSFetchedResultsController(
      fetchRequest: request, managedObjectContext: context, sectionNameKeyPath: path, cacheName: nil)
    try controller.performFetch()
    controller.delegate = mirror
    mirror.show(controller)
  }

  mutating func step() throws -> String? {
    var random = random
    defer { self.random = random }
    let all = try context.all("Employee")
    switch Int.random(in: 0..<100, using: &random) {
    case ..<60:
      for _ in 0..<Int.random(in: 1...6, using: &random) { try change(context, &random) }
      context.processPendingChanges()
      log.append("process")
    case ..<74:
      try context.save()
      log.append("save")
    case ..<80:
      for object in all.filter({ !$0.isInserted }).shuffled(using: &random).prefix(3) {
        context.refresh(object, mergeChanges: true)
      }
      log.append("refresh")
    case ..<83 where kind != .savedOnly:
      context.reset()
      log.append("reset")
    default:
      try context.save()
      try elsewhere.save()
      elsewhere.reset()
      for _ in 0..<Int.random(in: 1...6, using: &random) { try change(elsewhere, &random) }
      let target = context
      // A context can only refresh objects that it has.
      for object in all { object.willAccessValue(forKey: nil) }
      let observer = NotificationCenter.default.addObserver(
        forName: NSManagedObjectContext.didSaveObjectsNotification, object: elsewhere, queue: nil
      ) { target.mergeChanges(fromContextDidSave: $0) }
      defer { NotificationCenter.default.removeObserver(observer) }
      try elsewhere.save()
      log.append("merge")
    }
    return try compare()
  }

  private mutating func change(_ context: NSManagedObjectContext, _ random: inout SeededGenerator) throws {
    let all = try context.all("Employee")
    let where_ = context === self.context ? "" : "elsewhere "
    guard let object = all.randomElement(using: &random), Int.random(in: 0..<10, using: &random) > 2 || all.count > 25
    else {
      last += 1
      let name = String(format: "e%03d", Int.random(in: 0..<1000, using: &random)) + "-\(last)"
      let object = context.make(Bool.random(using: &random) ? "Employee" : "Manager", ["name": name])
      object.setValue(Int.random(in: 0..<4, using: &random), forKey: "age")
      object.setValue([1, 2, 3].randomElement(using: &random), forKey: "badge")
      object.setValue(Double(Int.random(in: 0..<10, using: &random)), forKey: "rating")
      object.setValue(try context.all("Department").randomElement(using: &random), forKey: "department")
      log.append("\(where_)insert \(name)")
      return
    }
    let name = object.value(forKey: "name") as? String ?? ""
    switch Int.random(in: 0..<10, using: &random) {
    case 0:
      context.delete(object)
      log.append("\(where_)delete \(name)")
    case 1...3:
      object.setValue(Int.random(in: 0..<4, using: &random), forKey: "age")
      log.append("\(where_)age of \(name)")
    case 4, 5:
      object.setValue(
        [1, 2, 3, 4, nil].compactMap { $0 }.dropLast(Int.random(in: 0...4, using: &random)).last, forKey: "badge")
      log.append("\(where_)badge of \(name)")
    case 6, 7:
      object.setValue(Double(Int.random(in: 0..<10, using: &random)), forKey: "rating")
      log.append("\(where_)rating of \(name)")
    case 8:
      object.setValue(try context.all("Department").randomElement(using: &random), forKey: "department")
      log.append("\(where_)department of \(name)")
    default:
      object.setValue(Int.random(in: 0..<100, using: &random), forKey: "steps")
      log.append("\(where_)steps of \(name)")
    }
  }

  /// Compares the list, the controller and a fetch.
  private func compare() throws -> String? {
    if let problem = mirror.problems.first { return problem }
    let sections = FetchedListMirror.sections(of: controller)
    if sections != mirror.sections { return "the delegate has \(mirror.sections), the controller \(sections)" }
    // Unsaved values are not those by which the store sorts.
    if kind == .savedOnly, context.hasChanges { return nil }
    let names = try context.fetch(controller.fetchRequest).map { $0.value(forKey: "name") as? String ?? "nil" }
    if sections.flatMap(\.rows) != names { return "the controller has \(sections.map(\.rows)), a fetch \(names)" }
    let fresh = NSFetchedResultsController(
      fetchRequest: controller.fetchRequest, managedObjectContext: context,
      sectionNameKeyPath: controller.sectionNameKeyPath, cacheName: nil)
    try fresh.performFetch()
    let others = FetchedListMirror.sections(of: fresh)
    return others == sections ? nil : "the sections are \(sections), those of a new controller \(others)"
  }
}
