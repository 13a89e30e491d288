// OpenCoreData
// SPDX-License-Identifier: Apache-2.0

import CoreData
import CoreDataTestSupport
import Foundation
import Testing

@Suite("Fetched results controller")
struct FetchedResultsTests {
  private let store: TemporaryStore
  private let context: NSManagedObjectContext

  init() throws {
    store = try TemporaryStore()
    context = try store.context(CompanyModel.make())
  }

  @discardableResult
  private func employee(_ name: String, _ age: Int?, steps: Int = 0) -> NSManagedObject {
    let object = context.make("Employee", ["name": name, "steps": steps])
    object.setValue(age, forKey: "age")
    return object
  }

  private func controller(
    _ keys: [String] = ["age", "name"], sections: String? = "age", cache: String? = nil, batchSize: Int = 0
  ) -> NSFetchedResultsController<NSManagedObject> {
    let request = NSFetchRequest<NSManagedObject>(entityName: "Employee")
    request.sortDescriptors = keys.map { NSSortDescriptor(key: $0, ascending: true) }
    request.fetchBatchSize = batchSize
    return NSFetchedResultsController(
      fetchRequest: request, managedObjectContext: context, sectionNameKeyPath: sections, cacheName: cache)
  }

  private func rows(_ controller: NSFetchedResultsController<NSManagedObject>) -> [String: [String]] {
    Dictionary(uniqueKeysWithValues: FetchedListMirror.sections(of: controller).map { ($0.name, $0.rows) })
  }

  @Test("Objects are in sections by key path, found by index path and back, unsaved ones too")
  func sections() throws {
    employee("b", 30)
    employee("a", 30)
    try context.save()
    let unsaved = employee("c", 20)
    employee("d", nil)
    let controller = controller()
    #expect(controller.fetchedObjects == nil && controller.sections == nil)
    try controller.performFetch()
    #expect(controller.sections?.map(\.name) == ["", "20", "30"])
    #expect(controller.sections?.map(\.numberOfObjects) == [1, 1, 2])
    #expect(controller.fetchedObjects?.map { $0.value(forKey: "name") as? String } == ["d", "c", "a", "b"])
    #expect(controller.object(at: IndexPath(row: 0, section: 1)) === unsaved)
    #expect(controller.indexPath(forObject: unsaved) == IndexPath(item: 0, section: 1))
    #expect(controller.indexPath(forObject: context.make("Employee", ["name": "x"])) == nil)
    context.delete(unsaved)
    #expect(controller.sections?.count == 3, "without a delegate nothing is followed")
  }

  @Test("Without a key path there is one section, even without objects; with one and no objects there is none")
  func empty() throws {
    let plain = controller(sections: nil)
    try plain.performFetch()
    #expect(plain.sections?.map(\.numberOfObjects) == [0] && plain.fetchedObjects?.isEmpty == true)
    #expect(plain.sections?.first?.name == "")
    let divided = controller()
    try divided.performFetch()
    #expect(divided.sections?.isEmpty == true)
  }

  @Test("Objects out of the order of their sections, unknown key paths and a lost sort descriptor are errors")
  func badRequests() throws {
    for (name, age) in [("a", 1), ("b", 2), ("c", 1)] { employee(name, age) }
    let unordered = controller(["name"])
    let error = #expect(throws: NSError.self) { try unordered.performFetch() }
    #expect(error?.code == NSCoreDataError)
    #expect(error?.localizedFailureReason?.contains("index 2 has an out of order section name '1'") == true)
    #expect(unordered.fetchedObjects == nil)
    let unknown = controller(sections: "colour")
    #expect(throws: NSError.self) { try unknown.performFetch() }
    let unsorted = controller()
    try unsorted.performFetch()
    unsorted.fetchRequest.sortDescriptors = []
    #expect(throws: NSError.self) { try unsorted.performFetch() }
    #expect(unsorted.fetchedObjects?.count == 3, "a failed fetch leaves the contents")
  }

