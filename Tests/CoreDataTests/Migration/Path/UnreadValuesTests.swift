// OpenCoreData
// SPDX-License-Identifier: Apache-2.0

import CoreDataPredicates
import CoreDataTestSupport
import Foundation
import Testing

@testable import CoreData
@testable import CoreDataMigration
@testable import CoreDataModelFiles

@Suite("Values that no expression of a mapping model reads")
struct UnreadValuesTests {
  private let notes: NoteVersions

  /// In `v2` the name is split in two.
  init() throws {
    notes = try NoteVersions([
      ("v1", [.make("name", .stringAttributeType), .make("kept", .stringAttributeType)]),
      (
        "v2",
        [
          .make("first", .stringAttributeType), .make("last", .stringAttributeType),
          .make("kept", .stringAttributeType),
        ]
      ),
    ])
    try notes.fill("v1")
  }

  /// The text of a mapping model, as `coredata mapping new` writes it, with the lines of properties.
  private func text(_ lines: String...) -> String {
    "versions v1 -> v2\n\nNoteToNote   transform   Note -> Note\n" + lines.map { "  \($0)\n" }.joined()
  }

  private func write(_ text: String, to name: String = "V.mapping") throws {
    let url = notes.mappings.appendingPathComponent(name)
    try FileManager.default.createDirectory(at: url.deletingLastPathComponent(), withIntermediateDirectories: true)
    try Data(text.utf8).write(to: url)
  }

  /// Opens the store with `v2`, and gives the new attribute of its notes.
  private func firsts(_ options: [String: Any] = [:]) throws -> [String?] {
    let all: [String: Any] = [
      NSMigratePersistentStoresAutomaticallyOption: true, NSInferMappingModelAutomaticallyOption: true,
      MigrationOption.models: [URL](), MigrationOption.mappings: [notes.mappings],
    ]
    let context = try notes.store.context(notes.model("v2"), options: all.merging(options) { $1 })
    let values = try context.all("Note", by: "first").map { $0["first"] as? String }
    try notes.store.close()
    return values
  }

  private static let unedited = ["first  attribute  no expression", "last  attribute  no expression"]
  private static let kept = "kept  attribute  $source.kept"

  @Test("Opening refuses an unedited mapping model, names the values, and leaves the store as it was")
  func unedited() throws {
    try write(text(Self.kept, Self.unedited[0], Self.unedited[1]))
    let error = try #require(throws: NSError.self) { _ = try firsts() }
    #expect(error.domain == NSCocoaErrorDomain && error.code == NSMigrationError)
    let reason = try #require(error.localizedFailureReason)
    #expect(reason.contains("'V.mapping' reads 2 values of 'Note.name'"), "\(reason)")
    #expect(reason.contains("first and last have no expression."))
    #expect(try notes.version() == "v1")
    #expect(try notes.store.files().filter { $0.contains("~") || $0.hasPrefix(".") } == [])
    for losses: Any in [true, ["Note.name"], ["Note"]] {
      let other = try Self()
      try other.write(text(Self.kept, Self.unedited[0], Self.unedited[1]))
      #expect(try other.firsts([MigrationOption.allowsLoss: losses]) == [nil, nil])
    }
  }

  @Test("What the mapping model says is dropped is dropped: by name, or by a nil for each new attribute")
  func intended() throws {
    for lines in [
      ["drops  name"] + Self.unedited, ["first  attribute  nil", "last  attribute  nil"],
      ["first  attribute  nil", "last  attribute  \"x\""],
    ] {
      let sample = try Self()
      try sample.write(text(Self.kept, lines[0], lines[1], lines.count > 2 ? lines[2] : "# nothing else"))
      #expect(try sample.firsts() == [nil, nil], "\(lines)")
    }
    try write(text(Self.kept, "first  attribute  nil", Self.unedited[1]))
    #expect(throws: NSError.self) { _ = try firsts() }
  }

  @Test("Nothing is refused where nothing is lost: values that are read anywhere, and attributes without values")
  func nothingLost() throws {
    // No note has a value for `kept`.
    try write(text("first  attribute  $source.name", Self.unedited[1]))
    #expect(try firsts() == ["one", "two"])
    for expression in [
      "uppercase:($source.name)", "FUNCTION($source, \"valueForKey:\", \"name\")", "FUNCTION($source, \"description\")",
      "TERNARY($source.name == nil, nil, \"x\")",
    ] {
      let parsed = ExpressionKeys(try PredicateParser.parseExpression(expression))
      #expect(parsed.sourceKeys.contains("name") || parsed.usesSource, "\(expression)")
    }
  }

