// OpenCoreData
// SPDX-License-Identifier: Apache-2.0

import CoreData
import CoreDataTestSupport
import Foundation
import Testing

@Suite("Parent contexts")
struct ParentContextTests {
  /// A context over a store, with descendants one below the other.
  private struct Tree {
    let store: TemporaryStore
    let levels: [NSManagedObjectContext]

    init(depth: Int = 2) throws {
      store = try TemporaryStore()
      var levels = [try store.context(CompanyModel.make())]
      while levels.count < depth {
        let child = NSManagedObjectContext(.privateQueue)
        child.parent = levels[levels.count - 1]
        levels.append(child)
      }
      self.levels = levels
    }

    var root: NSManagedObjectContext { levels[0] }
    var child: NSManagedObjectContext { levels[1] }

    func sibling() -> NSManagedObjectContext {
      let context = NSManagedObjectContext(.privateQueue)
      context.parent = root
      return context
    }

    func saveAll() throws { for context in levels.reversed() { try context.save() } }
  }

  private func titles(
    _ context: NSManagedObjectContext, _ format: String = "title != 'z'", limit: Int = 0
  ) throws -> [String?] {
    let request = NSFetchRequest<NSManagedObject>(entityName: "Task")
    request.predicate = NSPredicate(format: format)
    request.sortDescriptors = [NSSortDescriptor(key: "title", ascending: false)]
    request.fetchLimit = limit
    return try context.fetch(request).map { $0["title"] as? String }
  }

  private func code(_ body: () throws -> Void) -> Int? {
    do { try body() } catch { return (error as NSError).code }
    return nil
  }

  @Test("A child fetches what its parents have not saved, and they fetch what it has saved")
  func fetching() throws {
    let tree = try Tree(depth: 3)
    for title in ["a", "b", "c"] { tree.root.make("Task", ["title": title]) }
    try tree.root.save()
    let all = try tree.root.all("Task", by: "title")
    all[0]["title"] = "y"
    tree.root.delete(all[1])
    tree.root.make("Task", ["title": "d"])
    tree.child.make("Task", ["title": "e"])
    let grandchild = tree.levels[2]
    grandchild.make("Task", ["title": "f"])
    #expect(try titles(grandchild) == ["y", "f", "e", "d", "c"])
    #expect(try titles(grandchild, "title >= 'd'", limit: 3) == ["y", "f", "e"])
    #expect(try titles(tree.child) == ["y", "e", "d", "c"])
    #expect(try grandchild.count(for: NSFetchRequest<NSManagedObject>(entityName: "Task")) == 5)
    let ids = NSFetchRequest<NSManagedObjectID>(entityName: "Task")
    ids.resultType = .managedObjectIDResultType
    #expect(Set(try tree.child.fetch(ids)).count == 4)
    let dictionaries = NSFetchRequest<NSDictionary>(entityName: "Task")
    dictionaries.resultType = .dictionaryResultType
    dictionaries.propertiesToFetch = ["title"]
    #expect(try grandchild.fetch(dictionaries).count == 5)

    try grandchild.save()
    #expect(try titles(tree.child).contains("f") && tree.child.hasChanges)
    #expect(try titles(tree.root) == ["y", "d", "c"])
    try tree.child.save()
    #expect(try titles(tree.root) == ["y", "f", "e", "d", "c"])
    #expect(try titles(tree.store.context(CompanyModel.make())) == ["c", "b", "a"])
    try tree.root.save()
    #expect(try titles(tree.store.context(CompanyModel.make())) == ["y", "f", "e", "d", "c"])
  }

