// OpenCoreData
// SPDX-License-Identifier: Apache-2.0

import CoreDataPredicates
import CoreDataStoreFiles
import Foundation
import Testing

@testable import CoreData

/// SQL and its result are asserted together.
@Suite("Predicates as SQL")
struct PredicateSQLTests {
  /// Ada (36, Research), Bob (no age, Research, reports to Ada), Eve (50, no department, a manager).
  private func company() throws -> (bench: StoreBench, ids: [String: NSManagedObjectID]) {
    let bench = try StoreBench(BenchModels.company)
    let research = try bench.insert("Department", ["name": .string("Research"), "budget": .integer(100)])
    _ = try bench.insert("Department", ["name": .string("Sales"), "budget": .integer(5)])
    let ada = try bench.insert(
      "Person",
      [
        "name": .string("Ada"), "age": .integer(36), "department": .toOne(research.id), "nick": .string("Ádá"),
        "born": .date(100),
      ])
    let bob = try bench.insert(
      "Person", ["name": .string("Bob"), "department": .toOne(research.id), "boss": .toOne(ada.id)])
    let eve = try bench.insert("Manager", ["name": .string("Eve"), "age": .integer(50), "nick": .string("Eve")])
    let project = try bench.insert(
      "Project",
      ["name": .string("Engine"), "cost": .double(2.5), "members": StoreBench.many([eve, ada], ordered: true)])
    return (bench, ["Research": research.id, "Ada": ada.id, "Bob": bob.id, "Eve": eve.id, "Engine": project.id])
  }

  private func path(_ path: String) -> ExpressionSyntax { .keyPath(path) }

  private func object(_ id: NSManagedObjectID?) -> ExpressionSyntax {
    id.map { .constant(.object(OpaqueObject($0))) } ?? .constant(.null)
  }

  private func compare(
    _ left: ExpressionSyntax, _ op: ComparisonSyntax.Operator, _ right: ExpressionSyntax,
    _ modifier: ComparisonSyntax.Modifier = .direct, _ options: ComparisonSyntax.Options = []
  ) -> PredicateSyntax {
    .comparison(ComparisonSyntax(left, op, right, modifier: modifier, options: options))
  }

  private func expect(
    _ bench: StoreBench, _ predicate: PredicateSyntax, _ names: [String], _ sql: String, entity: String = "Person",
    _ location: SourceLocation = #_sourceLocation
  ) throws {
    let answer = try #require(try bench.names(entity, where: predicate), sourceLocation: location)
    #expect(answer.names == names, sourceLocation: location)
    #expect(answer.sql == sql, sourceLocation: location)
  }

  @Test("Comparisons bind their constants, and mean for missing values what they mean in memory")
  func comparisons() throws {
    let (bench, _) = try company()
    let tail = "ORDER BY t0.Z_PK"
    try expect(
      bench, compare(path("age"), .equalTo, .constant(.integer(36))), ["Ada"], "ZPERSON t0 WHERE t0.ZAGE = ? \(tail)")
    try expect(
      bench, compare(path("age"), .notEqualTo, .constant(.integer(36))), ["Bob", "Eve"],
      "ZPERSON t0 WHERE t0.ZAGE IS NOT ? \(tail)")
    try expect(
      bench, .not(compare(path("age"), .equalTo, .constant(.integer(36)))), ["Bob", "Eve"],
      "ZPERSON t0 WHERE NOT IFNULL(t0.ZAGE = ?, 0) \(tail)")
    try expect(
      bench, compare(path("age"), .equalTo, .constant(.null)), ["Bob"], "ZPERSON t0 WHERE t0.ZAGE IS NULL \(tail)")
    try expect(
      bench, compare(.constant(.real(36.5)), .lessThan, path("age")), ["Eve"], "ZPERSON t0 WHERE ? < t0.ZAGE \(tail)")
    try expect(
      bench, compare(path("name"), .equalTo, path("nick")), ["Eve"], "ZPERSON t0 WHERE t0.ZNAME IS t0.ZNICK \(tail)")
    try expect(
      bench,
      compare(path("born"), .lessThanOrEqualTo, .constant(.date(Date(timeIntervalSinceReferenceDate: 100)))), ["Ada"],
      "ZPERSON t0 WHERE t0.ZBORN <= ? \(tail)")
    try expect(
      bench, compare(path("age"), .between, .aggregate([.constant(.integer(36)), .constant(.integer(40))])), ["Ada"],
      "ZPERSON t0 WHERE t0.ZAGE BETWEEN ? AND ? \(tail)")
    try expect(
      bench, compare(path("age"), .in, .constant(.array([.integer(50), .null]))), ["Bob", "Eve"],
      "ZPERSON t0 WHERE (t0.ZAGE IN (?) OR t0.ZAGE IS NULL) \(tail)")
    try expect(bench, compare(path("age"), .in, .aggregate([])), [], "ZPERSON t0 WHERE t0.ZAGE IN () \(tail)")
    let sum = ExpressionSyntax.function(
      operand: nil, name: "add:to:", arguments: [path("age"), .constant(.integer(1))])
    try expect(
      bench, compare(sum, .equalTo, .constant(.integer(37))), ["Ada"], "ZPERSON t0 WHERE (t0.ZAGE + ?) = ? \(tail)")
    try expect(
      bench,
      .or([.constant(false), .and([compare(path("age"), .greaterThan, .constant(.integer(1))), .constant(true)])]),
      ["Ada", "Eve"], "ZPERSON t0 WHERE (0 OR (t0.ZAGE > ? AND 1)) \(tail)")
  }

