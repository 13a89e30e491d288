// OpenCoreData
// SPDX-License-Identifier: Apache-2.0

import CoreData
import CoreDataModelFiles
import CoreDataTerminal
import Foundation
import Testing

@testable import CoreDataCommand

@Suite("Allowances of findings, and findings that a policy decides")
struct AllowanceCommandTests {
  private let workshop: Workshop
  private var store: String { workshop.store }

  init() throws {
    workshop = try Workshop(orders: 4)
  }

  private static let total =
    "<attribute name=\"total\" optional=\"YES\" attributeType=\"Integer 32\" defaultValueString=\"0\"/>"

  /// Adds a version to the model, and gives the arguments of commands that migrate to it.
  private func version(_ entities: String) throws -> [String] {
    try workshop.write(version: "Shop 4", of: "Shop.xcdatamodeld", entities)
    return [store, workshop.model, "--to", "Shop 4"]
  }

  private func write(_ text: String, to name: String) throws -> String {
    try Data(text.utf8).write(to: URL(fileURLWithPath: workshop.path(name)))
    return workshop.path(name)
  }

  /// Writes a mapping model from Shop to Shop 4 with one mapping of orders, and gives its path.
  private func mapping(policy: String?) throws -> String {
    let bundle = try ModelBundle(contentsOf: URL(fileURLWithPath: workshop.model))
    var order = EntityMappingDocument(
      name: "Orders", kind: policy == nil ? .transform : .custom, sourceEntityName: "Order",
      destinationEntityName: "Order")
    order.policyClassName = policy
    order.sourceExpression = MappingExpressions.sourceObjects(entity: "Order")
    var document = MappingDocument(entityMappings: [order])
    document.updateHashes(
      source: VersionHashes(try bundle.document(named: "Shop")).entities,
      destination: VersionHashes(try bundle.document(named: "Shop 4")).entities)
    try document.writeCompiled(to: URL(fileURLWithPath: workshop.path("Orders.cdm")))
    return workshop.path("Orders.cdm")
  }

