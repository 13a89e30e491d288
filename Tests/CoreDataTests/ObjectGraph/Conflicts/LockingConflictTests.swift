// OpenCoreData
// SPDX-License-Identifier: Apache-2.0

import CoreData
import CoreDataTestSupport
import Foundation
import Testing

@Suite("Conflicts with rows that have changed since they were read")
struct LockingConflictTests {
  private let store: TemporaryStore
  private let mine: NSManagedObjectContext
  private let other: NSManagedObjectContext
  private let ada: NSManagedObject

  init() throws {
    store = try TemporaryStore()
    mine = try store.context(CompanyModel.make())
    ada = mine.make("Employee", ["name": "Ada", "age": 36])
    try mine.save()
    other = NSManagedObjectContext(.privateQueue)
    other.persistentStoreCoordinator = mine.persistentStoreCoordinator
  }

  private func changeElsewhere(_ values: [String: Any]) throws {
    try other.existingObject(with: ada.objectID).setValuesForKeys(values)
    try other.save()
  }

  private func stored() throws -> [String?] {
    let found = try store.context(CompanyModel.make()).all("Employee")
    return found.flatMap { [$0["name"] as? String, ($0["age"] as? Int).map(String.init)] }
  }

  @Test("Are in the error of the save, with the versions and values of both sides")
  func error() throws {
    try changeElsewhere(["age": 40])
    try changeElsewhere(["age": 41])
    ada["name"] = "Ada L."
    let error = try #require(#expect(throws: NSError.self) { try mine.save() })
    #expect(error.code == NSManagedObjectMergeError)
    let conflicts = try #require(error.userInfo[NSPersistentStoreSaveConflictsErrorKey] as? [NSMergeConflict])
    let conflict = try #require(conflicts.first)
    #expect(conflicts.count == 1 && conflict.sourceObject === ada)
    #expect(conflict.oldVersionNumber == 1 && conflict.newVersionNumber == 3)
    #expect(conflict.objectSnapshot?["age"] as? Int == 36 && conflict.objectSnapshot?["name"] as? String == "Ada")
    #expect(conflict.cachedSnapshot?["age"] as? Int == 41 && conflict.persistedSnapshot == nil)
    #expect(conflict.objectSnapshot?["department"] is NSNull && conflict.objectSnapshot?["friends"] == nil)
    #expect(error.userInfo["conflictList"] as? [NSMergeConflict] == conflicts)
    #expect(ada["name"] as? String == "Ada L." && ada.isUpdated)
  }

  @Test("A row that has been deleted has version 0 and no snapshot")
  func deletedRow() throws {
    other.delete(try other.existingObject(with: ada.objectID))
    try other.save()
    ada["name"] = "Ada L."
    let error = #expect(throws: NSError.self) { try mine.save() }
    let conflict = (error?.userInfo[NSPersistentStoreSaveConflictsErrorKey] as? [NSMergeConflict])?.first
    #expect(conflict?.newVersionNumber == 0 && conflict?.cachedSnapshot == nil && conflict?.oldVersionNumber == 1)
    mine.mergePolicy = NSMergePolicy.mergeByPropertyObjectTrump
    try mine.save()
    #expect(try stored().isEmpty && !mine.hasChanges)
  }

  private final class Asking: NSMergePolicy, @unchecked Sendable {
    var lists: [Int] = []
    var action: (NSMergeConflict) -> Void = { _ in }

    override func resolve(mergeConflicts list: [Any]) throws {
      lists.append(list.count)
      try super.resolve(mergeConflicts: list)
    }

    override func resolve(optimisticLockingConflicts list: [NSMergeConflict]) throws {
      for conflict in list { action(conflict) }
      try super.resolve(optimisticLockingConflicts: list)
    }
  }

  @Test("A subclass is called with them, and what it changes is saved")
  func subclass() throws {
    let policy = Asking(merge: .mergeByPropertyStoreTrumpMergePolicyType)
    policy.action = { conflict in
      let theirs = conflict.cachedSnapshot?["age"] as? Int ?? 0
      conflict.sourceObject["name"] = "Ada of \(theirs)"
    }
    mine.mergePolicy = policy
    ada["age"] = 50
    try changeElsewhere(["age": 40])
    try mine.save()
    #expect(policy.lists == [1])
    #expect(try stored() == ["Ada of 40", "40"])
    #expect(ada["age"] as? Int == 40 && !mine.hasChanges)
    ada["age"] = 41
    try mine.save()
    #expect(policy.lists == [1])
  }