  @Test("A constant is never part of the statement's text")
  func injection() throws {
    let (bench, _) = try company()
    let name = "x' OR '1'='1"
    for op in [ComparisonSyntax.Operator.equalTo, .beginsWith, .contains, .like] {
      let answer = try #require(try bench.names("Person", where: compare(path("name"), op, .constant(.string(name)))))
      #expect(answer.names.isEmpty && !answer.sql.contains("OR '"))
    }
  }

  @Test("Strings are searched with and without case and diacritics")
  func strings() throws {
    let (bench, _) = try company()
    let tail = "ORDER BY t0.Z_PK"
    let all: ComparisonSyntax.Options = [.caseInsensitive, .diacriticInsensitive]
    try expect(
      bench, compare(path("name"), .beginsWith, .constant(.string("A"))), ["Ada"],
      "ZPERSON t0 WHERE (t0.ZNAME >= ? AND t0.ZNAME < ?) \(tail)")
    try expect(
      bench, compare(path("nick"), .beginsWith, .constant(.string("ada")), .direct, all), ["Ada"],
      "ZPERSON t0 WHERE CDStringBeginsWith(t0.ZNICK, ?, ?) \(tail)")
    try expect(
      bench, compare(path("nick"), .equalTo, .constant(.string("ada")), .direct, all), ["Ada"],
      "ZPERSON t0 WHERE CDStringEquals(t0.ZNICK, ?, ?) \(tail)")
    try expect(
      bench, compare(path("nick"), .notEqualTo, .constant(.string("ada")), .direct, all), ["Bob", "Eve"],
      "ZPERSON t0 WHERE NOT IFNULL(CDStringEquals(t0.ZNICK, ?, ?), 0) \(tail)")
    try expect(
      bench, compare(path("name"), .endsWith, .constant(.string("ob"))), ["Bob"],
      "ZPERSON t0 WHERE CDStringEndsWith(t0.ZNAME, ?, ?) \(tail)")
    try expect(
      bench, compare(path("name"), .contains, .constant(.string("V")), .direct, .caseInsensitive), ["Eve"],
      "ZPERSON t0 WHERE CDStringContains(t0.ZNAME, ?, ?) \(tail)")
    try expect(
      bench, compare(path("name"), .like, .constant(.string("?d*"))), ["Ada"],
      "ZPERSON t0 WHERE CDStringLike(t0.ZNAME, ?, ?) \(tail)")
    try expect(
      bench, compare(path("name"), .matches, .constant(.string("Bob|Eve"))), ["Bob", "Eve"],
      "ZPERSON t0 WHERE CDStringMatches(t0.ZNAME, ?, ?) \(tail)")
  }

