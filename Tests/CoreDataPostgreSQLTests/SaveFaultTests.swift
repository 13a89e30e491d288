// OpenCoreData
// SPDX-License-Identifier: Apache-2.0

import CoreDataTestSupport
import Foundation
import PostgreSQLTestServer
import Testing

@testable import CoreData
@testable import CoreDataPostgreSQL
@testable import CoreDataPostgreSQLClient

@Suite("Saves of stores in PostgreSQL that meet a fault", .needsPostgreSQL)
struct SaveFaultTests {
  /// Objects of a few entities: some are inserted, one is changed, one is deleted, and two are related.
  private func change(_ context: NSManagedObjectContext, _ name: String, count: Int) throws {
    let old = try context.all("Employee", where: NSPredicate(format: "name BEGINSWITH 'standing'"))
    for number in 0..<count { context.make("Employee", ["name": name, "age": number]) }
    old[0]["steps"] = (old[0]["steps"] as? Int ?? 0) + 1
    old[0]["friends"] = Set([context.make("Employee", ["name": name])])
    let tasks = try context.all("Task", by: "title")
    context.delete(tasks[0])
  }

  /// What a save by `change` leaves in the tables, and in how many steps.
  private func state(_ observer: PostgreSQLConnection, _ name: String) throws -> [Int64] {
    let rows = try observer.query(
      "SELECT (SELECT count(*) FROM zemployee WHERE zname = $1), (SELECT count(*) FROM ztask), "
        + "(SELECT zsteps FROM zemployee WHERE zname = 'standing')", [.text(name)])
    return (0..<3).map { rows.int64(0, $0) }
  }

  @Test(
    "A save whose connection is cut at any message is saved exactly once, or reported and not saved",
    arguments: [(true, 2), (false, 2), (true, 60), (false, 60)])
  func everyMessage(fromClient: Bool, count: Int) throws {
    let bench = ServerBench()
    let setUp = bench.context(try bench.coordinator())
    setUp.make("Employee", ["name": "standing", "steps": 0])
    for number in 0..<300 { setUp.make("Task", ["title": "t\(number)"]) }
    try setUp.save()
    let observer = try bench.connection()
    let proxy = try CuttingProxy(.shared)
    defer { proxy.stop() }
    let place = ServerBench(url: proxy.url(bench.url))
    var (number, saved, reported, isCut) = (0, 0, 0, true)
    let distance = TortureSize.isFull ? 1 : 5
    while isCut {
      try #require(number < 290)
      let coordinator = try place.coordinator()
      let context = place.context(coordinator)
      let name = "save \(number)"
      let before = try state(observer, name)
      try change(context, name, count: count)
      proxy.arm(fromClient ? .clientMessages(number) : .serverMessages(number))
      let result = Result { try context.save() }
      isCut = proxy.disarm()
      let after = try state(observer, name)
      switch result {
      case .success:
        saved += 1
        #expect(after == [Int64(count) + 1, before[1] - 1, before[2] + 1], "message \(number)")
        #expect(!context.hasChanges)
      case .failure(let error):
        reported += 1
        #expect((error as NSError).code == NSPersistentStoreOperationError, "message \(number): \(error)")
        #expect(after == before, "message \(number)")
        // The context still has the changes.
        try context.save()
        #expect(try state(observer, name) == [Int64(count) + 1, before[1] - 1, before[2] + 1], "message \(number)")
      }
      try coordinator.remove(coordinator.persistentStores[0])
      number += distance
    }
    print(
      "A cut at \(saved + reported - 1) of \(number - distance) messages of the \(fromClient ? "client" : "server") in a save "
        + "of \(count + 3) rows: \(saved) saved at once, \(reported) reported, 0 rows lost or doubled")
    // Nothing that was lost before the commit is lost for good, and the server knows of what came after.
    #expect(number > 5 && reported == 0)
  }

