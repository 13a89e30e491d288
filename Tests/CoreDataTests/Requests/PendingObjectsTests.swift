// OpenCoreData
// SPDX-License-Identifier: Apache-2.0

import CoreDataPredicates
import CoreDataTestSupport
import Foundation
import Testing

@testable import CoreData

@Suite("Objects with unsaved changes that a fetch evaluates")
struct PendingObjectsTests {
  /// Employees n0 to n9 with the age of their number, of whom n0 to n4 are in a department; the context has read them.
  private static func employees() throws -> (context: NSManagedObjectContext, all: [NSManagedObject]) {
    let context = try TemporaryStore().context(CompanyModel.make())
    let department = context.make("Department", ["name": "Research"])
    for number in 0..<10 {
      let employee = context.make("Employee", ["name": "n\(number)", "age": number, "rating": 1.0])
      if number < 5 { employee.setValue(department, forKey: "department") }
    }
    try context.save()
    return (context, try context.all("Employee"))
  }

  private static func request(_ format: NSPredicate?, by key: String? = nil) -> NSFetchRequest<NSManagedObject> {
    let request = NSFetchRequest<NSManagedObject>(entityName: "Employee")
    request.predicate = format
    request.sortDescriptors = key.map { [NSSortDescriptor(key: $0, ascending: true)] }
    return request
  }

  private static func evaluated(
    _ context: NSManagedObjectContext, _ format: NSPredicate?, by key: String? = nil
  ) throws -> [String] {
    let execution = try FetchExecution(request(format, by: key).specification, in: context, affectedStores: nil)
    return execution.pending.map { $0.value(forKey: "name") as? String ?? "" }
  }

  @Test("Only objects with changes that the predicate or the order reads are evaluated, and new and deleted ones")
  func changesThatAreRead() throws {
    let (context, all) = try Self.employees()
    all[1].setValue(2.0, forKey: "rating")
    all[2].setValue(20, forKey: "age")
    all[3].setValue(nil, forKey: "department")
    // What is set again has not changed.
    all[4].setValue(4, forKey: "age")
    context.delete(all[5])
    context.make("Employee", ["name": "new", "age": 2])
    let (rated, aged, left, same, deleted) = ("n1", "n2", "n3", "n4", "n5")
    let others = [deleted, "new"]
    let age = NSPredicate(format: "age >= 2")
    #expect(try Self.evaluated(context, age) == [aged] + others)
    #expect(try Self.evaluated(context, nil) == others)
    #expect(try Self.evaluated(context, nil, by: "rating") == [rated] + others)
    #expect(try Self.evaluated(context, age, by: "rating") == [rated, aged] + others)
    #expect(
      try Self.evaluated(context, NSPredicate(format: "TERNARY(age > 2, rating, 1) == 2")) == [rated, aged] + others)
    #expect(try Self.evaluated(context, NSPredicate(format: "department == nil")) == [left] + others)
    let any = [rated, aged, left, same] + others
    for format in [
      "department.name == 'Research'", "projects.@count == 0", "mood == nil", "ANY friends.age == 1",
      "SUBQUERY(friends, $f, $f.age == 1).@count == 0",
    ] { #expect(try Self.evaluated(context, NSPredicate(format: format)) == any, "\(format)") }
    #expect(try Self.evaluated(context, NSPredicate { _, _ in true }) == any)
    let names = try context.fetch(Self.request(age, by: "name")).map { $0.value(forKey: "name") as? String }
    #expect(names == ["n2", "n3", "n4", "n6", "n7", "n8", "n9", "new"])
    #expect(try context.count(for: Self.request(NSPredicate(format: "rating == 1"))) == 8)
    #expect(try context.count(for: Self.request(NSPredicate(format: "rating == 2"))) == 1)
    let dictionaries = NSFetchRequest<NSDictionary>(entityName: "Employee")
    dictionaries.resultType = .dictionaryResultType
    dictionaries.propertiesToFetch = ["rating"]
    dictionaries.predicate = NSPredicate(format: "age == 1")
    #expect(try context.fetch(dictionaries).map { $0["rating"] as? Double } == [2])
  }

  @Test("A predicate that names objects is evaluated for those only")
  func listedObjects() throws {
    let (context, all) = try Self.employees()
    let new = context.make("Employee", ["name": "new", "age": 1])
    for object in all { object.setValue(100, forKey: "age") }
    context.delete(all[3])
    let listed: [Any] = [all[2].objectID, all[3], new]
    let formats: [(NSPredicate, [String])] = [
      (NSPredicate(format: "SELF IN %@", listed), ["n2", "n3", "new"].sorted()),
      (NSPredicate(format: "age > 1 AND SELF IN %@ AND rating > 0", Set([all[1], new])), ["n1", "new"]),
      (NSPredicate(format: "SELF == %@", all[7]), ["n7"]),
      (NSPredicate(format: "objectID == %@", new.objectID), ["new"]),
    ]
    for (predicate, names) in formats {
      #expect(Set(try Self.evaluated(context, predicate)).isSubset(of: names), "\(predicate)")
    }
    func names(_ predicate: NSPredicate) throws -> [String?] {
      try context.fetch(Self.request(predicate, by: "name")).map { $0.value(forKey: "name") as? String }
    }
    #expect(try names(formats[0].0) == ["n2", "new"])
    #expect(try names(formats[1].0) == ["n1"])
    #expect(try names(formats[2].0) == ["n7"])
    #expect(try names(NSPredicate(format: "NOT SELF IN %@", all)) == ["new"])
    #expect(try names(NSPredicate(format: "SELF IN %@ OR age == 1", [all[2]])) == ["n2", "new"])
  }

