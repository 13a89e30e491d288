// OpenCoreData
// SPDX-License-Identifier: Apache-2.0

import CoreDataTestSupport
import Foundation
import PostgreSQLTestServer
import Synchronization
import Testing

@testable import CoreData
@testable import CoreDataPostgreSQL
@testable import CoreDataPostgreSQLClient

@Suite("Writers that merge by uniqueness constraints", .needsPostgreSQL)
struct MergingWritersTests {
  private let bench = ServerBench()

  /// - Parameter derived: whether each team keeps the greatest name of its items, so that a batch changes its row too.
  private static func model(derived: Bool = false) -> NSManagedObjectModel {
    var builder = ModelBuilder()
    let item = builder.entity(
      "Item", [.make("code", .integer64AttributeType), .make("name", .stringAttributeType)])
    item.uniquenessConstraints = [["code"]]
    var attributes = [NSAttributeDescription.make("title", .stringAttributeType)]
    if derived { attributes.append(.derived("greatest", .stringAttributeType, "items.name.@max")) }
    builder.entity("Team", attributes)
    builder.relate(.init("Team", "items", toMany: true), .init("Item", "team"))
    return builder.model()
  }

  private func context(
    policy: NSMergePolicy = .mergeByPropertyObjectTrump, history: Bool = false, derived: Bool = false
  ) throws -> NSManagedObjectContext {
    let options: [AnyHashable: Any]? = history ? [NSPersistentHistoryTrackingKey: true] : nil
    let context = bench.context(try bench.coordinator(options, Self.model(derived: derived)))
    context.mergePolicy = policy
    return context
  }

  /// A batch insertion whose values come from a handler.
  private func request(_ codes: [Int], _ name: String) -> NSBatchInsertRequest {
    var rest = codes[...]
    return NSBatchInsertRequest(entityName: "Item") { (dictionary: NSMutableDictionary) in
      guard let code = rest.popFirst() else { return true }
      dictionary["code"] = code
      dictionary["name"] = name
      return false
    }
  }

  /// Runs a body while another transaction has inserted a row with the code 1, and commits that when the body waits.
  private func besideInsertion<Result: Sendable>(_ body: @escaping @Sendable () throws -> Result) throws -> Result {
    let (other, observer) = (try bench.connection(), try bench.connection())
    try other.begin()
    try other.execute("INSERT INTO zitem (z_pk, z_ent, z_opt, zcode, zname) VALUES (1000000, 1, 1, 1, 'other')")
    let process = try other.serverProcess().number
    let result = Mutex<Swift.Result<Result, any Error>?>(nil)
    inThreads(2) { number in
      if number == 0 {
        let done = Swift.Result { try body() }
        result.withLock { $0 = done }
        return
      }
      do {
        while result.withLock({ $0 == nil }) {
          let waiting = try observer.query(
            "SELECT count(*) FROM pg_stat_activity WHERE wait_event_type = 'Lock' AND \(process) = ANY (pg_blocking_pids(pid))"
          )
          if waiting.int64(0, 0) > 0 { return try other.commit() }
          Thread.sleep(forTimeInterval: 0.01)
        }
        Issue.record("Nothing has waited for the other transaction.")
        try other.rollback()
      } catch {
        Issue.record(error)
      }
    }
    return try #require(result.withLock { $0 }).get()
  }

  @Test("A batch insertion merges with a row that another process commits while it runs")
  func batchBesideInsertion() throws {
    let context = try context()
    let result = try besideInsertion {
      try context.performAndWait { try context.execute(request([1, 2], "own")) as? NSBatchInsertResult }
    }
    #expect(result != nil)
    #expect(try context.all("Item", by: "code").map { $0["name"] as? String } == ["own", "own"])
  }

  @Test("A save merges with a row that another process commits while it runs")
  func saveBesideInsertion() throws {
    let context = try context()
    try besideInsertion {
      try context.performAndWait {
        for code in [1, 2] { context.make("Item", ["code": code, "name": "own"]) }
        try context.save()
      }
    }
    #expect(try context.all("Item", by: "code").map { $0["name"] as? String } == ["own", "own"])
  }

  @Test("A save is repeated if the row that was in its way is gone")
  func rowGone() throws {
    let context = try context()
    // A sequence is not rolled back.
    try bench.connection().execute(
      """
      CREATE SEQUENCE times; CREATE FUNCTION refuse() RETURNS trigger LANGUAGE plpgsql AS $$ BEGIN
      IF nextval('times') = 1 THEN RAISE unique_violation; END IF; RETURN NULL; END $$;
      CREATE TRIGGER refuse AFTER INSERT ON zitem FOR EACH STATEMENT EXECUTE FUNCTION refuse()
      """)
    context.make("Item", ["code": 1])
    try context.save()
    #expect(try bench.connection().query("SELECT count(*) FROM zitem").int64(0, 0) == 1)
  }

  @Test("A save from a pinned generation merges with a row that the generation does not have")
  func generation() throws {
    let (context, other) = (try context(), try context())
    try context.setQueryGenerationFrom(.current)
    #expect(try context.all("Item", by: "code").isEmpty)
    other.make("Item", ["code": 1, "name": "other"])
    try other.save()
    context.make("Item", ["code": 1, "name": "own"])
    try context.save()
    other.refreshAllObjects()
    #expect(try other.all("Item", by: "code").map { $0["name"] as? String } == ["own"])
  }

  @Test(
    "Batch insertions and saves with the same values in any order merge, and none fails",
    arguments: [false, true], [false, true])
  func everybody(history: Bool, derived: Bool) throws {
    let setUp = try context(history: history, derived: derived)
    let team = setUp.make("Team", ["title": "t"])
    try setUp.save()
    let id = team.objectID.uriRepresentation()
    let failures = Mutex<[String]>([])
    inThreads(8) { number in
      do {
        let context = try context(history: history, derived: derived)
        for round in 0..<4 {
          try context.performAndWait {
            context.reset()
            let codes = (0..<40).map { round * 20 + $0 }.shuffled()
            if number % 2 == 0 {
              _ = try context.execute(request(codes, "\(number)"))
            } else {
              let id = context.persistentStoreCoordinator?.managedObjectID(forURIRepresentation: id)
              let team = try context.existingObject(with: #require(id))
              for code in codes { context.make("Item", ["code": code, "name": "\(number)", "team": team]) }
              try context.save()
            }
          }
        }
      } catch {
        failures.withLock { $0.append("\(number): \(error)") }
      }
    }
    #expect(failures.withLock { $0 } == [])
    #expect(try setUp.all("Item", by: "code").map { $0["code"] as? Int } == Array(0..<100))
  }
}
