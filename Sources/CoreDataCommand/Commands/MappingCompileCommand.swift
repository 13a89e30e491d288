// OpenCoreData
// SPDX-License-Identifier: Apache-2.0

import CoreDataAnalysis
import CoreDataModelFiles
import CoreDataTerminal

/// `coredata mapping compile`
enum MappingCompileCommand: Command {
  static let specification = CommandSpecification(
    ["mapping", "compile"], summary: "A compiled mapping model from source.",
    discussion:
      "What an .xcmappingmodel says about its versions is often older than they are. With --from and --to version "
      + "hashes and default expressions come from these versions, and a mapping model that does not fit them is "
      + "refused. A file that is there already is never replaced.",
    positionals: [.mapping],
    options: [
      NewFile.option("X.cdm"),
      OptionSpecification("from", .text("A"), summary: "The version that it leads from: MODEL or MODEL@VERSION."),
      OptionSpecification("to", .text("B"), summary: "The version that it leads to: MODEL or MODEL@VERSION."),
      .format(.text, .json),
    ])

  static func run(_ invocation: CommandInvocation) throws -> ExitStatus {
    let file = try NewFile(invocation, "compiled mapping model", extensions: "cdm")
    let url = invocation.url("FILE")
    let mapping: MappingDocument
    switch (invocation.arguments.value("from"), invocation.arguments.value("to")) {
    case (nil, nil):
      mapping = try MappingDocument(contentsOf: url)
    case (let from?, let to?):
      let old = try ModelArgument.version(of: from).version
      let new = try ModelArgument.version(of: to).version
      mapping = try MappingDocument(contentsOf: url, source: old.document, destination: new.document)
      let check = MappingCheck(mapping, source: old.document, destination: new.document, isCompiled: true)
      let errors = check.problems.filter { $0.level == .error }
      guard errors.isEmpty else {
        throw CommandFailure(
          .invalidModel, "\(url.lastPathComponent) does not lead from \(old.name) to \(new.name).",
          advice: errors.map { "\(MappingCheckCommand.place(of: $0)): \($0.message)" })
      }
    default:
      throw CommandFailure(.usage, "--from and --to belong together: give both, or none.")
    }
    try mapping.writeCompiled(to: file.url)
    let description = MappingDescription(mapping)
    if invocation.options.format == .json {
      try invocation.write(
        .object(
          [.init("format", "coredata.mapping-compile/1"), .init("mapping", .string(file.url.path))]
            + MappingText.members(of: description)))
    } else {
      try invocation.result.write("\(file.url.lastPathComponent): \(MappingText.count(description))\n")
    }
    return .done
  }
}
