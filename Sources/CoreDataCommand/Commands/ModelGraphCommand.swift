// OpenCoreData
// SPDX-License-Identifier: Apache-2.0

import CoreData
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
      + "-Tsvg. svg is a picture of its own. With --format html, the result is a page in one file with all versions, the paths "
      + "and the changes between them, findings, the entities of each version, and a search; --as html is another spelling. A "
      + "dashed step needs a mapping model and has none; a bold one has one of --mappings.\n\n" + ModelInCode.help,
    positionals: [.model],
    options: [
      OptionSpecification("as", .oneOf(Form.allCases.map(\.rawValue)), summary: "The language (default: mermaid)."),
      OptionSpecification("of", .oneOf(["entities", "versions"]), summary: "What is drawn (default: entities)."),
      OptionSpecification("version", .text("V"), summary: "The version of the entities (default: the current one)."),
      .mappings, .format(.text, .html),
    ])

  static func run(_ invocation: CommandInvocation) throws -> ExitStatus {
    let arguments = invocation.arguments
    let model = try invocation.model()
    let isOfVersions = arguments.value("of") == "versions"
    guard !isOfVersions || arguments.value("version") == nil else {
      throw CommandFailure(.usage, "--version is for entities. Omit it, or --of versions.")
    }
    func graph() throws -> ModelGraph {
      isOfVersions
        ? try ModelGraph(versions: model.modelVersions(), mappings: invocation.mappings)
        : ModelGraph(entitiesOf: try model.version(arguments.value("version")).document)
    }
    let isPage = invocation.options.format == .html
    let form: Form = arguments.choice("as") ?? (isPage ? .html : .mermaid)
    guard !isPage || form == .html else {
      throw CommandFailure(.usage, "--format html is a page, and --as \(form.rawValue) is not. Omit one of them.")
    }
    let text: String
    switch form {
    case .mermaid: text = try graph().mermaid
    case .dot: text = try graph().dot
    case .svg: text = try graph().svg
    case .html:
      guard arguments.value("of") == nil, arguments.value("version") == nil else {
        throw CommandFailure(.usage, "The page shows all versions and their entities. Omit --of and --version.")
      }
      text = try ModelPage(name: model.name, versions: model.modelVersions(), mappings: invocation.mappings).html
    }
    try invocation.result.write(source: text)
    return .done
  }
}
