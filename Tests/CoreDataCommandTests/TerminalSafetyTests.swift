// OpenCoreData
// SPDX-License-Identifier: Apache-2.0

import CoreDataModelFiles
import CoreDataTerminal
import Foundation
import Testing

@testable import CoreDataCommand

@Suite("Control characters in files from strangers do not reach the terminal")
struct TerminalSafetyTests {
  private let workshop: Workshop

  init() throws {
    workshop = try Workshop()
  }

  /// What clears a screen, sets a title, writes over the line, and turns the direction of a text around.
  private static let hostile = "a\u{1B}[2J\u{1B}]0;x\u{7}\r\u{8}\u{9B}31m\u{202E}b"

  private func check(_ text: String, sourceLocation: SourceLocation = #_sourceLocation) {
    let bad = text.unicodeScalars.filter {
      ($0.properties.generalCategory == .control && $0 != "\n" && $0 != "\t") || $0 == "\u{202E}"
    }
    #expect(bad.isEmpty, "\(bad.map { String($0.value, radix: 16) })", sourceLocation: sourceLocation)
  }

  /// A compiled model, whose names may be anything.
  private func model() throws -> String {
    var entity = EntityDocument(name: Self.hostile)
    entity.attributes = [AttributeDocument(name: Self.hostile, kind: .string)]
    var other = entity
    other.attributes.append(AttributeDocument(name: "more" + Self.hostile, kind: .integer16, isOptional: false))
    let url = URL(fileURLWithPath: workshop.path("Hostile.momd"))
    try ModelBundle.writeCompiled(
      [("1", ModelDocument(entities: [entity])), ("2", ModelDocument(entities: [other]))], current: "2", to: url)
    return url.path
  }

  @Test("Names of entities and properties, in every form for people, with colour and without")
  func names() throws {
    let model = try model()
    let store = workshop.path("Store.sqlite")
    #expect(CommandRun("store", "create", store, model, "--version", "1").status == .done)
    for arguments in [
      ["model", "show", model], ["model", "versions", model, "--hashes"],
      ["model", "diff", model + "@1", model + "@2"],
      ["store", "info", store], ["store", "match", store, model], ["store", "match", store, workshop.model],
      ["mapping", "infer", model + "@1", model + "@2"], ["migrate", "plan", store, model],
      ["migrate", "status", store, workshop.model], ["model", "show", model, "--entity", Self.hostile + "x"],
    ] {
      for format in [[], ["--format", "markdown"], ["--color", "never"]] {
        let run = CommandRun(arguments + format)
        check(run.output + run.error)
      }
      let colored = CommandRun(arguments + ["--color", "always"])
      check(TextLayout.withoutStyles(colored.output) + colored.error)
      #expect(!colored.output.contains("\u{1B}[2J") && !colored.output.contains("\u{1B}]"))
    }
    let shown = CommandRun("model", "show", model)
    #expect(shown.output.contains("a\\u{1B}[2J"), "\(shown.output)")
    let run = CommandRun("migrate", "run", store, model, "--verbose")
    #expect(run.status == .done, "\(run.error)")
    check(run.output + run.error)
  }

  @Test("Names of files and arguments in errors, notes and results")
  func files() throws {
    for arguments in [
      ["store", "info", workshop.path(Self.hostile)], ["model", "show", workshop.path(Self.hostile)], [Self.hostile],
      ["migrate", "plan", workshop.path(Self.hostile), workshop.model], ["explain", Self.hostile],
      ["store", "info", "--limit", Self.hostile],
    ] {
      let run = CommandRun(arguments)
      #expect(run.status != .done)
      check(run.output + run.error)
    }
    let store = workshop.path("x\u{1B}[31mred.sqlite")
    try workshop.fill(store, orders: 1)
    for command in ["plan", "run", "status"] {
      let run = CommandRun("migrate", command, store, workshop.model)
      #expect(run.status == .done, "\(run.error)")
      check(run.output + run.error)
    }
  }

  @Test("A result that a program reads keeps every character")
  func results() throws {
    let model = try model()
    let json = try CommandRun("model", "show", model, "--format", "json").json
    let entities = try #require(json["entities"] as? [[String: Any]])
    #expect(entities.first?["name"] as? String == Self.hostile)
    check(CommandRun("model", "show", model, "--format", "json").output)
  }
}
