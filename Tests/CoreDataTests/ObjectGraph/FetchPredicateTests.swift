// OpenCoreData
// SPDX-License-Identifier: Apache-2.0

import CoreDataSQLite
import CoreDataTestSupport
import Foundation
import Testing

@testable import CoreData

@Suite("Fetching with predicates")
struct FetchPredicateTests {
  static let formats = [
    "age == 30", "age != 30", "age < 30", "age <= 30", "age > 30", "age >= 30", "age == nil", "age != nil",
    "name == 'Ada'", "name ==[c] 'ada'", "name ==[cd] 'zoe'", "name != 'Ada'", "name < 'M'", "rating > 2.5",
    "isActive == YES", "isActive == NO", "NOT age > 30", "age > 20 AND age < 40", "age < 25 OR name == 'Zoë'",
    "NOT (age > 20 AND name == 'Ada')", "age IN {25, 30}", "name IN {'Ada', 'Bob'}", "age BETWEEN {25, 35}",
    "name BEGINSWITH 'A'", "name BEGINSWITH[c] 'a'", "name BEGINSWITH[cd] 'zo'", "name ENDSWITH 'a'",
    "name ENDSWITH[cd] 'E'", "name CONTAINS 'd'", "name CONTAINS[c] 'D'", "name CONTAINS[d] 'oe'", "name LIKE 'A*'",
    "name LIKE[c] '?da'", "name LIKE[cd] '*E'", "name MATCHES '[A-B].*'", "name MATCHES[c] 'a.a'",
    "department.name == 'Research'", "department.name BEGINSWITH[c] 's'", "department == nil", "department != nil",
    "manager.department.name == 'Sales'", "ANY projects.title == 'Apollo'", "ALL projects.title == 'Apollo'",
    "NONE projects.title == 'Apollo'", "ANY friends.rating > 2", "projects.@count == 2", "projects.@count > 0",
    "friends.@count == 0", "SUBQUERY(projects, $p, $p.title BEGINSWITH 'A').@count > 0",
    "SUBQUERY(friends, $f, $f.age > 20 AND $f.name != 'Bob').@count == 1", "age + 5 > 35", "TRUEPREDICATE", "1 == 1",
    "'a' BEGINSWITH 'b'", "NOT (nil == nil)",
    "name IN[c] {'ADA', 'zoË'}", "name IN[cd] {'EVA', 'ZOE'}", "NOT name IN[c] {'ada'}", "name IN[n] {'Ada', 'ada'}",
    "department.name IN[c] {'RESEARCH'}", "NOT department.name IN[c] {'RESEARCH'}",
    "department.name IN[c] {'SALES', nil}",
    "ANY projects.title IN[c] {'APOLLO'}",
    "FALSEPREDICATE", "ANY favourites.title LIKE '*1'", "ANY projects.members.name == 'Ada'",
  ]

  /// Some people; `unsaved` changes some of them without a save.
  static func fill(_ context: NSManagedObjectContext, unsaved: Bool) throws {
    let departments = ["Research", "Sales"].map { context.make("Department", ["name": $0]) }
    let projects = ["Apollo", "Gemini"].map { context.make("Project", ["title": $0]) }
    let tasks = ["t1", "t2"].map { context.make("Task", ["title": $0]) }
    let boss = context.make("Manager", ["name": "Bob", "age": 50, "rating": 1.0, "department": departments[1]])
    let people: [(String, Int?, Double)] = [
      ("Ada", 30, 4.5), ("ada", 25, 2.5), ("Zoë", 35, 3.0), ("zoe", nil, 0), ("Éva", 20, 2.0), ("Dan", 30, 5.0),
    ]
    var made = [boss]
    for (index, person) in people.enumerated() {
      let object = context.make("Employee", ["name": person.0, "rating": person.2, "isActive": index % 2 == 0])
      object["age"] = person.1
      if index < 4 { object["department"] = departments[index % 2] }
      if index % 3 == 0 { object["manager"] = boss }
      object["projects"] = NSSet(array: Array(projects.prefix(index % 3)))
      object["favourites"] = NSOrderedSet(array: Array(tasks.prefix(index % 3)))
      object["friends"] = NSSet(array: [made[index / 2]])
      made.append(object)
    }
    try context.save()
    guard unsaved else { return }
    made[1]["age"] = 41
    made[2]["name"] = "Zoltan"
    made[3]["department"] = nil
    made[4]["projects"] = NSSet(array: projects)
    context.delete(made[5])
    context.make("Employee", ["name": "Ada", "age": 30, "department": departments[0]])
  }

