// OpenCoreData
// SPDX-License-Identifier: Apache-2.0

import CoreDataTestSupport
import Foundation
import PostgreSQLTestServer
import Testing

@testable import CoreData
@testable import CoreDataPostgreSQL
@testable import CoreDataPostgreSQLClient
@testable import CoreDataStoreFiles

@Suite("Interrupted copies into a server", .needsPostgreSQL)
struct InterruptedCopyTests {
  private let file: TemporaryStore

  init() throws {
    file = try TemporaryStore()
    let bench = ServerBench()
    let coordinator = NSPersistentStoreCoordinator(managedObjectModel: CompanyModel.make())
    let store = try coordinator.addPersistentStore(type: .sqlite, at: file.url)
    let context = bench.context(coordinator)
    let employees = (0..<30).map { context.make("Employee", ["name": "e\($0)"]) }
    employees[0]["friends"] = Set(employees[1...])
    context.make("Project", ["title": "p"])["members"] = Set(employees)
    try context.save()
    try coordinator.remove(store)
  }

  private static var settings: CopySettings {
    var settings = CopySettings()
    (settings.partSize, settings.pageLimit) = (20, 10)
    return settings
  }

  /// Copies the store.
  private func copy(to url: URL) throws {
    let coordinator = NSPersistentStoreCoordinator(managedObjectModel: CompanyModel.make())
    let store = try coordinator.addPersistentStore(type: .sqlite, at: file.url)
    let (made, _) = try coordinator.copyPersistentStore(
      store, to: url, options: [NSPersistentStoreTimeoutOption: 0.2], type: .postgreSQL, Self.settings)
    try coordinator.remove(made)
  }

  /// Copies the store once the server has noticed that the earlier copy has ended.
  private func copyAgain(to url: URL) throws {
    for attempt in 0... {
      do {
        return try copy(to: url)
      } catch let error as NSError where error.localizedFailureReason?.contains("Another process is copying") == true {
        try #require(attempt < 1_000)
        Thread.sleep(forTimeInterval: 0.05)
      }
    }
  }

  @Test(
    "A copy that ends at any message never leaves a store that opens, and the same copy goes on",
    arguments: [true, false])
  func anyMessage(fromClient: Bool) throws {
    let proxy = try CuttingProxy(.shared)
    defer { proxy.stop() }
    proxy.arm(.clientMessages(.max))
    try copy(to: proxy.url(ServerBench().url))
    let counts = proxy.messageCounts
    let total = fromClient ? counts.client : counts.server
    var (refused, absent, complete) = (0, 0, 0)
    for number in stride(from: 0, to: total, by: max(1, total / (TortureSize.isFull ? 40 : 10))) {
      let bench = ServerBench()
      proxy.arm(fromClient ? .clientMessages(number) : .serverMessages(number), refusing: .max)
      let failure = Result { try copy(to: proxy.url(bench.url)) }
      proxy.disarm()
      proxy.refuse(0)
      if try !PostgreSQLStore.hasStore(at: bench.url) {
        absent += 1
      } else if try PostgreSQLStore.metadataForPersistentStore(with: bench.url)[StoreMetadata.Key.unfinishedCopy] == nil
      {
        // Only a copy that is there as a whole.
        complete += 1
        if case .failure(let error as NSError) = failure {
          let isLate = error.code == NSPersistentStoreSaveError || error.code == NSPersistentStoreOperationError
          #expect(isLate, "message \(number): \(error)")
        }
      } else {
        refused += 1
        let error = try #require(throws: (any Error).self) { try bench.coordinator() } as NSError
        #expect(error.code == NSPersistentStoreOpenError, "message \(number): \(error)")
        #expect(error.localizedFailureReason?.contains("interrupted") == true, "\(error)")
      }
      if try !PostgreSQLStore.hasStore(at: bench.url)
        || PostgreSQLStore.metadataForPersistentStore(with: bench.url)[StoreMetadata.Key.unfinishedCopy] != nil
      {
        try copyAgain(to: bench.url)
      }
      let context = bench.context(try bench.coordinator())
      let employees = try context.all("Employee")
      let friends = employees.map { ($0["friends"] as? Set<NSManagedObject>)?.count ?? 0 }
      #expect(employees.count == 30 && friends.reduce(0, +) == 58, "message \(number)")
      #expect(try PostgreSQLStore.problems(at: bench.url).isEmpty, "message \(number)")
    }
    #expect(refused > (TortureSize.isFull ? 10 : 2) && absent > 0)
    print(
      "A copy ended at \(absent + refused + complete) of \(total) messages: \(absent) left no store, \(refused) an unfinished "
        + "one, \(complete) a complete one")
  }

