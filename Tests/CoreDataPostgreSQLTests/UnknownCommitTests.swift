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

@Suite("Commits whose outcome is unknown", .needsPostgreSQL)
struct UnknownCommitTests {
  /// A store behind a proxy that loses the connection at a commit, and a connection that shows what is there.
  private struct Scene {
    let bench: ServerBench
    let place: ServerBench
    let proxy: CuttingProxy
    let observer: PostgreSQLConnection

    init(_ server: TestServer = .shared) throws {
      bench = ServerBench(url: server.schemaURL())
      let context = bench.context(try bench.coordinator())
      context.make("Employee", ["name": "standing", "steps": 0, "age": 1])
      context.make("Employee", ["name": "leaving"])
      try context.save()
      observer = try bench.connection()
      proxy = try CuttingProxy(server)
      place = ServerBench(url: proxy.url(bench.url))
    }

    func context(timeout: Double = 0.3, _ policy: NSMergePolicy = .error) throws -> NSManagedObjectContext {
      let context = place.context(try place.coordinator([NSPersistentStoreTimeoutOption: timeout]))
      context.mergePolicy = policy
      return context
    }

    func employee(_ name: String, _ context: NSManagedObjectContext) throws -> NSManagedObject {
      try #require(try context.all("Employee", where: NSPredicate(format: "name == %@", name)).first)
    }

    /// The names of the employees, with their steps and versions.
    func rows() throws -> [String] {
      let rows = try observer.query(
        "SELECT concat_ws(' ', zname, zsteps::text, 'v' || z_opt) FROM zemployee ORDER BY zname, z_pk")
      return (0..<rows.count).map { rows.string($0, 0) }
    }

    /// The names and steps in a context.
    func shown(_ context: NSManagedObjectContext) throws -> [String] {
      try context.all("Employee").map { "\($0["name"] as? String ?? "") \($0["steps"] as? Int ?? -1)" }
    }
  }

  /// Loses the connection at the next commit, and refuses new ones.
  private func interrupt(_ proxy: CuttingProxy, isCommitted: Bool, refusing count: Int = .max) {
    proxy.arm(isCommitted ? .answerToCommit : .commit, refusing: count)
  }

  private func expectUnknown(
    _ body: () throws -> Void, sourceLocation: SourceLocation = #_sourceLocation
  ) throws {
    let error = try #require(throws: (any Error).self, sourceLocation: sourceLocation) { try body() } as NSError
    #expect(error.domain == NSCocoaErrorDomain && error.code == NSPersistentStoreSaveError, "\(error)")
    let words = "\(error.localizedDescription) \(error.localizedFailureReason ?? "")"
    #expect(words.contains("not known whether the changes were saved") && words.contains("not learnt"), "\(words)")
    let advice = error.localizedRecoverySuggestion ?? ""
    #expect(advice.contains("next save()") && !advice.lowercased().contains("try again"), "\(advice)")
  }