  @Test(
    "A server that restarts makes saves fail meanwhile, and nothing has to be opened again",
    arguments: [false, true])
  func restart(immediately: Bool) throws {
    let server = try TestServer()
    let bench = ServerBench(url: server.schemaURL())
    let options: [AnyHashable: Any] = [
      NSPersistentHistoryTrackingKey: true, NSPersistentStoreRemoteChangeNotificationPostOptionKey: true,
    ]
    let context = bench.context(try bench.coordinator(options))
    let kept = context.make("Employee", ["name": "before"])
    try context.save()
    try server.restart(immediately: immediately)
    // A restart between two saves goes unnoticed.
    context.make("Employee", ["name": "after"])
    kept["age"] = 1
    try context.save()
    try server.stop(immediately: immediately)
    context.make("Employee", ["name": "meanwhile"])
    let error = try #require(throws: (any Error).self) { try context.save() } as NSError
    #expect(error.code == NSPersistentStoreOperationError && "\(error)".contains("connection"), "\(error)")
    #expect(throws: (any Error).self) { try context.all("Employee") }
    #expect(context.hasChanges)
    try server.start()
    try context.save()
    context.reset()
    #expect(try context.all("Employee").map { $0["name"] as? String } == ["after", "before", "meanwhile"])
    let history = NSPersistentHistoryChangeRequest.fetchHistory(after: nil as NSPersistentHistoryToken?)
    let found =
      (try context.execute(history) as? NSPersistentHistoryResult)?.result as? [NSPersistentHistoryTransaction]
    #expect(found?.map { $0.changes?.count } == [1, 2, 1])
  }

