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
      "Entity mappings come in the order of processing. Expressions that Xcode's compiler would put in are shown like those "
      + "that were typed. Saved as a .mapping, the text is a mapping model: mapping compile makes a .cdm of it.\n\n"
      + "A mapping begins with NAME   TYPE   SOURCE -> DESTINATION; its lines are indented by two spaces: policy CLASS, filter "
      + "PREDICATE, objects EXPRESSION, note KEY = VALUE, and NAME attribute|relationship EXPRESSION for each property; what "
      + "is indented deeper is user info of the property above. A # begins a comment.",
    positionals: [.mapping], options: [.format(.text, .json)])

  static func run(_ invocation: CommandInvocation) throws -> ExitStatus {
    let url = invocation.url("FILE")
    try InputFile.check(url, "mapping model")
    let document = try MappingDocument(contentsOf: url)
    let mapping = MappingDescription(document)
    if invocation.options.format == .json {
      try invocation.write(
        .object([.init("format", "coredata.mapping/1")] + MappingText.members(of: mapping)))
    } else {
      let comment = "\(url.lastPathComponent)   \(MappingText.count(mapping))"
      try invocation.result.write(source: document.text(comment: comment))
    }
    return .done
  }
}

extension PositionalSpecification {
  static let mapping = PositionalSpecification(
    "FILE", summary: "A mapping model: an .xcmappingmodel, a .cdm or a .mapping.")
}