  @Test("A store is marked as a copy in the transaction that creates it, and another program's store is left alone")
  func mark() throws {
    let bench = ServerBench()
    let coordinator = NSPersistentStoreCoordinator(managedObjectModel: CompanyModel.make())
    let source = try #require(
      try coordinator.addPersistentStore(type: .sqlite, at: file.url) as? any RowStore)
    let store = PostgreSQLStore(
      persistentStoreCoordinator: coordinator, configurationName: nil, at: bench.url, options: nil)
    #expect(store.willReceiveCopy(of: source))
    try store.loadMetadata()
    store.willRemove(from: coordinator)
    #expect(throws: (any Error).self) { try bench.coordinator() }
    try copy(to: bench.url)
    #expect(try bench.context(try bench.coordinator()).all("Employee").count == 30)
    // A copy into a store that an app has opened in the meantime.
    let other = ServerBench()
    _ = try other.coordinator()
    let late = PostgreSQLStore(
      persistentStoreCoordinator: coordinator, configurationName: nil, at: other.url, options: nil)
    #expect(late.willReceiveCopy(of: source))
    try late.loadMetadata()
    #expect(late.metadata[StoreMetadata.Key.unfinishedCopy] == nil)
    late.willRemove(from: coordinator)
  }

  @Test(
    "Rows that were not copied are counted before an unfinished copy is removed",
    .disabled(if: TestServer.isPooled, "Stores are not copied through a pooler."))
  func otherRows() throws {
    let bench = ServerBench()
    var settings = Self.settings
    struct Interruption: Error {}
    settings.progress = { if $0.done >= 20 { throw Interruption() } }
    let coordinator = NSPersistentStoreCoordinator(managedObjectModel: CompanyModel.make())
    let store = try coordinator.addPersistentStore(type: .sqlite, at: file.url)
    #expect(throws: Interruption.self) {
      try coordinator.copyPersistentStore(store, to: bench.url, options: nil, type: .postgreSQL, settings)
    }
    let connection = try bench.connection()
    let count = try connection.query("SELECT count(*) FROM zemployee").int64(0, 0)
    #expect(count == 20)
    try connection.execute(
      "INSERT INTO zemployee (z_pk, z_ent, z_opt, zname, zisactive) SELECT 1000 + n, (SELECT z_ent FROM zemployee LIMIT 1), "
        + "1, 'theirs', true FROM generate_series(1, 3) n")
    let error =
      try #require(throws: (any Error).self) {
        _ = try PostgreSQLStore.removeUnfinishedCopy(at: bench.url, discardsOthers: false)
      } as NSError
    #expect(error.localizedFailureReason?.contains("3 of 'Employee'") == true, "\(error)")
    #expect(try connection.query("SELECT count(*) FROM zemployee").int64(0, 0) == 23)
    #expect(try PostgreSQLStore.removeUnfinishedCopy(at: bench.url, discardsOthers: true))
    #expect(try !PostgreSQLStore.hasStore(at: bench.url))
    // Without others' rows nothing is asked.
    #expect(throws: Interruption.self) {
      try coordinator.copyPersistentStore(store, to: bench.url, options: nil, type: .postgreSQL, settings)
    }
    #expect(try PostgreSQLStore.removeUnfinishedCopy(at: bench.url, discardsOthers: false))
  }
}
