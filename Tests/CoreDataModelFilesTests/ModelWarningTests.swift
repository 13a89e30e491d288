// OpenCoreData
// SPDX-License-Identifier: Apache-2.0

import CoreDataPredicates
import CoreDataTestSupport
import Foundation
import Testing

@testable import CoreDataModelFiles

@Suite("Models that are read with warnings")
struct ModelWarningTests {
  private func read(_ attribute: String) throws -> (attribute: AttributeDocument, warnings: [ModelFileError]) {
    let warnings = ModelWarnings()
    let text = "<model><entity name=\"E\">\n<attribute name=\"a\" \(attribute)/></entity></model>"
    let document = try XCDataModelReader.document(
      of: Data(text.utf8), file: URL(fileURLWithPath: "/M.xcdatamodel/contents"), warnings: warnings
    )
    return (document.entities[0].attributes[0], warnings.list)
  }

  private static let oddDefaults: [(String, String, PlainValue?)] = [
    ("Integer 32", "NO", .integer(0)), ("Integer 16", "YES", .integer(0)), ("Integer 64", "12 apples", .integer(12)),
    ("Integer 32", "-7.9x", .integer(-7)), ("Double", "NO", .real(0)), ("Float", " 1.5.2", .real(1.5)),
    ("Decimal", "NO", .decimal(0)),
    ("Boolean", "0.0", .boolean(false)), ("Boolean", "1.0", .boolean(true)), ("Boolean", "-02", .boolean(true)),
    ("Boolean", "y", .boolean(true)), ("Boolean", "off", .boolean(false)), ("UUID", "1", nil), ("Date", "soon", nil),
    ("Binary", "###", nil), ("Integer 64", "1e400", .integer(1)), ("Integer 16", "99999999999999999999", .none),
  ]

  @Test(
    "A default value of another type is read as Foundation reads such a text, with a warning", arguments: oddDefaults)
  func defaults(type: String, text: String, expected: PlainValue?) throws {
    let (attribute, warnings) = try read("attributeType=\"\(type)\" defaultValueString=\"\(text)\"")
    #expect(attribute.defaultValue == expected)
    let warning = try #require(warnings.first)
    #expect(warnings.count == 1)
    #expect(warning.description.hasPrefix("/M.xcdatamodel/contents, line 2, E.a: defaultValueString is \"\(text)\""))
  }

  @Test("Values of the right type give no warning")
  func fine() throws {
    for (type, text) in [("Integer 32", "0.0"), ("Boolean", "NO"), ("Double", "1e3"), ("Decimal", "0")] {
      #expect(try read("attributeType=\"\(type)\" defaultValueString=\"\(text)\"").warnings.isEmpty)
    }
  }

  @Test("A limit that cannot be read makes no rule: it could refuse values that are right")
  func limits() throws {
    let (attribute, warnings) = try read("attributeType=\"Integer 16\" minValueString=\"NO\" maxValueString=\"5\"")
    #expect(attribute.validations.map(\.warning) == [.integer(1610)])
    #expect(
      warnings.first?.found
        == "minValueString is \"NO\", which is not a value of the type integer16. It is ignored.")
    #expect(try read("attributeType=\"Date\" minDateTimeInterval=\"soon\"").attribute.validations.isEmpty)
  }

  @Test("A compiled model with a default value of another type is read, with a warning")
  func compiled() throws {
    var entity = EntityDocument(name: "E")
    var attribute = AttributeDocument(name: "count", kind: .integer32)
    attribute.defaultValue = .integer(4)
    entity.attributes = [attribute]
    let document = ModelDocument(entities: [entity])
    var archive = try EditedArchive(CompiledModelWriter.archive(of: document, form: .file))
    let text = archive.add(.string("NO"))
    #expect(
      archive.edit("NSAttributeDescription") { _, fields, _ in
        fields["NSDefaultValue"] = text
        return true
      } == 1)
    let warnings = ModelWarnings()
    let read = try CompiledModelReader.document(of: archive.data, warnings: warnings)
    #expect(read.entities[0].attributes[0].defaultValue == .integer(0))
    #expect(warnings.list.map(\.property) == ["count"])
  }
}

@Suite("Bundles with versions that cannot be read")
struct UnreadableVersionTests {
  private func makeBundle() throws -> TemporaryDirectory {
    let bundle = try TemporaryDirectory(pathExtension: "xcdatamodeld")
    for (name, text) in [
      ("M 1", "<model><entity name=\"A\"/></model>"), ("M 2", "<model><entity name=\"A\"><attribute"),
      ("M 3", "<model><entity name=\"A\" parentEntity=\"None\"/></model>"),
      ("M 4", "<model><entity name=\"B\"/></model>"),
    ] {
      try bundle.write(text, to: "\(name).xcdatamodel/contents")
    }
    try bundle.write("bplist00", to: "M 0.xcdatamodel/elements")
    return bundle
  }

  @Test("The others are read; each bad one has its reason, which asking for it gives")
  func others() throws {
    let directory = try makeBundle()
    let url = directory.url
    let bundle = try ModelBundle(contentsOf: url)
    #expect(bundle.versions.map(\.name) == ["M 1", "M 4"])
    #expect(bundle.unreadable.map(\.name) == ["M 0", "M 2", "M 3"])
    #expect(bundle.unreadable.map(\.error.kind) == [.missingContents, .brokenXML, .missingParent])
    #expect(bundle.unreadable[0].error.found.contains("before Xcode 4"))
    for version in bundle.unreadable {
      #expect(version.error.file?.contains("\(version.name).xcdatamodel") == true)
      #expect(throws: version.error) { try bundle.document(named: version.name) }
    }
  }

  @Test("Where no version can be read, the first reason is the error")
  func none() throws {
    let directory = try makeBundle()
    let url = directory.url
    for name in ["M 1", "M 3", "M 4"] {
      try FileManager.default.removeItem(at: url.appendingPathComponent("\(name).xcdatamodel"))
    }
    let error = #expect(throws: ModelFileError.self) { try ModelBundle(contentsOf: url) }
    #expect(error?.kind == .missingContents)
  }
}
