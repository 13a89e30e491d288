// OpenCoreData
// SPDX-License-Identifier: Apache-2.0

import CoreDataTestSupport
import Foundation
import Testing

@testable import CoreData

@Suite("A context over several stores")
struct SeveralStoresTests {
  private let folder: TemporaryStore
  private let coordinator: NSPersistentStoreCoordinator
  private let context: NSManagedObjectContext

  /// Books are in one store, and shops, whose names are unique, in another.
  init() throws {
    folder = try TemporaryStore()
    var builder = ModelBuilder()
    builder.entity("Book", [.make("title", .stringAttributeType)])
    builder.entity("Shop", [.make("name", .stringAttributeType)])
    builder.relate(.init("Book", "shop"), .init("Shop", "books", toMany: true))
    let model = builder.model()
    model.entitiesByName["Shop"]?.uniquenessConstraints = [["name"]]
    for (entity, name) in [("Book", "Books"), ("Shop", "Shops")] {
      model.setEntities(model.entities.filter { $0.name == entity }, forConfigurationName: name)
    }
    coordinator = NSPersistentStoreCoordinator(managedObjectModel: model)
    for name in ["Books", "Shops"] {
      try coordinator.addPersistentStore(
        type: .sqlite, configuration: name, at: folder.folder.appendingPathComponent("\(name).sqlite"))
    }
    context = NSManagedObjectContext(.privateQueue)
    context.persistentStoreCoordinator = coordinator
  }

  private func count(_ entity: String) throws -> Int {
    let other = NSManagedObjectContext(.privateQueue)
    other.persistentStoreCoordinator = coordinator
    return try other.count(for: NSFetchRequest<NSManagedObject>(entityName: entity))
  }

  @Test("What one store refuses is written to none, and the corrected objects are saved")
  func refusedByOne() throws {
    context.make("Shop", ["name": "Corner"])
    try context.save()
    context.make("Book", ["title": "a"])
    let second = context.make("Shop", ["name": "Corner"])
    #expect(throws: (any Error).self) { try context.save() }
    #expect(try count("Book") == 0 && count("Shop") == 1)
    second["name"] = "Market"
    try context.save()
    #expect(try count("Book") == 1 && count("Shop") == 2)
    #expect(!context.hasChanges)
  }

  @Test("Metadata that were changed before a refused save are written by the next one")
  func metadata() throws {
    context.make("Shop", ["name": "Corner"])
    try context.save()
    let books = try #require(coordinator.persistentStores.first)
    coordinator.setMetadata(coordinator.metadata(for: books).merging(["owner": "Ada"]) { $1 }, for: books)
    context.make("Book", ["title": "a"])
    let second = context.make("Shop", ["name": "Corner"])
    #expect(throws: (any Error).self) { try context.save() }
    second["name"] = "Market"
    try context.save()
    let url = folder.folder.appendingPathComponent("Books.sqlite")
    let read = try NSPersistentStoreCoordinator.metadataForPersistentStore(type: .sqlite, at: url)
    #expect(read["owner"] as? String == "Ada")
  }

  @Test("A many-to-many link to an object of another store does not become one to another object with its key")
  func linkBetweenEqualStores() throws {
    let model = CompanyModel.make()
    let coordinator = NSPersistentStoreCoordinator(managedObjectModel: model)
    let stores = try ["A", "B"].map {
      try coordinator.addPersistentStore(type: .sqlite, at: folder.folder.appendingPathComponent("\($0).sqlite"))
    }
    let context = NSManagedObjectContext(.privateQueue)
    context.persistentStoreCoordinator = coordinator
    let ada = context.make("Employee", ["name": "Ada"])
    let (near, far) = (context.make("Project", ["title": "near"]), context.make("Project", ["title": "far"]))
    for (object, store) in [(ada, stores[0]), (near, stores[0]), (far, stores[1])] { context.assign(object, to: store) }
    ada["projects"] = NSSet(array: [far])
    let error = #expect(throws: (any Error).self) { try context.save() } as NSError?
    #expect(error?.code == NSManagedObjectExternalRelationshipError)
    ada["projects"] = NSSet(array: [near])
    try context.save()
    context.refreshAllObjects()
    #expect((ada["projects"] as? Set<NSManagedObject>)?.map { $0["title"] as? String } == ["near"])
  }

  @Test("A relationship to an object of another store is an error that names both, and nothing is written")
  func link() throws {
    let book = context.make("Book", ["title": "a"])
    let shop = context.make("Shop", ["name": "Corner"])
    book["shop"] = shop
    let error = #expect(throws: (any Error).self) { try context.save() } as NSError?
    #expect(error?.code == NSManagedObjectExternalRelationshipError)
    #expect(error?.localizedFailureReason?.contains("'shop' of 'Book'") == true)
    #expect(try count("Book") == 0 && count("Shop") == 0)
    book["shop"] = nil
    try context.save()
    #expect(try count("Book") == 1 && count("Shop") == 1)
  }
}
