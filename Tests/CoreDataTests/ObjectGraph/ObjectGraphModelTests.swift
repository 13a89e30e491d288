// OpenCoreData
// SPDX-License-Identifier: Apache-2.0

import CoreData
import CoreDataTestSupport
import Foundation
import Testing

/// Random operations on a context and on a `ReferenceGraph`, which must agree after every one.
///
/// `COREDATA_GRAPH_SEEDS` and `COREDATA_GRAPH_STEPS` in the environment ask for more; `make torture` for three times as many.
@Suite("The object graph against a reference")
struct ObjectGraphModelTests {
  @Test("Random sequences of operations leave the same objects as the reference has", arguments: 0..<8)
  func sequences(part: Int) throws {
    let seeds = TortureSize.number("COREDATA_GRAPH_SEEDS", 8, full: 25)
    let steps = TortureSize.number("COREDATA_GRAPH_STEPS", 40)
    for seed in 0..<seeds {
      var run = try GraphRun(seed: UInt64(part * seeds + seed))
      for _ in 0..<steps {
        let problem = try run.step()
        #expect(problem == nil, "seed \(part * seeds + seed): \(run.log.joined(separator: "; "))")
        if problem != nil { return }
      }
    }
  }
}

/// One sequence.
private struct GraphRun {
  let store: TemporaryStore
  let model = ReferenceGraph.model()
  var context: NSManagedObjectContext
  var random: SeededGenerator
  var graph = ReferenceGraph()
  var saved = ReferenceGraph()
  var objects: [Int: NSManagedObject] = [:]
  var numbers: [NSManagedObject: Int] = [:]
  var last = 0
  var log: [String] = []

  init(seed: UInt64) throws {
    random = SeededGenerator(seed: seed)
    store = try TemporaryStore()
    context = try store.context(model)
  }

  /// Carries one operation out on both sides; the differences that it leaves.
  mutating func step() throws -> String? {
    switch Int.random(in: 0..<100, using: &random) {
    case ..<18: insert()
    case ..<32: setAttribute()
    case ..<62: changeRelationship()
    case ..<70: delete()
    case ..<80: if let problem = try save() { return problem }
    case ..<84: rollback()
    case ..<88: refresh()
    case ..<90: try reset()
    case ..<96: if let problem = try fetch() { return problem }
    default: if let problem = try editElsewhere() { return problem }
    }
    return compare()
  }

  private mutating func pick(_ entity: String? = nil) -> Int? {
    (entity.map { graph.ids(of: $0) } ?? graph.nodes.keys.sorted()).randomElement(using: &random)
  }

  private mutating func remember(_ id: Int, _ object: NSManagedObject) {
    objects[id] = object
    numbers[object] = id
  }

  private mutating func insert() {
    let entity = ["A", "AA", "B"].randomElement(using: &random) ?? "A"
    last += 1
    log.append("insert \(last) \(entity)")
    remember(last, context.make(entity))
    graph.nodes[last] = .init(entity: entity)
  }

  private mutating func setAttribute() {
    guard let id = pick(), let object = objects[id] else { return }
    if Bool.random(using: &random) {
      let value = ["x", "y", "Z", nil].randomElement(using: &random) ?? nil
      log.append("name \(id) \(value ?? "-")")
      object["name"] = value
      graph.nodes[id]?.name = value
    } else {
      let value = Int.random(in: 0..<5, using: &random)
      log.append("number \(id) \(value)")
      object["number"] = value
      graph.nodes[id]?.number = value
    }
  }

