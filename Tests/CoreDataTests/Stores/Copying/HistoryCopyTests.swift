// OpenCoreData
// SPDX-License-Identifier: Apache-2.0

import CoreDataTestSupport
import Foundation
import Testing

@testable import CoreData
@testable import CoreDataStoreFiles

@Suite("History copied with the rows")
struct HistoryCopyTests {
  private let bench: CopyBench
  private let source: any RowStore
  private let coordinator: NSPersistentStoreCoordinator

  /// A store with three transactions, of which the first has been deleted.
  init() throws {
    bench = try CopyBench()
    coordinator = NSPersistentStoreCoordinator(managedObjectModel: bench.model)
    source = try #require(
      try coordinator.addPersistentStore(
        type: .sqlite, at: bench.place("Source"), options: PersistentHistoryTests.tracked) as? any RowStore)
    let context = NSManagedObjectContext(.privateQueue)
    context.persistentStoreCoordinator = coordinator
    try context.performAndWait {
      context.make("Task", ["title": "early"])
      try context.save()
      context.transactionAuthor = "Ada"
      let task = context.make("Task", ["title": "a"])
      let employee = context.make("Employee", ["name": "e"])
      try context.save()
      context.transactionAuthor = "Bob"
      employee["age"] = 5
      context.delete(task)
      try context.save()
    }
    _ = try store(source).deleteHistory(before: .number(2))
  }

  private func store(_ store: any RowStore) throws -> SQLiteStore { try #require(store as? SQLiteStore) }

  private func history(_ store: SQLiteStore) throws -> [String] {
    var lines: [String] = []
    let last = try store.readStoredHistory { transaction, changes in
      lines.append("\(transaction.number) \(transaction.time) \(transaction.origin)")
      for (change, entity) in changes {
        let columns = change.columns.map { "\(Array($0))" } ?? "none"
        lines.append("\(change.number) \(change.kind) \(entity) \(change.key) \(columns) \(change.tombstones)")
      }
    }
    return lines + ["last \(last)"]
  }

  @Test("Transactions and changes keep their numbers, times, authors and properties, and new ones follow")
  func copying() throws {
    let expected = try history(store(source))
    #expect(expected.count == 7 && expected.last == "last 3", "\(expected)")
    let copy = try bench.open(SQLiteStore.self, bench.place("Copy"), bench.model, PersistentHistoryTests.tracked)
    defer { bench.close(copy) }
    var settings = CopySettings()
    settings.copiesHistory = true
    try bench.copy(source, into: copy, settings)
    #expect(try history(store(copy)) == expected)
    let task = try #require(bench.model.entitiesByName["Task"])
    let id = try #require(try store(copy).makeIdentifiers(for: [task]).first)
    let slots = task.slotTable.defaults
    try store(copy).writeRows([RowChange(kind: .insert, id: id, old: nil, slots: slots, changed: SlotSet())])
    #expect(try store(copy).lastTransaction() == 4)
  }

  @Test("Without the setting, the copy's own history begins with the rows; where there is none, copying it is an error")
  func without() throws {
    let tracked = try bench.open(SQLiteStore.self, bench.place("Copy"), bench.model, PersistentHistoryTests.tracked)
    defer { bench.close(tracked) }
    try bench.copy(source, into: tracked)
    let lines = try history(store(tracked))
    #expect(lines.count { $0.contains("insert") } == 2 && !lines.contains { $0.contains("Bob") })
    let plain = try bench.open(SQLiteStore.self, bench.place("Plain"), bench.model)
    defer { bench.close(plain) }
    var settings = CopySettings()
    settings.copiesHistory = true
    for kind in [XMLStore.self, InMemoryStore.self] as [NSPersistentStore.Type] {
      let other = try bench.made(kind, "Other\(kind)", for: source)
      #expect(throws: NSError.self) { try bench.copy(source, into: other, settings) }
      bench.close(other)
    }
    let target = try bench.open(SQLiteStore.self, bench.place("Target"), bench.model)
    defer { bench.close(target) }
    #expect { try bench.copy(plain, into: target, settings) } throws: {
      ($0 as NSError).code == NSPersistentStoreUnsupportedRequestTypeError
    }
  }
}
