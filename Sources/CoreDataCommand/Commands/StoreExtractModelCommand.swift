// OpenCoreData
// SPDX-License-Identifier: Apache-2.0

import CoreDataAnalysis
import CoreDataModelFiles
import CoreDataTerminal

/// `coredata store extract-model`
enum StoreExtractModelCommand: Command {
  static let specification = CommandSpecification(
    ["store", "extract-model"], summary: "Write the model contained in a store as source.",
    discussion:
      "To solve \"can't find model for source store\", put the .xcdatamodel into the .xcdatamodeld of the app. The "
      + "store is opened read-only. An existing file is never replaced.",
    positionals: [.store], options: [NewFile.option("X.xcdatamodel"), .format(.text, .json)])

  static func run(_ invocation: CommandInvocation) throws -> ExitStatus {
    let file = try NewFile(invocation, "model source", extensions: "xcdatamodel")
    let store = try invocation.located(invocation.arguments.argument("STORE"), hasRows: false).file
    let metadata = try StoreReader(url: store).metadata
    let name = store.lastPathComponent
    guard let document = metadata.model else {
      throw CommandFailure(
        .unreadableStore,
        metadata.modelProblem.map { "The model in \(name) cannot be read: \($0)" }
          ?? "\(name) contains no model. Look for the model it was created with in old versions of the app.")
    }
    // A source with other version hashes could not open the store, which is the only purpose of extracting it.
    let hashes = VersionHashes(document).entities
    guard metadata.hashes.allSatisfy({ hashes[$0.key] == $0.value }) else {
      throw CommandFailure(
        .unreadableStore,
        "The model in \(name) is not the one the store was written with: their version hashes differ. Look for that model "
          + "in old versions of the app."
      )
    }
    try ModelBundle.writeSource(document, to: file.url)
    let version = file.url.deletingPathExtension().lastPathComponent
    let made = MadeModel(url: file.url, current: version, versions: [(version, document)], isBundle: false)
    try made.write("coredata.store-extract-model/1", invocation)
    return .done
  }
}
