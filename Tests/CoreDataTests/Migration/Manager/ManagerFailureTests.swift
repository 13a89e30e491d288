// OpenCoreData
// SPDX-License-Identifier: Apache-2.0

import CoreDataTestSupport
import Foundation
import Testing

@testable import CoreData

@Suite("Failures of a migration manager")
struct ManagerFailureTests {
  /// Fails at one step.
  final class FailingPolicy: NSEntityMigrationPolicy {
    enum Step: String, CaseIterable {
      case begin, create, endCreation, relate, endRelating, validate, end
    }

    struct Refusal: Error {}

    private func fail(_ step: Step, _ manager: NSMigrationManager) throws {
      guard manager.userInfo?["step"] as? String == step.rawValue else { return }
      switch manager.userInfo?["how"] as? String {
      case "cocoa": throw NSError(domain: "Test", code: 77)
      case "cancel": manager.cancelMigrationWithError(NSError(domain: "Cancelled", code: 5))
      default: throw Refusal()
      }
    }

    override func begin(_ mapping: NSEntityMapping, with manager: NSMigrationManager) throws {
      try fail(.begin, manager)
    }

    override func createDestinationInstances(
      forSource sInstance: NSManagedObject, in mapping: NSEntityMapping, manager: NSMigrationManager
    ) throws {
      try super.createDestinationInstances(forSource: sInstance, in: mapping, manager: manager)
      if sInstance.text("title") == "N5" { try fail(.create, manager) }
    }

    override func endInstanceCreation(forMapping mapping: NSEntityMapping, manager: NSMigrationManager) throws {
      try fail(.endCreation, manager)
    }

    override func createRelationships(
      forDestination dInstance: NSManagedObject, in mapping: NSEntityMapping, manager: NSMigrationManager
    ) throws {
      try super.createRelationships(forDestination: dInstance, in: mapping, manager: manager)
      if dInstance.text("title") == "N5" { try fail(.relate, manager) }
    }

    override func endRelationshipCreation(forMapping mapping: NSEntityMapping, manager: NSMigrationManager) throws {
      try fail(.endRelating, manager)
    }

    override func performCustomValidation(forMapping mapping: NSEntityMapping, manager: NSMigrationManager) throws {
      try fail(.validate, manager)
    }

    override func end(_ mapping: NSEntityMapping, manager: NSMigrationManager) throws {
      try fail(.end, manager)
    }
  }

  private func failure(_ sample: ManagerSample, _ location: SourceLocation = #_sourceLocation) throws -> NSError {
    try #require(throws: NSError.self, sourceLocation: location) { try sample.migrate(sourceLocation: location) }
  }

  @Test("At every step leave the source as it was, and no file", arguments: FailingPolicy.Step.allCases)
  func steps(_ step: FailingPolicy.Step) throws {
    MigrationPolicyClasses.register(FailingPolicy.self)
    let sample = try ManagerSample()
    sample["NoteToNote"].entityMigrationPolicyClassName = "FailingPolicy"
    sample.manager.userInfo = ["step": step.rawValue, "how": "swift"]
    #expect(throws: FailingPolicy.Refusal.self) { try sample.migrate() }
    sample.manager.userInfo?["how"] = "cocoa"
    let cocoa = try failure(sample)
    #expect(cocoa.domain == "Test" && cocoa.code == 77)
    sample.manager.userInfo?["how"] = "cancel"
    let cancelled = try failure(sample)
    #expect(cancelled.domain == "Cancelled" && cancelled.code == 5)
    // The manager is as good as new.
    sample.manager.userInfo = nil
    try sample.migrate()
    try sample.result { context in
      let notes = try context.all("Note", by: "rank")
      #expect(notes.count == 7)
    }
  }

  @Test("Leave an existing destination as it was", arguments: FailingPolicy.Step.allCases)
  func appending(_ step: FailingPolicy.Step) throws {
    MigrationPolicyClasses.register(FailingPolicy.self)
    let sample = try ManagerSample()
    try sample.migrate()
    sample["NoteToNote"].entityMigrationPolicyClassName = "FailingPolicy"
    sample.manager.userInfo = ["step": step.rawValue, "how": "swift"]
    #expect(throws: FailingPolicy.Refusal.self) { try sample.migrate() }
    try sample.result { context in
      let notes = try context.all("Note", by: "rank")
      #expect(notes.count == 7)
    }
  }

