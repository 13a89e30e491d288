// OpenCoreData
// SPDX-License-Identifier: Apache-2.0

import CoreDataTestSupport
import Foundation
import Testing

/// Imports of so many lines that they are saved in parts.
@Suite("Imports in parts", .enabled(if: ProgramShelf.program.isPresent, "The program was not built"))
struct ImportPartsTests {
  private let directory: TemporaryDirectory
  private var store: String { directory.path("Shop.sqlite") }
  private var model: String { directory.path("Shop.xcdatamodel") }
  private static let count = 9_000

  /// Items must have an order, and come before the orders in an export. Customers have a unique name.
  private static let contents = """
    <?xml version="1.0" encoding="UTF-8" standalone="yes"?>
    <model type="com.apple.IDECoreDataModeler.DataModel" documentVersion="1.0" userDefinedModelVersionIdentifier="">
    <entity name="Customer"><attribute name="name" optional="YES" attributeType="String" minValueString="2"/>
    <relationship name="orders" optional="YES" toMany="YES" ordered="YES" deletionRule="Nullify" destinationEntity="Order"
    inverseName="customer" inverseEntity="Order"/>
    <uniquenessConstraints><uniquenessConstraint><constraint value="name"/></uniquenessConstraint></uniquenessConstraints>
    </entity>
    <entity name="Item"><attribute name="title" optional="YES" attributeType="String"/>
    <relationship name="order" maxCount="1" deletionRule="Nullify" destinationEntity="Order" inverseName="items"
    inverseEntity="Order"/></entity>
    <entity name="Order"><attribute name="number" optional="YES" attributeType="Integer 32"/>
    <relationship name="customer" optional="YES" maxCount="1" deletionRule="Nullify" destinationEntity="Customer"
    inverseName="orders" inverseEntity="Customer"/>
    <relationship name="items" optional="YES" toMany="YES" deletionRule="Cascade" destinationEntity="Item"
    inverseName="order" inverseEntity="Item"/></entity>
    </model>
    """

  init() throws {
    directory = try TemporaryDirectory()
    try directory.write(Self.contents, to: "Shop.xcdatamodel/contents")
    try create("Shop.sqlite")
  }

  private func create(_ name: String, _ options: String...) throws {
    let run = try ProgramShelf.program.run(["store", "create", directory.path(name), model] + options)
    try #require(run.status == 0, "\(run.error)")
  }

  private func load(_ lines: [String], _ options: String..., into name: String = "Shop.sqlite") throws
    -> ProgramShelf.Answer
  {
    try directory.write(lines.joined(separator: "\n") + "\n", to: "lines.jsonl")
    let run = try ProgramShelf.program.run(
      ["store", "import", directory.path(name), directory.path("lines.jsonl"), "--model", model] + options)
    return .init(status: run.status, output: run.output, error: run.error)
  }

  private func query(_ arguments: String..., name: String = "Shop.sqlite") throws -> String {
    let run = try ProgramShelf.program.run(["store", "query", directory.path(name)] + arguments + ["--model", model])
    return run.status == 0 ? run.output : run.error
  }

  /// A line for each item, each order and each customer, in the order of an export, with all relationships.
  private var everything: [String] {
    let orders = Self.count / 3
    func text(_ ids: some Sequence<Int>, _ entity: String) -> String {
      ids.map { "\"x-coredata://A/\(entity)/p\($0)\"" }.joined(separator: ",")
    }
    var lines = (0..<10).map { customer in
      let ids = stride(from: customer, to: orders, by: 10).reversed()
      return """
        {"entity":"Customer","id":"x-coredata://A/Customer/p\(customer)","values":{"name":"Name \(customer)",\
        "orders":[\(text(ids, "Order"))]}}
        """
    }
    lines += (0..<Self.count).map {
      """
      {"entity":"Item","id":"x-coredata://A/Item/p\($0)","values":{"title":"Item \($0)",\
      "order":"x-coredata://A/Order/p\($0 / 3)"}}
      """
    }
    lines += (0..<orders).map {
      """
      {"entity":"Order","id":"x-coredata://A/Order/p\($0)","values":{"number":\($0),\
      "customer":"x-coredata://A/Customer/p\($0 % 10)","items":[\(text($0 * 3..<$0 * 3 + 3, "Item"))]}}
      """
    }
    return lines
  }

  @Test(
    "Relationships to objects of later lines are set, required ones too, and ordered ones in order",
    arguments: ["sqlite", "xml"])
  func relationships(type: String) throws {
    if type == "xml" { try create("Shop.xml") }
    let name = "Shop.\(type)"
    let run = try load(everything, into: name)
    #expect(run.status == 0, "\(run.text)")
    let table = run.output.replacing(/\s+/, with: " ")
    #expect(table.contains("Item 9,000 0 0") && table.contains("Order 3,000 0 0"), "\(run.text)")
    #expect(try query("Item", "order.number == 1234", "--show", "title", name: name).contains("Item 3704"))
    #expect(try query("Item", "order == nil", "--count", name: name) == "0\n")
    #expect(try query("Order", "items.@count == 3 AND customer != nil", "--count", name: name) == "3000\n")
    let verified = try ProgramShelf.program.run(["store", "verify", directory.path(name), model])
    #expect(verified.status == 0, "\(verified.output)")
    let export = try ProgramShelf.program.run(["store", "export", directory.path(name), "--model", model, "-q"])
    let customer = try #require(export.output.split(separator: "\n").first { $0.contains("\"Name 3\"") })
    let last = try query("Order", "number == 2993", "--show", "number", name: name)
    let id = try #require(last.firstMatch(of: /p[0-9]+/)?.0)
    let first = try #require(customer.firstMatch(of: /"orders":\["[^"]*Order\/(p[0-9]+)"/)?.1)
    #expect(first == id)
  }

