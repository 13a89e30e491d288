// OpenCoreData
// SPDX-License-Identifier: Apache-2.0

import CoreDataAnalysis
import CoreDataModelFiles
import CoreDataTerminal

/// `coredata mapping show`
enum MappingShowCommand: Command {
  static let specification = CommandSpecification(
    ["mapping", "show"], summary: "A mapping model as text that can be reviewed.",
    discussion:
      "Entity mappings come in the order of processing, properties by name, so that equal mapping models give equal "
      + "text. Expressions that Xcode's compiler would put in are shown like those that were typed.",
    positionals: [.mapping], options: [.format(.text, .json)])

  static func run(_ invocation: CommandInvocation) throws -> ExitStatus {
    let url = invocation.url("FILE")
    try InputFile.check(url, "mapping model")
    let mapping = MappingDescription(try MappingDocument(contentsOf: url))
    if invocation.options.format == .json {
      try invocation.write(
        .object([.init("format", "coredata.mapping/1")] + MappingText.members(of: mapping)))
    } else {
      var report = TextReport(styler: invocation.styler)
      let versions = [mapping.from, mapping.to].compactMap { $0 }.joined(separator: " -> ")
      report.line(
        [url.lastPathComponent, versions, MappingText.count(mapping)].filter { !$0.isEmpty }.joined(separator: "   "))
      MappingText.write(mapping, to: &report)
      try invocation.write(report)
    }
    return .done
  }
}

extension PositionalSpecification {
  static let mapping = PositionalSpecification("FILE", summary: "A mapping model: an .xcmappingmodel or a .cdm.")
}