  @Test("What SQL answers is what evaluating the predicate in memory answers", arguments: formats)
  func sameAnswer(format: String) throws {
    for unsaved in [false, true] {
      let context = try TemporaryStore().context(CompanyModel.make())
      try Self.fill(context, unsaved: unsaved)
      let predicate = NSPredicate(format: format)
      let expected = try context.all("Employee").filter { try predicate.holds(for: $0) }.map(\.objectID)
      let request = NSFetchRequest<NSManagedObject>(entityName: "Employee")
      request.predicate = predicate
      #expect(Set(try context.fetch(request).map(\.objectID)) == Set(expected), "unsaved: \(unsaved)")
      #expect(try context.count(for: request) == expected.count)
      let ids = NSFetchRequest<NSManagedObjectID>(entityName: "Employee")
      ids.resultType = .managedObjectIDResultType
      ids.predicate = predicate
      #expect(Set(try context.fetch(ids)) == Set(expected))
    }
  }

  @Test("A list of many texts is compared without case in SQL as in memory", arguments: ["c", "cd", "d", "cl"])
  func longLists(options: String) throws {
    let context = try TemporaryStore().context(CompanyModel.make())
    try Self.fill(context, unsaved: false)
    for name in ["\u{212A}arl", "karl", "I\u{307}pek", "STRASSE", "stra\u{DF}e", "e\u{301}va"] {
      context.make("Employee", ["name": name])
    }
    try context.save()
    let list =
      (0..<150).map { "Name \($0)" } + ["KARL", "ZOE", "Stra\u{DF}e", "i\u{307}PEK", "EVA", "\u{C9}VA", "aDa", "Eva"]
    for format in ["name IN[\(options)] %@", "NOT name IN[\(options)] %@"] {
      let predicate = NSPredicate(format: format, argumentArray: [list])
      let expected = try context.all("Employee").filter { try predicate.holds(for: $0) }
      #expect(!expected.isEmpty)
      #expect(try context.all("Employee", where: predicate) == expected, "\(format)")
    }
  }

  @Test("Objects stand in predicates: SELF, IN, ==, and those that have not been saved")
  func objects() throws {
    let context = try TemporaryStore().context(CompanyModel.make())
    try Self.fill(context, unsaved: true)
    let departments = try context.all("Department")
    let people = try context.all("Employee")
    let fresh = try #require(people.first { $0.objectID.isTemporaryID })
    for predicate in [
      NSPredicate(format: "department == %@", departments[0]), NSPredicate(format: "department != %@", departments[0]),
      NSPredicate(format: "department IN %@", departments as NSArray),
      NSPredicate(format: "SELF IN %@", Array(people.prefix(2)) as NSArray),
      NSPredicate(format: "SELF == %@", people[0]), NSPredicate(format: "SELF == %@", fresh),
      NSPredicate(format: "department == %@", departments[0].objectID),
      NSPredicate(format: "ANY friends == %@", people[0]),
      NSPredicate(format: "%@ IN friends", people[1]),
    ] {
      let expected = try people.filter { try predicate.holds(for: $0) }
      #expect(try Set(context.all("Employee", where: predicate)) == Set(expected), "\(predicate)")
    }
  }

  @Test("A sub-fetch in a predicate is evaluated once, and is the same with and without unsaved changes")
  func subfetches() throws {
    for unsaved in [false, true] {
      let context = try TemporaryStore().context(CompanyModel.make())
      try Self.fill(context, unsaved: unsaved)
      let inner = NSFetchRequest<NSManagedObject>(entityName: "Department")
      inner.predicate = NSPredicate(format: "name == 'Research'")
      let found = try context.all(
        "Employee", where: NSPredicate(format: "department IN FETCH(%@, %@, NO)", inner, context))
      let expected = try context.all("Employee", where: NSPredicate(format: "department.name == 'Research'"))
      #expect(found == expected && !found.isEmpty)
      let count = NSPredicate(format: "FETCH(%@, %@, YES) == 1", inner, context)
      #expect(try context.all("Employee", where: count).count == context.all("Employee").count)
    }
  }

