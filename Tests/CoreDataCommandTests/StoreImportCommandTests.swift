// OpenCoreData
// SPDX-License-Identifier: Apache-2.0

import CoreDataTerminal
import CoreDataTestSupport
import Foundation
import Testing

@testable import CoreDataCommand

@Suite("coredata store import")
struct StoreImportCommandTests {
  private let shop: EditingShop

  init() throws { shop = try EditingShop() }

  @Test("JSON lines become objects, numbered in the order of the file, with relationships between them")
  func lines() throws {
    let run = try shop.load(EditingShop.rows)
    #expect(
      run.output == """
        Imported data.jsonl into Shop.sqlite
          Entity    Inserted  Updated  Unchanged
          Customer         2        0          0
          Item             3        0          0
          Order            2        0          0
        No backup was created.

        """)
    let rows = shop.export()
    #expect(rows.count == 7)
    #expect(rows[0].contains("\"id\":\"Customer/p1\"") && rows[0].contains("\"orders\":[\"Order/p1\",\"Order/p2\"]"))
    #expect(rows[0].contains("\"orderCount\":2"))
    #expect(rows[5].contains("\"items\":[\"Item/p2\",\"Item/p1\"]"))
  }

  @Test(
    "A wrong line is named with its entity and property, and nothing is imported",
    arguments: [
      (
        "{\"entity\":\"Item\",\"values\":{\"titel\":\"x\"}}",
        "Item.titel: Item has no property \"titel\"; did you mean title?"
      ),
      ("{\"entity\":\"Itm\",\"values\":{}}", "the store has no entity \"Itm\"; did you mean Item?"),
      ("{\"values\":{}}", "The line names no entity."), ("[1]", "The line is not a JSON object."),
      (
        "{\"entity\":\"Item\",\"values\":{\"title\":\"x}}",
        "The line is not valid JSON: the end of a string was expected"
      ),
      (
        "{\"entity\":\"Order\",\"values\":{\"number\":\"x\"}}",
        "Order.number: \"x\" is not an Integer 16; an example is 42."
      ),
      ("{\"entity\":\"Order\",\"values\":{\"number\":1.5}}", "Order.number: \"1.5\" is not an Integer 16"),
      ("{\"entity\":\"Order\",\"values\":{\"number\":70000}}", "Order.number: 70000 is out of the range"),
      ("{\"entity\":\"Order\",\"values\":{\"paid\":1}}", "Order.paid: \"1\" is not a Boolean"),
      (
        "{\"entity\":\"Order\",\"values\":{\"customer\":\"c9\"}}",
        "Order.customer: c9 is neither in the file nor in Shop"
      ),
      ("{\"entity\":\"Item\",\"values\":{\"order\":\"c1\"}}", "Item.order: a new Customer is not a Order, which"),
      ("{\"entity\":\"Item\",\"id\":\"i1\",\"values\":{}}", "The identifier i1 occurs twice in the file."),
      ("{\"entity\":\"Item\",\"rows\":[]}", "\"rows\" is not expected here."),
      ("{\"entity\":\"Order\",\"values\":{}}", "line 8: "),
    ])
  func wrongLines(line: String, expected: String) throws {
    let run = try shop.load(EditingShop.rows + line + "\n")
    #expect(run.status == .failed)
    #expect(run.error.contains(expected) && run.error.contains("line 8"), "\(run.error)")
    #expect(shop.export().isEmpty)
  }

  @Test("Of values that must be unique, the refusal names the lines, the objects of the store, and what can be done")
  func uniqueValues() throws {
    func customer(_ email: String) -> String {
      "{\"entity\":\"Customer\",\"values\":{\"name\":\"Eve\",\"email\":\"\(email)@example.com\"}}\n"
    }
    let unchanged = "error: Shop.sqlite was not changed"
    try shop.load(EditingShop.rows)
    let twice = try shop.load(customer("eve") + customer("eva") + customer("eve"))
    #expect(
      twice.error == "\(unchanged): lines 1 and 3 have the same Customer.email, which must be unique. "
        + "Of the lines with the same values, keep one.\n")
    let stored = try shop.load(customer("eve") + customer("bob"))
    #expect(
      stored.error == "\(unchanged): line 2 has the Customer.email of Customer/p2, which must be unique. "
        + "Change or remove the line, or import with --update-by email to update the object of the store.\n")
    let both = try shop.load(customer("bob") + customer("eve") + customer("eve"))
    let lines = both.error.components(separatedBy: "\n")
    #expect(lines[0] == "\(unchanged), because 2 unique values would occur more than once.")
    #expect(
      Set(lines[1...2]) == [
        "  line 1 has the Customer.email of Customer/p2, which must be unique.",
        "  lines 2 and 3 have the same Customer.email, which must be unique.",
      ])
    #expect(
      lines[3] == "  Of the lines with the same values, keep one, and import with --update-by email to update the "
        + "objects of the store.")
    let many = try shop.load((1...12).map { customer("c\($0)") + customer("c\($0)") }.joined())
    #expect(many.error.contains("  and 2 more\n") && many.error.split(separator: "\n").count == 13, "\(many.error)")
    let set = CommandRun("store", "set", shop.store, "Customer/p2", "email=ann@example.com", "--no-backup")
    #expect(
      set.error == "\(unchanged): Customer/p2 has the Customer.email of Customer/p1, which must be unique. "
        + "Choose another value, or change or delete Customer/p1 first.\n")
    for run in [twice, stored, both, many, set] {
      #expect(run.status == .failed && !run.error.contains("x-coredata") && !run.error.contains("merge policy"))
    }
    #expect(shop.export().count == 7)
  }

  @Test("Lines that contradict each other through an inverse relationship are refused")
  func contradiction() throws {
    let run = try shop.load(
      EditingShop.rows + "{\"entity\":\"Item\",\"id\":\"i4\",\"values\":{\"order\":\"o1\"}}\n")
    #expect(run.status == .failed)
    #expect(run.error.contains("line 3: Order.items contradicts its inverse, Item.order, in line 8."), "\(run.error)")
    #expect(shop.export().isEmpty)
  }

  @Test("An object is updated by a key, keeps what its line does not name, and others are inserted")
  func updates() throws {
    try shop.load(EditingShop.rows)
    let lines = """
      {"entity":"Customer","values":{"email":"bob@example.com","name":"Robert"}}
      {"entity":"Customer","values":{"email":"eve@example.com","name":"Eve"}}
      {"entity":"Customer","values":{"email":"ann@example.com"}}

      """
    let tried = try shop.load(lines, into: nil, "--update-by", "email", "--dry-run")
    #expect(
      tried.output.hasPrefix("Would import") && tried.output.hasSuffix("Nothing was changed.\n"), "\(tried.error)")
    #expect(shop.export().count == 7)
    let run = try shop.load(lines, into: nil, "--update-by", "email", "--format", "json")
    #expect(run.status == .done, "\(run.error)")
    let counts = try #require(try (run.json["entities"] as? [String: [String: Int]])?["Customer"])
    #expect(counts == ["inserted": 1, "updated": 1, "unchanged": 1])
    let rows = shop.export()
    #expect(rows.count == 8 && rows[1].contains("\"name\":\"Robert\"") && rows[0].contains("\"name\":\"Ann\""))
    #expect(rows[0].contains("[\"Order/p1\",\"Order/p2\"]"))
    let twice = try shop.load(lines + lines, into: nil, "--update-by", "email")
    #expect(twice.error.contains("line 4: Customer.email: line 1 has the same key."), "\(twice.error)")
    let missing = try shop.load(
      "{\"entity\":\"Customer\",\"values\":{\"name\":\"X\"}}", into: nil, "--update-by", "email")
    #expect(missing.error.contains("Customer.email: the record has no value for the key"), "\(missing.error)")
  }

  @Test("CSV: quotes, empty fields, line breaks in fields, elements of composite attributes, relationships")
  func csv() throws {
    let text =
      "\u{FEFF}id,entity,name,email,address.city,orders\r\n"
      + "c1,Customer,\"Ann \"\"A\"\"\",ann@example.com,Rome,\r\nc2,Customer,\"Bob\r\nB\",,,\r\n\r\n"
    let run = try shop.load(text, "data.csv")
    #expect(run.status == .done, "\(run.error)")
    let rows = shop.export()
    #expect(rows.count == 2 && rows[0].contains("\"name\":\"Ann \\\"A\\\"\"") && rows[0].contains("\"city\":\"Rome\""))
    #expect(rows[1].contains("\"name\":\"Bob\\r\\nB\"") && rows[1].contains("\"email\":null"))
    let orders = try shop.load(
      "number,customer\n7,Customer/p1\n8,Customer/p1\n", "o.csv", into: nil, "--entity", "Order")
    #expect(orders.status == .done, "\(orders.error)")
    #expect(shop.export()[0].contains("\"orders\":[\"Order/p1\",\"Order/p2\"]"))
  }

  @Test(
    "A wrong record of CSV is named by its line",
    arguments: [
      ("number\n1\nx\n", "line 3: Order.number: \"x\" is not an Integer 16"), ("number,number\n", "line 1: The column"),
      ("number,paid\n1\n", "line 2: The record has 1 field, and the header 2."),
      ("number\n\"1\n", "line 2: A quoted field begins here and never ends."),
      ("number\n1\"\n", "line 2: A field has a quotation mark in it"),
      ("nr\n1\n", "line 2: Order.nr: Order has no property"),
      ("number\n\"1\"2\n", "line 2: A quoted field is followed by other text."),
    ])
  func wrongRecords(text: String, expected: String) throws {
    let run = try shop.load(text, "data.csv", into: nil, "--entity", "Order")
    #expect(run.status == .failed && run.error.contains(expected), "\(run.error)")
    #expect(try shop.load("number\n1\n", "data.csv").status == .usage)
    #expect(shop.export().isEmpty)
  }

  @Test("The export of any store, imported into an empty store of the same model, is exported as the same text")
  func values() throws {
    try shop.load(EditingShop.rows)
    let picture = Data((0..<200_000).map { UInt8(truncatingIfNeeded: $0 &* 31) }).base64EncodedString()
    let order =
      "{\"entity\":\"Order\",\"values\":{\"customer\":\"Customer/p2\",\"link\":\"https://example.com/%20\",\"number\":-7,"
      + "\"paid\":false,\"picture\":\"\(picture)\",\"placed\":\"1969-07-20T20:17:40.123457Z\",\"price\":0.1,"
      + "\"settings\":\"aGVsbG8=\",\"token\":\"6F9619FF-8B86-4D01-B42D-00CF4FC964FF\",\"total\":\"-0.00000000001\","
      + "\"weight\":\"-Infinity\"}}\n"
    let run = try shop.load(order)
    #expect(run.status == .done, "\(run.error)")
    for type in ["sqlite", "xml", "binary"] {
      let empty = shop.path("Empty.\(type)")
      let other = try EditingShop()
      try #require(CommandRun("store", "copy", other.store, empty, "--type", type).status == .done)
      let text = shop.export().joined(separator: "\n")
      let copied = try shop.load(text, "\(type).jsonl", into: empty, "--model", shop.model)
      #expect(copied.status == .done, "\(copied.error)")
      #expect(
        try Rows(shop.export(empty, "--model", shop.model)) == Rows(shop.export()), "\(type)")
    }
  }
}

