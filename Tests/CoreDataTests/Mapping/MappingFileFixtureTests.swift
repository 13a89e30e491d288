// OpenCoreData
// SPDX-License-Identifier: Apache-2.0

import CoreDataModelFiles
import CoreDataTestSupport
import Foundation
import Testing

@testable import CoreData

@Suite(
  "Mapping models in files of other projects",
  .enabled(if: Fixtures.isPresent, "The fixtures are not beside the repository"))
struct MappingFileFixtureTests {
  private static let tutorial = Fixtures.url(
    "kodecocodes__cdt-materials/06-versioning-and-migration/projects/final/UnCloudNotes")
  private static let versions = tutorial.appendingPathComponent("UnCloudNotesDataModel.xcdatamodeld")

  private func model(_ version: String) throws -> NSManagedObjectModel {
    try NSManagedObjectModel.load(contentsOf: Self.versions, version: "UnCloudNotesDataModel \(version)")
  }

  @Test("The tutorial's mapping model has Apple's objects, filter and expressions")
  func notes() throws {
    let url = Self.tutorial.appendingPathComponent("UnCloudNotesMappingModel_v2_to_v3.xcmappingmodel")
    let (source, destination) = (try model("v2"), try model("v3"))
    let mapping = try NSMappingModel.load(contentsOf: url, forSourceModel: source, destinationModel: destination)
    #expect(mapping.entityMappings.map(\.name) == ["NoteToAttachment", "NoteToNote"])
    let attachment = mapping.entityMappings[0]
    #expect(attachment.sourceEntityVersionHash == source.entityVersionHashesByName["Note"])
    #expect(attachment.destinationEntityVersionHash == destination.entityVersionHashesByName["Attachment"])
    #expect(attachment.sourceExpression?.description.contains("image != nil") == true)
    #expect(
      attachment.relationshipMappings?.first?.valueExpression?.description.contains("\"NoteToNote\", $source)") == true)
  }

  @Test("The mapping model between two versions is found by their hashes")
  func search() throws {
    for (source, destination, first) in [("v2", "v3", "NoteToAttachment"), ("v3", "v4", "NoteToNote")] {
      let search = MappingSearch(source: try model(source), destination: try model(destination))
      #expect(search.mapping(in: ModelSearch(folders: [Self.tutorial]))?.entityMappings.first?.name == first)
    }
    let none = MappingSearch(source: try model("v4"), destination: try model("v2"))
    #expect(none.mapping(in: ModelSearch(folders: [Self.tutorial])) == nil)
  }

  @Test("A mapping model whose copies of the models are stale is found by the names of the versions")
  func staleSearch() throws {
    let directory = try TemporaryDirectory()
    let mapping = "UnCloudNotesMappingModel_v2_to_v3.xcmappingmodel/xcmapping.xml"
    try directory.write(Data(contentsOf: Self.tutorial.appendingPathComponent(mapping)), to: mapping)
    let name = "UnCloudNotesDataModel.xcdatamodeld"
    for version in ["v2", "v3"] {
      let contents = "UnCloudNotesDataModel \(version).xcdatamodel/contents"
      let source = try String(contentsOf: Self.versions.appendingPathComponent(contents), encoding: .utf8)
      let edited = source.replacingOccurrences(
        of: "<entity name=\"Note\"", with: "<entity name=\"Note\" versionHashModifier=\"edited\"")
      try directory.write(edited, to: "\(name)/\(contents)")
    }
    let bundle = directory.file(name)
    let source = try NSManagedObjectModel.load(contentsOf: bundle, version: "UnCloudNotesDataModel v2")
    let destination = try NSManagedObjectModel.load(contentsOf: bundle, version: "UnCloudNotesDataModel v3")
    #expect(try source.entityVersionHashesByName["Note"] != model("v2").entityVersionHashesByName["Note"])
    let found = MappingSearch(source: source, destination: destination).mapping(
      in: ModelSearch(folders: [directory.url]))
    #expect(found?.entityMappings.map(\.name) == ["NoteToAttachment", "NoteToNote"])
    #expect(found?.entityMappings[1].sourceEntityVersionHash == source.entityVersionHashesByName["Note"])
  }
}