  @Test("Predicates with objects of the child, and prefetching, work through the parent")
  func predicates() throws {
    let tree = try Tree()
    let department = tree.root.make("Department", ["name": "Research"])
    for name in ["Ada", "Grace"] { tree.root.make("Employee", ["name": name, "department": department]) }
    tree.root.make("Employee", ["name": "Alan"])
    let own = tree.child.object(with: department.objectID)
    let request = NSFetchRequest<NSManagedObject>(entityName: "Employee")
    request.predicate = NSPredicate(format: "department == %@", own)
    request.relationshipKeyPathsForPrefetching = ["department", "friends"]
    #expect(try tree.child.fetch(request).count == 2)
    try tree.root.save()
    #expect(try tree.child.fetch(request).count == 2)
    #expect((own["employees"] as? NSSet)?.count == 2)
    let block = NSFetchRequest<NSManagedObject>(entityName: "Employee")
    block.predicate = NSPredicate { object, _ in (object as? NSManagedObject)?["name"] as? String == "Alan" }
    #expect(try tree.child.fetch(block).count == 1)
  }

  @Test("Temporary identifiers become permanent in all contexts when the root saves")
  func identifiers() throws {
    let tree = try Tree(depth: 3)
    let project = tree.levels[2].make("Project", ["title": "p"])
    let tasks = ["a", "b", "c"].map { tree.levels[2].make("Task", ["title": $0, "project": project]) }
    let temporary = project.objectID
    #expect(temporary.isTemporaryID)
    try tree.saveAll()
    #expect(!project.objectID.isTemporaryID)
    for context in tree.levels {
      let found = context.object(with: temporary)
      #expect(found === context.registeredObject(for: project.objectID))
      #expect(found.objectID == project.objectID)
      let members = try #require(found["tasks"] as? NSOrderedSet)
      #expect(members.array.compactMap { ($0 as? NSManagedObject)?["title"] as? String } == ["a", "b", "c"])
      #expect(!context.hasChanges)
    }
    #expect(tasks.allSatisfy { $0["project"] as? NSManagedObject === project })
    // What has become permanent is still the base of further changes.
    let tasksOfProject = project.mutableOrderedSetValue(forKey: "tasks")
    tasksOfProject.remove(tasks[1])
    #expect(project.changedValues().keys.sorted() == ["tasks"])
    try tree.saveAll()
    let fresh = try #require(try tree.store.context(CompanyModel.make()).all("Project", by: "title").first)
    #expect((fresh["tasks"] as? NSOrderedSet)?.count == 2)
  }

  @Test("A permanent identifier that a child obtains is the one that the root saves")
  func obtaining() throws {
    let tree = try Tree(depth: 3)
    let first = tree.levels[2].make("Task", ["title": "a"])
    let second = tree.levels[2].make("Task", ["title": "b"])
    let old = first.objectID
    try tree.levels[2].obtainPermanentIDs(for: [first])
    #expect(!first.objectID.isTemporaryID && first.isInserted)
    #expect(tree.levels[2].registeredObject(for: old) === first)
    try tree.levels[2].save()
    try tree.levels[2].obtainPermanentIDs(for: [second])
    let ids = [first.objectID, second.objectID]
    #expect(tree.child.insertedObjects.allSatisfy { ids.contains($0.objectID) })
    try tree.child.save()
    try tree.root.save()
    let saved = try tree.store.context(CompanyModel.make()).all("Task", by: "title")
    #expect(saved.map { $0.objectID.uriRepresentation() } == ids.map { $0.uriRepresentation() })
    #expect([first, second].map(\.objectID) == ids)
  }

  @Test("A child validates before it saves, and the parent then has its changes and tells of them")
  func validation() throws {
    let tree = try Tree()
    let employee = tree.child.make("Employee", ["age": 3])
    #expect(code(tree.child.save) == NSValidationMissingMandatoryPropertyError)
    #expect(!tree.root.hasChanges && tree.child.hasChanges)
    employee["name"] = "Ada"
    employee["isActive"] = false
    nonisolated(unsafe) var inserted = 0
    let observer = NotificationCenter.default.addObserver(
      forName: NSManagedObjectContext.didChangeObjectsNotification, object: tree.root, queue: nil
    ) { inserted += ($0.userInfo?[NSInsertedObjectsKey] as? Set<NSManagedObject>)?.count ?? 0 }
    defer { NotificationCenter.default.removeObserver(observer) }
    try tree.child.save()
    #expect(inserted == 1 && tree.root.insertedObjects.count == 1 && !tree.child.hasChanges)
    let theirs = try #require(tree.root.insertedObjects.first)
    #expect(theirs["name"] as? String == "Ada" && theirs["isActive"] as? Bool == false)
    tree.root.rollback()
    #expect(code { _ = try tree.child.existingObject(with: employee.objectID) } == nil)
    tree.child.refresh(employee, mergeChanges: false)
    #expect(employee["name"] == nil && employee.isDeleted)
  }

