// OpenCoreData
// SPDX-License-Identifier: Apache-2.0

import CoreDataSQLite
import CoreDataTestSupport
import Foundation
import Testing

@testable import CoreData

@Suite("Stores moved to another place")
struct MovingStoreTests {
  private let store: TemporaryStore
  private let context: NSManagedObjectContext
  private let coordinator: NSPersistentStoreCoordinator
  private let place: URL

  init() throws {
    store = try TemporaryStore()
    context = try store.context(CompanyModel.make())
    coordinator = context.coordinator
    place = store.folder.appendingPathComponent("Moved.sqlite")
  }

  private func names(_ url: URL) throws -> [String] {
    let fresh = NSPersistentStoreCoordinator(managedObjectModel: CompanyModel.make())
    let opened = try fresh.addPersistentStore(type: .sqlite, at: url, options: [NSReadOnlyPersistentStoreOption: true])
    let context = NSManagedObjectContext(.privateQueue)
    context.persistentStoreCoordinator = fresh
    let found = try context.fetch(NSFetchRequest<NSManagedObject>(entityName: "Employee"))
    let names = found.compactMap { $0.value(forKey: "name") as? String }.sorted()
    try fresh.remove(opened)
    return names
  }

  @Test("Objects and identifiers go on in the new store, where unsaved changes are saved; the old file stays as it was")
  func moving() throws {
    let scan = Data(repeating: 7, count: 300_000)
    let ada = context.make("Employee", ["name": "Ada", "scan": scan])
    let bob = context.make("Employee", ["name": "Bob", "manager": context.make("Manager", ["name": "Cleo"])])
    try context.save()
    let (id, uri) = (ada.objectID, ada.objectID.uriRepresentation())
    let old = try #require(coordinator.persistentStores.first)
    ada.setValue("Ada L.", forKey: "name")
    let dora = context.make("Employee", ["name": "Dora"])
    context.refresh(bob, mergeChanges: false)

    let moved = try coordinator.migratePersistentStore(old, to: place, type: .sqlite)
    #expect(coordinator.persistentStores == [moved] && moved.url == place && old.persistentStoreCoordinator == nil)
    #expect(id.persistentStore === moved && coordinator.managedObjectID(forURIRepresentation: uri) == id)
    #expect(context.registeredObject(for: id) === ada && context.hasChanges)
    #expect(bob.value(forKey: "name") as? String == "Bob")
    #expect((bob.value(forKey: "manager") as? NSManagedObject)?.value(forKey: "name") as? String == "Cleo")
    #expect(try names(place) == ["Ada", "Bob", "Cleo"])
    try context.save()
    #expect(!dora.objectID.isTemporaryID && dora.objectID.persistentStore === moved)
    #expect(try names(place) == ["Ada L.", "Bob", "Cleo", "Dora"])
    #expect(try names(store.url) == ["Ada", "Bob", "Cleo"])
    context.refreshAllObjects()
    #expect(ada.value(forKey: "scan") as? Data == scan)

    // The old file is a store of its own, also for the same coordinator.
    let again = try coordinator.addPersistentStore(type: .sqlite, at: store.url)
    #expect(again.number != moved.number)
    try coordinator.remove(again)
    try StoreChecks.check(place, CompanyModel.make())
  }

