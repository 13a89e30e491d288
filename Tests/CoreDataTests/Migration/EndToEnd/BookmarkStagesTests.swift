// OpenCoreData
// SPDX-License-Identifier: Apache-2.0

import CoreDataTestSupport
import FaultInjection
import Foundation
import Testing

@testable import CoreData

/// Six published versions of bookmarks, by stages of which one has work of the app.
@Suite(
  "Bookmarks over six versions by stages",
  .enabled(if: Fixtures.isPresent, "The fixtures are not beside the repository"), .serialized)
struct BookmarkStagesTests {
  private static let models = Fixtures.url(
    "duckduckgo__BrowserServicesKit/Sources/Bookmarks/BookmarksModel.xcdatamodeld")

  private static func model(_ number: Int) throws -> NSManagedObjectModel {
    try .load(contentsOf: models, version: number == 1 ? "BookmarksModel" : "BookmarksModel \(number)")
  }

  private let count = 300
  private let store: TemporaryStore

  /// A folder with bookmarks in reversed order, every third of which is a favourite.
  init() throws {
    store = try TemporaryStore("Bookmarks – été.sqlite")
    let context = try store.context(try Self.model(1))
    func make(_ name: String, isFolder: Bool) -> NSManagedObject {
      context.make(
        "BookmarkEntity",
        ["uuid": name, "title": "Title of \(name)", "isFolder": isFolder, "isFavorite": false])
    }
    let (root, favourites) = (make("root", isFolder: true), make("favourites", isFolder: true))
    let bookmarks = (0..<count).map { make("b\($0)", isFolder: false) }
    root.setValue(NSOrderedSet(array: bookmarks.reversed()), forKey: "children")
    favourites.setValue(
      NSOrderedSet(array: bookmarks.enumerated().filter { $0.offset % 3 == 0 }.map(\.element).reversed()),
      forKey: "favorites")
    try context.save()
    try store.close()
  }

  /// The names of the bookmarks and of the favourites, in order.
  private static func content(_ context: NSManagedObjectContext) throws -> [[String]] {
    let all = try context.all("BookmarkEntity", by: "uuid")
    return [("root", "children"), ("favourites", "favorites")].map { folder, key in
      all.first { $0.text("uuid") == folder }?.names(key, "title") ?? []
    }
  }

  private func options(_ stages: [NSMigrationStage], deferring: Bool) -> [AnyHashable: Any] {
    [
      NSMigratePersistentStoresAutomaticallyOption: true, NSInferMappingModelAutomaticallyOption: true,
      NSPersistentStoreStagedMigrationManagerOptionKey: NSStagedMigrationManager(stages),
      NSPersistentStoreDeferredLightweightMigrationOptionKey: deferring,
      MigrationOption.models: [Self.models], MigrationOption.mappings: [URL](),
    ]
  }

  private struct Stopped: Error {}

  @Test("Handlers change data between light steps, also after one that was interrupted", arguments: [false, true])
  func stages(_ deferring: Bool) throws {
    func checksum(_ number: Int) throws -> String { try Self.model(number).versionChecksum }
    func reference(_ number: Int) throws -> NSManagedObjectModelReference {
      .init(fileURL: Self.models, versionChecksum: try checksum(number))
    }
    let custom = NSCustomMigrationStage(migratingFrom: try reference(3), to: try reference(4))
    var (runs, isStopped) = ([String](), true)
    custom.willMigrateHandler = { manager, _ in
      runs.append("will")
      let context = try #require(manager.container).newBackgroundContext()
      try context.performAndWait {
        for bookmark in try context.all("BookmarkEntity", by: "uuid")
        where bookmark.value(forKey: "favoriteFolder") != nil {
          bookmark.setValue("★ \(bookmark.text("uuid") ?? "")", forKey: "title")
        }
        try context.save()
      }
    }
    custom.didMigrateHandler = { manager, _ in
      runs.append("did")
      if isStopped {
        isStopped = false
        throw Stopped()
      }
      let context = try #require(manager.container).newBackgroundContext()
      try context.performAndWait {
        let folder = try #require(
          try context.all("BookmarkEntity", by: "uuid").first { $0.text("uuid") == "favourites" })
        let favourites = try #require(folder.value(forKey: "favorites") as? NSOrderedSet)
        folder.setValue(favourites.reversed, forKey: "favorites")
        try context.save()
      }
    }
    let stages = [
      NSLightweightMigrationStage([try checksum(1), try checksum(2)]), custom,
      NSLightweightMigrationStage([try checksum(5), try checksum(6)]),
    ]
    let error = try #require(throws: NSError.self) {
      _ = try store.context(try Self.model(6), options: options(stages, deferring: deferring))
    }
    #expect(error.domain == NSCocoaErrorDomain && error.code == NSMigrationError)
    let halfway = try NSPersistentStoreCoordinator.metadataForPersistentStore(type: .sqlite, at: store.url)
    #expect(try Self.model(4).isConfiguration(withName: nil, compatibleWithStoreMetadata: halfway))
    let expected = [
      (0..<count).reversed().map { $0 % 3 == 0 ? "★ b\($0)" : "Title of b\($0)" },
      (0..<count).filter { $0 % 3 == 0 }.map { "★ b\($0)" },
    ]
    for _ in 0..<2 {
      let context = try store.context(try Self.model(6), options: options(stages, deferring: deferring))
      #expect(try Self.content(context) == expected)
      try store.close()
    }
    #expect(runs == ["will", "did", "did"])
    #expect(try store.files() == [store.url.lastPathComponent])
    guard deferring else { return try StoreChecks.check(store.url, try Self.model(6)) }
    #if os(Linux)
    try finish(expected)
    #endif
  }

  #if os(Linux)
  /// Finishes what was deferred while every call of the file system fails in turn.
  private func finish(_ expected: [[String]]) throws {
    let key = NSPersistentStoreDeferredLightweightMigrationOptionKey
    func isPending() throws -> Bool {
      try NSPersistentStoreCoordinator.metadataForPersistentStore(type: .sqlite, at: store.url)[key] as? Bool == true
    }
    #expect(try isPending())
    var (number, refused) = (1, 0)
    while try isPending() {
      let context = try store.context(try Self.model(6))
      let failure = Faults.run(below: store.folder, call: number, FaultKindOnce, error: ENOSPC) {
        try context.persistentStoreCoordinator?.finishDeferredLightweightMigrationTask()
      }.failure.map { $0 as NSError }
      #expect(failure == nil || failure?.domain == NSCocoaErrorDomain)
      if failure != nil { refused += 1 }
      context.reset()
      #expect(try Self.content(context) == expected, "call \(number)")
      try store.close()
      number += 1
      try #require(number < 500)
    }
    #expect(refused > 0)
    try StoreChecks.check(store.url, try Self.model(6))
  }
  #endif
}