  @Test("A child's changes and the parent's join, property by property and member by member")
  func joining() throws {
    let tree = try Tree()
    let ada = tree.root.make("Employee", ["name": "Ada", "age": 36])
    let tasks = ["a", "b", "c", "d"].map { tree.root.make("Task", ["title": $0]) }
    ada["favourites"] = NSOrderedSet(array: Array(tasks[0...1]))
    try tree.root.save()
    let own = tree.child.object(with: ada.objectID)
    let ownTasks = tasks.map { tree.child.object(with: $0.objectID) }
    #expect((own["favourites"] as? NSOrderedSet)?.count == 2)
    own["name"] = "Ada L."
    own.mutableOrderedSetValue(forKey: "favourites").insert(ownTasks[2], at: 0)
    own.mutableOrderedSetValue(forKey: "favourites").remove(ownTasks[0])
    ada["age"] = 37
    ada.mutableOrderedSetValue(forKey: "favourites").add(tasks[3])
    try tree.child.save()
    #expect(ada["name"] as? String == "Ada L." && ada["age"] as? Int == 37)
    #expect((ada["favourites"] as? NSOrderedSet)?.array as? [NSManagedObject] == [tasks[2], tasks[1], tasks[3]])
    #expect((tasks[0]["favouredBy"] as? NSSet)?.count == 0 && (tasks[2]["favouredBy"] as? NSSet)?.count == 1)
  }

  @Test("Where both have changed a property, the policy decides", arguments: [0, 1, 2, 3, 4] as [UInt])
  func policies(raw: UInt) throws {
    let type = try #require(NSMergePolicyType(rawValue: raw))
    let tree = try Tree()
    let ada = tree.root.make("Employee", ["name": "Ada", "age": 36, "badge": 1])
    try tree.root.save()
    let own = try tree.child.existingObject(with: ada.objectID)
    tree.child.mergePolicy = NSMergePolicy(merge: type)
    (own["name"], own["age"]) = ("child", 1)
    (ada["name"], ada["badge"]) = ("parent", 2)
    try tree.child.save()
    let values = [ada["name"] as? String, "\(ada["age"] ?? "")", "\(ada["badge"] ?? "")"]
    switch type {
    case .mergeByPropertyStoreTrumpMergePolicyType: #expect(values == ["parent", "1", "2"])
    case .rollbackMergePolicyType: #expect(values == ["parent", "36", "2"])
    case .overwriteMergePolicyType: #expect(values == ["child", "1", "1"])
    default: #expect(values == ["child", "1", "2"])
    }
    #expect(own["name"] as? String == values[0])
  }

  @Test("An object that the parent has deleted is a conflict", arguments: [0, 1, 2, 3, 4] as [UInt])
  func deletedInParent(raw: UInt) throws {
    let type = try #require(NSMergePolicyType(rawValue: raw))
    for isSaved in [false, true] {
      let tree = try Tree()
      let ada = tree.root.make("Employee", ["name": "Ada"])
      try tree.root.save()
      let own = try tree.child.existingObject(with: ada.objectID)
      own["name"] = "child"
      let task = tree.child.make("Task", ["title": "t"])
      own.mutableOrderedSetValue(forKey: "favourites").add(task)
      tree.root.delete(ada)
      if isSaved { try tree.root.save() }
      tree.child.mergePolicy = NSMergePolicy(merge: type)
      let code = code(tree.child.save)
      if type == .errorMergePolicyType {
        #expect(code == NSManagedObjectMergeError && tree.child.hasChanges)
        #expect(tree.root.insertedObjects.isEmpty)
        continue
      }
      #expect(code == nil)
      try tree.root.save()
      let left = try tree.store.context(CompanyModel.make()).all("Employee").map { $0["name"] as? String }
      #expect(left == (type == .overwriteMergePolicyType ? ["child"] : []))
      #expect(try tree.store.context(CompanyModel.make()).all("Task", by: "title").count == 1)
    }
  }

