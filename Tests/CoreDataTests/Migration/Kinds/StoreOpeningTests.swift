// OpenCoreData
// SPDX-License-Identifier: Apache-2.0

import CoreDataTestSupport
import Foundation
import Testing

@testable import CoreData
@testable import CoreDataStoreFiles

@Suite("What opening a store decides")
struct StoreOpeningTests {
  private let notes: NoteVersions

  init() throws {
    notes = try NoteVersions()
    try notes.fill("v1")
  }

  private static var migrating: [AnyHashable: Any] {
    [
      NSMigratePersistentStoresAutomaticallyOption: true, NSInferMappingModelAutomaticallyOption: true,
      MigrationOption.models: [URL](), MigrationOption.mappings: [URL](),
    ]
  }

  private func opening(
    _ version: String, _ kind: NSPersistentStore.Type = SQLiteStore.self, _ options: [AnyHashable: Any] = Self.migrating
  ) throws -> StoreOpening {
    StoreOpening(
      of: kind, at: notes.store.url, with: try notes.model(version), configuration: nil, options: options,
      stageContainer: NSPersistentContainer.self)
  }

  private func stages() throws -> NSStagedMigrationManager {
    NSStagedMigrationManager([
      NSCustomMigrationStage(migratingFrom: try notes.reference("v1"), to: try notes.reference("v2"))
    ])
  }

  @Test("A store that fits is not migrated; for another, the kind of store and its options decide what migrates it")
  func ways() throws {
    let metadata = try notes.metadata()
    var staged = Self.migrating
    staged[NSPersistentStoreStagedMigrationManagerOptionKey] = try stages()
    #expect(try opening("v1").migration(from: metadata) == nil)
    #expect(try opening("v1", SQLiteStore.self, staged).migration(from: metadata) == nil)
    #expect(try opening("v2").migration(from: metadata) is AutomaticMigration)
    #expect(try opening("v2", SQLiteStore.self, staged).migration(from: metadata) is StagedMigration)
    for kind in [XMLStore.self, BinaryStore.self] as [NSPersistentStore.Type] {
      for options in [Self.migrating, staged] {
        #expect(try opening("v2", kind, options).migration(from: metadata) is FileStoreMigration)
      }
    }
  }

  @Test("A store with an unfinished stage does not fit, unless it is opened read-only or without stages")
  func unfinishedStage() throws {
    var metadata = try notes.metadata()
    let manager = try stages()
    // The code of a stage has begun, and its step has not run.
    metadata[StageRecord.key] = [StoreMetadata.StageKey.run: "1"]
    #expect(try opening("v1", SQLiteStore.self, Self.migrating).fits(metadata))
    metadata[StageRecord.key] = [
      StoreMetadata.StageKey.versions: manager.stages[0].checksums.joined(separator: " ")
    ]
    var options = Self.migrating
    #expect(try opening("v1", SQLiteStore.self, options).fits(metadata))
    options[NSPersistentStoreStagedMigrationManagerOptionKey] = manager
    #expect(try !opening("v1", SQLiteStore.self, options).fits(metadata))
    #expect(try !opening("v2", SQLiteStore.self, options).fits(metadata))
    options[NSReadOnlyPersistentStoreOption] = true
    #expect(try opening("v1", SQLiteStore.self, options).fits(metadata))
    #expect(try !opening("v2", SQLiteStore.self, options).fits(metadata))
  }

  @Test("134100 for a store that must not be migrated, 134110 for one that is read-only")
  func refusals() throws {
    let metadata = try notes.metadata()
    func code(_ options: [AnyHashable: Any]) throws -> Int {
      let opening = try opening("v2", SQLiteStore.self, options)
      let error = try #require(throws: NSError.self) { _ = try opening.migration(from: metadata) }
      return error.code
    }
    #expect(try code([:]) == NSPersistentStoreIncompatibleVersionHashError)
    #expect(try code([NSReadOnlyPersistentStoreOption: true]) == NSPersistentStoreIncompatibleVersionHashError)
    var options = Self.migrating
    options[NSReadOnlyPersistentStoreOption] = true
    #expect(try code(options) == NSMigrationError)
  }

  @Test("A store that another process migrates before each opening is examined again, until it fits")
  func overtaken() throws {
    let opening = try opening("v2")
    var attempts = 0
    let coordinator = NSPersistentStoreCoordinator(managedObjectModel: opening.model)
    let store = try opening.run {
      attempts += 1
      // Another program with the first version.
      if attempts < 3 {
        try FileManager.default.removeItem(at: notes.store.url)
        try notes.fill("v1")
      }
      let store = SQLiteStore(
        persistentStoreCoordinator: coordinator, configurationName: nil, at: opening.url, options: opening.options)
      try store.loadMetadata()
      return store
    }
    defer { store.willRemove(from: coordinator) }
    #expect(attempts == 3 && opening.fits(store.metadata))
  }
}
