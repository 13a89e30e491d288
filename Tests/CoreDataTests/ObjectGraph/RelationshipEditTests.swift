// OpenCoreData
// SPDX-License-Identifier: Apache-2.0

import CoreDataTestSupport
import Foundation
import Testing

@testable import CoreData

/// Collections that relationships are read as, and edits of single members.
@Suite("Reads and edits of relationships")
struct RelationshipEditTests {
  private static let tasks = ManagedProperty<NSOrderedSet?>("tasks")
  private static let archive = ManagedProperty<NSSet?>("archive")
  private static let employees = ManagedProperty<NSSet?>("employees")

  private static func titles(_ members: Any?) -> [String] {
    let objects = (members as? NSOrderedSet)?.array ?? (members as? NSSet)?.allObjects ?? members as? [Any] ?? []
    return objects.map { ($0 as? NSManagedObject)?["title"] as? String ?? "?" }
  }

  // MARK: Reading

  @Test("An ordered relationship is read as one object until it changes, which keeps its members")
  func orderedReads() throws {
    let context = try TemporaryStore().context(CompanyModel.make())
    let (a, b, c) = (
      context.make("Task", ["title": "a"]), context.make("Task", ["title": "b"]), context.make("Task", ["title": "c"])
    )
    let project = context.make("Project", ["tasks": NSOrderedSet(array: [a, b])])
    let first = try #require(Self.tasks[project])
    #expect(Self.tasks[project] === first && project["tasks"] as? NSOrderedSet === first)
    // Nothing changes.
    Self.tasks.add(a, to: project)
    Self.tasks.remove(c, from: project)
    #expect(Self.tasks[project] === first)
    c["project"] = project
    let second = try #require(Self.tasks[project])
    #expect(second !== first && Self.titles(first) == ["a", "b"] && Self.titles(second) == ["a", "b", "c"])
    Self.tasks.insert(b, at: 0, in: project)
    #expect(Self.tasks[project] === second)
    project.mutableOrderedSetValue(forKey: "tasks").exchangeObject(at: 0, withObjectAt: 2)
    #expect(Self.titles(second) == ["a", "b", "c"] && Self.titles(Self.tasks[project]) == ["c", "b", "a"])
    try context.save()
    let third = try #require(Self.tasks[project])
    #expect(Self.tasks[project] === third && Self.titles(third) == ["c", "b", "a"])
    context.delete(b)
    context.processPendingChanges()
    #expect(Self.titles(Self.tasks[project]) == ["c", "a"] && Self.titles(third) == ["c", "b", "a"])
    context.rollback()
    #expect(Self.titles(Self.tasks[project]) == ["c", "b", "a"])
  }

  @Test("An unordered relationship is read as one object until it changes, which keeps its members")
  func unorderedReads() throws {
    let context = try TemporaryStore().context(CompanyModel.make())
    let (a, b) = (context.make("Task", ["title": "a"]), context.make("Task", ["title": "b"]))
    let department = context.make("Department", ["archive": NSSet(object: a)])
    let first = try #require(Self.archive[department])
    let swift = try #require(department["archive"] as? Set<NSManagedObject>)
    #expect(Self.archive[department] === first && swift == [a])
    Self.archive.add(b, to: department)
    #expect(Set(Self.titles(first)) == ["a"] && swift == [a])
    #expect(Set(Self.titles(Self.archive[department])) == ["a", "b"])
    #expect(department["archive"] as? Set<NSManagedObject> == [a, b])
    var own = try #require(department["archive"] as? Set<NSManagedObject>)
    own.remove(a)
    #expect(department["archive"] as? Set<NSManagedObject> == [a, b])
  }

  /// Members of a relationship without an inverse stay members when their deletion is saved.
  @Test("An object that has left the context is no member of what is read afterwards")
  func withdrawn() throws {
    let store = try TemporaryStore()
    let context = try store.context(CompanyModel.make())
    let task = context.make("Task", ["title": "a"])
    let department = context.make("Department", ["name": "D", "archive": NSSet(object: task)])
    try context.save()
    #expect(Self.archive[department]?.contains(task) == true)
    context.delete(task)
    try context.save()
    #expect(Self.archive[department]?.contains(task) == false)
    context.refresh(department, mergeChanges: false)
    #expect(Self.archive[department]?.count == 0)
  }