  @Test("A deletion follows its rules in the parent too, for what only the parent knows")
  func deletion() throws {
    let tree = try Tree()
    let project = tree.root.make("Project", ["title": "p"])
    tree.root.make("Task", ["title": "a", "project": project])
    try tree.root.save()
    let own = try tree.child.existingObject(with: project.objectID)
    #expect((own["tasks"] as? NSOrderedSet)?.count == 1)
    tree.root.make("Task", ["title": "b", "project": project])
    let kept = tree.child.make("Task", ["title": "kept", "project": own])
    kept["project"] = nil
    tree.child.delete(own)
    try tree.child.save()
    #expect(own.managedObjectContext == nil && project.isDeleted)
    try tree.root.save()
    #expect(try titles(tree.store.context(CompanyModel.make())) == ["kept"])
    // Inserted and deleted again before the root has saved.
    let brief = tree.child.make("Task", ["title": "brief"])
    try tree.child.save()
    tree.child.delete(brief)
    try tree.child.save()
    #expect(!tree.root.hasChanges)
    // A rule that forbids a deletion is checked where the object is deleted.
    let department = tree.root.make("Department")
    tree.root.make("Employee", ["name": "Ada", "department": department])
    tree.child.delete(tree.child.object(with: department.objectID))
    #expect(code(tree.child.save) == NSValidationRelationshipDeniedDeleteError)
    #expect(!department.isDeleted)
  }

  @Test("A row that another coordinator changes is a conflict for the root, and for nobody where none does")
  func optimisticLocking() throws {
    let tree = try Tree()
    let ada = tree.child.make("Employee", ["name": "Ada"])
    try tree.saveAll()
    for age in 1...3 {
      ada["age"] = age
      try tree.saveAll()
    }
    let sibling = tree.sibling()
    let own = try #require(try sibling.all("Employee").first)
    #expect(own["age"] as? Int == 3)
    let other = try tree.store.context(CompanyModel.make())
    let theirs = try #require(try other.all("Employee").first)
    theirs["age"] = 50
    try other.save()
    own["name"] = "Ada L."
    try sibling.save()
    #expect(code(tree.root.save) == NSManagedObjectMergeError)
    tree.root.mergePolicy = NSMergePolicy.mergeByPropertyObjectTrump
    try tree.root.save()
    other.refreshAllObjects()
    #expect(theirs["name"] as? String == "Ada L." && theirs["age"] as? Int == 50)
  }

  @Test("Children merge what siblings save to the parent, what it saves, and what it merges")
  func merging() async throws {
    let tree = try Tree(depth: 3)
    let sibling = tree.sibling()
    for context in tree.levels + [sibling] { context.automaticallyMergesChangesFromParent = true }
    func settle() async { for context in tree.levels + [sibling] { await context.perform(schedule: .enqueued) {} } }
    let task = tree.root.performAndWait { tree.root.make("Task", ["title": "a"]) }
    try tree.root.performAndWait { try tree.root.save() }
    let id = task.objectID
    let seen = (tree.levels[1...] + [sibling]).map { context in
      context.performAndWait { context.object(with: id) }
    }
    func found() -> [String?] {
      seen.map { object in object.managedObjectContext?.performAndWait { object["title"] as? String } }
    }
    #expect(found() == ["a", "a", "a"])
    try sibling.performAndWait {
      seen[2]["title"] = "b"
      try sibling.save()
    }
    await settle()
    #expect(found() == ["b", "b", "b"])
    tree.root.performAndWait { task["title"] = "c" }
    #expect(found() == ["b", "b", "b"])
    try tree.root.performAndWait { try tree.root.save() }
    await settle()
    #expect(found() == ["c", "c", "c"])
    let other = NSManagedObjectContext(.privateQueue)
    other.persistentStoreCoordinator = tree.root.persistentStoreCoordinator
    tree.levels[2].performAndWait { seen[1]["title"] = "mine" }
    try other.performAndWait {
      other.object(with: id)["title"] = "d"
      try other.save()
    }
    await settle()
    #expect(found() == ["d", "mine", "d"])
    try other.performAndWait {
      other.delete(other.object(with: id))
      try other.save()
    }
    await settle()
    #expect(seen.allSatisfy { $0.managedObjectContext == nil })
  }

