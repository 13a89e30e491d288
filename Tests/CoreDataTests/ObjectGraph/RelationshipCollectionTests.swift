// OpenCoreData
// SPDX-License-Identifier: Apache-2.0

import CoreDataTestSupport
import Foundation
import Testing

@testable import CoreData

/// What `mutableOrderedSetValue(forKey:)` and `mutableSetValue(forKey:)` give, beside Foundation's own collections.
@Suite("Live collections of relationships")
struct RelationshipCollectionTests {
  private static func title(_ object: Any) -> String {
    ((object as? NSManagedObject)?["title"] as? String) ?? "?"
  }

  private static func order(_ one: Any, _ other: Any) -> ComparisonResult { title(one).compare(title(other)) }

  /// All ways to look at an ordered set, each as titles.
  private static func looks(at set: NSMutableOrderedSet) -> [String: [String]] {
    var visited: [Any] = []
    set.enumerateObjects { object, _, _ in visited.append(object) }
    var iterated: [Any] = []
    for object in set { iterated.append(object) }
    let looks: [String: [Any]] = [
      "array": set.array, "iteration": iterated, "enumerator": set.objectEnumerator().allObjects,
      "reverse": set.reverseObjectEnumerator().allObjects.reversed(), "reversed": set.reversed.array.reversed(),
      "object(at:)": (0..<set.count).map { set.object(at: $0) }, "subscript": (0..<set.count).map { set[$0] },
      "first": [set.firstObject].compactMap { $0 }, "last": [set.lastObject].compactMap { $0 },
      "enumeration": visited, "objects(at:)": set.objects(at: IndexSet(0..<set.count)),
      "copy": NSArray(array: set.array).map { $0 },
      "filtered": set.filtered(using: NSPredicate(block: { _, _ in true })).array,
      "sorted": set.sortedArray(comparator: order), "set": set.set.map(\.base).sorted { title($0) < title($1) },
      "contained": set.array.filter { set.contains($0) && set.index(of: $0) != NSNotFound },
      "union": {
        let all = NSMutableOrderedSet()
        all.union(set)
        return all.array
      }(),
    ]
    return looks.mapValues { $0.map(title) }
  }

  /// What can be done to an ordered set of a, b, c, d; e and f are outside.
  private static let edits: [(String, @Sendable (NSMutableOrderedSet, [String: NSManagedObject]) -> Void)] = [
    ("nothing", { _, _ in }), ("add", { set, of in set.add(of["e"] as Any) }),
    ("add a member", { set, of in set.add(of["a"] as Any) }),
    ("add all", { set, of in set.addObjects(from: [of["f"], of["a"], of["e"]].compactMap { $0 }) }),
    ("insert", { set, of in set.insert(of["e"] as Any, at: 1) }),
    ("insert several", { set, of in set.insert([of["e"], of["f"]].compactMap { $0 }, at: IndexSet([0, 3])) }),
    ("remove", { set, of in set.remove(of["b"] as Any) }),
    ("remove no member", { set, of in set.remove(of["e"] as Any) }),
    ("remove at", { set, _ in set.removeObject(at: 0) }),
    ("remove in array", { set, of in set.removeObjects(in: [of["a"], of["c"]].compactMap { $0 }) }),
    ("remove range", { set, _ in set.removeObjects(in: NSRange(location: 1, length: 2)) }),
    ("remove indexes", { set, _ in set.removeObjects(at: IndexSet([0, 3])) }),
    ("remove all", { set, _ in set.removeAllObjects() }),
    ("replace", { set, of in set.replaceObject(at: 2, with: of["e"] as Any) }),
    (
      "replace several",
      { set, of in set.replaceObjects(at: IndexSet([0, 3]), with: [of["e"], of["f"]].compactMap { $0 }) }
    ),
    ("set", { set, of in set.setObject(of["e"] as Any, at: 4) }), ("subscript", { set, of in set[0] = of["f"] as Any }),
    ("exchange", { set, _ in set.exchangeObject(at: 0, withObjectAt: 2) }),
    ("move", { set, _ in set.moveObjects(at: IndexSet([0, 1]), to: 2) }),
    ("sort", { set, _ in set.sort(comparator: order) }),
    ("sort with options", { set, _ in set.sort(options: [], usingComparator: order) }),
    ("sort range", { set, _ in set.sortRange(NSRange(location: 1, length: 3), options: [], usingComparator: order) }),
    ("sort by descriptor", { set, _ in set.sort(using: [NSSortDescriptor(key: "title", ascending: true)]) }),
    ("filter", { set, _ in set.filter(using: NSPredicate(block: { object, _ in title(object as Any) < "c" })) }),
    ("union", { set, of in set.union(NSOrderedSet(array: [of["e"], of["a"]].compactMap { $0 })) }),
    ("intersect", { set, of in set.intersect(NSOrderedSet(array: [of["e"], of["a"]].compactMap { $0 })) }),
    ("minus", { set, of in set.minus(NSOrderedSet(array: [of["e"], of["a"]].compactMap { $0 })) }),
    (
      "union with a set",
      { set, of in
        set.unionSet([of["e"] as NSObject?].compactMap { $0 }.reduce(into: Set<AnyHashable>()) { $0.insert($1) })
      }
    ),
    (
      "intersect a set",
      { set, of in
        set.intersectSet(
          [of["a"], of["e"]].compactMap { $0 as NSObject? }.reduce(into: Set<AnyHashable>()) { $0.insert($1) })
      }
    ),
    (
      "minus a set",
      { set, of in
        set.minusSet(
          [of["a"], of["e"]].compactMap { $0 as NSObject? }.reduce(into: Set<AnyHashable>()) { $0.insert($1) })
      }
    ),
  ]

