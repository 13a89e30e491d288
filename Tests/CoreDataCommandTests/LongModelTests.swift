// OpenCoreData
// SPDX-License-Identifier: Apache-2.0

import CoreDataTerminal
import Foundation
import Testing

@testable import CoreDataCommand

@Suite("Models with many versions: what is said fits on a screen")
struct LongModelTests {
  private let workshop: Workshop
  private var store: String { workshop.store }

  init() throws {
    workshop = try Workshop(orders: 2)
  }

  private static let fields =
    "<attribute name=\"name\" optional=\"YES\" attributeType=\"String\"/>"
    + "<attribute name=\"total\" optional=\"YES\" attributeType=\"Integer 32\" defaultValueString=\"0\"/>"

  private static func text(_ name: String) -> String {
    "<attribute name=\"\(name)\" optional=\"YES\" attributeType=\"String\"/>"
  }

  /// A model whose versions each have one attribute more than the one before.
  private func chain(_ count: Int) throws -> String {
    var attributes = Self.fields
    for number in 1...count {
      if number > 1 { attributes += Self.text("a\(number)") }
      try workshop.write(
        version: "C\(number)", of: "Chain.xcdatamodeld", "<entity name=\"Order\">\(attributes)</entity>")
    }
    return workshop.path("Chain.xcdatamodeld")
  }

  @Test("Columns of a plan hold where the number of a step has two digits")
  func columns() throws {
    let run = CommandRun("migrate", "plan", store, try chain(12), "--to", "C12")
    #expect(run.status == .done, "\(run.error)")
    let lines = run.output.components(separatedBy: "\n").filter { $0.contains("touched") }
    #expect(lines.count == 11, "\(run.output)")
    for (position, line) in lines.enumerated() {
      let number = position + 1
      #expect(line.hasPrefix(number < 10 ? "   \(number)  C" : "  \(number)  C"), "\(line)")
    }
  }

  @Test("A way over 64 versions: first, last and the number of steps after \"Migrated\"")
  func manySteps() throws {
    let run = CommandRun("migrate", "run", store, try chain(64), "--to", "C64", "--no-backup", "-q")
    #expect(run.status == .done, "\(run.error)")
    let title = try #require(run.output.components(separatedBy: "\n").first)
    #expect(title == "Migrated Shop.sqlite: C1 -> ... -> C64 (63 steps)")
  }

  @Test("Versions that are left out are told once, as a range with the reason")
  func leftOut() throws {
    func version(_ name: String, _ attributes: String) throws {
      try workshop.write(version: name, of: "Detour.xcdatamodeld", "<entity name=\"Order\">\(attributes)</entity>")
    }
    try version("D1", Self.fields)
    for number in 2...20 { try version("D\(number)", Self.text("name") + Self.text("x\(number)")) }
    try version("D21", Self.fields + Self.text("b"))
    let run = CommandRun("migrate", "plan", store, workshop.path("Detour.xcdatamodeld"), "--to", "D21")
    #expect(run.status == .done, "\(run.output)\(run.error)")
    #expect(run.output.components(separatedBy: "left out").count == 2, "\(run.output)")
    #expect(
      run.output.contains(
        "'D2' to 'D20' (19 versions) are left out: going through it would drop Order.total, which both ends of the "
          + "step have."),
      "\(run.output)")
  }

  @Test("Neighbours: at most six entities and the number of the others, at most three nearest versions")
  func neighbours() throws {
    let entities = (1...9).map { "<entity name=\"E\($0)\">\(Self.text("a"))</entity>" }.joined()
    let others = (1...9).map { "<entity name=\"E\($0)\">\(Self.text("b"))</entity>" }.joined()
    try workshop.write(version: "1", of: "Wide.xcdatamodeld", entities)
    try workshop.write(version: "2", of: "Wide.xcdatamodeld", others)
    let versions = CommandRun("model", "versions", workshop.path("Wide.xcdatamodeld"))
    #expect(versions.output.contains("E1, E2, E3, E4, E5, E6 and 3 more\n"), "\(versions.output)")
    let model = try chain(8)
    try FileManager.default.removeItem(atPath: model + "/C1.xcdatamodel")
    let match = CommandRun("store", "match", store, model)
    #expect(match.output.contains("The nearest are C2, C3 and C4."), "\(match.output)")
    #expect(!match.output.contains("C5"))
  }
}