  @Test("An explicit nil, a missing expression and dropped properties survive every form of file")
  func files() throws {
    let versions = try ModelBundle(contentsOf: notes.url).versions
    var entity = EntityMappingDocument(
      name: "NoteToNote", kind: .transform, sourceEntityName: "Note", destinationEntityName: "Note")
    entity.sourceExpression = MappingExpressions.sourceObjects(entity: "Note")
    entity.userInfo = [EntityMappingDocument.dropsKey: .string("name, other")]
    entity.attributeMappings = [
      PropertyMappingDocument(name: "first", valueExpression: .constant(.null)),
      PropertyMappingDocument(name: "kept", valueExpression: MappingExpressions.sourceValue("kept")),
      PropertyMappingDocument(name: "last", valueExpression: nil),
    ]
    let document = MappingDocument(entityMappings: [entity])
    for name in ["M.cdm", "M.mapping", "M.xcmappingmodel"] {
      let url = notes.store.folder.appendingPathComponent(name)
      try document.write(to: url, source: versions[0], destination: versions[1])
      let read = try MappingDocument(contentsOf: url, source: versions[0].document, destination: versions[1].document)
      let found = try #require(read.entityMappings.first)
      #expect(found.intentionallyDropped == ["name", "other"], "\(name)")
      let values = found.attributeMappings.reduce(into: [String: ExpressionSyntax]()) {
        $0[$1.name] = $1.valueExpression
      }
      #expect(values["first"] == .constant(.null) && values["last"] == nil, "\(name): \(values)")
    }
    #expect(try document.text().contains("\n  drops  name, other\n"))
    #expect(throws: ModelFileError.self) {
      try MappingTextReader.document(of: Data(text("drops  a b").utf8), file: notes.url)
    }
  }

  @Test("Links are lost where neither the relationship nor its inverse is read")
  func links() throws {
    func model(_ names: String...) -> ModelDocument {
      var (part, whole) = (EntityDocument(name: "Part"), EntityDocument(name: "Whole"))
      part.relationships = [RelationshipDocument(name: names[0], destinationEntityName: "Whole", inverseName: names[1])]
      whole.relationships = [
        RelationshipDocument(name: names[1], destinationEntityName: "Part", inverseName: names[0], isToMany: true)
      ]
      return ModelDocument(entities: [part, whole])
    }
    func unread(_ part: [String: String], _ whole: [String: String]) -> [String] {
      let mappings = [("Part", part), ("Whole", whole)].map { name, values in
        var mapping = EntityMappingDocument(
          name: name, kind: .transform, sourceEntityName: name, destinationEntityName: name)
        mapping.relationshipMappings = values.map {
          PropertyMappingDocument(
            name: $0.key, valueExpression: MappingExpressions.destinationObjects(relationship: $0.value))
        }
        return mapping
      }
      return MappingDocument(entityMappings: mappings)
        .unreadProperties(from: model("whole", "parts"), to: model("owner", "pieces"))
        .map { "\($0.entity).\($0.property)" }
    }
    #expect(unread([:], [:]) == ["Part.whole", "Whole.parts"])
    #expect(unread(["owner": "whole"], [:]) == [])
    #expect(unread([:], ["pieces": "parts"]) == [])
  }

  @Test("Texts are found in directories below, by bundles and by opening; other files of that extension are not")
  func texts() throws {
    try write("key = value\n", to: "other.mapping")
    try write(text(Self.kept, "first  attribute  $source.name", Self.unedited[1]), to: "Deep/Er/V.mapping")
    #expect(try firsts() == ["one", "two"])
    let bundle = notes.store.folder.appendingPathComponent("App.resources", isDirectory: true)
    try FileManager.default.createDirectory(at: bundle, withIntermediateDirectories: true)
    try FileManager.default.copyItem(at: notes.url, to: bundle.appendingPathComponent("Notes.momd"))
    try FileManager.default.copyItem(
      at: notes.mappings.appendingPathComponent("Deep/Er/V.mapping"), to: bundle.appendingPathComponent("V.mapping"))
    try FileManager.default.copyItem(
      at: notes.mappings.appendingPathComponent("other.mapping"), to: bundle.appendingPathComponent("other.mapping"))
    #expect(try ModelSearch(folders: [bundle]).mappingModels().map(\.lastPathComponent) == ["V.mapping"])
    let resources = try #require(Bundle(url: bundle))
    let (old, new) = (try notes.model("v1"), try notes.model("v2"))
    let found = try #require(NSMappingModel(from: [resources], forSourceModel: old, destinationModel: new))
    #expect(found.entityMappings.first?.attributeMappings?.contains { $0.valueExpression != nil } == true)
  }
}
