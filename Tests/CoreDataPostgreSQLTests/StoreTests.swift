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

/// A store in a schema of its own, with any number of coordinators.
struct ServerBench {
  var url = TestServer.shared.schemaURL()

  func coordinator(
    _ options: [AnyHashable: Any]? = nil, _ model: NSManagedObjectModel = CompanyModel.make()
  ) throws -> NSPersistentStoreCoordinator {
    let coordinator = NSPersistentStoreCoordinator(managedObjectModel: model)
    try coordinator.addPersistentStore(type: .postgreSQL, at: url, options: options)
    return coordinator
  }

  func context(_ coordinator: NSPersistentStoreCoordinator) -> NSManagedObjectContext {
    let context = NSManagedObjectContext(.privateQueue)
    context.persistentStoreCoordinator = coordinator
    return context
  }

  func connection() throws -> PostgreSQLConnection {
    try PostgreSQLConnection(PostgreSQLAddress(url), applicationName: "tests")
  }
}

extension PostgreSQLConnection {
  /// The server's process for the transaction, and its application name. A pooler says another `processID`, and its connections
  /// keep the name of an earlier client.
  func serverProcess() throws -> (number: Int64, application: String) {
    let found = try query("SELECT pg_backend_pid()::bigint, current_setting('application_name')")
    return (found.int64(0, 0), found.string(0, 1))
  }
}

@Suite("Stores in PostgreSQL", .needsPostgreSQL)
struct StoreTests {
  private let bench = ServerBench()

  @Test("A description with a URL of the scheme is enough")
  func container() throws {
    for round in 0..<2 {
      let container = NSPersistentContainer(name: "Company", managedObjectModel: CompanyModel.make())
      container.persistentStoreDescriptions = [NSPersistentStoreDescription(url: bench.url)]
      var failure: (any Error)?
      container.loadPersistentStores { failure = $1 }
      if let failure { throw failure }
      let context = container.viewContext
      if round == 0 {
        context.make("Employee", ["name": "Ada", "age": 36, "hired": Date(timeIntervalSinceReferenceDate: 0.1)])
        try context.save()
      }
      context.reset()
      let found = try #require(try context.all("Employee").first)
      #expect(found["name"] as? String == "Ada" && found["age"] as? Int == 36)
      #expect((found["hired"] as? Date)?.timeIntervalSinceReferenceDate == 0.1)
    }
  }

  @Test("A store is looked at and opened by one connection, unless it is left in a transaction")
  func sharedConnection() throws {
    _ = try bench.coordinator()
    func process(_ work: (PostgreSQLConnection) throws -> Void = { _ in }) throws -> Int {
      try PostgreSQLStore.looking(at: bench.url) { schema in
        try work(schema.connection)
        return schema.connection.processID
      }
    }
    let (first, second) = try PostgreSQLStore.sharingConnection { (try process(), try process()) }
    #expect(first == second)
    #expect(try process() != process())
    let (third, fourth) = try PostgreSQLStore.sharingConnection { (try process { try $0.begin() }, try process()) }
    #expect(third != fourth)
  }

  @Test("A connection that the server has ended between looking at a store and opening it is replaced by a new one")
  func endedConnection() throws {
    _ = try bench.coordinator()
    let killer = try bench.connection()
    try PostgreSQLStore.sharingConnection {
      let first = try PostgreSQLStore.looking(at: bench.url) { $0.connection.processID }
      _ = try killer.query("SELECT pg_terminate_backend($1::int)", [.integer(Int64(first))])
      func isThere() throws -> Bool {
        try killer.query("SELECT 1 FROM pg_stat_activity WHERE pid = $1::int", [.integer(Int64(first))]).count > 0
      }
      while try isThere() { usleep(10_000) }
      #expect(try PostgreSQLStore.looking(at: bench.url) { try $0.connection.query("SELECT 1").count } == 1)
    }
  }