/// Exported lines with the objects numbered by their order, instead of by their keys in a store.
struct Rows: Equatable {
  let lines: [String]

  init(_ lines: [String]) throws {
    var names: [String: String] = [:]
    var counts: [String: Int] = [:]
    for line in lines {
      let match = try #require(line.firstMatch(of: /^\{"entity":"([^"]*)","id":"([^"]*)"/))
      counts[String(match.1), default: 0] += 1
      names[String(match.2)] = "\(match.1)#\(counts[String(match.1)] ?? 0)"
    }
    self.lines = lines.map { line in
      line.replacing(/"((?:x-coredata:\/\/[^\/"]*\/)?[A-Za-z_0-9]+\/p[0-9]+)"/) { match in
        "\"\(names[String(match.1)] ?? String(match.1))\""
      }
    }
  }
}

@Suite("Parsing of JSON and dates for imports")
struct ImportParsingTests {
  @Test(
    "JSON values are parsed as they are written",
    arguments: [
      "null", "true", "[]", "{}", "\"\"", "0", "-1", "9223372036854775807", "-9223372036854775808", "0.1", "1e+300",
      "[1,[2,{\"a\":null}]]", "\"a\\\"b\\\\c\\n\\u0001\"", "\"\u{1F600}\u{301}\"", "5e-324",
    ])
  func values(text: String) throws {
    #expect(try JSONText(parsing: text.utf8).line() == text)
  }

  @Test("Escapes and white space")
  func escapes() throws {
    #expect(
      try JSONText(parsing: " [ \"\\ud83d\\ude00\\/\\u00e9\" , 1 ] ".utf8) == .array([.string("\u{1F600}/é"), 1]))
    #expect(try JSONText(parsing: "10000000000000000000".utf8) == .real(1e19))
  }

  @Test(
    "What is not JSON is refused",
    arguments: [
      "", "nul", "[1,]", "{\"a\":1,}", "{a:1}", "01", "1.", "-", "+1", ".5", "1e", "\"", "\"\\x\"", "\"\\ud83d\"",
      "\"\\ude00\"", "\"\n\"", "[1] 2", "{\"a\" 1}", "1e999", "'a'", "\"\\u12\"", String(repeating: "[", count: 100),
    ])
  func refused(text: String) {
    #expect(throws: JSONText.ParsingProblem.self) { try JSONText(parsing: text.utf8) }
  }
}
