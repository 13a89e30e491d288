// OpenCoreData
// SPDX-License-Identifier: Apache-2.0

import CoreData
import CoreDataTestSupport
import Foundation
import Testing

/// Random operations on a tree of contexts, each of which must agree with a `ReferenceGraph` of its own.
///
/// `COREDATA_TREE_SEEDS` and `COREDATA_TREE_STEPS` in the environment ask for more; `make torture` for three times as many.
@Suite("A tree of contexts against a reference")
struct ContextTreeModelTests {
  @Test("Random sequences of operations leave the same objects in each context as the reference has", arguments: 0..<8)
  func sequences(part: Int) throws {
    let seeds = TortureSize.number("COREDATA_TREE_SEEDS", 8, full: 25)
    let steps = TortureSize.number("COREDATA_TREE_STEPS", 60)
    for seed in 0..<seeds {
      let run = try TreeRun(seed: UInt64(part * seeds + seed))
      for _ in 0..<steps {
        let problem = try run.step()
        #expect(problem == nil, "seed \(part * seeds + seed): \(run.log.joined(separator: "; "))")
        if problem != nil { return }
      }
    }
  }
}

/// One context of the tree.
private final class TreeNode {
  let name: String
  let context: NSManagedObjectContext
  let parent: TreeNode?
  /// What the context shows.
  var graph = ReferenceGraph()
  /// What the context's changes are based on: as it last read the parent, or saved.
  var base = ReferenceGraph()
  var objects: [Int: NSManagedObject] = [:]
  var numbers: [NSManagedObject: Int] = [:]

  init(_ name: String, _ context: NSManagedObjectContext, _ parent: TreeNode?) {
    (self.name, self.context, self.parent) = (name, context, parent)
    if let parent { context.parent = parent.context }
  }

  /// Whether the context and those above it show what their parents show.
  var isFresh: Bool {
    guard let parent else { return true }
    return parent.isFresh && base.nodes == parent.graph.nodes
  }

  func remember(_ id: Int, _ object: NSManagedObject) {
    objects[id] = object
    numbers[object] = id
  }

  func compare() -> String? {
    var lines: [Int: String] = [:]
    for (id, object) in objects where graph.nodes[id] != nil {
      lines[id] = ReferenceGraph.line(id, object.entity.name ?? "", object["name"] as? String, object["number"] as? Int)
      { end in
        let members: [Any] =
          switch object[end.name] {
          case let set as NSOrderedSet: set.array
          case let set as NSSet: set.allObjects
          case let other?: [other]
          case nil: []
          }
        return members.compactMap { $0 as? NSManagedObject }.filter { !$0.isDeleted }.map { numbers[$0] ?? -1 }
      }
    }
    let (found, wanted) = (lines.sorted { $0.key < $1.key }.map(\.value), graph.lines())
    if found == wanted { return nil }
    return "\(name) has\n\(found.joined(separator: "\n"))\nthe reference\n\(wanted.joined(separator: "\n"))"
  }

  /// Hands the changes of the reference to that of the parent; false if the parent has deleted a changed object.
  func save() -> Bool {
    guard let parent else {
      graph.save()
      base = graph
      return true
    }
    let changed = graph.nodes.keys.sorted().filter { base.nodes[$0] != nil && isChanged($0) }
    if changed.contains(where: { parent.graph.nodes[$0] == nil }) { return false }
    let inserted = graph.nodes.keys.sorted().filter { base.nodes[$0] == nil }
    for id in inserted { parent.graph.nodes[id] = .init(entity: graph.nodes[id]?.entity ?? "") }
    for id in inserted + changed { hand(id, to: parent) }
    for id in base.nodes.keys.sorted() where graph.nodes[id] == nil {
      let unsaved = Set(parent.graph.nodes.keys).subtracting(parent.base.nodes.keys)
      parent.graph.delete(id)
      for id in unsaved { parent.graph.deleted[id] = nil }
    }
    graph.save()
    base = graph
    return true
  }