  @Test("Columns have PostgreSQL's types, and a date is a timestamp that other programs can read and write")
  func types() throws {
    let coordinator = try bench.coordinator()
    let context = bench.context(coordinator)
    let date = Date(timeIntervalSinceReferenceDate: 725_000_000.123_456_789)
    let far = Date(timeIntervalSinceReferenceDate: 1e300)
    context.make("Employee", ["name": "now", "hired": date, "isActive": true])
    context.make("Employee", ["name": "far", "hired": far])
    try context.save()
    let connection = try bench.connection()
    let types = try connection.query(
      "SELECT attname::text, format_type(atttypid, NULL) FROM pg_attribute WHERE attrelid = 'zemployee'::regclass "
        + "AND attnum > 0 ORDER BY attname")
    let found = Dictionary(uniqueKeysWithValues: (0..<types.count).map { (types.string($0, 0), types.string($0, 1)) })
    #expect(found["zhired"] == "timestamp with time zone" && found["zhired_sub"] == "double precision")
    #expect(found["zisactive"] == "boolean" && found["zsalary"] == "numeric" && found["ztoken"] == "uuid")
    #expect(found["zname"] == "text" && found["zphoto"] == "bytea" && found["zage"] == "bigint")
    let text = try connection.query("SELECT zhired::text FROM zemployee WHERE zname = 'now'").string(0, 0)
    #expect(text == "2023-12-23 04:53:20.123457+00" || text == "2023-12-23 04:53:20.123456+00")
    try connection.run("UPDATE zemployee SET zhired = '2024-02-29 12:00:00+00', zhired_sub = NULL WHERE zname = 'now'")
    context.reset()
    let rows = try context.all("Employee", by: "name")
    #expect(rows.map { $0["hired"] as? Date } == [far, Date(timeIntervalSinceReferenceDate: 730_900_800)])
    let after = try context.all("Employee", where: NSPredicate(format: "hired > %@", date as NSDate))
    #expect(after.count == 2)
  }

  @Test("A text with the character U+0000 is refused with the property, and nothing is saved")
  func zeroCharacter() throws {
    let context = bench.context(try bench.coordinator())
    for count in [1, 50] {
      for number in 0..<count { context.make("Employee", ["name": number == count / 2 ? "a\0b" : "fine"]) }
      let error = try #require(throws: (any Error).self) { try context.save() } as NSError
      #expect(error.code == NSPersistentStoreOperationError && "\(error)".contains("U+0000"))
      #expect(error.userInfo["property"] as? String == "name")
      context.rollback()
      #expect(try context.all("Employee").isEmpty)
    }
    context.make("Employee", ["name": "fine"])
    try context.save()
    let requests = [NSBatchUpdateRequest(entityName: "Employee"), NSBatchUpdateRequest(entityName: "Employee")]
    requests[0].propertiesToUpdate = ["name": "a\0b"]
    requests[1].propertiesToUpdate = ["name": NSExpression(format: "%@", "a\0b")]
    for request in requests {
      let error = try #require(throws: (any Error).self) { try context.execute(request) } as NSError
      #expect(error.userInfo["property"] as? String == "name" && "\(error)".contains("U+0000"))
    }
    context.reset()
    #expect(try context.all("Employee").map { $0["name"] as? String } == ["fine"])
  }

