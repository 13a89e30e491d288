// OpenCoreData
// SPDX-License-Identifier: Apache-2.0

import CoreDataPredicates
import CoreDataTestSupport
import Foundation
import Testing

@testable import CoreDataModelFiles

@Suite(
  "Mapping models of other projects", .enabled(if: Fixtures.isPresent, "The fixtures are not beside the repository"))
struct MappingFixtureTests {
  private static let tutorial = "kodecocodes__cdt-materials/06-versioning-and-migration/projects/final/UnCloudNotes"
  private static let samples = "tinrobots__CoreDataPlus/Tests/Resources/SampleModel"

  @Test("Every source of a mapping model is read, and comes back equal from a compiled one")
  func all() throws {
    #expect(Fixtures.mappingSources.count == 32)
    var counts = (mappings: 0, attributes: 0, relationships: 0, policies: 0, filters: 0)
    for url in Fixtures.mappingSources {
      var mapping = try MappingDocument(contentsOf: url)
      #expect(!mapping.entityMappings.isEmpty, "\(Fixtures.name(of: url))")
      for entity in mapping.entityMappings {
        counts.mappings += 1
        counts.attributes += entity.attributeMappings.count
        counts.relationships += entity.relationshipMappings.count
        counts.policies += entity.policyClassName == nil ? 0 : 1
        counts.filters += entity.filter == nil ? 0 : 1
        #expect((entity.sourceEntityName == nil) == (entity.sourceEntityVersionHash == nil))
        #expect(entity.destinationEntityVersionHash?.count == 32)
      }
      let compiled = try CompiledMapping.document(of: CompiledMapping.archive(of: mapping))
      (mapping.sourceVersionName, mapping.destinationVersionName) = (nil, nil)
      #expect(compiled == mapping, "\(Fixtures.name(of: url))")
    }
    #expect(counts == (179, 1571, 33, 40, 3))
  }

