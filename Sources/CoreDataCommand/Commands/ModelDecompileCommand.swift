// OpenCoreData
// SPDX-License-Identifier: Apache-2.0

import CoreDataModelFiles
import CoreDataTerminal

/// `coredata model decompile`
enum ModelDecompileCommand: Command {
  static let specification = CommandSpecification(
    ["model", "decompile"], summary: "Source from a compiled model.",
    discussion:
      "An .xcdatamodeld gets all versions and which of them is current; an .xcdatamodel gets one version. Entities keep "
      + "their version hashes. A file that is there already is never replaced.",
    positionals: [.model],
    options: [
      NewFile.option("X.xcdatamodeld"),
      OptionSpecification("version", .text("V"), summary: "The version for an .xcdatamodel (the current one)."),
      .format(.text, .json),
    ])

  static func run(_ invocation: CommandInvocation) throws -> ExitStatus {
    let wanted = invocation.arguments.value("version")
    let file = try NewFile(invocation, "model source", extensions: "xcdatamodeld", "xcdatamodel")
    let isBundle = file.url.pathExtension == "xcdatamodeld"
    guard !isBundle || wanted == nil else {
      throw CommandFailure(.usage, "An .xcdatamodeld gets all versions: leave --version out, or name an .xcdatamodel.")
    }
    let model = try invocation.model()
    let current = try model.version(wanted)
    if isBundle {
      try model.requireAllVersions()
      try ModelBundle.writeSource(model.versions, current: current.name, to: file.url)
    } else {
      try ModelBundle.writeSource(current.document, to: file.url)
    }
    let made = MadeModel(
      url: file.url, current: current.name, versions: isBundle ? model.versions : [current], isBundle: isBundle)
    try made.write("coredata.model-decompile/1", invocation)
    return .done
  }
}
