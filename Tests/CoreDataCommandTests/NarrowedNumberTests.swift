// OpenCoreData
// SPDX-License-Identifier: Apache-2.0

import CoreData
import CoreDataSQLite
import CoreDataTerminal
import CoreDataTestSupport
import Foundation
import Testing

@testable import CoreDataCommand

@Suite("Numbers that get a smaller type are judged by their values")
struct NarrowedNumberTests {
  private let workshop: Workshop
  private var store: String { workshop.store }

  init() throws {
    workshop = try Workshop(orders: 4)
  }

  private static func entity(_ type: String) -> String {
    "<entity name=\"Order\"><attribute name=\"name\" optional=\"YES\" attributeType=\"String\"/>"
      + "<attribute name=\"total\" optional=\"YES\" attributeType=\"\(type)\" defaultValueString=\"0\"/></entity>"
  }

  private func sql(_ text: String) throws {
    try SQLiteConnection.execute(text, at: URL(fileURLWithPath: store))
  }

  private func to(_ type: String) throws -> [String] {
    try workshop.write(version: "Shop \(type)", of: "Shop.xcdatamodeld", Self.entity(type))
    return [store, workshop.model, "--to", "Shop \(type)"]
  }

  private func totals() throws -> [NSNumber?] {
    try CommandRun("store", "export", store).jsonLines.map { ($0["values"] as? [String: Any])?["total"] as? NSNumber }
  }

  @Test("Where every value fits, the finding is information, and run keeps every value")
  func fitting() throws {
    let arguments = try to("Integer 16")
    let plan = CommandRun(["migrate", "plan"] + arguments)
    #expect(plan.status == .done, "\(plan.output)")
    #expect(
      plan.output.contains("info  DS105  Order.total: Integer 32 becomes Integer 16; all 4 values fit"),
      "\(plan.output)")
    let before = try totals()
    #expect(CommandRun(["migrate", "run"] + arguments).status == .done)
    #expect(try totals() == before)
  }

  @Test("Values that are too large stop the migration: an error with their number, which --allow-loss does not lift")
  func tooLarge() throws {
    try sql("UPDATE ZORDER SET ZTOTAL = 100000 WHERE ZTOTAL > 20")
    let arguments = try to("Integer 16")
    let content = FileManager.default.contents(atPath: store)
    for options in [[], ["--allow-loss"], ["--allow", "DS105:Order.total"]] {
      let plan = CommandRun(["migrate", "plan"] + arguments + options)
      #expect(plan.status == .no, "\(options)")
      #expect(
        plan.output.contains(
          "error  DS105  Order.total: Integer 32 becomes Integer 16; 2 values are out of range and stop the migration"),
        "\(plan.output)")
      let run = CommandRun(["migrate", "run"] + arguments + options)
      #expect(run.status == .migrationImpossible)
      #expect(run.error.contains("The migration would fail: DS105 Order.total"), "\(run.error)")
      #expect(!run.error.contains("use --allow-loss"), "\(run.error)")
    }
    #expect(FileManager.default.contents(atPath: store) == content)
  }

  @Test("Fractions are cut off: an error with their number, which an allowance lifts")
  func fractions() throws {
    let onward = CommandRun(["migrate", "run"] + (try to("Double")))
    #expect(onward.status == .done, "\(onward.error)")
    try sql("UPDATE ZORDER SET ZTOTAL = 30.5 WHERE ZTOTAL = 30")
    let arguments = try to("Integer 64")
    let plan = CommandRun(["migrate", "plan"] + arguments)
    #expect(plan.status == .no)
    #expect(
      plan.output.contains("error  DS105  Order.total: Double becomes Integer 64; 1 value would lose its fraction"),
      "\(plan.output)")
    #expect(CommandRun(["migrate", "run"] + arguments).status == .migrationImpossible)
    let run = CommandRun(["migrate", "run"] + arguments + ["--allow", "DS105:Order.total"])
    #expect(run.status == .done, "\(run.error)")
    #expect(Set(try totals().compactMap { $0?.doubleValue }) == [10, 20, 30, 40])
  }

  @Test("A Float rounds what it cannot hold exactly, and a Boolean keeps only 0 and 1")
  func rounding() throws {
    #expect(CommandRun(["migrate", "run"] + (try to("Double"))).status == .done)
    #expect(CommandRun(["migrate", "plan"] + (try to("Float"))).status == .done)
    try sql("UPDATE ZORDER SET ZTOTAL = 0.1 WHERE ZTOTAL > 20")
    let plan = CommandRun(["migrate", "plan"] + (try to("Float")))
    #expect(plan.output.contains("Order.total: Double becomes Float; 2 values would be rounded"), "\(plan.output)")
    try sql("UPDATE ZORDER SET ZTOTAL = 1 WHERE ZTOTAL > 10")
    let flags = CommandRun(["migrate", "plan"] + (try to("Boolean")))
    #expect(
      flags.output.contains("Order.total: Double becomes Boolean; 3 values are neither 0 nor 1, and would change"),
      "\(flags.output)")
  }

  @Test("A value is judged by the type that a later step gives it")
  func laterStep() throws {
    // The attribute gets another name in the first step, and another type in the second.
    let renamed = Self.entity("Integer 32").replacingOccurrences(
      of: "name=\"total\"", with: "name=\"sum\" elementID=\"total\"")
    try workshop.write(version: "Steps", of: "Steps.xcdatamodeld", Self.entity("Integer 32"))
    try workshop.write(version: "Steps 2", of: "Steps.xcdatamodeld", renamed)
    let narrow = Self.entity("Integer 16").replacingOccurrences(of: "name=\"total\"", with: "name=\"sum\"")
    try workshop.write(version: "Steps 3", of: "Steps.xcdatamodeld", narrow)
    let arguments = [store, workshop.path("Steps.xcdatamodeld"), "--to", "Steps 3"]
    let plan = CommandRun(["migrate", "plan"] + arguments)
    #expect(plan.status == .done, "\(plan.output)")
    #expect(plan.output.contains("2 steps") && plan.output.contains("Order.sum: Integer 32 becomes Integer 16; all 4"))
    try sql("UPDATE ZORDER SET ZTOTAL = 100000 WHERE ZTOTAL = 10")
    #expect(
      CommandRun(["migrate", "plan"] + arguments).output.contains(
        "Order.sum: Integer 32 becomes Integer 16; 1 value is out of range and stops the migration"))
  }
}
