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

@Suite(
  "Connections that are left to others", .needsPostgreSQL,
  .disabled(if: TestServer.isPooled, "A pooler makes the connections."))
struct ConnectionReserveTests {
  private let bench = ServerBench()
  private let role: String
  private let owner: PostgreSQLConnection

  init() throws {
    role = "limited\(UInt32.random(in: 0...UInt32.max))"
    let context = bench.context(try bench.coordinator())
    for number in 0..<50 { context.make("Employee", ["name": "e\(number)"]) }
    try context.save()
    owner = try bench.connection()
    let schema = try PostgreSQLAddress(bench.url).schema
    try owner.execute(
      "CREATE ROLE \(role) LOGIN; GRANT USAGE ON SCHEMA \(schema) TO \(role); GRANT ALL ON ALL TABLES IN SCHEMA "
        + "\(schema) TO \(role); GRANT ALL ON ALL SEQUENCES IN SCHEMA \(schema) TO \(role)")
  }

  private func place() throws -> ServerBench {
    var parts = try #require(URLComponents(url: bench.url, resolvingAgainstBaseURL: false))
    parts.user = role
    return ServerBench(url: try #require(parts.url))
  }

  private func count() throws -> Int64 {
    try owner.query("SELECT count(*) FROM pg_stat_activity WHERE usename = $1", [.text(role)]).int64(0, 0)
  }

  /// Reads in eight threads, and runs a body meanwhile.
  ///
  /// - Returns: The number of connections of the role before the body, without those that only look.
  private func reading(
    _ coordinator: NSPersistentStoreCoordinator, meanwhile body: () throws -> Void
  ) throws -> Int64 {
    let isDone = Guarded(false)
    let group = DispatchGroup()
    let place = try place()
    let reads = Atomic<Int>(0)
    for _ in 0..<8 {
      group.enter()
      Thread.detachNewThread {
        defer { group.leave() }
        while !isDone.value {
          let context = place.context(coordinator)
          // Any failure is one read less.
          context.performAndWait { _ = try? context.all("Employee") }
          reads.add(1, ordering: .relaxed)
        }
      }
    }
    while reads.load(ordering: .relaxed) < 200 { Thread.sleep(forTimeInterval: 0.005) }
    var least = Int64.max
    for _ in 0..<20 {
      least = min(least, try count())
      Thread.sleep(forTimeInterval: 0.005)
    }
    defer {
      isDone.value = true
      group.wait()
    }
    try body()
    return least
  }

  /// Opens the store, and tries again for a minute while there is no connection.
  private func open() throws -> NSPersistentStoreCoordinator {
    let end = Date(timeIntervalSinceNow: 60)
    while true {
      do {
        return try place().coordinator()
      } catch let error as NSError where error.code == NSPersistentStoreOpenError && Date() < end {
        Thread.sleep(forTimeInterval: 0.05)
      }
    }
  }

  private func finish(_ coordinators: [NSPersistentStoreCoordinator]) throws {
    for coordinator in coordinators { try coordinator.remove(coordinator.persistentStores[0]) }
    try owner.execute("DROP OWNED BY \(role); DROP ROLE \(role)")
  }

  @Test("A store that is read by many threads leaves connections with which another instance opens, saves and reads")
  func opening() throws {
    try owner.execute("ALTER ROLE \(role) CONNECTION LIMIT 5")
    let first = try place().coordinator()
    var others: [NSPersistentStoreCoordinator] = []
    let used = try reading(first) {
      let place = try place()
      let second = try open()
      others.append(second)
      let context = place.context(second)
      context.make("Employee", ["name": "new"])
      try context.save()
      #expect(try context.all("Employee").count == 51)
    }
    // One that writes, and at most as many that read as leave two free. A slow machine may see fewer at a time.
    #expect((1...3).contains(used), "\(used)")
    try finish([first] + others)
  }

  @Test("Connections that read are given back when there are too few for others")
  func givingBack() throws {
    let first = try place().coordinator()
    var others: [NSPersistentStoreCoordinator] = []
    _ = try reading(first) {
      let used = try count()
      try #require(used > 2)
      try owner.execute("ALTER ROLE \(role) CONNECTION LIMIT \(used)")
      others.append(try open())
    }
    try finish([first] + others)
  }
}
