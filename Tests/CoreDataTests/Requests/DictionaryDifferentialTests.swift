// OpenCoreData
// SPDX-License-Identifier: Apache-2.0

import CoreDataPredicates
import CoreDataStoreFiles
import CoreDataTestSupport
import Foundation
import PostgreSQLTestServer
import Testing

@testable import CoreData

private typealias NSExpression = CoreData.NSExpression

/// Random requests for dictionaries over random data, answered by the store and in memory: the same rows.
///
/// `COREDATA_DICTIONARY_SEED` and `COREDATA_DICTIONARY_CASES` in the environment ask for other cases, or for more.
@Suite("Dictionaries as SQL against dictionaries in memory")
struct DictionaryDifferentialTests {
  @Test("Random requests for values, aggregates and groups have the same results", arguments: 0..<4)
  func sameAnswers(part: Int) throws {
    let seed = UInt64(TortureSize.number("COREDATA_DICTIONARY_SEED", 731) * 4 + part)
    let count = TortureSize.number("COREDATA_DICTIONARY_CASES", 1000, full: 3000) / 4
    var run = try DictionaryRun(seed: seed)
    for _ in 0..<count {
      let problem = try run.step()
      #expect(problem == nil, "COREDATA_DICTIONARY_SEED \(seed / 4), part \(part)")
      if run.problems > 5 { break }
    }
    print("Dictionaries, seed \(seed): SQL answers \(run.answered) of \(run.asked), \(run.filled) with results")
    #expect(Double(run.answered) >= 0.7 * Double(run.asked) && run.filled * 2 > run.asked)
  }

  @Test("Random requests have the same results in PostgreSQL", .needsPostgreSQL, arguments: 0..<4)
  func sameAnswersInPostgreSQL(part: Int) throws {
    let seed = UInt64(TortureSize.number("COREDATA_DICTIONARY_SEED", 731) * 4 + part)
    let count = TortureSize.number("COREDATA_DICTIONARY_CASES", 1000, full: 3000) / 4
    var run = try DictionaryRun(seed: seed, .postgreSQL)
    for _ in 0..<count {
      let problem = try run.step()
      #expect(problem == nil, "COREDATA_DICTIONARY_SEED \(seed / 4), part \(part)")
      if run.problems > 5 { break }
    }
    print("Dictionaries in PostgreSQL, seed \(seed): SQL answers \(run.answered) of \(run.asked)")
    #expect(Double(run.answered) >= 0.4 * Double(run.asked))
  }
}

private struct DictionaryRun {
  private let world: PredicateWorld
  private let store: any RowStore
  private var random: SeededGenerator
  private(set) var (asked, answered, filled, problems) = (0, 0, 0, 0)

  init(seed: UInt64, _ kind: StoreKind = .sqlite) throws {
    // The generator's sequences of neighboring seeds overlap.
    world = try PredicateWorld(seed: seed &* 1_000_003, kind)
    let found = world.context.persistentStoreCoordinator?.persistentStores.first as? any RowStore
    store = try #require(found)
    random = SeededGenerator(seed: seed &* 1_000_003 &+ 500_000)
  }

  private mutating func oneIn(_ count: Int) -> Bool { Int.random(in: 0..<count, using: &random) == 0 }
  private mutating func pick<Element>(_ list: [Element]) -> Element {
    list[Int.random(in: 0..<list.count, using: &random)]
  }

  mutating func step() throws -> String? {
    let (request, text) = try request()
    asked += 1
    if try isSQL(request) { answered += 1 }
    let bySQL = Result { try world.context.fetch(request) }
    let inMemory = Result { try dictionaries(request) }
    switch (bySQL, inMemory) {
    case (.success(let found), .success(let wanted)):
      if !wanted.isEmpty { filled += 1 }
      if Self.areEqual(found, wanted) { return nil }
      problems += 1
      return "\(text)\nfound  \(found)\nwanted \(wanted)"
    // Contracts have no names, which is the only mistake of requests.
    case (.failure(let found as NSError), .failure(let wanted as EvaluationError))
    where wanted == .unknownKey("name", object: "The entity Contract") && found.isCocoa(NSCoreDataError)
      && found.localizedFailureReason == wanted.description:
      return nil
    case (let found, let wanted):
      problems += 1
      return "\(text)\nfound  \(found)\nwanted \(wanted)"
    }
  }

