// OpenCoreData
// SPDX-License-Identifier: Apache-2.0

import CoreDataTerminal
import Foundation
import Testing

@testable import CoreDataCommand

@Suite("Wrong input")
struct WrongInputTests {
  private let workshop: Workshop

  init() throws {
    workshop = try Workshop()
  }

  private func write(_ data: Data, to name: String) throws -> String {
    let path = workshop.path(name)
    try data.write(to: URL(fileURLWithPath: path))
    return path
  }

  private func expect(
    _ path: String, says sentence: String, sourceLocation: SourceLocation = #_sourceLocation
  ) {
    let before = FileManager.default.contents(atPath: path)
    for arguments in [
      ["store", "info", path], ["store", "export", path], ["store", "match", path, workshop.model],
      ["migrate", "status", path, workshop.model], ["migrate", "plan", path, workshop.model],
      ["migrate", "run", path, workshop.model],
    ] {
      let run = CommandRun(arguments)
      #expect(run.status == .unreadableStore, "\(arguments)", sourceLocation: sourceLocation)
      #expect(run.error == "error: \(sentence)\n", "\(arguments)", sourceLocation: sourceLocation)
      #expect(run.output.isEmpty, "\(arguments)", sourceLocation: sourceLocation)
    }
    #expect(FileManager.default.contents(atPath: path) == before, sourceLocation: sourceLocation)
  }

  @Test("With --format json a failure is a line of JSON on standard error")
  func failureAsJSON() throws {
    func failure(_ arguments: String...) throws -> [String: Any] {
      let run = CommandRun(arguments)
      #expect(run.output.isEmpty)
      #expect(run.error.hasSuffix("}\n") && run.error.split(separator: "\n").count == 1)
      let json = try JSONSerialization.jsonObject(with: Data(run.error.utf8)) as? [String: Any]
      #expect(json?["status"] as? Int == Int(run.status.rawValue) && json?["event"] as? String == "error")
      return json ?? [:]
    }
    let path = workshop.path("none.sqlite")
    let missing = try failure("store", "info", path, "--format", "json")
    #expect(missing["message"] as? String == "There is no file \(path). Check the path of the store.")
    let text = try write(Data("hello".utf8), to: "text.sqlite")
    #expect(try failure("migrate", "plan", text, workshop.model, "--format=json")["status"] as? Int == 4)
    #expect(try failure("model", "show", workshop.model, "--version", "X", "--format", "json")["status"] as? Int == 3)
    #expect(try failure("model", "show", "--format", "json")["status"] as? Int == 2)
  }

  @Test("Mapping models that cannot be read end with status 3")
  func unreadableMappings() throws {
    let store = workshop.path("Shop.sqlite")
    try workshop.fill(store, orders: 1)
    let before = FileManager.default.contents(atPath: store)
    for (name, text) in [("bad.cdm", "bplist00 and no more"), ("bad.xcmappingmodel", "<database")] {
      let mapping = try write(Data(text.utf8), to: name)
      for command in ["plan", "run"] {
        let run = CommandRun("migrate", command, store, workshop.model, "--mappings", mapping)
        #expect(run.status == .invalidModel, "\(command) \(name): \(run.error)")
        #expect(run.error.contains(name))
      }
    }
    #expect(FileManager.default.contents(atPath: store) == before)
  }

  @Test("A store stands for the model that it carries, also where it is planned and migrated to")
  func storeAsModel() throws {
    let (old, new) = (workshop.path("Old.sqlite"), workshop.path("New.sqlite"))
    try workshop.fill(old, orders: 3)
    #expect(CommandRun("store", "create", new, workshop.model, "--version", "Shop 2").status == .done)
    let plan = CommandRun("migrate", "plan", old, new)
    #expect(plan.status == .done, "\(plan.error)")
    let run = CommandRun("migrate", "run", old, new, "--no-backup")
    #expect(run.status == .done, "\(run.error)")
    let match = try CommandRun("store", "match", old, workshop.model, "--format", "json").json
    #expect(match["version"] as? String == "Shop 2")
    #expect(try CommandRun("store", "export", old).jsonLines.count == 3)
    #expect(CommandRun("migrate", "status", old, new, "--check").status == .done)
  }

  @Test("No such file")
  func missing() throws {
    let path = workshop.path("none.sqlite")
    expect(path, says: "There is no file \(path). Check the path of the store.")
    #expect(try workshop.files() == ["Shop.xcdatamodeld"])
  }

  @Test("A file that is something else")
  func notAStore() throws {
    expect(
      try write(Data("hello".utf8), to: "text.sqlite"),
      says: "text.sqlite is not a SQLite store: it does not begin like one. Check that this is the right file.")
    expect(
      try write(Data("<?xml version=\"1.0\"?><database/>".utf8), to: "xml.sqlite"),
      says: "xml.sqlite is not a SQLite store: it is an XML file. Check that this is the right file.")
    expect(
      try write(Data(), to: "empty.sqlite"),
      says: "empty.sqlite is empty: it holds no store. All of a new store can be in its log: look for "
        + "empty.sqlite-wal where the file came from, or restore a backup."
    )
    expect(
      workshop.url.path,
      says: "\(workshop.url.path) is a folder, not a store. Name the store's file, often *.sqlite.")
  }

