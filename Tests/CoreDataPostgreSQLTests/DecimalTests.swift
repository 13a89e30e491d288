// OpenCoreData
// SPDX-License-Identifier: Apache-2.0

import CoreDataTestSupport
import Foundation
import PostgreSQLTestServer
import Testing

@testable import CoreData
@testable import CoreDataPostgreSQL

@Suite("Extreme decimals in both engines and in memory", .needsPostgreSQL)
struct DecimalTests {
  private enum Kind: CaseIterable {
    case sqlite
    case postgreSQL
    case memory
  }

  private static let decimals = [
    "0", "1", "-1", "0.1", "3", "1e-127", "1e-128", "1e-60", "340282366920938463463374607431768211455",
    "-340282366920938463463374607431768211455", "340282366920938463463374607431768211450",
    "170141183460469231731687303715884105728", "1e39", "1e127", "12345678901234567890123456789012345678",
    "99999999999999999999999999999999999999", "18446744073709551616", "9223372036854775808", "NaN",
  ]

  private static let formats = [
    "1 / d > 0", "1 / d < 0", "1 / d == 0", "d / 3 > 0", "seven / d > 0", "d / seven > 1", "d / 1 == d", "d * 1 == d",
    "d * 2 > d", "d * d > 0", "d * d >= d", "d * 0.1 < d", "d * real > 0", "d / real > 0", "d / 0.1 > d", "d + 1 > d",
    "NOT (d + 1 > d)", "d + d > d", "d - 1 < d", "d - d == 0", "d + real > 0", "abs(d) > 1", "d > seven", "d >= seven",
    "d < seven", "seven < d", "d == d", "d != d", "d <= d", "d == same", "d != same", "d > 0", "0 < d", "NOT (d > 0)",
    "d != 1", "d == nil", "d != nil", "d IN {1, 3}", "d BETWEEN {0, 10}", "NOT (d BETWEEN {0, 10})", "d == %@",
    "d != %@", "d > %@", "NOT (d > %@)", "d IN {%@, 1}", "NOT (d IN {%@, 1})", "d BETWEEN {%@, 10}", "d > real",
    "d < 5 OR d >= 5", "SUBQUERY(group.items, $i, $i.d > 5).@count == 0", "group.items.d.@max > 1",
    "ANY group.items.d > 5",
    "group.items.@max.d > 1", "group.items.@min.d > 1", "group.items.@max.d == d", "group.items.@max.d != nil",
    "group.items.@max.d == nil", "group.items.@sum.d > 1", "NOT (group.items.@sum.d > 1)",
  ]

  private static func model() -> NSManagedObjectModel {
    var builder = ModelBuilder()
    builder.entity(
      "Item",
      [
        .make("name", .stringAttributeType), .make("d", .decimalAttributeType), .make("same", .decimalAttributeType),
        .make("seven", .decimalAttributeType), .make("real", .doubleAttributeType),
      ])
    builder.entity("Group")
    builder.relate(.init("Group", "items", toMany: true), .init("Item", "group"))
    return builder.model()
  }

  private let folder: TemporaryStore

  init() throws { folder = try TemporaryStore() }

  /// A saved item for each decimal and one without; some are in groups, one of which has nothing but NaN.
  private func context(_ kind: Kind) throws -> NSManagedObjectContext {
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
    let groups = [context.make("Group"), context.make("Group")]
    for name in Self.decimals + ["nil"] {
      let decimal = name == "nil" ? nil : NSDecimalNumber(string: name)
      let item = context.make("Item", ["name": name, "seven": 7, "real": 2.5])
      (item["d"], item["same"]) = (decimal, decimal)
      if ["1", "3", "NaN"].contains(name) { item["group"] = groups[0] }
      if name == "nil" { item["group"] = groups[1] }
    }
    context.make("Item", ["name": "alone", "d": NSDecimalNumber.notANumber, "group": context.make("Group")])
    try context.save()
    context.reset()
    return context
  }

  private static func predicate(_ format: String) -> NSPredicate {
    let count = format.components(separatedBy: "%@").count - 1
    return NSPredicate(format: format, argumentArray: Array(repeating: NSDecimalNumber.notANumber, count: count))
  }

  private static func names(_ objects: [Any]) -> [String] {
    objects.compactMap { ($0 as? NSManagedObject)?["name"] as? String }
  }

  @Test(
    "Predicates over extreme decimals and NaN find the same objects in a store as in memory", arguments: Self.formats)
  func predicates(format: String) throws {
    for kind in Kind.allCases {
      let context = try context(kind)
      func evaluated() throws -> [String] {
        let predicate = Self.predicate(format)
        return Self.names(try context.all("Item").filter { predicate.evaluate(with: $0) })
      }
      #expect(Self.names(try context.all("Item", where: Self.predicate(format))) == (try evaluated()), "\(kind)")
    }
  }

  @Test("NaN comes after all numbers in every order, and does not disturb the others")
  func orders() throws {
    for kind in Kind.allCases {
      let context = try context(kind)
      for isAscending in [true, false] {
        let request = NSFetchRequest<NSManagedObject>(entityName: "Item")
        let order = [
          NSSortDescriptor(key: "d", ascending: isAscending), NSSortDescriptor(key: "name", ascending: true),
        ]
        request.sortDescriptors = order
        let found = Self.names(try context.fetch(request))
        let sorted = Self.names((try context.all("Item").shuffled() as NSArray).sortedArray(using: order))
        #expect(found == sorted, "\(kind)")
        let end: [String] = isAscending ? found.suffix(2) : Array(found.prefix(2))
        #expect(
          end == ["NaN", "alone"] && found.firstIndex(of: "nil") == (isAscending ? 0 : found.count - 1), "\(kind)")
      }
    }
  }

  @Test("The least and the greatest of decimals are numbers, if one is")
  func extremes() throws {
    for kind in Kind.allCases {
      let context = try context(kind)
      func extreme(_ function: String, of names: [String]) throws -> String {
        let description = NSExpressionDescription()
        description.name = "value"
        description.expression = NSExpression(forFunction: function, arguments: [NSExpression(forKeyPath: "d")])
        description.expressionResultType = .decimalAttributeType
        let request = NSFetchRequest<NSDictionary>(entityName: "Item")
        request.resultType = .dictionaryResultType
        request.propertiesToFetch = [description]
        request.predicate = NSPredicate(format: "name IN %@", names)
        return "\(try context.fetch(request).first?["value"] ?? "nil")"
      }
      let three = ["NaN", "1", "3"]
      #expect(try extreme("max:", of: three) == "3" && extreme("min:", of: three) == "1", "\(kind)")
      #expect(try extreme("max:", of: ["NaN"]) == "NaN" && extreme("min:", of: ["NaN"]) == "NaN", "\(kind)")
    }
  }
}
