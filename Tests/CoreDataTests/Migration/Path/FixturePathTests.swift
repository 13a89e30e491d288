// OpenCoreData
// SPDX-License-Identifier: Apache-2.0

import CoreDataTestSupport
import Foundation
import Testing

@testable import CoreData

@Suite("Ways through the models and mapping models of other projects", .enabled(if: Fixtures.isPresent, "no fixtures"))
struct FixturePathTests {
  struct Way: CustomStringConvertible, Sendable {
    let models: String
    let source: String
    let destination: String
    let mappings: String
    /// `v1 > v2 = v3`: an inferred step, then one by a mapping model.
    let path: String

    var description: String { "\(models): \(path)" }
  }

  static let kodeco = "kodecocodes__cdt-materials/06-versioning-and-migration/projects/final/UnCloudNotes"
  static let books = "hwaxxer__BookMigration/BookMigration"
  static let samples = "tinrobots__CoreDataPlus/Tests/Resources/SampleModel"
  static let loop = "LoopKit__LoopKit/LoopKit/Persistence"

  static let ways: [Way] = [
    Way(
      models: "\(kodeco)/UnCloudNotesDataModel.xcdatamodeld", source: "UnCloudNotesDataModel",
      destination: "UnCloudNotesDataModel v4", mappings: kodeco,
      path: "UnCloudNotesDataModel > UnCloudNotesDataModel v2 = UnCloudNotesDataModel v3 = UnCloudNotesDataModel v4"),
    Way(
      models: "\(books)/Model.xcdatamodeld", source: "Model1", destination: "Model3", mappings: books,
      path: "Model1 = Model2 = Model3"),
    Way(
      models: "\(loop)/Model.xcdatamodeld", source: "Model", destination: "Modelv4", mappings: loop,
      path: "Model = Modelv4"),
    Way(
      models: "\(samples)/SampleModel.xcdatamodeld", source: "SampleModel", destination: "SampleModel3",
      mappings: "\(samples)/MappingModels", path: "SampleModel > SampleModel2 = SampleModel3"),
    // What Xcode has compiled, with hashes in place of names.
    Way(
      models: "\(samples)/Fixtures/SampleModel.momd", source: "SampleModel", destination: "SampleModel3",
      mappings: "\(samples)/Fixtures", path: "SampleModel > SampleModel2 = SampleModel3"),
  ]

  @Test("The way is the one that the projects' authors had in mind", arguments: ways)
  func way(_ way: Way) throws {
    let path = try MigrationPath(
      modelsAt: Fixtures.url(way.models), from: way.source, to: way.destination,
      mappings: [Fixtures.url(way.mappings)])
    let text = path.steps.reduce(path.source) { $0 + ($1.kind == .mapping ? " = " : " > ") + $1.destination }
    #expect(text == way.path)
    #expect(path.steps.allSatisfy { ($0.mappingURL != nil) == ($0.kind == .mapping) })
    #expect(!path.explanation.isEmpty)
  }
}
