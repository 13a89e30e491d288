// OpenCoreData
// SPDX-License-Identifier: Apache-2.0

import CoreDataModelFiles
import CoreDataTerminal

/// `coredata model compile`
enum ModelCompileCommand: Command {
  static let specification = CommandSpecification(
    ["model", "compile"], summary: "A compiled model from source.",
    discussion:
      "An .momd gets all versions, their hashes and which of them is current; a .mom gets one version. A file that is "
      + "there already is never replaced.",
    positionals: [.model],
    options: [
      NewFile.option("X.momd"),
      OptionSpecification("version", .text("V"), summary: "The version for a .mom (the current one)."),
      OptionSpecification(
        "module", .text("NAME"), summary: "The Swift module of classes in the \"current product module\"."),
      .format(.text, .json),
    ])

  static func run(_ invocation: CommandInvocation) throws -> ExitStatus {
    let (wanted, module) = (invocation.arguments.value("version"), invocation.arguments.value("module"))
    let file = try NewFile(invocation, "compiled model", extensions: "momd", "mom")
    let isBundle = file.url.pathExtension == "momd"
    guard !isBundle || wanted == nil else {
      throw CommandFailure(.usage, "An .momd gets all versions: leave --version out, or name a .mom.")
    }
    let model = try invocation.model()
    let current = try model.version(wanted)
    if isBundle {
      try model.requireAllVersions()
      try ModelBundle.writeCompiled(model.versions, current: current.name, module: module, to: file.url)
    } else {
      try ModelBundle.writeCompiled(current.document, module: module, to: file.url)
    }
    let made = MadeModel(
      url: file.url, current: current.name, versions: isBundle ? model.versions : [current], isBundle: isBundle)
    try made.write("coredata.model-compile/1", invocation)
    return .done
  }
}
