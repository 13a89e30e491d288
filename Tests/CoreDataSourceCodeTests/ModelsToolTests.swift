// OpenCoreData
// SPDX-License-Identifier: Apache-2.0

import CoreDataModelFiles
import CoreDataTestSupport
import Foundation
import Testing

private let tool = BuiltProgram("CoreDataModelsTool")

@Suite("What the plug-in runs", .enabled(if: tool.isPresent, "The tool was not built beside the tests"))
struct ModelsToolTests {
  private let directory: TemporaryDirectory
  private var folder: URL { directory.url }

  init() throws {
    directory = try TemporaryDirectory()
  }

  /// A model whose only version has an entity with an attribute of a type.
  private func model(_ type: String) throws -> URL {
    let contents = """
      <?xml version="1.0" encoding="UTF-8"?>
      <model type="com.apple.IDECoreDataModeler.DataModel" documentVersion="1.0">
        <entity name="Part" representedClassName="Part" codeGenerationType="class">
          <attribute name="size" optional="YES" usesScalarValueType="YES" attributeType="\(type)"/>
        </entity>
      </model>
      """
    return try directory.write(contents, to: "M.xcdatamodeld/V1.xcdatamodel/contents").deletingLastPathComponent()
      .deletingLastPathComponent()
  }

  private func compile(_ model: URL, sources: [URL] = []) throws -> (status: Int32, output: String, error: String) {
    try tool.run(
      ["model", "--module", "Shop", "--output", folder.path + "/M.momd", "--classes", folder.path + "/M.swift"]
        + sources.flatMap { ["--source", $0.path] } + [model.path])
  }

  private func translate(_ source: URL, _ model: URL) throws -> (status: Int32, output: String, error: String) {
    try tool.run([
      "sources", "--names", folder.path + "/Names.swift", "--resources", "yes", "--model", model.path, "--output",
      folder.path + "/Out.swift", source.path,
    ])
  }

  @Test("A model is compiled, its classes are generated, and an error names the version's file and the entity")
  func models() throws {
    #expect(try compile(model("Double")).status == 0)
    let classes = try String(contentsOf: folder.appendingPathComponent("M.swift"), encoding: .utf8)
    #expect(classes.contains("public class Part: NSManagedObject") && classes.contains("public var size: Double"))
    #expect(FileManager.default.fileExists(atPath: folder.path + "/M.momd/V1.mom"))
    let wrong = try compile(model("Dooble"))
    #expect(wrong.status == 1)
    #expect(wrong.error.hasPrefix(folder.path + "/M.xcdatamodeld/V1.xcdatamodel/contents:"))
    #expect(wrong.error.contains(": error: ") && wrong.error.contains("Part") && wrong.error.contains("size"))
  }

  @Test("A class that a port has named in ObjectiveCNames.swift is known by that name")
  func names() throws {
    let contents = try String(
      contentsOf: model("Double").appendingPathComponent("V1.xcdatamodel/contents"), encoding: .utf8
    )
    .replacingOccurrences(
      of: "</entity>",
      with: "<relationship name=\"bolt\" maxCount=\"1\" destinationEntity=\"Bolt\"/></entity>"
        + "<entity name=\"Bolt\" representedClassName=\"WSBolt\"/>")
    _ = try directory.write(contents, to: "M.xcdatamodeld/V1.xcdatamodel/contents")
    let names = try directory.write(
      "final class ObjectiveCNames: NSObject { static var classes: [String: AnyClass] { [\"WSBolt\": Bolt.self] } }",
      to: "ObjectiveCNames.swift")
    let model = folder.appendingPathComponent("M.xcdatamodeld")
    for (sources, type) in [([], "WSBolt"), ([names], "Bolt")] {
      #expect(try compile(model, sources: sources).status == 0)
      let classes = try String(contentsOf: folder.appendingPathComponent("M.swift"), encoding: .utf8)
      #expect(classes.contains("public var bolt: \(type)?"))
    }
  }