  @Test("The next save finds out whether the earlier one is there, and does not repeat it", arguments: [true, false])
  func unchanged(isCommitted: Bool) throws {
    let scene = try Scene()
    defer { scene.proxy.stop() }
    let context = try scene.context()
    let saves = Mutex<[Int]>([])
    let observer = NotificationCenter.default.addObserver(
      forName: NSManagedObjectContext.didSaveObjectsNotification, object: context, queue: nil
    ) { notification in
      let objects = notification.userInfo?[NSInsertedObjectsKey] as? Set<NSManagedObject>
      saves.withLock { $0.append(objects?.count ?? 0) }
    }
    defer { NotificationCenter.default.removeObserver(observer) }
    let standing = try scene.employee("standing", context)
    standing["steps"] = 1
    let new = context.make("Employee", ["name": "new", "steps": 7])
    new["friends"] = Set([standing])
    context.delete(try scene.employee("leaving", context))
    interrupt(scene.proxy, isCommitted: isCommitted)
    try expectUnknown { try context.save() }
    #expect(scene.proxy.disarm())
    let written = ["new 7 v1", "standing 1 v2"]
    #expect(try scene.rows() == (isCommitted ? written : ["leaving v1", "standing 0 v1"]))
    // The changes are kept, and nothing is repeated while the server cannot be asked.
    try expectUnknown { try context.save() }
    #expect(context.insertedObjects == [new] && context.updatedObjects == [standing])
    #expect(context.deletedObjects.count == 1 && saves.withLock { $0 } == [])
    scene.proxy.refuse(0)
    // An object that is new to the context and has a row is found once.
    #expect(try scene.shown(context) == ["new 7", "standing 1"])
    let limited = NSFetchRequest<NSManagedObject>(entityName: "Employee")
    limited.fetchLimit = 10
    #expect(try context.fetch(limited).count == 2 && context.count(for: limited) == 2)
    try context.save()
    #expect(try scene.rows() == written)
    #expect(!context.hasChanges && !new.hasChanges && saves.withLock { $0 } == [1])
    let reader = scene.bench.context(try scene.bench.coordinator())
    #expect(try reader.all("Employee").allSatisfy { ($0["friends"] as? Set<NSManagedObject>)?.count == 1 })
    // The context knows the versions of its rows.
    standing["steps"] = 2
    new["steps"] = 8
    try context.save()
    #expect(try scene.rows() == ["new 8 v2", "standing 2 v3"])
    context.delete(new)
    try context.save()
    #expect(try scene.shown(context) == ["standing 2"])
    #expect(try scene.rows().count == 1)
  }

  @Test("A single refused connection, or a server that takes a moment, is waited for", arguments: [true, false])
  func shortOutage(isCommitted: Bool) throws {
    let scene = try Scene()
    defer { scene.proxy.stop() }
    let context = try scene.context(timeout: 60)
    try scene.employee("standing", context)["steps"] = 1
    context.make("Employee", ["name": "new"])
    interrupt(scene.proxy, isCommitted: isCommitted, refusing: 3)
    try context.save()
    #expect(scene.proxy.disarm() && !context.hasChanges)
    #expect(try scene.rows() == ["leaving v1", "new v1", "standing 1 v2"])
  }

  @Test("A transaction whose commit never arrived, and whose connection the server still keeps, is ended and repeated")
  func lingeringTransaction() throws {
    let scene = try Scene()
    defer { scene.proxy.stop() }
    let context = try scene.context(timeout: 60)
    try scene.employee("standing", context)["steps"] = 1
    context.make("Employee", ["name": "new"])
    scene.proxy.arm(.commit, .cutClient)
    try context.save()
    #expect(scene.proxy.disarm() && !context.hasChanges)
    #expect(try scene.rows() == ["leaving v1", "new v1", "standing 1 v2"])
  }

