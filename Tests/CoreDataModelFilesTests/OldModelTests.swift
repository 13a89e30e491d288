// OpenCoreData
// SPDX-License-Identifier: Apache-2.0

import CoreDataTestSupport
import Foundation
import Testing

@testable import CoreDataModelFiles

/// No file of Apple's tools is known. The editor's archives are those of mapping models, of which many are known.
@Suite("Models from before Xcode 4")
struct OldModelTests {
  private static func document() -> ModelDocument {
    var author = EntityDocument(name: "Author", className: "Author")
    author.attributes = [
      AttributeDocument(name: "age", kind: .integer16, isOptional: false),
      AttributeDocument(name: "name", kind: .string),
    ]
    author.attributes[0].defaultValue = .integer(7)
    author.attributes[1].isIndexed = true
    author.relationships = [
      RelationshipDocument(name: "books", destinationEntityName: "Book", inverseName: "author", isToMany: true)
    ]
    author.relationships[0].deleteRule = .cascade
    var poet = EntityDocument(name: "Poet", parentName: "Author", className: "Poet")
    poet.renamingIdentifier = "Bard"
    poet.attributes = [AttributeDocument(name: "portrait", kind: .binaryData)]
    var book = EntityDocument(name: "Book", isAbstract: true, className: "Book")
    book.attributes = [AttributeDocument(name: "cover", kind: .transformable)]
    book.attributes[0].valueTransformerName = "Cover"
    book.relationships = [
      RelationshipDocument(name: "author", destinationEntityName: "Author", inverseName: "books", isOptional: false)
    ]
    book.relationships[0].minCount = 1
    return ModelDocument(entities: [author, book, poet], versionIdentifiers: ["1"])
  }

  private func makeBundle(_ elements: Data) throws -> TemporaryDirectory {
    let bundle = try TemporaryDirectory(pathExtension: "xcdatamodeld")
    try bundle.write(elements, to: "M 1.xcdatamodel/elements")
    try bundle.write("a diagram", to: "M 1.xcdatamodel/layout")
    try ModelBundle.writeSource(Self.document(), to: bundle.file("M 2.xcdatamodel"))
    return bundle
  }

  private func check(_ elements: Data) throws {
    let directory = try makeBundle(elements)
    let url = directory.url
    let bundle = try ModelBundle(contentsOf: url)
    #expect(bundle.unreadable.isEmpty && bundle.warnings.isEmpty)
    #expect(bundle.versions.map(\.name) == ["M 1", "M 2"])
    let found = try bundle.document(named: "M 1")
    #expect(VersionHashes(found).entities == VersionHashes(Self.document()).entities)
    let newer = try bundle.document(named: "M 2")
    for (entity, other) in zip(found.entities, newer.entities) {
      #expect(entity.name == other.name && entity.renamingIdentifier == other.renamingIdentifier)
      #expect(entity.className == other.className && entity.isAbstract == other.isAbstract)
      #expect(entity.attributes.map(\.defaultValue) == other.attributes.map(\.defaultValue))
      #expect(entity.attributes.map(\.isIndexed) == other.attributes.map(\.isIndexed))
      #expect(entity.relationships.map(\.deleteRule) == other.relationships.map(\.deleteRule))
      #expect(entity.relationships.map(\.maxCount) == other.relationships.map(\.maxCount))
    }
    // The package alone is a model too.
    let alone = try ModelBundle(contentsOf: url.appendingPathComponent("M 1.xcdatamodel"))
    #expect(alone.versions.map(\.name) == ["M 1"])
  }

  @Test("An archive of the editor is read, with what version hashes do not contain")
  func editor() throws { try check(EditorModelWriter.archive(of: Self.document())) }

  @Test("An archive of a compiled model is read")
  func compiled() throws { try check(CompiledModelWriter.archive(of: Self.document(), form: .file)) }

  @Test(
    "Every copy of a model in the mapping models of Xcode is read, with the version hashes that mapping models have",
    .enabled(if: Fixtures.isPresent, "The fixtures are not beside the repository"))
  func copies() throws {
    let package = try TemporaryDirectory(pathExtension: "xcdatamodel")
    var count = 0
    for url in Fixtures.mappingSources.map({ $0.appendingPathComponent("xcmapping.xml") }) {
      let store = try XMLStoreDocument(contentsOf: Data(contentsOf: url), file: url)
      for attribute in store.objects.flatMap(\.attributes) where attribute.name.hasSuffix("modeldata") {
        let data = try #require(Data(base64Encoded: attribute.text, options: .ignoreUnknownCharacters))
        guard !data.isEmpty else { continue }
        try package.write(data, to: "elements")
        let found = try #require(try ModelBundle(contentsOf: package.url).versions.first?.document)
        let known = try EditorModelReader.document(of: data)
        #expect(VersionHashes(found).entities == VersionHashes(known).entities, "\(Fixtures.name(of: url))")
        count += 1
      }
    }
    #expect(count == 64)
  }

  @Test("An archive that is cut off or of other classes is told, and the newer versions are read")
  func damaged() throws {
    let whole = EditorModelWriter.archive(of: Self.document())
    var builder = KeyedArchiveBuilder()
    let other = builder.reserve()
    builder.fill(other, "Other", [:])
    for data in [whole.prefix(whole.count / 2), Data(), Data("<plist/>".utf8), builder.data(root: other)] {
      let directory = try makeBundle(data)
      let url = directory.url
      let bundle = try ModelBundle(contentsOf: url)
      #expect(bundle.versions.map(\.name) == ["M 2"])
      let error = try #require(bundle.unreadable.first?.error)
      #expect(error.found.contains("before Xcode 4") && error.file?.hasSuffix("elements") == true, "\(error)")
    }
  }
}