  private mutating func changeRelationship() {
    guard let id = pick(), let object = objects[id], let node = graph.nodes[id],
      let end = ReferenceGraph.ends(of: node.entity).randomElement(using: &random)
    else { return }
    guard end.isToMany else {
      let member = Int.random(in: 0..<5, using: &random) == 0 ? nil : pick(end.destination)
      log.append("\(end.name) \(id) \(member.map(String.init) ?? "-")")
      object[end.name] = member.flatMap { objects[$0] }
      graph.set(id, end, member.map { [$0] } ?? [])
      return
    }
    guard let member = pick(end.destination), let other = objects[member] else { return }
    // A relationship without inverse has one column in the destination: no second owner may take the member.
    if end.inverse == nil,
      graph.nodes.contains(where: { $0.key != id && $0.value.links[end.name]?.contains(member) == true })
    {
      return
    }
    switch Int.random(in: 0..<4, using: &random) {
    case 0, 1:
      log.append("\(end.name) \(id) + \(member)")
      if end.isOrdered {
        object.mutableOrderedSetValue(forKey: end.name).add(other)
      } else {
        object.mutableSetValue(forKey: end.name).add(other)
      }
      graph.link(id, end, member)
    case 2:
      log.append("\(end.name) \(id) - \(member)")
      if end.isOrdered {
        object.mutableOrderedSetValue(forKey: end.name).remove(other)
      } else {
        object.mutableSetValue(forKey: end.name).remove(other)
      }
      graph.unlink(id, end, member)
    default:
      let members = (graph.nodes[id]?.links[end.name] ?? []).shuffled(using: &random)
      let kept = Array(members.prefix(Int.random(in: 0...members.count, using: &random)))
      log.append("\(end.name) \(id) = \(kept)")
      object[end.name] =
        end.isOrdered
        ? NSOrderedSet(array: kept.compactMap { objects[$0] }) : NSSet(array: kept.compactMap { objects[$0] })
      graph.set(id, end, kept)
    }
  }

  private mutating func delete() {
    guard let id = pick(), let object = objects[id] else { return }
    log.append("delete \(id)")
    context.delete(object)
    context.processPendingChanges()
    let unsaved = Set(graph.nodes.keys).subtracting(saved.nodes.keys)
    graph.delete(id)
    // Objects without row are not validated: they were never there.
    for id in unsaved { graph.deleted[id] = nil }
  }

  private mutating func save() throws -> String? {
    log.append("save")
    do {
      try context.save()
    } catch {
      if graph.isDenied,
        (error as NSError).code == NSValidationRelationshipDeniedDeleteError
          || (error as NSError).code == NSValidationMultipleErrorsError
      {
        rollback()
        return nil
      }
      return "\(error)"
    }
    if graph.isDenied { return "a deletion should have been denied" }
    graph.save()
    saved = graph
    let fresh = try store.context(model)
    return compare(with: fresh, try map(of: fresh))
  }

  private mutating func rollback() {
    log.append("rollback")
    context.rollback()
    graph = saved
  }

  private mutating func refresh() {
    log.append("refresh")
    if let id = pick(), let object = objects[id], Bool.random(using: &random) {
      context.refresh(object, mergeChanges: true)
    } else {
      context.refreshAllObjects()
    }
  }

  private mutating func reset() throws {
    log.append("reset")
    context.reset()
    graph = saved
    let found = try map(of: context)
    objects = [:]
    numbers = [:]
    for (object, id) in found { remember(id, object) }
  }

  /// The objects of a context by the numbers of this run, matched by identifier.
  private func map(of other: NSManagedObjectContext) throws -> [NSManagedObject: Int] {
    guard let coordinator = other.persistentStoreCoordinator else { return [:] }
    var result: [NSManagedObject: Int] = [:]
    for id in saved.nodes.keys {
      guard let uri = objects[id]?.objectID.uriRepresentation(),
        let found = coordinator.managedObjectID(forURIRepresentation: uri)
      else { continue }
      result[try other.existingObject(with: found)] = id
    }
    return result
  }

