// OpenCoreData
// SPDX-License-Identifier: Apache-2.0

import CoreData
import CoreDataTestSupport
import Foundation
import Testing

@Suite("Grouped results and fetches in expressions")
struct FetchGroupingTests {
  private let store: TemporaryStore
  private let context: NSManagedObjectContext

  init() throws {
    store = try TemporaryStore()
    context = try store.context(CompanyModel.make())
    let departments = ["x", "y"].map { context.make("Department", ["name": $0]) }
    for (name, age, department) in [("a", 30, 0), ("b", 30, 1), ("c", 40, 0), ("d", 50, 0)] {
      context.make("Employee", ["name": name, "age": age, "department": departments[department]])
    }
    context.make("Employee", ["name": "e"]).setValue(nil, forKey: "age")
    try context.save()
  }

  private func column(_ name: String, _ function: String, of key: String) -> NSExpressionDescription {
    let description = NSExpressionDescription()
    description.name = name
    description.expression = NSExpression(forFunction: function + ":", arguments: [NSExpression(forKeyPath: key)])
    description.expressionResultType = .integer32AttributeType
    return description
  }

  private func request(_ columns: [Any], by groups: [Any]) -> NSFetchRequest<NSDictionary> {
    let request = NSFetchRequest<NSDictionary>(entityName: "Employee")
    request.resultType = .dictionaryResultType
    request.sortDescriptors = [
      NSSortDescriptor(key: "age", ascending: true), NSSortDescriptor(key: "name", ascending: true),
    ]
    request.propertiesToFetch = columns
    request.propertiesToGroupBy = groups
    return request
  }

  @Test("Each group of equal values is one dictionary with its aggregates; limit and count are in groups")
  func groups() throws {
    let request = request(
      ["age", column("count", "count", of: "name"), column("last", "max", of: "name")], by: ["age"])
    let all: [NSDictionary] = [
      ["count": 1, "last": "e"], ["age": 30, "count": 2, "last": "b"], ["age": 40, "count": 1, "last": "c"],
      ["age": 50, "count": 1, "last": "d"],
    ]
    #expect(try context.fetch(request) == all)
    #expect(try context.count(for: request) == 4)
    (request.fetchLimit, request.fetchOffset) = (2, 1)
    #expect(try context.fetch(request) == Array(all[1...2]))
  }