  @Test("A subclass of the error policy may refresh the object itself")
  func refreshing() throws {
    final class Refreshing: NSMergePolicy, @unchecked Sendable {
      override func resolve(optimisticLockingConflicts list: [NSMergeConflict]) throws {
        for conflict in list {
          conflict.sourceObject.managedObjectContext?.refresh(conflict.sourceObject, mergeChanges: true)
        }
      }
    }
    mine.mergePolicy = Refreshing(merge: .errorMergePolicyType)
    ada["name"] = "Ada L."
    try changeElsewhere(["age": 40])
    try mine.save()
    #expect(try stored() == ["Ada L.", "40"])
  }

  @Test("A policy that resolves nothing makes the save fail instead of writing over the row")
  func unsettled() throws {
    final class Idle: NSMergePolicy, @unchecked Sendable {
      override func resolve(mergeConflicts list: [Any]) throws {}
    }
    mine.mergePolicy = Idle(merge: .overwriteMergePolicyType)
    ada["name"] = "Ada L."
    try changeElsewhere(["age": 40])
    #expect(throws: NSError.self) { try mine.save() }
    #expect(try stored() == ["Ada", "40"])
  }

  @Test("If the save fails after the policy has resolved some, the context is as it was")
  func failing() throws {
    struct Refusal: Error {}
    final class Refusing: NSMergePolicy, @unchecked Sendable {
      override func resolve(optimisticLockingConflicts list: [NSMergeConflict]) throws {
        try super.resolve(optimisticLockingConflicts: list)
        throw Refusal()
      }
    }
    for (type, age) in [(NSMergePolicyType.rollbackMergePolicyType, 40), (.overwriteMergePolicyType, 41)] {
      mine.mergePolicy = Refusing(merge: type)
      let bob = mine.make("Employee", ["name": "Bob", "manager": mine.make("Manager", ["name": "M"])])
      ada.setValuesForKeys(["name": "Ada L.", "age": 50])
      try changeElsewhere(["age": age])
      #expect(throws: Refusal.self) { try mine.save() }
      #expect(ada["name"] as? String == "Ada L." && ada["age"] as? Int == 50 && ada.isUpdated)
      #expect(ada.changedValues().keys.sorted() == ["age", "name"] && bob.isInserted)
      #expect(mine.insertedObjects.count == 2 && (bob["manager"] as? NSManagedObject)?.isInserted == true)
      #expect(try stored() == ["Ada", "\(age)"])
      mine.rollback()
      #expect(!mine.hasChanges)
      mine.refresh(ada, mergeChanges: false)
    }
  }

  @Test("Under every policy, a changed and a deleted object end as documented", arguments: 1...4 as ClosedRange<UInt>)
  func policies(type: UInt) throws {
    let policy = try #require(NSMergePolicyType(rawValue: type))
    mine.mergePolicy = NSMergePolicy(merge: policy)
    let bob = mine.make("Employee", ["name": "Bob", "age": 1])
    try mine.save()
    try other.existingObject(with: bob.objectID)["age"] = 2
    try changeElsewhere(["age": 40, "badge": 7])
    ada.setValuesForKeys(["age": 50, "name": "Ada L."])
    mine.delete(bob)
    try mine.save()
    let found = try store.context(CompanyModel.make()).all("Employee")
    let expected: (String, Int, Int?) =
      switch policy {
      case .rollbackMergePolicyType: ("Ada", 40, 7)
      case .overwriteMergePolicyType: ("Ada L.", 50, nil)
      case .mergeByPropertyObjectTrumpMergePolicyType: ("Ada L.", 50, 7)
      default: ("Ada L.", 40, 7)
      }
    #expect(found.first?["name"] as? String == expected.0 && found.first?["age"] as? Int == expected.1)
    #expect(found.first?["badge"] as? Int == expected.2)
    #expect(found.count == (policy == .rollbackMergePolicyType ? 2 : 1))
    #expect(ada["name"] as? String == expected.0 && ada["age"] as? Int == expected.1 && !mine.hasChanges)
  }