  @Test("Of hashes name the entity and both hashes, before anything is done")
  func hashes() throws {
    let sample = try ManagerSample()
    sample["NoteToNote"].destinationEntityVersionHash = Data([1, 2, 255])
    let error = try failure(sample)
    #expect(error.code == NSMigrationError)
    #expect(error.userInfo["entity"] as? String == "Note")
    let found = try #require(sample.new.entityVersionHashesByName["Note"])
    let hex = found.map { String(format: "%02x", $0) }.joined()
    #expect(error.localizedFailureReason?.contains("0102ff") == true)
    #expect(error.localizedFailureReason?.contains(hex) == true)
    sample["NoteToNote"].destinationEntityVersionHash = found
    sample["NoteToNote"].sourceEntityName = "Letter"
    #expect(try failure(sample).localizedFailureReason?.contains("no entity 'Letter'") == true)
  }

  @Test("Of policies name the mapping and the class")
  func policies() throws {
    let sample = try ManagerSample()
    for (name, words) in [
      (nil, "names no migration policy class"), ("NoSuchPolicy", "There is no class 'NoSuchPolicy'"),
      ("CoreDataTests.CallLog", "is not a subclass of NSEntityMigrationPolicy"),
    ] {
      sample["TagToTag"].mappingType = .customEntityMappingType
      sample["TagToTag"].entityMigrationPolicyClassName = name
      let error = try failure(sample)
      #expect(error.code == NSMigrationError)
      #expect(error.userInfo["mapping"] as? String == "TagToTag")
      #expect(error.localizedFailureReason?.contains(words) == true)
      #expect(error.localizedFailureReason?.contains("'TagToTag'") == true)
    }
  }

  @Test(
    "Of expressions name mapping, property and expression",
    arguments: [
      ("title", "$source.headline"), ("title", "FUNCTION($entityPolicy, 'titleFor:', $source)"),
      ("title", "FUNCTION($manager, 'launch:', $source)"), ("rank", "$source.title"), ("title", "$source.title + 1"),
      ("title", "$nothing"), ("page", "'x'"),
    ])
  func expressions(_ property: String, _ format: String) throws {
    let sample = try ManagerSample()
    sample["NoteToNote"].attributeMappings = ManagerSample.properties([property: format])
    let error = try failure(sample)
    #expect(error.code == NSMigrationError)
    #expect(error.userInfo["mapping"] as? String == "NoteToNote")
    #expect(error.userInfo["property"] as? String == property)
    #expect(error.userInfo["expression"] is String)
    #expect(error.localizedRecoverySuggestion?.isEmpty == false)
  }

  @Test("Of relationships say what was found")
  func relationships() throws {
    for (expression, words) in [
      ("FUNCTION($manager, 'destinationInstancesForEntityMappingNamed:sourceInstances:', 'Gone', $source)", "'Gone'"),
      (ManagerSample.of("TagToTag", "tags"), "an object of 'Tag'"), ("$source.folder", "destination context"),
      ("$source.title", "destination context"),
    ] {
      let sample = try ManagerSample()
      sample["NoteToNote"].relationshipMappings = ManagerSample.properties(["box": expression])
      let error = try failure(sample)
      #expect(error.code == NSMigrationError)
      #expect(error.userInfo["property"] as? String == "box")
      #expect(error.localizedFailureReason?.contains(words) == true, "\(error.localizedFailureReason ?? "")")
    }
  }

  @Test("Of validation are Core Data's own, for all objects together")
  func validation() throws {
    let sample = try ManagerSample()
    sample["NoteToNote"].attributeMappings = ManagerSample.properties(["rank": "$source.rank"])
    let error = try failure(sample)
    #expect(error.code == NSValidationMultipleErrorsError)
    let details = try #require(error.userInfo[NSDetailedErrorsKey] as? [NSError])
    #expect(details.count == 7)
    #expect(details.allSatisfy { $0.code == NSValidationMissingMandatoryPropertyError })
    #expect(details.first?.userInfo[NSValidationKeyErrorKey] as? String == "title")
  }

