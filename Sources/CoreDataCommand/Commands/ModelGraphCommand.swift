// OpenCoreData
// SPDX-License-Identifier: Apache-2.0

import CoreDataAnalysis
import CoreDataTerminal

/// `coredata model graph`
enum ModelGraphCommand: Command {
  private enum Form: String, CaseIterable {
    case mermaid, dot, svg, html
  }

  static let specification = CommandSpecification(
    ["model", "graph"], summary: "Draw the entities of a version, or the versions and the steps between them.",
    discussion:
      "Mermaid is drawn by pages of code reviews and many editors, dot by Graphviz: coredata model graph MODEL --as dot | dot "
      + "-Tsvg. svg is a picture of its own. html is a page in one file with all versions, the paths and the changes between "
      + "them, findings, the entities of each version, and a search. A dashed step needs a mapping model and has none; a bold one has one of --mappings.",
    positionals: [.model],
    options: [
      OptionSpecification("as", .oneOf(Form.allCases.map(\.rawValue)), summary: "The language (default: mermaid)."),
      OptionSpecification("of", .oneOf(["entities", "versions"]), summary: "What is drawn (default: entities)."),
      OptionSpecification("version", .text("V"), summary: "The version of the entities (default: the current one)."),
      .mappings, .format(.text),
    ])

  static func run(_ invocation: CommandInvocation) throws -> ExitStatus {
    let arguments = invocation.arguments
    let model = try invocation.model()
    let form: Form = arguments.choice("as") ?? .mermaid
    if form == .html {
      guard arguments.value("of") == nil, arguments.value("version") == nil else {
        throw CommandFailure(.usage, "--as html shows all versions and their entities. Omit --of and --version.")
      }
      let page = try ModelPage(name: model.name, versions: model.modelVersions(), mappings: invocation.mappings)
      try invocation.result.write(source: page.html)
      return .done
    }
    let isOfVersions = arguments.value("of") == "versions"
    guard !isOfVersions || arguments.value("version") == nil else {
      throw CommandFailure(.usage, "--version is for entities. Omit it, or --of versions.")
    }
    let graph =
      isOfVersions
      ? try ModelGraph(versions: model.modelVersions(), mappings: invocation.mappings)
      : ModelGraph(entitiesOf: try model.version(arguments.value("version")).document)
    switch form {
    case .dot: try invocation.result.write(source: graph.dot)
    case .svg: try invocation.result.write(source: graph.svg)
    case .mermaid, .html: try invocation.result.write(source: graph.mermaid)
    }
    return .done
  }
}
