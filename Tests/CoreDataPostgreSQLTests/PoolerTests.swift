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

@Suite("Stores behind a connection pooler", .needsPgBouncer)
struct PoolerTests {
  /// How often each of four instances saves.
  private static let saves = TortureSize.isFull ? 2_500 : 60

  /// A server of its own, because the process of another test may use a pooler for all stores of the shared one.
  private static let server: TestServer = {
    do {
      return try TestServer()
    } catch {
      fatalError("PostgreSQL could not be started: \(error)")
    }
  }()

  private func pooler(_ mode: TestPooler.Mode) throws -> TestPooler {
    // In transaction pooling, few connections for all instances, so that they exchange them all the time.
    try TestPooler(mode, before: Self.server, size: mode == .transaction ? 3 : 100)
  }

  /// What the instances have done.
  private struct Work {
    var saved: [String: Int] = [:]
    var failures: [String] = []
    var notifications: [Int: Int] = [:]
  }

  @Test(
    "Two tenants of two instances save, fetch and delete: every row is in its own schema, none is lost, and all learn of it",
    .timeLimit(.minutes(60)), arguments: [TestPooler.Mode.session, .transaction], [false, true])
  func tenants(_ mode: TestPooler.Mode, listensDirectly: Bool) throws {
    let pooler = try pooler(mode)
    let direct = (0..<2).map { _ in Self.server.schemaURL() }
    let work = Mutex(Work())
    var options: [AnyHashable: Any] = [
      NSPersistentStoreRemoteChangeNotificationPostOptionKey: true, NSPersistentHistoryTrackingKey: true,
    ]
    var tokens: [any NSObjectProtocol] = []
    defer { for token in tokens { NotificationCenter.default.removeObserver(token) } }
    let benches = direct.map { ServerBench(url: pooler.url($0)) }
    var coordinators: [NSPersistentStoreCoordinator] = []
    for instance in 0..<4 {
      if listensDirectly { options[PostgreSQLListenURLOption] = direct[instance % 2] }
      let coordinator = try benches[instance % 2].coordinator(options)
      let store = try #require(coordinator.persistentStores.first as? PostgreSQLStore)
      #expect(store.opened?.connection.isPooled == true)
      coordinators.append(coordinator)
      tokens.append(
        NotificationCenter.default.addObserver(
          forName: .NSPersistentStoreRemoteChange, object: coordinator, queue: nil
        ) { _ in work.withLock { $0.notifications[instance, default: 0] += 1 } })
    }
    let opened = coordinators
    inThreads(4) { instance in
      let (bench, tenant) = (benches[instance % 2], "t\(instance % 2)")
      let context = bench.context(opened[instance])
      context.performAndWait {
        for number in 0..<Self.saves {
          let name = "\(tenant)-\(instance)-\(number)"
          do {
            // Few rows are inserted one by one, many with COPY.
            for part in 0..<(number % 10 == 0 ? 30 : 2) { context.make("Employee", ["name": name, "age": part]) }
            if let old = try context.all("Employee", where: NSPredicate(format: "name == %@ AND age == 1", name)).first
            {
              old["steps"] = 1
            }
            try context.save()
            work.withLock { $0.saved[name] = number % 10 == 0 ? 30 : 2 }
            if number % 7 == 0 {
              let one = try context.all("Employee", where: NSPredicate(format: "name == %@ AND age == 0", name))
              for object in one { context.delete(object) }
              try context.save()
              if !one.isEmpty { work.withLock { $0.saved[name, default: 0] -= one.count } }
            }
            context.reset()
          } catch {
            work.withLock { $0.failures.append("\(error)") }
            context.rollback()
          }
        }
      }
    }
    let found = work.withLock { $0 }
    #expect(found.failures.isEmpty, "\(found.failures.first ?? "")")
    var count = 0
    for (tenant, url) in direct.enumerated() {
      let rows = try ServerBench(url: url).connection().query("SELECT zname, count(*) FROM zemployee GROUP BY zname")
      for row in 0..<rows.count {
        let name = rows.string(row, 0)
        #expect(name.hasPrefix("t\(tenant)-"), "\(name) is in the schema of tenant \(tenant)")
        #expect(found.saved[name].map(Int64.init) == rows.int64(row, 1))
      }
      count += rows.count
    }
    #expect(count == found.saved.count && count == 4 * Self.saves)
    // After the last save of an instance, every instance of the tenant posts once more.
    while work.withLock({ work in (0..<4).contains { work.notifications[$0] == nil } }) { usleep(10_000) }
    let notifications = work.withLock { work in (0..<4).map { work.notifications[$0] ?? 0 } }
    print(
      "Pooler, \(mode.rawValue) pooling, listening \(listensDirectly ? "directly" : "by looking"): \(count) saves of two "
        + "tenants and four instances, 0 in the wrong place, 0 lost, notifications \(notifications)")
    for coordinator in opened {
      for store in coordinator.persistentStores { try coordinator.remove(store) }
    }
  }