  @Test("A child sees its parent's changes, whether or not its own are read", arguments: [true, false])
  func children(isRead: Bool) throws {
    let (parent, all) = try Self.employees()
    let child = NSManagedObjectContext(.privateQueue)
    child.parent = parent
    let own = try child.existingObject(with: all[2].objectID)
    own.setValue(isRead ? 30 : 2, forKey: "age")
    own.setValue(7.0, forKey: "rating")
    all[3].setValue(30, forKey: "age")
    let found = try child.fetch(Self.request(NSPredicate(format: "age == 30"), by: "name"))
    #expect(found.map { $0.value(forKey: "name") as? String } == (isRead ? ["n2", "n3"] : ["n3"]))
    #expect(own.value(forKey: "rating") as? Double == 7)
  }

  @Test("Few changed objects are put in their places among others, equal ones in the order of their keys")
  func places() throws {
    let (context, all) = try Self.employees()
    for object in all { object.setValue(all.firstIndex(of: object).map { $0 / 3 }, forKey: "age") }
    try context.save()
    all[8].setValue(0, forKey: "age")
    all[0].setValue(1, forKey: "age")
    context.make("Employee", ["name": "new", "age": 1])
    let request = Self.request(nil, by: "age")
    func names() throws -> [String] { try context.fetch(request).compactMap { $0.value(forKey: "name") as? String } }
    let expected = ["n1", "n2", "n8", "n0", "n3", "n4", "n5", "new", "n6", "n7", "n9"]
    #expect(try names() == expected)
    request.fetchOffset = 4
    #expect(try names() == Array(expected[4...]))
    // So many that all are sorted.
    for number in 0..<30 { context.make("Employee", ["name": "m\(number)", "age": -1]) }
    request.fetchOffset = 30
    #expect(try names() == expected)
  }

  @Test(
    "A key path with several values for an object is refused where one is compared or sorted by",
    arguments: [
      "employees.name == 'x'", "'x' != employees.name", "employees.age > 3", "employees.name BEGINSWITH 'x'",
      "employees.name IN {'x'}", "employees.age BETWEEN {1, 2}", "name == 'a' AND NOT employees.manager.name LIKE 'x*'",
    ])
  func severalValues(format: String) throws {
    let (context, _) = try Self.employees()
    let request = NSFetchRequest<NSManagedObject>(entityName: "Department")
    request.predicate = NSPredicate(format: format)
    let error = try #require(throws: NSError.self) { try context.fetch(request) }
    #expect(error.isCocoa(134060))
    #expect(error.localizedFailureReason?.contains("to-many relationship 'employees'") == true, "\(error)")
    #expect(error.localizedRecoverySuggestion?.contains("ANY employees.") == true, "\(error)")
    #expect(throws: NSError.self) { try context.count(for: request) }
    request.predicate = nil
    request.sortDescriptors = [NSSortDescriptor(key: "employees.name", ascending: true)]
    let sorting = try #require(throws: NSError.self) { try context.fetch(request) }
    #expect(sorting.localizedFailureReason?.contains("'employees.name'") == true, "\(sorting)")
  }

  @Test(
    "Collections may be asked for elements, counted and compared by ANY",
    arguments: [
      "ANY employees.name == 'n1'", "employees.@count > 3", "'n1' IN employees.name", "employees.name CONTAINS 'n1'",
      "employees.@max.age == 4", "max(employees.age) == 4", "NOT NONE employees.age > 3",
    ])
  func collections(format: String) throws {
    let (context, _) = try Self.employees()
    let request = NSFetchRequest<NSManagedObject>(entityName: "Department")
    request.predicate = NSPredicate(format: format)
    #expect(try context.fetch(request).count == 1)
  }

  @Test(
    "A store is not opened with a uniqueness constraint over a property that its entity lacks",
    arguments: ["nmae", "name.first"])
  func unknownConstraint(name: String) throws {
    let model = CompanyModel.make()
    model.entitiesByName["Project"]?.uniquenessConstraints = [["title"], [name]]
    let store = try TemporaryStore()
    let coordinator = NSPersistentStoreCoordinator(managedObjectModel: model)
    let error = try #require(throws: NSError.self) {
      try coordinator.addPersistentStore(type: .sqlite, at: store.url)
    }
    #expect(error.isCocoa(134060))
    #expect(error.localizedFailureReason?.contains("'\(name)'") == true, "\(error)")
    #expect(!FileManager.default.fileExists(atPath: store.url.path))
  }
}
