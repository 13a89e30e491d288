// OpenCoreData
// SPDX-License-Identifier: Apache-2.0

import CoreDataTestSupport
import Foundation
import Testing

@testable import CoreData
@testable import CoreDataStoreFiles

@Suite("Staged migration")
struct StagedMigrationTests {
  private let notes: NoteVersions

  init() throws {
    notes = try NoteVersions()
    try notes.fill("v1")
  }

  struct Broken: Error {}

  private func custom(_ from: String, _ to: String) throws -> NSCustomMigrationStage {
    NSCustomMigrationStage(migratingFrom: try notes.reference(from), to: try notes.reference(to))
  }

  private func options(_ stages: [NSMigrationStage]) -> [String: Any] {
    [NSPersistentStoreStagedMigrationManagerOptionKey: NSStagedMigrationManager(stages)]
  }

  private func failure(_ version: String, _ options: [String: Any]) throws -> NSError {
    let error = try #require(throws: NSError.self) { try notes.open(version, options) }
    #expect(error.domain == NSCocoaErrorDomain)
    #expect(error.localizedRecoverySuggestion?.isEmpty == false)
    #expect(error.userInfo["URL"] as? URL == notes.store.url)
    return error
  }

  private func rename(_ manager: NSStagedMigrationManager, _ suffix: String) throws {
    let context = try #require(manager.container).newBackgroundContext()
    try context.performAndWait {
      for note in try context.all("Note") {
        note["name"] = (note["name"] as? String ?? "") + suffix
      }
      try context.save()
    }
  }

  @Test("Handlers see the store with the old model, then with the new one, and what they save is kept")
  func handlers() throws {
    let (first, second) = (try notes.checksum("v1"), try notes.checksum("v2"))
    let stage = try custom("v1", "v2")
    var seen: [String] = []
    stage.willMigrateHandler = { manager, given in
      #expect(given === stage)
      let model = try #require(manager.container?.managedObjectModel)
      seen.append(model.versionChecksum)
      #expect(manager.container?.persistentStoreCoordinator.persistentStores.count == 1)
      try rename(manager, "+")
    }
    stage.didMigrateHandler = { manager, _ in
      seen.append(try #require(manager.container?.managedObjectModel.versionChecksum))
      try rename(manager, "-")
    }
    let manager = NSStagedMigrationManager([stage, NSLightweightMigrationStage([try notes.checksum("v3")])])
    #expect(manager.stages.count == 2)
    #expect(
      try notes.open("v3", [NSPersistentStoreStagedMigrationManagerOptionKey: manager]) == ["one+-", "two+-"])
    #expect(seen == [first, second])
    #expect(manager.container == nil)
    #expect(try notes.metadata()[StageRecord.key] == nil)
    // The store has its version: nothing runs again.
    #expect(try notes.open("v3", [NSPersistentStoreStagedMigrationManagerOptionKey: manager]) == ["one+-", "two+-"])
    #expect(seen.count == 2)
  }

  @Test("A willMigrateHandler that throws stops before its step; earlier stages are done, and the next opening goes on")
  func failingWill() throws {
    let (first, second) = (try custom("v1", "v2"), try custom("v2", "v3"))
    var runs: [String] = []
    first.didMigrateHandler = { _, _ in runs.append("first") }
    second.label = "second stage"
    second.willMigrateHandler = { _, _ in
      runs.append("second")
      if runs.count < 3 { throw Broken() }
    }
    let error = try failure("v3", options([first, second]))
    #expect(error.code == NSMigrationError)
    #expect(error.userInfo[NSUnderlyingErrorKey] is Broken)
    #expect(error.localizedFailureReason?.contains("willMigrateHandler of the stage 'second stage'") == true)
    #expect(try notes.version() == "v2")
    #expect(try notes.open("v3", options([first, second])) == ["one", "two"])
    #expect(runs == ["first", "second", "second"])
  }

  @Test("A didMigrateHandler that throws is run again, before all else, also where the store has the wanted version")
  func failingDid() throws {
    let stage = try custom("v1", "v2")
    var runs = 0
    stage.didMigrateHandler = { manager, _ in
      runs += 1
      if runs == 1 { throw Broken() }
      try rename(manager, "!")
    }
    #expect(try failure("v2", options([stage])).code == NSMigrationError)
    #expect(try notes.version() == "v2")
    #expect(try notes.metadata()[StageRecord.key] != nil)
    #expect(try notes.open("v2", options([stage])) == ["one!", "two!"])
    #expect(try notes.metadata()[StageRecord.key] == nil)
    #expect(try notes.open("v2", options([stage])) == ["one!", "two!"])
    #expect(runs == 2)
  }