  @Test("Few lines that name many objects are imported in parts too")
  func manyNames() throws {
    // More than a part loads, before the objects exist and after.
    let many = Array(repeating: "\"i0\"", count: 41_000).joined(separator: ",")
    let run = try load([
      #"{"entity":"Order","id":"o0","values":{"number":0,"items":[\#(many),"i1"]}}"#,
      #"{"entity":"Item","id":"i0","values":{"title":"first","order":"o0"}}"#,
      #"{"entity":"Item","id":"i1","values":{"title":"second","order":"o0"}}"#,
      #"{"entity":"Order","id":"o1","values":{"number":1,"items":["i2"]}}"#,
      #"{"entity":"Item","id":"i2","values":{"title":"third","order":"o1"}}"#,
    ])
    #expect(run.status == 0, "\(run.text)")
    #expect(try query("Item", "order.number == 0", "--count") == "2\n")
    #expect(try query("Order", "ANY items.title == 'third'", "--show", "number").contains("1"))
    let wrong = try load([
      #"{"entity":"Order","id":"o2","values":{"number":2,"items":[\#(many.replacing("i0", with: "i3")),"i4"]}}"#,
      #"{"entity":"Item","id":"i3","values":{"title":"fourth","order":"o2"}}"#,
    ])
    #expect(wrong.status == 6, "\(wrong.text)")
    #expect(wrong.error.contains("line 1: Order.items: i4 is neither in the file"), "\(wrong.text)")
    #expect(try query("Order", "--count") == "2\n")
  }

  @Test("A wrong line far down changes nothing, whatever was saved before it")
  func allOrNothing() throws {
    let files = try directory.files() + ["lines.jsonl"]
    for (wrong, expected) in [
      (#"{"entity":"Order","values":{"number":"many"}}"#, "line 12011: Order.number: \"many\" is not an Integer 32"),
      (
        #"{"entity":"Order","values":{"customer":"c99"}}"#, "line 12011: Order.customer: c99 is neither in the file nor"
      ),
      (#"{"entity":"Customer","values":{"name":"x"}}"#, "name"),
      (#"{"entity":"Customer","values":{"name":"Name 3"}}"#, "lines 4 and 12011"),
      (#"{"entity":"Item","values":{"title":"Lost"}}"#, "order"),
      (#"{"entity":"Order","id":"o","values":{"items":["x-coredata://A/Item/p5"]}}"#, "contradicts its inverse"),
    ] {
      let run = try load(everything + [wrong])
      #expect(run.status == 6 && run.error.contains(expected), "\(run.text)")
      for entity in ["Customer", "Item", "Order"] { #expect(try query(entity, "--count") == "0\n", "\(wrong)") }
      #expect(try directory.files().sorted() == files.sorted())
    }
  }

  @Test("Objects are updated by a key, counted, and not updated twice")
  func updates() throws {
    let names = (0..<Self.count).map { #"{"entity":"Customer","id":"c\#($0)","values":{"name":"N \#($0)"}}"# }
    #expect(try load(names, "--no-backup").status == 0)
    let again = try load(names, "--update-by", "name", "--no-backup")
    #expect(again.status == 0 && again.output.contains("Nothing was changed."), "\(again.text)")
    #expect(again.output.replacing(/\s+/, with: " ").contains("Customer 0 0 9,000"), "\(again.text)")
    let more = names + [#"{"entity":"Customer","values":{"name":"N 9000"}}"#]
    let updated = try load(more, "--update-by", "name", "--no-backup")
    #expect(updated.output.replacing(/\s+/, with: " ").contains("Customer 1 0 9,000"), "\(updated.text)")
    let twice = try load(more + [more[5]], "--update-by", "name", "--no-backup")
    #expect(twice.status == 6, "\(twice.text)")
  }

  @Test("A dry run counts, and changes nothing; a pipe is imported too")
  func dryRunAndPipe() throws {
    let before = try Data(contentsOf: URL(fileURLWithPath: store))
    let run = try load(everything, "--dry-run")
    #expect(run.status == 0 && run.output.contains("9,000"), "\(run.text)")
    #expect(try Data(contentsOf: URL(fileURLWithPath: store)) == before)
    let place = URL(fileURLWithPath: CommandLine.arguments[0]).deletingLastPathComponent()
    let process = Process()
    process.executableURL = URL(fileURLWithPath: "/bin/sh")
    process.arguments = [
      "-c", "cat \"$1\" | \"$0\" store import \"$2\" /dev/stdin -q --no-backup",
      place.appendingPathComponent("coredata").path, directory.path("lines.jsonl"), store,
    ]
    try process.run()
    process.waitUntilExit()
    #expect(process.terminationStatus == 0)
    #expect(try query("Item", "--count") == "9000\n")
  }

  @Test("The backup is the store as it was before the first part")
  func backup() throws {
    let before = try Data(contentsOf: URL(fileURLWithPath: store))
    let run = try load(everything)
    #expect(run.status == 0 && run.output.contains("Shop~.sqlite"), "\(run.text)")
    let count = try query("Item", "--count", name: "Shop~.sqlite")
    #expect(count == "0\n")
    #expect(try Data(contentsOf: URL(fileURLWithPath: store)) != before)
  }
}