  /// Makes the dictionaries of the objects.
  private func dictionaries(_ request: NSFetchRequest<NSDictionary>) throws -> [NSDictionary] {
    let objects = NSFetchRequest<NSManagedObject>(entityName: request.entityName ?? "")
    objects.predicate = request.predicate
    objects.sortDescriptors = request.sortDescriptors
    objects.includesSubentities = request.includesSubentities
    let found = try DictionaryResults(request.specification, entity: entity(request))
      .dictionaries(of: world.context.fetch(objects)).dropFirst(request.fetchOffset)
    return Array(request.fetchLimit > 0 ? found.prefix(request.fetchLimit) : found)
  }

  private func results(_ request: NSFetchRequest<NSDictionary>) throws -> DictionaryResults {
    try DictionaryResults(request.specification, entity: entity(request))
  }

  private func entity(_ request: NSFetchRequest<NSDictionary>) throws -> NSEntityDescription {
    let model = try #require(world.context.persistentStoreCoordinator?.managedObjectModel)
    return try #require(model.entitiesByName[request.entityName ?? ""])
  }

  private func isSQL(_ request: NSFetchRequest<NSDictionary>) throws -> Bool {
    let (entity, results) = (try entity(request), try results(request))
    var query = RowQuery(entity: entity)
    query.order = try (request.sortDescriptors ?? []).compactMap { try SortKey(described: $0, entity: entity) }
    return try store.dictionaries(for: query, results.criteria) != nil
  }

  // MARK: Requests

  private static let values: [String: [String]] = [
    "Employee": [
      "name", "age", "badge", "isActive", "rating", "height", "salary", "hired", "token", "site", "department",
      "department.name", "manager", "manager.age", "contract.number", "objectID", "photo",
    ],
    "Department": ["name", "objectID"], "Task": ["title", "project", "project.title"],
    "Contract": ["number", "employee", "employee.department.name"],
  ]
  private static let numbers: [String: [String]] = [
    "Employee": ["age", "badge", "steps", "isActive", "rating", "salary", "manager.badge", "contract.number"],
    "Contract": ["number", "employee.age"],
  ]

  private static func description(_ name: String, _ expression: NSExpression) -> NSExpressionDescription {
    let description = NSExpressionDescription()
    (description.name, description.expression) = (name, expression)
    return description
  }

  private mutating func aggregate(_ entity: String) -> NSExpression {
    func call(_ name: String, _ argument: NSExpression) -> NSExpression {
      NSExpression(forFunction: name, arguments: [argument])
    }
    let numbers = Self.numbers[entity] ?? []
    switch Int.random(in: 0..<8, using: &random) {
    case 0: return call("count:", NSExpression.expressionForEvaluatedObject())
    case 1:
      return call("count:", NSExpression(forKeyPath: pick(Self.values[entity] ?? []).replacing("objectID", "name")))
    case 2:
      return call(
        pick(["min:", "max:"]), NSExpression(forKeyPath: entity == "Task" ? "title" : pick(numbers + ["name"])))
    case 3 where !numbers.isEmpty:
      return NSExpression(forKeyPath: pick(["@sum.", "@avg.", "@min.", "@max."]) + pick(numbers))
    case 4: return NSExpression(forKeyPath: "@count")
    case 5 where entity == "Employee":
      return call("count:", NSExpression(forKeyPath: pick(["projects", "friends.name"])))
    case 6 where entity == "Employee":
      let product = NSExpression(format: pick(["age * badge", "salary * age", "rating + age", "salary - badge"]))
      return call(pick(["sum:", "average:", "min:", "max:"]), product)
    default:
      guard !numbers.isEmpty else { return call("count:", NSExpression.expressionForEvaluatedObject()) }
      return call(
        pick(["sum:", "average:", "min:", "max:", "sum:", "median:"]), NSExpression(forKeyPath: pick(numbers)))
    }
  }