  @Test("The new store has the options given, the metadata of the old one, and its configuration")
  func settings() throws {
    let old = try #require(coordinator.persistentStores.first)
    coordinator.setMetadata(old.metadata.merging(["App": "ours"]) { $1 }, for: old)
    let moved = try coordinator.migratePersistentStore(
      old, to: place, options: [NSReadOnlyPersistentStoreOption: true], withType: NSSQLiteStoreType)
    #expect(moved.isReadOnly && moved.metadata["App"] as? String == "ours")
    #expect(
      moved.identifier == (try NSPersistentStoreCoordinator.metadataForPersistentStore(type: .sqlite, at: store.url))[
        NSStoreUUIDKey] as? String)
    #expect(moved.configurationName == old.configurationName)
    #expect(throws: NSError.self) {
      context.make("Employee", ["name": "Ada"])
      try context.save()
    }
  }

  @Test("A store stays where it is when it cannot be moved, and nothing is left at the new place")
  func failures() throws {
    context.make("Employee", ["name": "Ada"])
    try context.save()
    let old = try #require(coordinator.persistentStores.first)
    try Data("mine".utf8).write(to: place)
    let taken = try #require(throws: NSError.self) {
      try coordinator.migratePersistentStore(old, to: place, type: .sqlite)
    }
    #expect(taken.code == NSPersistentStoreOperationError)
    #expect(try Data(contentsOf: place) == Data("mine".utf8))
    #expect(throws: NSError.self) { try coordinator.migratePersistentStore(old, to: store.url, type: .sqlite) }
    let nowhere = store.folder.appendingPathComponent("none/Moved.sqlite")
    #expect(throws: NSError.self) { try coordinator.migratePersistentStore(old, to: nowhere, type: .sqlite) }
    #expect(throws: NSError.self) {
      try coordinator.migratePersistentStore(
        old, to: store.folder.appendingPathComponent("X"), type: .init(rawValue: "Unknown"))
    }
    let other = NSPersistentStoreCoordinator(managedObjectModel: CompanyModel.make())
    let foreign = try #require(throws: NSError.self) {
      try other.migratePersistentStore(old, to: store.folder.appendingPathComponent("X.sqlite"), type: .sqlite)
    }
    #expect(foreign.code == NSPersistentStoreOperationError)
    #expect(coordinator.persistentStores == [old])
    #expect(
      try store.files().filter { !$0.hasSuffix("-wal") && !$0.hasSuffix("-shm") } == ["Moved.sqlite", "Store.sqlite"])
    context.make("Employee", ["name": "Bob"])
    try context.save()
    #expect(try names(store.url) == ["Ada", "Bob"])
  }

  // MARK: Stores that this process has open

  private func other(_ name: String) throws -> URL {
    let other = try store.context(CompanyModel.make(), at: store.folder.appendingPathComponent(name))
    other.make("Employee", ["name": "Zoe"])
    try other.save()
    return store.folder.appendingPathComponent(name)
  }

  @Test(
    "Destroying a store that other coordinators and this one have open leaves an empty file, which can be a store again"
  )
  func destroyingOpenStore() throws {
    context.make("Employee", ["name": "Ada", "scan": Data(repeating: 7, count: 300_000)])
    try context.save()
    let second = try store.context(CompanyModel.make())
    #expect(try second.all("Employee").count == 1)
    try coordinator.destroyPersistentStore(at: store.url, type: .sqlite)
    #expect(try store.files() == ["Store.sqlite", "Store.sqlite-shm", "Store.sqlite-wal"])
    for name in try store.files() {
      #expect(try Data(contentsOf: store.folder.appendingPathComponent(name)).isEmpty, "\(name)")
    }
    for context in [context, second] {
      let error = #expect(throws: NSError.self) { try context.all("Employee") }
      #expect(error?.code == NSPersistentStoreOperationError)
      #expect(error?.localizedFailureReason == "The store was destroyed while it was open.")
      context.make("Employee", ["name": "Bob"])
      #expect(throws: NSError.self) { try context.save() }
      context.reset()
    }
    // The usual next step, without removing the store.
    let again = try coordinator.addPersistentStore(type: .sqlite, at: store.url)
    #expect(coordinator.persistentStores == [again])
    #expect(try context.all("Employee").isEmpty)
    context.make("Employee", ["name": "Cleo"])
    try context.save()
    #expect(try names(store.url) == ["Cleo"])
    // What had the old store open reads the new one.
    #expect(try second.all("Employee").map { $0.value(forKey: "name") as? String } == ["Cleo"])
  }

  @Test("A store that was destroyed can be removed from its coordinator, and its file removed")
  func removingAfterDestroying() throws {
    let opened = try #require(coordinator.persistentStores.first)
    try coordinator.destroyPersistentStore(at: store.url, type: .sqlite)
    try coordinator.destroyPersistentStore(at: store.url, type: .sqlite)
    #expect(coordinator.persistentStores == [opened])
    try coordinator.remove(opened)
    for suffix in ["", "-wal", "-shm"] { try FileManager.default.removeItem(atPath: store.url.path + suffix) }
    #expect(try store.files().isEmpty)
  }

  @Test("Destroying where there is no store makes empty files, which can become a store; nothing without a directory")
  func destroyingNothing() throws {
    try coordinator.destroyPersistentStore(at: place, type: .sqlite)
    let made = ["Moved.sqlite", "Moved.sqlite-shm", "Moved.sqlite-wal"]
    #expect(try store.files().filter { $0.hasPrefix("Moved") } == made)
    let permissions = try made.map {
      try FileManager.default.attributesOfItem(atPath: store.folder.appendingPathComponent($0).path)[.posixPermissions]
        as? Int
    }
    #expect(Set(permissions).count == 1 && permissions[0].map { $0 & 0o600 } == 0o600)
    let opened = try coordinator.addPersistentStore(type: .sqlite, at: place)
    try coordinator.remove(opened)
    #expect(try names(place).isEmpty)
    let nowhere = store.folder.appendingPathComponent("none/Data.sqlite")
    try coordinator.destroyPersistentStore(at: nowhere, type: .sqlite)
    #expect(!FileManager.default.fileExists(atPath: nowhere.deletingLastPathComponent().path))
  }

  @Test("A log without its database is kept under another name when an empty file is made beside it")
  func destroyingBesideLog() throws {
    let log = Data("the last copy of rows".utf8)
    try log.write(to: store.folder.appendingPathComponent("Moved.sqlite-wal"))
    try coordinator.destroyPersistentStore(at: place, type: .sqlite)
    #expect(try Data(contentsOf: store.folder.appendingPathComponent("Moved.sqlite-wal~")) == log)
    #expect(try Data(contentsOf: store.folder.appendingPathComponent("Moved.sqlite-wal")).isEmpty)
  }

  @Test("A destroyed store is replaced, beside the empty log that it has left, and by a store with a log")
  func replacingDestroyed() throws {
    let source = try other("Other.sqlite")
    for _ in 0..<2 {
      try coordinator.destroyPersistentStore(at: store.url, type: .sqlite)
      #expect(FileManager.default.fileExists(atPath: store.url.path + "-shm"))
      try coordinator.replacePersistentStore(at: store.url, withPersistentStoreFrom: source, type: .sqlite)
      #expect(try SQLiteFileHeader.read(path: store.url.path)?.usesWriteAheadLog == true)
      #expect(try names(store.url) == ["Zoe"])
    }
  }

  @Test("An empty file is not replaced while another connection has begun a transaction in it")
  func writingToDestroyed() throws {
    let source = try other("Other.sqlite")
    try coordinator.destroyPersistentStore(at: store.url, type: .sqlite)
    let writer = try SQLiteConnection(url: store.url, mode: .readWrite)
    try writer.begin(.immediate)
    try writer.run("CREATE TABLE mine (x)")
    let options = [NSPersistentStoreTimeoutOption: 0.1]
    func replace() throws {
      try coordinator.replacePersistentStore(
        at: store.url, destinationOptions: options, withPersistentStoreFrom: source, type: .sqlite)
    }
    let busy = try #require(throws: NSError.self) { try replace() }
    #expect([NSPersistentStoreTimeoutError, NSPersistentStoreOpenError].contains(busy.code), "\(busy)")
    try writer.run("INSERT INTO mine VALUES (1)")
    try writer.commit()
    #expect(try writer.scalar("SELECT COUNT(*) FROM mine") == .integer(1))
    try writer.close()

    try coordinator.destroyPersistentStore(at: store.url, type: .sqlite)
    let reader = try SQLiteConnection(url: store.url, mode: .readWrite)
    try reader.begin()
    #expect(try reader.scalar("SELECT COUNT(*) FROM sqlite_master") == .integer(0))
    #expect(throws: NSError.self) { try replace() }
    try reader.close()
    try replace()
    #expect(try names(store.url) == ["Zoe"])
    #expect(try store.files().filter { $0.hasSuffix("-journal") } == [])
  }

  @Test("A container is told of a store that it has open, and opens one anew that was destroyed")
  func loadingAgain() throws {
    let container = NSPersistentContainer(name: "Company", managedObjectModel: CompanyModel.make())
    let place = store.folder.appendingPathComponent("Loaded.sqlite")
    container.persistentStoreDescriptions = [NSPersistentStoreDescription(url: place)]
    func load() -> [String] {
      var told: [String] = []
      container.loadPersistentStores { told.append($1.map { "\($0)" } ?? "open") }
      return told
    }
    #expect(load() == ["open"] && load() == ["open"])
    container.viewContext.make("Task", ["title": "a"])
    try container.viewContext.save()
    try container.persistentStoreCoordinator.destroyPersistentStore(at: place, type: .sqlite)
    container.viewContext.reset()
    #expect(load() == ["open"])
    #expect(try container.viewContext.all("Task", by: "title").isEmpty)
    container.viewContext.make("Task", ["title": "b"])
    try container.viewContext.save()
    #expect(container.persistentStoreCoordinator.persistentStores.count == 1)
    for opened in container.persistentStoreCoordinator.persistentStores {
      try container.persistentStoreCoordinator.remove(opened)
    }
  }

  @Test("A context from which its coordinator is taken away forgets its objects, and can get another one")
  func withoutCoordinator() throws {
    let context = try store.context(CompanyModel.make(), at: store.folder.appendingPathComponent("Other.sqlite"))
    let coordinator = try #require(context.persistentStoreCoordinator)
    let task = context.make("Task", ["title": "a"])
    try context.save()
    context.persistentStoreCoordinator = nil
    #expect(context.persistentStoreCoordinator == nil && context.registeredObjects.isEmpty)
    #expect(task.managedObjectContext == nil)
    context.persistentStoreCoordinator = coordinator
    #expect(try context.all("Task", by: "title").map { $0["title"] as? String } == ["a"])
  }

  @Test("Whoever has a store open that is replaced reads the new one; not where it is of another version")
  func replacingOpenStore() throws {
    context.make("Employee", ["name": "Ada"])
    try context.save()
    let source = try other("Other.sqlite")
    try coordinator.replacePersistentStore(at: store.url, withPersistentStoreFrom: source, type: .sqlite)
    context.reset()
    #expect(try context.all("Employee").map { $0.value(forKey: "name") as? String } == ["Zoe"])
    let identifiers = try [store.url, source].map {
      try NSPersistentStoreCoordinator.metadataForPersistentStore(type: .sqlite, at: $0)[NSStoreUUIDKey] as? String
    }
    #expect(coordinator.persistentStores.map(\.identifier) == [identifiers[0]] && identifiers[0] == identifiers[1])
    context.make("Employee", ["name": "Bob"])
    try context.save()
    #expect(try names(store.url) == ["Bob", "Zoe"] && names(source) == ["Zoe"])

    var builder = ModelBuilder()
    builder.entity("Employee", [.make("name", .stringAttributeType)])
    let foreign = store.folder.appendingPathComponent("Foreign.sqlite")
    _ = try store.context(builder.model(), at: foreign)
    try coordinator.replacePersistentStore(at: store.url, withPersistentStoreFrom: foreign, type: .sqlite)
    let error = #expect(throws: NSError.self) { try context.all("Employee") }
    #expect(error?.code == NSPersistentStoreIncompatibleVersionHashError)
    #expect(error?.localizedFailureReason?.contains("was replaced: it was of a version without a name") == true)
  }

  @Test("A store is replaced and destroyed while threads with coordinators of their own use it")
  func replacingBusyStore() throws {
    context.make("Employee", ["name": "Ada"])
    try context.save()
    let source = try other("Other.sqlite")
    let url = store.url
    let coordinators = try [coordinator, store.context(CompanyModel.make()).coordinator]
    let isDone = Guarded(false)
    let (reads, failures) = (Guarded(0), Guarded<[String]>([]))
    inThreads(5) { number in
      guard number > 0 else {
        defer { isDone.value = true }
        do {
          for round in 0..<12 {
            try coordinators[round % 2].replacePersistentStore(at: url, withPersistentStoreFrom: source, type: .sqlite)
          }
          try coordinators[0].destroyPersistentStore(at: url, type: .sqlite)
          try coordinators[0].replacePersistentStore(at: url, withPersistentStoreFrom: source, type: .sqlite)
        } catch {
          failures.update { $0.append("\(error)") }
        }
        return
      }
      while !isDone.value {
        let context = NSManagedObjectContext(.privateQueue)
        context.persistentStoreCoordinator = coordinators[number % 2]
        context.performAndWait {
          if number > 2 { context.make("Employee", ["name": "new"]) }
          // A save may have its keys from the old store, and there may be no store for a moment.
          try? context.save()
          if (try? context.all("Employee"))?.isEmpty == false { reads.update { $0 += 1 } }
        }
      }
    }
    #expect(failures.value.isEmpty)
    #expect(reads.value > 0)
    #expect(try names(url).contains("Zoe"))
    try StoreChecks.check(url, CompanyModel.make())
  }

  @Test("A store that cannot be replaced or destroyed goes on where it is open")
  func failingReplacement() throws {
    context.make("Employee", ["name": "Ada"])
    try context.save()
    let nowhere = store.folder.appendingPathComponent("none.sqlite")
    #expect(throws: NSError.self) {
      try coordinator.replacePersistentStore(at: store.url, withPersistentStoreFrom: nowhere, type: .sqlite)
    }
    let broken = store.folder.appendingPathComponent("Broken.sqlite")
    try FileManager.default.copyItem(at: try other("Other.sqlite"), to: broken)
    try Data("no store at all, and long enough to be read as a header of a database, which it is not".utf8).write(
      to: broken)
    #expect(throws: NSError.self) {
      try coordinator.replacePersistentStore(at: store.url, withPersistentStoreFrom: broken, type: .sqlite)
    }
    context.make("Employee", ["name": "Bob"])
    try context.save()
    #expect(try names(store.url) == ["Ada", "Bob"])
  }
}
