// OpenCoreData
// SPDX-License-Identifier: Apache-2.0

import CoreDataAnalysis
import CoreDataTerminal

/// `coredata model graph`
enum ModelGraphCommand: Command {
  private enum Form: String, CaseIterable {
    case mermaid, dot
  }

  static let specification = CommandSpecification(
    ["model", "graph"], summary: "Draw the entities of a version, or the versions and the steps between them.",
    discussion:
      "Mermaid is drawn by pages of code reviews and many editors, dot by Graphviz: coredata model graph MODEL --as dot | dot "
      + "-Tsvg. A dashed step needs a mapping model and has none; a bold one has one of --mappings.",
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
    let isOfVersions = arguments.value("of") == "versions"
    guard !isOfVersions || arguments.value("version") == nil else {
      throw CommandFailure(.usage, "--version is for entities. Omit it, or --of versions.")
    }
    let graph =
      isOfVersions
      ? try ModelGraph(versions: model.modelVersions(), mappings: invocation.mappings)
      : ModelGraph(entitiesOf: try model.version(arguments.value("version")).document)
    let form: Form = arguments.choice("as") ?? .mermaid
    try invocation.result.write(source: form == .dot ? graph.dot : graph.mermaid)
    return .done
  }
}
