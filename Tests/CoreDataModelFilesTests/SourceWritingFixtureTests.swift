// OpenCoreData
// SPDX-License-Identifier: Apache-2.0

import CoreDataPredicates
import CoreDataTestSupport
import Foundation
import Testing

@testable import CoreDataModelFiles

@Suite(
  "Writing model sources of other projects",
  .enabled(if: Fixtures.isPresent, "The fixtures are not beside the repository"))
struct SourceWritingFixtureTests {
  @Test("Every source is the same model after it was written and read again")
  func sources() throws {
    #expect(Fixtures.modelSources.count == 346)
    for url in Fixtures.modelSources {
      let document = try ModelBundle(contentsOf: url).currentDocument()
      let text = try XCDataModelWriter.text(of: document)
      let back = try XCDataModelReader.document(of: Data(text.utf8), file: url)
      #expect(back == document, "\(Fixtures.name(of: url))")
    }
  }

  @Test("Every compiled model and every store's model becomes a source of the same model")
  func compiled() throws {
    let archives =
      try CompiledModelFixtureTests.caches().map { ($0.name, $0.archive) }
      + Fixtures.compiledModels.map { (Fixtures.name(of: $0), try Data(contentsOf: $0)) }
    #expect(archives.count == 44)
    for (name, archive) in archives {
      let document = try ModelCache.unarchive(archive)
      let text = try XCDataModelWriter.text(of: document)
      let back = try XCDataModelReader.document(of: Data(text.utf8), file: Fixtures.root)
      #expect(back == document, "\(name)")
      #expect(VersionHashes(back).entities == VersionHashes(document).entities)
    }
  }

  @Test(
    "The model that a store of SwiftData carries becomes a source of the same model",
    arguments: Fixtures.swiftDataStores)
  func swiftData(_ store: URL) throws {
    let cache = try #require(try StoreContents(copyOf: store).modelCache)
    let document = try ModelCache.unarchive(RawDeflate.decompress(cache))
    let text = try XCDataModelWriter.text(of: document)
    var back = try XCDataModelReader.document(of: Data(text.utf8), file: Fixtures.root)
    #expect(VersionHashes(back).entities == VersionHashes(document).entities)
    // A source names composite types; the model in a store has no name for them.
    for entity in back.entities.indices {
      for attribute in back.entities[entity].attributes.indices {
        Self.removeCompositeNames(&back.entities[entity].attributes[attribute])
      }
    }
    #expect(back == document)
  }

  private static func removeCompositeNames(_ attribute: inout AttributeDocument) {
    attribute.compositeName = nil
    for element in attribute.elements.indices { removeCompositeNames(&attribute.elements[element]) }
  }

  /// What a document does not hold is taken out of Xcode's text first: the attributes of the file itself, the diagram,
  /// and the choice of generated code.
  ///
  /// The other 135 mark some entities or properties as syncable and others not, or keep empty user info (45 together);
  /// write whole numbers as `0` in Float and Double attributes or as `0.0` in Integer ones (59 more); say
  /// `renamingIdentifier` for `elementID` (22); have blank lines from a person's hand (8), or an empty
  /// `valueTransformerName` (1). They say the same, as the first test shows.
  @Test("The text is Xcode's own, but for what a document does not hold")
  func text() throws {
    var equal = 0
    for url in Fixtures.modelSources {
      let file = url.appendingPathComponent("contents")
      let theirs = reduced(try String(contentsOf: file, encoding: .utf8))
      let style = SourceStyle(
        syncable: theirs.contains("<entity") && !theirs.contains("syncable=")
          ? .nothing : theirs.contains(/<(attribute|relationship) [^>]*syncable=/) ? .entitiesAndProperties : .entities,
        marksObjectValues: theirs.contains("usesScalarValueType=\"NO\""))
      let document = try ModelBundle(contentsOf: url).currentDocument()
      let ours = reduced(try XCDataModelWriter.text(of: document, style: style))
      if ours == theirs {
        equal += 1
      } else if ProcessInfo.processInfo.environment["COREDATA_SHOW_TEXTS"] != nil {
        let pair = zip(ours.split(separator: "\n"), theirs.split(separator: "\n")).first { $0 != $1 }
        print("DIFF", Fixtures.name(of: url), "\n  ours  ", pair?.0 ?? "", "\n  theirs", pair?.1 ?? "")
      }
    }
    #expect(equal == 211)
  }

  private func reduced(_ text: String) -> String {
    var text = text.replacing(/<model [^>]*>/, with: "<model>")
    // What is not said means the same.
    text = text.replacing(" codeGenerationType=\"none\"", with: "")
    text = text.replacing(/\n    <elements(\/>|>[\s\S]*<\/elements>)/, with: "")
    return text.trimmingCharacters(in: .whitespacesAndNewlines)
  }
}
