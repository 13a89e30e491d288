// OpenCoreData
// SPDX-License-Identifier: Apache-2.0

import Foundation
import Testing

/// The program that the build made beside the tests.
private enum Program {
  static let url = URL(fileURLWithPath: CommandLine.arguments[0]).deletingLastPathComponent()
    .appendingPathComponent("coredata")

  static let isPresent = FileManager.default.isExecutableFile(atPath: url.path)

  static func run(_ arguments: String...) throws -> (status: Int32, output: String, error: String) {
    let process = Process()
    process.executableURL = url
    process.arguments = arguments
    let (output, error) = (Pipe(), Pipe())
    process.standardOutput = output
    process.standardError = error
    try process.run()
    // What these commands write fits into the pipes, so that reading one after the other cannot block.
    let texts = [output, error].map { String(decoding: $0.fileHandleForReading.readDataToEndOfFile(), as: UTF8.self) }
    process.waitUntilExit()
    return (process.terminationStatus, texts[0], texts[1])
  }
}

@Suite("The program itself", .enabled(if: Program.isPresent, "The program was not built beside the tests"))
struct ProgramTests {
  private let workshop: Workshop

  init() throws {
    workshop = try Workshop()
  }

  @Test("Status, standard output and standard error are those of the command")
  func streams() throws {
    let help = try Program.run("--version")
    #expect(help.status == 0)
    #expect(help.output == "coredata 0.1.0\n")
    #expect(help.error.isEmpty)
    let missing = try Program.run("store", "info", "/none.sqlite")
    #expect(missing.status == 4)
    #expect(missing.output.isEmpty)
    #expect(missing.error == "error: There is no file /none.sqlite. Check the path of the store.\n")
    #expect(try Program.run("stroe").status == 2)
  }

  @Test("A store is made, matched and migrated")
  func story() throws {
    let store = workshop.path("Shop.sqlite")
    #expect(try Program.run("store", "create", store, workshop.model, "--version", "Shop").status == 0)
    let run = try Program.run("migrate", "run", store, workshop.model)
    #expect(run.status == 0)
    // Neither stream is a terminal: a line a step, and no colour.
    #expect(run.error == "step 1 of 1: Shop -> Shop 2\n")
    #expect(!run.output.contains("\u{1B}"))
    #expect(try Program.run("migrate", "status", store, workshop.model, "--check").status == 0)
  }
}
