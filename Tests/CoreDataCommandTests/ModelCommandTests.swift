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

  @Test("A version that cannot be read does not keep the others from being used, and is told")
  func unreadableVersion() throws {
    let bad = workshop.path("Shop.xcdatamodeld/Shop 3.xcdatamodel")
    try Data("<model".utf8).write(to: URL(fileURLWithPath: bad + "/contents"))
    let old = workshop.path("Shop.xcdatamodeld/Shop 0.xcdatamodel")
    try FileManager.default.createDirectory(atPath: old, withIntermediateDirectories: true)
    try Data("bplist00".utf8).write(to: URL(fileURLWithPath: old + "/elements"))
    let run = CommandRun("model", "versions", workshop.model, "--format", "json")
    #expect(run.status == .done)
    #expect((try run.json["versions"] as? [[String: Any]])?.map { $0["name"] as? String } == ["Shop", "Shop 2"])
    let warnings = try #require(try run.json["warnings"] as? [String])
    #expect(warnings.count == 2)
    #expect(warnings[0].hasPrefix("The version \"Shop 0\" cannot be read and is skipped. "))
    #expect(warnings[0].contains("before Xcode 4"))
    #expect(run.error.contains("note: \(warnings[0])"))
    #expect(CommandRun("model", "show", workshop.model, "--version", "Shop").status == .done)
    #expect(CommandRun("model", "show", workshop.model, "--version", "Shop 3").status == .invalidModel)
    // A copy would lack versions.
    let compiled = CommandRun("model", "compile", workshop.model, "-o", workshop.path("Shop.momd"))
    #expect(compiled.status == .invalidModel)
    #expect(!FileManager.default.fileExists(atPath: workshop.path("Shop.momd")))
  }

  @Test("show: a default value of another type is told, and taken as Foundation reads it")
  func oddDefault() throws {
    let text =
      "<model><entity name=\"Order\"><attribute name=\"total\" attributeType=\"Integer 32\" "
      + "defaultValueString=\"NO\"/></entity></model>"
    try Data(text.utf8).write(to: URL(fileURLWithPath: workshop.path("Shop.xcdatamodeld/Shop.xcdatamodel/contents")))
    let run = CommandRun("model", "show", workshop.model, "--version", "Shop")
    #expect(run.status == .done && run.output.contains("default 0"))
    #expect(
      run.error.contains(
        "Order.total: defaultValueString is \"NO\", which is not a value of the type integer32. 0 is used instead."))
    #expect(CommandRun("model", "show", workshop.model, "--version", "Shop", "-q").error.isEmpty)
  }

  @Test("MODEL@VERSION is one version, wherever one is meant")
  func versionInArgument() throws {
    let one = CommandRun("model", "show", workshop.model + "@Shop")
    #expect(
      one.status == .done && one.output == CommandRun("model", "show", workshop.model, "--version", "Shop").output)
    #expect(CommandRun("model", "show", workshop.model + "@Shop", "--version", "Shop 2").status == .usage)
    #expect(CommandRun("model", "show", workshop.model + "@Shop 9").status == .invalidModel)
    let all = CommandRun("model", "versions", workshop.model + "@Shop")
    #expect(all.status == .usage)
    #expect(all.error == "error: This command uses all versions of Shop.xcdatamodeld. Omit @Shop.\n")
    let store = workshop.path("Old.sqlite")
    #expect(CommandRun("store", "create", store, workshop.model + "@Shop").status == .done)
    #expect(CommandRun("migrate", "plan", store, workshop.model + "@Shop 2", "--format", "json").status == .done)
  }

  @Test("diff: a renaming identifier that is the own name, and another spelling of a predicate, are no changes")
  func spellings() throws {
    func version(_ name: String, _ identifier: String, _ predicate: String) throws {
      let package = workshop.path("Same.xcdatamodeld/\(name).xcdatamodel")
      try FileManager.default.createDirectory(atPath: package, withIntermediateDirectories: true)
      let text = """
        <model><entity name="A"\(identifier)><attribute name="n" attributeType="String"\(identifier.isEmpty ? "" : " elementID=\"n\"")/>
        <relationship name="r" destinationEntity="A" maxCount="1"\(identifier.isEmpty ? "" : " elementID=\"r\"")/></entity>
        <fetchRequest name="F" entity="A" predicateString="\(predicate)"/></model>
        """
      try Data(text.utf8).write(to: URL(fileURLWithPath: package + "/contents"))
    }
    let model = workshop.path("Same.xcdatamodeld")
    try version("1", "", "n == 'a' AND (n != 'b' AND NOT (NOT n IN {'c', 'd'}))")
    try version("2", " elementID=\"A\"", "(SELF.n = &quot;a&quot; AND n &lt;&gt; 'b') &amp;&amp; n IN {'c','d'}")
    let same = try CommandRun("model", "diff", model + "@1", model + "@2", "--format", "json").json
    #expect((same["changes"] as? [Any])?.isEmpty == true, "\(same)")
    try version("2", "", "n == 'x'")
    let run = CommandRun("model", "diff", model + "@1", model + "@2")
    #expect(run.output.contains("of A where n == \"x\""), "\(run.output)")
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