  @Test("Of the source are 134150")
  func sources() throws {
    let sample = try ManagerSample()
    #expect(throws: NSError.self) {
      try sample.manager.migrateStore(
        from: sample.store.folder.appendingPathComponent("None.sqlite"), type: .sqlite, mapping: sample.mapping,
        to: sample.destination, type: .sqlite)
    }
    for (old, url) in [
      (sample.old, sample.store.folder.appendingPathComponent("None.sqlite")), (sample.new, sample.store.url),
    ] {
      let manager = NSMigrationManager(sourceModel: old, destinationModel: sample.new)
      let mapping = NSMappingModel()
      let error = try #require(throws: NSError.self) {
        try manager.migrateStore(from: url, type: .sqlite, mapping: mapping, to: sample.destination, type: .sqlite)
      }
      #expect(error.code == NSMigrationManagerSourceStoreError)
      #expect(error.userInfo["sourceURL"] as? URL == url)
    }
    #expect(try sample.store.files() == ["Store.sqlite"])
  }

  @Test("Of the destination are 134160, and leave what is there")
  func destinations() throws {
    let sample = try ManagerSample()
    func migrate(to url: URL) throws -> NSError {
      try #require(throws: NSError.self) {
        try sample.manager.migrateStore(
          from: sample.store.url, type: .sqlite, mapping: sample.mapping, to: url, type: .sqlite)
      }
    }
    let text = sample.store.folder.appendingPathComponent("Text.sqlite")
    try Data("not a store, but long enough to be looked at".utf8).write(to: text)
    let other = sample.store.folder.appendingPathComponent("Other.sqlite")
    try FileManager.default.copyItem(at: sample.store.url, to: other)
    let before = try Data(contentsOf: other)
    let nowhere = sample.store.folder.appendingPathComponent("no/folder/New.sqlite")
    for url in [text, other, nowhere, sample.store.url] {
      #expect(try migrate(to: url).code == NSMigrationManagerDestinationStoreError, "\(url.lastPathComponent)")
    }
    #expect(try Data(contentsOf: other) == before)
    #expect(try sample.store.files() == ["Other.sqlite", "Store.sqlite", "Text.sqlite"])
  }

  @Test("Come from another thread too")
  func otherThread() throws {
    let sample = try ManagerSample(folders: 2, notes: 50)
    let manager = sample.manager
    var isAsked = false
    manager.batchSize = 2
    manager.progressHandler = { shown in
      guard shown.migrationProgress > 0.2, !isAsked else { return }
      isAsked = true
      let done = DispatchSemaphore(value: 0)
      Thread.detachNewThread {
        manager.cancelMigrationWithError(NSError(domain: "Elsewhere", code: 1))
        done.signal()
      }
      done.wait()
    }
    let error = try #require(throws: NSError.self) {
      try manager.migrateStore(
        from: sample.store.url, type: .sqlite, mapping: sample.mapping, to: sample.destination, type: .sqlite)
    }
    #expect(error.domain == "Elsewhere")
    #expect(try sample.store.files() == ["Store.sqlite"])
  }

  private final class LostPolicy: NSEntityMigrationPolicy {
    override func begin(_ mapping: NSEntityMapping, with manager: NSMigrationManager) throws {
      let made = manager.destinationInstances(forEntityMappingName: "NoSuchMapping", sourceInstances: nil)
      #expect(made.isEmpty)
    }
  }

  @Test("A policy that asks for a mapping which the model does not have ends the migration, and is told the names")
  func unknownMapping() throws {
    let sample = try ManagerSample()
    sample["NoteToNote"].entityMigrationPolicyClassName = "LostPolicy"
    MigrationPolicyClasses.register(LostPolicy.self, as: "LostPolicy")
    #expect {
      try sample.migrate()
    } throws: { error in
      let error = error as NSError
      return error.code == NSMigrationError
        && error.localizedFailureReason?.contains("'NoSuchMapping', which the mapping model does not have") == true
        && error.localizedFailureReason?.contains("'NoteToNote'") == true
    }
  }

  @Test("A context of a migration that does not run stops the program")
  func programmerMistakes() async {
    await #expect(processExitsWith: .failure) {
      let model = NSManagedObjectModel()
      _ = NSMigrationManager(sourceModel: model, destinationModel: model).sourceContext
    }
  }
}
