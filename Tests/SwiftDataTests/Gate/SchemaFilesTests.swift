// OpenCoreData
// SPDX-License-Identifier: Apache-2.0

import CoreData
import CoreDataAnalysis
import CoreDataModelFiles
import CoreDataTestSupport
import Foundation
import SwiftData
import Testing

@testable import SwiftDataTesting

@Suite("Schemas of a plan as files")
struct SchemaFilesTests {
  @Test("The files have a version for each schema, with its hashes, and the last one is current")
  func written() throws {
    let folder = try TemporaryDirectory()
    let url = folder.url.appendingPathComponent("Deep/Library.xcdatamodeld")
    try writeSchemas(of: LibraryPlan.self, to: url)
    let bundle = try ModelBundle(contentsOf: url)
    #expect(bundle.names == ["1.0.0", "2.0.0", "3.0.0"])
    #expect(bundle.currentVersionName == "3.0.0")
    for (name, type) in zip(bundle.names, LibraryPlan.schemas) {
      let model = try #require(NSManagedObjectModel.makeManagedObjectModel(for: Schema(versionedSchema: type)))
      #expect(try NSManagedObjectModel(document: bundle.document(named: name)).versionChecksum == model.versionChecksum)
    }
    try expectSchemas(of: LibraryPlan.self, match: url.path)
  }

  @Test("A changed schema is named with its entity and property, and whether stores can still be opened")
  func changed() throws {
    let folder = try TemporaryDirectory()
    let url = folder.url.appendingPathComponent("Library.xcdatamodeld")
    try writeSchemas(of: LibraryPlan.self, to: url)
    let edited = url.appendingPathComponent("1.0.0.xcdatamodel/contents")
    let text = try String(contentsOf: edited, encoding: .utf8)
    try text.replacingOccurrences(of: "name=\"author\"", with: "name=\"author\" optional=\"YES\"")
      .write(to: edited, atomically: true, encoding: .utf8)
    let failure = try #require(throws: SchemaFilesFailure.self) {
      try expectSchemas(of: LibraryPlan.self, match: url.path)
    }
    #expect(failure.differences.count == 1)
    #expect(failure.description.contains("The version 1.0.0 was changed. Stores that were written before could not"))
    #expect(failure.description.contains("Book.author"))
    #expect(failure.description.contains("SWIFTDATA_WRITE_SCHEMAS=1"))
  }

  @Test("Versions that only the plan or only the files have are named")
  func missing() throws {
    let folder = try TemporaryDirectory()
    let url = folder.url.appendingPathComponent("Library.xcdatamodeld")
    let none = try #require(throws: SchemaFilesFailure.self) {
      try expectSchemas(of: LibraryPlan.self, match: url.path)
    }
    #expect(none.differences.first?.contains("do not exist") == true)
    let versions = try SchemaDocuments.versions(of: LibraryPlan.self)
    try SchemaFiles.write(versions.dropLast(), to: url)
    #expect(try SchemaFiles.differences(versions, url).first?.contains("3.0.0 is new") == true)
    try SchemaFiles.write(versions, to: url)
    #expect(try SchemaFiles.differences(Array(versions.dropLast()), url).contains { $0.contains("a version 3.0.0") })
  }

  @Test("Initial values of the moment are the same in every file")
  func moments() throws {
    func text() throws -> String {
      let folder = try TemporaryDirectory()
      let url = folder.url.appendingPathComponent("Moments.xcdatamodeld")
      try writeSchemas(of: MomentsPlan.self, to: url)
      return try String(contentsOf: url.appendingPathComponent("1.0.0.xcdatamodel/contents"), encoding: .utf8)
    }
    let first = try text()
    // The orders of dictionaries and sets are often the same by chance.
    for _ in 0..<20 { #expect(try text() == first) }
    #expect(first.contains("defaultDateTimeInterval=\"0\""))
    #expect(first.contains("defaultValueString=\"kept\""))
    let plan = try SchemaDocuments.versions(of: MomentsPlan.self)[0].document
    let values = plan.entities[0].attributes.filter { ["counts", "words"].contains($0.name) }.map(\.defaultValue)
    #expect(values == [#"{"one":1,"three":3,"two":2}"#, #"["one","three","two"]"#].map { .data(Data($0.utf8)) })
  }

  @Test(
    "The file of a schema has the version hashes of Apple's stores", .enabled(if: Fixtures.isPresent, "no fixtures"),
    arguments: StoreFixture.projects.indices)
  func fixtures(_ position: Int) throws {
    let project = StoreFixture.projects[position]
    let document = try SchemaDocuments.document(project.path) { Schema(project.models) }
    let folder = try TemporaryDirectory()
    let url = folder.url.appendingPathComponent("Model.xcdatamodel")
    try ModelBundle.writeSource(document, to: url)
    let model = try #require(NSManagedObjectModel.makeManagedObjectModel(for: project.models))
    let back = try NSManagedObjectModel(document: ModelBundle(contentsOf: url).currentDocument())
    #expect(back.entityVersionHashesByName == model.entityVersionHashesByName)
    for fixture in StoreFixture.all where fixture.project.path == project.path {
      let copy = try Fixtures.copy(ofStore: fixture.url)
      let metadata = try NSPersistentStoreCoordinator.metadataForPersistentStore(type: .sqlite, at: copy.url)
      #expect(back.entityVersionHashesByName == metadata[NSStoreModelVersionHashesKey] as? [String: Data])
    }
  }
}

enum MomentsPlan: SchemaMigrationPlan {
  static var schemas: [any VersionedSchema.Type] { [MomentsV1.self] }
  static var stages: [MigrationStage] { [] }
}

enum MomentsV1: VersionedSchema {
  static let versionIdentifier = Schema.Version(1, 0, 0)
  static var models: [any PersistentModel.Type] { [Moment.self] }

  @Model final class Moment {
    var id = UUID()
    var text = UUID().uuidString
    var kept = "kept"
    var date = Date()
    var number = Int.random(in: 1...1_000_000_000)
    var tags: [String] = []
    var counts: [String: Int] = ["one": 1, "two": 2, "three": 3]
    var words: Set<String> = ["one", "two", "three"]

    init() {}
  }
}
