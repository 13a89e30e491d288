// OpenCoreData
// SPDX-License-Identifier: Apache-2.0

import CoreDataModelFiles
import CoreDataTestSupport
import Foundation
import Testing

@testable import CoreData
@testable import CoreDataMigration

@Suite("Mapping models that were made for other states of the models")
struct StaleMappingTests {
  private let notes: NoteVersions

  init() throws {
    notes = try NoteVersions()
    try notes.fill("v2")
  }

  private func hex(_ model: NSManagedObjectModel) throws -> String {
    try #require(model.entityVersionHashesByName["Note"]).map { String(format: "%02x", $0) }.joined()
  }

  private var edited: NSManagedObjectModel {
    NoteVersions.model([.make("name", .stringAttributeType), .make("a", .doubleAttributeType)])
  }

  @Test(
    "One whose destination was edited is 134140 with the file, the entity and both hashes, though inference would do")
  func editedDestination() throws {
    let file = try notes.writeMapping("Two.cdm", notes.model("v2"), edited)
    let bytes = try Data(contentsOf: notes.store.url)
    let error = try #require(throws: NSError.self) { try notes.open("v3") }
    #expect(error.code == NSMigrationMissingMappingModelError)
    let reason = try #require(error.localizedFailureReason)
    let (wanted, found) = (try hex(edited), try hex(notes.model("v3")))
    for part in ["'Two.cdm'", "'v2'", "'v3'", "'Note'", wanted, found] { #expect(reason.contains(part), "\(part)") }
    #expect(error.userInfo["entity"] as? String == "Note")
    #expect((error.userInfo["mappingModelURL"] as? URL)?.standardizedFileURL == file.standardizedFileURL)
    #expect(error.userInfo["mappingHash"] as? String == wanted)
    #expect(error.userInfo["modelHash"] as? String == found)
    #expect(error.localizedRecoverySuggestion?.contains("Compile the mapping model again") == true)
    #expect(try Data(contentsOf: notes.store.url) == bytes)
    // As advised.
    try FileManager.default.removeItem(at: file)
    #expect(try notes.open("v3") == ["one", "two"])
  }

  @Test("One that the way would pass over is an error too")
  func passedOver() throws {
    try notes.writeMapping("Two.cdm", notes.model("v2"), edited)
    let error = try #require(throws: NSError.self) { try notes.open("v4") }
    #expect(error.code == NSMigrationMissingMappingModelError)
    #expect(error.localizedFailureReason?.contains("'Two.cdm'") == true)
  }

  @Test("One whose source was edited")
  func editedSource() throws {
    try notes.writeMapping("Two.cdm", edited, notes.model("v3"))
    let error = try #require(throws: NSError.self) { try notes.open("v3") }
    #expect(error.localizedFailureReason?.contains("source entity 'Note'") == true)
  }

  @Test(
    "One whose entities all stay the same, and which leaves out an entity that is new, is not stale",
    arguments: [true, false])
  func unchangedEntities(_ isProgressive: Bool) throws {
    let other = try TemporaryStore()
    func model(_ entities: [String]) -> NSManagedObjectModel {
      var builder = ModelBuilder()
      for name in entities { builder.entity(name, [.make("name", .stringAttributeType)]) }
      return builder.model()
    }
    let (old, new) = (model(["Note"]), model(["Note", "Tag"]))
    let url = other.folder.appendingPathComponent("Two.momd")
    try ModelBundle.writeCompiled([("w1", old.document), ("w2", new.document)], current: "w2", to: url)
    let context = try other.context(old)
    context.make("Note", ["name": "one"])
    try context.save()
    try other.close()
    let mapping = try NSMappingModel.inferredMappingModel(forSourceModel: old, destinationModel: new)
    mapping.entityMappings = mapping.entityMappings.filter { $0.sourceEntityName == "Note" }
    let opened = try other.context(
      .load(contentsOf: url, version: "w2"),
      options: [
        NSMigratePersistentStoresAutomaticallyOption: true, NSInferMappingModelAutomaticallyOption: true,
        MigrationOption.models: [URL](), MigrationOption.mappings: [mapping],
        MigrationOption.isProgressive: isProgressive,
      ])
    #expect(try opened.all("Note").map { $0["name"] as? String } == ["one"])
    #expect(try other.files().contains("Store~.sqlite"))
    try other.close()
  }

  @Test("A version that is missing between two mapping models is told as such, with the models of the two ends")
  func missingVersion() throws {
    try notes.writeMapping("Two.cdm", notes.model("v2"), edited)
    try notes.writeMapping("Three.cdm", edited, notes.model("v4"))
    let error = try #require(throws: NSError.self) { try notes.open("v4") }
    #expect(error.code == NSMigrationMissingMappingModelError)
    let reason = try #require(error.localizedFailureReason)
    #expect(
      reason.contains(
        "'Two.cdm' leads to a version that is missing, and 'Three.cdm' starts from "
          + "it"), "\(reason)")
    #expect(!reason.contains("other states"))
    let (source, destination) = (
      error.userInfo["sourceModel"] as? NSManagedObjectModel,
      error.userInfo["destinationModel"] as? NSManagedObjectModel
    )
    #expect(try source?.entityVersionHashesByName == notes.model("v2").entityVersionHashesByName)
    #expect(destination != nil)
  }

  @Test("One of another model, and one of other versions, are none of it")
  func others() throws {
    let other = [
      NoteVersions.model([.make("x", .stringAttributeType)], name: "Other"),
      NoteVersions.model([.make("y", .stringAttributeType)], name: "Other"),
    ]
    try notes.writeMapping("Other.cdm", other[0], other[1])
    try notes.writeMapping("v3", "v4")
    #expect(try notes.open("v3") == ["one", "two"])
  }

