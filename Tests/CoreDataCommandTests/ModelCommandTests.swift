// OpenCoreData
// SPDX-License-Identifier: Apache-2.0

import CoreDataTerminal
import Foundation
import Testing

@testable import CoreDataCommand

@Suite("coredata model")
struct ModelCommandTests {
  private let workshop: Workshop

  init() throws {
    workshop = try Workshop()
  }

  @Test("versions: in order, the current one marked, neighbours compared")
  func versions() throws {
    let run = CommandRun("model", "versions", workshop.model)
    #expect(run.status == .done)
    #expect(run.error.isEmpty)
    let lines = run.output.split(separator: "\n", omittingEmptySubsequences: false).map(String.init)
    #expect(lines[0] == "Shop.xcdatamodeld  3 versions, current Shop 2")
    #expect(lines[2].hasPrefix("     Shop            1  "))
    #expect(lines[3].hasPrefix("  *  Shop 2          2  "))
    #expect(
      lines.suffix(5) == [
        "Between neighbours",
        "  From    To      Migration  Changes  Entities",
        "  Shop    Shop 2  inferred         3  Customer, Order",
        "  Shop 2  Shop 3  custom           3  Customer, Order", "",
      ])
  }

  @Test("versions: JSON has checksums and hashes, with --hashes or without")
  func versionsJSON() throws {
    let run = CommandRun("model", "versions", workshop.model, "--format", "json")
    #expect(CommandRun("model", "versions", workshop.model, "--format", "json", "--hashes").output == run.output)
    let json = try run.json
    #expect(json["format"] as? String == "coredata.model-versions/1")
    #expect(json["current"] as? String == "Shop 2")
    let versions = try #require(json["versions"] as? [[String: Any]])
    #expect(versions.map { $0["name"] as? String } == ["Shop", "Shop 2", "Shop 3"])
    let hashes = try #require(versions[1]["entities"] as? [String: String])
    #expect(hashes.keys.sorted() == ["Customer", "Order"])
    #expect(hashes.values.allSatisfy { $0.count == 64 && $0.allSatisfy(\.isHexDigit) })
    let checksum = try #require(versions[0]["checksum"] as? String)
    #expect(Data(base64Encoded: checksum)?.count == 32)
  }

  @Test("diff: what changed, by entity, with a sign")
  func diff() {
    let run = CommandRun("model", "diff", workshop.model + "@Shop", workshop.model + "@Shop 2")
    #expect(
      run.output == """
        Shop -> Shop 2   3 changes, migration can be inferred

          Customer  +  new  1 property
          Order     ~  name -> title (renaming identifier)
                    ~  total  optional: yes -> no

        """)
    #expect(run.status == .done)
  }

  @Test("diff: --exit-code answers whether there are differences")
  func diffExitCode() {
    #expect(CommandRun("model", "diff", "--exit-code", workshop.model + "@Shop", workshop.model).status == .no)
    let same = CommandRun("model", "diff", "--exit-code", workshop.model + "@Shop 2", workshop.model)
    #expect(same.status == .done)
    #expect(same.output == "Shop 2 -> Shop 2   no differences\n")
  }

  @Test("diff: JSON and Markdown")
  func diffFormats() throws {
    let json = try CommandRun("model", "diff", workshop.model + "@Shop", workshop.model, "--format=json").json
    #expect(json["migration"] as? String == "inferred")
    #expect((json["changes"] as? [[String: Any]])?.count == 3)
    let markdown = CommandRun("model", "diff", workshop.model + "@Shop", workshop.model, "--format=markdown").output
    #expect(markdown.hasPrefix("| Place | Change | Migration |\n| --- | --- | --- |\n| Customer | "))
  }

  @Test("show: entities with their properties; one version, one entity")
  func show() {
    let run = CommandRun("model", "show", workshop.model, "--version", "Shop", "--entity", "Order")
    #expect(
      run.output == """
        Shop   1 entity

        Order
          name   attribute  String, optional
          total  attribute  Integer 32, optional, default 0

        """)
  }

  @Test("show: the model that a store carries")
  func showStore() {
    let store = workshop.path("Shop.sqlite")
    #expect(CommandRun("store", "create", store, workshop.model).status == .done)
    let run = CommandRun("model", "show", store)
    #expect(run.output.contains("title  attribute  String, optional, renaming identifier name"))
  }

  @Test("Colour only where it is asked for")
  func colour() {
    #expect(!CommandRun("model", "show", workshop.model).output.contains("\u{1B}"))
    #expect(CommandRun("model", "show", workshop.model, "--color", "always").output.contains("\u{1B}[1m"))
  }

  @Test("--output writes the result to a file, and nothing to standard output")
  func output() throws {
    let file = workshop.path("result.json")
    let run = CommandRun("model", "versions", workshop.model, "--format", "json", "--output", file)
    #expect(run.output.isEmpty)
    let text = try String(contentsOfFile: file, encoding: .utf8)
    #expect(text == CommandRun("model", "versions", workshop.model, "--format", "json").output)
    #expect(try workshop.files() == ["Shop.xcdatamodeld", "result.json"])
  }

  @Test("A command that fails leaves the file of --output as it was")
  func outputOfFailure() throws {
    let file = workshop.path("result.json")
    try Data("before".utf8).write(to: URL(fileURLWithPath: file))
    #expect(CommandRun("store", "export", workshop.path("none.sqlite"), "-o", file).status == .unreadableStore)
    #expect(try String(contentsOfFile: file, encoding: .utf8) == "before")
    #expect(try workshop.files() == ["Shop.xcdatamodeld", "result.json"])
  }
}