  @Test("Empty sort descriptors fetch in the order of the rows, and changes keep it")
  func unsorted() throws {
    for name in ["c", "a", "b"] {
      employee(name, 1)
      try context.save()
    }
    let (unsorted, mirror) = (controller([], sections: nil), FetchedListMirror())
    try unsorted.performFetch()
    mirror.show(unsorted)
    unsorted.delegate = mirror
    func names() -> [String?] { unsorted.fetchedObjects?.map { $0.value(forKey: "name") as? String } ?? [] }
    #expect(names() == ["c", "a", "b"])
    let added = employee("0", 1)
    context.processPendingChanges()
    #expect(names() == ["c", "a", "b", "0"])
    try context.save()
    context.delete(added)
    context.processPendingChanges()
    #expect(names() == ["c", "a", "b"])
    #expect(mirror.problems == [] && mirror.sections == FetchedListMirror.sections(of: unsorted))
    unsorted.fetchRequest.sortDescriptors = nil
    let error = #expect(throws: NSError.self) { try unsorted.performFetch() }
    #expect(error?.localizedFailureReason?.contains("are nil") == true)
  }

  private final class SectionLog: NSObject, NSFetchedResultsControllerDelegate {
    var lines: [String] = []

    func controller(
      _ controller: NSFetchedResultsController<any NSFetchRequestResult>,
      didChange sectionInfo: any NSFetchedResultsSectionInfo, atSectionIndex sectionIndex: Int,
      for type: NSFetchedResultsChangeType
    ) {
      lines.append("\(type) \(sectionInfo.name) \(sectionInfo.numberOfObjects) \(sectionInfo.objects?.count ?? -1)")
    }
  }

  @Test("A deleted section has no objects, an inserted one has its own")
  func changedSections() throws {
    let object = employee("a", 1)
    try context.save()
    let (controller, log) = (controller(), SectionLog())
    controller.delegate = log
    try controller.performFetch()
    object.setValue(2, forKey: "age")
    context.processPendingChanges()
    #expect(log.lines == ["delete 1 0 0", "insert 2 1 1"])
  }

