// OpenCoreData
// SPDX-License-Identifier: Apache-2.0

import CoreData
import CoreDataSourceCode
import CoreDataTestSupport
import Foundation
import SwiftData
import Testing

/// The files in `Generated` are those that `coredata model generate --swiftdata STORE --name NAME` writes, with a header.
@Suite("Schemas generated from stores", .enabled(if: Fixtures.isPresent, "no fixtures"))
struct GeneratedSchemaTests {
  private static let schemas: [(path: String, type: any VersionedSchema.Type)] = [
    ("MatthewHunt84__MetaCocktailsSwiftData/2024-07-13_3292fc79/default.store", GeneratedCocktails.self),
    ("atomicguy__Retroview/2024-12-26_48ff80fc/preview.store", GeneratedRetroview.self),
    ("jdeda__iOS-ChefTime/2023-11-05_aac1b60b/mock_original.store", GeneratedChefTime.self),
    ("keithsharp__VacuumTest/2024-05-29_2570ae30/challenges.store", GeneratedVacuumTest.self),
    ("thierryH91200__PegaseUIData/2025-10-30_bbefd900/SampleManager.store", GeneratedPegase.self),
  ]

  @Test("The source is what the generator writes, and its schema has the version hashes of the store", arguments: 0..<5)
  func generated(_ position: Int) throws {
    let (path, type) = Self.schemas[position]
    let url = try #require(Fixtures.swiftDataStores.first { $0.path.hasSuffix(path) })
    let copy = try Fixtures.copy(ofStore: url)
    let stored = try NSManagedObjectModel.load(contentsOf: copy.url)
    let schema = GeneratedSchema(stored.document, name: "\(type)", origin: url.lastPathComponent)
    let file = URL(fileURLWithPath: #filePath).deletingLastPathComponent()
      .appendingPathComponent("Generated/\(type).swift")
    let header = "// OpenCoreData\n// SPDX-License-Identifier: Apache-2.0\n\n"
    #expect(try String(contentsOf: file, encoding: .utf8) == header + schema.text)
    let model = try #require(NSManagedObjectModel.makeManagedObjectModel(for: Schema(versionedSchema: type)))
    #expect(model.entityVersionHashesByName == stored.entityVersionHashesByName)
    #expect(schema.remarks == [])
  }

  @Test("Every store becomes a source without a remark, twice the same")
  func all() throws {
    for url in Fixtures.swiftDataStores {
      let copy = try Fixtures.copy(ofStore: url)
      let document = try NSManagedObjectModel.load(contentsOf: copy.url).document
      let schema = GeneratedSchema(document, origin: "")
      #expect(schema.remarks == [], "\(Fixtures.name(of: url))")
      #expect(schema.text == GeneratedSchema(document, origin: "").text)
      #expect(schema.text.contains("enum SchemaV1: VersionedSchema {"))
    }
  }
}