  @Test("A password in the URL appears in no error, no store and no notification", arguments: [":secret42@", "@"])
  func password(_ part: String) throws {
    let folder = TestServer.shared.socketFolder
    let query = part == "@" ? "&password=secret42" : ""
    let text = "postgresql://nobody\(part)/nothing?host=\(folder)\(query)"
    let url = try #require(URL(string: text))
    let coordinator = NSPersistentStoreCoordinator(managedObjectModel: CompanyModel.make())
    let error =
      try #require(throws: (any Error).self) {
        try coordinator.addPersistentStore(type: .postgreSQL, at: url)
      } as NSError
    #expect(error.code == NSPersistentStoreOpenError)
    #expect(!"\(error) \(error.userInfo) \(String(reflecting: error))".contains("secret42"))
  }

  @Test("Conflicts of two coordinators are found, and merge policies resolve them")
  func conflicts() throws {
    let (one, two) = (bench.context(try bench.coordinator()), bench.context(try bench.coordinator()))
    one.make("Employee", ["name": "Ada", "age": 1])
    try one.save()
    let (first, second) = (
      try #require(try one.all("Employee").first), try #require(try two.all("Employee").first)
    )
    _ = (first["age"], second["age"])
    first["age"] = 2
    try one.save()
    second["age"] = 3
    let error = try #require(throws: (any Error).self) { try two.save() } as NSError
    #expect(error.code == NSManagedObjectMergeError)
    two.mergePolicy = NSMergePolicy.mergeByPropertyObjectTrump
    try two.save()
    one.refreshAllObjects()
    #expect(first["age"] as? Int == 3)
    one.delete(first)
    try one.save()
    second["age"] = 4
    two.mergePolicy = NSMergePolicy.error
    #expect(throws: (any Error).self) { try two.save() }
  }

  @Test("History is recorded, read by another coordinator, and deleted")
  func history() throws {
    let options: [AnyHashable: Any] = [NSPersistentHistoryTrackingKey: true]
    let coordinator = try bench.coordinator(options)
    let context = bench.context(coordinator)
    context.transactionAuthor = "me"
    let ada = context.make("Employee", ["name": "Ada"])
    context.make("Employee", ["name": "Bob"])
    try context.save()
    ada["age"] = 7
    try context.save()
    context.delete(ada)
    try context.save()
    let reader = bench.context(try bench.coordinator(options))
    let request = NSPersistentHistoryChangeRequest.fetchHistory(after: nil as NSPersistentHistoryToken?)
    let result = try #require(try reader.execute(request) as? NSPersistentHistoryResult)
    let found = try #require(result.result as? [NSPersistentHistoryTransaction])
    #expect(found.map { $0.author } == ["me", "me", "me"])
    #expect(found.map { ($0.changes ?? []).map(\.changeType) } == [[.insert, .insert], [.update], [.delete]])
    #expect(found[1].changes?.first?.updatedProperties?.map(\.name) == ["age"])
    _ = try reader.execute(NSPersistentHistoryChangeRequest.deleteHistory(before: found[2]))
    let left = try #require(
      (try reader.execute(NSPersistentHistoryChangeRequest.fetchHistory(after: found[1].token))
        as? NSPersistentHistoryResult)?.result as? [NSPersistentHistoryTransaction])
    #expect(left.count == 1)
    // Without the option, clients of the history would not learn of changes.
    #expect(try bench.coordinator().persistentStores[0].isReadOnly)
  }

  @Test(
    "Batch requests find rows, and compute values, that the server cannot",
    arguments: [
      ("name LIKE '*a'", 2), ("name ==[c] 'ADA'", 1), ("name MATCHES '[AB].*'", 2), ("10 / age > 1", 2),
      ("sqrt:(rating) > 1", 1), ("steps * 2 > 9223372036854775807", 1), ("rating * 1e308 > 1e308", 1),
    ])
  func batchesInMemory(format: String, count: Int) throws {
    let context = bench.context(try bench.coordinator([NSPersistentHistoryTrackingKey: true]))
    context.make("Employee", ["name": "Ada", "age": 0, "rating": -1.0, "steps": 1])
    context.make("Employee", ["name": "Eva", "age": 5, "rating": 0.0, "steps": Int.max])
    context.make("Employee", ["name": "Bob", "age": 100, "rating": 9.0])
    try context.save()
    let predicate = NSPredicate(format: format)
    let fetch = NSFetchRequest<any NSFetchRequestResult>(entityName: "Employee")
    fetch.predicate = predicate
    #expect(try context.count(for: fetch) == count)
    let update = NSBatchUpdateRequest(entityName: "Employee")
    update.predicate = predicate
    update.propertiesToUpdate = ["badge": 7, "height": NSExpression(format: "1 / rating")]
    update.resultType = .updatedObjectsCountResultType
    #expect((try context.execute(update) as? NSBatchUpdateResult)?.result as? Int == count)
    context.reset()
    let found = try context.all("Employee", where: NSPredicate(format: "badge == 7"))
    #expect(found.count == count)
    #expect(found.allSatisfy { $0["height"] as? Float == 1 / Float($0["rating"] as? Double ?? .nan) })
    let delete = NSBatchDeleteRequest(fetchRequest: fetch)
    delete.resultType = .resultTypeCount
    #expect((try context.execute(delete) as? NSBatchDeleteResult)?.result as? Int == count)
    // Nothing that a request has kept back is sent with the next transaction.
    context.make("Employee", ["name": "Cyd"])
    try context.save()
    #expect(try context.all("Employee").count == 4 - count)
  }

  @Test("Batch requests insert, update and delete without objects")
  func batches() throws {
    let context = bench.context(try bench.coordinator())
    var number = 0
    let insert = NSBatchInsertRequest(entityName: "Employee") { (values: NSMutableDictionary) in
      if number == 12_000 { return true }
      values["name"] = "e\(number)"
      values["age"] = number % 10
      number += 1
      return false
    }
    insert.resultType = .count
    #expect((try context.execute(insert) as? NSBatchInsertResult)?.result as? Int == 12_000)
    let update = NSBatchUpdateRequest(entityName: "Employee")
    update.predicate = NSPredicate(format: "age < 3")
    update.propertiesToUpdate = ["age": NSExpression(format: "age + 100"), "rating": 0.5]
    update.resultType = .updatedObjectsCountResultType
    #expect((try context.execute(update) as? NSBatchUpdateResult)?.result as? Int == 3_600)
    let delete = NSBatchDeleteRequest(
      fetchRequest: {
        let request = NSFetchRequest<any NSFetchRequestResult>(entityName: "Employee")
        request.predicate = NSPredicate(format: "age > 100 OR name == 'e5'")
        return request
      }())
    delete.resultType = .resultTypeCount
    #expect((try context.execute(delete) as? NSBatchDeleteResult)?.result as? Int == 2_401)
    #expect(try context.all("Employee").count == 12_000 - 2_401)
  }

  @Test("A query generation keeps its state while others save")
  func generations() throws {
    let coordinator = try bench.coordinator()
    let (writer, reader) = (bench.context(coordinator), bench.context(coordinator))
    writer.make("Employee", ["name": "Ada"])
    try writer.save()
    try reader.setQueryGenerationFrom(.current)
    #expect(try reader.all("Employee").count == 1)
    writer.make("Employee", ["name": "Bob"])
    try writer.save()
    reader.refreshAllObjects()
    #expect(try reader.all("Employee").count == 1)
    // A predicate that the server refuses must not end the snapshot.
    #expect(try reader.all("Employee", where: NSPredicate(format: "sqrt:(age - 1000) > 0")).isEmpty)
    #expect(try reader.all("Employee").count == 1)
    try reader.setQueryGenerationFrom(nil)
    #expect(try reader.all("Employee").count == 2)
  }

  @Test("Changes by other processes post notifications", .timeLimit(.minutes(60)))
  func remoteChanges() async throws {
    let coordinator = try bench.coordinator([NSPersistentStoreRemoteChangeNotificationPostOptionKey: true])
    let other = bench.context(try bench.coordinator())
    let (stream, continuation) = AsyncStream.makeStream(of: Void.self)
    let token = NotificationCenter.default.addObserver(
      forName: .NSPersistentStoreRemoteChange, object: coordinator, queue: nil
    ) { _ in continuation.yield() }
    defer { NotificationCenter.default.removeObserver(token) }
    other.make("Employee", ["name": "Ada"])
    try other.save()
    var iterator = stream.makeAsyncIterator()
    #expect(await iterator.next() != nil)
  }

  @Test("Two objects exchange a unique value in one save; a duplicate is refused with 133021")
  func uniqueness() throws {
    let model = CompanyModel.make()
    model.entitiesByName["Employee"]?.uniquenessConstraints = [["badge"]]
    let context = bench.context(try bench.coordinator(nil, model))
    let (ada, bob) = (
      context.make("Employee", ["name": "Ada", "badge": 1]), context.make("Employee", ["name": "Bob", "badge": 2])
    )
    try context.save()
    (ada["badge"], bob["badge"]) = (2, 1)
    try context.save()
    context.make("Employee", ["name": "Cleo", "badge": 2])
    let error = try #require(throws: (any Error).self) { try context.save() } as NSError
    #expect(error.code == NSManagedObjectConstraintMergeError)
    context.mergePolicy = NSMergePolicy.mergeByPropertyStoreTrump
    try context.save()
    #expect(try context.all("Employee").count == 2)
  }

  @Test("A cancelled asynchronous fetch ends its statement, even one that waits for a lock", .timeLimit(.minutes(60)))
  func cancelled() async throws {
    let context = bench.context(try bench.coordinator())
    context.make("Employee", ["name": "Ada"])
    try context.save()
    let locker = try bench.connection()
    try locker.begin()
    try locker.execute("LOCK TABLE zemployee IN ACCESS EXCLUSIVE MODE")
    let (stream, continuation) = AsyncStream.makeStream(of: Int?.self)
    let request = NSAsynchronousFetchRequest(fetchRequest: NSFetchRequest<NSManagedObject>(entityName: "Employee")) {
      continuation.yield(($0.operationError as NSError?)?.code)
    }
    let result = try #require(try context.execute(request) as? NSPersistentStoreAsynchronousResult)
    let observer = try bench.connection()
    func waiting() throws -> Int64 {
      try observer.query(
        "SELECT count(*) FROM pg_locks l WHERE l.relation = 'zemployee'::regclass AND NOT l.granted"
      ).int64(0, 0)
    }
    while try waiting() == 0 { try await Task.sleep(for: .milliseconds(5)) }
    result.cancel()
    var iterator = stream.makeAsyncIterator()
    #expect(await iterator.next() == 3072)
    #expect(try waiting() == 0)
    try locker.rollback()
    #expect(try context.all("Employee").count == 1)
  }

  @Test("The private copy of a store carries its model with the names of classes")
  func copiedModel() throws {
    let model = CompanyModel.make()
    model.entitiesByName["Employee"]?.managedObjectClassName = "Staff"
    _ = try bench.coordinator(nil, model)
    let carried = try #require(try PostgreSQLStore.carriedModel(at: bench.url))
    #expect(carried.entitiesByName["Employee"]?.managedObjectClassName == "Staff")
    let copy = try ServerCopy(
      of: bench.url, metadata: PostgreSQLStore.metadataForPersistentStore(with: bench.url), carried, configuration: nil)
    defer { copy.remove() }
    #expect(try StoreFile.open(copy.url, isReadOnly: true).cachedModel() == carried.document)
  }

  @Test(
    "An unfinished copy is removed, unless another process is writing it; a complete store is not",
    .disabled(if: TestServer.isPooled, "Stores are not copied through a pooler."))
  func unfinishedCopy() throws {
    #expect(try !PostgreSQLStore.removeUnfinishedCopy(at: bench.url, discardsOthers: false))
    _ = try bench.coordinator()
    #expect(try !PostgreSQLStore.removeUnfinishedCopy(at: bench.url, discardsOthers: false))
    #expect(try PostgreSQLStore.hasStore(at: bench.url))
    let other = SchemaInDatabase(try bench.connection(), try PostgreSQLAddress(bench.url), url: bench.url)
    try other.setMetadata(other.metadata().merging([StoreMetadata.Key.unfinishedCopy: ["source": "x"]]) { $1 })
    #expect(try other.lockForCopy())
    #expect(throws: (any Error).self) { try PostgreSQLStore.removeUnfinishedCopy(at: bench.url, discardsOthers: false) }
    #expect(try PostgreSQLStore.hasStore(at: bench.url))
    try other.unlockAfterCopy()
    #expect(try PostgreSQLStore.removeUnfinishedCopy(at: bench.url, discardsOthers: false))
    #expect(try !PostgreSQLStore.hasStore(at: bench.url))
    // The lock is not kept.
    #expect(try other.lockForCopy())
  }

  @Test("A store is destroyed, and what others have in its schema stays")
  func destroyed() throws {
    _ = try bench.coordinator()
    try bench.connection().execute("CREATE TABLE theirs (number integer)")
    let coordinator = NSPersistentStoreCoordinator(managedObjectModel: CompanyModel.make())
    try coordinator.destroyPersistentStore(at: bench.url, type: .postgreSQL)
    let names = try bench.connection().query(
      "SELECT tablename::text FROM pg_tables WHERE schemaname = current_schema()")
    #expect((0..<names.count).map { names.string($0, 0) } == ["theirs"])
    #expect(throws: (any Error).self) {
      try NSPersistentStoreCoordinator.metadataForPersistentStore(type: .postgreSQL, at: bench.url)
    }
    try coordinator.addPersistentStore(type: .postgreSQL, at: bench.url)
  }
}