  @Test("A store that was cut off")
  func truncated() throws {
    let store = workshop.path("Shop.sqlite")
    try workshop.fill(store, orders: 2)
    let data = try Data(contentsOf: URL(fileURLWithPath: store))
    expect(
      try write(data.prefix(5000), to: "cut.sqlite"),
      says: "cut.sqlite is damaged: database disk image is malformed. The file ends after 5000 of \(data.count) bytes. "
        + "Restore it from a backup, with its -wal file if it had one.")
    expect(
      try write(data.prefix(60), to: "head.sqlite"),
      says: "head.sqlite is not a SQLite store: its header is cut off or damaged. Check that this is the right file.")
  }

  @Test("A model with a missing parent, and one with a cycle")
  func brokenModels() throws {
    let store = workshop.path("Shop.sqlite")
    try workshop.fill(store, orders: 1)
    let before = FileManager.default.contents(atPath: store)
    let cases = [
      ("<entity name=\"A\" parentEntity=\"B\"/>", "The parent entity B does not exist."),
      (
        "<entity name=\"A\" parentEntity=\"B\"/><entity name=\"B\" parentEntity=\"A\"/>",
        "The entity inherits from itself: A -> B -> A."
      ),
    ]
    for (entities, sentence) in cases {
      let model = workshop.path("Broken.xcdatamodel")
      try FileManager.default.createDirectory(atPath: model, withIntermediateDirectories: true)
      try Data("<?xml version=\"1.0\"?><model documentVersion=\"1.0\">\(entities)</model>".utf8)
        .write(to: URL(fileURLWithPath: model + "/contents"))
      for arguments in [
        ["model", "show", model], ["model", "versions", model], ["store", "create", workshop.path("x.sqlite"), model],
        ["migrate", "run", store, model], ["store", "match", store, model],
      ] {
        let run = CommandRun(arguments)
        #expect(run.status == .invalidModel, "\(arguments)")
        #expect(run.error.hasPrefix("error: \(model), entity A: \(sentence)"), "\(arguments)")
        #expect(run.output.isEmpty, "\(arguments)")
      }
    }
    #expect(FileManager.default.contents(atPath: store) == before)
    #expect(try workshop.files() == ["Broken.xcdatamodel", "Shop.sqlite", "Shop.xcdatamodeld"])
  }

  @Test("Names that are nearly right get a question")
  func names() throws {
    let version = CommandRun("model", "show", workshop.model, "--version", "Shop-2")
    #expect(version.status == .invalidModel)
    #expect(
      version.error == "error: Shop.xcdatamodeld has no version \"Shop-2\". Did you mean \"Shop 2\"? "
        + "It has \"Shop\", \"Shop 2\", \"Shop 3\".\n")
    let entity = CommandRun("model", "show", workshop.model, "--entity", "Ordre")
    #expect(entity.error == "error: Shop 2 has no entity Ordre. Did you mean Order? It has Customer, Order.\n")
    let command = CommandRun("store", "inf")
    #expect(command.status == .usage)
    #expect(command.error.hasPrefix("error: unknown command of store \"inf\"; did you mean info?\n"))
    #expect(CommandRun("migrate", "rewind", "a", "b").status == .usage)
  }

  @Test("A store that another program has locked")
  func locked() throws {
    let store = workshop.path("Shop.sqlite")
    try workshop.fill(store, orders: 1)
    let lock = try StoreLock(store)
    let run = CommandRun("migrate", "run", store, workshop.model, "--no-backup")
    #expect(run.status == .unreadableStore)
    #expect(run.error.hasPrefix("error: "))
    try lock.end()
    #expect(CommandRun("migrate", "run", store, workshop.model, "--no-backup").status == .done)
  }

  @Test("Help is there for every command")
  func help() {
    let help = CommandRun("--help")
    #expect(help.status == .done)
    for command in CommandLineTool.commands {
      let words = command.specification.path
      #expect(help.output.contains(words.joined(separator: " ")))
      let own = CommandRun(words + ["--help"])
      #expect(own.status == .done)
    }
    #expect(CommandRun("--version").output == "coredata \(CommandLineTool.version)\n")
  }

  @Test("A FIFO in the place of a store, a model or a mapping model is refused at once")
  func fifo() throws {
    let pipe = workshop.path("pipe")
    #expect(mkfifo(pipe, 0o600) == 0)
    for arguments in [
      ["model", "show", pipe], ["mapping", "show", pipe], ["store", "info", pipe], ["store", "export", pipe],
      ["store", "match", pipe, workshop.model],
      ["migrate", "plan", pipe, workshop.model],
      ["migrate", "run", pipe, workshop.model], ["migrate", "status", pipe, workshop.model],
    ] {
      let run = CommandRun(arguments)
      #expect(run.status != .done && run.error.contains("is a FIFO"), "\(arguments): \(run.error)")
    }
    #expect(try workshop.files() == ["Shop.xcdatamodeld", "pipe"])
  }

  @Test("On a terminal, errors and notes fit its width; in a file each is one line")
  func errorWidth() throws {
    let arguments = ["store", "info", "/nowhere/\(String(repeating: "part/", count: 4))Shop.sqlite"]
    let (narrow, file) = (CommandRun(arguments, terminalWidth: 60), CommandRun(arguments))
    #expect(narrow.status == file.status && narrow.status != .done)
    #expect(narrow.error.split(separator: "\n").allSatisfy { $0.count <= 60 }, "\(narrow.error)")
    #expect(file.error.split(separator: "\n").contains { $0.count > 60 }, "\(file.error)")
    func words(_ text: String) -> [Substring] { text.split { $0.isWhitespace } }
    #expect(words(narrow.error) == words(file.error))
  }
}