  @Test("A stage that was not brought to its end and is passed over leaves no mark, and locks no store that fits")
  func passedOver() throws {
    let stage = try custom("v1", "v2")
    stage.didMigrateHandler = { _, _ in throw Broken() }
    _ = try failure("v2", options([stage]))
    // Stages that know nothing of it, over a store of the wanted version.
    #expect(try notes.open("v2", options([])) == ["one", "two"])
    #expect(try notes.metadata()[StageRecord.key] != nil)
    // A step that goes on without stages.
    #expect(try notes.open("v3") == ["one", "two"])
    #expect(try notes.metadata()[StageRecord.key] == nil)
    #expect(try notes.open("v3", options([])) == ["one", "two"])
  }

  @Test("A stage whose didMigrateHandler is gone is at its end; so it is after a step by a mapping model")
  func withoutHandler() throws {
    let stage = try custom("v1", "v2")
    stage.didMigrateHandler = { _, _ in throw Broken() }
    _ = try failure("v2", options([stage]))
    stage.didMigrateHandler = nil
    #expect(try notes.open("v2", options([stage])) == ["one", "two"])
    #expect(try notes.metadata()[StageRecord.key] == nil)
    stage.didMigrateHandler = { _, _ in throw Broken() }
    try notes.store.close()
    try FileManager.default.removeItem(at: notes.store.url)
    try notes.fill("v1")
    _ = try failure("v2", options([stage]))
    #expect(try notes.metadata()[StageRecord.key] != nil)
    try notes.writeMapping("v2", "v3")
    #expect(try notes.open("v3") == ["one", "two"])
    #expect(try notes.metadata()[StageRecord.key] == nil)
  }

