// OpenCoreData
// SPDX-License-Identifier: Apache-2.0

import CoreDataModelFiles
import CoreDataTestSupport
import Foundation
import Testing

@testable import CoreData
@testable import CoreDataMigration

@Suite("Stores that none of the known versions has written, and that carry their own model")
struct OwnModelTests {
  private static var names: [(String, [NSAttributeDescription])] {
    [
      ("v1", [.make("name", .stringAttributeType)]),
      ("v2", [.make("name", .stringAttributeType), .make("first", .stringAttributeType)]),
      (
        "v3",
        [.make("name", .stringAttributeType), .make("first", .stringAttributeType), .make("c", .stringAttributeType)]
      ),
      (
        "v4",
        [
          .make("name", .stringAttributeType), .make("first", .stringAttributeType), .make("c", .stringAttributeType),
          .make("d", .stringAttributeType),
        ]
      ),
    ]
  }

  private func fill(_ notes: NoteVersions, _ model: NSManagedObjectModel, _ values: [String: String]) throws {
    let context = try notes.store.context(model)
    context.make(model.entities[0].name ?? "", values)
    try context.save()
    try notes.store.close()
  }

  @Test("A store of another app is not emptied: 134130 says what would be lost; an option allows it")
  func unrelated() throws {
    let notes = try NoteVersions()
    let other = NoteVersions.model([.make("title", .stringAttributeType)], name: "Recipe")
    try fill(notes, other, ["title": "Soup"])
    let content = try Data(contentsOf: notes.store.url)
    let error = try #require(throws: NSError.self) { try notes.open("v4") }
    #expect(error.code == NSMigrationMissingSourceModelError)
    #expect(error.localizedFailureReason?.contains("would drop 1 row of 'Recipe'.") == true, "\(error)")
    #expect(error.localizedRecoverySuggestion?.contains("MigrationOption.allowsLoss") == true)
    #expect(error.userInfo["entity"] as? String == "Recipe")
    #expect(try Data(contentsOf: notes.store.url) == content)
    #expect(throws: NSError.self) { try StoreMigration(storeAt: notes.store.url, modelsAt: notes.url) }
    #expect(try notes.open("v4", [MigrationOption.allowsLoss: true]).isEmpty)
    #expect(try notes.version() == "v4")
  }

  @Test("An option allows the loss of what it names, and of nothing else")
  func list() throws {
    let notes = try NoteVersions()
    let own = NoteVersions.model([
      .make("name", .stringAttributeType), .make("x", .stringAttributeType), .make("y", .stringAttributeType),
    ])
    try fill(notes, own, ["name": "one", "x": "1", "y": "2"])
    let places: [Any] = [["Note.x"], AllowedLosses(places: ["Note.x", "Other"]), ["Note.x"] as NSArray]
    for value in places {
      let error = try #require(throws: NSError.self) { try notes.open("v4", [MigrationOption.allowsLoss: value]) }
      #expect(error.localizedFailureReason?.contains("would drop 1 value of 'Note.y'.") == true, "\(error)")
    }
    let listed: AllowedLosses = ["Note.x", "Note.y"]
    let migration = try StoreMigration(storeAt: notes.store.url, modelsAt: notes.url, allowsLoss: listed)
    #expect(migration.allowsLoss == listed)
    try migration.run()
    #expect(try notes.open("v4") == ["one"])
  }

  @Test("What was written after the migration was planned is not dropped where losses are watched")
  func watched() throws {
    let notes = try NoteVersions()
    try fill(notes, try notes.model("v1"), ["name": "one"])
    var migration = try StoreMigration(storeAt: notes.store.url, modelsAt: notes.url, version: "v2")
    try migration.watchLosses()
    let context = try notes.store.context(notes.model("v1"))
    try context.all("Note").first?.setValue(7, forKey: "a")
    try context.save()
    try notes.store.close()
    let content = try Data(contentsOf: notes.store.url)
    let error = try #require(throws: NSError.self) { try migration.run() }
    #expect(error.code == NSMigrationError)
    #expect(error.localizedFailureReason?.contains("would drop 1 value of 'Note.a'") == true, "\(error)")
    #expect(try Data(contentsOf: notes.store.url) == content)
    migration = try StoreMigration(
      storeAt: notes.store.url, modelsAt: notes.url, version: "v2", allowsLoss: ["Note.a"])
    try migration.watchLosses()
    try migration.run()
    #expect(try notes.version() == "v2")
  }

  @Test("Opening does not reduce a store without rows either, unless an option allows it; a planned migration does")
  func empty() throws {
    let notes = try NoteVersions()
    _ = try notes.store.context(NoteVersions.model([.make("title", .stringAttributeType)], name: "Recipe"))
    try notes.store.close()
    let error = try #require(throws: NSError.self) { try notes.open("v4") }
    #expect(error.code == NSMigrationMissingSourceModelError)
    #expect(error.localizedFailureReason?.contains("reduce the store by 'Recipe'.") == true, "\(error)")
    #expect(try StoreMigration(storeAt: notes.store.url, modelsAt: notes.url).isNeeded)
    #expect(try notes.open("v4", [MigrationOption.allowsDowngrade: true]).isEmpty)
  }

