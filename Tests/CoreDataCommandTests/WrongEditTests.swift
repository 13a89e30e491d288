// OpenCoreData
// SPDX-License-Identifier: Apache-2.0

import CoreDataTerminal
import Foundation
import Testing

@testable import CoreDataCommand

/// What commands say about wrong arguments and files: what was found, and what to write instead.
@Suite("Wrong input to commands about objects")
struct WrongEditTests {
  private let shop: EditingShop
  private var store: String { shop.store }

  init() throws {
    shop = try EditingShop()
    let run = try shop.load(EditingShop.rows)
    try #require(run.status == .done, "\(run.error)")
  }

  private func failure(_ status: CoreDataTerminal.ExitStatus, _ arguments: String...) -> String {
    let run = CommandRun(["store"] + arguments)
    #expect(run.status == status && run.output.isEmpty, "\(run)")
    return run.error
  }

  @Test("A predicate that cannot be parsed is a mistake in the command line, with an example of the entity")
  func predicates() {
    #expect(
      failure(.usage, "query", store, "Customer", "name ==")
        == "error: Unable to parse the format string \"name ==\": at character 8 there is the end, but a value or a key "
        + "path was expected. A predicate that can be parsed: name BEGINSWITH 'A'\n")
    #expect(
      failure(.usage, "query", store, "Customer", "name == %@").hasSuffix(
        "Write the value or the property itself in place of %@ and %K.\n"))
  }

  @Test("A limit of none says how many objects there are, and one below none is refused")
  func limits() {
    let none = CommandRun("store", "query", store, "Customer", "--limit", "0")
    let count = CommandRun("store", "query", store, "Customer", "--count").output.dropLast()
    #expect(none.status == .done && none.output.isEmpty && none.error == "note: 0 of \(count) objects are shown.\n")
    #expect(
      failure(.usage, "query", store, "Customer", "--limit", "-1").hasPrefix(
        "error: --limit takes an integer of at least 0, not -1\n"))
  }

  @Test("Two values for one property are refused, and nothing is changed")
  func twice() {
    let before = shop.export()
    #expect(
      failure(.usage, "set", store, "Order/p1", "number=7", "number=8")
        == "error: number has two values. Name it once. Nothing was changed.\n")
    #expect(shop.export() == before)
  }

  @Test("A question ends the sentence, and a reason of the system has one full stop")
  func sentences() {
    #expect(
      failure(.usage, "set", store, "Order/p1", "numbr=7")
        == "error: Order.numbr: Order has no property \"numbr\"; did you mean number? Nothing was changed.\n")
    let missing = failure(.usage, "set", store, "Order/p1", "picture=@\(shop.path("none.png"))")
    #expect(missing.hasSuffix("No such file or directory. Nothing was changed.\n"), "\(missing)")
  }

  @Test("A file is read as its name says, and an array is called one", arguments: ["json", "jsonl"])
  func arrays(type: String) throws {
    let file = shop.path("rows.\(type)")
    try Data("[{\"entity\":\"Customer\"}]\n".utf8).write(to: URL(fileURLWithPath: file))
    #expect(
      failure(.failed, "import", store, file)
        == "error: rows.\(type), line 1: The file is a JSON array. Write each object on a line of its own, without [ and ] "
        + "around them. Nothing was imported.\n")
    try Data("null\n".utf8).write(to: URL(fileURLWithPath: file))
    #expect(failure(.failed, "import", store, file).contains("line 1: The line is not a JSON object."))
  }

  @Test("A file whose entity is not known is named; in a directory, its name is that of the entity")
  func entities() throws {
    let directory = URL(fileURLWithPath: shop.path("rows"))
    try FileManager.default.createDirectory(at: directory, withIntermediateDirectories: true)
    let file = directory.appendingPathComponent("Custmer.csv")
    try Data("name\nAnn\n".utf8).write(to: file)
    #expect(
      failure(.usage, "import", store, file.path)
        == "error: Custmer.csv is a CSV file without a column \"entity\", and needs --entity E. Nothing was imported.\n"
    )
    #expect(
      failure(.failed, "import", store, directory.path)
        == "error: Custmer.csv, line 1: the store has no entity \"Custmer\"; did you mean Customer? Nothing was imported.\n"
    )
  }
}
