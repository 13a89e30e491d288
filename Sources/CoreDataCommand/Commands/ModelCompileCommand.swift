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

/// `coredata model decompile`
enum ModelDecompileCommand: Command {
  static let specification = CommandSpecification(
    ["model", "decompile"], summary: "Convert a compiled model to source.",
    discussion:
      "An .xcdatamodeld contains all versions and the name of the current one; an .xcdatamodel contains one version. "
      + "Version hashes stay the same. An existing file is never replaced.\n\n"
      + "The schemas of a SwiftData migration plan become such files in a test, expectSchemas of SwiftDataTesting, or by "
      + "swift package coredata model decompile ShopMigrationPlan.",
    positionals: [.model],
    options: [
      NewFile.option("X.xcdatamodeld"),
      OptionSpecification(
        "version", .text("V"), summary: "For an .xcdatamodel: the version (default: the current one)."),
      .format(.text, .json),
    ])

  static func run(_ invocation: CommandInvocation) throws -> ExitStatus {
    try MadeModel.make(
      "model source", bundle: "xcdatamodeld", version: "xcdatamodel", format: "coredata.model-decompile/1", invocation,
      writeBundle: { try ModelBundle.writeSource($0, current: $1, to: $2) },
      writeVersion: { try ModelBundle.writeSource($0, to: $1) })
    return .done
  }
}
