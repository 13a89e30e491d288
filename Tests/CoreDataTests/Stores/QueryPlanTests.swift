// OpenCoreData
// SPDX-License-Identifier: Apache-2.0

import CoreDataModelFiles
import CoreDataPredicates
import CoreDataSQLite
import CoreDataStoreFiles
import Foundation
import Testing

@testable import CoreData

/// SQLite's plans for statements with predicates: the indexes of Core Data's layout are used.
@Suite("Query plans of predicates")
struct QueryPlanTests {
  /// People with fetch indexes over their names, ages and birthdays.
  private func bench() throws -> StoreBench {
    var document = BenchModels.company
    for position in document.entities.indices where document.entities[position].name == "Person" {
      document.entities[position].indexes = ["name", "age", "born"].map {
        FetchIndexDocument(name: "by_\($0)", elements: [FetchIndexElementDocument(propertyName: $0)])
      }
    }
    let bench = try StoreBench(document)
    let departments = try (0..<5).map { try bench.insert("Department", ["name": .string("d\($0)")]) }
    for number in 0..<200 {
      _ = try bench.insert(
        "Person",
        [
          "name": .string("n\(number)"), "age": .integer(Int64(number)), "born": .date(Double(number)),
          "department": .toOne(departments[number % 5].id),
        ])
    }
    return bench
  }

  private func plan(_ bench: StoreBench, _ entity: String, _ predicate: PredicateSyntax) throws -> [String] {
    let entities = try bench.store.state().entities
    var criteria = RowCriteria()
    criteria.predicate = predicate
    let select = try entities.selects.select(["Z_PK"], of: entities.layout(of: bench.entity(entity)), criteria)
    return try bench.connection.rows("EXPLAIN QUERY PLAN \(select.sql)", select.values).compactMap {
      $0.values.last?.text
    }
  }

  /// Predicates, and what SQLite searches for them.
  private static let searches = [
    ("name == 'n7'", "ZNAME=?"), ("name BEGINSWITH 'n7'", "ZNAME>? AND ZNAME<?"), ("age == 30", "ZAGE=?"),
    ("age > 195", "ZAGE>?"), ("age <= 3", "ZAGE<?"), ("age BETWEEN {30, 32}", "ZAGE>? AND ZAGE<?"),
    ("age IN {3, 5}", "ZAGE=?"), ("name IN {'n3', 'n5'}", "ZNAME=?"),
    ("born >= CAST(195, 'NSDate')", "ZBORN>?"), ("born > CAST(190, 'NSDate') + 5", "ZBORN>?"),
    ("name == 'n7' AND department.name != 'x'", "ZNAME=?"), ("NOT (name != 'n7') AND name == 'n7'", "ZNAME=?"),
  ]

  @Test("Equality, prefixes, ranges and lists search the index of the attribute")
  func attributes() throws {
    let bench = try bench()
    for (format, search) in Self.searches {
      let plan = try plan(bench, "Person", PredicateParser.parse(format))
      #expect(
        plan.contains { $0.contains("SEARCH t0 USING") && $0.contains("INDEX") && $0.contains(search) },
        "\(format): \(plan)")
    }
  }

  @Test("A list of any length searches the index, and is read once")
  func longList() throws {
    let bench = try bench()
    let numbers = ExpressionSyntax.constant(.array((0..<20_000).map { .integer($0 * 7) }))
    let names = ExpressionSyntax.constant(.array((0..<20_000).map { .string("n\($0 * 7)") }))
    for (key, list) in [("age", numbers), ("name", names)] {
      let predicate = PredicateSyntax.comparison(.init(.keyPath(key), .in, list))
      let plan = try plan(bench, "Person", predicate)
      #expect(plan.contains { $0.contains("SEARCH t0 USING") && $0.contains("INDEX") }, "\(plan)")
      #expect(!plan.contains { $0.contains("CORRELATED") }, "\(plan)")
      var query = RowQuery(entity: bench.entity("Person"))
      query.predicate = predicate
      #expect(try bench.store.count(for: query) == 29)
    }
  }

  @Test("Objects, and members of relationships, are found by the indexes of keys")
  func relationships() throws {
    let bench = try bench()
    let request = RowQuery(entity: bench.entity("Department"))
    let department = try #require(try bench.store.identifiers(for: request)?.first)
    let toOne = try plan(
      bench, "Person",
      .comparison(.init(.keyPath("department"), .equalTo, .constant(.object(OpaqueObject(department))))))
    #expect(toOne.contains { $0.contains("SEARCH t0 USING") && $0.contains("ZDEPARTMENT=?") }, "\(toOne)")
    for format in [
      "ANY people.name == 'n7'", "people.@count > 3", "SUBQUERY(people, $p, $p.age > 3).@count > 0",
      "people.@sum.age > 10",
    ] {
      let members = try plan(bench, "Department", PredicateParser.parse(format))
      #expect(!members.contains { $0.hasPrefix("SCAN t1") }, "\(format): \(members)")
      #expect(members.contains { $0.contains("SEARCH t1 USING") }, "\(format): \(members)")
    }
    let projects = try plan(bench, "Person", PredicateParser.parse("ANY projects.name == 'x'"))
    #expect(!projects.contains { $0.hasPrefix("SCAN j") || $0.hasPrefix("SCAN t1") }, "\(projects)")
  }
}