  @Test(
    "A deletion that goes on after a conflict concerns the objects that others have related to the deleted one meanwhile",
    arguments: [
      NSMergePolicyType.mergeByPropertyObjectTrumpMergePolicyType, .mergeByPropertyStoreTrumpMergePolicyType,
      .overwriteMergePolicyType,
    ])
  func relatedMeanwhile(policy: NSMergePolicyType) throws {
    mine.mergePolicy = NSMergePolicy(merge: policy)
    let boss = mine.make("Manager", ["name": "Bob", "age": 50])
    let project = mine.make("Project", ["title": "P"])
    let known = mine.make("Employee", ["name": "Cid", "manager": boss])
    try mine.save()
    try other.existingObject(with: ada.objectID)["manager"] = try other.existingObject(with: boss.objectID)
    other.make("Employee", ["name": "Dan", "manager": try other.existingObject(with: boss.objectID)])
    let foreign = try other.existingObject(with: project.objectID)
    other.make("Task", ["title": "T", "project": foreign])
    try other.save()
    ada["age"] = 37
    mine.delete(boss)
    mine.delete(project)
    try mine.save()
    let fresh = try store.context(CompanyModel.make())
    let people = try fresh.all("Employee")
    #expect(people.map { $0["name"] as? String } == ["Ada", "Cid", "Dan"] && people.first?["age"] as? Int == 37)
    #expect(people.allSatisfy { $0["manager"] == nil } && known["manager"] == nil && ada["manager"] == nil)
    #expect(try fresh.all("Task", by: "title").isEmpty && fresh.all("Project", by: "title").isEmpty)
  }

  @Test(
    "Nothing leads to an object that others have deleted, unless the policy inserts it again",
    arguments: StoreKind.allCases.filter { $0 != .incremental }, 1...4 as ClosedRange<UInt>)
  func leadingToDeleted(kind: StoreKind, type: UInt) throws {
    let bench = try StoreKindBench(kind)
    let (mine, other) = (bench.context(), bench.context())
    mine.mergePolicy = NSMergePolicy(merge: try #require(NSMergePolicyType(rawValue: type)))
    let boss = mine.make("Manager", ["name": "Bob"])
    let (project, task) = (mine.make("Project", ["title": "P"]), mine.make("Task", ["title": "T"]))
    let ada = mine.make("Employee", ["name": "Ada"])
    let known = mine.make("Employee", ["name": "Cid", "manager": boss])
    try mine.save()
    for object in [boss, project, task] { other.delete(try other.existingObject(with: object.objectID)) }
    try other.save()
    ada["manager"] = boss
    ada.mutableSetValue(forKey: "projects").add(project)
    ada.mutableOrderedSetValue(forKey: "favourites").add(task)
    mine.make("Employee", ["name": "Dan", "manager": boss])
    mine.make("Task", ["title": "New", "project": project])
    try mine.save()
    let isOverwriting = type == NSMergePolicyType.overwriteMergePolicyType.rawValue
    let fresh = bench.context()
    let people = try fresh.all("Employee")
    let managers = people.map { ($0["manager"] as? NSManagedObject)?["name"] as? String }
    #expect(
      people.map { $0["name"] as? String } == (isOverwriting ? ["Ada", "Bob", "Cid", "Dan"] : ["Ada", "Cid", "Dan"]))
    #expect(managers == (isOverwriting ? ["Bob", nil, "Bob", "Bob"] : [nil, nil, nil]))
    let count = isOverwriting ? 1 : 0
    #expect((people[0]["projects"] as? Set<NSManagedObject>)?.count == count)
    #expect((people[0]["favourites"] as? NSOrderedSet)?.count == count)
    let new = try #require(try fresh.all("Task", by: "title").first)
    #expect(new["title"] as? String == "New" && (new["project"] == nil) == !isOverwriting)
    #expect((ada["manager"] as? NSManagedObject) === (isOverwriting ? boss : nil))
    #expect((known["manager"] as? NSManagedObject) === boss || !isOverwriting)
    #expect(!mine.hasChanges)
  }

