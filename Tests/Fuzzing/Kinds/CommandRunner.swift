// OpenCoreData
// SPDX-License-Identifier: Apache-2.0

import Foundation
import FuzzingSupport

/// Runs the command `coredata` as a process on damaged stores.
struct CommandRunner: FuzzRunner {
  private let maker: StoreMaker
  private let tool: URL

  init(_ lab: FuzzLab) throws {
    maker = try StoreMaker(lab)
    let directory = URL(fileURLWithPath: CommandLine.arguments[0]).resolvingSymlinksInPath().deletingLastPathComponent()
    tool = directory.appendingPathComponent("coredata")
    guard FileManager.default.isExecutableFile(atPath: tool.path) else {
      throw FuzzOptions.Mistake("There is no command \(tool.path). Build the product coredata first.")
    }
  }

  func input(_ random: inout FuzzRandom) throws -> FuzzInput { try maker.input(.everything, &random) }

  func run(_ input: FuzzInput, _ random: inout FuzzRandom) throws -> String {
    let rows = try maker.rowCount(input)
    let folder = try maker.lab.fresh()
    try input.write(to: folder)
    let store = folder.appendingPathComponent(Sample.store).path
    let model = folder.appendingPathComponent(Sample.model).path
    let reading = [
      ["store", "info", store], ["store", "export", store], ["store", "match", store, model],
      [
        "store", "extract-model", store, "-o", maker.lab.directory.appendingPathComponent("extracted.xcdatamodel").path,
      ],
      ["migrate", "status", store, model], ["migrate", "plan", store, model],
    ]
    let before = try DirectoryContent(folder)
    let choice = random.pick(reading)
    var results = [try start(choice, folder)]
    let after = try DirectoryContent(folder)
    guard before == after else {
      throw Broken("\(choice[0]) \(choice[1]) has changed files: \(after.differences(from: before)).")
    }
    results.append(try start(["migrate", "run", store, model, "-q"], folder))
    if results[1].hasSuffix(" 0"), let rows, let left = RowCount(URL(fileURLWithPath: store)), left.rows < rows.rows {
      throw Broken("migrate run ended with 0, and \(left.rows) of \(rows.rows) rows.")
    }
    return results.joined(separator: "; ")
  }

  private func start(_ arguments: [String], _ folder: URL) throws -> String {
    let output = maker.lab.directory.appendingPathComponent("output").path
    let errors = maker.lab.directory.appendingPathComponent("errors").path
    let name = arguments.prefix(2).joined(separator: " ")
    var child = FuzzingChild()
    let process = CArguments.with([tool.path] + arguments) {
      fuzzingStart($0, output, errors, Int32(FuzzLimits.seconds), FuzzLimits.addressSpace)
    }
    guard process > 0, fuzzingEnded(process, 1, &child) == 1 else { throw Broken("\(tool.path) could not be started.") }
    let last = String(decoding: try Data(contentsOf: URL(fileURLWithPath: errors)).suffix(600), as: UTF8.self)
    guard child.signal == 0, child.status != 70, child.status < 126 else {
      throw Broken("\(name) ended with status \(child.status), signal \(child.signal): \(last)")
    }
    guard child.peak <= FuzzLimits.memory else {
      throw Broken("\(name) took \(child.peak >> 20) MB.")
    }
    return "\(name) \(child.status)"
  }
}
