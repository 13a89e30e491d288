// OpenCoreData
// SPDX-License-Identifier: Apache-2.0

import CoreDataTestSupport
import Foundation
import Testing

@testable import CoreData

@Suite("Relationships to objects that are gone")
struct MissingDestinationTests {
  private static let kinds = StoreKind.allCases.filter { $0 != .incremental }

  private func people(_ bench: StoreKindBench) throws -> [String] {
    try bench.context().all("Employee").map { person in
      let projects = (person["projects"] as? Set<NSManagedObject>)?.count ?? 0
      let favourites = (person["favourites"] as? NSOrderedSet)?.count ?? 0
      return "\(person["name"] ?? "") \(person["manager"] == nil ? "-" : "managed") \(projects) \(favourites)"
    }
  }

  @Test("Faults without a row, to which a program relates objects, are not saved as destinations", arguments: kinds)
  func faults(_ kind: StoreKind) throws {
    let bench = try StoreKindBench(kind)
    let (context, other) = (bench.context(), bench.context())
    let ada = other.make("Employee", ["name": "Ada"])
    let gone = [
      other.make("Manager", ["name": "Bob"]), other.make("Project", ["title": "P"]), other.make("Task", ["title": "T"]),
    ]
    try other.save()
    let ids = gone.map(\.objectID)
    for object in gone { other.delete(object) }
    try other.save()
    let mine = try context.existingObject(with: ada.objectID)
    let faults = ids.map { context.object(with: $0) }
    mine["manager"] = faults[0]
    mine.mutableSetValue(forKey: "projects").add(faults[1])
    mine.mutableOrderedSetValue(forKey: "favourites").add(faults[2])
    context.make("Employee", ["name": "Dan", "manager": faults[0]])
    try context.save()
    #expect(try people(bench) == ["Ada - 0 0", "Dan - 0 0"])
    #expect(mine["manager"] == nil && !context.hasChanges)
    context.make("Contract", ["employee": context.object(with: ids[0])])
    #expect(throws: NSError.self) { try context.save() }
  }

  @Test("Undoing does not save relationships to what was deleted elsewhere", arguments: kinds, [true, false])
  func undo(_ kind: StoreKind, _ merges: Bool) throws {
    let bench = try StoreKindBench(kind)
    let (context, other) = (bench.context(), bench.context())
    context.undoManager = UndoManager()
    context.mergePolicy = NSMergePolicy.mergeByPropertyObjectTrump
    let boss = context.make("Manager", ["name": "Bob"])
    let project = context.make("Project", ["title": "P"])
    let ada = context.make("Employee", ["name": "Ada", "manager": boss, "projects": Set([project])])
    try context.save()
    context.undoManager?.beginUndoGrouping()
    ada["manager"] = nil
    ada["projects"] = Set<NSManagedObject>()
    context.processPendingChanges()
    context.undoManager?.endUndoGrouping()
    try context.save()
    let merging = NotificationCenter.default.addObserver(
      forName: NSManagedObjectContext.didSaveObjectsNotification, object: other, queue: nil
    ) { [context] in if merges { context.mergeChanges(fromContextDidSave: $0) } }
    defer { NotificationCenter.default.removeObserver(merging) }
    for object in [boss, project] { other.delete(try other.existingObject(with: object.objectID)) }
    try other.save()
    context.undo()
    #expect(ada["manager"] != nil)
    try context.save()
    #expect(try people(bench) == ["Ada - 0 0"] && !context.hasChanges)
  }

  @Test("An object that is to be deleted does not become the destination of another", arguments: kinds)
  func deleted(_ kind: StoreKind) throws {
    let bench = try StoreKindBench(kind)
    let context = bench.context()
    let boss = context.make("Manager", ["name": "Bob"])
    let ada = context.make("Employee", ["name": "Ada"])
    try context.save()
    context.delete(boss)
    context.processPendingChanges()
    ada["manager"] = boss
    try context.save()
    #expect(try people(bench) == ["Ada - 0 0"] && ada["manager"] == nil && !context.hasChanges)
  }
}