  @Test("A checkup names the policies that only the app has")
  func checkup() throws {
    _ = try version("<entity name=\"Order\">\(Self.total)</entity>")
    let mapping = try mapping(policy: "Shop.OrderPolicy")
    let run = CommandRun("doctor", store, "\(workshop.model)@Shop 4", "--mappings", mapping)
    #expect(run.status == .no)
    #expect(
      run.output.contains(
        "problem  migration: The mapping models need policies of the app:\n           Shop.OrderPolicy. Migrate"),
      "\(run.output)")
    let plain = try self.mapping(policy: nil)
    let without = CommandRun("doctor", store, "\(workshop.model)@Shop 4", "--mappings", plain)
    #expect(!without.output.contains("need policies"))
  }

  @Test("Losses and missing defaults of an entity with a policy are information that names the policy")
  func policy() throws {
    let must = "<attribute name=\"must\" attributeType=\"Integer 32\"/>"
    let arguments = try version("<entity name=\"Order\">\(Self.total)\(must)</entity>")
    let mapping = try mapping(policy: "Shop.OrderPolicy")
    let plan = CommandRun(["migrate", "plan"] + arguments + ["--mappings", mapping])
    #expect(plan.status == .done, "\(plan.output)")
    for sentence in [
      "info  DS102  Order.name: 4 values would be dropped; the policy Shop.OrderPolicy decides",
      "info  DD201  Order.must: required, without a default for 4 rows; the policy Shop.OrderPolicy decides",
    ] { #expect(plan.output.contains(sentence), "\(plan.output)") }
    #expect(
      plan.output.contains("warn  ST601  the mapping model Orders.cdm writes all 4 rows into a copy of the store"))
    #expect(plan.output.contains("\n0 errors, 1 warning."))
    // Without a policy nobody has said what becomes of them.
    let plain = CommandRun(["migrate", "plan"] + arguments + ["--mappings", try self.mapping(policy: nil)])
    #expect(plain.status == .no)
    #expect(plain.output.contains("error  DS102  Order.name: 4 values would be dropped"), "\(plain.output)")
  }

  @Test("--allow makes information of the findings it names, and of no other; run does what plan allows")
  func allow() throws {
    let arguments = try version("<entity name=\"Order\"/>")
    let content = FileManager.default.contents(atPath: store)
    let some = ["--allow", "DS102:Order.title"]
    let plan = CommandRun(["migrate", "plan"] + arguments + some)
    #expect(plan.status == .no)
    #expect(
      plan.output.contains("DS102  Order.title: 4 values would be dropped (allowed by --allow DS102:Order.title)"),
      "\(plan.output)")
    #expect(plan.output.contains("error  DS102  Order.total: 4 values would be dropped"), "\(plan.output)")
    let run = CommandRun(["migrate", "run"] + arguments + some)
    #expect(run.status == .migrationImpossible)
    #expect(run.error.contains("Data would be lost: DS102 Order.total: 4 values would be dropped."), "\(run.error)")
    #expect(!run.error.contains("Order.title"))
    #expect(FileManager.default.contents(atPath: store) == content)
    for all in [
      some + ["--allow", "DS102:Order.total"], ["--allow", "DS102:Order"], ["--allow", "DS102"],
      ["--allow", "ds102:Order"], ["--allow-loss"],
    ] {
      let plan = CommandRun(["migrate", "plan"] + arguments + all)
      #expect(plan.status == .done, "\(all): \(plan.output)\(plan.error)")
    }
    let allowed = CommandRun(["migrate", "run"] + arguments + some + ["--allow=DS102:Order.total"])
    #expect(allowed.status == .done, "\(allowed.error)")
    #expect(try CommandRun("store", "export", store).jsonLines.count == 4)
  }

  @Test("status says no way without the allowance, and a way with it")
  func status() throws {
    let small = try workshop.write(
      version: "Shop 9", current: "Shop 9", "<entity name=\"Order\">\(Self.total)</entity>")
    let refused = CommandRun("migrate", "status", store, small)
    #expect(refused.status == .migrationImpossible)
    #expect(refused.output.contains("DS102 Order.title: 4 values would be dropped"), "\(refused.output)")
    let allowed = CommandRun("migrate", "status", store, small, "--allow", "DS102:Order.title")
    #expect(allowed.status == .done, "\(allowed.output)\(allowed.error)")
    #expect(CommandRun("migrate", "status", store, small, "--allow-loss").status == .done)
  }

  @Test("--allowances: a list with reasons; what nothing matches is noted")
  func allowances() throws {
    let arguments = try version("<entity name=\"Order\"/>")
    let file = try write(
      "# What version 4 drops.\nDS102:Order.title   moved to the archive\n\nDS102:Order.total the sum of the lines\r\n"
        + "DS103:Order.lines  gone since version 2\n", to: "Losses.txt")
    let plan = CommandRun(["migrate", "plan"] + arguments + ["--allowances", file])
    #expect(plan.status == .done, "\(plan.output)\(plan.error)")
    #expect(
      plan.output.contains(
        "Order.title: 4 values would be dropped (allowed by Losses.txt, line 2: moved to the archive)"),
      "\(plan.output)")
    #expect(
      plan.error
        == "note: \(file), line 5: no finding matches DS103:Order.lines. Remove the line if it is no longer needed.\n",
      "\(plan.error)")
    let json = try CommandRun(["migrate", "plan"] + arguments + ["--allowances", file, "-q", "--format", "json"]).json
    let findings = try #require(json["findings"] as? [[String: Any]])
    #expect(Set(findings.compactMap { $0["allowed"] as? String }) == ["moved to the archive", "the sum of the lines"])
    #expect(CommandRun(["migrate", "run"] + arguments + ["--allowances", file]).status == .done)
    let output = CommandRun(["migrate", "plan"] + arguments + ["--allowances", file, "-o", file])
    #expect(output.status == .usage && output.error.contains("--output \(file) names --allowances"), "\(output.error)")
  }

  @Test("--allow and --allow-loss that nothing matches: a note for what was named, none for the short form")
  func unmatched() throws {
    let plan = CommandRun("migrate", "plan", store, workshop.model, "--allow", "DS102:Order.nmae", "--allow-loss")
    #expect(plan.status == .done)
    #expect(plan.error == "note: --allow DS102:Order.nmae: no finding matches.\n", "\(plan.error)")
    #expect(CommandRun("migrate", "plan", store, workshop.model, "--allow-loss").error.isEmpty)
  }

  @Test(
    "A line that cannot be read is told with file, line and what was expected; status 2",
    arguments: [
      ("DS102:Order.title", "a reason"), ("DS102 ", "a reason"), ("DS102: why", "CODE:Entity.property"),
      ("DS102:.title why", "CODE:Entity.property"), ("DS102:Order. why", "CODE:Entity.property"),
      ("DS102:Order.a.b why", "CODE:Entity.property"), ("DS100 why", "The nearest codes are DS101, DS102, DS103"),
      ("moved to the archive", "`coredata explain` lists all codes"),
    ])
  func badLine(line: String, expected: String) throws {
    let file = try write("# Losses\n\(line)\n", to: "Losses.txt")
    for command in ["plan", "run", "status"] {
      let run = CommandRun("migrate", command, store, workshop.model, "--allowances", file)
      #expect(run.status == .usage, "\(run.error)")
      #expect(run.error.hasPrefix("error: \(file), line 2: ") && run.error.contains(expected), "\(run.error)")
    }
  }

  @Test("An allowance on the command line that cannot be read, and a file that cannot: status 2")
  func badOption() throws {
    for (value, expected) in [
      ("DS100", "The nearest codes are DS101, DS102, DS103"), ("XX", "`coredata explain` lists all codes"),
      ("DS102:", "CODE:Entity.property"), ("DS102:Order.title because", "CODE:Entity.property"),
    ] {
      let run = CommandRun("migrate", "plan", store, workshop.model, "--allow", value)
      #expect(run.status == .usage, "\(value): \(run.error)")
      #expect(run.error.hasPrefix("error: --allow: ") && run.error.contains(expected), "\(run.error)")
    }
    for path in [workshop.path("none.txt"), workshop.url.path] {
      let run = CommandRun("migrate", "plan", store, workshop.model, "--allowances", path)
      #expect(run.status == .usage, "\(run.error)")
      #expect(run.error.contains(path), "\(run.error)")
    }
    let binary = workshop.path("binary.txt")
    try Data([0xFF, 0xFE, 0]).write(to: URL(fileURLWithPath: binary))
    #expect(CommandRun("migrate", "plan", store, workshop.model, "--allowances", binary).status == .usage)
  }

  @Test("A store that no version has written loses what --allow names, and no more")
  func unknownStore() throws {
    let small = try workshop.write(
      version: "Small", of: "Small.xcdatamodeld", current: "Small",
      "<entity name=\"Order\"><attribute name=\"other\" optional=\"YES\" attributeType=\"String\"/></entity>")
    let content = FileManager.default.contents(atPath: store)
    let some = CommandRun("migrate", "run", store, small, "--allow", "DS102:Order.name")
    #expect(some.status == .unreadableStore)
    #expect(some.error.contains("would drop 4 values of 'Order.total'."), "\(some.error)")
    #expect(FileManager.default.contents(atPath: store) == content)
    let links = CommandRun("migrate", "run", store, small, "--allow", "DS103:Order", "--allow", "DS101:Order")
    #expect(links.status == .unreadableStore, "Values are neither links nor rows.")
    let all = CommandRun(
      "migrate", "run", store, small, "--allow", "DS102:Order.name", "--allow", "DS102:Order.total")
    #expect(all.status == .done, "\(all.error)")
  }

  @Test("A migration that would fail is not made to succeed by an allowance")
  func failure() throws {
    let must = "<attribute name=\"must\" attributeType=\"Integer 32\"/>"
    let name = "<attribute name=\"name\" optional=\"YES\" attributeType=\"String\"/>"
    let arguments = try version("<entity name=\"Order\">\(name)\(Self.total)\(must)</entity>")
    let plan = CommandRun(["migrate", "plan"] + arguments + ["--allow", "DD201:Order.must"])
    #expect(plan.status == .no)
    #expect(plan.output.contains("error  DD201  Order.must: required, without a default for 4 rows"), "\(plan.output)")
    #expect(
      plan.error.contains("note: --allow DD201:Order.must: the migration would fail, which cannot be allowed."),
      "\(plan.error)")
    #expect(
      CommandRun(["migrate", "run"] + arguments + ["--allow", "DD201:Order.must"]).status == .migrationImpossible)
  }

  @Test("The help of plan, run and status names the options and coredata explain")
  func help() {
    for command in ["plan", "run", "status"] {
      let help = CommandRun("migrate", command, "--help").output
      for words in ["--allow CODE[:Entity[.property]]", "--allowances FILE", "--allow-loss", "coredata explain"] {
        #expect(help.contains(words), "\(command): \(words)")
      }
    }
  }
}

extension Workshop {
  /// Writes a version of a model and makes it the current one.
  ///
  /// - Returns: the path of the model.
  func write(version: String, of model: String = "Shop.xcdatamodeld", current: String, _ entities: String) throws
    -> String
  {
    try write(version: version, of: model, entities)
    let marker = try PropertyListSerialization.data(
      fromPropertyList: ["_XCCurrentVersionName": "\(current).xcdatamodel"], format: .xml, options: 0)
    try marker.write(to: URL(fileURLWithPath: path("\(model)/.xccurrentversion")))
    return path(model)
  }
}