  private mutating func request() throws -> (NSFetchRequest<NSDictionary>, String) {
    let entity = pick(["Employee", "Employee", "Employee", "Manager", "Task", "Contract"])
    let kind = entity == "Manager" ? "Employee" : entity
    let request = NSFetchRequest<NSDictionary>(entityName: entity)
    request.resultType = .dictionaryResultType
    let values = Self.values[kind] ?? []
    var columns: [Any] = []
    var names: [String] = []
    func add(_ column: Any) {
      columns.append(column)
      names.append((column as? String) ?? "\((column as? NSExpressionDescription)?.expression?.description ?? "")")
    }
    var groups: [String] = []
    var conditions: [String] = []
    switch Int.random(in: 0..<4, using: &random) {
    case 0:
      for _ in 0...Int.random(in: 0..<3, using: &random) { add(pick(values)) }
      if kind == "Employee", oneIn(2) {
        add(
          Self.description(
            "calculated", NSExpression(format: pick(["age + 1", "salary * 2", "rating / age", "name.length"]))))
      }
      request.returnsDistinctResults = oneIn(2)
    case 1:
      for number in 0...Int.random(in: 0..<3, using: &random) { add(Self.description("a\(number)", aggregate(kind))) }
      if oneIn(10) { add(pick(values)) }
    default:
      for _ in 0...Int.random(in: 0..<2, using: &random) { groups.append(pick(values)) }
      for group in groups where !oneIn(4) { add(group) }
      for number in 0..<Int.random(in: 0..<3, using: &random) { add(Self.description("a\(number)", aggregate(kind))) }
      if names.isEmpty { add(Self.description("a0", aggregate(kind))) }
      request.propertiesToGroupBy = groups
      request.returnsDistinctResults = oneIn(6)
      add(
        Self.description(
          "n", NSExpression(forFunction: "count:", arguments: [NSExpression.expressionForEvaluatedObject()])))
      conditions = ["n > 1", "n = 1 OR n > 2", "@count > 1", "count:(SELF) < 3"]
      if kind == "Employee" {
        conditions += ["sum:(age) > 30", "max:(name) < 'b'", "average:(badge) >= 5", "n < max:(age)"]
      }
      if groups.contains("age") { conditions += ["age > 2", "age = nil OR n > 1"] }
      if groups.contains("department.name") { conditions += ["department.name != nil"] }
    }
    if !conditions.isEmpty, oneIn(2) { request.havingPredicate = NSPredicate(format: pick(conditions)) }
    if oneIn(2) {
      let sortable = (groups.isEmpty || oneIn(3) ? values : groups).filter {
        !["objectID", "department", "manager", "project", "employee"].contains($0)
      }
      request.sortDescriptors = (0..<Int.random(in: 0..<3, using: &random)).compactMap { _ in
        guard let key = sortable.randomElement(using: &random) else { return nil }
        let method = key.hasSuffix("name") && oneIn(3) ? "caseInsensitiveCompare:" : "compare:"
        return NSSortDescriptor(key: key, ascending: oneIn(2), selector: method)
      }
    }
    if kind == "Employee", oneIn(3) {
      request.predicate = NSPredicate(format: pick(["age > 1", "ANY projects != nil", "name != 'a'"]))
    }
    if oneIn(3) { (request.fetchLimit, request.fetchOffset) = (pick([0, 1, 3]), pick([0, 0, 1, 2])) }
    request.includesSubentities = !oneIn(5)
    request.propertiesToFetch = columns
    let order = (request.sortDescriptors ?? []).map { "\($0.key ?? "") \($0.ascending)" }
    let text =
      "\(entity): \(names) by \(groups) having \(request.havingPredicate.map { "\($0)" } ?? "-") order \(order) "
      + "distinct \(request.returnsDistinctResults), \(request.fetchOffset) + \(request.fetchLimit)"
    return (request, text)
  }

  // MARK: Comparison

  /// Whether both have the same values.
  private static func areEqual(_ found: [NSDictionary], _ wanted: [NSDictionary]) -> Bool {
    found.count == wanted.count
      && zip(found, wanted).allSatisfy { found, wanted in
        Set(found.allKeys.compactMap { $0 as? String }) == Set(wanted.allKeys.compactMap { $0 as? String })
          && found.allSatisfy { areEqual($1, wanted[$0]) }
      }
  }

  private static func areEqual(_ left: Any, _ right: Any?) -> Bool {
    guard let a = Number(left), let b = right.flatMap({ Number($0) }) else { return Operand.areEqual(left, right) }
    return Number.compare(a, b) == .orderedSame || a.real.isNaN && b.real.isNaN
  }
}

extension String {
  fileprivate func replacing(_ old: String, _ new: String) -> String { self == old ? new : self }
}
