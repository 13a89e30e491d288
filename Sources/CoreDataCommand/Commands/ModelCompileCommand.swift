// OpenCoreData
// SPDX-License-Identifier: Apache-2.0

import CoreDataModelFiles
import CoreDataTerminal

/// `coredata model compile`
enum ModelCompileCommand: Command {
  static let specification = CommandSpecification(
    ["model", "compile"], summary: "Compile a model.",
    discussion:
      "An .momd contains all versions, their hashes and the name of the current one; a .mom contains one version. An "
      + "existing file is never replaced.",
    positionals: [.model],
    options: [
      NewFile.option("X.momd"),
      OptionSpecification("version", .text("V"), summary: "For a .mom: the version (default: the current one)."),
      OptionSpecification(
        "module", .text("NAME"), summary: "The Swift module of classes in the \"current product module\"."),
      .format(.text, .json),
    ])

  static func run(_ invocation: CommandInvocation) throws -> ExitStatus {
    let module = invocation.arguments.value("module")
    try MadeModel.make(
      "compiled model", bundle: "momd", version: "mom", format: "coredata.model-compile/1", invocation,
      writeBundle: { try ModelBundle.writeCompiled($0, current: $1, module: module, to: $2) },
      writeVersion: { try ModelBundle.writeCompiled($0, module: module, to: $1) })
    return .done
  }
}