  @Test("Nothing of a client stays in a session that the pooler gives to the next one")
  func sessionState() throws {
    let pooler = try TestPooler(.transaction, before: Self.server, size: 1)
    let place = ServerBench(url: pooler.url(Self.server.schemaURL()))
    let coordinator = try place.coordinator([NSPersistentStoreTimeoutOption: 3, NSPersistentHistoryTrackingKey: true])
    let context = place.context(coordinator)
    for round in 0..<5 {
      context.make("Employee", ["name": "e\(round)"])
      try context.save()
      context.reset()
      #expect(try context.all("Employee").count == round + 1)
    }
    let delete = NSBatchDeleteRequest(fetchRequest: NSFetchRequest<any NSFetchRequestResult>(entityName: "Employee"))
    _ = try context.execute(delete)
    #expect(try context.all("Employee").isEmpty)
    // The pooler has one session, which a client without settings of its own uses next.
    let next = try PostgreSQLConnection(PostgreSQLAddress(place.url), applicationName: "tests")
    let rows = try next.query(
      "SELECT name FROM pg_settings WHERE source = 'session' AND name NOT IN "
        + "('search_path', 'row_security', 'extra_float_digits', 'application_name', 'client_encoding', 'DateStyle', "
        + "'TimeZone', 'standard_conforming_strings')")
    #expect((0..<rows.count).map { rows.string($0, 0) } == [])
    #expect(try next.query("SELECT count(*) FROM pg_prepared_statements").int64(0, 0) == 0)
    #expect(try next.query("SELECT count(*) FROM pg_listening_channels()").int64(0, 0) == 0)
    #expect(
      try next.query("SELECT count(*) FROM pg_class WHERE relnamespace = pg_my_temp_schema()").int64(0, 0) == 0)
    #expect(
      try next.query("SELECT count(*) FROM pg_locks WHERE locktype = 'advisory' AND pid = pg_backend_pid()")
        .int64(0, 0) == 0)
  }

  @Test("A long statement that is not read to its end is ended, and its connection goes on", arguments: [1, 3])
  func cancelledRest(size: Int) throws {
    let pooler = try TestPooler(.transaction, before: Self.server, size: size)
    let connection = try ServerBench(url: pooler.url(Self.server.schemaURL())).connection()
    for _ in 0..<5 {
      let first = try connection.readRows("SELECT generate_series(1, 2000000000::bigint)") { try $0()?.int64(0, 0) }
      #expect(first == 1)
      #expect(try connection.query("SELECT 5::bigint").int64(0, 0) == 5)
    }
  }

  @Test("Statement pooling is refused with words")
  func statementPooling() throws {
    let pooler = try TestPooler(.statement, before: Self.server, size: 3)
    let place = ServerBench(url: pooler.url(Self.server.schemaURL()))
    let error = try #require(throws: (any Error).self) { try place.coordinator() } as NSError
    #expect(error.code == NSPersistentStoreOpenError && error.reasonText.contains("pool_mode"), "\(error)")
  }

  @Test("A pooler where the server should listen, and a database without the store, are errors that say so")
  func listenURL() throws {
    let pooler = try pooler(.transaction)
    let direct = Self.server.schemaURL()
    let place = ServerBench(url: pooler.url(direct))
    _ = try place.coordinator()
    func reason(_ value: Any) throws -> String {
      let options: [AnyHashable: Any] = [
        NSPersistentStoreRemoteChangeNotificationPostOptionKey: true, PostgreSQLListenURLOption: value,
      ]
      let error = try #require(throws: (any Error).self) { try place.coordinator(options) } as NSError
      #expect(error.code == NSPersistentStoreOpenError)
      return error.reasonText
    }
    #expect(try reason(place.url).contains("connection pooler"))
    #expect(try reason(Self.server.url(database: "template1")).contains("does not have the store"))
    #expect(try reason(7).contains("neither a URL nor a string"))
    #expect(try reason("http://example.com/").contains("does not name a database"))
  }

  @Test("Rows are not copied through a pooler, where the lock for it would belong to nobody")
  func copying() throws {
    let pooler = try pooler(.transaction)
    let place = ServerBench(url: pooler.url(Self.server.schemaURL()))
    _ = try place.coordinator()
    let error = try #require(throws: (any Error).self) {
      try PostgreSQLStore.looking(at: place.url) { try $0.lockForCopy() }
    }
    #expect((error as NSError).reasonText.contains("connection pooler"))
    // A migration copies rows in one transaction, with which its lock ends.
    let address = try PostgreSQLAddress(place.url)
    let migrations = try (0..<2).map { _ in SchemaInDatabase(try place.connection(), address, url: place.url) }
    for migration in migrations { try migration.connection.begin() }
    #expect(try migrations[0].lockForCopy() && !migrations[1].lockForCopy())
    try migrations[0].unlockAfterCopy()
    #expect(try !migrations[1].lockForCopy())
    try migrations[0].connection.rollback()
    #expect(try migrations[1].lockForCopy())
  }

  @Test("A connection that finds itself in another server process goes on as behind a pooler")
  func otherProcess() throws {
    let connection = try PostgreSQLConnection(PostgreSQLAddress(Self.server.schemaURL()), applicationName: "tests")
    #expect(!connection.isPooled)
    for _ in 0..<3 { _ = try connection.query("SELECT $1 + 1", [1]) }
    try connection.execute("RESET ALL")
    connection.becomePooled()
    #expect(try connection.query("SELECT current_setting('row_security')").string(0, 0) == "off")
    try connection.transaction { () throws in
      #expect(try connection.query("SELECT current_setting('row_security')").string(0, 0) == "off")
      #expect(try connection.query("SELECT $1 + 1", [1]).int64(0, 0) == 2)
    }
    var numbers: [Int64] = []
    let series = "SELECT g::bigint FROM generate_series(1, $1) g"
    try connection.forEachRow(series, [1_000]) { numbers.append($0.int64(0, 0)) }
    #expect(numbers == Array(1...1_000))
    #expect(throws: (any Error).self) { try connection.query("SELECT 1 / ($1 - $1)", [1]) }
    #expect(throws: (any Error).self) { try connection.query("SELEKT") }
    try connection.execute("CREATE TEMP TABLE t (n bigint)")
    try connection.pipeline { pipeline in
      for number in 0..<2_500 { try pipeline.send("INSERT INTO t VALUES ($1)", [.integer(Int64(number))]) }
    }
    #expect(try connection.query("SELECT count(*) FROM t").int64(0, 0) == 2_500)
    #expect(throws: (any Error).self) {
      try connection.forEachRow("SELECT n FROM t") { _ in throw CancellationError() }
    }
    #expect(try connection.query("SELECT 7::bigint").int64(0, 0) == 7)
    // The one of the session before.
    #expect(try connection.query("SELECT count(*) FROM pg_prepared_statements").int64(0, 0) <= 1)
  }

  @Test("A migration that gives up behind a pooler names the process that is in its way")
  func blocker() throws {
    let pooler = try pooler(.transaction)
    let direct = Self.server.schemaURL()
    let bench = ServerBench(url: pooler.url(direct))
    let old = bench.context(try bench.coordinator(nil, RollingChange.model(nil)))
    old.make("Item", ["name": "first"])
    try old.save()
    let holder = try ServerBench(url: direct).connection()
    try holder.begin()
    _ = try holder.query("SELECT * FROM zitem")
    let options = RollingChange.addedRequired.options.merging([NSPersistentStoreTimeoutOption: 2.0]) { $1 }
    var failure: NSError?
    do { _ = try bench.coordinator(options, RollingChange.model(.addedRequired)) } catch { failure = error as NSError }
    let error = try #require(failure)
    #expect(error.code == NSPersistentStoreTimeoutError, "\(error)")
    #expect("\(error)".contains("Locks are held by process \(holder.processID) of tester"), "\(error)")
    try holder.rollback()
  }
}
