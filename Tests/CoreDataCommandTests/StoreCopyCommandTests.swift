// OpenCoreData
// SPDX-License-Identifier: Apache-2.0

import CoreDataTestSupport
import Foundation
import Testing

@Suite("coredata store copy")
struct StoreCopyCommandTests {
  private let workshop: Workshop
  private var store: String { workshop.store }

  /// A store with three orders of a customer.
  init() throws {
    workshop = try Workshop()
    try workshop.makeStore(at: store, ["Order": 3, "Customer": 1])
  }

  @Test("A copy of any type has the rows, and the store is not changed", arguments: ["sqlite", "binary", "xml"])
  func copy(type: String) throws {
    let before = try Data(contentsOf: URL(fileURLWithPath: store))
    let names = try FileManager.default.contentsOfDirectory(atPath: workshop.url.path).count
    let copy = workshop.path("Copy.\(type)")
    let run = CommandRun(["store", "copy", store, copy, "--type", type])
    #expect(run.status == .done, "\(run.error)")
    #expect(
      run.output
        == "Copy.\(type): 4 rows of 2 entities, \(type)\n"
        + "Checked: the copy has the objects of Shop.sqlite, with the same values and relationships.\n")
    #expect(try Data(contentsOf: URL(fileURLWithPath: store)) == before)
    #expect(try FileManager.default.contentsOfDirectory(atPath: workshop.url.path).count <= names + 3)
    if type == "sqlite" {
      #expect(CommandRun(["store", "match", copy, workshop.model]).status == .done)
      let exported = CommandRun(["store", "export", copy]).output.split(separator: "\n").count
      #expect(exported == 4)
    }
    #expect(CommandRun(["store", "copy", store, copy]).status == .failed)
  }

  @Test(
    "An XML or binary store is described, exported and verified as the SQLite store is", arguments: ["binary", "xml"])
  func readingCommands(type: String) throws {
    let copy = workshop.path("Copy.\(type)")
    #expect(CommandRun(["store", "copy", store, copy, "--type", type]).status == .done)
    let bytes = try Data(contentsOf: URL(fileURLWithPath: copy))
    func rows(_ run: CommandRun) throws -> [String: Int] {
      #expect(run.status == .done, "\(run.error)")
      let entities = try #require(try run.json["entities"] as? [[String: Any]])
      return Dictionary(
        uniqueKeysWithValues: entities.map { ($0["name"] as? String ?? "", $0["rows"] as? Int ?? -1) })
    }
    let plain = CommandRun(["store", "info", copy, "--format", "json"])
    let named = CommandRun(["store", "info", copy, "--model", workshop.model, "--format", "json"])
    let original = CommandRun(["store", "info", store, "--format", "json"])
    #expect(try rows(plain) == rows(original) && rows(named) == rows(original))
    for run in [plain, named] {
      #expect(try (run.json["type"] as? String)?.lowercased() == type)
      #expect(try run.json["bytes"] as? Int == bytes.count)
      #expect(try run.json["checksum"] as? String == original.json["checksum"] as? String)
      #expect(try run.json["uuid"] as? String == plain.json["uuid"] as? String)
    }
    #expect(CommandRun(["store", "info", copy]).output.contains("not contained in the store"))
    let exported = CommandRun(["store", "export", copy, "--model", workshop.model])
    #expect(exported.status == .done && exported.output.split(separator: "\n").count == 4, "\(exported.error)")
    let verified = CommandRun(["store", "verify", copy, workshop.model])
    #expect(verified.status == .done && verified.output.contains("No problems"), "\(verified.output)\(verified.error)")
    #expect(CommandRun(["store", "verify", copy, workshop.model, "--repair"]).status == .usage)
    for command in [["store", "export", copy], ["store", "verify", copy]] {
      let run = CommandRun(command)
      #expect(run.status == .unreadableStore && run.error.contains("which contains no model"), "\(run.error)")
    }
    #expect(try Data(contentsOf: URL(fileURLWithPath: copy)) == bytes)
  }

  @Test("An XML store with empty metadata is read with the named model, and a damaged one is told")
  func emptyMetadata() throws {
    let copy = workshop.path("Copy.xml")
    #expect(CommandRun(["store", "copy", store, copy, "--type", "xml"]).status == .done)
    var text = try String(contentsOfFile: copy, encoding: .utf8)
    let begin = try #require(text.range(of: "<metadata>")?.upperBound)
    let end = try #require(text.range(of: "</metadata>")?.lowerBound)
    text.replaceSubrange(begin..<end, with: "\n")
    try Data(text.utf8).write(to: URL(fileURLWithPath: copy))
    let info = CommandRun(["store", "info", copy])
    #expect(info.status == .done && info.output.contains("unknown"), "\(info.error)")
    let run = CommandRun(["store", "export", copy, "--model", workshop.model])
    #expect(run.status == .done && run.output.split(separator: "\n").count == 4, "\(run.error)")
    #expect(run.error.contains("has no version hashes"))
    try Data(text.replacingOccurrences(of: "<object type=\"ORDER\" id=", with: "<object type=\"ORDER\" no=").utf8)
      .write(to: URL(fileURLWithPath: copy))
    let damaged = CommandRun(["store", "info", copy])
    #expect(damaged.status != .done && damaged.error.contains("An <object> has no type"), "\(damaged.error)")
  }

  @Test("A copy has the permissions of the store", arguments: ["sqlite", "binary", "xml"], [0o600, 0o644])
  func permissions(type: String, mode: Int) throws {
    let files = FileManager.default
    try files.setAttributes([.posixPermissions: mode], ofItemAtPath: store)
    let copy = workshop.path("Copy.\(type)")
    #expect(CommandRun(["store", "copy", store, copy, "--type", type]).status == .done)
    #expect(try files.attributesOfItem(atPath: copy)[.posixPermissions] as? Int == mode)
  }

  @Test(
    "Links to objects that the store does not have are counted and told",
    .enabled(if: Fixtures.isPresent, "The fixtures are not there."))
  func leftOutLinks() throws {
    let store = Fixtures.url("artsy__energy/ArtsyFolio Tests/Migrations/ArtsyPartner_1.3.sqlite").path
    let model = Fixtures.url("artsy__energy/Resources/CoreData/ArtsyPartner.xcdatamodeld").path
    let run = CommandRun(["store", "copy", store, workshop.path("Copy.xml"), "--type", "xml", "--model", model])
    #expect(
      run.status == .done && run.error.contains("1 link to objects that ArtsyPartner_1.3.sqlite does not have was"))
    let words = ["store", "copy", store, workshop.path("2.xml"), "--type", "xml", "--model", model, "--format", "json"]
    #expect(try CommandRun(words).json["leftOutLinks"] as? Int == 1)
  }

  @Test("A page about the store, with and without values")
  func report() throws {
    let file = workshop.path("report.html")
    let run = CommandRun(["store", "report", store, "--output", file, "--model", workshop.model])
    #expect(run.status == .done && run.output.isEmpty)
    let text = try String(contentsOfFile: file, encoding: .utf8)
    #expect(text.contains("<td>Shop 2</td>") && text.contains("Order, 3 of 3") && text.contains("No problems."))
    #expect(!CommandRun(["store", "report", store, "--samples", "0"]).output.contains("Order, 3 of 3"))
    #expect(CommandRun(["store", "report", store, "--output", store]).status == .usage)
    #expect(CommandRun(["store", "report", workshop.path("none.sqlite")]).status == .unreadableStore)
  }

  @Test("What cannot be copied is an error, and nothing is left behind")
  func errors() throws {
    let copy = workshop.path("Copy.sqlite")
    #expect(CommandRun(["store", "copy", workshop.path("none.sqlite"), copy]).status == .unreadableStore)
    try Data("no store".utf8).write(to: URL(fileURLWithPath: workshop.path("text.sqlite")))
    #expect(CommandRun(["store", "copy", workshop.path("text.sqlite"), copy]).status == .unreadableStore)
    #expect(CommandRun(["store", "copy", store, workshop.path("none/Copy.sqlite")]).status == .failed)
    #expect(CommandRun(["store", "copy", store]).status == .usage)
    #expect(!FileManager.default.fileExists(atPath: copy))
  }
}