  private func isChanged(_ id: Int) -> Bool {
    guard let new = graph.nodes[id], let old = base.nodes[id] else { return false }
    return new.name != old.name || new.number != old.number
      || ReferenceGraph.ends(of: new.entity).contains { isChanged(new, old, $0) }
  }

  private func isChanged(_ new: ReferenceGraph.Node, _ old: ReferenceGraph.Node?, _ end: ReferenceGraph.End) -> Bool {
    let (members, before) = (new.links[end.name] ?? [], old?.links[end.name] ?? [])
    return end.isOrdered ? members != before : Set(members) != Set(before)
  }

  private func hand(_ id: Int, to parent: TreeNode) {
    guard let new = graph.nodes[id] else { return }
    let old = base.nodes[id]
    if new.name != old?.name { parent.graph.nodes[id]?.name = new.name }
    if new.number != old?.number { parent.graph.nodes[id]?.number = new.number }
    for end in ReferenceGraph.ends(of: new.entity) where isChanged(new, old, end) {
      let (members, before) = (new.links[end.name] ?? [], old?.links[end.name] ?? [])
      let present = members.filter { parent.graph.nodes[$0] != nil }
      if !end.isToMany {
        parent.graph.set(id, end, present)
      } else if end.isOrdered {
        let current = parent.graph.nodes[id]?.links[end.name] ?? []
        let kept = present.filter { current.contains($0) || !before.contains($0) }
        parent.graph.set(id, end, kept + current.filter { !before.contains($0) && !members.contains($0) })
      } else {
        for former in before where !members.contains(former) { parent.graph.unlink(id, end, former) }
        for member in present where !before.contains(member) { parent.graph.link(id, end, member) }
      }
    }
  }
}

/// One sequence: a root with two children, one of which has a child.
private final class TreeRun {
  private let store: TemporaryStore
  private let model = ReferenceGraph.model()
  private let nodes: [TreeNode]
  private var random: SeededGenerator
  private var temporary: [Int: NSManagedObjectID] = [:]
  private var last = 0
  private(set) var log: [String] = []

  init(seed: UInt64) throws {
    random = SeededGenerator(seed: seed)
    store = try TemporaryStore()
    let root = TreeNode("root", try store.context(model), nil)
    let child = TreeNode("child", NSManagedObjectContext(.privateQueue), root)
    let sibling = TreeNode("sibling", NSManagedObjectContext(.privateQueue), root)
    let grandchild = TreeNode("grandchild", NSManagedObjectContext(.privateQueue), child)
    nodes = [root, child, sibling, grandchild]
  }

  /// Carries one operation out on both sides; the differences that it leaves.
  func step() throws -> String? {
    let node = nodes.randomElement(using: &random) ?? nodes[0]
    switch Int.random(in: 0..<100, using: &random) {
    case ..<14: insert(node)
    case ..<28: setAttribute(node)
    case ..<56: changeRelationship(node)
    case ..<62: delete(node)
    case ..<80: if let problem = try save(node) { return problem }
    case ..<83: rollback(node)
    case ..<94: if let problem = renew(node) { return problem }
    default: if let problem = try fetch(node) { return problem }
    }
    return nodes.lazy.compactMap { $0.compare() }.first ?? misidentified()
  }

  private func pick(_ node: TreeNode, _ entity: String? = nil) -> Int? {
    (entity.map { node.graph.ids(of: $0) } ?? node.graph.nodes.keys.sorted()).randomElement(using: &random)
  }

  private func insert(_ node: TreeNode) {
    let entity = ["A", "AA", "B"].randomElement(using: &random) ?? "A"
    last += 1
    log.append("\(node.name): insert \(last) \(entity)")
    let object = node.context.make(entity)
    node.remember(last, object)
    if Bool.random(using: &random) { temporary[last] = object.objectID }
    node.graph.nodes[last] = .init(entity: entity)
  }

