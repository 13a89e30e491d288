// OpenCoreData
// SPDX-License-Identifier: Apache-2.0

import CoreData
import CoreDataTestSupport
import Foundation
import Testing

/// Random changes, each of which is undone and redone.
///
/// `COREDATA_GRAPH_SEEDS` and `COREDATA_GRAPH_STEPS` in the environment ask for more; `make torture` for three times as many.
@Suite("Undo of random changes")
struct UndoModelTests {
  @Test(
    "Undoing all leads back through every state, redoing all forth, and saving writes what is there", arguments: 0..<8)
  func sequences(part: Int) throws {
    let seeds = TortureSize.number("COREDATA_GRAPH_SEEDS", 4, full: 12)
    let steps = TortureSize.number("COREDATA_GRAPH_STEPS", 30)
    for seed in 0..<seeds {
      var run = try UndoRun(seed: UInt64(part * seeds + seed))
      let problem = try run.run(steps: steps)
      #expect(problem == nil, "seed \(part * seeds + seed): \(run.log.joined(separator: "; "))")
      if problem != nil { return }
    }
  }
}

/// One sequence.
private struct UndoRun {
  let store: TemporaryStore
  let model = ReferenceGraph.model()
  let context: NSManagedObjectContext
  let manager = UndoManager()
  var random: SeededGenerator
  var objects: [NSManagedObject] = []
  var log: [String] = []
  /// The state after each step, and before the first.
  var states: [[String]] = []

  init(seed: UInt64) throws {
    random = SeededGenerator(seed: seed)
    store = try TemporaryStore()
    context = try store.context(model)
    context.undoManager = manager
  }

  /// Returns what is wrong.
  mutating func run(steps: Int) throws -> String? {
    states = [lines()]
    while states.count <= steps {
      step()
      context.processPendingChanges()
      let now = lines()
      // A step that has changed nothing leaves nothing to undo.
      if manager.undoCount == states.count { states.append(now) } else if now != states.last { return "not recorded" }
      guard states.count == manager.undoCount + 1 else { return "\(manager.undoCount) groups" }
      occasionally()
      if lines() != now { return "a save or a refresh changed something" }
    }
    if let problem = walk(to: 0) { return problem }
    if let problem = walk(to: states.count - 1) { return problem }
    for _ in 0..<6 {
      if let problem = walk(to: Int.random(in: 0..<states.count, using: &random)) { return problem }
      if save(), let problem = try differenceFromStore() { return problem }
    }
    return nil
  }

  private mutating func walk(to target: Int) -> String? {
    while manager.undoCount != target {
      let isUndo = manager.undoCount > target
      log.append(isUndo ? "undo" : "redo")
      if isUndo { context.undo() } else { context.redo() }
      let found = lines()
      let earlier = states[manager.undoCount]
      // Objects that were made later are gone.
      let expected = earlier + Array(repeating: "gone", count: found.count - earlier.count)
      guard found == expected else {
        let differences = zip(found, expected).filter { $0 != $1 }
        log.append("\(differences)")
        return "after \(isUndo ? "undo" : "redo") to \(manager.undoCount)"
      }
      occasionally()
    }
    return nil
  }

  private mutating func occasionally() {
    switch Int.random(in: 0..<12, using: &random) {
    case 0: _ = save()
    case 1:
      log.append("faults")
      for object in objects where !object.hasChanges && object.managedObjectContext != nil {
        context.refresh(object, mergeChanges: true)
      }
    default: break
    }
  }

  private mutating func save() -> Bool {
    do {
      try context.save()
      log.append("save")
      return true
    } catch {
      // A deletion that a rule forbids.
      log.append("no save")
      return false
    }
  }

  private func isThere(_ object: NSManagedObject) -> Bool {
    object.managedObjectContext != nil && !object.isDeleted
  }

  private mutating func step() {
    let there = objects.indices.filter { isThere(objects[$0]) }
    let kind = Int.random(in: 0..<10, using: &random)
    guard let id = there.randomElement(using: &random), kind > 1 else {
      let entity = ["A", "AA", "B"].randomElement(using: &random) ?? "A"
      log.append("\(objects.count) = \(entity)")
      objects.append(context.make(entity, ["number": objects.count]))
      return
    }
    let object = objects[id]
    if kind == 2 {
      log.append("delete \(id)")
      return context.delete(object)
    }
    if kind == 3 {
      let name = ["x", "y", nil].randomElement(using: &random) ?? nil
      log.append("name \(id) \(name ?? "-")")
      object["name"] = name
      return
    }
    // Several changes in one event.
    for _ in 0..<Int.random(in: 1...3, using: &random) { relate(object, id, there) }
  }

  private mutating func relate(_ object: NSManagedObject, _ id: Int, _ there: [Int]) {
    // Without an inverse, or with the deny rule, relationships go on leading to deleted objects.
    let ends = ReferenceGraph.ends(of: object.entity.name ?? "").filter {
      $0.inverse != nil && !["tags", "tagged"].contains($0.name)
    }
    guard let end = ends.randomElement(using: &random) else { return }
    let others = there.map { objects[$0] }.filter { ($0.entity.name == "B") == (end.destination == "B") }
    guard let other = others.randomElement(using: &random) else { return }
    let number = other["number"] as? Int ?? -1
    if !end.isToMany {
      let isNil = Int.random(in: 0..<4, using: &random) == 0
      log.append("\(id).\(end.name) = \(isNil ? "-" : "\(number)")")
      object[end.name] = isNil ? nil : other
    } else if end.isOrdered {
      let members = object.mutableOrderedSetValue(forKey: end.name)
      log.append("\(id).\(end.name) ~ \(number)")
      if members.contains(other) {
        if Bool.random(using: &random) {
          members.remove(other)
        } else {
          members.moveObjects(at: [0], to: members.count - 1)
        }
      } else {
        members.insert(other, at: Int.random(in: 0...members.count, using: &random))
      }
    } else {
      let members = object.mutableSetValue(forKey: end.name)
      log.append("\(id).\(end.name) ± \(number)")
      if members.contains(other) { members.remove(other) } else { members.add(other) }
    }
  }

  private func lines() -> [String] { objects.map { line($0) } }

  private func line(_ object: NSManagedObject) -> String {
    guard isThere(object) else { return "gone" }
    return ReferenceGraph.line(
      object["number"] as? Int ?? -1, object.entity.name ?? "", object["name"] as? String, nil
    ) { end in
      let value = object[end.name]
      let members =
        (value as? NSOrderedSet)?.array ?? (value as? NSSet)?.allObjects ?? [value].compactMap { $0 }
      return members.compactMap { $0 as? NSManagedObject }.map { isThere($0) ? $0["number"] as? Int ?? -1 : -2 }
    }
  }

  private func differenceFromStore() throws -> String? {
    let other = NSManagedObjectContext(.privateQueue)
    other.persistentStoreCoordinator = context.persistentStoreCoordinator
    let read = (try other.all("A", by: "number") + other.all("B", by: "number")).map { line($0) }.sorted()
    let expected = lines().filter { $0 != "gone" }.sorted()
    return read == expected ? nil : "the store has \(read), not \(expected)"
  }
}
