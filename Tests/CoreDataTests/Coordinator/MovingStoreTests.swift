// OpenCoreData
// SPDX-License-Identifier: Apache-2.0

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
        old, to: store.folder.appendingPathComponent("X"), type: .init(rawValue: "XML"))
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
}
