// OpenCoreData
// SPDX-License-Identifier: Apache-2.0

import CoreDataTestSupport
import Foundation
import Testing

@testable import CoreDataCommand

private let program = BuiltProgram("coredata")

@Suite("The program itself", .enabled(if: program.isPresent, "The program was not built beside the tests"))
struct ProgramTests {
  private let workshop: Workshop

  init() throws {
    workshop = try Workshop()
  }

  @Test("Status, standard output and standard error are those of the command")
  func streams() throws {
    let help = try program.run(["--version"])
    #expect(help.status == 0)
    #expect(help.output == "coredata \(CommandLineTool.version)\n")
    #expect(help.error.isEmpty)
    let missing = try program.run(["store", "info", "/none.sqlite"])
    #expect(missing.status == 4)
    #expect(missing.output.isEmpty)
    #expect(missing.error == "error: There is no file /none.sqlite. Check the path of the store.\n")
    #expect(try program.run(["stroe"]).status == 2)
  }

  @Test("A store is made, matched and migrated")
  func story() throws {
    let store = workshop.path("Shop.sqlite")
    #expect(try program.run(["store", "create", store, workshop.model, "--version", "Shop"]).status == 0)
    let run = try program.run(["migrate", "run", store, workshop.model])
    #expect(run.status == 0)
    // Neither stream is a terminal: a line a step, and no colour.
    #expect(run.error == "step 1 of 1: Shop -> Shop 2\n")
    #expect(!run.output.contains("\u{1B}"))
    #expect(try program.run(["migrate", "status", store, workshop.model, "--check"]).status == 0)
  }
}