  @Test(
    "Authors and context names of history may be long; U+0000 in one is an error that says so, and nothing is saved")
  func historyStrings() throws {
    let bench = ServerBench()
    let context = bench.context(try bench.coordinator([NSPersistentHistoryTrackingKey: true]))
    // Random letters are not compressed.
    let long = String((0..<100_000).map { _ in "abcdefghijklmnopqrstuvwxyz0123456789".randomElement() ?? "a" })
    (context.transactionAuthor, context.name) = (long, "\(long) name")
    context.make("Employee", ["name": "one"])
    try context.save()
    let insertion = NSBatchInsertRequest(entityName: "Task", objects: [["title": "t"]])
    try context.execute(insertion)
    for isAuthor in [true, false] {
      (context.transactionAuthor, context.name) = isAuthor ? ("a\0b", nil) : (nil, "a\0b")
      context.make("Employee", ["name": "two"])
      for change in [{ try context.save() }, { _ = try context.execute(insertion) }] {
        let error = try #require(throws: (any Error).self) { try change() } as NSError
        let word = isAuthor ? "author" : "context name"
        #expect(error.domain == NSCocoaErrorDomain && error.code == NSPersistentStoreOperationError, "\(error)")
        #expect(error.localizedFailureReason?.contains(word) == true && "\(error)".contains("U+0000"), "\(error)")
      }
      context.reset()
    }
    context.transactionAuthor = nil
    context.name = nil
    #expect(try context.all("Employee").count == 1 && context.all("Task", by: "title").count == 1)
    let history = NSPersistentHistoryChangeRequest.fetchHistory(after: nil as NSPersistentHistoryToken?)
    let found =
      (try context.execute(history) as? NSPersistentHistoryResult)?.result as? [NSPersistentHistoryTransaction]
    #expect(found?.map(\.author) == [long, long] && found?.map(\.contextName) == ["\(long) name", "\(long) name"])
    #expect(
      try bench.connection().query("SELECT count(*) FROM atransactionstring WHERE length(zname) > 1000").int64(0, 0)
        == 2)
  }

  @Test(
    "A full disk is error 640, the changes stay in the context, and no row is half there",
    .enabled(if: TestServer.canMount, "Only root can mount a small disk."), arguments: [20, 4_000])
  func fullDisk(step: Int) throws {
    let server = try TestServer()
    let disk = try server.mountDisk(megabytes: 6)
    let owner = try PostgreSQLConnection(PostgreSQLAddress(server.url()), applicationName: "tests")
    try owner.execute("CREATE TABLESPACE small LOCATION '\(disk)'")
    let bench = ServerBench(url: server.schemaURL("options=-c%20default_tablespace%3Dsmall"))
    let context = bench.context(try bench.coordinator())
    var (total, failure) = (0, nil as NSError?)
    while failure == nil {
      try #require(total < 200_000)
      for number in 0..<step {
        context.make("Employee", ["name": String(repeating: "x", count: 1_000), "age": number, "steps": number])
      }
      do {
        try context.save()
        total += step
      } catch {
        failure = error as NSError
      }
    }
    let error = try #require(failure)
    #expect(error.code == CocoaError.Code.fileWriteOutOfSpace.rawValue, "\(error)")
    #expect(error.userInfo[PostgreSQLStateErrorKey] as? String == "53100" && context.insertedObjects.count == step)
    let rows = try bench.connection().query("SELECT count(*) FROM zemployee").int64(0, 0)
    #expect(rows == Int64(total) && total > 0)
    // With space again, the same save succeeds.
    try owner.execute("CHECKPOINT")
    try server.enlargeDisk(megabytes: 60)
    try context.save()
    context.reset()
    #expect(try context.count(for: NSFetchRequest<NSManagedObject>(entityName: "Employee")) == total + step)
  }

  @Test(
    "A migration that fills the disk leaves the old version",
    .enabled(if: TestServer.canMount, "Only root can mount a small disk."))
  func fullDiskInMigration() throws {
    let server = try TestServer()
    let disk = try server.mountDisk(megabytes: 8)
    let owner = try PostgreSQLConnection(PostgreSQLAddress(server.url()), applicationName: "tests")
    try owner.execute("CREATE TABLESPACE small LOCATION '\(disk)'")
    let bench = ServerBench(url: server.schemaURL("options=-c%20default_tablespace%3Dsmall"))
    let coordinator = try bench.coordinator()
    let context = bench.context(coordinator)
    for number in 0..<4_000 {
      context.make("Employee", ["name": String(repeating: "x", count: 1_000), "age": number])
    }
    try context.save()
    try coordinator.remove(coordinator.persistentStores[0])
    let new = CompanyModel.make()
    // A table that is written anew.
    let age = try #require(new.entitiesByName["Employee"]?.attributesByName["age"])
    age.attributeType = .doubleAttributeType
    let options: [AnyHashable: Any] = [
      NSMigratePersistentStoresAutomaticallyOption: true, NSInferMappingModelAutomaticallyOption: true,
    ]
    let error =
      try #require(throws: (any Error).self) { _ = try bench.coordinator(options, new) } as NSError
    let causes = sequence(first: error) { $0.userInfo[NSUnderlyingErrorKey] as? NSError }
    #expect(causes.contains { $0.code == CocoaError.Code.fileWriteOutOfSpace.rawValue }, "\(error)")
    #expect(try bench.context(try bench.coordinator()).all("Employee").count == 4_000)
    try server.enlargeDisk(megabytes: 60)
    let after = bench.context(try bench.coordinator(options, new))
    let migrated = try after.all("Employee", by: "age")
    #expect(migrated.count == 4_000 && migrated.last?["age"] as? Double == 3_999)
  }

  @Test("On a standby a store is read-only: it is read, and neither saved, nor made, nor migrated")
  func standby() throws {
    let primary = try TestServer()
    let bench = ServerBench(url: primary.schemaURL())
    let context = bench.context(try bench.coordinator())
    context.make("Employee", ["name": "Ada"])
    try context.save()
    let standby = try TestServer(standbyOf: primary)
    let address = try PostgreSQLAddress(bench.url)
    let copy = ServerBench(url: standby.url("schema=\(address.schema)"))
    let coordinator = try copy.coordinator()
    #expect(coordinator.persistentStores[0].isReadOnly)
    #expect(try PostgreSQLStore.isReadOnly(at: copy.url) && !PostgreSQLStore.isReadOnly(at: bench.url))
    let reader = copy.context(coordinator)
    let ada = try #require(try reader.all("Employee").first)
    ada["age"] = 2
    let denied = try #require(throws: (any Error).self) { try reader.save() } as NSError
    #expect(denied.code == NSPersistentStoreSaveError || denied.code == CocoaError.Code.fileWriteNoPermission.rawValue)
    // What the primary server saves comes after a moment.
    context.make("Employee", ["name": "Bob"])
    try context.save()
    reader.rollback()
    var count = 0
    for _ in 0..<600 where count < 2 {
      Thread.sleep(forTimeInterval: 0.05)
      count = try reader.all("Employee").count
    }
    #expect(count == 2)
    let none = ServerBench(url: standby.url("schema=nobody"))
    let unmade = try #require(throws: (any Error).self) { try none.coordinator() } as NSError
    #expect(unmade.code == CocoaError.Code.fileWriteNoPermission.rawValue, "\(unmade)")
    let new = CompanyModel.make()
    let attribute = NSAttributeDescription()
    (attribute.name, attribute.attributeType, attribute.isOptional) = ("level", .integer16AttributeType, true)
    new.entitiesByName["Employee"]?.properties.append(attribute)
    let options: [AnyHashable: Any] = [
      NSMigratePersistentStoresAutomaticallyOption: true, NSInferMappingModelAutomaticallyOption: true,
    ]
    let refused = try #require(throws: (any Error).self) { try copy.coordinator(options, new) } as NSError
    let causes = sequence(first: refused) { $0.userInfo[NSUnderlyingErrorKey] as? NSError }
    #expect(causes.contains { $0.code == CocoaError.Code.fileWriteNoPermission.rawValue }, "\(refused)")
    // A standby that becomes the primary server is written.
    try primary.stop()
    try standby.promote()
    let after = copy.context(try copy.coordinator(options, new))
    try #require(try after.all("Employee").first)["level"] = 5
    try after.save()
  }
}
