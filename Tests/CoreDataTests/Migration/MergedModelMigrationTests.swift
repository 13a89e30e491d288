// OpenCoreData
// SPDX-License-Identifier: Apache-2.0

import CoreDataSQLite
import CoreDataTestSupport
import Foundation
import Testing

@testable import CoreData

@Suite("Automatic migration to a model that is merged when the program runs")
struct MergedModelMigrationTests {
  private let store: TemporaryStore

  init() throws {
    store = try TemporaryStore()
  }

  private func model(_ name: String, version: String) throws -> NSManagedObjectModel {
    try .load(
      contentsOf: #require(Bundle.module.url(forResource: name, withExtension: "xcdatamodeld")),
      version: version)
  }

  /// A store of the first versions of both models, which does not carry its own model.
  private func fill() throws {
    let context = try store.context(.merging([model("Books", version: "Books"), model("Readers", version: "Readers")]))
    context.make("Book", ["title": "Emma"])
    context.make("Reader", ["name": "Nora"])
    try context.save()
    try store.close()
    try SQLiteConnection.execute("DELETE FROM Z_MODELCACHE", at: store.url)
    #expect(try SQLiteStore.carriedModel(at: store.url) == nil)
  }

  private func checkMigration(to model: NSManagedObjectModel) throws {
    let options = [NSMigratePersistentStoresAutomaticallyOption: true, NSInferMappingModelAutomaticallyOption: true]
    let context = try store.context(model, options: options)
    let dump = try StoreDump(context)
    #expect(dump.objects.count == 2)
    #expect(dump.values("Book", "name") == ["Emma"])
    #expect(dump.values("Book", "pages") == ["100"])
    #expect(dump.values("Reader", "name") == ["Nora"])
    #expect(dump.values("Reader", "since") == ["nil"])
    try store.close()
    try StoreChecks.check(store.url, model)
  }

  @Test("The versions of the files that it was merged from are found, wherever they are")
  func fromItsFiles() throws {
    try fill()
    let merged = try #require(NSManagedObjectModel.mergedModel(from: [.module]))
    #expect(merged.origins.map(\.lastPathComponent) == ["Books.xcdatamodeld", "Readers.xcdatamodeld"])
    let search = SourceModelSearch(for: merged, in: ModelSearch(folders: []))
    let metadata = try NSPersistentStoreCoordinator.metadataForPersistentStore(type: .sqlite, at: store.url)
    let version = try #require(search.version(fitting: metadata, configuration: nil))
    #expect(version.version.name == "Books of Books + Readers of Readers")
    try checkMigration(to: merged)
  }

  @Test("A model that was made in code is migrated to from versions in the resource bundles beside the executable")
  func fromTheProgram() throws {
    try fill()
    let document = try NSManagedObjectModel.merging([
      model("Books", version: "Books 2"), model("Readers", version: "Readers 2"),
    ]).document
    let made = try NSManagedObjectModel(document: document)
    #expect(made.origins.isEmpty)
    try checkMigration(to: made)
  }

  @Test("Where no version fits, the error names the models that were looked at, and the store is untouched")
  func notFound() throws {
    let context = try store.context(ModelFolder.model(["Book": ["strange"]]))
    context.make("Book", ["strange": "x"])
    try context.save()
    try store.close()
    try SQLiteConnection.execute("DELETE FROM Z_MODELCACHE", at: store.url)
    let before = try Data(contentsOf: store.url)
    let merged = try #require(NSManagedObjectModel.mergedModel(from: [.module]))
    let options = [NSMigratePersistentStoresAutomaticallyOption: true, NSInferMappingModelAutomaticallyOption: true]
    let error = try #require(throws: NSError.self) { try store.context(merged, options: options) }
    #expect(error.code == NSMigrationMissingSourceModelError)
    #expect(error.localizedFailureReason?.contains("Readers.xcdatamodeld") == true)
    #expect(try Data(contentsOf: store.url) == before)
  }
}
