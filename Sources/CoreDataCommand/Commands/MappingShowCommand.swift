// OpenCoreData
// SPDX-License-Identifier: Apache-2.0

import CoreDataAnalysis
import CoreDataModelFiles
import CoreDataTerminal

/// `coredata mapping show`
enum MappingShowCommand: Command {
  static let specification = CommandSpecification(
    ["mapping", "show"], summary: "Show a mapping model as text for review.",
    discussion:
      "Entity mappings are listed in processing order. Default expressions that Xcode's compiler would add are shown "
      + "like typed ones. Saved as a .mapping, the text is a mapping model that mapping compile can compile.\n\nA "
      + "mapping starts with NAME   TYPE   SOURCE -> DESTINATION. Its lines are indented by two spaces: policy CLASS, "
      + "filter PREDICATE, objects EXPRESSION, note KEY = VALUE, and NAME attribute|relationship EXPRESSION for each "
      + "property. Lines with more indentation are user info of the property above. # starts a comment.",
    positionals: [.mapping], options: [.format(.text, .json)])

  static func run(_ invocation: CommandInvocation) throws -> ExitStatus {
    let url = invocation.url("FILE")
    try InputFile.check(url, "mapping model")
    let document = try MappingDocument(contentsOf: url)
    let mapping = MappingDescription(document)
    if invocation.options.format == .json {
      try invocation.write(.object([.init("format", "coredata.mapping/1")] + MappingText.members(of: mapping)))
    } else {
      let comment = "\(url.lastPathComponent)   \(MappingText.count(mapping))"
      try invocation.result.write(source: document.text(comment: comment))
    }
    return .done
  }
}
