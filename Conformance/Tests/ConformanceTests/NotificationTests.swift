// OpenCoreData
// SPDX-License-Identifier: Apache-2.0

import CoreData
import Testing

@Suite("Notifications")
struct NotificationTests {
  @Test("A change of objects is told with the inserted, updated and deleted ones")
  func changes() throws {
    let stack = try Stack(library())
    try stack.run { context in
      let kept = context.insert("Book", ["title": "a"])
      let gone = context.insert("Book")
      try context.save()
      let changes = Notifications(.NSManagedObjectContextObjectsDidChange, of: context)
      let new = context.insert("Tag")
      kept.setValue("b", forKey: "title")
      context.delete(gone)
      context.processPendingChanges()
      #expect(changes.all.count == 1)
      #expect(changes.objects(NSInsertedObjectsKey) == [new])
      #expect(changes.objects(NSUpdatedObjectsKey) == [kept])
      #expect(changes.objects(NSDeletedObjectsKey) == [gone])
    }
  }

  @Test("A save is told before and after it, and afterwards with the objects")
  func saves() throws {
    let stack = try Stack(library())
    try stack.run { context in
      let log = Log()
      let will = Notifications(.NSManagedObjectContextWillSave, of: context) { _ in log.add("will") }
      let did = Notifications(.NSManagedObjectContextDidSave, of: context) { _ in log.add("did") }
      let book = context.insert("Book")
      try context.save()
      #expect(log.all == ["will", "did"])
      #expect(will.all.count == 1)
      #expect(did.objects(NSInsertedObjectsKey) == [book])
    }
  }

  @Test("A save without changes tells of no save that was done")
  func emptySave() throws {
    let stack = try Stack(library())
    try stack.run { context in
      let did = Notifications(.NSManagedObjectContextDidSave, of: context)
      try context.save()
      #expect(did.all.isEmpty)
    }
  }

  @Test("A save tells the identifiers too")
  func identifiers() throws {
    let stack = try Stack(library())
    try stack.run { context in
      let did = Notifications(NSManagedObjectContext.didSaveObjectIDsNotification, of: context)
      let book = context.insert("Book")
      try context.save()
      let key = NSManagedObjectContext.NotificationKey.insertedObjectIDs.rawValue
      #expect(did.last?.userInfo?[key] as? Set<NSManagedObjectID> == [book.objectID])
    }
  }

  @Test("A refresh is told with the refreshed objects")
  func refresh() throws {
    let stack = try Stack(library())
    try stack.run { context in
      let book = context.insert("Book")
      try context.save()
      let changes = Notifications(.NSManagedObjectContextObjectsDidChange, of: context)
      context.refresh(book, mergeChanges: false)
      context.processPendingChanges()
      #expect(changes.objects(NSRefreshedObjectsKey) == [book])
    }
  }

  @Test("A reset is told as the invalidation of all objects")
  func reset() throws {
    let stack = try Stack(library())
    stack.run { context in
      context.insert("Book")
      context.processPendingChanges()
      let changes = Notifications(.NSManagedObjectContextObjectsDidChange, of: context)
      context.reset()
      #expect(changes.last?.userInfo?[NSInvalidatedAllObjectsKey] != nil)
    }
  }

  @Test("A coordinator tells of added and removed stores")
  func stores() throws {
    let directory = try StoreDirectory()
    let coordinator = NSPersistentStoreCoordinator(managedObjectModel: library())
    let changes = Notifications(.NSPersistentStoreCoordinatorStoresDidChange, of: coordinator)
    let store = try coordinator.addPersistentStore(
      ofType: NSSQLiteStoreType, configurationName: nil, at: directory.store(), options: nil)
    #expect(changes.last?.userInfo?[NSAddedPersistentStoresKey] as? [NSPersistentStore] == [store])
    try coordinator.remove(store)
    #expect(changes.last?.userInfo?[NSRemovedPersistentStoresKey] as? [NSPersistentStore] == [store])
  }
}
