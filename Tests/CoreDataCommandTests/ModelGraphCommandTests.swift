// OpenCoreData
// SPDX-License-Identifier: Apache-2.0

import CoreDataTestSupport
import Foundation
import Testing

@Suite("coredata model graph")
struct ModelGraphCommandTests {
  private let workshop: Workshop

  init() throws {
    workshop = try Workshop()
  }

  @Test("Entities or versions, for Mermaid or Graphviz")
  func pictures() {
    let entities = CommandRun(["model", "graph", workshop.model])
    #expect(entities.status == .done && entities.output.hasPrefix("classDiagram\n"))
    #expect(entities.output.contains("[\"Customer\"]") && entities.output.contains("[\"Order\"]"))
    let old = CommandRun(["model", "graph", workshop.model, "--version", "Shop"])
    #expect(!old.output.contains("[\"Customer\"]"))
    let versions = CommandRun(["model", "graph", workshop.model, "--of", "versions"])
    #expect(versions.output.hasPrefix("flowchart LR\n") && versions.output.contains("Shop 2"))
    let dot = CommandRun(["model", "graph", workshop.model, "--as", "dot"])
    #expect(dot.output.hasPrefix("digraph model {\n") && dot.output.hasSuffix("}\n"))
  }

  @Test("A picture as SVG, and a page with all versions")
  func pages() throws {
    let svg = CommandRun(["model", "graph", workshop.model, "--as", "svg"])
    #expect(svg.status == .done && svg.output.hasPrefix("<svg xmlns=") && svg.output.hasSuffix("</svg>\n"))
    let file = workshop.path("model.html")
    let page = CommandRun(["model", "graph", workshop.model, "--as", "html", "--output", file])
    #expect(page.status == .done && page.output.isEmpty)
    let text = try String(contentsOfFile: file, encoding: .utf8)
    #expect(text.hasPrefix("<!DOCTYPE html>\n"))
    #expect(text.contains("Shop 2 (current)") && text.contains("cannot be inferred: needs a mapping model"))
  }

  @Test("A wrong command line and an unknown version are errors")
  func errors() {
    #expect(CommandRun(["model", "graph", workshop.model, "--of", "versions", "--version", "Shop"]).status == .usage)
    #expect(CommandRun(["model", "graph", workshop.model, "--version", "None"]).status == .invalidModel)
    #expect(CommandRun(["model", "graph", workshop.model, "--as", "png"]).status == .usage)
    #expect(CommandRun(["model", "graph", workshop.model, "--as", "html", "--of", "versions"]).status == .usage)
    #expect(CommandRun(["model", "graph", workshop.model, "--as", "html", "--version", "Shop"]).status == .usage)
  }
}