  @Test("Key paths join the tables of to-one relationships, each once")
  func joins() throws {
    let (bench, ids) = try company()
    let join = "LEFT OUTER JOIN ZDEPARTMENT t1 ON t0.ZDEPARTMENT = t1.Z_PK"
    try expect(
      bench,
      .and([
        compare(path("department.name"), .equalTo, .constant(.string("Research"))),
        compare(path("department.budget"), .greaterThan, .constant(.integer(1))),
      ]), ["Ada", "Bob"],
      "ZPERSON t0 \(join) WHERE (t1.ZNAME = ? AND t1.ZBUDGET > ?) ORDER BY t0.Z_PK")
    try expect(
      bench, compare(path("department.name"), .equalTo, .constant(.null)), ["Eve"],
      "ZPERSON t0 \(join) WHERE t1.ZNAME IS NULL ORDER BY t0.Z_PK")
    try expect(
      bench, compare(path("department"), .equalTo, object(ids["Research"])), ["Ada", "Bob"],
      "ZPERSON t0 WHERE t0.ZDEPARTMENT = ? ORDER BY t0.Z_PK")
    try expect(
      bench, compare(.evaluatedObject, .in, .aggregate([object(ids["Ada"]), object(ids["Engine"])])), ["Ada"],
      "ZPERSON t0 WHERE t0.Z_PK IN (?) ORDER BY t0.Z_PK")
    try expect(
      bench, compare(path("boss.department"), .equalTo, path("department")), ["Bob", "Eve"],
      "ZPERSON t0 LEFT OUTER JOIN ZPERSON t1 ON t0.ZBOSS = t1.Z_PK "
        + "WHERE t1.ZDEPARTMENT IS t0.ZDEPARTMENT ORDER BY t0.Z_PK")
  }

  @Test("ANY, ALL, counts and subqueries become subqueries")
  func collections() throws {
    let (bench, ids) = try company()
    let tail = "ORDER BY t0.Z_PK"
    let members = "FROM ZPERSON t1 WHERE t1.ZDEPARTMENT = t0.Z_PK"
    try expect(
      bench, compare(path("people.age"), .greaterThan, .constant(.integer(30)), .any), ["Research"],
      "ZDEPARTMENT t0 WHERE EXISTS (SELECT 1 \(members) AND t1.ZAGE > ?) \(tail)", entity: "Department")
    try expect(
      bench, compare(path("people.age"), .greaterThan, .constant(.integer(30)), .all), ["Research", "Sales"],
      "ZDEPARTMENT t0 WHERE NOT EXISTS (SELECT 1 \(members) AND NOT (t1.ZAGE IS NULL) "
        + "AND NOT IFNULL(t1.ZAGE > ?, 0)) \(tail)",
      entity: "Department")
    try expect(
      bench, compare(path("people.@count"), .equalTo, .constant(.integer(2))), ["Research"],
      "ZDEPARTMENT t0 WHERE (SELECT COUNT(*) \(members)) = ? \(tail)", entity: "Department")
    try expect(
      bench, compare(path("people.@max.age"), .equalTo, .constant(.integer(36))), ["Research"],
      "ZDEPARTMENT t0 WHERE (SELECT MAX(t1.ZAGE) \(members)) = ? \(tail)", entity: "Department")
    try expect(
      bench, compare(object(ids["Bob"]), .in, path("people")), ["Research"],
      "ZDEPARTMENT t0 WHERE EXISTS (SELECT 1 \(members) AND t1.Z_PK = ?) \(tail)", entity: "Department")
    let subquery = ExpressionSyntax.subquery(
      collection: path("people"), variable: "p",
      predicate: compare(.keyPathOf(.variable("p"), "boss.name"), .equalTo, .constant(.string("Ada"))))
    try expect(
      bench, compare(.keyPathOf(subquery, "@count"), .greaterThan, .constant(.integer(0))), ["Research"],
      "ZDEPARTMENT t0 WHERE (SELECT COUNT(*) FROM ZPERSON t1 LEFT OUTER JOIN ZPERSON t2 ON t1.ZBOSS = t2.Z_PK "
        + "WHERE t1.ZDEPARTMENT = t0.Z_PK AND t2.ZNAME = ?) > ? \(tail)", entity: "Department")
    try expect(
      bench, compare(path("projects.name"), .equalTo, .constant(.string("Engine")), .any), ["Ada", "Eve"],
      "ZPERSON t0 WHERE EXISTS (SELECT 1 FROM Z_3PROJECTS j2 JOIN ZPROJECT t1 ON t1.Z_PK = j2.Z_5PROJECTS "
        + "WHERE j2.Z_3MEMBERS = t0.Z_PK AND t1.ZNAME = ?) \(tail)")
    try expect(
      bench, compare(path("people.projects.name"), .equalTo, .constant(.string("Engine")), .any), ["Research"],
      "ZDEPARTMENT t0 WHERE EXISTS (SELECT 1 \(members) AND EXISTS (SELECT 1 FROM Z_3PROJECTS j3 JOIN ZPROJECT t2 "
        + "ON t2.Z_PK = j3.Z_5PROJECTS WHERE j3.Z_3MEMBERS = t1.Z_PK AND t2.ZNAME = ?)) \(tail)", entity: "Department")
  }