  @Test("Every mapping model comes back equal from a text, and from a source that we write")
  func forms() throws {
    for url in Fixtures.mappingSources + Fixtures.compiledMappings {
      let name = Fixtures.name(of: url)
      let mapping = try MappingDocument(contentsOf: url)
      let text = try MappingTextWriter.text(of: mapping, comment: name)
      let back = try MappingTextReader.document(of: Data(text.utf8), file: url)
      #expect(back.entityMappings == mapping.entityMappings.map(\.asText), "\(name)")
      #expect(back.sourceVersionName == mapping.sourceVersionName)
      #expect(try MappingTextWriter.text(of: back, comment: name) == text, "\(name)")
      guard url.pathExtension == "xcmappingmodel" else { continue }
      let data = try Data(contentsOf: url.appendingPathComponent("xcmapping.xml"))
      let versions = try XCMappingReader.versions(of: data, file: url)
      let source = try #require(versions.source)
      let destination = try #require(versions.destination)
      // The copies of the versions hold what ours do.
      for version in [source, destination] {
        let copy = try EditorModelReader.document(of: EditorModelWriter.archive(of: version))
        #expect(VersionHashes(copy).entities == VersionHashes(version).entities, "\(name)")
      }
      let written = try XCMappingWriter.data(
        of: mapping,
        versions: .init(
          source: source, destination: destination, sourcePath: "A.xcdatamodel", destinationPath: "B.xcdatamodel"))
      let again = try XCMappingReader.document(of: written, file: url)
      #expect(again.entityMappings.map(\.asText) == mapping.entityMappings.map(\.asText), "\(name)")
      #expect(
        again.entityMappings.map(\.destinationEntityVersionHash)
          == mapping.entityMappings.map(\.destinationEntityVersionHash))
    }
  }

  @Test("Version 2 to 3 of the notes: the filter, and the notes that attachments belong to")
  func notesOfVersion3() throws {
    let url = Fixtures.url("\(Self.tutorial)/UnCloudNotesMappingModel_v2_to_v3.xcmappingmodel")
    let mapping = try MappingDocument(contentsOf: url)
    #expect(mapping.sourceVersionName == "UnCloudNotesDataModel v2")
    #expect(mapping.destinationVersionName == "UnCloudNotesDataModel v3")
    #expect(mapping.entityMappings.map(\.name) == ["NoteToAttachment", "NoteToNote"])
    #expect(mapping.entityMappings.map(\.kind) == [.transform, .copy])
    let attachment = mapping.entityMappings[0]
    #expect(attachment.filter == "image != nil")
    #expect(attachment.attributeMappings.map(\.name) == ["dateCreated", "image"])
    #expect(
      attachment.relationshipMappings == [
        PropertyMappingDocument(
          name: "note",
          valueExpression: MappingExpressions.destinationObjects(mapping: "NoteToNote", of: .variable("source")))
      ])
    #expect(mapping.entityMappings[1].filter == nil)
  }

  @Test("Version 3 to 4 of the notes: the policy, and both kinds of relationship expression")
  func notesOfVersion4() throws {
    let url = Fixtures.url("\(Self.tutorial)/UnCloudNotesMappingModel_v3_to_v4.xcmappingmodel")
    let mapping = try MappingDocument(contentsOf: url)
    #expect(mapping.entityMappings.map(\.name) == ["NoteToNote", "AttachmentToImageAttachment"])
    #expect(
      mapping.entityMappings[1].policyClassName == "UnCloudNotes.AttachmentToImageAttachmentMigrationPolicyV3toV4")
    #expect(mapping.entityMappings[1].kind == .custom)
    let printer = PredicatePrinter()
    let expressions = mapping.entityMappings.flatMap(\.relationshipMappings).map {
      $0.valueExpression.map { printer.format($0) }
    }
    let selector = "destinationInstancesForEntityMappingNamed:sourceInstances:"
    #expect(
      expressions == [
        "FUNCTION($manager, \"\(selector)\", \"NoteToNote\", $source.attachments)",
        "FUNCTION($manager, \"\(selector)\", \"NoteToNote\", $source.note)",
      ])
  }

  @Test("What we make of a source is what Xcode's compiler made of it")
  func compilation() throws {
    #expect(Fixtures.compiledMappings.count == 1)
    let compiled = try MappingDocument(contentsOf: Fixtures.url("\(Self.samples)/Fixtures/V2toV3.cdm"))
    let url = Fixtures.url("\(Self.samples)/MappingModels/V2toV3.xcmappingmodel")
    var source = try MappingDocument(contentsOf: url)
    (source.sourceVersionName, source.destinationVersionName) = (nil, nil)
    #expect(source == compiled)
    for (ours, theirs) in zip(source.entityMappings, compiled.entityMappings) { #expect(ours == theirs) }
    let versions = try ModelBundle(contentsOf: Fixtures.url("\(Self.samples)/Fixtures/SampleModel.momd"))
    var given = try MappingDocument(
      contentsOf: url, source: versions.document(named: "SampleModel2"),
      destination: versions.document(named: "SampleModel3"))
    (given.sourceVersionName, given.destinationVersionName) = (nil, nil)
    #expect(given == compiled)
  }

  /// The compiler keeps the arguments of some functions in a mutable array, which ours never is.
  @Test("What we compile has the classes and keys of what Xcode's compiler wrote")
  func structure() throws {
    let archive = try Data(contentsOf: Fixtures.url("\(Self.samples)/Fixtures/V2toV3.cdm"))
    let ours = try archiveShape(CompiledMapping.archive(of: CompiledMapping.document(of: archive)))
    #expect(try ours == archiveShape(archive))
  }

  @Test("Stale hashes give way to those of the versions that are given")
  func hashes() throws {
    let url = Fixtures.url("\(Self.samples)/Fixtures/V2toV3.cdm")
    let versions = try ModelBundle(contentsOf: Fixtures.url("\(Self.samples)/Fixtures/SampleModel.momd"))
    var changed = try versions.document(named: "SampleModel2")
    let position = try #require(changed.entities.firstIndex { $0.name == "Person" })
    changed.entities[position].versionHashModifier = "changed"
    let mapping = try MappingDocument(contentsOf: url, source: changed)
    let hashes = VersionHashes(changed).entities
    for entity in mapping.entityMappings {
      #expect(entity.sourceEntityVersionHash == entity.sourceEntityName.flatMap { hashes[$0] })
    }
  }
}