  @Test(
    "A deletion ends the relationships of objects that were read before others related them to the deleted one",
    arguments: StoreKind.allCases.filter { $0 != .incremental })
  func relatedBeforeReading(kind: StoreKind) throws {
    let bench = try StoreKindBench(kind)
    let (mine, other) = (bench.context(), bench.context())
    let boss = mine.make("Manager", ["name": "Bob"])
    let ada = mine.make("Employee", ["name": "Ada", "manager": boss])
    let project = mine.make("Project", ["title": "P"])
    let task = mine.make("Task", ["title": "T", "project": project])
    try mine.save()
    #expect(ada["manager"] != nil && ada["contract"] == nil && (project["tasks"] as? NSOrderedSet)?.count == 1)
    let theirs = try other.existingObject(with: ada.objectID)
    theirs["manager"] = other.make("Manager", ["name": "New"])
    theirs["contract"] = other.make("Contract", ["number": 2])
    other.make("Task", ["title": "U", "project": try other.existingObject(with: project.objectID)])
    try other.save()
    for object in try mine.all("Employee") where object["name"] as? String == "New" { mine.delete(object) }
    for object in try mine.all("Contract", by: "number") where object["number"] as? Int == 2 { mine.delete(object) }
    for object in try mine.all("Task", by: "title") where object["title"] as? String == "U" { mine.delete(object) }
    try mine.save()
    let found = try bench.context().all("Employee")
    #expect(found.map { $0["name"] as? String } == ["Ada", "Bob"])
    #expect(found[0]["manager"] == nil && found[0]["contract"] == nil)
    #expect(ada["manager"] == nil && ada["contract"] == nil && !mine.hasChanges)
    #expect((project["tasks"] as? NSOrderedSet)?.array.first as? NSManagedObject === task)
  }

  @Test("A required object that others have deleted makes the save fail")
  func requiredDeleted() throws {
    mine.mergePolicy = NSMergePolicy.mergeByPropertyObjectTrump
    other.delete(try other.existingObject(with: ada.objectID))
    try other.save()
    let contract = mine.make("Contract", ["number": 1, "employee": ada])
    let error = #expect(throws: NSError.self) { try mine.save() }
    #expect(error?.code == NSValidationMissingMandatoryPropertyError)
    #expect(contract.isInserted && (contract["employee"] as? NSManagedObject) === ada)
    #expect(try store.context(CompanyModel.make()).all("Contract", by: "number").isEmpty)
  }

  @Test("What the rollback policy leaves as it is stored does not lead to what the save deletes")
  func rollbackOfUpdate() throws {
    mine.mergePolicy = NSMergePolicy.rollback
    let boss = mine.make("Manager", ["name": "Bob"])
    ada["manager"] = boss
    try mine.save()
    mine.delete(boss)
    try changeElsewhere(["age": 40])
    try mine.save()
    let fresh = try store.context(CompanyModel.make())
    let found = try fresh.all("Employee")
    #expect(found.map { $0["name"] as? String } == ["Ada"] && found.first?["age"] as? Int == 40)
    #expect(found.first?["manager"] == nil && ada["manager"] == nil && ada["age"] as? Int == 40 && !mine.hasChanges)
  }

  @Test("What the rollback policy does not delete keeps the objects that it would have been deleted with")
  func rollbackOfCascade() throws {
    mine.mergePolicy = NSMergePolicy.rollback
    let project = mine.make("Project", ["title": "P"])
    let tasks = ["T", "U"].map { mine.make("Task", ["title": $0, "project": project]) }
    ada["contract"] = mine.make("Contract", ["number": 1])
    project.mutableSetValue(forKey: "members").add(ada)
    try mine.save()
    mine.delete(project)
    mine.delete(ada)
    try other.existingObject(with: tasks[0].objectID)["title"] = "T2"
    try other.all("Contract", by: "number").first?.setValue(2, forKey: "number")
    try other.save()
    try mine.save()
    let fresh = try store.context(CompanyModel.make())
    let found = try #require(try fresh.all("Project", by: "title").first)
    #expect((found["tasks"] as? NSOrderedSet)?.array.map { ($0 as? NSManagedObject)?["title"] as? String } == ["T2"])
    let people = found["members"] as? Set<NSManagedObject>
    #expect((people?.first?["contract"] as? NSManagedObject)?["number"] as? Int == 2)
    #expect(!project.isDeleted && !ada.isDeleted && !mine.hasChanges && project["title"] as? String == "P")
  }

