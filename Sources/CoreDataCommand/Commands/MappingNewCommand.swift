// OpenCoreData
// SPDX-License-Identifier: Apache-2.0

import CoreData
import CoreDataAnalysis
import CoreDataModelFiles
import CoreDataTerminal

/// `coredata mapping new`
enum MappingNewCommand: Command {
  static let specification = CommandSpecification(
    ["mapping", "new"], summary: "Create a mapping model to edit, between two versions.",
    discussion:
      "Does what Xcode's \"New Mapping Model\" does, and also follows renaming identifiers: creates a mapping for "
      + "every entity of B with all its properties. Entities only in A get no mapping. An .xcmappingmodel is for "
      + "Xcode, a .mapping for any text editor. An existing file is never replaced.",
    positionals: [.olderModel, .newerModel],
    options: [NewFile.option("X.xcmappingmodel"), .format(.text, .json)])

  static func run(_ invocation: CommandInvocation) throws -> ExitStatus {
    let file = try NewFile(invocation, "mapping model", extensions: "xcmappingmodel", "mapping", "cdm")
    let old = try invocation.version("A").version
    let new = try invocation.version("B").version
    var mapping = MappingDocument.drawn(from: old.document, to: new.document)
    (mapping.sourceVersionName, mapping.destinationVersionName) = (old.name, new.name)
    try mapping.write(to: file.url, source: old, destination: new)
    try MappingText.writeMade(mapping, "coredata.mapping-new/1", file, invocation)
    return .done
  }
}
