// OpenCoreData
// SPDX-License-Identifier: Apache-2.0

import CoreDataModelFiles
import CoreDataTestSupport
import Foundation
import Testing

@testable import CoreData

@Suite("Rows that no entity mapping of a mapping model takes")
struct LeftOutRowsTests {
  private let store: TemporaryStore
  private let old: NSManagedObjectModel
  private let new: NSManagedObjectModel

  init() throws {
    func model(_ attributes: [NSAttributeDescription]) -> NSManagedObjectModel {
      var builder = ModelBuilder()
      builder.entity("Cook", attributes)
      builder.entity("Recipe", [.make("title", .stringAttributeType)])
      return builder.model()
    }
    old = model([.make("name", .stringAttributeType)])
    new = model([.make("name", .stringAttributeType), .make("age", .integer16AttributeType)])
    store = try TemporaryStore()
    let context = try store.context(old)
    context.make("Cook", ["name": "Ada"])
    for title in ["Soup", "Bread"] { context.make("Recipe", ["title": title]) }
    try context.save()
    try store.close()
  }

  private func mapping(_ entities: [String], removing: [String] = []) throws -> NSMappingModel {
    let mapping = try NSMappingModel.inferredMappingModel(forSourceModel: old, destinationModel: new)
    mapping.entityMappings = mapping.entityMappings.filter { entities.contains($0.sourceEntityName ?? "") }
    for name in removing {
      let remove = NSEntityMapping()
      remove.mappingType = .removeEntityMappingType
      remove.sourceEntityName = name
      remove.sourceEntityVersionHash = old.entitiesByName[name]?.versionHash
      mapping.entityMappings.append(remove)
    }
    return mapping
  }

  private func open(_ mapping: NSMappingModel, _ options: [String: Any] = [:]) throws -> [String: Int] {
    let all: [String: Any] = [
      NSMigratePersistentStoresAutomaticallyOption: true, MigrationOption.models: [URL](),
      MigrationOption.mappings: [mapping],
    ]
    let context = try store.context(new, options: all.merging(options) { $1 })
    let counts = try ["Cook": context.all("Cook").count, "Recipe": context.all("Recipe", by: "title").count]
    try store.close()
    return counts
  }

  @Test("Opening the store fails with 134110, names them, and changes nothing; an option allows it")
  func leftOut() throws {
    let content = try Data(contentsOf: store.url)
    let error = try #require(throws: NSError.self) { try open(mapping(["Cook"])) }
    #expect(error.code == NSMigrationError)
    #expect(
      error.userInfo["reason"] as? String
        == "No entity mapping of the mapping model that was made in code covers 2 rows of 'Recipe', so this content would be "
        + "dropped.")
    #expect(error.userInfo["entity"] as? String == "Recipe")
    #expect(try Data(contentsOf: store.url) == content)
    #expect(throws: NSError.self) {
      try open(mapping(["Cook"]), [MigrationOption.allowsLoss: ["Cook", "Recipe.title"]])
    }
    #expect(try open(mapping(["Cook"]), [MigrationOption.allowsLoss: ["Recipe"]]) == ["Cook": 1, "Recipe": 0])
  }

  @Test("A mapping that removes them takes them")
  func removed() throws {
    #expect(try open(mapping(["Cook"], removing: ["Recipe"])) == ["Cook": 1, "Recipe": 0])
  }

  @Test("The report counts them before the migration")
  func report() throws {
    let path = StoreMigration.Step(
      source: "old", destination: "new", kind: .mapping, sourceModel: old, destinationModel: new,
      mappingModel: try mapping(["Cook"]), mappingURL: nil, reason: "")
    let whole = try StoreMigration(
      storeAt: store.url, metadata: SQLiteStore.metadataForPersistentStore(with: store.url),
      known: ModelVersions([.init(name: "old", model: old), .init(name: "new", model: new)]),
      destination: .init(name: "new", model: new), configuration: nil, allowsLoss: true)
    let migration = StoreMigration(whole, steps: [path], of: store.url, metadata: whole.metadata)
    let report = try migration.run()
    #expect(report.rows["Recipe"] == .init(before: 2, after: 0))
    #expect(report.rows["Cook"] == .init(before: 1, after: 1))
  }
}
