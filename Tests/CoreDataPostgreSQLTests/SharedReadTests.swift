// OpenCoreData
// SPDX-License-Identifier: Apache-2.0

import CoreDataSQLite
import CoreDataTestSupport
import Foundation
import PostgreSQLTestServer
import Testing

@testable import CoreData
@testable import CoreDataPostgreSQL

/// Reads whose SQL is written once for both engines.
@Suite("The same reads in both engines", .enabled(if: TestServer.isAvailable, "There is no PostgreSQL server."))
struct SharedReadTests {
  private let folder: TemporaryStore
  private let bench = ServerBench()

  init() throws { folder = try TemporaryStore() }

  private static func lists() -> NSManagedObjectModel {
    var builder = ModelBuilder()
    builder.entity("List", [.make("name", .stringAttributeType)])
    builder.entity("Item", [.make("name", .stringAttributeType)])
    builder.relate(.init("List", "items", toMany: true, ordered: true), .init("Item", "list"))
    return builder.model()
  }

  /// The names of the list's items, in their order.
  private func items(_ context: NSManagedObjectContext, prefetching: Bool) throws -> [String] {
    context.reset()
    let request = NSFetchRequest<NSManagedObject>(entityName: "List")
    if prefetching { request.relationshipKeyPathsForPrefetching = ["items"] }
    let list = try #require(try context.fetch(request).first)
    let items = try #require(list["items"] as? NSOrderedSet)
    return items.array.compactMap { ($0 as? NSManagedObject)?["name"] as? String }
  }

  @Test("An ordered member without a position comes first, whether members are prefetched or read by a fault")
  func missingPosition() throws {
    let coordinator = try bench.coordinator(nil, Self.lists())
    for (isServer, context) in [(false, try folder.context(Self.lists())), (true, bench.context(coordinator))] {
      let names = ["a", "b", "c"]
      let members = names.map { context.make("Item", ["name": $0]) }
      context.make("List", ["items": NSOrderedSet(array: members)])
      try context.save()
      #expect(try items(context, prefetching: true) == names && items(context, prefetching: false) == names)
      let clearing = "UPDATE ZITEM SET Z_FOK_LIST = NULL WHERE ZNAME = 'c'"
      if isServer {
        try bench.connection().execute(clearing)
      } else {
        let connection = try SQLiteConnection(url: folder.url, mode: .readWrite)
        try connection.run(clearing)
        try connection.close()
      }
      #expect(try items(context, prefetching: false) == ["c", "a", "b"], "server: \(isServer)")
      #expect(try items(context, prefetching: true) == ["c", "a", "b"], "server: \(isServer)")
    }
  }

  @Test("A sum of decimals with more digits than a decimal has is the sum of the objects' values")
  func longSum() throws {
    var builder = ModelBuilder()
    builder.entity("Item", [.make("d", .decimalAttributeType), .make("number", .integer64AttributeType)])
    let model = builder.model()
    let context = bench.context(try bench.coordinator(nil, model))
    context.make("Item", ["number": 0, "d": NSDecimalNumber(string: "340282366920938463463374607431768211455")])
    // The greatest number gets the least key, and is added first.
    try context.save()
    for number in 1...10 { context.make("Item", ["number": number, "d": NSDecimalNumber(value: 4)]) }
    try context.save()
    context.reset()
    let values = try context.all("Item", by: "number").map { try #require($0["d"] as? NSDecimalNumber) }
    let wanted = try #require(try Aggregates.sum(values) as? NSDecimalNumber)
    // Each addition rounds, so that the numbers after the first one add nothing. They are 40 in all.
    #expect(try wanted != Aggregates.sum(values.reversed()) as? NSDecimalNumber)
    let sum = NSExpressionDescription()
    sum.name = "sum"
    sum.expression = NSExpression(forFunction: "sum:", arguments: [NSExpression(forKeyPath: "d")])
    sum.expressionResultType = .decimalAttributeType
    let request = NSFetchRequest<NSDictionary>(entityName: "Item")
    request.resultType = .dictionaryResultType
    request.propertiesToFetch = [sum]
    #expect(try context.fetch(request).first?["sum"] as? NSDecimalNumber == wanted)
  }
}