  @Test("What is read after a merge, an undo and a refresh is what is there", arguments: [false, true])
  func changedFromOutside(isUndone: Bool) throws {
    let store = try TemporaryStore()
    let context = try store.context(CompanyModel.make())
    context.undoManager = UndoManager()
    let project = context.make("Project", ["title": "P"])
    for title in ["a", "b"] { Self.tasks.add(context.make("Task", ["title": title]), to: project) }
    try context.save()
    #expect(Self.titles(Self.tasks[project]) == ["a", "b"])
    if isUndone {
      Self.tasks.insert(context.make("Task", ["title": "c"]), at: 0, in: project)
      #expect(Self.titles(Self.tasks[project]) == ["c", "a", "b"])
      context.undo()
      #expect(Self.titles(Self.tasks[project]) == ["a", "b"])
      context.redo()
      #expect(Self.titles(Self.tasks[project]) == ["c", "a", "b"])
    } else {
      let other = NSManagedObjectContext(concurrencyType: .confinementConcurrencyType)
      other.persistentStoreCoordinator = context.persistentStoreCoordinator
      let same = other.object(with: project.objectID)
      Self.tasks.insert(other.make("Task", ["title": "c"]), at: 1, in: same)
      try other.save()
      #expect(Self.titles(Self.tasks[project]) == ["a", "b"])
      context.refresh(project, mergeChanges: true)
      #expect(Self.titles(Self.tasks[project]) == ["a", "c", "b"])
    }
  }

  @Test("@count and the count of a live set make no objects of the members")
  func counts() throws {
    let store = try TemporaryStore()
    let context = try store.context(CompanyModel.make())
    let department = context.make("Department", ["name": "D"])
    for number in 0..<20 { context.make("Employee", ["name": "\(number)", "department": department]) }
    try context.save()
    let other = NSManagedObjectContext(concurrencyType: .confinementConcurrencyType)
    other.persistentStoreCoordinator = context.persistentStoreCoordinator
    let same = other.object(with: department.objectID)
    #expect(same.value(forKeyPath: "employees.@count") as? Int == 20)
    #expect(same.mutableSetValue(forKey: "employees").count == 20)
    #expect(NSPredicate(format: "employees.@count == 20").evaluate(with: same))
    #expect(other.registeredObjects == [same])
    let employee = try #require(try other.all("Employee").first)
    #expect(employee.value(forKeyPath: "department.employees.@count") as? Int == 20)
  }

  // MARK: Releasing

  private struct Weak {
    weak var object: NSManagedObject?
  }

  /// A store with projects of three tasks each, and their identifiers.
  private func filled(_ count: Int) throws -> (NSManagedObjectContext, [NSManagedObjectID]) {
    let store = try TemporaryStore()
    let context = try store.context(CompanyModel.make())
    let projects = (0..<count).map { number in
      context.make(
        "Project", ["tasks": NSOrderedSet(array: (0..<3).map { context.make("Task", ["title": "\(number) \($0)"]) })])
    }
    try context.save()
    let other = NSManagedObjectContext(concurrencyType: .confinementConcurrencyType)
    other.persistentStoreCoordinator = context.persistentStoreCoordinator
    other.userInfo["store"] = store
    return (other, projects.map(\.objectID))
  }

  @Test("Owners that are visited one after the other are released, with their members")
  func visits() throws {
    let (context, ids) = try filled(50)
    var visited: [Weak] = []
    for id in ids {
      let project = context.object(with: id)
      #expect(Self.tasks[project]?.count == 3 && project.value(forKeyPath: "tasks.@count") as? Int == 3)
      visited.append(Weak(object: project))
      visited += project.mutableOrderedSetValue(forKey: "tasks").map { Weak(object: $0 as? NSManagedObject) }
    }
    #expect(visited.count == 200 && visited.allSatisfy { $0.object == nil })
    #expect(context.registeredObjects.isEmpty)
  }