  private func setAttribute(_ node: TreeNode) {
    guard let id = pick(node), let object = node.objects[id] else { return }
    if Bool.random(using: &random) {
      let value = ["x", "y", "Z", nil].randomElement(using: &random) ?? nil
      log.append("\(node.name): name \(id) \(value ?? "-")")
      object["name"] = value
      node.graph.nodes[id]?.name = value
    } else {
      let value = Int.random(in: 0..<5, using: &random)
      log.append("\(node.name): number \(id) \(value)")
      object["number"] = value
      node.graph.nodes[id]?.number = value
    }
  }

  private func changeRelationship(_ node: TreeNode) {
    guard let id = pick(node), let object = node.objects[id], let known = node.graph.nodes[id],
      // Without an inverse, a member has a column for one owner only, which several contexts would fight over.
      let end = ReferenceGraph.ends(of: known.entity).filter({ $0.inverse != nil }).randomElement(using: &random),
      let member = pick(node, end.destination), let other = node.objects[member]
    else { return }
    guard end.isToMany else {
      let isEmptied = Int.random(in: 0..<4, using: &random) == 0
      log.append("\(node.name): \(end.name) \(id) \(isEmptied ? "-" : "\(member)")")
      object[end.name] = isEmptied ? nil : other
      node.graph.set(id, end, isEmptied ? [] : [member])
      return
    }
    switch Int.random(in: 0..<4, using: &random) {
    case 0, 1:
      log.append("\(node.name): \(end.name) \(id) + \(member)")
      if end.isOrdered {
        object.mutableOrderedSetValue(forKey: end.name).add(other)
      } else {
        object.mutableSetValue(forKey: end.name).add(other)
      }
      node.graph.link(id, end, member)
    case 2:
      log.append("\(node.name): \(end.name) \(id) - \(member)")
      if end.isOrdered {
        object.mutableOrderedSetValue(forKey: end.name).remove(other)
      } else {
        object.mutableSetValue(forKey: end.name).remove(other)
      }
      node.graph.unlink(id, end, member)
    default:
      let members = (node.graph.nodes[id]?.links[end.name] ?? []).shuffled(using: &random)
      let kept = Array(members.prefix(Int.random(in: 0...members.count, using: &random)))
      log.append("\(node.name): \(end.name) \(id) = \(kept)")
      let left = kept.compactMap { node.objects[$0] }
      object[end.name] = end.isOrdered ? NSOrderedSet(array: left) : NSSet(array: left)
      node.graph.set(id, end, kept)
    }
  }

  private func delete(_ node: TreeNode) {
    guard let id = pick(node), let object = node.objects[id] else { return }
    log.append("\(node.name): delete \(id)")
    node.context.delete(object)
    node.context.processPendingChanges()
    let unsaved = Set(node.graph.nodes.keys).subtracting(node.base.nodes.keys)
    node.graph.delete(id)
    // Objects that were never saved are not validated: the parent does not know them.
    for id in unsaved { node.graph.deleted[id] = nil }
  }

  private func save(_ node: TreeNode) throws -> String? {
    log.append("\(node.name): save")
    let isDenied = node.graph.isDenied
    var failure: NSError?
    do { try node.context.save() } catch { failure = error as NSError }
    if isDenied {
      guard let code = failure?.code, [1560, NSValidationRelationshipDeniedDeleteError].contains(code) else {
        return "a deletion should have been denied, not \(failure.map { "\($0)" } ?? "saved")"
      }
      rollback(node)
      return nil
    }
    guard node.save() else {
      guard failure?.code == NSManagedObjectMergeError else {
        return "a deleted object should be a conflict, not \(failure.map { "\($0)" } ?? "saved")"
      }
      rollback(node)
      return nil
    }
    if let failure { return "\(failure)" }
    guard let parent = node.parent else { return try compareWithStore(node) }
    for (id, object) in node.objects where parent.objects[id] == nil && node.graph.nodes[id] != nil {
      parent.remember(id, parent.context.object(with: object.objectID))
    }
    return nil
  }