  @Test("Changes made between the two saves are saved on top of the earlier ones", arguments: [true, false])
  func changedBetween(isCommitted: Bool) throws {
    let scene = try Scene()
    defer { scene.proxy.stop() }
    let context = try scene.context()
    let standing = try scene.employee("standing", context)
    standing["steps"] = 1
    let (first, second) = (context.make("Employee", ["name": "first"]), context.make("Employee", ["name": "second"]))
    let leaving = try scene.employee("leaving", context)
    context.delete(leaving)
    interrupt(scene.proxy, isCommitted: isCommitted)
    try expectUnknown { try context.save() }
    scene.proxy.refuse(0)
    standing["age"] = 5
    first["steps"] = 3
    context.delete(second)
    context.make("Employee", ["name": "third"])
    try context.save()
    let row = try scene.observer.query("SELECT zage FROM zemployee WHERE zname = 'standing'").int64(0, 0)
    #expect(row == 5 && !context.hasChanges)
    #expect(
      try scene.rows()
        == (isCommitted ? ["first 3 v2", "standing 1 v3", "third v1"] : ["first 3 v1", "standing 1 v2", "third v1"]))
  }

  @Test("Undo between the two saves withdraws an insertion, an update and a deletion", arguments: [true, false])
  func undoneBetween(isCommitted: Bool) throws {
    let scene = try Scene()
    defer { scene.proxy.stop() }
    let context = try scene.context()
    let (standing, leaving) = (try scene.employee("standing", context), try scene.employee("leaving", context))
    context.undoManager = UndoManager()
    standing["steps"] = 1
    context.make("Employee", ["name": "new"])
    context.delete(leaving)
    interrupt(scene.proxy, isCommitted: isCommitted)
    try expectUnknown { try context.save() }
    scene.proxy.refuse(0)
    context.undo()
    try context.save()
    #expect(try scene.rows() == (isCommitted ? ["leaving v1", "standing 0 v3"] : ["leaving v1", "standing 0 v1"]))
    #expect(!context.hasChanges)
  }

  @Test(
    "rollback() and reset() give the save up, and show what the store has", arguments: [true, false], [true, false])
  func rolledBack(isCommitted: Bool, resets: Bool) throws {
    let scene = try Scene()
    defer { scene.proxy.stop() }
    let context = try scene.context()
    let standing = try scene.employee("standing", context)
    standing["steps"] = 1
    context.make("Employee", ["name": "new", "steps": 0])
    interrupt(scene.proxy, isCommitted: isCommitted)
    try expectUnknown { try context.save() }
    scene.proxy.refuse(0)
    if resets { context.reset() } else { context.rollback() }
    try context.save()
    #expect(
      try scene.shown(context)
        == (isCommitted ? ["leaving -1", "new 0", "standing 1"] : ["leaving -1", "standing 0"]))
    // The versions are those of the store.
    try scene.employee("standing", context)["steps"] = 9
    try context.save()
    #expect(try scene.rows().last == (isCommitted ? "standing 9 v3" : "standing 9 v2"))
  }

  @Test("What others have changed since is not overwritten, and is a conflict with further changes")
  func changedByOthers() throws {
    for (refreshes, changesAgain) in [(false, false), (true, false), (false, true)] {
      let scene = try Scene()
      defer { scene.proxy.stop() }
      let context = try scene.context()
      let standing = try scene.employee("standing", context)
      standing["steps"] = 1
      interrupt(scene.proxy, isCommitted: true)
      try expectUnknown { try context.save() }
      scene.proxy.refuse(0)
      let other = scene.bench.context(try scene.bench.coordinator())
      try scene.employee("standing", other)["steps"] = 50
      try other.save()
      if refreshes { context.refresh(standing, mergeChanges: true) }
      if changesAgain {
        standing["steps"] = 2
        #expect(context.saveCode() == NSManagedObjectMergeError)
        #expect(try scene.rows().last == "standing 50 v3")
      } else {
        try context.save()
        #expect(try scene.rows().last == "standing 50 v3")
        context.refresh(standing, mergeChanges: false)
        #expect(standing["steps"] as? Int == 50)
      }
    }
  }

  @Test("A conflict that a merge policy has resolved is not resolved again", arguments: [true, false])
  func mergedBefore(isCommitted: Bool) throws {
    let scene = try Scene()
    defer { scene.proxy.stop() }
    let context = try scene.context(timeout: 0.3, .mergeByPropertyObjectTrump)
    let standing = try scene.employee("standing", context)
    standing["steps"] = 1
    let other = scene.bench.context(try scene.bench.coordinator())
    try scene.employee("standing", other)["age"] = 50
    try other.save()
    interrupt(scene.proxy, isCommitted: isCommitted)
    try expectUnknown { try context.save() }
    scene.proxy.refuse(0)
    try context.save()
    #expect(try scene.rows().last == "standing 1 v3" && standing["age"] as? Int == 50 && !context.hasChanges)
  }

  @Test("In a save to several stores, each is settled by itself", arguments: [true, false])
  func severalStores(isCommitted: Bool) throws {
    var builder = ModelBuilder()
    builder.entity("Employee", [.make("name", .stringAttributeType)])
    builder.entity("Task", [.make("title", .stringAttributeType)])
    let model = builder.model()
    model.setEntities([try #require(model.entitiesByName["Employee"])], forConfigurationName: "Staff")
    model.setEntities([try #require(model.entitiesByName["Task"])], forConfigurationName: "Work")
    let file = try TemporaryStore()
    let bench = ServerBench()
    let proxy = try CuttingProxy(.shared)
    defer { proxy.stop() }
    let coordinator = NSPersistentStoreCoordinator(managedObjectModel: model)
    // The file is committed first.
    try coordinator.addPersistentStore(type: .sqlite, configuration: "Work", at: file.url)
    try coordinator.addPersistentStore(
      type: .postgreSQL, configuration: "Staff", at: proxy.url(bench.url),
      options: [NSPersistentStoreTimeoutOption: 0.3])
    let context = bench.context(coordinator)
    let task = context.make("Task", ["title": "t"])
    let employee = context.make("Employee", ["name": "e"])
    interrupt(proxy, isCommitted: isCommitted)
    try expectUnknown { try context.save() }
    try expectUnknown { try context.save() }
    proxy.refuse(0)
    task["title"] = "u"
    try context.save()
    #expect(!context.hasChanges && !task.hasChanges && !employee.hasChanges)
    let reader = bench.context(coordinator)
    #expect(try reader.all("Task", by: "title").map { $0["title"] as? String } == ["u"])
    #expect(try reader.all("Employee").map { $0["name"] as? String } == ["e"])
    let connection = try bench.connection()
    #expect(try connection.query("SELECT z_opt::bigint FROM zemployee").int64(0, 0) == 1)
  }

  @Test("A child's changes reach the store once", arguments: [true, false])
  func childContext(isCommitted: Bool) throws {
    let scene = try Scene()
    defer { scene.proxy.stop() }
    let parent = try scene.context()
    let child = NSManagedObjectContext(.privateQueue)
    child.parent = parent
    child.make("Employee", ["name": "new", "steps": 1])
    try scene.employee("standing", child)["steps"] = 1
    try child.save()
    interrupt(scene.proxy, isCommitted: isCommitted)
    try expectUnknown { try parent.save() }
    scene.proxy.refuse(0)
    try scene.employee("standing", child)["steps"] = 2
    child.make("Employee", ["name": "third"])
    try child.save()
    try parent.save()
    #expect(
      try scene.rows()
        == (isCommitted
          ? ["leaving v1", "new 1 v1", "standing 2 v3", "third v1"]
          : ["leaving v1", "new 1 v1", "standing 2 v2", "third v1"]))
    #expect(try scene.shown(child) == ["leaving -1", "new 1", "standing 2", "third -1"])
  }

  @Test("A batch request that is executed again is not repeated, unless it was changed", arguments: [true, false])
  func batchRequests(isCommitted: Bool) throws {
    let scene = try Scene()
    defer { scene.proxy.stop() }
    let context = try scene.context()
    let update = NSBatchUpdateRequest(entityName: "Employee")
    update.propertiesToUpdate = ["steps": NSExpression(format: "steps + 1")]
    update.predicate = NSPredicate(format: "name == 'standing'")
    update.resultType = .updatedObjectsCountResultType
    let insertion = NSBatchInsertRequest(entityName: "Employee", objects: [["name": "new", "steps": 1]])
    insertion.resultType = .count
    let fetch = NSFetchRequest<any NSFetchRequestResult>(entityName: "Employee")
    fetch.fetchLimit = 1
    fetch.sortDescriptors = [NSSortDescriptor(key: "name", ascending: true)]
    let deletion = NSBatchDeleteRequest(fetchRequest: fetch)
    deletion.resultType = .resultTypeCount
    func count(_ request: NSPersistentStoreRequest) throws -> Int? {
      switch try context.execute(request) {
      case let result as NSBatchUpdateResult: result.result as? Int
      case let result as NSBatchInsertResult: result.result as? Int
      case let result as NSBatchDeleteResult: result.result as? Int
      default: nil
      }
    }
    let requests: [NSPersistentStoreRequest] = [update, insertion, deletion]
    for request in requests {
      interrupt(scene.proxy, isCommitted: isCommitted)
      try expectUnknown { _ = try count(request) }
      try expectUnknown { _ = try count(request) }
      scene.proxy.refuse(0)
      #expect(try count(request) == 1)
    }
    #expect(try scene.shown(scene.bench.context(try scene.bench.coordinator())) == ["new 1", "standing 1"])
    // It is executed once more afterwards, as any other request.
    #expect(try count(update) == 1)
    #expect(try scene.rows().last?.hasPrefix("standing 2") == true)
    interrupt(scene.proxy, isCommitted: isCommitted)
    try expectUnknown { _ = try count(update) }
    scene.proxy.refuse(0)
    update.propertiesToUpdate = ["steps": 100]
    #expect(try count(update) == 1)
    #expect(try scene.rows().last?.hasPrefix("standing 100") == true)
  }

  @Test("A server that crashes after the commit still knows of it, and one that crashes before has not committed")
  func crash() throws {
    let server = try TestServer()
    for isCommitted in [true, false] {
      let scene = try Scene(server)
      defer { scene.proxy.stop() }
      let context = try scene.context()
      try scene.employee("standing", context)["steps"] = 1
      context.make("Employee", ["name": "new"])
      interrupt(scene.proxy, isCommitted: isCommitted)
      try expectUnknown { try context.save() }
      try server.restart(immediately: true)
      scene.proxy.refuse(0)
      // Others get the transaction IDs that the crash has set free.
      let other = scene.bench.context(try scene.bench.coordinator())
      for number in 0..<5 {
        other.make("Employee", ["name": "other \(number)"])
        try other.save()
      }
      try context.save()
      #expect(!context.hasChanges)
      let connection = try scene.bench.connection()
      let rows = try connection.query(
        "SELECT count(*) FILTER (WHERE zname = 'new'), sum(zsteps)::bigint FROM zemployee")
      #expect(rows.int64(0, 0) == 1 && rows.int64(0, 1) == 1)
    }
  }

  @Test("A transaction ID of another run of the server proves nothing by itself")
  func transactionIDs() throws {
    let scene = try Scene()
    defer { scene.proxy.stop() }
    let connection = scene.observer
    let schema = try PostgreSQLAddress(scene.bench.url).schema
    let run = try ServerTransaction.serverRun(connection)
    func transaction(_ number: UInt64, _ run: String, version: Int64? = nil) throws -> ServerTransaction {
      let key = try connection.query("SELECT z_pk FROM zemployee WHERE zname = 'standing'").int64(0, 0)
      let row = ServerTransaction.WrittenRow(table: "zemployee", key: key, oldVersion: version, isDeleted: false)
      return ServerTransaction(
        number: number, processID: 0, serverRun: run, schema: schema, rows: version == nil ? [] : [row])
    }
    func execute(_ sql: String) throws -> UInt64 {
      try connection.transaction {
        try connection.execute(sql)
        return try #require(UInt64(try connection.query("SELECT pg_current_xact_id()::text").string(0, 0)))
      }
    }
    let committed = try execute("UPDATE zemployee SET z_opt = z_opt + 1 WHERE zname = 'standing'")
    #expect(try transaction(committed, run).outcome(connection) == .committed)
    // In a run before, this was another transaction. After a checkpoint, nothing tells in which run the ID was given out.
    try connection.execute("CHECKPOINT")
    #expect(try transaction(committed, "earlier", version: 2).outcome(connection) != .committed)
    let unknown = try transaction(committed, "earlier", version: 1).outcome(connection)
    guard case .unknown = unknown else {
      Issue.record("\(unknown)")
      return
    }
    // A new row that bears the ID is a proof, since no other transaction gets its key.
    let inserted = try execute(
      "INSERT INTO zemployee (z_pk, z_ent, z_opt, zname, zisactive) "
        + "SELECT 5000, z_ent, 1, 'new', true FROM zemployee LIMIT 1")
    try connection.execute("CHECKPOINT")
    let row = ServerTransaction.WrittenRow(table: "zemployee", key: 5000, oldVersion: nil, isDeleted: false)
    let confirmed = ServerTransaction(
      number: inserted, processID: 0, serverRun: "earlier", schema: schema, rows: [row])
    #expect(try confirmed.outcome(connection) == .committed)
    // The log with which this run began did not have the ID, so that its transaction was lost, although the ID has gone
    // to another one, which is committed. A checkpoint that somebody else makes in between hides that.
    let outcomes = try (0..<5).map { _ in
      try connection.execute("CHECKPOINT")
      let version = try connection.query("SELECT z_opt FROM zemployee WHERE zname = 'standing'").int64(0, 0)
      let taken = try execute("UPDATE zemployee SET z_opt = z_opt + 1 WHERE zname = 'standing'")
      return try transaction(taken, "earlier", version: version).outcome(connection)
    }
    #expect(outcomes.contains(.rolledBack) && !outcomes.contains(.committed), "\(outcomes)")
    // An ID that was never assigned here.
    #expect(try transaction(committed + 1_000_000, run).outcome(connection) == .rolledBack)
    #expect(try transaction(committed + 1_000_000, "earlier").outcome(connection) == .rolledBack)
    try connection.begin()
    let open = try #require(UInt64(try connection.query("SELECT pg_current_xact_id()::text").string(0, 0)))
    let other = try scene.bench.connection()
    #expect(try transaction(open, run).outcome(other) == .inProgress)
    #expect(try transaction(open, "earlier").outcome(other) == .rolledBack)
    try connection.rollback()
    #expect(try transaction(open, run).outcome(other) == .rolledBack)
  }

  @Test("Only the next run of the server can tell that its log had the commit, and no run after that one")
  func laterRuns() throws {
    let server = try TestServer()
    let bench = ServerBench(url: server.schemaURL())
    let context = bench.context(try bench.coordinator())
    context.make("Employee", ["name": "standing"])
    try context.save()
    let first = try bench.connection()
    let run = try ServerTransaction.serverRun(first)
    let number = try first.transaction {
      try first.execute("UPDATE zemployee SET z_opt = z_opt + 1")
      return try #require(UInt64(try first.query("SELECT pg_current_xact_id()::text").string(0, 0)))
    }
    first.close()
    let address = try PostgreSQLAddress(bench.url)
    // No row tells anything, as when others have changed it since.
    let transaction = ServerTransaction(
      number: number, processID: 0, serverRun: run, schema: address.schema, rows: [])
    let commit = ServerCommit(transaction, address, url: bench.url, timeout: 0.1, PostgreSQLError("cut"))
    func expectUnknown(isNextRun: Bool) throws {
      let connection = try bench.connection()
      defer { connection.close() }
      let outcome = try transaction.outcome(connection, isNextRun: isNextRun)
      guard case .unknown = outcome else {
        Issue.record("\(outcome)")
        return
      }
    }
    func expectCommitted() throws {
      let connection = try bench.connection()
      defer { connection.close() }
      #expect(try transaction.outcome(connection) == .committed)
    }

    try server.restart()
    try expectCommitted()
    try expectUnknown(isNextRun: false)
    // A later checkpoint of the next run says nothing any more.
    let next = try bench.connection()
    try next.execute("CHECKPOINT")
    next.close()
    try expectUnknown(isNextRun: true)
    #expect(throws: PostgreSQLError.self) { try commit.askForOutcome() }

    // The run after it begins with a checkpoint of its own. Its log had the ID, perhaps of another transaction.
    try server.restart()
    try expectCommitted()
    try expectUnknown(isNextRun: false)
    #expect(throws: PostgreSQLError.self) { try commit.askForOutcome() }
  }
}