  @Test(
    "Objects that have been read from each other are released by refreshing, resetting and deleting",
    arguments: ["refresh", "refresh all", "reset", "delete", "roll back", "context"])
  func cycles(way: String) throws {
    var objects: [Weak] = []
    var context: NSManagedObjectContext?
    func read() throws {
      let (other, ids) = try filled(1)
      context = other
      let project = other.object(with: ids[0])
      let tasks = try #require(Self.tasks[project]?.array as? [NSManagedObject])
      for task in tasks { #expect(task["project"] as? NSManagedObject === project) }
      if way == "roll back" { Self.tasks.insert(other.make("Task"), at: 0, in: project) }
      objects = (tasks + [project]).map { Weak(object: $0) }
    }
    try read()
    func end() throws {
      guard let context else { return }
      switch way {
      case "refresh": for object in context.registeredObjects { context.refresh(object, mergeChanges: true) }
      case "refresh all": context.refreshAllObjects()
      case "reset": context.reset()
      case "roll back":
        context.rollback()
        context.refreshAllObjects()
      case "delete":
        for object in context.registeredObjects where object.entity.name == "Project" { context.delete(object) }
        try context.save()
      default: break
      }
    }
    try end()
    if way == "context" { context = nil }
    #expect(objects.count == 4 && objects.allSatisfy { $0.object == nil })
  }

  // MARK: Editing

  @Test("A live ordered set that has changed its relationship is the same until the event ends")
  func liveSets() throws {
    let context = try TemporaryStore().context(CompanyModel.make())
    let project = context.make("Project")
    let tasks = ["a", "b", "c"].map { context.make("Task", ["title": $0]) }
    let first = ObjectIdentifier(editedSet(of: project, tasks[0]))
    #expect(ObjectIdentifier(editedSet(of: project, tasks[1])) == first)
    Self.tasks.insert(tasks[2], at: 0, in: project)
    #expect(Self.titles(project.mutableOrderedSetValue(forKey: "tasks").array) == ["c", "a", "b"])
  }

  private func editedSet(of project: NSManagedObject, _ task: NSManagedObject) -> NSMutableOrderedSet {
    let set = project.mutableOrderedSetValue(forKey: "tasks")
    set.add(task)
    return set
  }

  /// Every way to change an ordered relationship, and the same change of an array.
  @Test("Random edits in all ways agree with an array, at both ends and in the store", arguments: 0..<8)
  func edits(seed: UInt64) throws {
    var random = SeededGenerator(seed: seed)
    let store = try TemporaryStore()
    let context = try store.context(CompanyModel.make())
    context.undoManager = seed % 2 == 0 ? UndoManager() : nil
    let (project, other) = (context.make("Project", ["title": "P"]), context.make("Project", ["title": "Q"]))
    let all = (0..<40).map { context.make("Task", ["title": "\($0)"]) }
    try context.save()
    context.undoManager?.removeAllActions()
    var (expected, saved): ([NSManagedObject], [NSManagedObject]) = ([], [])
    var live: NSMutableOrderedSet?
    var log: [String] = []
    for _ in 0..<250 {
      let before = expected
      let task = all[Int.random(in: 0..<all.count, using: &random)]
      let index = Int.random(in: 0...expected.count, using: &random)
      let kind = Int.random(in: 0..<14, using: &random)
      let isUndoable = context.undoManager != nil && Int.random(in: 0..<4, using: &random) == 0
      if isUndoable { context.processPendingChanges() }
      log.append("\(kind) \(task["title"] ?? "") \(index)")
      switch kind {
      case 0..<2:
        Self.tasks.insert(task, at: index, in: project)
        if !expected.contains(task) { expected.insert(task, at: index) }
      case 2:
        Self.tasks.add(task, to: project)
        if !expected.contains(task) { expected.append(task) }
      case 3:
        Self.tasks.remove(task, from: project)
        expected.removeAll { $0 === task }
      case 4 where index < expected.count:
        Self.tasks.remove(at: index, from: project)
        expected.remove(at: index)
      case 5 where index < expected.count && !expected.contains(task):
        Self.tasks.replace(at: index, with: task, in: project)
        expected[index] = task
      case 6:
        task["project"] = project
        if !expected.contains(task) { expected.append(task) }
      case 7:
        task["project"] = other
        expected.removeAll { $0 === task }
      case 8 where index < expected.count:
        let target = Int.random(in: 0..<expected.count, using: &random)
        project.mutableOrderedSetValue(forKey: "tasks").moveObjects(at: IndexSet(integer: index), to: target)
        expected.insert(expected.remove(at: index), at: target)
      case 9 where index < expected.count:
        project.mutableOrderedSetValue(forKey: "tasks").exchangeObject(at: 0, withObjectAt: index)
        expected.swapAt(0, index)
      case 10:
        project["tasks"] = NSOrderedSet(array: expected.reversed())
        expected.reverse()
      case 11:
        try context.save()
        saved = expected
        // Undoing a save is not the subject here.
        context.undoManager?.removeAllActions()
      case 12:
        context.rollback()
        expected = saved
      default: live = live == nil ? project.mutableOrderedSetValue(forKey: "tasks") : nil
      }
      if isUndoable, kind < 11 {
        context.processPendingChanges()
        let after = expected
        if before != after, context.undoManager?.canUndo == true {
          context.undo()
          #expect(Self.tasks[project]?.array as? [NSManagedObject] == before, "undo: \(log.joined(separator: "; "))")
          context.redo()
        }
      }
      guard Self.tasks[project]?.array as? [NSManagedObject] == expected else {
        Issue.record("\(Self.titles(Self.tasks[project])) after \(log.joined(separator: "; "))")
        return
      }
      if let live {
        #expect(live.array as? [NSManagedObject] == expected && live.count == expected.count, "\(log.last ?? "")")
        #expect(expected.indices.allSatisfy { live.index(of: expected[$0]) == $0 })
      }
      let members = Set(expected)
      #expect(all.allSatisfy { ($0["project"] as? NSManagedObject === project) == members.contains($0) })
    }
    try context.save()
    try store.close()
    let read = try #require(try store.context(CompanyModel.make()).all("Project", by: "title").first)
    #expect(Self.titles(read["tasks"]) == Self.titles(expected))
  }
}
