// OpenCoreData
// SPDX-License-Identifier: Apache-2.0

import CoreData
import Testing

@Suite("Moving stores")
struct MovedStoreTests {
  /// A store with one book.
  private func stack() throws -> Stack {
    let stack = try Stack(library())
    try stack.run { context in
      context.insert("Book", ["title": "a"])
      try context.save()
    }
    return stack
  }

  private func titles(in url: URL) throws -> [String] {
    let coordinator = NSPersistentStoreCoordinator(managedObjectModel: library())
    _ = try coordinator.addPersistentStore(
      ofType: NSSQLiteStoreType, configurationName: nil, at: url, options: nil)
    let context = NSManagedObjectContext(concurrencyType: .privateQueueConcurrencyType)
    context.persistentStoreCoordinator = coordinator
    return try context.performAndWait { try context.texts("title", of: "Book") }
  }

  @Test("A store that is migrated to another location is there, and is the coordinator's only one")
  func migrating() throws {
    let stack = try stack()
    let target = stack.directory.store("Other.sqlite")
    let moved = try stack.coordinator.migratePersistentStore(
      stack.store, to: target, options: nil, withType: NSSQLiteStoreType)
    #expect(stack.coordinator.persistentStores == [moved])
    #expect(moved.url?.lastPathComponent == "Other.sqlite")
    #expect(try titles(in: target) == ["a"])
  }

  @Test("A replaced store has the rows of the one that it was replaced with")
  func replacing() throws {
    let stack = try stack()
    try stack.close()
    let other = try Stack(library())
    try other.run { context in
      context.insert("Book", ["title": "old"])
      try context.save()
    }
    try other.close()
    try other.coordinator.replacePersistentStore(
      at: other.url, destinationOptions: nil, withPersistentStoreFrom: stack.url, sourceOptions: nil,
      ofType: NSSQLiteStoreType)
    #expect(try titles(in: other.url) == ["a"])
    #expect(try titles(in: stack.url) == ["a"])
  }

  @Test("A context of a query generation reads what was there, until it takes the current one")
  func generations() throws {
    let stack = try stack()
    try stack.run { context in
      try context.setQueryGenerationFrom(.current)
      #expect(try context.texts("title", of: "Book") == ["a"])
      let other = stack.newContext()
      try other.performAndWait {
        other.insert("Book", ["title": "b"])
        try other.save()
      }
      #expect(try context.texts("title", of: "Book") == ["a"])
      try context.setQueryGenerationFrom(.current)
      #expect(try context.texts("title", of: "Book") == ["a", "b"])
    }
  }
}
