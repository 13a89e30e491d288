// OpenCoreData
// SPDX-License-Identifier: Apache-2.0

import CoreDataPredicates
import CoreDataStoreFiles
import CoreDataTestSupport
import Foundation
import PostgreSQLTestServer
import Testing

@testable import CoreData

/// Random predicates and sort orders over random data, as SQL and in memory: the same objects in the same order.
///
/// `COREDATA_PREDICATE_SEED` and `COREDATA_PREDICATE_CASES` in the environment ask for other cases, or for more;
/// `make torture` runs all parts.
@Suite("Predicates as SQL against predicates in memory")
struct PredicateDifferentialTests {
  /// The parts, each of which has its own data.
  private static let parts = TortureSize.isFull ? 8 : 3
  /// How many cases each part has.
  private static let count = TortureSize.number("COREDATA_PREDICATE_CASES", parts * 2_600) / parts

  /// The least share that SQL answers, of each kind of predicate and of all.
  private static let (leastShare, leastShareOfAll) = (0.55, 0.9)
  /// The least share that PostgreSQL answers, which has none of this framework's functions.
  private static let leastShareOfPostgreSQL = 0.3
  /// The greatest share of the rows that is read for fetches which PostgreSQL does not answer.
  private static let greatestShareRead = 0.7

  @Test("Random predicates and orders find the same objects in the same order", arguments: 0..<parts)
  func sameAnswers(part: Int) throws {
    let seed = UInt64(TortureSize.number("COREDATA_PREDICATE_SEED", 20_260) * 8 + part)
    var run = try PredicateRun(seed: seed)
    for _ in 0..<Self.count {
      let problem = try run.step()
      #expect(problem == nil, "COREDATA_PREDICATE_SEED \(seed / 8), part \(part)")
      if run.problems > 10 { break }
    }
    print("Predicates, seed \(seed): \(run.summary)")
    guard Self.count >= 1000 else { return }
    for (kind, share) in run.shares { #expect(share >= Self.leastShare, "SQL answers too few of \(kind)") }
    #expect(run.shareOfAll >= Self.leastShareOfAll)
  }

  @Test(
    "Random predicates and orders find the same objects in the same order in PostgreSQL", .needsPostgreSQL,
    arguments: 0..<(TortureSize.isFull ? parts : 1))
  func sameAnswersInPostgreSQL(part: Int) throws {
    let seed = UInt64(TortureSize.number("COREDATA_PREDICATE_SEED", 20_260) * 8 + part)
    var run = try PredicateRun(seed: seed, .postgreSQL)
    for _ in 0..<Self.count {
      let problem = try run.step()
      #expect(problem == nil, "COREDATA_PREDICATE_SEED \(seed / 8), part \(part)")
      if run.problems > 10 { break }
    }
    print("Predicates in PostgreSQL, seed \(seed): \(run.summary)")
    guard Self.count >= 1000 else { return }
    #expect(run.shareOfAll >= Self.leastShareOfPostgreSQL)
    #expect(run.shareRead <= Self.greatestShareRead, "Of what memory answers, too many rows are read")
  }

  @Test("A real number without a fraction divides as a real number in SQL too")
  func wholeReal() throws {
    let store = try TemporaryStore()
    let context = try store.context(CompanyModel.make())
    for age in 1...6 { context.make("Employee", ["name": "e\(age)", "age": age]) }
    try context.save()
    let predicate = NSPredicate(format: "(age / age) / modulus:by:(age, 4.0) > 0.25 AND modulus:by:(age, 4.0) != 0")
    let wanted = try context.all("Employee", by: "name").filter { predicate.evaluate(with: $0) }.map { $0.text("name") }
    let found = try context.all("Employee", by: "name", where: predicate).map { $0.text("name") }
    #expect(found == wanted && wanted == ["e1", "e2", "e3", "e5", "e6"])
  }
}

private struct PredicateRun {
  private let world: PredicateWorld
  private let store: any RowStore
  private var generator: PredicateGenerator
  private var answered: [PredicateGenerator.Kind: Int] = [:]
  private var asked: [PredicateGenerator.Kind: Int] = [:]
  private(set) var problems = 0
  /// The rows that are read for fetches which SQL does not answer, those that match, and those there are.
  private var (read, matching, present) = (0, 0, 0)

  init(seed: UInt64, _ kind: StoreKind = .sqlite) throws {
    world = try PredicateWorld(seed: seed, kind)
    let found = world.context.persistentStoreCoordinator?.persistentStores.first as? any RowStore
    store = try #require(found)
    generator = PredicateGenerator(world: world, random: SeededGenerator(seed: seed &+ 1))
  }

  var shares: [(PredicateGenerator.Kind, Double)] {
    PredicateGenerator.Kind.allCases.map { kind in
      (kind, Double(answered[kind] ?? 0) / Double(max(1, asked[kind] ?? 0)))
    }
  }

  var shareOfAll: Double {
    Double(answered.values.reduce(0, +)) / Double(max(1, asked.values.reduce(0, +)))
  }

  var shareRead: Double { Double(read) / Double(max(1, present)) }

