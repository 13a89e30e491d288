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

  /// What the sources of the fixtures hold beside the model itself: tools, code generation, the diagram.
  private static let passedOver: Set<String> = [
    "model documentVersion", "model iOSVersion", "model lastSavedToolsVersion", "model macOSVersion",
    "model minimumToolsVersion", "model name", "model sourceLanguage", "model systemVersion", "model type",
    "model usedWithCloudKit", "model usedWithSwiftData", "entity syncable",
    "attribute syncable", "relationship syncable",
    // Named twice in sources: the inverse is always looked for on the destination.
    "relationship inverseEntity",
    // Of one source written by hand; Xcode says inverseName.
    "relationship inverse",
  ]

  private static let read: Set<String> = [
    "model userDefinedModelVersionIdentifier", "composite name", "configuration name", "memberEntity name",
    "entity name", "entity codeGenerationType", "entity elementID", "entity isAbstract", "entity parentEntity",
    "entity representedClassName",
    "attribute name", "attribute allowsExternalBinaryDataStorage", "attribute attributeType", "attribute composite",
    "attribute customClassName", "attribute defaultValueString", "attribute elementID", "attribute indexed",
    "attribute maxValueString", "attribute minValueString", "attribute optional", "attribute preserveAfterDeletion",
    "attribute renamingIdentifier", "attribute transient", "attribute usesScalarValueType",
    "attribute valueTransformerName", "attribute versionHashModifier", "entry key", "entry value",
    "fetchIndex name", "fetchIndexElement order", "fetchIndexElement property", "fetchIndexElement type",
    "fetchedProperty name", "fetchedProperty optional", "fetchRequest entity", "fetchRequest name",
    "relationship name", "relationship deletionRule", "relationship destinationEntity", "relationship elementID",
    "relationship inverseName", "relationship maxCount", "relationship minCount", "relationship optional",
    "relationship ordered", "relationship toMany", "constraint value",
  ]

  @Test("There is no element or attribute in any source that the reader has not been told about")
  func survey() throws {
    var found: Set<String> = []
    func collect(_ node: XMLElementNode) {
      guard node.name != "elements" else { return }
      found.formUnion(node.attributes.keys.map { "\(node.name) \($0)" })
      node.children.forEach(collect)
    }
    for source in Fixtures.modelSources {
      let file = source.appendingPathComponent("contents")
      collect(try XMLTreeReader.root(of: Data(contentsOf: file), file: file))
    }
    #expect(found == Self.read.union(Self.passedOver))
  }
}
