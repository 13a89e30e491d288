// OpenCoreData
// SPDX-License-Identifier: Apache-2.0

import CoreDataTerminal
import Foundation
import Testing

@testable import CoreDataCommand

@Suite("coredata model compile, model decompile and store extract-model")
struct ModelFileCommandTests {
  private let workshop: Workshop

  init() throws {
    workshop = try Workshop()
  }

  private func versions(_ path: String) -> String {
    CommandRun("model", "versions", path, "--format", "json", "--hashes").output
  }

  @Test("There and back: all versions, the current one and all hashes stay")
  func roundTrip() throws {
    let (compiled, source) = (workshop.path("Built.momd"), workshop.path("Back.xcdatamodeld"))
    let compile = CommandRun("model", "compile", workshop.model, "-o", compiled)
    #expect(compile.output == "Built.momd: 3 versions, current Shop 2\n")
    #expect(compile.status == .done)
    let decompile = CommandRun("model", "decompile", compiled, "-o", source)
    #expect(decompile.output == "Back.xcdatamodeld: 3 versions, current Shop 2\n")
    #expect(decompile.status == .done)
    let original = versions(workshop.model)
    #expect(original.contains("\"Shop 3\""))
    #expect(versions(compiled) == original)
    #expect(versions(source) == original)
    for version in ["Shop", "Shop 2", "Shop 3"] {
      let diff = CommandRun(
        "model", "diff", "--exit-code", "\(workshop.model)@\(version)", "\(source)@\(version)")
      #expect(diff.output == "\(version) -> \(version)   no differences\n")
      #expect(diff.status == .done)
    }
  }

  @Test("One version: the one that is named, or the current one")
  func oneVersion() throws {
    let (compiled, source) = (workshop.path("One.mom"), workshop.path("One.xcdatamodel"))
    let compile = CommandRun("model", "compile", workshop.model, "--version", "Shop", "-o", compiled)
    #expect(compile.output == "One.mom: Shop, 1 entity\n")
    #expect(CommandRun("model", "decompile", compiled, "-o", source).output == "One.xcdatamodel: One, 1 entity\n")
    #expect(CommandRun("model", "diff", workshop.model + "@Shop", source).output == "Shop -> One   no differences\n")
    let current = CommandRun("model", "decompile", workshop.model, "-o", workshop.path("Current.xcdatamodel"))
    #expect(current.output == "Current.xcdatamodel: Shop 2, 2 entities\n")
  }

  @Test("Classes of the current product module get its name")
  func module() throws {
    let source = workshop.path("Dotted.xcdatamodel")
    try FileManager.default.createDirectory(atPath: source, withIntermediateDirectories: true)
    try Data(
      "<?xml version=\"1.0\"?><model documentVersion=\"1.0\"><entity name=\"A\" representedClassName=\".A\"/></model>"
        .utf8
    ).write(to: URL(fileURLWithPath: source + "/contents"))
    let compiled = workshop.path("Dotted.mom")
    #expect(CommandRun("model", "compile", source, "--module", "Shop", "-o", compiled).status == .done)
    #expect(CommandRun("model", "show", compiled).output.contains("class Shop.A\n"))
  }

  @Test("The model of a store as source, which matches the store")
  func extract() throws {
    let (store, source) = (workshop.path("Shop.sqlite"), workshop.path("Found.xcdatamodel"))
    #expect(CommandRun("store", "create", store, workshop.model).status == .done)
    let before = FileManager.default.contents(atPath: store)
    let run = CommandRun("store", "extract-model", store, "-o", source)
    #expect(run.output == "Found.xcdatamodel: Found, 2 entities\n")
    #expect(run.status == .done)
    let match = CommandRun("store", "match", store, source)
    #expect(
      match.output == "Shop.sqlite was written by Found, the current version of Found.xcdatamodel.\n")
    #expect(match.status == .done)
    #expect(FileManager.default.contents(atPath: store) == before)
    let json = try CommandRun(
      "store", "extract-model", store, "-o", workshop.path("Again.xcdatamodel"), "--format", "json"
    ).json
    #expect(json["format"] as? String == "coredata.store-extract-model/1")
    #expect((json["versions"] as? [[String: Any]])?.first?["entities"] as? Int == 2)
  }

  @Test("What is there already stays, and names must fit what is made")
  func refusals() throws {
    let store = workshop.path("Shop.sqlite")
    #expect(CommandRun("store", "create", store, workshop.model).status == .done)
    let names = [
      (["model", "compile", workshop.model], "Taken.momd"), (["model", "compile", workshop.model], "Taken.mom"),
      (["model", "decompile", workshop.model], "Taken.xcdatamodeld"),
      (["model", "decompile", workshop.model], "Taken.xcdatamodel"),
      (["store", "extract-model", store], "Taken.xcdatamodel"),
    ]
    for name in Set(names.map(\.1)) { try Data("mine".utf8).write(to: URL(fileURLWithPath: workshop.path(name))) }
    for (command, name) in names {
      let path = workshop.path(name)
      let run = CommandRun(command + ["-o", path])
      #expect(run.status == .failed, "\(command)")
      #expect(run.error == "error: \(path) already exists. Choose another name, or move it away first.\n")
      #expect(FileManager.default.contents(atPath: path) == Data("mine".utf8))
      #expect(CommandRun(command).status == .usage, "\(command) without a name")
      #expect(CommandRun(command + ["-o", workshop.path("x.txt")]).status == .usage, "\(command) with a wrong name")
      let nowhere = CommandRun(command + ["-o", workshop.path("none/" + name)])
      #expect(nowhere.status == .failed)
      #expect(nowhere.error.contains("does not exist or cannot be written"))
    }
    let all = CommandRun("model", "compile", workshop.model, "--version", "Shop", "-o", workshop.path("x.momd"))
    #expect(all.status == .usage)
    #expect(all.error == "error: An .momd holds all versions. Omit --version, or choose the extension .mom.\n")
  }

  @Test("Wrong input leaves nothing behind")
  func wrongInput() throws {
    try Data("hello".utf8).write(to: URL(fileURLWithPath: workshop.path("text.sqlite")))
    let store = CommandRun(
      "store", "extract-model", workshop.path("text.sqlite"), "-o", workshop.path("x.xcdatamodel"))
    #expect(store.status == .unreadableStore)
    #expect(store.error.hasPrefix("error: text.sqlite is not a SQLite store"))
    #expect(
      CommandRun("model", "compile", workshop.path("none.xcdatamodeld"), "-o", workshop.path("x.momd")).status
        == .invalidModel)
    #expect(
      CommandRun("model", "decompile", workshop.path("text.sqlite"), "-o", workshop.path("x.xcdatamodel")).status
        == .invalidModel)
    #expect(try workshop.files() == ["Shop.xcdatamodeld", "text.sqlite"])
  }
}
