// OpenCoreData
// SPDX-License-Identifier: Apache-2.0

import CoreDataTestSupport
import Foundation
import Testing

@testable import CoreData
@testable import CoreDataSQLite

@Suite("Options of stores, and what coordinators and containers tell")
struct StoreOptionTests {
  private func scalar(_ url: URL, _ sql: String) throws -> SQLiteValue? {
    let connection = try SQLiteConnection(url: url, mode: .readOnly)
    let value = try connection.scalar(sql)
    try connection.close()
    return value
  }

  @Test("Opening a store analyzes it, or packs it, if that is asked for")
  func maintenance() throws {
    let store = try TemporaryStore()
    let options: [AnyHashable: Any] = [NSSQLitePragmasOption: ["journal_mode": "DELETE"]]
    var context = try store.context(CompanyModel.make(), options: options)
    for number in 0..<2_000 { context.make("Project", ["title": String(repeating: "\(number) ", count: 100)]) }
    try context.save()
    for project in try context.all("Project", by: "title").dropLast() { context.delete(project) }
    try context.save()
    try store.close()
    #expect(try scalar(store.url, "SELECT COUNT(*) FROM sqlite_master WHERE name = 'sqlite_stat1'") == .integer(0))
    let metadata = try NSPersistentStoreCoordinator.metadataForPersistentStore(type: .sqlite, at: store.url)
    #expect(metadata["NSPersistenceFrameworkVersion"] as? Double == NSCoreDataVersionNumber)
    let size = try Data(contentsOf: store.url).count
    context = try store.context(
      CompanyModel.make(),
      options: options.merging([NSSQLiteAnalyzeOption: true, NSSQLiteManualVacuumOption: true]) { $1 })
    #expect(try context.all("Project", by: "title").count == 1)
    try store.close()
    #expect(try Data(contentsOf: store.url).count < size / 2)
    #expect(try scalar(store.url, "SELECT COUNT(*) FROM sqlite_master WHERE name = 'sqlite_stat1'") == .integer(1))
  }

  @Test("Coordinators tell which stores were added, removed and moved")
  func changes() throws {
    final class Seen: @unchecked Sendable {
      var added: [NSPersistentStore] = []
      var removed: [NSPersistentStore] = []
    }
    let folder = try TemporaryStore()
    let coordinator = NSPersistentStoreCoordinator(managedObjectModel: CompanyModel.make())
    let seen = Seen()
    let observer = NotificationCenter.default.addObserver(
      forName: .NSPersistentStoreCoordinatorStoresDidChange, object: coordinator, queue: nil
    ) { note in
      seen.added += note.userInfo?[NSAddedPersistentStoresKey] as? [NSPersistentStore] ?? []
      seen.removed += note.userInfo?[NSRemovedPersistentStoresKey] as? [NSPersistentStore] ?? []
    }
    defer { NotificationCenter.default.removeObserver(observer) }
    let store = try coordinator.addPersistentStore(type: .sqlite, at: folder.url)
    let moved = try coordinator.migratePersistentStore(
      store, to: folder.folder.appendingPathComponent("Moved.xml"), type: .xml)
    try coordinator.remove(moved)
    #expect(seen.added.map(ObjectIdentifier.init) == [store, moved].map(ObjectIdentifier.init))
    #expect(seen.removed.map(ObjectIdentifier.init) == [store, moved].map(ObjectIdentifier.init))
  }

  @Test("A container's background task has a context of its own, whose result or error comes back")
  func backgroundTask() async throws {
    struct Failure: Error {}
    let folder = try TemporaryStore()
    let container = NSPersistentContainer(name: "Store", managedObjectModel: CompanyModel.make())
    container.persistentStoreDescriptions = [NSPersistentStoreDescription(url: folder.url)]
    container.loadPersistentStores { #expect($1 == nil) }
    let count = try await container.performBackgroundTask { context in
      #expect(context.concurrencyType == .privateQueueConcurrencyType && context !== container.viewContext)
      context.make("Project", ["title": "one"])
      try context.save()
      return try context.count(for: NSFetchRequest<NSManagedObject>(entityName: "Project"))
    }
    #expect(count == 1)
    await #expect(throws: Failure.self) { try await container.performBackgroundTask { _ in throw Failure() } }
    let context = container.newBackgroundContext()
    // As a function of Apple's signature.
    let run: (NSManagedObjectContext.ScheduledTaskType, @escaping () throws -> Int) async throws -> Int =
      context.perform(schedule:_:)
    #expect(try await run(.enqueued) { try context.all("Project", by: "title").count } == 1)
    await #expect(throws: Failure.self) { try await run(.immediate) { throw Failure() } }
  }

  @Test("A relationship is a fault until it is read")
  func relationshipFaults() throws {
    let folder = try TemporaryStore()
    var context = try folder.context(CompanyModel.make())
    context.make("Department", ["name": "a", "employees": NSSet(object: context.make("Employee", ["name": "b"]))])
    try context.save()
    try folder.close()
    context = try folder.context(CompanyModel.make())
    let department = try #require(try context.all("Department").first)
    #expect(department.hasFault(forRelationshipNamed: "employees"))
    #expect((department["employees"] as? NSSet)?.count == 1)
    #expect(!department.hasFault(forRelationshipNamed: "employees"))
  }
}
