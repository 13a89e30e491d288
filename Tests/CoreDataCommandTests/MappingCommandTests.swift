// OpenCoreData
// SPDX-License-Identifier: Apache-2.0

import CoreDataModelFiles
import CoreDataTerminal
import Foundation
import Testing

@testable import CoreDataCommand

@Suite("coredata mapping")
struct MappingCommandTests {
  private let workshop: Workshop

  init() throws {
    workshop = try Workshop()
  }

  private var first: String { workshop.model + "@Shop" }
  private var second: String { workshop.model + "@Shop 2" }

  /// A compiled mapping model from the first version to the second.
  private func mapping(_ change: (inout MappingDocument) -> Void = { _ in }) throws -> String {
    let bundle = try ModelBundle(contentsOf: URL(fileURLWithPath: workshop.model))
    var order = EntityMappingDocument(
      name: "OrderToOrder", kind: .custom, sourceEntityName: "Order", destinationEntityName: "Order")
    order.policyClassName = "Shop.OrderPolicy"
    order.sourceExpression = MappingExpressions.sourceObjects(entity: "Order", filter: "total > 0")
    order.attributeMappings = [
      PropertyMappingDocument(name: "total", valueExpression: nil),
      PropertyMappingDocument(
        name: "title", valueExpression: MappingExpressions.sourceValue("name"), userInfo: ["why": .string("renamed")]),
    ]
    order.userInfo = ["tags": .set([.string("b"), .string("a")])]
    let customer = EntityMappingDocument(
      name: "Customer", kind: .add, sourceEntityName: nil, destinationEntityName: "Customer")
    var document = MappingDocument(entityMappings: [order, customer])
    document.updateHashes(
      source: VersionHashes(try bundle.document(named: "Shop")).entities,
      destination: VersionHashes(try bundle.document(named: "Shop 2")).entities)
    change(&document)
    let path = workshop.path("Shop.cdm")
    try document.writeCompiled(to: URL(fileURLWithPath: path))
    return path
  }

