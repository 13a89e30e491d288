// OpenCoreData
// SPDX-License-Identifier: Apache-2.0

import CoreData
import Testing

@Suite("Persistent containers")
struct ContainerTests {
  private func container(in directory: StoreDirectory, model: NSManagedObjectModel = library()) throws
    -> NSPersistentContainer
  {
    let container = NSPersistentContainer(name: "Library", managedObjectModel: model)
    container.persistentStoreDescriptions = [NSPersistentStoreDescription(url: directory.store())]
    var failure: (any Error)?
    container.loadPersistentStores { _, error in failure = error }
    if let failure { throw failure }
    return container
  }

  @Test("A description migrates and infers at first, and is of type SQLite")
  func description() {
    let description = NSPersistentStoreDescription(url: URL(fileURLWithPath: "/tmp/x.sqlite"))
    #expect(description.type == NSSQLiteStoreType)
    #expect(description.shouldMigrateStoreAutomatically)
    #expect(description.shouldInferMappingModelAutomatically)
    #expect(!description.shouldAddStoreAsynchronously)
    #expect(!description.isReadOnly)
  }

  @Test("A background context saves what a new container reads")
  func saving() throws {
    let directory = try StoreDirectory()
    let first = try container(in: directory)
    let context = first.newBackgroundContext()
    #expect(context.concurrencyType == .privateQueueConcurrencyType)
    try context.performAndWait {
      context.insert("Book", ["title": "a"])
      try context.save()
    }
    let second = try container(in: directory).newBackgroundContext()
    #expect(try second.performAndWait { try second.texts("title", of: "Book") } == ["a"])
  }

  @Test("A container opens a store of an earlier version")
  func migrating() throws {
    let directory = try StoreDirectory()
    let context = try container(in: directory).newBackgroundContext()
    try context.performAndWait {
      context.insert("Book", ["title": "a"])
      try context.save()
    }
    let after = library()
    after.entitiesByName["Book"]?.properties.append(attribute("subtitle"))
    let migrated = try container(in: directory, model: after).newBackgroundContext()
    #expect(try migrated.performAndWait { try migrated.texts("title", of: "Book") } == ["a"])
  }

  @Test("performBackgroundTask runs with a context of the container")
  func task() async throws {
    let directory = try StoreDirectory()
    let count = try await container(in: directory).performBackgroundTask { context in
      context.insert("Book")
      try context.save()
      return try context.all("Book").count
    }
    #expect(count == 1)
  }

  @Test("perform of a context gives back what its block returns, and throws its error")
  func perform() async throws {
    let stack = try Stack(library())
    let context = stack.context
    #expect(try await context.perform { try context.all("Book").count } == 0)
    await #expect(throws: NSError.self) {
      try await context.perform { throw NSError(domain: "Conformance", code: 1) }
    }
  }
}
