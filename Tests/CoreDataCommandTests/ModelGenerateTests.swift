// OpenCoreData
// SPDX-License-Identifier: Apache-2.0

import Foundation
import Testing

@testable import CoreDataCommand

@Suite("coredata model generate")
struct ModelGenerateTests {
  private static let model = """
    <?xml version="1.0" encoding="UTF-8"?>
    <model type="com.apple.IDECoreDataModeler.DataModel" documentVersion="1.0">
        <entity name="Person" representedClassName="Person" codeGenerationType="class">
            <attribute name="name" optional="YES" attributeType="String"/>
        </entity>
        <entity name="Pet" representedClassName="Pet" codeGenerationType="category"/>
        <entity name="Manual" representedClassName="Manual"/>
    </model>
    """

  private static func write(to folder: Workshop) throws -> URL {
    let model = folder.url.appendingPathComponent("M.xcdatamodel")
    try FileManager.default.createDirectory(at: model, withIntermediateDirectories: true)
    try Self.model.write(to: model.appendingPathComponent("contents"), atomically: true, encoding: .utf8)
    return model
  }

  @Test("The source of a SwiftData schema is printed, or written to a new file")
  func swiftData() throws {
    let folder = try Workshop()
    let model = try Self.write(to: folder)
    let arguments = ["model", "generate", "--swiftdata", model.path]
    let printed = CommandRun(arguments)
    #expect(printed.status == .done)
    #expect(printed.output.contains("enum SchemaV1: VersionedSchema {"))
    #expect(printed.output.contains("    var name: String?"))
    #expect(printed.error.contains("no version such as 1.0.0"))
    let file = folder.url.appendingPathComponent("Shop.swift")
    let written = CommandRun(arguments + ["--name", "ShopV1", "-o", file.path])
    #expect(written.status == .done)
    #expect(written.output == "Shop.swift: M, 3 entities\n")
    let text = try String(contentsOf: file, encoding: .utf8)
    #expect(text == printed.output.replacingOccurrences(of: "SchemaV1", with: "ShopV1"))
    #expect(CommandRun(arguments + ["-o", file.path]).status == .usage)
    for wrong in [
      ["--name", "a b"], ["--strict"], ["--access", "public"], ["-o", folder.url.path], ["--format", "json"],
    ] {
      #expect(CommandRun(arguments + wrong).status == .usage, "\(wrong)")
    }
    #expect(CommandRun(["model", "generate", model.path, "-o", folder.url.path, "--name", "A"]).status == .usage)
  }

  @Test("Files are written, checked, kept up to date and removed; those of others are left alone")
  func files() throws {
    let folder = try Workshop()
    let model = try Self.write(to: folder)
    let output = folder.url.appendingPathComponent("Classes")
    let arguments = ["model", "generate", model.path, "-o", output.path]
    func names() throws -> [String] { try FileManager.default.contentsOfDirectory(atPath: output.path).sorted() }

    #expect(CommandRun(arguments + ["--check"]).status == .no)
    #expect(!FileManager.default.fileExists(atPath: output.path))
    let first = CommandRun(arguments)
    #expect(first.status == .done)
    #expect(first.output.contains("added  Person+CoreDataClass.swift") && first.output.contains("3 files, 3 changed."))
    #expect(
      try names() == [
        "Person+CoreDataClass.swift", "Person+CoreDataProperties.swift", "Pet+CoreDataProperties.swift",
      ])
    #expect(CommandRun(arguments + ["--check"]).status == .done)
    #expect(CommandRun(arguments).output == "3 files, all up to date.\n")

    let pet = output.appendingPathComponent("Pet+CoreDataProperties.swift")
    let hand = output.appendingPathComponent("Pet+CoreDataClass.swift")
    try "class Pet {}".write(to: hand, atomically: true, encoding: .utf8)
    try Self.model.replacingOccurrences(of: "\"Pet\" codeGenerationType=\"category\"", with: "\"Pet\"")
      .write(to: model.appendingPathComponent("contents"), atomically: true, encoding: .utf8)
    #expect(CommandRun(arguments + ["--check"]).output.contains("removed  Pet+CoreDataProperties.swift"))
    #expect(CommandRun(arguments).status == .done)
    #expect(!FileManager.default.fileExists(atPath: pet.path) && FileManager.default.fileExists(atPath: hand.path))

    let refused = CommandRun(arguments + ["--all"])
    #expect(refused.status == .usage)
    #expect(refused.error.contains("was not generated from this model"))
    #expect(try String(contentsOf: hand, encoding: .utf8) == "class Pet {}")
  }

  @Test("A report in JSON names the changes, and a missing directory or model is an error")
  func reports() throws {
    let folder = try Workshop()
    let model = try Self.write(to: folder)
    let output = folder.url.appendingPathComponent("Classes").path
    let report = CommandRun(["model", "generate", model.path, "-o", output, "--format", "json", "--access", "internal"])
    #expect(report.output.contains("\"coredata.model-generate/1\"") && report.output.contains("\"added\""))
    #expect(CommandRun(["model", "generate", model.path]).status == .usage)
    #expect(CommandRun(["model", "generate", model.path + "x", "-o", output]).status == .invalidModel)
  }

  @Test("A directory that cannot be one, and a file that cannot be read, are errors; a FIFO of others is left alone")
  func places() throws {
    let folder = try Workshop()
    let model = try Self.write(to: folder)
    let file = folder.url.appendingPathComponent("File")
    try Data().write(to: file)
    for output in [file.path, file.appendingPathComponent("Classes").path] {
      let run = CommandRun(["model", "generate", model.path, "-o", output])
      #expect(run.status != .done && run.status != .no)
      #expect(run.error.contains(file.path) && !run.error.contains("Domain="))
    }
    let output = folder.url.appendingPathComponent("Classes")
    try FileManager.default.createDirectory(at: output, withIntermediateDirectories: true)
    #expect(mkfifo(output.appendingPathComponent("Other.swift").path, 0o600) == 0)
    #expect(CommandRun(["model", "generate", model.path, "-o", output.path]).status == .done)
    let generated = output.appendingPathComponent("Person+CoreDataClass.swift")
    try FileManager.default.removeItem(at: generated)
    #expect(mkfifo(generated.path, 0o600) == 0)
    let run = CommandRun(["model", "generate", model.path, "-o", output.path])
    #expect(run.error.contains("a FIFO, not a regular file"))
  }
}