  @Test("Groups by a key path, by several properties and by descriptions")
  func keys() throws {
    let path = request(["department.name", column("n", "count", of: "name")], by: ["department.name"])
    path.predicate = NSPredicate(format: "department != nil")
    #expect(
      try context.fetch(path)
        == [["department.name": "x", "n": 3] as NSDictionary, ["department.name": "y", "n": 1]])
    let age = try #require(
      context.persistentStoreCoordinator?.managedObjectModel.entitiesByName["Employee"]?
        .attributesByName["age"])
    let both = request([age, "department.name", column("n", "count", of: "name")], by: [age, "department.name"])
    #expect(try context.fetch(both).count == 5)
  }

  @Test("A condition for groups uses names of results as variables and keys, grouped properties and aggregates")
  func having() throws {
    let request = request(["age", column("n", "count", of: "name")], by: ["age"])
    let wanted = [["age": 30, "n": 2] as NSDictionary]
    request.havingPredicate = NSPredicate(format: "%@ > 1", NSExpression(forVariable: "n"))
    #expect(try context.fetch(request) == wanted)
    request.havingPredicate = NSPredicate(format: "n > 1")
    #expect(try context.fetch(request) == wanted)
    request.havingPredicate = NSPredicate(format: "age < 40 AND count:(name) > 1")
    #expect(try context.fetch(request) == wanted)
    request.havingPredicate = NSPredicate(format: "min:(name) = 'd'")
    #expect(try context.fetch(request) == [["age": 50, "n": 1] as NSDictionary])
  }

  @Test("The store makes dictionaries without objects, as long as nothing is unsaved")
  func withoutObjects() throws {
    context.reset()
    let grouped = request(["age", column("n", "count", of: "name")], by: ["age"])
    grouped.havingPredicate = NSPredicate(format: "n > 1")
    let names = request(["name", "department.name"], by: [])
    names.returnsDistinctResults = true
    names.sortDescriptors = nil
    let oldest = request([column("oldest", "max", of: "age")], by: [])
    #expect(try context.fetch(grouped) == [["age": 30, "n": 2] as NSDictionary])
    #expect(try context.fetch(names).count == 5)
    #expect(try context.fetch(oldest) == [["oldest": 50] as NSDictionary])
    let child = NSManagedObjectContext(concurrencyType: .privateQueueConcurrencyType)
    child.parent = context
    #expect(try child.performAndWait { try child.fetch(grouped) } == [["age": 30, "n": 2] as NSDictionary])
    #expect(context.registeredObjects.isEmpty && child.registeredObjects.isEmpty)
    context.make("Employee", ["name": "f", "age": 60])
    #expect(try context.fetch(oldest) == [["oldest": 60] as NSDictionary])
    #expect(try child.performAndWait { try child.fetch(oldest) } == [["oldest": 60] as NSDictionary])
    oldest.includesPendingChanges = false
    #expect(try context.fetch(oldest) == [["oldest": 50] as NSDictionary])
  }

  @Test("Unsaved changes of other objects are in the values that key paths read from them")
  func unsavedDestinations() throws {
    try context.all("Department")[0].setValue("z", forKey: "name")
    let names = request(["department.name", column("n", "count", of: "name")], by: ["department.name"])
    names.predicate = NSPredicate(format: "department != nil")
    names.sortDescriptors = nil
    let found = Set(try context.fetch(names).compactMap { $0["department.name"] as? String })
    #expect(found == ["y", "z"])
  }

  @Test(
    "Groups distinguish strings that are only canonically equivalent, and decimals are keys", arguments: [false, true])
  func exactKeys(isInMemory: Bool) throws {
    for (name, salary) in [("\u{E4}", "0.1"), ("a\u{308}", "0.1"), ("\u{E4}", "12345678901234.5")] {
      context.make("Employee", ["name": name, "salary": NSDecimalNumber(string: salary)])
    }
    if !isInMemory { try context.save() }
    let names = request(["name", column("n", "count", of: "name")], by: ["name"])
    names.predicate = NSPredicate(format: "salary != nil")
    names.sortDescriptors = nil
    #expect(try context.fetch(names).compactMap { $0["n"] as? Int }.sorted() == [1, 2])
    let salaries = request(["salary", column("n", "count", of: "name")], by: ["salary"])
    salaries.predicate = names.predicate
    salaries.sortDescriptors = nil
    #expect(try context.fetch(salaries).compactMap { $0["n"] as? Int }.sorted() == [1, 2])
    names.propertiesToGroupBy = nil
    names.propertiesToFetch = ["name"]
    names.returnsDistinctResults = true
    #expect(try context.fetch(names).count == 2)
  }

  @Test("A result without a value in the condition for groups is missing, not a key of the objects")
  func missingResults() throws {
    let request = request(["department.name", column("oldest", "max", of: "age")], by: ["department.name"])
    request.havingPredicate = NSPredicate(format: "oldest = nil")
    request.sortDescriptors = nil
    #expect(try context.fetch(request) == [NSDictionary()])
    context.make("Employee", ["name": "f", "age": 1, "department": try context.all("Department")[0]])
    #expect(try context.fetch(request) == [NSDictionary()])
  }

  @Test("Requests for groups that have no single value are errors")
  func badRequests() throws {
    let mixed = request(["age", "name"], by: ["age"])
    #expect(throws: NSError.self) { try context.fetch(mixed) }
    let objects = NSFetchRequest<NSManagedObject>(entityName: "Employee")
    objects.propertiesToGroupBy = ["age"]
    #expect(throws: NSError.self) { try context.fetch(objects) }
    let ungrouped = request(["age"], by: [])
    ungrouped.havingPredicate = NSPredicate(format: "age > 1")
    #expect(throws: NSError.self) { try context.fetch(ungrouped) }
  }

  @Test(
    "A fetch on the right side of IN finds by object, by identifier and by value; with unsaved changes and with limits")
  func subfetches() throws {
    func names(in inner: NSFetchRequest<some Any>, _ left: String) throws -> [String] {
      let expression = NSFetchRequestExpression.expression(
        forFetch: NSExpression(forConstantValue: inner), context: NSExpression(forConstantValue: context),
        countOnly: false)
      let predicate = NSComparisonPredicate(
        leftExpression: NSExpression(format: left), rightExpression: expression, modifier: .direct, type: .in)
      return try context.all("Employee", where: predicate).compactMap { $0.value(forKey: "name") as? String }
    }
    let departments = NSFetchRequest<NSManagedObject>(entityName: "Department")
    departments.predicate = NSPredicate(format: "name = 'x'")
    #expect(try names(in: departments, "department") == ["a", "c", "d"])
    let ids = NSFetchRequest<NSManagedObjectID>(entityName: "Employee")
    ids.resultType = .managedObjectIDResultType
    ids.sortDescriptors = [NSSortDescriptor(key: "name", ascending: true)]
    ids.fetchLimit = 2
    #expect(try names(in: ids, "SELF") == ["a", "b"])
    let ages = NSFetchRequest<NSDictionary>(entityName: "Employee")
    ages.resultType = .dictionaryResultType
    ages.propertiesToFetch = ["age"]
    ages.predicate = NSPredicate(format: "name = 'a'")
    #expect(try names(in: ages, "age") == ["a", "b"])
    let other = try #require(try context.all("Department").last)
    other.setValue("x", forKey: "name")
    context.make("Employee", ["name": "z", "department": other])
    #expect(try names(in: departments, "department") == ["a", "b", "c", "d", "z"])
  }

  @Test("A count compares with numbers, and the parts of the expression can be read")
  func countExpressions() throws {
    let inner = NSFetchRequest<NSManagedObject>(entityName: "Department")
    let expression = NSFetchRequestExpression.expression(
      forFetch: NSExpression(forConstantValue: inner), context: NSExpression(forConstantValue: context),
      countOnly: true)
    #expect(expression.expressionType == NSFetchRequestExpressionType)
    #expect(expression.expressionValue(with: nil, context: nil) as? Int == 2)
    let predicate = NSComparisonPredicate(
      leftExpression: NSExpression(forKeyPath: "age"), rightExpression: expression, modifier: .direct,
      type: .greaterThan)
    #expect(try context.all("Employee", where: predicate).count == 4)
    let found = try #require(predicate.rightExpression as? NSFetchRequestExpression)
    #expect(found.isCountOnlyRequest)
    #expect(found.requestExpression.constantValue as? NSFetchRequest<NSManagedObject> === inner)
    #expect(found.contextExpression.constantValue as? NSManagedObjectContext === context)
  }
}
