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

@Suite("Fetches that memory filters or sorts, and the connections that read", .needsPostgreSQL)
struct PartialReadTests {
  private static let count = 1_500

  /// A store with employees whose names repeat.
  private func filledBench() throws -> ServerBench {
    let bench = ServerBench()
    let context = bench.context(try bench.coordinator())
    let objects: [[String: Any]] = (0..<Self.count).map {
      ["name": "Ärger \($0 * 7 % 500)", "age": $0 % 100, "steps": $0]
    }
    try context.execute(NSBatchInsertRequest(entityName: "Employee", objects: objects))
    return bench
  }

  private func request(
    _ predicate: NSPredicate?, _ order: [NSSortDescriptor] = []
  ) -> NSFetchRequest<NSManagedObject> {
    let request = NSFetchRequest<NSManagedObject>(entityName: "Employee")
    (request.predicate, request.sortDescriptors) = (predicate, order)
    return request
  }

  @Test("A limit takes the first objects of the whole result, with unsaved changes or without")
  func limits() throws {
    let bench = try filledBench()
    let localized = [NSSortDescriptor(key: "name", ascending: true, selector: "localizedStandardCompare:")]
    let descending = [
      NSSortDescriptor(key: "name", ascending: false, selector: "localizedStandardCompare:"),
      NSSortDescriptor(key: "age", ascending: true),
    ]
    let matches = NSPredicate(format: "name MATCHES '.*r [0-9]*7'")
    for isChanged in [false, true] {
      let context = bench.context(try bench.coordinator())
      if isChanged {
        for object in try context.all("Employee", where: NSPredicate(format: "steps IN {0, 7, 11, 500}")) {
          object["name"] = "Ärger 37"
        }
        for object in try context.all("Employee", where: NSPredicate(format: "steps IN {1, 71}")) {
          context.delete(object)
        }
        context.make("Employee", ["name": "Ärger 7"])
      }
      for predicate in [nil, matches] {
        for order in [[], localized, descending] where predicate != nil || !order.isEmpty {
          let whole = try context.fetch(request(predicate, order))
          for (offset, limit) in [(0, 1), (0, 40), (13, 300), (0, Self.count * 2), (Self.count, 5), (300, 700)] {
            let part = request(predicate, order)
            (part.fetchOffset, part.fetchLimit) = (offset, limit)
            let expected = whole.dropFirst(offset).prefix(limit)
            #expect(try context.fetch(part) == Array(expected), "\(isChanged) \(order) \(offset) \(limit)")
            #expect(try context.count(for: part) == expected.count, "\(isChanged) \(order) \(offset) \(limit)")
          }
        }
      }
    }
  }

  @Test("A fetch stops when it has enough, and the connection is used again")
  func stopsEarly() throws {
    let bench = try filledBench()
    let coordinator = try bench.coordinator()
    let context = bench.context(coordinator)
    let calls = Mutex(0)
    let predicate = NSPredicate { object, _ in
      calls.withLock { $0 += 1 }
      return ((object as? NSManagedObject)?["age"] as? Int).map { $0 > 50 } ?? false
    }
    for _ in 0..<5 {
      let first = request(predicate)
      first.fetchLimit = 3
      calls.withLock { $0 = 0 }
      #expect(try context.fetch(first).count == 3)
      #expect(calls.withLock { $0 } < 1_000)
      #expect(try context.count(for: request(nil)) == Self.count)
    }
    // A sorted one sees all, and keeps few.
    context.reset()
    let sorted = request(predicate, [NSSortDescriptor(key: "name", ascending: true, selector: "localizedCompare:")])
    sorted.fetchLimit = 3
    calls.withLock { $0 = 0 }
    let found = try context.fetch(sorted)
    #expect(found.count == 3 && calls.withLock { $0 } == Self.count)
    #expect(context.registeredObjects.count == 3)
    // In a transaction, nothing is cancelled.
    try coordinator.performAndWait {
      let store = try #require(coordinator.persistentStores.first as? PostgreSQLStore)
      try store.beginReading()
      let first = request(predicate)
      first.fetchLimit = 3
      #expect(try context.fetch(first).count == 3 && context.count(for: request(nil)) == Self.count)
      try store.endReading()
    }
  }