  @Test("A process that is killed in a handler leaves a store that the next one goes on with")
  func killed() async throws {
    let folder = notes.store.folder
    await #expect(processExitsWith: .signal(SIGKILL)) { [path = folder.path as String] in
      let folder = URL(fileURLWithPath: path)
      let models = folder.appendingPathComponent("Notes.momd")
      func reference(_ version: String) throws -> NSManagedObjectModelReference {
        let model = try NSManagedObjectModel.load(contentsOf: models, version: version)
        return .init(model: model, versionChecksum: model.versionChecksum)
      }
      let stage = NSCustomMigrationStage(migratingFrom: try reference("v1"), to: try reference("v2"))
      stage.didMigrateHandler = { _, _ in kill(getpid(), SIGKILL) }
      let coordinator = NSPersistentStoreCoordinator(
        managedObjectModel: try .load(contentsOf: models, version: "v2"))
      try coordinator.addPersistentStore(
        type: .sqlite, at: folder.appendingPathComponent("Store.sqlite"),
        options: [
          NSMigratePersistentStoresAutomaticallyOption: true, NSInferMappingModelAutomaticallyOption: true,
          NSPersistentStoreStagedMigrationManagerOptionKey: NSStagedMigrationManager([stage]),
        ])
    }
    #expect(try notes.version() == "v2")
    let stage = try custom("v1", "v2")
    stage.didMigrateHandler = { manager, _ in try rename(manager, "!") }
    let light = NSLightweightMigrationStage([try notes.checksum("v3")])
    #expect(try notes.open("v3", options([stage, light])) == ["one!", "two!"])
  }

  @Test("A version that no stage is for is 134504, and says which versions are known")
  func unknownVersion() throws {
    let error = try failure("v3", options([try custom("v2", "v3")]))
    #expect(error.code == NSManagedObjectModelReferenceNotFoundError)
    let reason = try #require(error.localizedFailureReason)
    #expect(reason.hasPrefix("Cannot use staged migration with an unknown model version."))
    #expect(try reason.contains(notes.checksum("v1")) && reason.contains(notes.checksum("v2")))
    #expect(try reason.contains("'v1' (\(notes.checksum("v1")))") && reason.contains("'v3' ("), "\(reason)")
    #expect(error.userInfo["metadata"] is [String: Any])
  }

  @Test("A reference whose model has changed is 134504, before anything is done")
  func changedReference() throws {
    let wrong = NSManagedObjectModelReference(
      model: try notes.model("v4"), versionChecksum: try notes.checksum("v2"))
    let stage = NSCustomMigrationStage(migratingFrom: try notes.reference("v1"), to: wrong)
    stage.willMigrateHandler = { _, _ in Issue.record("The handler ran.") }
    let error = try #require(throws: NSError.self) {
      try notes.open("v3", options([stage, NSLightweightMigrationStage([notes.checksum("v3")])]))
    }
    #expect(error.code == NSManagedObjectModelReferenceNotFoundError)
    #expect(try notes.version() == "v1")
  }

  @Test("A lightweight stage whose model is nowhere is 134504, where the way needs it")
  func missingModel() throws {
    let stage = NSLightweightMigrationStage([try notes.checksum("v1"), "nowhere", try notes.checksum("v3")])
    let error = try failure("v3", options([stage]))
    #expect(error.code == NSManagedObjectModelReferenceNotFoundError)
    #expect(error.localizedFailureReason?.contains("nowhere") == true)
    // One hop needs no version in between.
    let direct = NSLightweightMigrationStage([try notes.checksum("v1"), "nowhere", try notes.checksum("v2")])
    #expect(try notes.open("v2", options([direct])) == ["one", "two"])
  }

  @Test("Version hashes of another kind are 134505")
  func oldHashes() throws {
    let file = try StoreFile.open(notes.store.url, isReadOnly: false)
    var metadata = try file.metadata()
    metadata[StoreMetadata.Key.hashesVersion] = 2
    try file.setMetadata(metadata)
    try file.close()
    let error = try failure("v2", options([try custom("v1", "v2")]))
    #expect(error.code == NSStagedMigrationFrameworkVersionMismatchError)
    #expect(error.userInfo["metadata"] is [String: Any])
  }

  @Test("Going backwards is 134506, and names both versions")
  func backwards() throws {
    let stage = NSLightweightMigrationStage([try notes.checksum("v2"), try notes.checksum("v1")])
    let error = try failure("v2", options([stage]))
    #expect(error.code == NSStagedMigrationBackwardMigrationError)
    let reason = try #require(error.localizedFailureReason)
    #expect(reason.hasPrefix("A store file cannot be migrated backwards with staged migration."))
    #expect(try reason.contains(notes.checksum("v1")) && reason.contains(notes.checksum("v2")))
  }

  @Test("What cannot be inferred in a later stage is known before a handler runs")
  func plannedBeforehand() throws {
    let first = try custom("v1", "v2")
    first.willMigrateHandler = { _, _ in Issue.record("The handler ran.") }
    // From a text to a number, which inference refuses.
    let odd = try NoteVersions([
      ("w3", [.make("name", .integer16AttributeType)])
    ])
    let second = NSCustomMigrationStage(migratingFrom: try notes.reference("v2"), to: try odd.reference("w3"))
    let manager = NSStagedMigrationManager([first, second])
    let error = try #require(throws: NSError.self) {
      _ = try notes.store.context(
        odd.model("w3"),
        options: [
          NSMigratePersistentStoresAutomaticallyOption: true, NSInferMappingModelAutomaticallyOption: true,
          NSPersistentStoreStagedMigrationManagerOptionKey: manager,
        ])
    }
    #expect(error.code == NSMigrationMissingMappingModelError)
    #expect((error.userInfo[NSUnderlyingErrorKey] as? NSError)?.code == NSInferredMappingModelError)
    #expect(error.userInfo["entity"] as? String == "Note")
    #expect(error.userInfo["property"] as? String == "name")
    #expect(try notes.version() == "v1")
  }

  @Test("Without inference there are no stages to go; without automatic migration the store is 134100")
  func optionsMissing() throws {
    let stages = options([try custom("v1", "v2")])
    #expect(
      try failure("v2", stages.merging([NSInferMappingModelAutomaticallyOption: false]) { $1 }).code
        == NSMigrationMissingMappingModelError)
    #expect(
      try failure("v2", stages.merging([NSMigratePersistentStoresAutomaticallyOption: false]) { $1 }).code
        == NSPersistentStoreIncompatibleVersionHashError)
    #expect(
      try failure("v2", stages.merging([NSReadOnlyPersistentStoreOption: true]) { $1 }).code == NSMigrationError)
    #expect(try notes.version() == "v1")
  }

  @Test("A mapping model for the two versions is not used")
  func noMappingModels() throws {
    try notes.writeMapping("v1", "v2")
    #expect(try notes.open("v2", options([try custom("v1", "v2")])) == ["one", "two"])
  }

  @Test("A version in two stages stops the program with a sentence")
  func duplicates() async {
    let result = await #expect(processExitsWith: .failure, observing: [\.standardErrorContent]) {
      _ = NSStagedMigrationManager([NSLightweightMigrationStage(["A", "B"]), NSLightweightMigrationStage(["B"])])
    }
    let text = result.map { String(decoding: $0.standardErrorContent, as: UTF8.self) } ?? ""
    #expect(text.contains("Duplicate version checksums across stages detected: B."))
  }

  @Test("Where one custom stage ends the next may begin, and nothing else may")
  func order() {
    func custom(_ from: String, _ to: String) -> NSCustomMigrationStage {
      let model = NSManagedObjectModel()
      return NSCustomMigrationStage(
        migratingFrom: .init(model: model, versionChecksum: from), to: .init(model: model, versionChecksum: to))
    }
    let order = StageOrder([custom("A", "B"), custom("B", "C"), NSLightweightMigrationStage(["D"])])
    #expect(order.checksums == ["A", "B", "C", "D"])
    #expect(order.customs.map { [$0.start, $0.end] } == [[0, 1], [1, 2]])
    #expect(order.repeated == [])
    #expect(StageOrder([custom("A", "B"), NSLightweightMigrationStage(["B", "C"])]).repeated == ["B"])
    #expect(StageOrder([custom("A", "B"), NSLightweightMigrationStage(["C"]), custom("B", "D")]).repeated == ["B"])
    #expect(NSMigrationStage().label == "")
  }
}
