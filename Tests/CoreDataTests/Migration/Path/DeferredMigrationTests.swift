// OpenCoreData
// SPDX-License-Identifier: Apache-2.0

import CoreDataSQLite
import CoreDataTestSupport
import Foundation
import Testing

@testable import CoreData

@Suite("Deferred lightweight migration")
struct DeferredMigrationTests {
  private let store: TemporaryStore
  private let key = NSPersistentStoreDeferredLightweightMigrationOptionKey

  init() throws {
    store = try TemporaryStore()
    let context = try store.context(Self.model(1))
    let folder = context.make("Folder", ["name": "box", "size": 3])
    for name in ["one", "two", "three"] {
      let note = context.make("Note", ["name": name, "old": "x", "extra": 1])
      note.setValue(folder, forKey: "folder")
    }
    try context.save()
    try store.close()
  }

  /// 1: with all; 2: without `old` and `size`, and with notes in no order; 3: with another `old`, and a `new`.
  static func model(_ version: Int) -> NSManagedObjectModel {
    var builder = ModelBuilder()
    var note: [NSAttributeDescription] = [.make("name", .stringAttributeType), .make("extra", .integer16AttributeType)]
    if version == 1 { note.append(.make("old", .stringAttributeType)) }
    if version == 3 { note += [.make("old", .integer16AttributeType, default: 5), .make("new", .stringAttributeType)] }
    builder.entity("Note", note)
    builder.entity(
      "Folder",
      [.make("name", .stringAttributeType)] + (version == 1 ? [.make("size", .integer16AttributeType)] : []))
    builder.relate(
      .init("Folder", "notes", toMany: true, ordered: version == 1), .init("Note", "folder"))
    return builder.model()
  }

  private func open(_ version: Int, deferring: Bool = true) throws -> NSManagedObjectContext {
    try store.context(
      Self.model(version),
      options: [
        NSMigratePersistentStoresAutomaticallyOption: true, NSInferMappingModelAutomaticallyOption: true,
        MigrationOption.allowsLoss: true, key: deferring,
      ])
  }

  private func isPending() throws -> Bool {
    try NSPersistentStoreCoordinator.metadataForPersistentStore(type: .sqlite, at: store.url)[key] as? Bool == true
  }

  private func columns(_ table: String) throws -> [String] {
    let connection = try SQLiteConnection(url: store.url, mode: .readOnly)
    let names = try connection.catalog().table(named: table)?.columns.map(\.name) ?? []
    try connection.close()
    return names
  }

  private func check(_ context: NSManagedObjectContext, _ names: [String] = ["one", "three", "two"]) throws {
    #expect(try context.all("Note").map { $0["name"] as? String } == names)
    let folder = try #require(try context.all("Folder").first)
    #expect((folder.value(forKey: "notes") as? Set<NSManagedObject>)?.count == names.count)
  }

  @Test("Superfluous columns stay, the metadata say so, and the store can be used")
  func pending() throws {
    let context = try open(2)
    try check(context)
    #expect(context.persistentStoreCoordinator?.persistentStores.first?.metadata[key] as? Bool == true)
    #expect(try columns("ZNOTE").contains("ZOLD"))
    #expect(try columns("ZNOTE").contains("Z_FOK_FOLDER"))
    #expect(try columns("ZFOLDER").contains("ZSIZE"))
    let note = context.make("Note", ["name": "zero"])
    note.setValue(try context.all("Folder").first, forKey: "folder")
    try context.all("Note")[0]["extra"] = 9
    try context.save()
    try store.close()
    #expect(try isPending())
    // The option is not needed to open it again, and the work stays to be done.
    let again = try store.context(Self.model(2))
    try check(again, ["one", "three", "two", "zero"])
    try store.close()
    #expect(try isPending())
  }

  @Test("A task is one table; with the last one the key disappears, and the store is as a new one")
  func tasks() throws {
    let context = try open(2)
    let coordinator = try #require(context.persistentStoreCoordinator)
    try coordinator.finishDeferredLightweightMigrationTask()
    #expect(try isPending())
    #expect(try columns("ZFOLDER").contains("ZSIZE") != columns("ZNOTE").contains("ZOLD"))
    try check(context)
    // As after a kill: another process goes on.
    try store.close()
    let next = try open(2)
    let other = try #require(next.persistentStoreCoordinator)
    try other.finishDeferredLightweightMigrationTask()
    #expect(try !isPending())
    #expect(other.persistentStores.first?.metadata[key] == nil)
    try other.finishDeferredLightweightMigrationTask()
    next.make("Note", ["name": "after"])
    try next.save()
    try store.close()
    #expect(try !isPending())
    try StoreChecks.check(store.url, Self.model(2))
  }

  @Test("All tasks in one call")
  func finish() throws {
    let context = try open(2)
    try check(context)
    try context.persistentStoreCoordinator?.finishDeferredLightweightMigration()
    context.reset()
    try check(context)
    try store.close()
    #expect(try !isPending())
    try StoreChecks.check(store.url, Self.model(2))
  }

  @Test("Without the option nothing is left to do")
  func notDeferred() throws {
    try check(open(2, deferring: false))
    try store.close()
    #expect(try !isPending())
    try StoreChecks.check(store.url, Self.model(2))
  }

  @Test("A step that leaves nothing superfluous leaves no key")
  func nothingToDefer() throws {
    _ = try open(2, deferring: false)
    try store.close()
    _ = try open(3)
    try store.close()
    #expect(try !isPending())
    try StoreChecks.check(store.url, Self.model(3))
  }

  @Test("A migration on top, with a column of the name of one that is left over", arguments: [true, false])
  func onTop(_ deferring: Bool) throws {
    _ = try open(2)
    try store.close()
    let context = try open(3, deferring: deferring)
    try check(context)
    #expect(try context.all("Note").map { $0["old"] as? Int } == [5, 5, 5])
    try store.close()
    #expect(try isPending() == deferring)
    let again = try open(3)
    try again.persistentStoreCoordinator?.finishDeferredLightweightMigration()
    try check(again)
    try store.close()
    try StoreChecks.check(store.url, Self.model(3))
  }

  @Test("A store that may only be read keeps its work")
  func readOnly() throws {
    _ = try open(2)
    try store.close()
    let context = try store.context(Self.model(2), options: [NSReadOnlyPersistentStoreOption: true])
    let error = try #require(throws: NSError.self) {
      try context.persistentStoreCoordinator?.finishDeferredLightweightMigration()
    }
    #expect(error.code == CocoaError.Code.fileWriteNoPermission.rawValue)
    try store.close()
    #expect(try isPending())
  }
}