  @Test("A statement that is not read to its end is ended, also a long one, and its connection goes on")
  func cancelledRest() throws {
    let connection = try ServerBench().connection()
    for isInTransaction in [false, true] {
      if isInTransaction { try connection.begin() }
      let rows = isInTransaction ? 3_000 : 2_000_000_000
      for _ in 0..<3 {
        let first = try connection.readRows("SELECT generate_series(1, \(rows)::bigint)") { next in
          try next()?.int64(0, 0)
        }
        #expect(first == 1)
        #expect(try connection.query("SELECT 5::bigint").int64(0, 0) == 5)
      }
      if isInTransaction { try connection.commit() }
    }
  }

  @Test(
    "A store reads with no more connections than it may have, and every thread reads",
    .disabled(if: TestServer.isPooled, "A pooler makes the connections."), arguments: [1, 3])
  func poolSize(limit: Int) throws {
    let bench = try filledBench()
    let name = "pool\(UInt32.random(in: 0...UInt32.max))"
    let place = ServerBench(
      url: try #require(URL(string: bench.url.absoluteString + "&application_name=\(name)")))
    let coordinator = try place.coordinator([NSPersistentStoreConnectionPoolMaxSizeKey: limit])
    let observer = try bench.connection()
    let counts = Mutex<[Int]>([])
    let failures = Mutex<[String]>([])
    let largest = Mutex(0)
    let group = DispatchGroup()
    for number in 0..<12 {
      let thread = Thread {
        defer { group.leave() }
        do {
          for round in 0..<20 {
            let context = place.context(coordinator)
            try context.performAndWait {
              _ = try context.fetch(request(NSPredicate(format: "age == %d", round)))
              if round % 5 == number % 5 {
                context.make("Employee", ["name": "thread \(number)"])
                try context.save()
              }
            }
          }
          counts.withLock { $0.append(number) }
        } catch {
          failures.withLock { $0.append("\(error)") }
        }
      }
      group.enter()
      thread.start()
    }
    while group.wait(timeout: .now() + .milliseconds(5)) == .timedOut {
      let rows = try observer.query(
        "SELECT count(*) FROM pg_stat_activity WHERE application_name = $1", [.text(name)])
      largest.withLock { $0 = max($0, Int(rows.int64(0, 0))) }
    }
    #expect(failures.withLock { $0 } == [] && counts.withLock { $0.count } == 12)
    #expect(largest.withLock { $0 } <= limit + 1)
    let saved = try observer.query("SELECT count(*) FROM zemployee WHERE zname LIKE 'thread %'").int64(0, 0)
    #expect(saved == 48)
  }

  @Test("A server that gives no second connection is read and written with the first one")
  func exhaustedServer() throws {
    let bench = try filledBench()
    let schema = try PostgreSQLAddress(bench.url).schema
    let owner = try bench.connection()
    try owner.execute(
      "CREATE ROLE \(schema)_one LOGIN CONNECTION LIMIT 1; GRANT USAGE ON SCHEMA \(schema) TO \(schema)_one; "
        + "GRANT ALL ON ALL TABLES IN SCHEMA \(schema) TO \(schema)_one; "
        + "GRANT ALL ON ALL SEQUENCES IN SCHEMA \(schema) TO \(schema)_one")
    let place = ServerBench(url: TestServer.shared.url(user: "\(schema)_one", "schema=\(schema)"))
    let coordinator = try place.coordinator()
    let failures = Mutex<[String]>([])
    inThreads(6) { number in
      do {
        for round in 0..<10 {
          let context = place.context(coordinator)
          try context.performAndWait {
            let found = try context.fetch(request(NSPredicate(format: "steps == %d", round)))
            try #require(found.count == 1)
            context.make("Employee", ["name": "thread \(number)"])
            try context.save()
          }
        }
      } catch {
        failures.withLock { $0.append("\(error)") }
      }
    }
    #expect(failures.withLock { $0 } == [])
    #expect(try owner.query("SELECT count(*) FROM zemployee WHERE zname LIKE 'thread %'").int64(0, 0) == 60)
    try coordinator.remove(coordinator.persistentStores[0])
    try owner.execute("DROP OWNED BY \(schema)_one; DROP ROLE \(schema)_one")
  }
}