  @Test("A key path without a property is an error at its place, and an unchanged result is not written again")
  func sources() throws {
    let model = try model("Double")
    let source = try directory.write("import CoreData\nlet k = #keyPath(Part.size)\n", to: "A.swift")
    #expect(try translate(source, model).status == 0)
    let out = folder.path + "/Out.swift"
    let first = try FileManager.default.attributesOfItem(atPath: out)[.systemFileNumber] as? Int
    #expect(try translate(source, model).status == 0)
    #expect(try FileManager.default.attributesOfItem(atPath: out)[.systemFileNumber] as? Int == first)
    let text = try String(contentsOfFile: out, encoding: .utf8)
    #expect(text == "#sourceLocation(file: \"\(source.path)\", line: 1)\nimport CoreData\nlet k = \"size\"\n")
    _ = try directory.write("import CoreData\nlet k = #keyPath(Part.sise)\n", to: "A.swift")
    // The compiler reports it, so that its own errors are seen too.
    let wrong = try translate(source, model)
    #expect(wrong.status == 0 && wrong.error.isEmpty, "\(wrong.error)")
    let marked = try String(contentsOfFile: out, encoding: .utf8)
    #expect(
      marked.contains(
        "\n#sourceLocation(file: \"\(source.path)\", line: 2)\n@available(*, unavailable, message: \"Part has no property \\\"sise\\\"."
      ),
      "\(marked)")
  }

  @Test("A class that is generated from the model has the overrides of its extensions")
  func overrides() throws {
    let model = try model("Double")
    let source = try directory.write(
      "import CoreData\nextension Part { override public func awakeFromInsert() { super.awakeFromInsert() } }\n",
      to: "A.swift")
    #expect(try compile(model, sources: [source]).status == 0)
    let classes = try String(contentsOf: folder.appendingPathComponent("M.swift"), encoding: .utf8)
    #expect(
      classes.contains(
        "public class Part: NSManagedObject {\n  public override func awakeFromInsert() {\n"
          + "    overridden_Part_awakeFromInsert()\n  }\n}\n"), "\(classes)")
    #expect(try translate(source, model).status == 0)
    let text = try String(contentsOfFile: folder.path + "/Out.swift", encoding: .utf8)
    #expect(
      text.hasSuffix("extension Part { public func overridden_Part_awakeFromInsert() { super.awakeFromInsert() } }\n"),
      "\(text)")
  }

  @Test("A mapping model as text is compiled with the hashes of its versions; a compiled one is copied")
  func mappings() throws {
    let model = try model("Double")
    let first = model.appendingPathComponent("V1.xcdatamodel/contents")
    let second = try String(contentsOf: first, encoding: .utf8)
      .replacingOccurrences(of: "</entity>", with: "<attribute name=\"name\" attributeType=\"String\"/></entity>")
    _ = try directory.write(second, to: "M.xcdatamodeld/V2.xcdatamodel/contents")
    let body = "Parts   transform   Part -> Part\n  size  attribute  $source.size\n"
    let text = try directory.write("versions V1 -> V2\n\n" + body, to: "A.mapping")
    func compile(_ file: URL, _ output: String) throws -> (status: Int32, output: String, error: String) {
      try tool.run(["mapping", "--output", folder.path + "/" + output, "--model", model.path, file.path])
    }
    let run = try compile(text, "A.cdm")
    #expect(run.status == 0, "\(run.error)")
    let compiled = folder.appendingPathComponent("A.cdm")
    let mapping = try #require(try MappingDocument(contentsOf: compiled).entityMappings.first)
    let versions = try ModelBundle(contentsOf: model).versions.map { VersionHashes($0.document).entities["Part"] }
    #expect(mapping.sourceEntityVersionHash == versions[0] && mapping.destinationEntityVersionHash == versions[1])
    #expect(try compile(compiled, "B.cdm").status == 0)
    #expect(
      try Data(contentsOf: folder.appendingPathComponent("B.cdm")) == Data(contentsOf: compiled))

    let unknown = try compile(try directory.write("versions V1 -> V9\n\n" + body, to: "C.mapping"), "C.cdm")
    #expect(unknown.status == 1 && unknown.error.contains("C.mapping:1:1: error: ") && unknown.error.contains("\"V9\""))
    let nameless = try compile(try directory.write(body, to: "D.mapping"), "D.cdm")
    #expect(nameless.status == 1 && nameless.error.contains("does not name its versions"))
    #expect(!FileManager.default.fileExists(atPath: folder.path + "/D.cdm"))
  }

  @Test("A wrong command line ends with an error")
  func usage() throws {
    for arguments in [
      [], ["model"], ["sources", "--output", "x"], ["model", "--output", folder.path, "/none.xcdatamodel"],
    ] {
      let run = try tool.run(arguments)
      #expect(run.status == 1 && run.error.contains("error: "))
    }
  }
}
