// OpenCoreData
// SPDX-License-Identifier: Apache-2.0

import CoreDataTestSupport
import Foundation
import Testing

@testable import CoreData
@testable import CoreDataStoreFiles

@Suite("Copies that are committed in parts")
struct PartialCopyTests {
  private let bench: CopyBench
  private static let registration: Void = StoreKinds.register(PartialStore.self, for: "PartialStore")

  init() throws {
    _ = Self.registration
    bench = try CopyBench()
  }

  private static var settings: CopySettings {
    var settings = CopySettings()
    (settings.pageLimit, settings.partSize) = (2, 2)
    return settings
  }

  private func destination(_ name: String, _ source: any RowStore, allowing writes: Int? = nil) throws -> PartialStore {
    let store = try #require(try bench.made(PartialStore.self, name, for: source) as? PartialStore)
    store.allowedWrites = writes
    return store
  }

  /// Copies until a write fails, and closes the store.
  private func interrupt(_ name: String, _ source: any RowStore, after writes: Int) throws {
    let store = try destination(name, source, allowing: writes)
    #expect(throws: PartialStore.Failure.self) { try bench.copy(source, into: store, Self.settings) }
    bench.close(store)
  }

  @Test("A copy that fails at any write goes on from there, and ends with an equal digest")
  func everyWrite() throws {
    let source = try bench.company(people: 7)
    defer { bench.close(source) }
    let before = try StoreDigest(of: source, bench.model)
    let whole = try destination("Whole", source)
    let expected = try #require(try bench.copy(source, into: whole, Self.settings).digest)
    let count = whole.writes
    #expect(count > 8 && whole.commits > 8)
    #expect(whole.metadata[StoreMetadata.Key.unfinishedCopy] == nil)
    bench.close(whole)
    for writes in 0..<count {
      let name = "Copy\(writes)"
      try interrupt(name, source, after: writes)
      #expect(try StoreDigest(of: source, bench.model) == before)
      let second = try destination(name, source)
      #expect(second.metadata[StoreMetadata.Key.unfinishedCopy] != nil, "\(writes)")
      let result = try bench.copy(source, into: second, Self.settings)
      #expect(result.digest == expected)
      #expect(second.writes <= count - max(0, writes - 1), "\(writes): \(second.writes) of \(count)")
      bench.close(second)
      let reopened = try bench.open(PartialStore.self, bench.place(name), bench.model)
      #expect(try StoreDigest(of: reopened, bench.model) == expected)
      bench.close(reopened)
    }
  }

  @Test("A copy that is interrupted again and again ends too")
  func often() throws {
    let source = try bench.company(people: 7)
    defer { bench.close(source) }
    let whole = try destination("Whole", source)
    let expected = try bench.copy(source, into: whole, Self.settings).digest
    bench.close(whole)
    var tries = 0
    while true {
      tries += 1
      let store = try destination("Copy", source, allowing: 2)
      defer { bench.close(store) }
      do {
        #expect(try bench.copy(source, into: store, Self.settings).digest == expected)
        break
      } catch is PartialStore.Failure { try #require(tries < 100) }
    }
    #expect(tries > 4)
  }

  @Test(
    "A store with an unfinished copy is not opened as a store, and not by a migration; the copy ends by the public function"
  )
  func opening() throws {
    let source = try bench.company(people: 5)
    let coordinator = try #require(source.persistentStoreCoordinator)
    let before = try StoreDigest(of: source, bench.model).count
    try interrupt("Copy", source, after: 3)
    let other = NSPersistentStoreCoordinator(managedObjectModel: bench.model)
    let error = try #require(throws: NSError.self) {
      try other.addPersistentStore(type: .init(rawValue: "PartialStore"), at: bench.place("Copy"))
    }
    #expect(error.code == NSPersistentStoreOpenError && other.persistentStores.isEmpty)
    let reason = error.localizedFailureReason ?? ""
    #expect(reason.contains("was interrupted") && reason.contains(source.identifier))
    let (moved, result) = try coordinator.copyPersistentStore(
      source, to: bench.place("Copy"), type: .init(rawValue: "PartialStore"), Self.settings)
    #expect(result?.digest?.count == before)
    try coordinator.remove(moved)
    let opened = try other.addPersistentStore(type: .init(rawValue: "PartialStore"), at: bench.place("Copy"))
    try other.remove(opened)
    // A complete store is in the way of another copy.
    let again = try coordinator.addPersistentStore(type: .sqlite, at: bench.place("Source"))
    #expect(throws: NSError.self) {
      try coordinator.copyPersistentStore(again, to: bench.place("Copy"), type: .init(rawValue: "PartialStore"))
    }
    try coordinator.remove(again)
  }

  @Test("A copy of another store, or of one that has been changed, is refused and leaves the destination as it was")
  func otherSources() throws {
    let source = try bench.company(people: 5)
    try interrupt("Copy", source, after: 3)
    let saved = try #require(PartialStore.saved(at: bench.place("Copy")))
    func refusal(_ source: any RowStore) throws -> String {
      let store = try destination("Copy", source)
      defer { bench.close(store) }
      let error = try #require(throws: NSError.self) { try bench.copy(source, into: store, Self.settings) }
      #expect(error.code == NSPersistentStoreOperationError)
      return error.localizedFailureReason ?? ""
    }
    let elsewhere = try CopyBench()
    let other = try elsewhere.company(people: 5)
    #expect(try refusal(other).contains("The source had the UUID \(source.identifier ?? "none")"))
    elsewhere.close(other)
    let coordinator = try #require(source.persistentStoreCoordinator)
    let context = NSManagedObjectContext(.privateQueue)
    context.persistentStoreCoordinator = coordinator
    try context.performAndWait {
      try context.all("Task", by: "title").first?.setValue("changed", forKey: "title")
      try context.save()
    }
    #expect(try refusal(source).contains("has been changed"))
    #expect(PartialStore.saved(at: bench.place("Copy"))?.tables.allRows.count == saved.tables.allRows.count)
    #expect(CopyProgress(propertyList: saved.metadata[StoreMetadata.Key.unfinishedCopy]) != nil)
    try coordinator.remove(source)
  }
}