  @Test("One that is fresh makes up for one that is stale")
  func freshBesideStale() throws {
    try notes.writeMapping("A.cdm", notes.model("v2"), edited)
    try notes.writeMapping("v2", "v3")
    let path = try MigrationPath(modelsAt: notes.url, from: "v2", to: "v3", mappings: [notes.mappings])
    #expect(path.steps.map(\.mappingURL?.lastPathComponent) == ["v2tov3.cdm"])
  }

  @Test("One that was made in code is told as such")
  func madeInCode() throws {
    let mapping = try NSMappingModel.inferredMappingModel(forSourceModel: notes.model("v2"), destinationModel: edited)
    let error = try #require(throws: NSError.self) { try notes.open("v3", [MigrationOption.mappings: [mapping]]) }
    #expect(error.code == NSMigrationMissingMappingModelError)
    #expect(error.localizedFailureReason?.contains("that was made in code") == true)
    #expect(error.userInfo["mappingModelURL"] == nil)
  }

  @Test("One that cannot be read is not left out in silence")
  func unreadable() throws {
    try Data("nonsense".utf8).write(to: notes.mappings.appendingPathComponent("Broken.cdm"))
    let error = try #require(throws: NSError.self) { try notes.open("v3") }
    #expect(error.code == CocoaError.Code.fileReadCorruptFile.rawValue)
    #expect("\(error)".contains("Broken.cdm"))
    #expect(try notes.version() == "v2")
  }

  @Test("Where there is no other way, the one that does not fit is told, and not what cannot be inferred")
  func noOtherWay() throws {
    // Rows would be without a value that they must have.
    let versions = try NoteVersions([
      ("v1", [.make("name", .stringAttributeType)]),
      ("v2", [.make("name", .stringAttributeType), .make("b", .stringAttributeType, optional: false)]),
    ])
    try versions.fill("v1")
    let inferring = try #require(throws: NSError.self) { try versions.open("v2") }
    #expect(inferring.code == NSMigrationError)
    #expect(inferring.userInfo["mappingModelURL"] == nil)
    let url = try versions.writeMapping("A.cdm", versions.model("v1"), edited)
    for infers in [true, false] {
      let error = try #require(throws: NSError.self) {
        try versions.open("v2", [NSInferMappingModelAutomaticallyOption: infers])
      }
      #expect(error.code == NSMigrationMissingMappingModelError)
      #expect((error.userInfo["mappingModelURL"] as? URL)?.lastPathComponent == url.lastPathComponent)
    }
  }

  @Test(
    "A source is stale for the versions that it names where they lack some of its entities, not most of them",
    .enabled(if: Fixtures.isPresent, "The fixtures are not beside the repository"))
  func named() throws {
    let url = Fixtures.url(
      "kodecocodes__cdt-materials/06-versioning-and-migration/projects/final/UnCloudNotes/"
        + "UnCloudNotesMappingModel_v2_to_v3.xcmappingmodel")
    let file = try MappingFile(contentsOf: url)
    let names = [file.document.sourceVersionName ?? "", file.document.destinationVersionName ?? ""]
    let entities = MappingFile.entities(of: file.document)
    func model(_ side: MappingMismatch.Side, leavingOut left: Int) -> NSManagedObjectModel {
      var builder = ModelBuilder()
      for name in Set(entities.filter { $0.side == side }.map(\.entity)).sorted().dropFirst(left) {
        builder.entity(name)
      }
      builder.entity("More")
      return builder.model()
    }
    func known(leavingOut left: (Int, Int)) -> KnownMappings {
      let versions = [
        ModelVersion(name: names[0], model: model(.source, leavingOut: left.0)),
        ModelVersion(name: names[1], model: model(.destination, leavingOut: left.1)),
      ]
      return KnownMappings([file], versions: versions, names: [names[0]: 0, names[1]: 1])
    }
    let pair = KnownMappings.Pair(source: 0, destination: 1)
    let fits = known(leavingOut: (0, 0))
    #expect(Array(fits.fitting.keys) == [pair] && fits.stale.isEmpty)
    let stale = known(leavingOut: (0, 1))
    #expect(stale.fitting.isEmpty && Array(stale.stale.keys) == [pair])
    let other = known(leavingOut: (9, 9))
    #expect(other.fitting.isEmpty && other.stale.isEmpty)
  }

  @Test("What it is stale for is decided by the hashes that still fit")
  func pairs() throws {
    let versions = try ["v1", "v2", "v3", "v4"].map { ModelVersion(name: $0, model: try notes.model($0)) }
    func known(_ source: NSManagedObjectModel, _ destination: NSManagedObjectModel) throws -> KnownMappings {
      let url = try notes.writeMapping("X.cdm", source, destination)
      return KnownMappings([try MappingFile(contentsOf: url)], versions: versions, names: [:])
    }
    let fits = try known(versions[0].model(), versions[2].model())
    #expect(Array(fits.fitting.keys) == [.init(source: 0, destination: 2)])
    #expect(fits.stale.isEmpty)
    // The destination is like no version: any version after the source may be meant.
    let edited = try known(versions[1].model(), edited)
    #expect(edited.fitting.isEmpty)
    #expect(Set(edited.stale.keys) == [.init(source: 1, destination: 2), .init(source: 1, destination: 3)])
    // A version that is known no more, before all that are known.
    let old = try known(self.edited, versions[0].model())
    #expect(old.fitting.isEmpty && old.stale.isEmpty)
  }
}