  @Test("Values that SQL cannot sum, and predicates that are too deep or long for SQL, are evaluated in memory")
  func limits() throws {
    let context = try TemporaryStore().context(CompanyModel.make())
    let department = context.make("Department", ["name": "d"])
    for _ in 0..<2 { context.make("Employee", ["name": "e", "steps": Int64.max, "age": 3, "department": department]) }
    try context.save()
    let sum = NSPredicate(format: "employees.@sum.steps > 9.3e18")
    #expect(try context.all("Department", where: sum).count == 1)
    let wide = NSCompoundPredicate(
      orPredicateWithSubpredicates: (0..<3000).map { NSPredicate(format: "age == %d AND name != 'x'", $0) })
    #expect(try context.all("Employee", where: wide).count == 2)
    var deep = NSPredicate(format: "age == 3")
    for _ in 0..<600 { deep = NSCompoundPredicate(notPredicateWithSubpredicate: deep) }
    #expect(try context.all("Employee", where: deep).count == 2)
    let error = #expect(throws: (any Error).self) {
      try context.all("Employee", where: NSPredicate(format: "name MATCHES '('"))
    }
    #expect(error.map { "\($0)" }?.contains("regular expression") == true)
  }

  @Test("Sets of decimal numbers: key paths, constants and operators")
  func decimals() throws {
    let context = try TemporaryStore().context(CompanyModel.make())
    let department = context.make("Department", ["name": "d"])
    for salary in ["0.1", "0.2", "0.2"] {
      context.make("Employee", ["name": "e", "salary": NSDecimalNumber(string: salary), "department": department])
    }
    try context.save()
    let salaries = department.value(forKeyPath: "employees.salary") as? NSSet
    #expect(salaries?.count == 2 && salaries?.contains(NSDecimalNumber(string: "0.10")) == true)
    for format in [
      "ANY employees.salary == 0.1", "employees.@sum.salary == 0.5", "sum(employees.salary) == 0.3",
      "SUBQUERY(employees, $e, $e.salary + $e.salary == 0.4).@count == 2",
    ] {
      #expect(try context.all("Department", where: NSPredicate(format: format)).count == 1, "\(format)")
    }
    let wanted = NSPredicate(format: "salary IN %@", argumentArray: [[NSDecimalNumber(string: "0.2")] as NSArray])
    #expect(try context.all("Employee", where: wanted).count == 2)
  }

  @Test("An identifier stands for its object, also where the object has unsaved changes")
  func identifiers() throws {
    let context = try TemporaryStore().context(CompanyModel.make())
    try Self.fill(context, unsaved: false)
    let department = try #require(context.all("Department").first)
    let people = try context.all("Employee")
    let friend = try #require(people.first { ($0["friends"] as? NSSet)?.count ?? 0 > 0 })
    let other = try #require((friend["friends"] as? Set<NSManagedObject>)?.first)
    let predicates = [
      NSPredicate(format: "department == %@", department.objectID),
      NSPredicate(format: "department != %@", department.objectID),
      NSPredicate(format: "department IN %@", [department.objectID] as NSArray),
      NSPredicate(format: "SELF == %@", friend.objectID),
      NSPredicate(format: "SELF IN %@", [friend.objectID] as NSArray),
      NSPredicate(format: "ANY friends == %@", other.objectID),
      NSPredicate(format: "friends CONTAINS %@", other.objectID),
      NSPredicate(format: "ANY friends IN %@", [other.objectID] as NSArray),
    ]
    let saved = try predicates.map { try context.all("Employee", where: $0).map(\.objectID) }
    #expect(saved.allSatisfy { !$0.isEmpty })
    for person in people { person["age"] = ((person["age"] as? Int) ?? 0) + 1 }
    for (predicate, wanted) in zip(predicates, saved) {
      #expect(Set(try context.all("Employee", where: predicate).map(\.objectID)) == Set(wanted), "\(predicate)")
    }
  }

  @Test("Sorting by several keys, along key paths; limit and offset; the same with and without unsaved changes")
  func order() throws {
    for unsaved in [false, true] {
      let context = try TemporaryStore().context(CompanyModel.make())
      try Self.fill(context, unsaved: unsaved)
      let request = NSFetchRequest<NSManagedObject>(entityName: "Employee")
      request.sortDescriptors = [
        NSSortDescriptor(key: "department.name", ascending: false), NSSortDescriptor(key: "rating", ascending: true),
      ]
      let all = try context.fetch(request)
      let keys = all.map { ($0.value(forKeyPath: "department.name") as? String ?? "", $0["rating"] as? Double ?? -1) }
      #expect(zip(keys, keys.dropFirst()).allSatisfy { $0.0 > $1.0 || ($0.0 == $1.0 && $0.1 <= $1.1) })
      request.fetchOffset = 2
      request.fetchLimit = 3
      #expect(try context.fetch(request) == Array(all[2..<5]))
      #expect(try context.count(for: request) == 3)
      request.includesSubentities = false
      #expect(try context.fetch(request).allSatisfy { $0.entity.name == "Employee" })
    }
  }

  @Test("Distinct dictionaries are counted by offset and limit after doubles are gone")
  func dictionaries() throws {
    let context = try TemporaryStore().context(CompanyModel.make())
    try Self.fill(context, unsaved: false)
    let request = NSFetchRequest<NSDictionary>(entityName: "Employee")
    request.resultType = .dictionaryResultType
    request.propertiesToFetch = ["age"]
    request.predicate = NSPredicate(format: "age == 30 OR age == 50")
    request.sortDescriptors = [NSSortDescriptor(key: "age", ascending: true)]
    #expect(try context.fetch(request).compactMap { $0["age"] as? Int } == [30, 30, 50])
    request.returnsDistinctResults = true
    request.fetchLimit = 2
    #expect(try context.fetch(request).compactMap { $0["age"] as? Int } == [30, 50])
  }

  @Test("Prefetched relationships need one query, not one an object")
  func prefetching() throws {
    let store = try TemporaryStore()
    let first = try store.context(CompanyModel.make())
    for index in 0..<40 {
      first.make("Employee", ["name": "e\(index)", "department": first.make("Department", ["name": "d\(index)"])])
    }
    try first.save()
    let context = try store.context(CompanyModel.make())
    let sqlite = try #require(context.persistentStoreCoordinator?.persistentStores.first as? SQLiteStore)
    let statements = Statements()
    // One connection sees all statements. Its first read makes certain that nobody has migrated the store.
    sqlite.connections.pause()
    _ = try context.count(for: NSFetchRequest<NSManagedObject>(entityName: "Employee"))
    try sqlite.state().connection.setTrace { _ in statements.count += 1 }
    let request = NSFetchRequest<NSManagedObject>(entityName: "Employee")
    request.relationshipKeyPathsForPrefetching = ["department"]
    let names = try context.fetch(request).compactMap { $0.value(forKeyPath: "department.name") as? String }
    #expect(Set(names).count == 40)
    #expect(statements.count > 0 && statements.count <= 4)
  }

  @Test("Unknown entities and key paths are errors that name them")
  func unknown() throws {
    let context = try TemporaryStore().context(CompanyModel.make())
    let entity = #expect(throws: NSError.self) { try context.all("Nobody") }
    #expect(entity?.localizedFailureReason?.contains("'Nobody'") == true)
    let key = #expect(throws: (any Error).self) {
      try context.all("Employee", where: NSPredicate(format: "nonsense == 1"))
    }
    #expect(key.map { "\($0)" }?.contains("nonsense") == true)
    let sort = #expect(throws: (any Error).self) { try context.all("Employee", by: "nonsense") }
    #expect(sort.map { "\($0)" }?.contains("nonsense") == true)
  }

  private final class Statements: @unchecked Sendable {
    var count = 0
  }
}
