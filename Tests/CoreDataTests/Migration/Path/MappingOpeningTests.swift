// OpenCoreData
// SPDX-License-Identifier: Apache-2.0

import CoreDataTestSupport
import Foundation
import Testing

@testable import CoreData
@testable import CoreDataMigration

@Suite("Stores opened with mapping models on the way")
struct MappingOpeningTests {
  private let notes: NoteVersions

  init() throws {
    notes = try NoteVersions()
    try notes.fill("v1")
  }

  private func values(_ version: String, _ property: String) throws -> [String?] {
    let context = try notes.store.context(notes.model(version))
    let values = try context.all("Note").map { $0[property] as? String }
    try notes.store.close()
    return values
  }

  private func stores() throws -> [String] { try notes.store.files().filter { $0.hasPrefix("Store") } }

  @Test("A mapping model between inferred steps is carried out, and the replaced store stays as Core Data names it")
  func chain() throws {
    try notes.writeMapping("v2", "v3")
    #expect(try notes.open("v4") == ["one", "two"])
    // Inference would leave it empty.
    #expect(try values("v4", "a") == ["one", "two"])
    #expect(try stores().contains("Store~.sqlite"))
    try StoreChecks.check(notes.store.url, try notes.model("v4"))
    let kept = notes.store.folder.appendingPathComponent("Store~.sqlite")
    let metadata = try NSPersistentStoreCoordinator.metadataForPersistentStore(type: .sqlite, at: kept)
    #expect(try notes.model("v1").isConfiguration(withName: nil, compatibleWithStoreMetadata: metadata))
    #expect(metadata[NSStoreUUIDKey] as? String == (try notes.metadata()[NSStoreUUIDKey] as? String))
  }

  @Test("The replaced store goes where that is asked for; a migration in place leaves none")
  func nothingKept() throws {
    try notes.open("v2")
    #expect(try !stores().contains("Store~.sqlite"))
    try notes.writeMapping("v2", "v3")
    try notes.open("v3", [MigrationOption.keepsReplacedStore: false])
    #expect(try values("v3", "a") == ["one", "two"])
    #expect(try !stores().contains("Store~.sqlite"))
    #expect(try notes.store.files().filter { $0.hasPrefix(".") } == [])
  }

  @Test("Without inference a chain of mapping models alone is gone")
  func mappingsAlone() throws {
    try notes.writeMapping("v1", "v2")
    try notes.writeMapping("v2", "v3")
    let options = [NSInferMappingModelAutomaticallyOption: false]
    let error = try #require(throws: NSError.self) {
      try notes.open("v3", options.merging([MigrationOption.isProgressive: false]) { $1 })
    }
    #expect(error.code == NSMigrationMissingMappingModelError)
    #expect(try notes.version() == "v1")
    #expect(try notes.open("v3", options) == ["one", "two"])
    #expect(try values("v3", "a") == ["one", "two"])
  }

  @Test("A model that is one file of a folder of versions knows those beside it", arguments: [true, false])
  func singleFile(_ isKnownBeside: Bool) throws {
    for (source, destination) in [("v1", "v2"), ("v2", "v3"), ("v3", "v4")] {
      try notes.writeMapping(source, destination)
    }
    var file = notes.url.appendingPathComponent("v4.mom")
    var models: [URL] = []
    if !isKnownBeside {
      // A file of its own, and the versions elsewhere in the program.
      file = notes.store.folder.appendingPathComponent("Alone.mom")
      try FileManager.default.copyItem(at: notes.url.appendingPathComponent("v4.mom"), to: file)
      models = [notes.url]
    }
    let context = try notes.store.context(
      .load(contentsOf: file),
      options: [
        NSMigratePersistentStoresAutomaticallyOption: true, MigrationOption.models: models,
        MigrationOption.mappings: [notes.mappings],
      ])
    #expect(try context.all("Note").compactMap { $0["a"] as? String } == ["one", "two"])
    try notes.store.close()
  }

  @Test("A mapping model that was made in code")
  func inCode() throws {
    let url = try notes.writeMapping("v1", "v3")
    let mapping = try NSMappingModel.load(contentsOf: url)
    #expect(try notes.open("v3", [MigrationOption.mappings: [mapping]]) == ["one", "two"])
    #expect(try values("v3", "a") == ["one", "two"])
  }

  @Test("A policy that fails leaves the store as it was")
  func failingPolicy() throws {
    try notes.writeMapping("v2", "v3", policy: "CoreDataTests.FailingNotePolicy")
    #expect(throws: FailingNotePolicy.Failure.self) { try notes.open("v4") }
    #expect(try notes.version() == "v1")
    #expect(try stores().filter { $0.contains("~") } == [])
    try FileManager.default.removeItem(at: notes.mappings.appendingPathComponent("v2tov3.cdm"))
    #expect(try notes.open("v4") == ["one", "two"])
  }

  @Test(
    "The error of a policy, and the one that a migration is cancelled with, come out of opening a store as they are",
    arguments: [("App", 7), (NSCocoaErrorDomain, 4), ("App", NSMigrationError), ("App", 260)], [false, true])
  func foreignError(_ error: (String, Int), cancels: Bool) throws {
    try notes.writeMapping("v2", "v3", policy: "CoreDataTests.ForeignErrorPolicy")
    let factory = MigrationManagerFactory { source, destination in
      let manager = NSMigrationManager(sourceModel: source, destinationModel: destination)
      manager.userInfo = ["domain": error.0, "code": error.1, "cancels": cancels]
      return manager
    }
    // Not by `#require(throws:)`, whose cast finds the domain that a `CocoaError` made of the error has lost.
    var thrown: (any Error)?
    do { _ = try notes.open("v4", [MigrationOption.managerFactory: factory]) } catch { thrown = error }
    let found = try #require(thrown.map { $0 as NSError })
    #expect(found.domain == error.0 && found.code == error.1)
    #expect(found.userInfo["mine"] as? Int == 1)
    #expect(try notes.version() == "v1")
  }

  @Test("Mapping models for parts of the entities complement one another")
  func parts() throws {
    let files = ["A", "B"].map { name in
      let mapping = NSMappingModel()
      let entity = NSEntityMapping()
      (entity.name, entity.sourceEntityName, entity.destinationEntityName) = (name, name, name)
      mapping.entityMappings = [entity]
      return MappingFile(mapping)
    }
    let joined = try CombinedMappingModel(files, source: NSManagedObjectModel(), destination: NSManagedObjectModel())
    #expect(joined.model.entityMappings.map(\.name) == ["A", "B"])
    #expect(joined.reason.contains("made in code is for them too, and maps 'B'."))
    let again = try CombinedMappingModel(
      files + [files[0]], source: NSManagedObjectModel(), destination: NSManagedObjectModel())
    #expect(again.model.entityMappings.count == 2)
    #expect(again.reason.contains("is not used: it maps no other entities."))
  }
}

/// Fails with an error that the manager's `userInfo` tells, thrown or as the reason of a cancellation.
final class ForeignErrorPolicy: NSEntityMigrationPolicy {
  override func begin(_ mapping: NSEntityMapping, with manager: NSMigrationManager) throws {
    let info = manager.userInfo ?? [:]
    let error = NSError(
      domain: info["domain"] as? String ?? "", code: info["code"] as? Int ?? 0, userInfo: ["mine": 1])
    guard info["cancels"] as? Bool == true else { throw error }
    manager.cancelMigrationWithError(error)
  }
}