  var summary: String {
    PredicateGenerator.Kind.allCases.map { "\($0) \(answered[$0] ?? 0)/\(asked[$0] ?? 0)" }.joined(separator: ", ")
      + "; answered in memory: \(matching) rows from \(read) of \(present)"
  }

  /// Runs one case; the difference that it finds.
  mutating func step() throws -> String? {
    let entity = try #require(
      world.context.persistentStoreCoordinator?.managedObjectModel.entitiesByName[
        ["Employee", "Employee", "Manager", "Department", "Project", "Task"].randomElement(using: &generator.random)
          ?? "Employee"])
    let (kind, predicate) = generator.predicate(entity)
    let order = generator.order(entity)
    asked[kind, default: 0] += 1
    let isSQL = isSQL(entity, predicate, order)
    if isSQL { answered[kind, default: 0] += 1 }
    if !isSQL, let problem = try candidateProblem(entity, predicate) {
      problems += 1
      return problem
    }
    guard let problem = difference(entity, predicate, order) else { return nil }
    problems += 1
    return reduced(entity, predicate, order) ?? problem
  }

  /// Counts the rows that are read for a predicate which SQL does not answer; the difference if one that matches is not among
  /// them.
  private mutating func candidateProblem(_ entity: NSEntityDescription, _ predicate: PredicateSyntax) throws -> String?
  {
    var query = RowQuery(entity: entity)
    query.predicate = predicate
    query.findsCandidates = true
    let all = world.objects[entity.name ?? ""]?.count ?? 0
    present += all
    // Where a calculation fails, all rows are read.
    let found = try store.rows(for: query).map { $0.map(\.id.key.number) }
    read += found?.count ?? all
    // What memory cannot evaluate is a difference that the comparison finds.
    guard let wanted = try? memory(entity, predicate, []) else { return nil }
    matching += wanted.count
    guard let found, !Set(wanted).isSubset(of: found) else { return nil }
    return describe(entity, predicate, [], "read \(found), wanted \(wanted)")
  }

  private func isSQL(_ entity: NSEntityDescription, _ predicate: PredicateSyntax, _ order: [SortKey]) -> Bool {
    var query = RowQuery(entity: entity)
    query.predicate = predicate
    query.order = order
    // What SQL answers with an error is a problem that the comparison finds.
    return (try? store.identifiers(for: query)) ?? nil != nil
  }

  private func difference(
    _ entity: NSEntityDescription, _ predicate: PredicateSyntax, _ order: [SortKey]
  ) -> String? {
    let inMemory = Result { try memory(entity, predicate, order) }
    let inSQL = Result { try fetched(entity, predicate, order) }
    switch (inMemory, inSQL) {
    case (.success(let expected), .success(let found)):
      if expected == found { return nil }
      return describe(entity, predicate, order, "found \(found), wanted \(expected)")
    case (.failure(let error), _): return describe(entity, predicate, order, "in memory: \(error)")
    case (_, .failure(let error)): return describe(entity, predicate, order, "as SQL: \(error)")
    }
  }

  private func memory(
    _ entity: NSEntityDescription, _ predicate: PredicateSyntax, _ order: [SortKey]
  ) throws -> [Int64] {
    let evaluator = PredicateEvaluator()
    let objects = try (world.objects[entity.name ?? ""] ?? []).filter { try evaluator.evaluate(predicate, with: $0) }
    return try ObjectOrder(order).sorted(objects).map(\.objectID.key.number)
  }

  private func fetched(
    _ entity: NSEntityDescription, _ predicate: PredicateSyntax, _ order: [SortKey]
  ) throws -> [Int64] {
    let request = NSFetchRequest<NSManagedObjectID>(entityName: entity.name ?? "")
    request.resultType = .managedObjectIDResultType
    request.predicate = NSPredicate.make(predicate)
    request.sortDescriptors = order.map {
      NSSortDescriptor(key: $0.keyPath, ascending: $0.isAscending, selector: $0.method.rawValue)
    }
    return try world.context.fetch(request).map(\.key.number)
  }

  private func describe(
    _ entity: NSEntityDescription, _ predicate: PredicateSyntax, _ order: [SortKey], _ what: String
  ) -> String {
    let keys = order.map { "\($0.keyPath) \($0.method.rawValue) \($0.isAscending ? "up" : "down")" }
    return "\(entity.name ?? ""): \(PredicatePrinter().format(predicate)) by \(keys): \(what)"
  }

  /// The smallest part of a case that fails by itself.
  private func reduced(
    _ entity: NSEntityDescription, _ predicate: PredicateSyntax, _ order: [SortKey]
  ) -> String? {
    for key in order {
      if let problem = difference(entity, .constant(true), [key]) { return problem }
    }
    let parts: [PredicateSyntax]
    switch predicate {
    case .and(let operands), .or(let operands): parts = operands
    case .not(let operand): parts = [operand]
    case .constant, .comparison: parts = []
    }
    for part in parts {
      if let problem = reduced(entity, part, []) { return problem }
    }
    return difference(entity, predicate, [])
  }
}