  private mutating func fetch() throws -> String? {
    let request = NSFetchRequest<NSManagedObject>(entityName: ["A", "AA", "B"].randomElement(using: &random) ?? "A")
    let entity = request.entityName ?? ""
    let limit = Int.random(in: 0..<4, using: &random)
    let offset = Int.random(in: 0..<3, using: &random)
    let bound = Int.random(in: 0..<5, using: &random)
    let usesPredicate = Bool.random(using: &random)
    log.append("fetch \(entity) \(limit) \(offset) \(usesPredicate ? "number >= \(bound)" : "")")
    if usesPredicate { request.predicate = NSPredicate(format: "number >= %d OR name == 'x'", bound) }
    let wanted = graph.ids(of: entity).filter { id in
      guard usesPredicate, let node = graph.nodes[id] else { return true }
      return (node.number ?? -1) >= bound || node.name == "x"
    }
    let all = try context.fetch(request)
    if Set(all.compactMap { numbers[$0] }) != Set(wanted) || all.count != wanted.count {
      return "found \(all), wanted \(wanted)"
    }
    if try context.count(for: request) != wanted.count { return "counted otherwise than \(wanted.count)" }
    request.sortDescriptors = [NSSortDescriptor(key: "number", ascending: false)]
    request.fetchLimit = limit
    request.fetchOffset = offset
    let page = try context.fetch(request).map { ($0["number"] as? Int) ?? -1 }
    let sorted = wanted.map { graph.nodes[$0]?.number ?? -1 }.sorted(by: >).dropFirst(offset)
    let expected = Array(limit == 0 ? sorted : sorted.prefix(limit))
    if page != expected { return "page \(page), wanted \(expected)" }
    return try context.count(for: request) == expected.count ? nil : "counted a page otherwise than \(expected.count)"
  }

  /// A second context of the same coordinator changes something and saves; the first one merges it.
  private mutating func editElsewhere() throws -> String? {
    guard !context.hasChanges, let id = saved.nodes.keys.sorted().randomElement(using: &random) else { return nil }
    let second = NSManagedObjectContext(.privateQueue)
    second.persistentStoreCoordinator = context.persistentStoreCoordinator
    guard let own = objects[id], graph.nodes[id] != nil else { return nil }
    let object = try second.existingObject(with: own.objectID)
    log.append("elsewhere \(id)")
    object["number"] = 7
    graph.nodes[id]?.number = 7
    if let entity = graph.nodes[id]?.entity, entity != "B",
      let other = saved.ids(of: "B").randomElement(using: &random),
      let item = objects[other], let end = ReferenceGraph.ends.first(where: { $0.name == "items" })
    {
      object.mutableOrderedSetValue(forKey: "items").add(try second.existingObject(with: item.objectID))
      graph.link(id, end, other)
    }
    // Unsaved changes of another object stay as they are when the other context's are merged.
    let mine = saved.nodes.keys.sorted().filter { $0 != id }.randomElement(using: &random)
    if let mine {
      objects[mine]?["name"] = "mine"
      graph.nodes[mine]?.name = "mine"
    }
    let merged = MergeOnce(into: context, from: second)
    try second.save()
    withExtendedLifetime(merged) {}
    saved = graph
    if let mine { saved.nodes[mine]?.name = nil }
    let problem = compare()
    context.rollback()
    // What the reference had saved is what a third context reads.
    let third = try store.context(model)
    for (object, number) in try map(of: third) where number == mine {
      saved.nodes[number]?.name = object["name"] as? String
    }
    graph = saved
    return problem
  }

  private func compare() -> String? { compare(with: context, numbers) }

  private func compare(with context: NSManagedObjectContext, _ numbers: [NSManagedObject: Int]) -> String? {
    var lines: [Int: String] = [:]
    for (object, id) in numbers where graph.nodes[id] != nil {
      lines[id] = ReferenceGraph.line(id, object.entity.name ?? "", object["name"] as? String, object["number"] as? Int)
      { end in
        object.objectIDs(forRelationshipNamed: end.name).compactMap { numbers[context.object(with: $0)] }
          .filter { graph.nodes[$0] != nil }
      }
    }
    let found = lines.sorted { $0.key < $1.key }.map(\.value)
    let wanted = graph.lines()
    if found == wanted { return nil }
    return zip(found, wanted).first { $0 != $1 }.map { "found  \($0)\nwanted \($1)" }
      ?? "found \(found.count), wanted \(wanted.count)"
  }
}

/// Merges the next save of one context into another.
private final class MergeOnce {
  private let observer: any NSObjectProtocol

  init(into target: NSManagedObjectContext, from source: NSManagedObjectContext) {
    observer = NotificationCenter.default.addObserver(
      forName: NSManagedObjectContext.didSaveObjectsNotification, object: source, queue: nil
    ) { notification in target.mergeChanges(fromContextDidSave: notification) }
  }

  deinit { NotificationCenter.default.removeObserver(observer) }
}
