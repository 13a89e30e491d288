// OpenCoreData
// SPDX-License-Identifier: Apache-2.0

import CoreDataAnalysis
import CoreDataModelFiles
import CoreDataTerminal

/// `coredata mapping compile`
enum MappingCompileCommand: Command {
  static let specification = CommandSpecification(
    ["mapping", "compile"], summary: "Compile a mapping model.",
    discussion:
      "The source is an .xcmappingmodel, or a text (.mapping) as printed by mapping show, which requires --from and "
      + "--to. The copies of the versions inside an .xcmappingmodel are often outdated. With --from and --to, version "
      + "hashes and default expressions come from the given versions, and a mapping model that does not fit them is "
      + "refused. An existing file is never replaced.",
    positionals: [.mapping],
    options: [
      NewFile.option("X.cdm"),
      OptionSpecification("from", .path("A", .input), summary: "The source version: MODEL or MODEL@VERSION."),
      OptionSpecification("to", .path("B", .input), summary: "The destination version: MODEL or MODEL@VERSION."),
      .format(.text, .json),
    ])

  static func run(_ invocation: CommandInvocation) throws -> ExitStatus {
    let file = try NewFile(invocation, "compiled mapping model", extensions: "cdm")
    let url = invocation.url("FILE")
    let mapping: MappingDocument
    switch (invocation.arguments.value("from"), invocation.arguments.value("to")) {
    case (nil, nil):
      mapping = try MappingDocument(contentsOf: url)
      guard !mapping.lacksModels else {
        throw CommandFailure(
          .invalidModel,
          "\(url.lastPathComponent) contains no copies of its versions. Name the versions with --from and --to.")
      }
      invocation.remark(
        "The version hashes are those inside \(url.lastPathComponent). To use those of the versions, name them with "
          + "--from and --to.")
    case (let from?, let to?):
      let old = try invocation.namedVersion(from)
      let new = try invocation.namedVersion(to)
      mapping = try MappingDocument(contentsOf: url, source: old.document, destination: new.document)
      let check = MappingCheck(mapping, source: old.document, destination: new.document, isCompiled: true)
      let errors = check.problems.filter { $0.level == .error }
      guard errors.isEmpty else {
        throw CommandFailure(
          .invalidModel, "\(url.lastPathComponent) does not map \(old.name) to \(new.name).",
          advice: errors.map { "\(MappingCheckCommand.place(of: $0)): \($0.message)" })
      }
    default:
      throw CommandFailure(.usage, "--from and --to must be used together.")
    }
    try mapping.writeCompiled(to: file.url)
    try MappingText.writeMade(mapping, "coredata.mapping-compile/1", file, invocation)
    return .done
  }
}
