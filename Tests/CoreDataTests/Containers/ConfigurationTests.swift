// OpenCoreData
// SPDX-License-Identifier: Apache-2.0

import CoreDataTestSupport
import Foundation
import Testing

@testable import CoreData

@Suite("Stores of a configuration")
struct ConfigurationTests {
  private static func model() -> NSManagedObjectModel {
    var builder = ModelBuilder()
    let book = builder.entity("Book", [.make("title", .stringAttributeType)])
    let novel = builder.entity("GraphicNovel", parent: "Book", [.make("artist", .stringAttributeType)])
    let shop = builder.entity("Shop", [.make("name", .stringAttributeType)])
    let model = builder.model()
    model.setEntities([book], forConfigurationName: "Parent")
    model.setEntities([novel], forConfigurationName: "Child")
    model.setEntities([shop], forConfigurationName: "Shops")
    return model
  }

  private func open(_ store: TemporaryStore, _ configuration: String?) throws -> NSManagedObjectContext {
    let coordinator = NSPersistentStoreCoordinator(managedObjectModel: Self.model())
    try coordinator.addPersistentStore(type: .sqlite, configuration: configuration, at: store.url)
    let context = NSManagedObjectContext(.privateQueue)
    context.persistentStoreCoordinator = coordinator
    return context
  }

  private func close(_ context: NSManagedObjectContext) throws {
    guard let coordinator = context.persistentStoreCoordinator else { return }
    for store in coordinator.persistentStores { try coordinator.remove(store) }
  }

  private static func onlyBooks() -> NSManagedObjectModel {
    var builder = ModelBuilder()
    builder.entity("Book", [.make("title", .stringAttributeType)])
    builder.entity("GraphicNovel", parent: "Book", [.make("artist", .stringAttributeType)])
    return builder.model()
  }

  @Test("A configuration with an entity and not those below it opens a store that has both, and reads and writes them")
  func subentities() throws {
    let store = try TemporaryStore()
    let whole = try store.context(Self.onlyBooks())
    whole.make("Book", ["title": "a"])
    whole.make("GraphicNovel", ["title": "b", "artist": "c"])
    try whole.save()
    try store.close()
    let context = try open(store, "Parent")
    #expect(try context.all("Book", by: "title").map(\.entity.name) == ["Book", "GraphicNovel"])
    let novel = try #require(try context.all("GraphicNovel", by: "title").first)
    #expect(novel["artist"] as? String == "c")
    novel["artist"] = "d"
    context.make("GraphicNovel", ["title": "e"])
    try context.save()
    try close(context)
    let read = try store.context(Self.onlyBooks()).all("Book", by: "title")
    #expect(read.map { $0["title"] as? String } == ["a", "b", "e"])
    #expect(read[1]["artist"] as? String == "d")
  }

  @Test("A store that was made by a configuration opens by it again", arguments: ["Parent", "Child", "Shops"])
  func reopening(configuration: String) throws {
    let store = try TemporaryStore()
    let entity = ["Parent": "Book", "Child": "GraphicNovel", "Shops": "Shop"][configuration] ?? ""
    let made = try open(store, configuration)
    made.make(entity)
    try made.save()
    try close(made)
    let context = try open(store, configuration)
    #expect(try context.count(for: NSFetchRequest<NSManagedObject>(entityName: entity)) == 1)
    try close(context)
  }

  @Test("A store with other entities than a configuration and those around it is refused")
  func others() throws {
    let store = try TemporaryStore()
    let all = try open(store, nil)
    try close(all)
    let error = try #require(throws: NSError.self) { try open(store, "Parent") }
    #expect(error.code == NSPersistentStoreIncompatibleVersionHashError)
  }
}
