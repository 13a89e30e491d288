// OpenCoreData
// SPDX-License-Identifier: Apache-2.0

import CoreDataSQLite
import CoreDataTestSupport
import Foundation
import Testing

@testable import CoreData

@Suite("Errors of migrations, provoked by what programs do")
struct MigrationErrorTests {
  private let notes: NoteVersions

  init() throws {
    notes = try NoteVersions()
    try notes.fill("v1")
  }

  private func options(_ more: [String: Any] = [:]) -> [String: Any] {
    let all: [String: Any] = [
      NSMigratePersistentStoresAutomaticallyOption: true, NSInferMappingModelAutomaticallyOption: true,
      MigrationOption.models: [URL](), MigrationOption.mappings: [URL](),
    ]
    return all.merging(more) { $1 }
  }

  /// Opens the store, and checks what all errors have: domain, reason, advice; and that the store is as it was.
  private func failure(
    _ code: Int, _ model: NSManagedObjectModel, _ options: [String: Any], entity: String? = nil,
    sourceLocation: SourceLocation = #_sourceLocation
  ) throws -> NSError {
    let bytes = try Data(contentsOf: notes.store.url)
    let error = try #require(throws: NSError.self, sourceLocation: sourceLocation) {
      _ = try notes.store.context(model, options: options)
    }
    try check(error, code, entity: entity, sourceLocation)
    #expect(try Data(contentsOf: notes.store.url) == bytes, sourceLocation: sourceLocation)
    #expect(error.userInfo["URL"] as? URL == notes.store.url, sourceLocation: sourceLocation)
    return error
  }

  private func check(
    _ error: NSError, _ code: Int, entity: String?, _ sourceLocation: SourceLocation = #_sourceLocation
  ) throws {
    #expect(error.domain == NSCocoaErrorDomain, sourceLocation: sourceLocation)
    #expect(error.code == code, sourceLocation: sourceLocation)
    let reason = try #require(error.localizedFailureReason, sourceLocation: sourceLocation)
    let plain = try #require(error.userInfo["reason"] as? String, sourceLocation: sourceLocation)
    #expect(reason.hasPrefix(plain), sourceLocation: sourceLocation)
    #expect(error.localizedRecoverySuggestion?.isEmpty == false, sourceLocation: sourceLocation)
    if let entity {
      #expect(error.userInfo["entity"] as? String == entity, sourceLocation: sourceLocation)
      #expect(
        reason.contains(entity) || error.localizedRecoverySuggestion?.contains(entity) == true,
        sourceLocation: sourceLocation)
    }
  }

  @Test("134100: another version, and no migration asked for")
  func incompatible() throws {
    let error = try failure(
      NSPersistentStoreIncompatibleVersionHashError, try notes.model("v2"),
      options([NSMigratePersistentStoresAutomaticallyOption: false]))
    #expect(error.userInfo["metadata"] is [String: Any])
    #expect(error.localizedFailureReason?.contains("The property 'a' of entity 'Note' is in the store") == true)
  }

  @Test("134110: rows without a value of an attribute that is to have one")
  func missingValues() throws {
    let model = NoteVersions.model([
      .make("name", .stringAttributeType), .make("a", .integer16AttributeType, optional: false),
    ])
    let error = try failure(NSMigrationError, model, options(), entity: "Note")
    #expect(error.userInfo["attribute"] as? String == "a")
    #expect(
      error.userInfo["reason"] as? String
        == "Cannot migrate store in-place: Validation error missing attribute values on mandatory destination attribute"
    )
  }

  @Test("134110: a new required attribute where rows are; where none are it is made; other ways go first")
  func newRequiredAttribute() throws {
    func model(_ name: String) -> NSManagedObjectModel {
      var builder = ModelBuilder()
      builder.entity("Note", [.make("name", .stringAttributeType), .make("a", .integer16AttributeType)])
      builder.entity("Tag", [.make("name", .stringAttributeType)])
      let model = builder.model()
      if !name.isEmpty {
        model.entitiesByName[name]?.properties.append(
          NSAttributeDescription.make("must", .integer16AttributeType, optional: false))
      }
      return model
    }
    let store = try TemporaryStore()
    let context = try store.context(model(""))
    context.make("Note", ["name": "one"])
    try context.save()
    try store.close()
    let options: [String: Any] = [
      NSMigratePersistentStoresAutomaticallyOption: true, NSInferMappingModelAutomaticallyOption: true,
      MigrationOption.models: [URL](), MigrationOption.mappings: [URL](),
    ]
    let error = try #require(throws: NSError.self) { try store.context(model("Note"), options: options) }
    try check(error, NSMigrationError, entity: "Note")
    #expect(error.userInfo["attribute"] as? String == "must")
    #expect(
      error.userInfo["reason"] as? String
        == "Cannot migrate store in-place: Validation error missing attribute values on mandatory destination attribute"
    )
    #expect(try store.context(model("Tag"), options: options).all("Note").count == 1)
    try store.close()
    let versions = try NoteVersions([
      ("z1", [.make("name", .stringAttributeType)]),
      ("z2", [.make("name", .stringAttributeType), .make("must", .stringAttributeType, optional: false)]),
      ("z3", [.make("name", .stringAttributeType), .make("must", .stringAttributeType)]),
    ])
    let path = try MigrationPath(modelsAt: versions.url, from: "z1", to: "z3")
    #expect(path.steps.map(\.destination) == ["z3"])
    #expect(path.steps[0].reason.contains("objects would have no value for Note.must, which is required."))
    #expect(try MigrationPath(modelsAt: versions.url, from: "z1", to: "z2").steps.count == 1)
  }

  @Test("134110: a store that may only be read")
  func readOnly() throws {
    _ = try failure(NSMigrationError, try notes.model("v2"), options([NSReadOnlyPersistentStoreOption: true]))
  }

  @Test("134111: values that are to be unique, and are not")
  func uniqueness() throws {
    let context = try notes.store.context(notes.model("v1"))
    context.make("Note", ["name": "one"])
    try context.save()
    try notes.store.close()
    let model = NoteVersions.model([.make("name", .stringAttributeType), .make("a", .integer16AttributeType)])
    model.entities[0].uniquenessConstraints = [["name"]]
    let error = try failure(NSMigrationConstraintViolationError, model, options(), entity: "Note")
    #expect(error.userInfo["property"] as? String == "name")
    #expect(error.localizedFailureReason?.contains("'one'") == true)
  }

  @Test("134120: cancelled")
  func cancelled() throws {
    struct Stop: Error {}
    let migration = try StoreMigration(storeAt: notes.store.url, modelsAt: notes.url, version: "v3")
    let error = try #require(throws: NSError.self) { try migration.run { _ in throw Stop() } }
    try check(error, NSMigrationCancelledError, entity: nil)
    #expect(error.userInfo["URL"] as? URL == notes.store.url)
    #expect(try notes.version() == "v1")
  }

  @Test("134130: a store of a version that is gone, and that does not carry its model")
  func missingSource() throws {
    try FileManager.default.removeItem(at: notes.store.url)
    try notes.fill("v1", withoutModel: true)
    let other = try NoteVersions(Array(NoteVersions.plain.dropFirst()))
    let error = try failure(NSMigrationMissingSourceModelError, try other.model("v3"), options())
    #expect(error.userInfo["metadata"] is [String: Any])
    #expect(error.localizedFailureReason?.contains("v2 (1 entity differs)") == true)
    // Where the models are looked for can be said.
    let context = try notes.store.context(
      other.model("v3"), options: options([MigrationOption.models: [notes.url], MigrationOption.isProgressive: true]))
    #expect(try context.all("Note").count == 2)
  }

  @Test("A store of a version that is gone is migrated from the model that it carries")
  func ownModel() throws {
    let other = try NoteVersions(Array(NoteVersions.plain.dropFirst()))
    let error = try failure(
      NSMigrationMissingMappingModelError, try other.model("v3"), options([MigrationOption.isProgressive: false]))
    #expect(error.localizedFailureReason?.contains("for migration to 'v3'") == true)
    // The last version has an attribute less.
    let going = options([MigrationOption.allowsDowngrade: true])
    let context = try notes.store.context(other.model("v4"), options: going)
    #expect(try context.all("Note").count == 2)
  }

  @Test("134140: no mapping model, and inference is off, or cannot do it; 134190 beneath it")
  func missingMapping() throws {
    let off = try failure(
      NSMigrationMissingMappingModelError, try notes.model("v2"),
      options([NSInferMappingModelAutomaticallyOption: false]))
    #expect(off.localizedFailureReason?.contains("from 'v1' to 'v2'") == true)
    #expect(off.userInfo[NSUnderlyingErrorKey] == nil)
    let direct = try failure(
      NSMigrationMissingMappingModelError, try notes.model("v3"), options([MigrationOption.isProgressive: false]),
      entity: "Note")
    #expect(direct.userInfo["property"] as? String == "a")
    let beneath = try #require(direct.userInfo[NSUnderlyingErrorKey] as? NSError)
    try check(beneath, NSInferredMappingModelError, entity: "Note")
    // In steps it can be done, and that is how it is done unless told otherwise.
    #expect(try notes.open("v3") == ["one", "two"])
  }

  @Test("134150 and 134160: a source that is not there, a destination that cannot be")
  func stores() throws {
    let manager = NSMigrationManager(sourceModel: try notes.model("v1"), destinationModel: try notes.model("v2"))
    let mapping = try NSMappingModel.inferredMappingModel(
      forSourceModel: manager.sourceModel, destinationModel: manager.destinationModel)
    let nowhere = notes.store.folder.appendingPathComponent("Nowhere.sqlite")
    let new = notes.store.folder.appendingPathComponent("New.sqlite")
    let source = try #require(throws: NSError.self) {
      try manager.migrateStore(from: nowhere, type: .sqlite, mapping: mapping, to: new, type: .sqlite)
    }
    try check(source, NSMigrationManagerSourceStoreError, entity: nil)
    #expect(source.userInfo["sourceURL"] as? URL == nowhere)
    let destination = try #require(throws: NSError.self) {
      try manager.migrateStore(
        from: notes.store.url, type: .sqlite, mapping: mapping, to: notes.store.url, type: .sqlite)
    }
    try check(destination, NSMigrationManagerDestinationStoreError, entity: nil)
    #expect(destination.userInfo["destinationURL"] as? URL == notes.store.url)
  }

  @Test("A policy that fails: what it has thrown")
  func policy() throws {
    let url = try notes.writeMapping("v1", "v2", policy: "CoreDataTests.FailingNotePolicy")
    let manager = NSMigrationManager(sourceModel: try notes.model("v1"), destinationModel: try notes.model("v2"))
    let new = notes.store.folder.appendingPathComponent("New.sqlite")
    #expect(throws: FailingNotePolicy.Failure.self) {
      try manager.migrateStore(
        from: notes.store.url, type: .sqlite, mapping: .load(contentsOf: url), to: new, type: .sqlite)
    }
    #expect(!FileManager.default.fileExists(atPath: new.path))
  }

  @Test("134180: SQLite refuses, with its own code and words")
  func sqlite() throws {
    let connection = try SQLiteConnection(url: notes.store.url, mode: .readWrite)
    // A table of the program's own, under the name that a new entity's table gets.
    try connection.execute("CREATE TABLE ZGUARD (A)")
    try connection.close()
    var builder = ModelBuilder()
    builder.entity("Note", [.make("name", .stringAttributeType), .make("a", .integer16AttributeType)])
    builder.entity("Guard", [.make("name", .stringAttributeType)])
    let error = try failure(NSSQLiteError, builder.model(), options())
    #expect(error.userInfo[NSSQLiteErrorDomain] as? Int == 1)
    #expect(error.localizedFailureReason?.contains("table ZGUARD already exists") == true)
  }

  @Test("134190: what cannot be inferred, asked for without a store")
  func inference() throws {
    let error = try #require(throws: NSError.self) {
      try NSMappingModel.inferredMappingModel(
        forSourceModel: notes.model("v1"), destinationModel: notes.model("v3"))
    }
    try check(error, NSInferredMappingModelError, entity: "Note")
    #expect(error.userInfo["property"] as? String == "a")
    #expect(error.localizedFailureReason?.contains("'a'") == true)
  }

  @Test("134080: an option of another type")
  func wrongOption() throws {
    for (key, value) in [
      (MigrationOption.models, 1), (MigrationOption.mappings, ["x"]), (MigrationOption.allowsLoss, [1]),
    ] as [(String, Any)] {
      let error = try #require(throws: NSError.self) { try notes.open("v2", [key: value]) }
      #expect(error.code == NSPersistentStoreOpenError)
      #expect(error.localizedFailureReason?.contains(key) == true)
    }
  }
}

/// Fails at the first object.
final class FailingNotePolicy: NSEntityMigrationPolicy {
  struct Failure: Error {}

  override func createDestinationInstances(
    forSource sInstance: NSManagedObject, in mapping: NSEntityMapping, manager: NSMigrationManager
  ) throws {
    throw Failure()
  }
}
