// OpenCoreData
// SPDX-License-Identifier: Apache-2.0

import CoreDataSQLite
import CoreDataTestSupport
import Foundation
import Testing

@testable import CoreData

@Suite("Persistent history and migration")
struct HistoryMigrationTests {
  private func preserved(_ name: String, renamedFrom: String? = nil) -> NSAttributeDescription {
    let attribute = NSAttributeDescription.make(name, .stringAttributeType, renamedFrom: renamedFrom)
    attribute.preservesValueInHistoryOnDeletion = true
    return attribute
  }

  private func first() -> NSManagedObjectModel {
    var builder = ModelBuilder()
    builder.entity("Note", [preserved("a"), preserved("b"), .make("m", .stringAttributeType)])
    builder.entity("Memo", parent: "Note", [.make("n", .stringAttributeType)])
    builder.entity("Other", [.make("x", .stringAttributeType)])
    return builder.model()
  }

  private func second() -> NSManagedObjectModel {
    var builder = ModelBuilder()
    builder.entity("Alpha", [.make("x", .stringAttributeType)])
    builder.entity(
      "Note",
      [
        preserved("z", renamedFrom: "a"), preserved("b"), preserved("c"), .make("aa", .stringAttributeType),
        .make("m", .stringAttributeType),
      ])
    builder.entity("Memo", parent: "Note", [.make("n", .stringAttributeType)])
    builder.entity("Other", [.make("x", .stringAttributeType)])
    return builder.model()
  }

  @Test("A migration in place keeps history, with updated properties and tombstones under their new names")
  func inPlace() throws {
    let store = try TemporaryStore()
    var options = PersistentHistoryTests.tracked
    var context = try store.context(first(), options: options)
    let memo = context.make("Memo", ["a": "1", "b": "2", "m": "3", "n": "4"])
    context.make("Other", ["x": "5"])
    try context.save()
    memo["a"] = "6"
    memo["n"] = "7"
    try context.save()
    context.delete(memo)
    try context.save()
    let token = try PersistentHistoryTests.history(context)[0].token
    try store.close()

    options[NSMigratePersistentStoresAutomaticallyOption] = true
    options[NSInferMappingModelAutomaticallyOption] = true
    context = try store.context(second(), options: options)
    let history = try PersistentHistoryTests.history(context, after: token)
    #expect(history.map(\.transactionNumber) == [2, 3])
    let update = try #require(history[0].changes?.first)
    #expect(update.changedObjectID.entity.name == "Memo")
    #expect(Set(update.updatedProperties?.map(\.name) ?? []) == ["n", "z"])
    #expect(history[1].changes?.first?.tombstone as? [String: String] == ["b": "2", "z": "6"])
    context.delete(context.make("Note", ["c": "8"]))
    let note = context.make("Note", ["b": "9", "c": "10", "z": "11"])
    try context.save()
    context.delete(note)
    try context.save()
    let last = try #require(try PersistentHistoryTests.history(context).last)
    #expect(last.transactionNumber == 5)
    #expect(last.changes?.first?.tombstone as? [String: String] == ["b": "9", "c": "10", "z": "11"])
  }

  @Test("A migration by a mapping model begins a new history, and refuses earlier tokens")
  func byMapping() throws {
    let store = try TemporaryStore()
    let context = try store.context(first(), options: PersistentHistoryTests.tracked)
    for name in ["a", "b", "c"] {
      context.make("Other", ["x": name])
      try context.save()
    }
    let history = try PersistentHistoryTests.history(context)
    try store.close()
    let copy = store.folder.appendingPathComponent("Copy.sqlite")
    let (source, destination) = (first(), second())
    let manager = NSMigrationManager(sourceModel: source, destinationModel: destination)
    try manager.migrateStore(
      from: store.url, type: .sqlite,
      mapping: .inferredMappingModel(forSourceModel: source, destinationModel: destination),
      to: copy, type: .sqlite)
    let opened = try store.context(second(), options: PersistentHistoryTests.tracked, at: copy)
    #expect(try opened.all("Other", by: "x").count == 3)
    #expect(try PersistentHistoryTests.history(opened).isEmpty)
    #expect { try PersistentHistoryTests.history(opened, after: history[0].token) } throws: {
      ($0 as NSError).code == NSPersistentHistoryTokenExpiredError
    }
    opened.make("Other", ["x": "d"])
    try opened.save()
    #expect(try PersistentHistoryTests.history(opened, after: history[2].token).map(\.transactionNumber) == [4])
  }
}
