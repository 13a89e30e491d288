// OpenCoreData
// SPDX-License-Identifier: Apache-2.0

import CoreDataTerminal
import Foundation
import Testing

@testable import CoreDataCommand

@Suite("--output, and what it must not do")
struct OutputTests {
  private let workshop: Workshop
  private var store: String { workshop.store }

  init() throws {
    workshop = try Workshop(orders: 4)
  }

  private func link(_ name: String, to target: String) throws -> String {
    try FileManager.default.createSymbolicLink(atPath: workshop.path(name), withDestinationPath: target)
    return workshop.path(name)
  }

  private func refused(_ arguments: [String], _ output: String, sourceLocation: SourceLocation = #_sourceLocation)
    throws
  {
    let before = try workshop.files()
    let content = FileManager.default.contents(atPath: store)
    let run = CommandRun(arguments + ["-q", "-o", output])
    #expect(run.status == .usage, "\(arguments) \(output): \(run.error)", sourceLocation: sourceLocation)
    #expect(run.error.contains("--output \(output) names "), "\(run.error)", sourceLocation: sourceLocation)
    #expect(run.output.isEmpty, sourceLocation: sourceLocation)
    #expect(FileManager.default.contents(atPath: store) == content, sourceLocation: sourceLocation)
    #expect(try workshop.files() == before, sourceLocation: sourceLocation)
  }

  private var commands: [[String]] {
    [
      ["store", "info", store], ["store", "export", store], ["store", "match", store, workshop.model],
      ["migrate", "status", store, workshop.model], ["migrate", "plan", store, workshop.model],
      ["migrate", "run", store, workshop.model], ["migrate", "recover", store],
    ]
  }

  @Test("What is done although standard output is full ends with its own status", arguments: [["lock"], ["compile"]])
  func fullOutput(words: [String]) throws {
    struct Full: Error {}
    let extra = words == ["compile"] ? ["--output", workshop.path("X.momd")] : []
    var message = ""
    let streams = CommandStreams(output: { _ in throw Full() }, error: { message += $0 })
    let status = CommandLineTool.run(["model"] + words + [workshop.model] + extra, streams: streams)
    #expect(status == .unreported && message.contains(" was written. Only the report could not be written."))
  }

  @Test("A result removes the parts that killed processes have left beside it, and no other file")
  func partsOfKilledProcesses() throws {
    let result = workshop.path("Orders.jsonl")
    let left = "\(result).part-\(UUID().uuidString)"
    let written = "\(result).part-\(UUID().uuidString)"
    let kept = ["\(result).part-2", "\(result).part-", "\(workshop.path("Other")).part-\(UUID().uuidString)"]
    for path in [left, written] + kept { try Data("part".utf8).write(to: URL(fileURLWithPath: path)) }
    // As a process that is still running does.
    let writer = open(written, O_WRONLY | O_CLOEXEC)
    try #require(writer >= 0 && flock(writer, LOCK_EX | LOCK_NB) == 0)
    defer { close(writer) }
    for round in 1...2 {
      let run = CommandRun(["store", "export", store, "-q", "-o", result])
      #expect(run.status == .done, "\(run.error)")
      #expect(FileManager.default.contents(atPath: result)?.isEmpty == false)
      #expect(!FileManager.default.fileExists(atPath: left))
      for path in [written] + kept { #expect(FileManager.default.fileExists(atPath: path), "\(path), round \(round)") }
    }
  }

  @Test("A page and a result cannot have one file")
  func sameFile() throws {
    let file = workshop.path("x.html")
    let run = CommandRun(["migrate", "rehearse", workshop.model, "--report", file, "--output", file])
    #expect(run.status == .usage && run.error.contains("--report and --output name the same file"))
    let input = CommandRun(["migrate", "rehearse", store, workshop.model, "--report", store])
    #expect(input.status == .usage && input.error.contains("--report \(store) names "))
  }

  @Test("The store, its logs, its values, its backups and its model are never replaced by a result, over links either")
  func protected() throws {
    let hard = workshop.path("hard")
    try FileManager.default.linkItem(atPath: store, toPath: hard)
    let backups = workshop.path("backups")
    try FileManager.default.createDirectory(atPath: backups, withIntermediateDirectories: true)
    let alias = try link("alias", to: workshop.url.path)
    let outputs = [
      store, try link("soft.txt", to: "Shop.sqlite"), hard, alias + "/Shop.sqlite", store + "-wal", store + "-journal",
      store + "-shm", workshop.path("Shop~.sqlite"), workshop.path("Shop~2.sqlite"), workshop.path(".Shop_SUPPORT"),
      workshop.path(".Shop.sqlite-migration"),
      workshop.url.path + "/./../" + workshop.url.lastPathComponent + "/Shop.sqlite",
    ]
    for arguments in commands { for output in outputs { try refused(arguments, output) } }
    for output in [workshop.model, workshop.model + "/x.txt", workshop.model + "/Shop.xcdatamodel/contents"] {
      for arguments in commands where arguments.count == 4 { try refused(arguments, output) }
    }
    try refused(
      ["migrate", "run", store, workshop.model, "--backup", backups], backups + "/Shop~.sqlite")
    let mappings = workshop.path("Mappings")
    try FileManager.default.createDirectory(atPath: mappings, withIntermediateDirectories: true)
    try refused(["migrate", "plan", store, workshop.model, "--mappings", mappings], mappings + "/Shop.cdm")
    try refused(["store", "export", store, "--model", workshop.model], workshop.model + "/x")
    try refused(["model", "diff", workshop.model + "@Shop", workshop.model + "@Shop 2"], workshop.model + "/x")
    try refused(["store", "create", workshop.path("New.sqlite"), workshop.model], workshop.path("New.sqlite"))
    try refused(["migrate", "restore", store, workshop.path("Old.sqlite")], workshop.path("Old.sqlite"))
    // Likely names that belong to nothing.
    for name in ["Shop.txt", "Shop~rows.json", "Shop.sqlite.json", "store.sqlite"] {
      #expect(CommandRun("store", "export", store, "-o", workshop.path(name)).status == .done, "\(name)")
    }
  }

  @Test("A result that cannot be written is told before anything is done")
  func unwritable() throws {
    let before = FileManager.default.contents(atPath: store)
    let run = CommandRun("migrate", "run", store, workshop.model, "-q", "-o", "/nonexistent/report.txt")
    #expect(run.status == .failed)
    #expect(run.error.hasPrefix("error: The result cannot be written to /nonexistent/report.txt: No such file"))
    #expect(FileManager.default.contents(atPath: store) == before)
    #expect(try workshop.files() == ["Shop.sqlite", "Shop.xcdatamodeld"])
    #expect(CommandRun("store", "info", store, "-o", workshop.url.path).status == .usage)
  }

  @Test("A result that cannot be written after the work is done has a sentence and a status of its own")
  func unreported() throws {
    struct Full: Error {}
    final class Sink { var text = "" }
    let sink = Sink()
    let streams = CommandStreams(output: { _ in throw CocoaError(.fileWriteOutOfSpace) }, error: { sink.text += $0 })
    let status = CommandLineTool.run(["migrate", "run", store, workshop.model, "-q"], streams: streams)
    #expect(status == .unreported)
    #expect(sink.text.hasPrefix("error: Shop.sqlite was migrated to Shop 2. The backup is "), "\(sink.text)")
    #expect(sink.text.contains(" Only the report could not be written. "))
    #expect(CommandRun("migrate", "status", store, workshop.model, "--check").status == .done)
    // What only reads has changed nothing.
    #expect(CommandLineTool.run(["store", "info", store], streams: streams) == .failed)
  }

  @Test("A link is followed to the file that gets the result; a FIFO without a reader, and a device, are not replaced")
  func special() throws {
    let target = workshop.path("target.txt")
    try Data("before".utf8).write(to: URL(fileURLWithPath: target))
    try FileManager.default.setAttributes([.posixPermissions: 0o600], ofItemAtPath: target)
    let soft = try link("soft.txt", to: "target.txt")
    #expect(CommandRun("store", "export", store, "-o", soft).status == .done)
    #expect(try String(contentsOfFile: target, encoding: .utf8) == CommandRun("store", "export", store).output)
    #expect(try FileManager.default.destinationOfSymbolicLink(atPath: soft) == "target.txt")
    #expect(try FileManager.default.attributesOfItem(atPath: target)[.posixPermissions] as? Int == 0o600)
    let fifo = workshop.path("fifo")
    #expect(mkfifo(fifo, 0o600) == 0)
    #expect(CommandRun("store", "info", store, "-o", fifo).status == .failed)
    let reader = open(fifo, O_RDONLY | O_NONBLOCK)
    #expect(CommandRun("store", "info", store, "-o", fifo).status == .done)
    var bytes = [UInt8](repeating: 0, count: 11)
    #expect(read(reader, &bytes, 11) == 11 && String(decoding: bytes, as: UTF8.self) == "Shop.sqlite")
    close(reader)
    #expect(try workshop.files() == ["Shop.sqlite", "Shop.xcdatamodeld", "fifo", "soft.txt", "target.txt"])
  }
}