  private func rollback(_ node: TreeNode) {
    log.append("\(node.name): rollback")
    node.context.rollback()
    node.graph = node.base
  }

  /// Has a context without changes read its parent's values again.
  private func renew(_ node: TreeNode) -> String? {
    // Where a deletion will be denied, objects still lead to the deleted one, which a child cannot see.
    guard let parent = node.parent, !parent.graph.isDenied else { return nil }
    if node.graph != node.base { rollback(node) }
    if Bool.random(using: &random) {
      log.append("\(node.name): refresh")
      node.context.refreshAllObjects()
    } else {
      log.append("\(node.name): reset")
      node.context.reset()
      (node.objects, node.numbers) = ([:], [:])
    }
    node.graph.nodes = parent.graph.nodes
    node.graph.deleted = [:]
    node.graph.save()
    node.base = node.graph
    for id in node.graph.nodes.keys {
      guard let theirs = parent.objects[id] else { return "\(parent.name) has lost \(id)" }
      node.remember(id, node.context.object(with: theirs.objectID))
    }
    return nil
  }

  private func fetch(_ node: TreeNode) throws -> String? {
    guard node.isFresh else { return nil }
    let entity = ["A", "AA", "B"].randomElement(using: &random) ?? "A"
    let (bound, limit) = (Int.random(in: 0..<5, using: &random), Int.random(in: 0..<4, using: &random))
    log.append("\(node.name): fetch \(entity) \(bound) \(limit)")
    let request = NSFetchRequest<NSManagedObject>(entityName: entity)
    request.predicate = NSPredicate(format: "number >= %d OR name == 'x'", bound)
    let wanted = node.graph.ids(of: entity).filter { id in
      (node.graph.nodes[id]?.number ?? -1) >= bound || node.graph.nodes[id]?.name == "x"
    }
    let found = try node.context.fetch(request)
    if found.compactMap({ node.numbers[$0] }).sorted() != wanted { return "\(node.name) found \(found), not \(wanted)" }
    if try node.context.count(for: request) != wanted.count { return "\(node.name) counted otherwise" }
    request.sortDescriptors = [NSSortDescriptor(key: "number", ascending: false)]
    request.fetchLimit = limit
    let page = try node.context.fetch(request).map { $0["number"] as? Int ?? -1 }
    let sorted = wanted.map { node.graph.nodes[$0]?.number ?? -1 }.sorted(by: >)
    if page != Array(limit == 0 ? sorted[...] : sorted.prefix(limit)) {
      return "\(node.name): page \(page) of \(sorted)"
    }
    return nil
  }

  private func compareWithStore(_ root: TreeNode) throws -> String? {
    let fresh = TreeNode("store", try store.context(model), nil)
    fresh.graph = root.graph
    guard let coordinator = fresh.context.persistentStoreCoordinator else { return "no coordinator" }
    for (id, object) in root.objects where root.graph.nodes[id] != nil {
      guard let found = coordinator.managedObjectID(forURIRepresentation: object.objectID.uriRepresentation()) else {
        return "\(id) has no permanent identifier"
      }
      fresh.remember(id, try fresh.context.existingObject(with: found))
    }
    return fresh.compare()
  }

  /// Objects that are not found by their identifiers, the old as well as the new ones.
  private func misidentified() -> String? {
    for node in nodes {
      for (id, object) in node.objects where node.graph.nodes[id] != nil && object.managedObjectContext != nil {
        if node.context.object(with: object.objectID) !== object { return "\(node.name) has another \(id)" }
        if let old = temporary[id], node.context.object(with: old) !== object {
          return "\(node.name) does not find \(id) by its temporary identifier"
        }
      }
    }
    return nil
  }
}
