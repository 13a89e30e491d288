// OpenCoreData
// SPDX-License-Identifier: Apache-2.0

import CoreData
import Testing

@Suite("Several stores")
struct SeveralStoresTests {
  private let directory: StoreDirectory
  private let coordinator: NSPersistentStoreCoordinator
  private let first: NSPersistentStore
  private let second: NSPersistentStore
  private let context: NSManagedObjectContext

  init() throws {
    let directory = try StoreDirectory()
    let coordinator = NSPersistentStoreCoordinator(managedObjectModel: library())
    let stores = try ["First.sqlite", "Second.sqlite"].map {
      try coordinator.addPersistentStore(
        ofType: NSSQLiteStoreType, configurationName: nil, at: directory.store($0), options: nil)
    }
    self.directory = directory
    self.coordinator = coordinator
    first = stores[0]
    second = stores[1]
    context = NSManagedObjectContext(concurrencyType: .privateQueueConcurrencyType)
    context.persistentStoreCoordinator = coordinator
  }

  @Test("An object goes to the store that it is assigned to, and a fetch finds those of all stores")
  func assigning() throws {
    try context.performAndWait {
      for (store, name) in [(first, "a"), (second, "b")] {
        context.assign(context.insert("Tag", ["name": name]), to: store)
      }
      try context.save()
      #expect(try context.texts("name", of: "Tag") == ["a", "b"])
      let tag = try #require(try context.all("Tag", where: predicate("name == 'b'")).first)
      #expect(tag.objectID.persistentStore === second)
    }
  }

  @Test("A request with affected stores finds the objects of these only")
  func affectedStores() throws {
    try context.performAndWait {
      for (store, name) in [(first, "a"), (second, "b")] {
        context.assign(context.insert("Tag", ["name": name]), to: store)
      }
      try context.save()
      let request = NSFetchRequest<NSManagedObject>(entityName: "Tag")
      request.affectedStores = [second]
      #expect(try context.fetch(request).map { $0.text("name") } == ["b"])
    }
  }

  @Test("A coordinator finds a store by its location, and a location by its store")
  func locations() {
    #expect(coordinator.persistentStore(for: directory.store("First.sqlite")) === first)
    #expect(coordinator.url(for: second).lastPathComponent == "Second.sqlite")
    #expect(coordinator.persistentStores == [first, second])
  }

  @Test("Entities of two configurations go to the stores of these")
  func configurations() throws {
    let model = library()
    let entities = model.entitiesByName
    model.setEntities(["Author", "Book"].compactMap { entities[$0] }, forConfigurationName: "Books")
    model.setEntities(["Tag"].compactMap { entities[$0] }, forConfigurationName: "Tags")
    // Relationships lead from one configuration to the other; they stay empty.
    let coordinator = NSPersistentStoreCoordinator(managedObjectModel: model)
    let directory = try StoreDirectory()
    let stores = try ["Books", "Tags"].map {
      try coordinator.addPersistentStore(
        ofType: NSSQLiteStoreType, configurationName: $0, at: directory.store($0 + ".sqlite"), options: nil)
    }
    let context = NSManagedObjectContext(concurrencyType: .privateQueueConcurrencyType)
    context.persistentStoreCoordinator = coordinator
    try context.performAndWait {
      let book = context.insert("Book")
      let tag = context.insert("Tag")
      try context.save()
      #expect(book.objectID.persistentStore === stores[0])
      #expect(tag.objectID.persistentStore === stores[1])
    }
  }
}