  @Test("What is read for many objects at once comes from the parent too")
  func manyAtOnce() throws {
    let tree = try Tree()
    let projects = ["p", "q"].map { tree.root.make("Project", ["title": $0]) }
    for project in projects { tree.root.make("Task", ["title": "saved", "project": project]) }
    try tree.root.save()
    for project in projects { tree.root.make("Task", ["title": "unsaved", "project": project]) }
    let request = NSFetchRequest<NSManagedObject>(entityName: "Project")
    request.relationshipKeyPathsForPrefetching = ["tasks", "members"]
    let found = try tree.child.fetch(request)
    #expect(found.map { ($0["tasks"] as? NSOrderedSet)?.count } == [2, 2])
    tree.child.reset()
    for project in try tree.child.all("Project", by: "title") { tree.child.delete(project) }
    try tree.child.save()
    try tree.root.save()
    #expect(try titles(tree.store.context(CompanyModel.make())).isEmpty)
  }

  @Test("Batches of a fetch, and single rows, are read through the parent as they are needed")
  func batches() throws {
    let tree = try Tree()
    for number in 0..<30 { tree.root.make("Task", ["title": "\(number + 10)"]) }
    try tree.root.save()
    tree.root.reset()
    tree.root.make("Task", ["title": "09"])
    let request = NSFetchRequest<NSManagedObject>(entityName: "Task")
    request.sortDescriptors = [NSSortDescriptor(key: "title", ascending: true)]
    request.fetchBatchSize = 10
    let found = try tree.child.fetch(request)
    #expect(found.count == 31 && found.allSatisfy(\.isFault))
    #expect(found.map { $0["title"] as? String } == (9..<40).map { $0 == 9 ? "09" : "\($0)" })
    tree.child.refreshAllObjects()
    request.fetchBatchSize = 0
    request.includesPropertyValues = false
    request.fetchOffset = 29
    #expect(try tree.child.fetch(request).map { $0["title"] as? String } == ["38", "39"])
  }

  @Test("Children of one context work at the same time, while it saves")
  func atOnce() async throws {
    let tree = try Tree()
    let (root, rounds) = (tree.root, 25)
    let department = root.make("Department", ["name": "d"])
    try root.save()
    let shared = department.objectID
    let children = (0..<3).map { _ in tree.sibling() }
    let ids = try await withThrowingTaskGroup(of: [NSManagedObjectID].self) { group in
      for (number, child) in children.enumerated() {
        group.addTask {
          var ids: [NSManagedObjectID] = []
          for round in 0..<rounds {
            ids += try await child.perform(schedule: .enqueued) {
              let employee = child.make("Employee", ["name": "\(number) \(round)"])
              employee["department"] = child.object(with: shared)
              let task = child.make("Task", ["title": "t"])
              employee.mutableOrderedSetValue(forKey: "favourites").add(task)
              try child.save()
              employee["age"] = round
              employee.mutableOrderedSetValue(forKey: "favourites").add(child.make("Task", ["title": "u"]))
              if round % 5 == 0 { try child.obtainPermanentIDs(for: [employee]) }
              try child.save()
              return [employee.objectID]
            }
          }
          return ids
        }
      }
      group.addTask {
        for _ in 0..<rounds { try await root.perform(schedule: .enqueued) { try root.save() } }
        return []
      }
      return try await group.reduce(into: []) { $0 += $1 }
    }
    try root.performAndWait { try root.save() }
    let found = try tree.store.context(CompanyModel.make()).all("Employee")
    #expect(found.count == 3 * rounds && Set(found.map(\.objectID)).count == found.count)
    #expect(found.allSatisfy { ($0["favourites"] as? NSOrderedSet)?.count == 2 && $0["department"] != nil })
    for child in children {
      try child.performAndWait {
        let own = ids.filter { child.registeredObject(for: $0) != nil }
        #expect(own.allSatisfy { child.object(with: $0) === child.registeredObject(for: $0) })
        child.refreshAllObjects()
        #expect((child.object(with: shared)["employees"] as? NSSet)?.count == 3 * rounds)
        let employees = try child.all("Employee")
        #expect(employees.allSatisfy { !$0.objectID.isTemporaryID && !$0.hasChanges })
      }
    }
  }

