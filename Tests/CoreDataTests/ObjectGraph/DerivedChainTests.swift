// OpenCoreData
// SPDX-License-Identifier: Apache-2.0

import CoreDataTestSupport
import Foundation
import Testing

@testable import CoreData

@Suite("Attributes that are derived from derived attributes")
struct DerivedChainTests {
  private let store: TemporaryStore

  init() throws { store = try TemporaryStore() }

  /// Books and their authors. The names of the derived attributes sort before those that they read.
  private func model(isDerived: Bool = true) -> NSManagedObjectModel {
    let author: [NSAttributeDescription] = [
      .derived("a", .stringAttributeType, "canonical:(b)"), .derived("b", .stringAttributeType, "lowercase:(name)"),
    ]
    let book: [NSAttributeDescription] = [
      .derived("d", .stringAttributeType, "uppercase:(e)"), .derived("e", .stringAttributeType, "lowercase:(f)"),
      .derived("f", .stringAttributeType, "author.a"),
    ]
    var builder = ModelBuilder()
    builder.entity("Author", [.make("name", .stringAttributeType)] + (isDerived ? author : []))
    builder.entity("Book", [.make("name", .stringAttributeType)] + (isDerived ? book : []))
    builder.relate(.init("Author", "books", toMany: true), .init("Book", "author"))
    return builder.model()
  }

  private func fill(_ context: NSManagedObjectContext) throws {
    context.make("Book", ["name": "x", "author": context.make("Author", ["name": "Élan"])])
    try context.save()
  }

  private func values(_ context: NSManagedObjectContext) throws -> [String?] {
    context.reset()
    let book = try #require(try context.all("Book").first)
    let author = try #require(book["author"] as? NSManagedObject)
    return ["a", "b"].map { author.text($0) } + ["d", "e", "f"].map { book.text($0) }
  }

  @Test("They are computed by a save")
  func save() throws {
    let context = try store.context(model())
    try fill(context)
    #expect(try values(context) == ["elan", "élan", "ELAN", "elan", "elan"])
  }

  @Test("They are computed by a migration in place")
  func migration() throws {
    try fill(store.context(model(isDerived: false)))
    try store.close()
    let context = try store.context(
      model(),
      options: [NSMigratePersistentStoresAutomaticallyOption: true, NSInferMappingModelAutomaticallyOption: true])
    #expect(try values(context) == ["elan", "élan", "ELAN", "elan", "elan"])
  }

  @Test("They are computed by a migration manager, with and without SQL", arguments: [true, false])
  func manager(usesSQL: Bool) throws {
    let (old, new) = (model(isDerived: false), model())
    try fill(store.context(old))
    let manager = NSMigrationManager(sourceModel: old, destinationModel: new)
    manager.usesStoreSpecificMigrationManager = usesSQL
    let target = store.folder.appendingPathComponent("Target.sqlite")
    let mapping = try NSMappingModel.inferredMappingModel(forSourceModel: old, destinationModel: new)
    try manager.migrateStore(from: store.url, type: .sqlite, mapping: mapping, to: target, type: .sqlite)
    #expect(try values(store.context(new, at: target)) == ["elan", "élan", "ELAN", "elan", "elan"])
  }

  @Test("They are computed by batch requests, and recorded in history")
  func batch() throws {
    let context = try store.context(model(), options: [NSPersistentHistoryTrackingKey: true])
    try fill(context)
    let update = NSBatchUpdateRequest(entityName: "Author")
    update.propertiesToUpdate = ["name": "Çok"]
    try context.execute(update)
    #expect(try values(context) == ["cok", "çok", "COK", "cok", "cok"])
    let request = NSPersistentHistoryChangeRequest.fetchHistory(after: nil as NSPersistentHistoryToken?)
    let result = try #require(try context.execute(request) as? NSPersistentHistoryResult)
    let changes = try #require((result.result as? [NSPersistentHistoryTransaction])?.last?.changes)
    let names = changes.map { change in
      "\(change.changedObjectID.entity.name ?? "") "
        + (change.updatedProperties ?? []).map(\.name).sorted().joined(separator: ", ")
    }
    #expect(names.sorted() == ["Author a, b, name", "Book d, e, f"])
    let delete = NSBatchDeleteRequest(fetchRequest: NSFetchRequest(entityName: "Author"))
    try context.execute(delete)
    context.reset()
    let book = try #require(try context.all("Book").first)
    #expect(["d", "e", "f"].map { book.text($0) } == [nil, nil, nil])
  }
}