  @Test("An attribute with values that no version has stops the migration; without values an option allows it")
  func attribute() throws {
    let notes = try NoteVersions()
    let own = NoteVersions.model(
      NoteVersions.plain[3].1.map { $0.copy() as! NSAttributeDescription } + [
        .make("extra", .stringAttributeType)
      ])
    try fill(notes, own, ["name": "one", "extra": "x"])
    let error = try #require(throws: NSError.self) { try notes.open("v4") }
    #expect(error.code == NSMigrationMissingSourceModelError)
    #expect(error.localizedFailureReason?.contains("would drop 1 value of 'Note.extra'.") == true, "\(error)")
    let context = try notes.store.context(own)
    try context.all("Note").first?.setValue(nil, forKey: "extra")
    try context.save()
    try notes.store.close()
    #expect(throws: NSError.self) { try notes.open("v4") }
    #expect(try notes.open("v4", [MigrationOption.allowsDowngrade: true]) == ["one"])
  }

  @Test("Values that come into the store after the migration was planned stop it too")
  func writtenMeanwhile() throws {
    let notes = try NoteVersions()
    let own = NoteVersions.model([.make("name", .stringAttributeType), .make("extra", .stringAttributeType)])
    try fill(notes, own, ["name": "one"])
    let migration = try StoreMigration(storeAt: notes.store.url, modelsAt: notes.url)
    try fill(notes, own, ["name": "two", "extra": "x"])
    let error = try #require(throws: NSError.self) { try migration.run() }
    #expect(error.code == NSMigrationMissingSourceModelError)
    #expect(try notes.version() == nil)
  }

  @Test("The nearest version that loses nothing comes first, also where mapping models lead on from every version")
  func nearest() throws {
    let notes = try NoteVersions(Self.names)
    for (source, destination) in [("v1", "v2"), ("v2", "v3"), ("v3", "v4")] {
      try notes.writeInferred(source, destination)
    }
    let own = NoteVersions.model(
      Self.names[2].1.map { $0.copy() as! NSAttributeDescription } + [
        .make("extra", .stringAttributeType)
      ])
    try fill(notes, own, ["name": "one", "first": "Ada", "c": "kept"])
    let migration = try StoreMigration(
      storeAt: notes.store.url, modelsAt: notes.url, mappings: [notes.mappings])
    #expect(migration.steps.map(\.destination) == ["v3", "v4"])
    #expect(migration.steps.map(\.kind) == [.inferred, .mapping])
    #expect(migration.explanation.first?.contains("the model that it contains") == true)
    try notes.open("v4", [MigrationOption.allowsDowngrade: true])
    let row = try #require(try notes.store.context(notes.model("v4")).all("Note").first)
    #expect(row["first"] as? String == "Ada")
    #expect(row["c"] as? String == "kept")
  }

  @Test("A version that loses nothing is nearer than one that has more in common")
  func nearestByLosses() throws {
    func version(_ name: String, _ attributes: [String]) throws -> ModelVersion {
      var entity = EntityDocument(name: "Note")
      entity.attributes = attributes.map { AttributeDocument(name: $0, kind: .string) }
      return ModelVersion(name: name, model: try NSManagedObjectModel(document: ModelDocument(entities: [entity])))
    }
    let own = try version("own", ["a", "b"]).model()
    let versions = [try version("similar", ["a"]), try version("complete", ["a", "b", "c", "d", "e", "f", "g"])]
    func nearest(_ rows: Int) throws -> String? {
      try NearestVersion(model: ModelVersion(name: "", model: own), entities: ["Note"]) { rows == 0 ? [] : $0 }.choose(
        among: versions)?.name
    }
    #expect(try nearest(3) == "complete")
    #expect(try nearest(0) == "similar")
  }

  @Test("A store of one configuration is migrated by the model that it carries")
  func configuration() throws {
    func model(_ attributes: [NSAttributeDescription]) -> NSManagedObjectModel {
      var builder = ModelBuilder()
      builder.entity("A", attributes)
      builder.entity("B", [.make("b", .stringAttributeType)])
      let model = builder.model()
      model.setEntities([model.entitiesByName["A"]!], forConfigurationName: "Part")
      return model
    }
    let store = try TemporaryStore()
    let old = NSPersistentStoreCoordinator(managedObjectModel: model([.make("a", .stringAttributeType)]))
    let part = try old.addPersistentStore(ofType: NSSQLiteStoreType, configurationName: "Part", at: store.url)
    let context = NSManagedObjectContext(concurrencyType: .mainQueueConcurrencyType)
    context.persistentStoreCoordinator = old
    context.make("A", ["a": "1"])
    try context.save()
    try old.remove(part)
    let new = NSPersistentStoreCoordinator(
      managedObjectModel: model([.make("a", .stringAttributeType), .make("z", .stringAttributeType)]))
    try new.addPersistentStore(
      ofType: NSSQLiteStoreType, configurationName: "Part", at: store.url,
      options: [
        NSMigratePersistentStoresAutomaticallyOption: true, NSInferMappingModelAutomaticallyOption: true,
        MigrationOption.models: [URL](), MigrationOption.mappings: [URL](),
      ])
    let reader = NSManagedObjectContext(concurrencyType: .mainQueueConcurrencyType)
    reader.persistentStoreCoordinator = new
    #expect(try reader.all("A", by: "a").map { $0["a"] as? String } == ["1"])
  }
}