  @Test("Derived values are computed when the root saves")
  func derived() async throws {
    var builder = ModelBuilder()
    builder.entity(
      "Note",
      [.make("title", .stringAttributeType), .derived("loud", .stringAttributeType, "uppercase:(title)")])
    let store = try TemporaryStore()
    let root = try store.context(builder.model())
    let child = NSManagedObjectContext(.privateQueue)
    child.parent = root
    child.automaticallyMergesChangesFromParent = true
    let note = child.performAndWait { child.make("Note", ["title": "a"]) }
    try child.performAndWait { try child.save() }
    #expect(child.performAndWait { note["loud"] } == nil)
    try root.performAndWait { try root.save() }
    let merged = await child.perform(schedule: .enqueued) { note["loud"] as? String }
    #expect(merged == "A")
  }

  @Test("Transient values stay in the context that set them")
  func transient() throws {
    let tree = try Tree()
    let ada = tree.root.make("Employee", ["name": "Ada", "mood": "parent"])
    let own = tree.child.object(with: ada.objectID)
    #expect(own["mood"] == nil)
    (own["mood"], own["name"]) = ("child", "Ada L.")
    try tree.child.save()
    #expect(ada["mood"] as? String == "parent" && own["mood"] as? String == "child")
  }

  @Test("A relationship without inverse, and the store an object is assigned to, reach the root")
  func otherChanges() throws {
    let tree = try Tree()
    let second = tree.store.folder.appendingPathComponent("Second.sqlite")
    let store = try #require(
      try tree.root.persistentStoreCoordinator?.addPersistentStore(type: .sqlite, at: second))
    let department = tree.child.make("Department", ["name": "d"])
    let task = tree.child.make("Task", ["title": "t"])
    for object in [department, task] { tree.child.assign(object, to: store) }
    department.mutableSetValue(forKey: "archive").add(task)
    try tree.saveAll()
    #expect(department.objectID.persistentStore === store)
    let fresh = try #require(try tree.store.context(CompanyModel.make(), at: second).all("Department").first)
    #expect((fresh["archive"] as? NSSet)?.count == 1)
  }

  @Test("A child is detached, and reset, by setting its parent to nil")
  func detaching() throws {
    let tree = try Tree()
    let task = tree.child.make("Task")
    #expect(tree.child.persistentStoreCoordinator === tree.root.persistentStoreCoordinator)
    tree.child.parent = nil
    #expect(task.managedObjectContext == nil && tree.child.persistentStoreCoordinator == nil)
    tree.child.persistentStoreCoordinator = tree.root.persistentStoreCoordinator
    #expect(try tree.child.all("Task", by: "title").isEmpty)
  }

  @Test("A parent without a queue, a descendant and a second coordinator are refused as parents")
  func misuse() async {
    await #expect(processExitsWith: .failure) {
      NSManagedObjectContext(.privateQueue).parent = NSManagedObjectContext(
        concurrencyType: .confinementConcurrencyType)
    }
    await #expect(processExitsWith: .failure) {
      let (first, second) = (NSManagedObjectContext(.privateQueue), NSManagedObjectContext(.privateQueue))
      second.parent = first
      first.parent = second
    }
    await #expect(processExitsWith: .failure) {
      let (first, second) = (NSManagedObjectContext(.privateQueue), NSManagedObjectContext(.privateQueue))
      second.parent = first
      second.persistentStoreCoordinator = NSPersistentStoreCoordinator(managedObjectModel: CompanyModel.make())
    }
  }
}
