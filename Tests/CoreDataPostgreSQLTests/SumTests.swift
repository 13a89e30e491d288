// OpenCoreData
// SPDX-License-Identifier: Apache-2.0

import CoreDataTestSupport
import Foundation
import PostgreSQLTestServer
import Testing

@testable import CoreData
@testable import CoreDataPostgreSQL

private typealias NSExpression = CoreData.NSExpression

@Suite("Sums of doubles in both engines and in memory", .needsPostgreSQL)
struct SumTests {
  private enum Kind: CaseIterable {
    case sqlite
    case postgreSQL
    case memory
  }

  private static func model() -> NSManagedObjectModel {
    var builder = ModelBuilder()
    builder.entity(
      "Item",
      [
        .make("number", .integer64AttributeType), .make("value", .doubleAttributeType),
        .make("small", .floatAttributeType),
      ])
    builder.entity("Group", [.make("name", .stringAttributeType)])
    builder.relate(.init("Group", "items", toMany: true), .init("Item", "group"))
    return builder.model()
  }

  private let folder: TemporaryStore

  init() throws { folder = try TemporaryStore() }

  private func context(_ kind: Kind, _ values: [Double]) throws -> NSManagedObjectContext {
    let context: NSManagedObjectContext
    switch kind {
    case .sqlite: context = try folder.context(Self.model())
    case .postgreSQL:
      let bench = ServerBench()
      context = bench.context(try bench.coordinator(nil, Self.model()))
    case .memory:
      let coordinator = NSPersistentStoreCoordinator(managedObjectModel: Self.model())
      try coordinator.addPersistentStore(ofType: NSInMemoryStoreType, configurationName: nil, at: nil)
      context = ServerBench().context(coordinator)
    }
    let group = context.make("Group", ["name": "g"])
    for (number, value) in values.enumerated() {
      context.make("Item", ["number": number, "value": value, "small": Float(number) / 10, "group": group])
    }
    try context.save()
    return context
  }

  /// Sums and averages of the items: all, by group, and those of the groups that conditions on sums select.
  private func results(_ context: NSManagedObjectContext, _ sums: Sums) throws -> [String: Double] {
    context.reset()
    func column(_ name: String, _ expression: NSExpression) -> NSExpressionDescription {
      let column = NSExpressionDescription()
      (column.name, column.expression) = (name, expression)
      return column
    }
    func call(_ function: String, _ path: String) -> NSExpression {
      NSExpression(forFunction: function, arguments: [NSExpression(forKeyPath: path)])
    }
    let request = NSFetchRequest<NSDictionary>(entityName: "Item")
    request.resultType = .dictionaryResultType
    request.propertiesToFetch = [
      column("sum", call("sum:", "value")), column("average", call("average:", "value")),
      column("small", call("sum:", "small")), column("path", NSExpression(forKeyPath: "@sum.value")),
    ]
    var results: [String: Double] = [:]
    for (name, value) in try #require(try context.fetch(request).first) {
      results["\(name)"] = (value as? NSNumber)?.doubleValue
    }
    request.propertiesToGroupBy = ["group.name"]
    request.havingPredicate = NSPredicate(format: "sum == %@", NSNumber(value: sums.all))
    results["grouped"] = (try context.fetch(request).first?["sum"] as? NSNumber)?.doubleValue
    let formats = [
      "items.@sum.value == %@", "items.value.@sum == %@", "items.@avg.value == %@ / 7", "sum(items.value) == %@",
    ]
    for format in formats {
      let groups = NSFetchRequest<NSManagedObject>(entityName: "Group")
      // A function of a set adds equal values once.
      let wanted = format.hasPrefix("sum(") ? sums.distinct : sums.all
      groups.predicate = NSPredicate(format: format, NSNumber(value: wanted))
      results[format] = Double(try context.count(for: groups))
    }
    return results
  }

  private typealias Sums = (all: Double, distinct: Double)

  private static let cases: [(values: [Double], sums: Sums)] = [
    ([1e16, 1, -1e16, 1, 0.1, 0.2, 0.3], (2.6, 1.6)),
    ([1e-9, 3e20, 1e-9, -3e20, 0.1, 7, 7.5], (14.600000002, 14.600000001)),
    // PostgreSQL leaves these to memory.
    ([1e300, 1, -1e300, 1e-30, 1, 0.5, 0.25], (2.75, 1.75)),
    ([1e-200, 1e-200, 1e-200, 0.5, -0.5, 1e-200, 1e-200], (5e-200, 1e-200)),
  ]

  @Test("The sum of doubles is the exact one, wherever rows lie, in every kind of store", arguments: cases.indices)
  func order(position: Int) throws {
    let (values, sums) = Self.cases[position]
    let sum = sums.all
    var known: [String: Double]?
    for kind in Kind.allCases {
      let context = try context(kind, values)
      var found: [[String: Double]] = []
      // Each change moves a row of PostgreSQL to the end of the table.
      for number in [nil, 0, 2, 1] as [Int?] {
        if let number {
          let item = try #require(
            try context.all("Item", by: "number", where: NSPredicate(format: "number == %d", number)).first)
          let value = item["value"]
          item["value"] = 5
          try context.save()
          item["value"] = value
          try context.save()
        }
        found.append(try results(context, sums))
      }
      #expect(found.allSatisfy { $0 == found[0] }, "\(kind)")
      #expect(found[0]["sum"] == sum && found[0]["path"] == sum && found[0]["average"] == sum / 7, "\(kind)")
      #expect(found[0]["grouped"] == sum, "\(kind)")
      #expect(found[0].filter { $0.key.contains("%@") && $0.value != 1 } == [:], "\(kind)")
      #expect(found[0] == known ?? found[0], "\(kind)")
      known = found[0]
    }
  }
}
