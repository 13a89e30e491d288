// OpenCoreData
// SPDX-License-Identifier: Apache-2.0

import CoreData
import CoreDataModelFiles
import Foundation
import Testing

@testable import SwiftData

@Suite("Schemas in code, by name")
struct SchemaFinderTests {
  /// The module of these tests, as the plug-in names those of an app.
  private let module = String(String(reflecting: LibraryPlan.self).prefix { $0 != "." })

  private func model(_ name: String) throws -> ModelInCode? {
    try SchemaFinder.model(named: name, in: ["Foundation", module])
  }

  @Test("A plan is a model with a version for each schema, the same whenever it is made")
  func plan() throws {
    let found = try #require(try model("LibraryPlan"))
    #expect(found.versions.map(\.name) == ["1.0.0", "2.0.0", "3.0.0"])
    for (version, type) in zip(found.versions, LibraryPlan.schemas) {
      let model = try #require(NSManagedObjectModel.makeManagedObjectModel(for: Schema(versionedSchema: type)))
      #expect(VersionHashes(version.document).checksum == model.versionChecksum)
    }
    #expect(found.stagesWithCode == ["LibraryV1 to LibraryV2"])
    #expect(try model("\(module).LibraryPlan")?.versions.map(\.document) == found.versions.map(\.document))
  }

  enum Outer {
    struct Inner {
      /// A plan inside other types, whose second version has no stage.
      final class Plan: SchemaMigrationPlan {
        static var schemas: [any VersionedSchema.Type] { [LibraryV1.self, LibraryV2.self] }
        static var stages: [MigrationStage] { [] }
      }
    }
  }

  private enum Hidden: SchemaMigrationPlan {
    static var schemas: [any VersionedSchema.Type] { [LibraryV1.self] }
    static var stages: [MigrationStage] { [] }
  }

  @Test("A plan inside other types has their names before its own, and is checked as a container does")
  func nested() throws {
    let found = try #require(try model("SchemaFinderTests.Outer.Inner.Plan"))
    #expect(found.versions.map(\.name) == ["1.0.0", "2.0.0"])
    let error = #expect(throws: SwiftDataError.self) { try found.check() }
    #expect(error?.localizedDescription.contains("has no stage from LibraryV1") == true)
    #expect(try model("Plan")?.versions.isEmpty == nil)
  }

  @Test("A versioned schema is a model with one version")
  func version() throws {
    let found = try #require(try model("LibraryV2"))
    #expect(found.versions.map(\.name) == ["2.0.0"])
    #expect(found.stagesWithCode.isEmpty)
  }

  @Test(
    "Names of nothing, of another kind of type, of private types and of other modules are not found",
    arguments: [
      "", ".", "Missing", "Library", "SchemaFinderTests", "SchemaFinderTests.Hidden", "Other.LibraryPlan", "Bücher",
    ])
  func unknown(_ name: String) throws {
    #expect(try model(name)?.versions.isEmpty == nil)
  }
}
