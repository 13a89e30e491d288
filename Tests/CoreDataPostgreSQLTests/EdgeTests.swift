// OpenCoreData
// SPDX-License-Identifier: Apache-2.0

import CoreDataTestSupport
import Foundation
import PostgreSQLTestServer
import Testing

@testable import CoreData
@testable import CoreDataPostgreSQL
@testable import CoreDataPostgreSQLClient

@Suite("Values and limits at the edges of a server", .needsPostgreSQL)
struct EdgeTests {
  private let bench = ServerBench()

  @Test("A sequence near its end gives the keys that it has left, and then an error that says so")
  func lastKeys() throws {
    let coordinator = try bench.coordinator()
    let context = bench.context(coordinator)
    let connection = try bench.connection()
    let sequence = try connection.query(
      "SELECT relname::text FROM pg_class WHERE relkind = 'S' AND relname LIKE '%task%' "
        + "AND relnamespace = current_schema()::regnamespace"
    ).string(0, 0)
    // The next block begins 500 keys before the greatest one, and would end behind it.
    try connection.execute("SELECT setval('\(sequence)', \(Int64.max - 1_500))")
    for number in 0..<500 { context.make("Task", ["title": "\(number)"]) }
    try context.save()
    #expect(try context.all("Task", by: "title").map(\.objectID.key.number).max() == Int64.max - 1)
    for number in 0..<10 { context.make("Task", ["title": "more \(number)"]) }
    let error = try #require(throws: (any Error).self) { try context.save() } as NSError
    #expect(error.reasonText.contains("nextval"), "\(error)")
    context.rollback()
    #expect(try context.all("Task", by: "title").count == 500)
  }

  @Test("A time limit without end, or that is not a number, is a limit that the server and the clock accept")
  func timeouts() throws {
    for (given, expected) in [
      (Double.infinity, 31_536_000), (1e300, 31_536_000), (-Double.infinity, 0), (3, 3), (.nan, nil),
    ] as [(Double, Double?)] {
      #expect(StoreOptions([NSPersistentStoreTimeoutOption: given]).timeout == expected)
    }
    let coordinator = try bench.coordinator([NSPersistentStoreTimeoutOption: Double.infinity])
    let store = try #require(coordinator.persistentStores.first as? PostgreSQLStore)
    let connection = try bench.connection()
    let number = try connection.query("SELECT pg_current_xact_id()::text").string(0, 0)
    let transaction = ServerTransaction(
      number: try #require(UInt64(number)), processID: 0, serverRun: try ServerTransaction.serverRun(connection),
      schema: "s", rows: [])
    let commit = ServerCommit(
      transaction, try store.address(), url: bench.url, timeout: try #require(StoreOptions(store.options).timeout),
      PostgreSQLError("lost", isConnectionLost: true))
    #expect(try commit.askForOutcome())
  }

  @Test("Large values in the last row of a COPY are stored, whatever their size")
  func largeLastValue() throws {
    var builder = ModelBuilder()
    builder.entity("Item", [.make("number", .integer64AttributeType), .make("zz", .binaryDataAttributeType)])
    let coordinator = try bench.coordinator(nil, builder.model())
    let context = bench.context(coordinator)
    for number in 0..<30 {
      context.make("Item", ["number": number, "zz": Data(repeating: 7, count: number == 29 ? 300_000 : 3)])
    }
    try context.save()
    context.reset()
    #expect(try context.all("Item", by: "number").map { ($0["zz"] as? Data)?.count ?? 0 }.max() == 300_000)
  }

  @Test("A role that loses the right to the schema is told so, and not that the store was removed")
  func schemaRight() throws {
    let ownContext = bench.context(try bench.coordinator())
    ownContext.make("Task", ["title": "first"])
    try ownContext.save()
    let schema = try PostgreSQLAddress(bench.url).schema
    let owner = try bench.connection()
    try owner.execute(
      "CREATE ROLE \(schema)_app LOGIN; GRANT USAGE ON SCHEMA \(schema) TO \(schema)_app; "
        + "GRANT ALL ON ALL TABLES IN SCHEMA \(schema) TO \(schema)_app; "
        + "GRANT ALL ON ALL SEQUENCES IN SCHEMA \(schema) TO \(schema)_app")
    let app = ServerBench(url: TestServer.shared.url(user: "\(schema)_app", "schema=\(schema)"))
    let coordinator = try app.coordinator()
    let context = app.context(coordinator)
    #expect(try context.all("Task", by: "title").count == 1)
    try owner.execute("REVOKE USAGE ON SCHEMA \(schema) FROM \(schema)_app")
    context.make("Task", ["title": "second"])
    for work in [{ _ = try context.all("Task", by: "title") }, { try context.save() }] as [() throws -> Void] {
      let error = try #require(throws: (any Error).self) { try work() } as NSError
      #expect(error.code == CocoaError.Code.fileWriteNoPermission.rawValue, "\(error)")
      #expect(error.reasonText.contains("may not use the schema '\(schema)'"), "\(error)")
    }
    try owner.execute("GRANT USAGE ON SCHEMA \(schema) TO \(schema)_app")
    try context.save()
    #expect(try context.all("Task", by: "title").count == 2)
    for store in coordinator.persistentStores { try coordinator.remove(store) }
    try owner.execute("DROP OWNED BY \(schema)_app; DROP ROLE \(schema)_app")
  }
}