  @Test(
    "The ends of a relationship to one object agree, whichever of them was in conflict",
    arguments: 1...4 as ClosedRange<UInt>)
  func oneToOne(type: UInt) throws {
    mine.mergePolicy = NSMergePolicy(merge: try #require(NSMergePolicyType(rawValue: type)))
    let bob = mine.make("Employee", ["name": "Bob"])
    let cid = mine.make("Employee", ["name": "Cid"])
    let contract = mine.make("Contract", ["number": 1, "employee": ada])
    try mine.save()
    try other.existingObject(with: contract.objectID)["employee"] = try other.existingObject(with: bob.objectID)
    try other.save()
    contract["employee"] = cid
    try mine.save()
    let people = try store.context(CompanyModel.make()).all("Employee")
    let isKept = [1, 4].contains(type)
    let holder = isKept ? "Bob" : "Cid"
    #expect(people.filter { $0["contract"] != nil }.map { $0["name"] as? String } == [holder])
    let found = (people.compactMap { $0["contract"] as? NSManagedObject }.first)?["employee"] as? NSManagedObject
    #expect(found?["name"] as? String == holder)
    #expect((contract["employee"] as? NSManagedObject)?["name"] as? String == holder)
    #expect([ada, bob, cid].filter { $0["contract"] != nil }.map { $0["name"] as? String } == [holder])
  }

  @Test("A deletion that goes on after a conflict is denied by members that others have added meanwhile")
  func deniedMeanwhile() throws {
    mine.mergePolicy = NSMergePolicy.mergeByPropertyObjectTrump
    let department = mine.make("Department", ["name": "D"])
    try mine.save()
    #expect((department["employees"] as? Set<NSManagedObject>)?.isEmpty == true)
    try other.existingObject(with: ada.objectID)["department"] = try other.existingObject(with: department.objectID)
    try other.save()
    mine.delete(department)
    let error = #expect(throws: NSError.self) { try mine.save() }
    #expect(error?.code == NSValidationRelationshipDeniedDeleteError && department.isDeleted)
    mine.rollback()
    #expect(try store.context(CompanyModel.make()).all("Department").count == 1 && !mine.hasChanges)
  }

  @Test(
    "A deletion concerns what others have related to the deleted object before it is saved", arguments: [true, false])
  func relatedBeforeSave(merges: Bool) throws {
    let boss = mine.make("Manager", ["name": "Bob"])
    let project = mine.make("Project", ["title": "P"])
    try mine.save()
    mine.delete(boss)
    mine.delete(project)
    mine.processPendingChanges()
    try other.existingObject(with: ada.objectID)["manager"] = try other.existingObject(with: boss.objectID)
    other.make("Employee", ["name": "Dan", "manager": try other.existingObject(with: boss.objectID)])
    other.make("Task", ["title": "T", "project": try other.existingObject(with: project.objectID)])
    let merging = NotificationCenter.default.addObserver(
      forName: NSManagedObjectContext.didSaveObjectsNotification, object: other, queue: nil
    ) { [mine] in if merges { mine.mergeChanges(fromContextDidSave: $0) } }
    defer { NotificationCenter.default.removeObserver(merging) }
    try other.save()
    if !merges { mine.refreshAllObjects() }
    try mine.save()
    let fresh = try store.context(CompanyModel.make())
    let people = try fresh.all("Employee")
    #expect(people.map { $0["name"] as? String } == ["Ada", "Dan"] && people.allSatisfy { $0["manager"] == nil })
    #expect(try fresh.all("Task", by: "title").isEmpty && fresh.all("Project", by: "title").isEmpty)
  }
}
