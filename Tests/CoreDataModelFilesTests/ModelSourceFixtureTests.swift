// OpenCoreData
// SPDX-License-Identifier: Apache-2.0

import CoreDataTestSupport
import Foundation
import Testing

@testable import CoreDataModelFiles

@Suite(
  "Model sources of other projects", .enabled(if: Fixtures.isPresent, "The fixtures are not beside the repository"))
struct ModelSourceFixtureTests {
  private struct Row: Decodable {
    let model: String
    let entity: String
    let hash: String
  }

  @Test("Every hash that Apple's tools computed for a source comes out equal")
  func hashes() throws {
    let list = try Data(contentsOf: Fixtures.url("version-hashes.json"))
    let rows = try JSONDecoder().decode([Row].self, from: list)
    #expect(rows.count == 207)
    for (model, rows) in Dictionary(grouping: rows, by: \.model) {
      let package = Fixtures.url(model).deletingLastPathComponent()
      let hashes = VersionHashes(try ModelBundle(contentsOf: package).currentDocument())
      for row in rows {
        #expect(hashes.entities[row.entity].map(hex) == row.hash, "\(row.entity) of \(model)")
      }
    }
  }

  @Test("Every source is read, and all but those known to be broken make sense")
  func sources() throws {
    #expect(Fixtures.modelSources.count == 346)
    var refused: [String: ModelFileError.Kind] = [:]
    for source in Fixtures.modelSources {
      let document = try ModelBundle(contentsOf: source).currentDocument()
      do {
        try document.validate()
      } catch let error as ModelFileError {
        refused[Fixtures.name(of: source)] = error.kind
      }
    }
    #expect(
      refused == [
        "artsy__energy/_history/8aa5eb7b/Resources/CoreData/ArtsyPartner.xcdatamodeld/ArtsyFolio v2.6.0.xcdatamodel":
          .missingDestination
      ])
  }

  @Test("Every bundle is read, and its current version is there wherever the project kept it")
  func bundles() throws {
    for folder in Fixtures.modelBundles {
      let bundle = try ModelBundle(contentsOf: folder)
      #expect(!bundle.versions.isEmpty)
      if let current = bundle.currentVersionName, bundle.versions.contains(where: { $0.name == current }) {
        #expect(throws: Never.self) { try bundle.currentDocument() }
      }
    }
  }
}
