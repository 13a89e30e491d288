// OpenCoreData
// SPDX-License-Identifier: Apache-2.0

import CoreData
import CoreDataTestSupport
import Foundation
import Testing

@Suite("coredata migrate rehearse, coredata migrate check")
struct MigrateCheckCommandTests {
  private let workshop: Workshop

  init() throws {
    workshop = try Workshop()
  }

  private func object(_ output: String) throws -> [String: Any] {
    try #require(try JSONSerialization.jsonObject(with: Data(output.utf8)) as? [String: Any])
  }

  @Test("A rehearsal as a page: rows, losses and times")
  func page() throws {
    let file = workshop.path("rehearsal.html")
    let run = CommandRun(["migrate", "rehearse", workshop.model, "--report", file])
    #expect(run.status == .done && run.output.hasPrefix("Shop.xcdatamodeld  "))
    let text = try String(contentsOfFile: file, encoding: .utf8)
    #expect(text.contains("<h2>Losses</h2>") && text.contains("<td>Customer</td>"))
    #expect(
      CommandRun(["migrate", "rehearse", workshop.model, "--report", workshop.path("none/x.html")]).status == .failed)
    // A rehearsal that cannot begin leaves no page.
    let other = workshop.path("other.html")
    #expect(CommandRun(["migrate", "rehearse", workshop.model, "--from", "None", "--report", other]).status != .done)
    #expect(try workshop.files().filter { $0.hasPrefix("other.html") } == [])
    // Neither does it replace what it reads.
    #expect(
      CommandRun(["migrate", "rehearse", workshop.model, "--report", workshop.model + "/Shop.xcdatamodel/contents"])
        .status
        == .usage)
  }

  @Test("What keeps several stores from a migration is said once, below their names")
  func sharedReason() throws {
    // A text becomes a date.
    let run = CommandRun(["migrate", "rehearse", workshop.model, "--from", "Shop 2", "--to", "Shop 3"])
    #expect(run.status == .no)
    let lines = run.output.split(separator: "\n").map(String.init)
    let last = try #require(lines.firstIndex(of: "Shop 2 -> Shop 3, single"), "\(run.output)")
    #expect(lines[last - 2...last - 1] == ["Shop 2 -> Shop 3, extreme", "Shop 2 -> Shop 3, plain"])
    #expect(lines[last + 1].hasPrefix("  A mapping model could not be inferred."))
    #expect(run.output.components(separatedBy: "could not be inferred").count == 2)
  }

  @Test("Migrations that cannot be rehearsed are told in every format, and none at all is no success")
  func skipped() throws {
    let mapping = workshop.path("Shop.mapping")
    let versions = [workshop.model + "@Shop", workshop.model + "@Shop 2"]
    try #require(CommandRun(["mapping", "new"] + versions + ["-o", mapping]).status == .done)
    let text = try String(contentsOfFile: mapping, encoding: .utf8)
    let line = try #require(text.split(separator: "\n").first { $0.contains(" copy   Order -> Order") })
    let custom = line.replacingOccurrences(of: " copy ", with: " custom ") + "\n  policy  MissingPolicy"
    try Data(text.replacingOccurrences(of: line, with: custom).utf8).write(to: URL(fileURLWithPath: mapping))
    for command in ["rehearse", "check"] {
      let run = CommandRun(["migrate", command, workshop.model, "--mappings", mapping, "--format", "github"])
      #expect(run.status == .migrationImpossible, "\(run.error)")
      #expect(run.output.contains("::warning") && run.output.contains("3 migrations not rehearsed"))
      #expect(run.output.contains("MissingPolicy"))
    }
    let sarif = CommandRun(["migrate", "check", workshop.model, "--mappings", mapping, "--format", "sarif"])
    #expect(sarif.output.contains("MissingPolicy") && sarif.output.contains("\"ruleId\": \"rehearsal\""))
    #expect(CommandRun(["migrate", "rehearse", workshop.model, "--from", "None"]).status == .invalidModel)
    #expect(CommandRun(["migrate", "rehearse", workshop.model, "--to", "None"]).status == .invalidModel)
  }

  @Test("Stores of every version are made, migrated and compared")
  func rehearse() throws {
    let run = CommandRun(["migrate", "rehearse", workshop.model])
    #expect(run.status == .done)
    #expect(run.output.hasPrefix("Shop.xcdatamodeld  3 migrations, seed 1\n"))
    #expect(run.output.hasSuffix("\n3 same.\n"))
    #expect(run.output.split(separator: "\n").allSatisfy { $0.count <= 80 })
    let json = try object(
      CommandRun(["migrate", "rehearse", workshop.model, "--format", "json", "--seed", "4"]).output)
    #expect(json["seed"] as? Int == 4)
    let cases = try #require(json["cases"] as? [[String: Any]])
    #expect(cases.map { $0["outcome"] as? String } == ["same", "same", "same"])
    #expect(cases.map { $0["content"] as? String } == ["extreme", "plain", "single"])
  }

  @Test("Given stores are copied and never changed; a store that fails is kept")
  func stores() throws {
    let store = workshop.path("Shop.sqlite")
    #expect(CommandRun(["store", "create", store, workshop.model, "--version", "Shop"]).status == .done)
    let before = try Data(contentsOf: URL(fileURLWithPath: store))
    let run = CommandRun(["migrate", "rehearse", store, workshop.model])
    #expect(run.status == .done && run.output.hasSuffix("\n1 same.\n"))
    #expect(try Data(contentsOf: URL(fileURLWithPath: store)) == before)
    let broken = workshop.path("Broken.sqlite")
    try Data(before.prefix(5000)).write(to: URL(fileURLWithPath: broken))
    let failed = CommandRun(["migrate", "rehearse", broken, workshop.model, "--format", "github"])
    #expect(failed.status == .no)
    #expect(failed.output.hasPrefix("::error file="))
    #expect(
      CommandRun(["migrate", "rehearse", workshop.path("none.sqlite"), workshop.model]).status == .unreadableStore)
    #expect(CommandRun(["migrate", "rehearse", store, workshop.model, "--from", "Shop"]).status == .usage)
    #expect(CommandRun(["migrate", "rehearse"]).status == .usage)
  }

  @Test("A check is lint, lock and rehearsal in one")
  func check() throws {
    let plain = CommandRun(["migrate", "check", workshop.model, "--allow-loss"])
    #expect(plain.status == .done)
    #expect(plain.output.contains("There is no lock.") && plain.output.hasSuffix("Rehearsal  3 same.\n"))
    let lock = workshop.path("shipped.lock")
    #expect(CommandRun(["model", "lock", workshop.model, "--file", lock]).status == .done)
    let locked = CommandRun(["migrate", "check", workshop.model, "--lock", lock])
    #expect(locked.status == .done && !locked.output.contains("There is no lock."))
    let text = try String(contentsOfFile: lock, encoding: .utf8)
    let edited = text.replacing(/"hash" : "[0-9a-f]{64}"/) { _ in "\"hash\" : \"00\"" }
      .replacing(/"checksum" : "[^"]+"/) { _ in "\"checksum\" : \"AAAA\"" }
    try Data(edited.utf8).write(to: URL(fileURLWithPath: lock))
    let refused = CommandRun(["migrate", "check", workshop.model, "--lock", lock])
    #expect(refused.status == .no && refused.output.contains("VR401"))
    #expect(
      CommandRun(["migrate", "check", workshop.model, "--lock", workshop.path("none.lock")]).status == .invalidModel)
  }

  @Test("Stores of shipped releases are rehearsed too, and every format has both parts")
  func fixtures() throws {
    let stores = workshop.path("Stores")
    try FileManager.default.createDirectory(atPath: stores, withIntermediateDirectories: true)
    #expect(CommandRun(["migrate", "check", workshop.model, "--fixtures", stores]).status == .usage)
    #expect(
      CommandRun(["store", "create", stores + "/Old.sqlite", workshop.model, "--version", "Shop"]).status == .done)
    let arguments = ["migrate", "check", workshop.model, "--fixtures", stores, "--allow-loss"]
    let json = try object(CommandRun(arguments + ["--format", "json"]).output)
    #expect((json["rehearsals"] as? [[[String: Any]]])?.map(\.count) == [3, 1])
    #expect(CommandRun(arguments + ["--format", "junit"]).output.contains("Shop -&gt; Shop 2, Old.sqlite"))
    #expect(CommandRun(arguments + ["--format", "markdown"]).output.contains("| Shop | Shop 2 | Old.sqlite |"))
    #expect(CommandRun(arguments + ["--format", "sarif"]).status == .done)
    #expect(CommandRun(["migrate", "check", workshop.model, "--fixtures", stores + "/none"]).status == .usage)
  }

  /// A model whose second version asks for a value that there is none for.
  private func strictModel() throws -> String {
    let attributes = [
      "", "<attribute name=\"pages\" attributeType=\"Integer 16\"/>",
    ]
    let url = workshop.url.appendingPathComponent("Book.xcdatamodeld")
    for (name, attribute) in zip(["Book", "Book 2"], attributes) {
      let version = url.appendingPathComponent("\(name).xcdatamodel")
      try FileManager.default.createDirectory(at: version, withIntermediateDirectories: true)
      let text = """
        <model type="com.apple.IDECoreDataModeler.DataModel" documentVersion="1.0">
        <entity name="Book"><attribute name="title" optional="YES" attributeType="String"/>\(attribute)</entity></model>
        """
      try Data(text.utf8).write(to: version.appendingPathComponent("contents"))
    }
    let marker = try PropertyListSerialization.data(
      fromPropertyList: ["_XCCurrentVersionName": "Book 2.xcdatamodel"], format: .xml, options: 0)
    try marker.write(to: url.appendingPathComponent(".xccurrentversion"))
    return url.path
  }

  @Test("A version that cannot be reached is an error in every format, unless its refusal is allowed")
  func refused() throws {
    let model = try strictModel()
    let run = CommandRun(["migrate", "rehearse", model])
    #expect(run.status == .no)
    let words = run.output.replacing("\n", with: " ")
    #expect(words.contains("error: No store of 'Book' with rows reached 'Book 2': 3 were refused."))
    #expect(words.contains("--allow-refusal Book."))
    #expect(run.output.hasSuffix("\n3 refused, 1 problem (-v says why some were refused).\n"))
    let json = try object(CommandRun(["migrate", "rehearse", model, "--format", "json"]).output)
    #expect((json["problems"] as? [[String: Any]])?.map { $0["version"] as? String } == ["Book"])
    #expect(CommandRun(["migrate", "rehearse", model, "--format", "github"]).output.hasPrefix("::error "))
    #expect(CommandRun(["migrate", "rehearse", model, "--format", "junit"]).output.contains("<failure"))
    #expect(CommandRun(["migrate", "rehearse", model, "--format", "markdown"]).output.contains("**No store of"))
    let page = workshop.path("Book.html")
    #expect(CommandRun(["migrate", "rehearse", model, "--report", page]).status == .no)
    #expect(try String(contentsOfFile: page, encoding: .utf8).contains("No store of"))
    let check = CommandRun(["migrate", "check", model, "--allow", "DD201"])
    #expect(check.status == .no && check.output.contains("error: No store of 'Book'"))

    let allowed = CommandRun(["migrate", "rehearse", model, "--allow-refusal", "Book"])
    #expect(allowed.status == .done, "\(allowed.output)")
    #expect(allowed.output.contains("\n3 refused as expected"))
    let idle = CommandRun(["migrate", "rehearse", workshop.model, "--allow-refusal", "Shop"])
    #expect(idle.status == .no && idle.output.contains("were expected to be refused"))
    #expect(CommandRun(["migrate", "rehearse", model, "--allow-refusal", "None"]).status == .invalidModel)
  }

  @Test("A given store that is refused, or that no version wrote, is an error")
  func refusedStore() throws {
    let model = try strictModel()
    let stores = workshop.path("Stores")
    try FileManager.default.createDirectory(atPath: stores, withIntermediateDirectories: true)
    let old = stores + "/Old.backup"
    try withContext(.load(contentsOf: URL(fileURLWithPath: model), version: "Book"), at: URL(fileURLWithPath: old)) {
      context in
      _ = NSEntityDescription.insertNewObject(forEntityName: "Book", into: context)
      try context.save()
    }
    let run = CommandRun(["migrate", "rehearse", old, model])
    #expect(run.status == .no && run.output.contains("error: Old.backup (Book) was refused."))
    #expect(CommandRun(["migrate", "rehearse", old, model, "--allow-refusal", "Book"]).status == .done)
    // A store is known by its content; what is none is told.
    try Data("none".utf8).write(to: URL(fileURLWithPath: stores + "/notes.txt"))
    let check = CommandRun([
      "migrate", "check", model, "--allow", "DD201", "--allow-refusal", "Book", "--fixtures", stores,
    ])
    #expect(check.output.contains("Rehearsal  1 refused as expected"), "\(check.output)")
    #expect(check.error.contains("notes.txt"))
    try FileManager.default.removeItem(atPath: old)
    try workshop.makeStore(at: stores + "/Foreign.sqlite", ["Customer": 1])
    let foreign = CommandRun(["migrate", "check", model, "--allow-refusal", "Book", "--fixtures", stores])
    #expect(foreign.status == .no && foreign.output.contains("Foreign.sqlite"))
  }

  @Test("A rehearsal without anything to rehearse is no success; a check of a model with one version is")
  func nothing() throws {
    let marker = try PropertyListSerialization.data(
      fromPropertyList: ["_XCCurrentVersionName": "Shop.xcdatamodel"], format: .xml, options: 0)
    try marker.write(to: URL(fileURLWithPath: workshop.model + "/.xccurrentversion"))
    for command in ["rehearse", "check"] {
      let run = CommandRun(["migrate", command, workshop.model])
      #expect(run.status == .migrationImpossible && run.output.contains("Nothing was rehearsed"), "\(run.output)")
    }
    let single = workshop.model + "/Shop.xcdatamodel"
    let copy = workshop.path("One.xcdatamodel")
    try FileManager.default.copyItem(atPath: single, toPath: copy)
    #expect(CommandRun(["migrate", "rehearse", copy]).status == .migrationImpossible)
    #expect(CommandRun(["migrate", "check", copy]).status == .done)
  }

  @Test("A directory of mapping models without any is an error; others are found below it, and unused ones are told")
  func mappingDirectories() throws {
    let directory = workshop.path("Mappings")
    try FileManager.default.createDirectory(atPath: directory + "/a/b", withIntermediateDirectories: true)
    let store = workshop.path("Shop.sqlite")
    try #require(CommandRun(["store", "create", store, workshop.model, "--version", "Shop"]).status == .done)
    let commands = [
      ["migrate", "rehearse", workshop.model], ["migrate", "check", workshop.model], ["model", "lint", workshop.model],
      ["migrate", "plan", store, workshop.model], ["migrate", "run", store, workshop.model],
      ["migrate", "status", store, workshop.model],
    ]
    for command in commands {
      let run = CommandRun(command + ["--mappings", directory])
      #expect(run.status == .invalidModel, "\(command)")
      #expect(run.error.contains(directory) && run.error.contains(".cdm, .xcmappingmodel, .mapping"), "\(run.error)")
    }
    let versions = [workshop.model + "@Shop", workshop.model + "@Shop 2"]
    try #require(CommandRun(["mapping", "new"] + versions + ["-o", directory + "/a/b/A.mapping"]).status == .done)
    let plan = CommandRun(["migrate", "plan", store, workshop.model, "--mappings", directory])
    #expect(plan.status == .done && plan.output.contains("A.mapping") && !plan.error.contains("not used"))
    let text = try String(contentsOfFile: directory + "/a/b/A.mapping", encoding: .utf8)
    try Data(text.replacing("\"Shop 2\"", with: "\"Other\"").utf8)
      .write(to: URL(fileURLWithPath: directory + "/a/B.mapping"))
    let unused = CommandRun(["migrate", "plan", store, workshop.model, "--mappings", directory])
    #expect(unused.error.contains("note: The mapping model 'B.mapping' is not used: it fits no two versions"))
  }
}