  @Test("Sub-entities are told apart by their numbers; order, limit and offset are SQL's")
  func shape() throws {
    let (bench, _) = try company()
    #expect(try bench.names("Manager", where: nil)?.sql == "ZPERSON t0 WHERE t0.Z_ENT = ? ORDER BY t0.Z_PK")
    #expect(try bench.names("Manager", where: nil)?.names == ["Eve"])
    let order = [
      SortKey(keyPath: "department.name", isAscending: false),
      SortKey(keyPath: "name", isAscending: true, method: .localized),
    ]
    let page = try #require(try bench.names("Person", where: nil, order: order, limit: 2, offset: 1))
    #expect(page.names == ["Bob", "Eve"])
    #expect(
      page.sql == "ZPERSON t0 LEFT OUTER JOIN ZDEPARTMENT t1 ON t0.ZDEPARTMENT = t1.Z_PK "
        + "ORDER BY t1.ZNAME DESC, t0.ZNAME COLLATE CDLocalized, t0.Z_PK LIMIT ? OFFSET ?")
    var query = RowQuery(entity: bench.entity("Person"))
    #expect(try bench.store.count(for: query) == 3)
    query.includesSubentities = false
    #expect(try bench.store.count(for: query) == 2)
    #expect(try bench.store.identifiers(for: query)?.map(\.key.number) == [1, 2])
    query.limit = 1
    #expect(try bench.store.count(for: query) == 1)
  }

  @Test(
    "What SQL cannot answer is left to memory",
    arguments: [
      ComparisonSyntax(.keyPath("unknown"), .equalTo, .constant(.integer(1))),
      ComparisonSyntax(.keyPath("age"), .lessThan, .constant(.string("36"))),
      ComparisonSyntax(.keyPath("people"), .equalTo, .constant(.null)),
      ComparisonSyntax(.keyPath("name"), .matches, .keyPath("nick")),
      ComparisonSyntax(.keyPath("name"), .customSelector, .constant(.string("a")), selector: "x:"),
      ComparisonSyntax(.constant(.integer(1)), .equalTo, .constant(.integer(1))),
      ComparisonSyntax(.variable("x"), .equalTo, .constant(.integer(1))),
      ComparisonSyntax(
        .function(operand: nil, name: "bitwiseAnd:with:", arguments: [.keyPath("age"), .constant(.real(2))]), .equalTo,
        .constant(.integer(2))),
    ])
  func unanswerable(comparison: ComparisonSyntax) throws {
    let bench = try StoreBench(BenchModels.company)
    #expect(try bench.names("Person", where: .comparison(comparison)) == nil)
    #expect(try bench.names("Person", where: .not(.comparison(comparison))) == nil)
  }

  @Test("What SQL cannot express is named: the smallest part of a predicate or an order")
  func namedParts() throws {
    let (bench, _) = try company()
    let entities = try bench.store.state().entities
    func part(_ format: String, by key: String = "name") throws -> String? {
      var criteria = RowCriteria()
      criteria.predicate = try PredicateParser.parse(format)
      criteria.order = [SortKey(keyPath: key, isAscending: true)]
      let layout = try #require(entities.schema["Person"])
      do {
        _ = try entities.selects.select(["Z_PK"], of: layout, criteria)
        return nil
      } catch let error as NotExpressibleInSQL {
        return "\(error)"
      }
    }
    #expect(try part("age > 1 AND name = 'x'") == nil)
    #expect(try part("age > 1 AND (name = 'x' OR boss.absent = 2)") == "'boss.absent'")
    #expect(try part("age > 1 AND NOT median:({1, age}) = 2")?.hasPrefix("'median") == true)
    #expect(try part("name MATCHES nick") == "'name MATCHES nick'")
    #expect(try part("age > 1", by: "department") == "'department'")
  }
}