  @Test("infer: the mapping that would be inferred")
  func infer() {
    let run = CommandRun("mapping", "infer", first, second)
    #expect(
      run.output == """
        Shop -> Shop 2   inferred, 2 entity mappings

        IEM_Add_Customer   add   Customer
          email  attribute  no expression

        IEM_Transform_Order   transform   Order -> Order
          title  attribute  FUNCTION($source, "valueForKey:", "name")
          total  attribute  FUNCTION($source, "valueForKey:", "total")

        """)
    #expect(run.status == .done)
    #expect(run.error.isEmpty)
  }

  @Test("infer: entity, property and reason where there is none; status 5")
  func inferImpossible() throws {
    let run = CommandRun("mapping", "infer", second, workshop.model + "@Shop 3")
    #expect(run.status == .migrationImpossible)
    let lines = run.output.components(separatedBy: "\n")
    #expect(lines.prefix(3) == ["Shop 2 -> Shop 3   cannot be inferred, 1 obstacle", "", "Order.title"])
    #expect(
      lines[3] == "  Source and destination attribute types are incompatible: 'title' of entity 'Order' is String in "
        + "the source, Date in the destination.")
    #expect(lines.count == 6 && lines[4].hasPrefix("  "))
    let json = CommandRun("mapping", "infer", second, workshop.model + "@Shop 3", "--format", "json")
    #expect(json.status == .migrationImpossible)
    #expect(try json.json["isInferable"] as? Bool == false)
    let obstacles = try #require(try json.json["obstacles"] as? [[String: String]])
    #expect(obstacles.map { $0["entity"] } == ["Order"])
    #expect(obstacles.map { $0["property"] } == ["title"])
    #expect(obstacles.allSatisfy { $0["reason"]?.isEmpty == false && $0["advice"]?.isEmpty == false })
  }

  @Test("infer: the way back removes what was added; JSON, and a file for it")
  func inferJSON() throws {
    let back = CommandRun("mapping", "infer", second, first)
    #expect(back.output.contains("\nIEM_Remove_Customer   remove   Customer\n"))
    #expect(back.output.contains("\n  name   attribute  FUNCTION($source, \"valueForKey:\", \"title\")\n"))
    let file = workshop.path("inferred.json")
    #expect(CommandRun("mapping", "infer", first, second, "--format", "json", "--output", file).output.isEmpty)
    let text = try String(contentsOfFile: file, encoding: .utf8)
    let run = CommandRun("mapping", "infer", first, second, "--format", "json")
    #expect(text == run.output)
    let json = try run.json
    #expect(json["format"] as? String == "coredata.mapping-infer/1")
    #expect(json["isInferable"] as? Bool == true)
    let mappings = try #require(json["entityMappings"] as? [[String: Any]])
    #expect(mappings.map { $0["type"] as? String } == ["add", "transform"])
    #expect((mappings[1]["sourceHash"] as? String)?.count == 64)
  }

  @Test("show: text for a review")
  func show() throws {
    let run = CommandRun("mapping", "show", try mapping())
    #expect(
      run.output == """
        # Shop.cdm   2 entity mappings

        OrderToOrder   custom   Order -> Order
          policy  Shop.OrderPolicy
          filter  total > 0
          note  tags = set["a", "b"]
          title  attribute  $source.name
            why = "renamed"
          total  attribute  no expression

        Customer   add   -> Customer

        """)
    #expect(run.status == .done)
  }

  @Test("What show prints is a mapping model, which compiles to the same")
  func text() throws {
    let path = try mapping()
    let text = workshop.path("Shop.mapping")
    #expect(CommandRun("mapping", "show", path, "-o", text).status == .done)
    let compiled = workshop.path("Again.cdm")
    let run = CommandRun("mapping", "compile", text, "--from", first, "--to", second, "-o", compiled)
    #expect(run.status == .done, "\(run.error)")
    let (old, new) = try (
      MappingDocument(contentsOf: URL(fileURLWithPath: path)),
      MappingDocument(contentsOf: URL(fileURLWithPath: compiled))
    )
    #expect(new.entityMappings.map(\.asText) == old.entityMappings.map(\.asText))
    #expect(
      new.entityMappings.map(\.destinationEntityVersionHash) == old.entityMappings.map(\.destinationEntityVersionHash))
    #expect(new.entityMappings.map(\.sourceEntityVersionHash) == old.entityMappings.map(\.sourceEntityVersionHash))
    // Without the versions there are no hashes.
    let alone = CommandRun("mapping", "compile", text, "-o", workshop.path("x.cdm"))
    #expect(alone.status == .invalidModel)
    #expect(
      alone.error == "error: Shop.mapping contains no copies of its versions. Name the versions with --from and --to.\n"
    )
    for (line, found) in [
      ("  color  attribute  $source.(", "line 2: The expression cannot be read"),
      ("  color", "line 2: \"color\" is neither policy"),
      ("    why = 1", "line 2: The line is indented like user info of a property"),
      ("  note  a = 1 2", "line 2: The value of a cannot be read"),
      ("Other   turn   A -> B", "line 2: \"turn\" is not a type"),
      ("  filter  a >", "line 2: The filter cannot be read"),
    ] {
      try Data("A   copy   A -> A\n\(line)\n".utf8).write(to: URL(fileURLWithPath: text))
      let run = CommandRun("mapping", "show", text)
      #expect(run.status == .invalidModel && run.error.contains(found), "\(run.error)")
    }
  }

  @Test("new: an attribute with an apostrophe in its name is in quotes, and its values are kept")
  func apostrophe() throws {
    let workshop = try Workshop()
    for version in ["Shop", "Shop 2"] {
      let file = URL(fileURLWithPath: "\(workshop.model)/\(version).xcdatamodel/contents")
      let contents = try String(contentsOf: file, encoding: .utf8)
      try Data(contents.replacing("name=\"total\"", with: "name=\"apo&apos;strophe\"").utf8).write(to: file)
    }
    let versions = [workshop.model + "@Shop", workshop.model + "@Shop 2"]
    let path = workshop.path("New.mapping")
    let run = CommandRun(["mapping", "new"] + versions + ["-o", path])
    #expect(run.status == .done, "\(run.error)")
    let text = try String(contentsOfFile: path, encoding: .utf8)
    #expect(text.contains(##""apo'strophe"  attribute  $source.#"apo'strophe""##), "\(text)")
    let check = CommandRun(["mapping", "check", path] + versions)
    #expect(check.status == .done, "\(check.output)\(check.error)")
  }

  @Test("new: a mapping model to begin with, for Xcode and as text, which fits the versions and compiles")
  func new() throws {
    for name in ["New.xcmappingmodel", "New.mapping"] {
      let path = workshop.path(name)
      let run = CommandRun("mapping", "new", first, second, "-o", path)
      #expect(run.status == .done && run.output == "\(name): 2 entity mappings\n", "\(run.error)")
      #expect(
        CommandRun("mapping", "show", path).output == """
          # \(name)   2 entity mappings
          versions "Shop" -> "Shop 2"

          Customer   add   -> Customer
            email  attribute  no expression

          OrderToOrder   copy   Order -> Order
            title  attribute  $source.name
            total  attribute  $source.total

          """)
      let compiled = workshop.path(name + ".cdm")
      #expect(CommandRun("mapping", "compile", path, "--from", first, "--to", second, "-o", compiled).status == .done)
      #expect(CommandRun("mapping", "check", compiled, first, second).status == .done)
      #expect(CommandRun("mapping", "new", first, second, "-o", path).status == .failed)
    }
    // The copies of the versions inside are those of the versions.
    let alone = CommandRun("mapping", "compile", workshop.path("New.xcmappingmodel"), "-o", workshop.path("Alone.cdm"))
    #expect(alone.status == .done)
    #expect(CommandRun("mapping", "check", workshop.path("Alone.cdm"), first, second).status == .done)
    // And a store is migrated by it.
    let store = workshop.path("Shop.sqlite")
    try workshop.fill(store, orders: 2)
    let migrated = CommandRun(
      "migrate", "run", store, second, "--mappings", workshop.path("New.xcmappingmodel"), "--no-backup")
    #expect(migrated.status == .done, "\(migrated.error)")
    let titles = try CommandRun("store", "export", store, "--entity", "Order").jsonLines
      .map { ($0["values"] as? [String: Any])?["title"] as? String }
    #expect(Set(titles) == ["Order 1", "Order 2"])
  }

  @Test("compile: a source without copies of its versions takes what it lacks from those that are named")
  func compileHandWritten() throws {
    let text = """
      <?xml version="1.0"?>
      <database><databaseInfo><version>134481920</version></databaseInfo>
      <object type="XDDEVENTITYMAPPING" id="z1">
      <attribute name="sourcename" type="string">Order</attribute>
      <attribute name="destinationname" type="string">Order</attribute>
      <attribute name="mappingnumber" type="int16">1</attribute>
      <relationship name="attributemappings" type="0/0" destination="XDDEVATTRIBUTEMAPPING" idrefs="z2"></relationship>
      </object>
      <object type="XDDEVATTRIBUTEMAPPING" id="z2"><attribute name="name" type="string">total</attribute></object>
      <object type="XDDEVMAPPINGMODEL" id="z3">
      <relationship name="entitymappings" type="0/0" destination="XDDEVENTITYMAPPING" idrefs="z1"></relationship>
      </object></database>
      """
    let path = workshop.path("Hand.xcmappingmodel")
    try FileManager.default.createDirectory(atPath: path, withIntermediateDirectories: true)
    try Data(text.utf8).write(to: URL(fileURLWithPath: path + "/xcmapping.xml"))
    let compiled = workshop.path("Hand.cdm")
    let alone = CommandRun("mapping", "compile", path, "-o", compiled)
    #expect(alone.status == .invalidModel)
    #expect(
      alone.error
        == "error: Hand.xcmappingmodel contains no copies of its versions. Name the versions with --from and --to.\n")
    #expect(CommandRun("mapping", "compile", path, "--from", first, "--to", second, "-o", compiled).status == .done)
    #expect(CommandRun("mapping", "show", compiled).output.contains("  total  attribute  $source.total\n"))
    #expect(CommandRun("mapping", "check", compiled, first, second).status == .done)
  }

  @Test("infer: --output with the name of a mapping model makes one, and none where nothing can be inferred")
  func inferIntoFile() throws {
    for name in ["Inferred.cdm", "Inferred.xcmappingmodel", "Inferred.mapping"] {
      let path = workshop.path(name)
      let run = CommandRun("mapping", "infer", first, second, "-o", path)
      #expect(run.status == .done, "\(name): \(run.error)")
      #expect(run.output == CommandRun("mapping", "infer", first, second).output)
      let check = CommandRun("mapping", "show", path)
      #expect(check.status == .done && check.output.contains("IEM_Transform_Order"))
      #expect(CommandRun("mapping", "infer", first, second, "-o", path).status == .failed)
      let none = workshop.path("None-" + name)
      #expect(
        CommandRun("mapping", "infer", second, workshop.model + "@Shop 3", "-o", none).status == .migrationImpossible)
      #expect(!FileManager.default.fileExists(atPath: none))
    }
  }

  @Test("show: JSON")
  func showJSON() throws {
    let json = try CommandRun("mapping", "show", mapping(), "--format", "json").json
    #expect(json["format"] as? String == "coredata.mapping/1")
    let mappings = try #require(json["entityMappings"] as? [[String: Any]])
    #expect(mappings.map { $0["name"] as? String } == ["OrderToOrder", "Customer"])
    #expect(mappings[0]["policy"] as? String == "Shop.OrderPolicy")
    let properties = try #require(mappings[0]["properties"] as? [[String: Any]])
    #expect(properties.map { $0["expression"] as? String } == ["$source.name", nil])
  }

  @Test("check: a mapping model that fits, but for code that cannot be seen")
  func check() throws {
    let run = CommandRun("mapping", "check", try mapping(), first, second)
    #expect(
      run.output == """
        Shop.cdm   Shop -> Shop 2   0 errors, 1 warning

          warn  OrderToOrder  The policy Shop.OrderPolicy is not in this tool, only in the app.

        """)
    #expect(run.status == .done)
  }

  @Test("check: everything that does not fit, with status 1")
  func checkFaults() throws {
    let path = try mapping { document in
      document.entityMappings[0].policyClassName = nil
      document.entityMappings[0].sourceExpression =
        MappingExpressions.sourceObjects(entity: "Order", filter: "price > 0")
      document.entityMappings[0].sourceEntityVersionHash = Data(repeating: 1, count: 32)
      document.entityMappings[0].attributeMappings[0].name = "sum"
      document.entityMappings[0].attributeMappings[1].valueExpression = MappingExpressions.sourceValue("label")
      document.entityMappings[0].relationshipMappings = [
        PropertyMappingDocument(
          name: "customer",
          valueExpression: MappingExpressions.destinationObjects(mapping: "ToCustomer", of: .variable("source")))
      ]
      document.entityMappings[1].destinationEntityName = "Client"
    }
    let run = CommandRun("mapping", "check", path, first, second)
    #expect(
      run.output == """
        Shop.cdm   Shop -> Shop 2   7 errors, 0 warnings

          error  OrderToOrder           The source entity Order has the version hash of another state.
          error  OrderToOrder           The filter asks for price, which the source entity Order does not have.
          error  OrderToOrder.sum       The destination entity Order has no attribute sum.
          error  OrderToOrder.title     Asks for label, which the source entity Order does not have.
          error  OrderToOrder.customer  The destination entity Order has no relationship customer.
          error  OrderToOrder.customer  There is no entity mapping ToCustomer.
          error  Customer               The destination version has no entity Client.

        """)
    #expect(run.status == .no)
    let json = CommandRun("mapping", "check", path, first, second, "--format", "json")
    #expect(json.status == .no)
    let problems = try #require(try json.json["problems"] as? [[String: Any]])
    #expect(
      problems.map { $0["kind"] as? String } == [
        "stale hash", "unknown key", "missing property", "unknown key", "missing property", "unknown mapping",
        "missing entity",
      ])
  }

  @Test("check: objects that no mapping takes along")
  func checkGaps() throws {
    let empty = try mapping { $0.entityMappings.removeFirst() }
    #expect(
      CommandRun("mapping", "check", empty, first, second).output.contains(
        "  warn  (mapping model)  No mapping has the source entity Order: its objects are left behind.\n"))
  }

  @Test("compile: equal to what was read, and never over another file")
  func compile() throws {
    let path = try mapping()
    let copy = workshop.path("Copy.cdm")
    let run = CommandRun("mapping", "compile", path, "-o", copy)
    #expect(run.output == "Copy.cdm: 2 entity mappings\n")
    #expect(
      run.error == "note: The version hashes are those inside Shop.cdm. To use those of the versions, name them with "
        + "--from and --to.\n")
    #expect(run.status == .done)
    let show = CommandRun("mapping", "show", copy, "--format", "json")
    #expect(show.output == CommandRun("mapping", "show", path, "--format", "json").output)
    let before = FileManager.default.contents(atPath: copy)
    let again = CommandRun("mapping", "compile", path, "-o", copy)
    #expect(again.status == .failed)
    #expect(again.error == "error: \(copy) already exists. Choose another name, or move it away first.\n")
    #expect(FileManager.default.contents(atPath: copy) == before)
  }

  @Test("compile: hashes of the versions that are named; a mapping model that does not fit them is refused")
  func compileForVersions() throws {
    let stale = try mapping { $0.entityMappings[0].sourceEntityVersionHash = Data(repeating: 1, count: 32) }
    let fresh = workshop.path("Fresh.cdm")
    #expect(CommandRun("mapping", "check", stale, first, second).status == .no)
    let run = CommandRun("mapping", "compile", stale, "--from", first, "--to", second, "-o", fresh, "--format", "json")
    #expect(run.status == .done)
    #expect(try run.json["format"] as? String == "coredata.mapping-compile/1")
    #expect(CommandRun("mapping", "check", fresh, first, second).status == .done)
    let wrong = workshop.path("Wrong.cdm")
    let refused = CommandRun("mapping", "compile", stale, "--from", second, "--to", first, "-o", wrong)
    #expect(refused.status == .invalidModel)
    #expect(
      refused.error == """
        error: Shop.cdm does not map Shop 2 to Shop.
          OrderToOrder.title: The destination entity Order has no attribute title.
          OrderToOrder.title: Asks for name, which the source entity Order does not have.
          Customer: The destination version has no entity Customer.

        """)
    #expect(!FileManager.default.fileExists(atPath: wrong))
  }

  @Test("Wrong input: no file, no mapping model, cut off, half of a pair of versions")
  func wrongInput() throws {
    let missing = CommandRun("mapping", "show", workshop.path("none.cdm"))
    #expect(missing.status == .invalidModel)
    #expect(
      missing.error == "error: \(workshop.path("none.cdm")): The file does not exist. Check the path of the mapping "
        + "model.\n")
    let folder = CommandRun("mapping", "check", workshop.model, first, second)
    #expect(folder.status == .invalidModel)
    let path = try mapping()
    let cut = workshop.path("cut.cdm")
    try Data(contentsOf: URL(fileURLWithPath: path)).prefix(200).write(to: URL(fileURLWithPath: cut))
    for arguments in [["show", cut], ["check", cut, first, second], ["compile", cut, "-o", workshop.path("x.cdm")]] {
      let run = CommandRun(["mapping"] + arguments)
      #expect(run.status == .invalidModel, "\(arguments)")
      #expect(run.error.hasPrefix("error: \(cut)"), "\(arguments)")
      #expect(run.output.isEmpty, "\(arguments)")
    }
    #expect(CommandRun("mapping", "compile", path, "-o", workshop.path("x.cdm"), "--from", first).status == .usage)
    #expect(CommandRun("mapping", "compile", path).status == .usage)
    #expect(CommandRun("mapping", "compile", path, "-o", workshop.path("x.mom")).status == .usage)
    #expect(CommandRun("mapping", "infer", first, workshop.model + "@Shop 9").status == .invalidModel)
    #expect(try workshop.files() == ["Shop.cdm", "Shop.xcdatamodeld", "cut.cdm"])
  }
}