  @Test("Programmer mistakes stop the program")
  func mistakes() async {
    await #expect(processExitsWith: .failure) {
      let context = try TemporaryStore().context(CompanyModel.make())
      _ = NSFetchedResultsController(
        fetchRequest: NSFetchRequest<NSManagedObject>(entityName: "Task"), managedObjectContext: context,
        sectionNameKeyPath: nil, cacheName: nil)
    }
    await #expect(processExitsWith: .failure) {
      let tests = try FetchedResultsTests()
      let controller = tests.controller()
      try controller.performFetch()
      _ = controller.object(at: IndexPath(row: 0, section: 0))
    }
    await #expect(processExitsWith: .failure) {
      let tests = try FetchedResultsTests()
      let controller = tests.controller()
      try controller.performFetch()
      _ = controller.section(forSectionIndexTitle: "A", at: 0)
    }
  }

  @Test("One batch has sections first, deletions in old coordinates, insertions and moves in new ones")
  func order() throws {
    let (a, b) = (employee("a", 1), employee("b", 1))
    let (c, d) = (employee("c", 2), employee("d", 3))
    try context.save()
    let (controller, mirror) = (controller(), FetchedListMirror())
    try controller.performFetch()
    mirror.show(controller)
    controller.delegate = mirror
    context.delete(a)
    context.delete(c)
    b.setValue(7, forKey: "steps")
    d.setValue(1, forKey: "age")
    employee("e", 0)
    context.processPendingChanges()
    #expect(
      mirror.calls == [
        "willChange", "section delete 2", "section delete 1", "section insert 0", "delete 1-0>", "delete 0-0>",
        "insert >0-0", "move 2-0>1-1", "update 0-1>1-0", "didChange",
      ])
    #expect(mirror.problems == [] && rows(controller) == ["0": ["e"], "1": ["b", "d"]])
    mirror.show(controller)
    try context.save()
    #expect(mirror.batches == 1, "a save changes nothing")
    c.setValue("z", forKey: "name")
    context.make("Task", ["title": "t"])
    context.processPendingChanges()
    #expect(mirror.batches == 1, "other objects are of no concern")
  }

  @Test("An object stays among equal ones when it changes, and objects that swap places move once")
  func equals() throws {
    let objects = ["a", "b", "c"].map { employee($0, 1) }
    try context.save()
    let (controller, mirror) = (controller(["age"], sections: nil), FetchedListMirror())
    try controller.performFetch()
    mirror.show(controller)
    controller.delegate = mirror
    objects[0].setValue(5, forKey: "steps")
    context.processPendingChanges()
    #expect(mirror.calls == ["willChange", "update 0-0>0-0", "didChange"])
    objects[0].setValue(3, forKey: "age")
    objects[2].setValue(0, forKey: "age")
    context.processPendingChanges()
    #expect(mirror.calls.filter { $0.hasPrefix("move") }.count == 2)
    #expect(rows(controller) == ["": ["c", "b", "a"]])
    objects[0].setValue(0, forKey: "age")
    objects[2].setValue(3, forKey: "age")
    context.processPendingChanges()
    #expect(rows(controller) == ["": ["a", "b", "c"]] && mirror.problems == [])
  }

  /// A delegate written for Apple's framework, with two controllers.
  private final class ListScreen: NSObject, NSFetchedResultsControllerDelegate {
    var young: NSFetchedResultsController<NSManagedObject>!
    lazy var old: NSFetchedResultsController<NSManagedObject> = young
    var seen: [String] = []

    func controllerDidChangeContent(_ controller: NSFetchedResultsController<NSFetchRequestResult>) {
      if controller === young { seen.append("young ===") }
      if controller == young { seen.append("young ==") }
      if controller === old { seen.append("old ===") }
      switch controller {
      case young: seen.append("case young")
      default: seen.append("default")
      }
      seen.append("\(controller.fetchedObjects?.count ?? -1) of \(controller.fetchRequest.entityName ?? "")")
      controller.fetchRequest.predicate = NSPredicate(format: "age < 50")
    }
  }

  @Test("The delegate's controller is equal and identical to the one it belongs to, and shares its request")
  func identity() throws {
    let screen = ListScreen()
    (screen.young, screen.old) = (controller(), controller())
    screen.young.delegate = screen
    try screen.young.performFetch()
    employee("a", 60)
    employee("b", 40)
    context.processPendingChanges()
    #expect(screen.seen == ["young ===", "young ==", "case young", "2 of Employee"])
    #expect(screen.young !== screen.old && screen.young != screen.old)
    try screen.young.performFetch()
    #expect(rows(screen.young) == ["40": ["b"]])
  }

  private final class DifferenceTaker: NSObject, NSFetchedResultsControllerDelegate {
    var ids: [NSManagedObjectID] = []
    var differences = 0
    var others = 0

    func controller(
      _ controller: NSFetchedResultsController<NSFetchRequestResult>,
      didChangeContentWith diff: CollectionDifference<NSManagedObjectID>
    ) {
      differences += 1
      ids = ids.applying(diff) ?? []
    }

    func controllerWillChangeContent(_ controller: NSFetchedResultsController<NSFetchRequestResult>) { others += 1 }
    func controllerDidChangeContent(_ controller: NSFetchedResultsController<NSFetchRequestResult>) { others += 1 }
  }

  @Test("A delegate that takes a difference gets nothing else, unless there are sections")
  func difference() throws {
    let objects = ["a", "b", "c", "d"].map { employee($0, 1) }
    try context.save()
    let (taker, plain) = (DifferenceTaker(), controller(sections: nil))
    try plain.performFetch()
    plain.delegate = taker
    taker.ids = plain.fetchedObjects?.map(\.objectID) ?? []
    objects[0].setValue(9, forKey: "age")
    objects[1].setValue(9, forKey: "steps")
    context.delete(objects[2])
    let new = employee("n", 0)
    try context.obtainPermanentIDs(for: [new])
    context.processPendingChanges()
    #expect(taker.ids == [new, objects[1], objects[3], objects[0]].map(\.objectID))
    #expect(taker.differences == 1 && taker.others == 0)
    let divided = controller()
    try divided.performFetch()
    divided.delegate = taker
    new.setValue(5, forKey: "age")
    context.processPendingChanges()
    #expect(taker.others == 2 && taker.differences == 2)
  }

  @Test("Objects saved, changed and deleted by another context appear, move and leave when they are merged")
  func merging() throws {
    let kept = employee("a", 1)
    employee("b", 2)
    try context.save()
    let (controller, mirror) = (controller(), FetchedListMirror())
    try controller.performFetch()
    mirror.show(controller)
    controller.delegate = mirror
    context.automaticallyMergesChangesFromParent = true
    let other = NSManagedObjectContext(.privateQueue)
    other.persistentStoreCoordinator = context.persistentStoreCoordinator
    let found = try other.all("Employee")
    found[0].setValue(3, forKey: "age")
    other.delete(found[1])
    other.make("Employee", ["name": "c", "age": 3])
    try other.save()
    context.performAndWait {}
    #expect(mirror.problems == [] && mirror.sections == FetchedListMirror.sections(of: controller))
    #expect(rows(controller) == ["3": ["a", "c"]])
    #expect(controller.object(at: IndexPath(item: 0, section: 0)) === kept)
  }

  @Test("After a reset the contents are fetched again, with new objects")
  func reset() throws {
    employee("a", 1)
    try context.save()
    employee("unsaved", 2)
    let (controller, mirror) = (controller(), FetchedListMirror())
    try controller.performFetch()
    mirror.show(controller)
    controller.delegate = mirror
    let before = try #require(controller.fetchedObjects?.first)
    context.reset()
    #expect(rows(controller) == ["1": ["a"]] && mirror.problems == [])
    #expect(mirror.calls == ["willChange", "section delete 1", "delete 1-0>", "update 0-0>0-0", "didChange"])
    let after = try #require(controller.fetchedObjects?.first)
    #expect(after !== before && after.managedObjectContext === context && after.objectID == before.objectID)
  }

  /// A delegate that changes objects while it is told of changes.
  private final class Meddler: NSObject, NSFetchedResultsControllerDelegate {
    let mirror = FetchedListMirror()
    var change: (() -> Void)?

    func controllerWillChangeContent(_ controller: NSFetchedResultsController<NSFetchRequestResult>) {
      mirror.controllerWillChangeContent(controller)
      let change = change
      self.change = nil
      change?()
    }

    func controller(
      _ controller: NSFetchedResultsController<NSFetchRequestResult>, didChange anObject: Any,
      at indexPath: IndexPath?, for type: NSFetchedResultsChangeType, newIndexPath: IndexPath?
    ) {
      mirror.controller(controller, didChange: anObject, at: indexPath, for: type, newIndexPath: newIndexPath)
    }

    func controllerDidChangeContent(_ controller: NSFetchedResultsController<NSFetchRequestResult>) {
      mirror.controllerDidChangeContent(controller)
    }
  }

  @Test("Changes that a delegate makes while it is told of others are a batch of their own")
  func reentrance() throws {
    let first = employee("a", 1)
    let controller = controller(sections: nil)
    try controller.performFetch()
    let meddler = Meddler()
    meddler.mirror.show(controller)
    controller.delegate = meddler
    meddler.change = { [context] in
      employee("b", 0)
      context.delete(first)
      context.processPendingChanges()
    }
    employee("c", 2)
    context.processPendingChanges()
    #expect(meddler.mirror.problems == [] && meddler.mirror.batches == 2)
    #expect(meddler.mirror.sections.map(\.rows) == [["b", "c"]] && rows(controller) == ["": ["b", "c"]])
  }

  private final class Titles: NSObject, NSFetchedResultsControllerDelegate {
    func controller(
      _ controller: NSFetchedResultsController<NSFetchRequestResult>,
      sectionIndexTitleForSectionName sectionName: String
    ) -> String? {
      sectionName == "beta" ? nil : "‹\(sectionName.prefix(1))›"
    }
  }

  private final class Reversed: NSFetchedResultsController<NSManagedObject> {
    override func sectionIndexTitle(forSectionName sectionName: String) -> String? { String(sectionName.reversed()) }
  }

  @Test("Index titles are initials, or those of a subclass or of the delegate")
  func indexTitles() throws {
    for name in ["alpha", "apex", "beta", "gamma"] { employee(name, 1) }
    let plain = controller(["name"], sections: "name")
    try plain.performFetch()
    #expect(plain.sectionIndexTitles == ["A", "B", "G"])
    #expect(plain.section(forSectionIndexTitle: "G", at: 2) == 3 && plain.sections?[1].indexTitle == "A")
    let (delegate, silent) = (Titles(), FetchedListMirror())
    plain.delegate = delegate
    #expect(plain.sectionIndexTitles == ["‹a›", "‹g›"] && plain.sections?[2].indexTitle == nil)
    let reversed = Reversed(
      fetchRequest: plain.fetchRequest, managedObjectContext: context, sectionNameKeyPath: "name", cacheName: nil)
    try reversed.performFetch()
    #expect(reversed.sectionIndexTitles == ["ahpla", "xepa", "ateb", "ammag"])
    reversed.delegate = silent
    #expect(reversed.sectionIndexTitles.first == "ahpla", "a delegate without titles asks the controller")
  }

  @Test("Identifiers and dictionaries have no changes to follow, but may have sections")
  func otherResults() throws {
    for (name, age) in [("a", 1), ("b", 1), ("c", 2)] { employee(name, age) }
    try context.save()
    let request = NSFetchRequest<NSDictionary>(entityName: "Employee")
    request.resultType = .dictionaryResultType
    request.propertiesToFetch = ["name", "age"]
    request.sortDescriptors = [NSSortDescriptor(key: "name", ascending: true)]
    let controller = NSFetchedResultsController(
      fetchRequest: request, managedObjectContext: context, sectionNameKeyPath: "age", cacheName: nil)
    let mirror = FetchedListMirror()
    controller.delegate = mirror
    try controller.performFetch()
    #expect(controller.sections?.map(\.numberOfObjects) == [2, 1])
    #expect(controller.object(at: IndexPath(item: 1, section: 0))["name"] as? String == "b")
    employee("d", 1)
    context.processPendingChanges()
    #expect(mirror.batches == 0 && controller.fetchedObjects?.count == 3)
  }

  @Test("A cache of sections is used only while it is right")
  func cache() throws {
    let name = "FetchedResultsTests-\(UUID().uuidString)"
    defer { NSFetchedResultsController<NSFetchRequestResult>.deleteCache(withName: name) }
    for (name, age) in [("a", 1), ("b", 1), ("c", 2), ("d", 2), ("e", 2)] { employee(name, age) }
    try context.save()
    try controller(cache: name).performFetch()
    context.reset()
    let cached = controller(cache: name, batchSize: 1)
    try cached.performFetch()
    #expect(cached.fetchedObjects?.filter(\.isFault).count == 1, "only the ends of the sections are read")
    #expect(rows(cached) == ["1": ["a", "b"], "2": ["c", "d", "e"]])
    let changed = try #require(cached.fetchedObjects?[2])
    changed.setValue(1, forKey: "age")
    try context.save()
    let stale = controller(cache: name)
    try stale.performFetch()
    #expect(rows(stale) == ["1": ["a", "b", "c"], "2": ["d", "e"]])
    let other = controller(["name"], sections: "name", cache: name)
    try other.performFetch()
    #expect(other.sections?.count == 5)
    NSFetchedResultsController<NSManagedObject>.deleteCache(withName: name)
    context.reset()
    let uncached = controller(cache: name, batchSize: 1)
    try uncached.performFetch()
    #expect(uncached.fetchedObjects?.filter(\.isFault).count == 0)
  }
}
