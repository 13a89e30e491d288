// OpenCoreData
// SPDX-License-Identifier: Apache-2.0

import CoreDataTestSupport
import Foundation
import Testing

@testable import CoreDataModelFiles

@Suite("Compiling models")
struct CompilingTests {
  private let model = ModelDocument(
    entities: [
      EntityDocument(name: "Person", className: ".Person"),
      EntityDocument(name: "Pupil", parentName: "Person", className: "School.Pupil"),
    ], versionIdentifiers: [""])

  @Test("A bundle of versions is read as it was written, with hashes, checksums and current version")
  func bundle() throws {
    let directory = try TemporaryDirectory()
    let folder = directory.url
    var second = model
    second.entities[0].attributes = [AttributeDocument(name: "name", kind: .string)]
    let url = folder.appendingPathComponent("Model.momd")
    try ModelBundle.writeCompiled([("Model", model), ("Model 2", second)], current: "Model 2", to: url)
    let bundle = try ModelBundle(contentsOf: url)
    #expect(bundle.versions.map(\.name) == ["Model", "Model 2"])
    #expect(bundle.versions.map(\.document) == [model, second])
    #expect(bundle.currentVersionName == "Model 2")
    #expect(bundle.recordedHashes["Model"] == VersionHashes(model).entities)
    #expect(bundle.recordedChecksums["Model 2"] == VersionHashes(second).checksum)
  }

  @Test("What Spotlight may find, and the cloud may encrypt, is kept by compiled models")
  func flags() throws {
    var model = ModelDocument(entities: [EntityDocument(name: "Note"), EntityDocument(name: "Tag")])
    model.entities[0].attributes = ["seen", "secret", "plain"].map { AttributeDocument(name: $0, kind: .string) }
    model.entities[0].attributes[0].isIndexedBySpotlight = true
    model.entities[0].attributes[1].allowsCloudEncryption = true
    model.entities[0].relationships = [
      RelationshipDocument(name: "tags", destinationEntityName: "Tag", inverseName: "note", isToMany: true)
    ]
    model.entities[0].relationships[0].isIndexedBySpotlight = true
    model.entities[1].relationships = [
      RelationshipDocument(name: "note", destinationEntityName: "Note", inverseName: "tags")
    ]
    let back = try ModelCache.decode(ModelCache.encode(model))
    let attributes = back.entities[0].attributes
    #expect(attributes.filter(\.isIndexedBySpotlight).map(\.name) == ["seen"])
    #expect(attributes.filter(\.allowsCloudEncryption).map(\.name) == ["secret"])
    #expect(back.entities[0].relationships.map(\.isIndexedBySpotlight) == [true])
    #expect(back.entities[1].relationships.map(\.isIndexedBySpotlight) == [false])
  }

  @Test("Writing again replaces the whole bundle, and a failure leaves the old one")
  func replacement() throws {
    let directory = try TemporaryDirectory()
    let folder = directory.url
    let url = folder.appendingPathComponent("Model.momd")
    try ModelBundle.writeCompiled([("Old", model)], current: "Old", to: url)
    try ModelBundle.writeCompiled([("New", model)], current: "New", to: url)
    #expect(try ModelBundle(contentsOf: url).versions.map(\.name) == ["New"])
    var wrong = model
    wrong.entities[1].parentName = "Nobody"
    let error = #expect(throws: ModelFileError.self) {
      try ModelBundle.writeCompiled([("A", model), ("B", wrong)], current: "A", to: url)
    }
    #expect(error?.kind == .missingParent)
    #expect(error?.file == url.path)
    #expect(try ModelBundle(contentsOf: url).versions.map(\.name) == ["New"])
    #expect(try FileManager.default.contentsOfDirectory(atPath: folder.path) == ["Model.momd"])
  }

  @Test("Names that no file can have, that are there twice, or an unknown current version are refused")
  func names() throws {
    let directory = try TemporaryDirectory()
    let folder = directory.url
    let url = folder.appendingPathComponent("Model.momd")
    for names in [[""], [".A"], ["A/B"], ["A", "A"]] {
      #expect(throws: ModelFileError.self) {
        try ModelBundle.writeCompiled(names.map { ($0, model) }, current: names[0], to: url)
      }
    }
    let error = #expect(throws: ModelFileError.self) {
      try ModelBundle.writeCompiled([("A", model)], current: "B", to: url)
    }
    #expect(error?.kind == .unknownVersion)
    #expect(!FileManager.default.fileExists(atPath: url.path))
  }

  @Test("Classes of the current product module get its name, others keep theirs")
  func modules() throws {
    let directory = try TemporaryDirectory()
    let folder = directory.url
    let url = folder.appendingPathComponent("Model.mom")
    try ModelBundle.writeCompiled(model, module: "App", to: url)
    let classes = try ModelBundle(contentsOf: url).currentDocument().entities.map(\.className)
    #expect(classes == ["App.Person", "School.Pupil"])
  }

  @Test("A compiled file holds every property once, where it was declared; a model cache repeats them")
  func repetition() throws {
    let document = ModelCacheTests.richModel()
    let file = try ArchiveDescription.model(CompiledModelWriter.archive(of: document, form: .file))
    let cache = try ArchiveDescription.model(ModelCache.archive(document))
    #expect(file["Place.code"] != nil && file["Town.code"] == nil)
    #expect(cache["Place.code"] != nil && cache["Town.code"] != nil)
    #expect(file["Visit.place"]?["NSInverseRelationship"] == "property Place.visits")
    #expect(cache["Visit.place"]?["NSInverseRelationship"] == "property Town.visits")
  }

  @Test("Every model can be written as a file and read again")
  func roundTrip() throws {
    let document = ModelCacheTests.richModel()
    let archive = try CompiledModelWriter.archive(of: document, form: .file)
    #expect(try comparable(CompiledModelReader.document(of: archive)) == comparable(document))
  }

  @Test("An optimised model is read through the compiled one beside it, and refused where it stands alone")
  func optimised() throws {
    let directory = try TemporaryDirectory()
    let folder = directory.url
    let optimised = folder.appendingPathComponent("Model.omo")
    try (OptimizedModel.opening + Data("$srsraori55".utf8)).write(to: optimised)
    for url in [optimised, folder] {
      let error = #expect(throws: ModelFileError.self) { try ModelBundle(contentsOf: url) }
      #expect(error?.kind == .unsupportedFile)
      #expect(error?.found.contains("Model.mom") == true)
    }
    try ModelBundle.writeCompiled(model, to: folder.appendingPathComponent("Model.mom"))
    #expect(try ModelBundle(contentsOf: optimised).currentDocument() == model)
    #expect(try ModelBundle(contentsOf: folder).currentDocument() == model)
  }
}
