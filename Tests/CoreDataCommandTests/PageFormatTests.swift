// OpenCoreData
// SPDX-License-Identifier: Apache-2.0

import Foundation
import Testing

@testable import CoreDataCommand

@Suite("One way to ask for a page, and hints")
struct PageFormatTests {
  private let workshop: Workshop

  init() throws {
    workshop = try Workshop(orders: 3)
  }

  @Test("--format html writes the page that other spellings write")
  func formats() throws {
    let model = CommandRun("model", "graph", workshop.model, "--format", "html")
    #expect(model.status == .done && model.output.hasPrefix("<!DOCTYPE html>"))
    #expect(model.output == CommandRun("model", "graph", workshop.model, "--as", "html").output)
    #expect(CommandRun("model", "graph", workshop.model, "--as", "dot", "--format", "html").status == .usage)
    let store = CommandRun("store", "report", workshop.store, "--format", "html")
    #expect(store.status == .done && store.output == CommandRun("store", "report", workshop.store).output)
    #expect(
      store.output.contains("coredata store browse Shop.sqlite") || store.output.contains("all objects of the store"))
    let rehearsal = CommandRun("migrate", "rehearse", workshop.model, "--format", "html")
    #expect(rehearsal.status == .done && rehearsal.output.contains("<h2>Losses</h2>"))
  }

  @Test(
    "A command without its group is found",
    arguments: [
      ("info", "store info"), ("verify", "store verify"), ("diff", "model diff or store diff"), ("run", "migrate run"),
      ("browse", "store browse"),
    ])
  func hints(word: String, names: String) {
    let run = CommandRun(word, "x")
    #expect(run.status == .usage && run.error.contains("unknown command \"\(word)\"; did you mean \(names)?"), "\(run)")
  }

  @Test("help shows what --help shows")
  func help() {
    for words in [[], ["store"], ["store", "browse"], ["doctor"]] {
      let run = CommandRun(["help"] + words)
      #expect(run.status == .done && run.output == CommandRun(words + ["--help"]).output, "\(words)")
    }
  }
}