  private func expectSame(_ found: [String: [String]], _ wanted: [String: [String]], _ name: String = "before") {
    for (look, titles) in wanted { #expect(found[look] == titles, "\(look) after: \(name)") }
  }

  private func project(_ context: NSManagedObjectContext) throws -> (NSManagedObject, [String: NSManagedObject]) {
    let tasks = ["d", "b", "a", "c", "e", "f"].map { context.make("Task", ["title": $0]) }
    let project = context.make("Project", ["title": "P", "tasks": NSOrderedSet(array: Array(tasks.prefix(4)))])
    try context.save()
    return (project, Dictionary(uniqueKeysWithValues: tasks.map { (Self.title($0), $0) }))
  }

  @Test(
    "An ordered one agrees with itself and with Foundation's, before and after every change", arguments: edits.indices)
  func ordered(index: Int) throws {
    let (name, edit) = Self.edits[index]
    let store = try TemporaryStore()
    let context = try store.context(CompanyModel.make())
    let (project, tasks) = try project(context)
    let live = project.mutableOrderedSetValue(forKey: "tasks")
    let plain = NSMutableOrderedSet(array: ["d", "b", "a", "c"].compactMap { tasks[$0] })
    expectSame(Self.looks(at: live), Self.looks(at: plain))
    edit(live, tasks)
    if name == "intersect" {
      // Foundation's own on Linux never comes back.
      plain.removeObjects(in: ["d", "b", "c"].compactMap { tasks[$0] })
    } else {
      edit(plain, tasks)
    }
    expectSame(Self.looks(at: live), Self.looks(at: plain), name)
    let kept = try #require(project["tasks"] as? NSOrderedSet)
    #expect(kept.map(Self.title) == plain.map(Self.title), "\(name)")
    for task in tasks.values { #expect((task["project"] != nil) == plain.contains(task), "\(name)") }
    try context.save()
    try store.close()
    let read = try #require(try store.context(CompanyModel.make()).all("Project", by: "title").first)
    #expect((read["tasks"] as? NSOrderedSet)?.map(Self.title) == plain.map(Self.title), "\(name)")
    #expect(Self.looks(at: read.mutableOrderedSetValue(forKey: "tasks"))["iteration"] == plain.map(Self.title))
  }

  @Test("An ordered one follows changes that are made elsewhere")
  func following() throws {
    let store = try TemporaryStore()
    let context = try store.context(CompanyModel.make())
    let (project, tasks) = try project(context)
    let live = project.mutableOrderedSetValue(forKey: "tasks")
    func titles() -> [[String]] {
      [live.array.map(Self.title), live.map(Self.title), [live.firstObject].compactMap { $0 }.map(Self.title)]
    }
    tasks["e"]?["project"] = project
    #expect(titles() == [["d", "b", "a", "c", "e"], ["d", "b", "a", "c", "e"], ["d"]])
    project["tasks"] = NSOrderedSet(array: ["f", "a"].compactMap { tasks[$0] })
    #expect(titles() == [["f", "a"], ["f", "a"], ["f"]])
    tasks["f"]?["project"] = nil
    #expect(titles() == [["a"], ["a"], ["a"]])
    context.rollback()
    #expect(titles() == [["d", "b", "a", "c"], ["d", "b", "a", "c"], ["d"]])
    live.removeAllObjects()
    context.refresh(project, mergeChanges: false)
    #expect(titles() == [["d", "b", "a", "c"], ["d", "b", "a", "c"], ["d"]])
    project.setPrimitiveValue(NSOrderedSet(), forKey: "tasks")
    #expect(live.firstObject == nil && live.array.isEmpty)
  }

  /// All ways to look at a set, each as sorted titles.
  private static func looks(at set: NSMutableSet) -> [String: [String]] {
    var visited: [Any] = []
    set.enumerateObjects { object, _ in visited.append(object) }
    var iterated: [Any] = []
    for object in set { iterated.append(object) }
    let looks: [String: [Any]] = [
      "all": set.allObjects, "iteration": iterated, "enumerator": set.objectEnumerator().allObjects,
      "enumeration": visited, "members": set.allObjects.compactMap { set.member($0) },
      "contained": set.allObjects.filter { set.contains($0) }, "any": set.anyObject() == nil ? [] : set.allObjects,
      "filtered": set.filtered(using: NSPredicate(block: { _, _ in true })).map { $0 as Any },
      "sorted": set.sortedArray(using: [NSSortDescriptor(key: "title", ascending: true)]),
      "adding": set.adding(NSNull()).filter { !($0.base is NSNull) }.map(\.base),
      "copy": (set.copy() as? NSSet)?.allObjects ?? [],
      "objects": set.objects(options: []) { _, _ in true }.map(\.base),
    ]
    return looks.mapValues { $0.map(title).sorted() }.merging(["count": ["\(set.count)"]]) { $1 }
  }

  private static func members(_ names: [String], _ of: [String: NSManagedObject]) -> Set<AnyHashable> {
    Set(names.compactMap { of[$0] })
  }

  private static let setEdits: [(String, @Sendable (NSMutableSet, [String: NSManagedObject]) -> Void)] = [
    ("nothing", { _, _ in }), ("add", { set, of in set.add(of["e"] as Any) }),
    ("add a member", { set, of in set.add(of["a"] as Any) }),
    ("add all", { set, of in set.addObjects(from: [of["f"], of["a"], of["e"]].compactMap { $0 }) }),
    ("remove", { set, of in set.remove(of["b"] as Any) }),
    ("remove no member", { set, of in set.remove(of["e"] as Any) }),
    ("remove all", { set, _ in set.removeAllObjects() }), ("union", { set, of in set.union(members(["e", "a"], of)) }),
    ("intersect", { set, of in set.intersect(members(["e", "a"], of)) }),
    ("minus", { set, of in set.minus(members(["e", "a"], of)) }),
    ("set", { set, of in set.setSet(members(["e", "a"], of)) }),
    ("filter", { set, _ in set.filter(using: NSPredicate(block: { object, _ in title(object as Any) < "c" })) }),
  ]

  @Test("They can be printed")
  func printing() throws {
    let context = try TemporaryStore().context(CompanyModel.make())
    let task = context.make("Task", ["title": "Sweep"])
    let department = context.make("Department", ["archive": NSSet(object: task)])
    let set = department.mutableSetValue(forKey: "archive")
    #expect(set.description.contains("Sweep") && set.debugDescription.contains("Sweep"))
    #expect("\(set)" == set.description(withLocale: nil))
    let project = context.make("Project", ["tasks": NSOrderedSet(object: task)])
    #expect(project.mutableOrderedSetValue(forKey: "tasks").description.contains("Sweep"))
  }

  @Test(
    "An unordered one agrees with itself and with Foundation's, before and after every change",
    arguments: setEdits.indices)
  func unordered(index: Int) throws {
    let (name, edit) = Self.setEdits[index]
    let context = try TemporaryStore().context(CompanyModel.make())
    let tasks = ["d", "b", "a", "c", "e", "f"].map { context.make("Task", ["title": $0]) }
    let byTitle = Dictionary(uniqueKeysWithValues: tasks.map { (Self.title($0), $0) })
    let department = context.make("Department", ["archive": NSSet(array: Array(tasks.prefix(4)))])
    let live = department.mutableSetValue(forKey: "archive")
    let plain = NSMutableSet(array: Array(tasks.prefix(4)))
    expectSame(Self.looks(at: live), Self.looks(at: plain))
    edit(live, byTitle)
    edit(plain, byTitle)
    expectSame(Self.looks(at: live), Self.looks(at: plain), name)
    #expect(department["archive"] as? Set<NSManagedObject> == plain as? Set<NSManagedObject>, "\(name)")
    #expect(live.isEqual(plain) && plain.isEqual(live) && live.isSubset(of: plain as? Set<NSManagedObject> ?? []))
  }
}
